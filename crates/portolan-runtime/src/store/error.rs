//! The ways in which a store refuses or fails, each with what to do about it. Knows no database.

use std::fmt;

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
    /// The disk has no room left.
    Full,
    /// The place of the store may be read, but not written.
    ReadOnly,
    /// The store cannot be reached or used as things are. The message says why and what to do.
    Unavailable(String),
    /// What is stored cannot be understood. The message says what and where.
    Corrupt(String),
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
            StoreError::Full => {
                f.write_str("the disk of the run store is full and nothing was written: free some space")
            }
            StoreError::ReadOnly => {
                f.write_str("the run store may not be written: allow writing there, or keep runs in another place")
            }
            StoreError::Unavailable(message) | StoreError::Corrupt(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    pub(super) fn no_run(id: &super::RunId) -> StoreError {
        StoreError::NotFound { what: format!("run `{id}`") }
    }

    pub(super) fn no_definition(digest: &super::Digest) -> StoreError {
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
        StoreError::Taken => "handle_taken",
        StoreError::Conflict { .. } => "stale",
        StoreError::Full => "disk_full",
        StoreError::ReadOnly => "read_only",
        StoreError::Unavailable(_) => "store_unavailable",
        StoreError::Corrupt(_) => "store_corrupt",
    };
    ServiceError::failed(code, message, help)
}
