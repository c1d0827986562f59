//! The ways in which a store refuses or fails, each with what to do about it. Knows no database.

use std::fmt;

use super::{Digest, RunId};
use crate::error::ServiceError;

/// Why a store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// There is no such run or definition.
    NotFound {
        /// What was asked for, such as "run `k3mx8q2p`".
        what: String,
    },
    /// Another run has this handle.
    Taken,
    /// The run has moved on: somebody else's record came first.
    Conflict {
        /// The number of its last record.
        actual_seq: u64,
    },
    /// Somebody else has the right to drive the run.
    UnderWay {
        /// The run.
        run: RunId,
        /// Who, such as "another process"; nothing where that is somebody of this process.
        holder: Option<String>,
    },
    /// The disk has no room left.
    Full,
    /// The place of the store may be read, but not written.
    ReadOnly,
    /// The store cannot be reached or used as things are. The message says why and what to do.
    Unavailable(String),
    /// What is stored cannot be understood. The message says what and where.
    Corrupt(String),
    /// It failed in another way.
    Failed {
        /// What programs know it by.
        code: &'static str,
        /// What failed.
        message: String,
        /// What to do about it.
        help: String,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::NotFound { what } => {
                write!(f, "there is no {what} in this store: list the runs to see which are")
            }
            StoreError::Taken => f.write_str("another run has this handle: take a new one"),
            StoreError::Conflict { actual_seq } => {
                write!(f, "the run has moved on to record {actual_seq}: load it and decide again")
            }
            StoreError::UnderWay { run, holder } => {
                write!(f, "{}: {}", under_way(run, holder.as_deref()), wait_for(run))
            }
            StoreError::Full => {
                f.write_str("the disk of the run store is full and nothing was written: free some space")
            }
            StoreError::ReadOnly => {
                f.write_str("the run store may not be written: allow writing there, or keep runs in another place")
            }
            StoreError::Unavailable(message) | StoreError::Corrupt(message) => f.write_str(message),
            StoreError::Failed { message, help, .. } => write!(f, "{message}: {help}"),
        }
    }
}

fn under_way(run: &RunId, holder: Option<&str>) -> String {
    match holder {
        None => format!("the run `{run}` is under way already"),
        Some(holder) => format!("the run `{run}` is under way in {holder}"),
    }
}

fn wait_for(run: &RunId) -> String {
    format!("wait until it is done; `portolan runs cancel {run}` calls it off")
}

impl std::error::Error for StoreError {}

impl StoreError {
    /// There is no such run.
    pub fn no_run(id: &RunId) -> StoreError {
        StoreError::NotFound { what: format!("run `{id}`") }
    }

    /// There is no such definition.
    pub fn no_definition(digest: &Digest) -> StoreError {
        StoreError::NotFound { what: format!("definition `{digest}`") }
    }
}

/// A store's error in the form that callers are given.
pub(crate) fn store_error(error: StoreError) -> ServiceError {
    let text = error.to_string();
    let (message, help) = text.split_once(": ").unwrap_or((&text, "look at the file and try again"));
    let code = match &error {
        StoreError::NotFound { .. } => {
            return ServiceError::refused("unknown_run", message, "`portolan runs list` shows the runs there are");
        }
        StoreError::UnderWay { run, holder } => {
            return ServiceError::refused("under_way", under_way(run, holder.as_deref()), wait_for(run));
        }
        StoreError::Failed { code, message, help } => return ServiceError::failed(code, message, help),
        StoreError::Taken => "handle_taken",
        StoreError::Conflict { .. } => "stale",
        StoreError::Full => "disk_full",
        StoreError::ReadOnly => "read_only",
        StoreError::Unavailable(_) => "store_unavailable",
        StoreError::Corrupt(_) => "store_corrupt",
    };
    ServiceError::failed(code, message, help)
}
