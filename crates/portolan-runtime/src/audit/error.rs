//! Errors of reading and writing the log.

use std::fmt;
use std::io;
use std::path::Path;

use crate::error::{ServiceError, plain};

/// An error of the log. The entries were not appended, unless the code is `log_unsynced`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditError {
    /// A stable code for programs.
    pub code: &'static str,
    /// The error, in one lower-case sentence.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl AuditError {
    pub(super) fn of(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> AuditError {
        AuditError { code, message: message.into(), help: help.into() }
    }

    pub(super) fn unwritable(path: &Path, error: &io::Error) -> AuditError {
        let help = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on its disk, then try again",
            io::ErrorKind::ReadOnlyFilesystem => "name a file on another disk with `FLOW_EVENTS_PATH`",
            _ => "give yourself permission to write there, or name another file with `FLOW_EVENTS_PATH`",
        };
        let message = format!("the event log `{}` cannot be written: {}", path.display(), plain(error));
        AuditError::of("log_unwritable", message, help)
    }

    pub(super) fn unreadable(path: &Path, error: &io::Error) -> AuditError {
        let message = format!("the event log `{}` cannot be read: {}", path.display(), plain(error));
        let help = match error.kind() {
            io::ErrorKind::PermissionDenied => "give yourself permission to read it",
            _ => "a person must check what is there; a log is a regular file",
        };
        AuditError::of("log_unreadable", message, help)
    }

    pub(super) fn unsynced(path: &Path, error: &io::Error) -> AuditError {
        let message =
            format!("cannot confirm that the event log `{}` was written to disk: {}", path.display(), plain(error));
        AuditError::of("log_unsynced", message, "check the disk, then try again; the lines may be written twice")
    }

    /// Returns the error of an append whose result is not known.
    pub fn unfinished() -> AuditError {
        AuditError::of("log_unwritable", "an entry could not be appended to the event log", "try again")
    }

    pub(super) fn led_away(named: &Path, pinned: &Path) -> AuditError {
        let message = format!(
            "the environment sets the event log to `{}`, but it is pinned to `{}`",
            named.display(),
            pinned.display()
        );
        AuditError::of(
            "log_led_away",
            message,
            "remove `FLOW_EVENTS_PATH` and `XCODER_EVENTS_PATH` from the environment",
        )
    }

    pub(super) fn unpinned(path: &Path, why: &str) -> AuditError {
        let message = format!("cannot determine where the event log `{}` is pinned: {why}", path.display());
        AuditError::of("log_refused", message, "restore the record of the installation, or install again")
    }

    pub(super) fn foreign(path: &Path, why: &str) -> AuditError {
        let message = format!("`{}` cannot be used as the event log: {why}", path.display());
        AuditError::of("log_refused", message, "replace it with a regular file in the project")
    }
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for AuditError {}

impl From<AuditError> for ServiceError {
    fn from(error: AuditError) -> ServiceError {
        ServiceError::failed(error.code, error.message, error.help)
    }
}
