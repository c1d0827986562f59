//! Errors of the record of trust. On an error, nothing is trusted.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Why the record of trust could not be used.
#[derive(Debug)]
pub struct TrustError {
    /// The kind of fault.
    pub fault: TrustFault,
    /// The fault, in one lower-case sentence.
    pub message: String,
    /// What to do.
    pub help: String,
    source: Option<io::Error>,
}

/// The kinds of fault. Each has a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustFault {
    /// The data folder cannot be determined.
    NoPlace,
    /// The record is inside the project.
    InsideProject,
    /// Another user may write it.
    Unguarded,
    /// An entry is malformed.
    Broken,
    /// It cannot be read.
    Unreadable,
    /// It cannot be written.
    Unwritable,
    /// The store belongs to one machine, and shares no trust.
    NotShared,
    /// The store through which trust is shared cannot be asked.
    Unasked,
    /// An entry of that store is damaged.
    Damaged,
}

impl TrustFault {
    /// Returns the stable code for programs.
    pub fn code(self) -> &'static str {
        match self {
            TrustFault::NoPlace => "trust_no_place",
            TrustFault::InsideProject => "trust_inside_project",
            TrustFault::Unguarded => "trust_unguarded",
            TrustFault::Broken => "trust_broken",
            TrustFault::Unreadable => "trust_unreadable",
            TrustFault::Unwritable => "trust_unwritable",
            TrustFault::NotShared => "trust_not_shared",
            TrustFault::Unasked => "trust_unasked",
            TrustFault::Damaged => "trust_damaged",
        }
    }
}

impl TrustError {
    /// Returns the stable code for programs.
    pub fn code(&self) -> &'static str {
        self.fault.code()
    }

    /// Checks whether the fault is that of the store through which trust is shared.
    pub fn is_of_store(&self) -> bool {
        matches!(self.fault, TrustFault::Unasked | TrustFault::Damaged)
    }

    pub(super) fn not_shared() -> TrustError {
        let message = "this project's store belongs to this machine, and shares no trust".to_owned();
        let help = "name a database with `--store postgres://…`, or Restate with `--store restate://…`";
        new(TrustFault::NotShared, message, help)
    }

    pub(super) fn unasked(address: &str, why: &str) -> TrustError {
        let message = format!(
            "the trust that is shared in `{address}` cannot be asked for, so nothing is trusted because of it ({why})"
        );
        new(TrustFault::Unasked, message, "make the store reachable and try again, or trust the file on this machine")
    }

    pub(super) fn damaged(number: u64, address: &str) -> TrustError {
        let message = format!(
            "entry {number} of the trust that is shared in `{address}` is damaged or of a newer release, so its commands are \
             not trusted"
        );
        new(TrustFault::Damaged, message, "look who wrote it and restore it, or trust the file on this machine")
    }

    pub(super) fn is_missing(&self) -> bool {
        self.source.as_ref().is_some_and(|error| error.kind() == ErrorKind::NotFound)
    }

    pub(super) fn no_home() -> TrustError {
        new(TrustFault::NoPlace, "there is no home folder to keep trust in".into(), "set `PORTOLAN_DATA_DIR`")
    }

    pub(super) fn relative(dir: &Path) -> TrustError {
        let message = format!("`PORTOLAN_DATA_DIR` is `{}`, which is not an absolute path", dir.display());
        new(TrustFault::NoPlace, message, "set it to an absolute path outside the project")
    }

    pub(super) fn inside(folder: &Path, project: &Path) -> TrustError {
        let message = format!(
            "trust would be kept in `{}`, inside the project `{}`, where an agent can write",
            folder.display(),
            project.display()
        );
        new(TrustFault::InsideProject, message, "set `PORTOLAN_DATA_DIR` to a folder outside the project")
    }

    pub(super) fn unguarded(folder: &Path) -> TrustError {
        let message = format!("`{}` is not a folder that only you can write to", folder.display());
        new(TrustFault::Unguarded, message, "check what is in it, make yourself its owner, and run `chmod 700` on it")
    }

    pub(super) fn broken(path: &Path) -> TrustError {
        let message = format!("`{}` is not an entry that `portolan trust` wrote", path.display());
        new(TrustFault::Broken, message, "remove it, and trust the definition again")
    }

    pub(super) fn unreadable(path: &Path, error: io::Error) -> TrustError {
        let message = format!("`{}` cannot be read: {error}", path.display());
        TrustError { source: Some(error), ..new(TrustFault::Unreadable, message, "make it readable") }
    }

    pub(super) fn unwritable(folder: &Path, error: io::Error) -> TrustError {
        let message = format!("`{}` cannot be written: {error}", folder.display());
        let help = "make it writable, or set `PORTOLAN_DATA_DIR`";
        TrustError { source: Some(error), ..new(TrustFault::Unwritable, message, help) }
    }
}

fn new(fault: TrustFault, message: String, help: &str) -> TrustError {
    TrustError { fault, message, help: help.to_owned(), source: None }
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl Error for TrustError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}
