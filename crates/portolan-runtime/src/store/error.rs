//! The errors of a store, each with a remedy. Knows no database.

use std::fmt;

use super::{Digest, RunId};
use crate::error::ServiceError;

/// The reason why a store did not carry out a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// There is no such run or definition.
    NotFound {
        /// The requested item, such as "run `k3mx8q2p`".
        what: String,
    },
    /// Another run has this handle.
    Taken,
    /// The run has moved on: another record was stored first.
    Conflict {
        /// The number of the last record.
        actual_seq: u64,
    },
    /// Another caller has the lease of the run.
    UnderWay {
        /// The run.
        run: RunId,
        /// The holder, such as "another process". `None` if it is in this process.
        holder: Option<String>,
    },
    /// The disk is full.
    Full,
    /// The location of the store is read-only.
    ReadOnly,
    /// The store cannot be reached or used. The message gives the reason and the remedy.
    Unavailable(String),
    /// Stored data cannot be understood. The message says what and where.
    Corrupt(String),
    /// Another failure.
    Failed {
        /// The stable code for programs.
        code: &'static str,
        /// The failure.
        message: String,
        /// The remedy.
        help: String,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::NotFound { what } => {
                write!(f, "there is no {what} in this store: list the runs to see which exist")
            }
            StoreError::Taken => f.write_str("another run has this handle: take a new one"),
            StoreError::Conflict { actual_seq } => {
                write!(f, "the run is now at record {actual_seq}: load it and decide again")
            }
            StoreError::UnderWay { run, holder } => {
                write!(f, "{}: {}", under_way(run, holder.as_deref()), wait_for(run))
            }
            StoreError::Full => {
                f.write_str("the disk of the run store is full and nothing was written: free some space")
            }
            StoreError::ReadOnly => {
                f.write_str("the run store is not writable: allow writing there, or keep runs in another place")
            }
            StoreError::Unavailable(message) | StoreError::Corrupt(message) => f.write_str(message),
            StoreError::Failed { message, help, .. } => write!(f, "{message}: {help}"),
        }
    }
}

fn under_way(run: &RunId, holder: Option<&str>) -> String {
    match holder {
        None => format!("the run `{run}` is already running"),
        Some(holder) => format!("the run `{run}` is running in {holder}"),
    }
}

fn wait_for(run: &RunId) -> String {
    format!("wait until it is done, or cancel it with `portolan runs cancel {run}`")
}

impl std::error::Error for StoreError {}

impl StoreError {
    /// Returns the error for an unknown run.
    pub fn no_run(id: &RunId) -> StoreError {
        StoreError::NotFound { what: format!("run `{id}`") }
    }

    /// Returns the error of a driver whose lease another one has taken meanwhile.
    pub(super) fn lease_lost(id: &RunId) -> StoreError {
        StoreError::Failed {
            code: "lease_lost",
            message: format!("the lease of the run `{id}` was lost, and another process may be driving it"),
            help: "make sure that the store can be reached, then resume the run".to_owned(),
        }
    }

    /// Returns the error for a run that was sealed when this process saw it and is not now, or the other way round.
    pub(super) fn other_seal(id: &RunId) -> StoreError {
        StoreError::Corrupt(format!("it has changed whether run `{id}` is sealed: restore the store from a backup"))
    }

    /// Returns the error for an unknown definition.
    pub fn no_definition(digest: &Digest) -> StoreError {
        StoreError::NotFound { what: format!("definition `{digest}`") }
    }
}

/// Converts a store's error to the service's error.
pub(crate) fn store_error(error: StoreError) -> ServiceError {
    let text = error.to_string();
    let (message, help) = text.split_once(": ").unwrap_or((&text, "check the file and try again"));
    let code = match &error {
        StoreError::NotFound { .. } => {
            return ServiceError::refused("unknown_run", message, "`portolan runs list` shows the existing runs");
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
