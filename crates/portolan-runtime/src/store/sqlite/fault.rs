//! The faults of the file, as errors of the store.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use rusqlite::ErrorCode;

use super::connect::Place;
use crate::store::StoreError;
use crate::store::rows::Unread;

/// The reason why a request failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The database failed: the connection is not used again.
    Database(rusqlite::Error),
    /// The stored data cannot be read.
    Unread(Unread),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        Trouble::Database(error)
    }
}

impl From<Unread> for Trouble {
    fn from(unread: Unread) -> Trouble {
        Trouble::Unread(unread)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        Trouble::Unread(Unread::Refused(error))
    }
}

impl Trouble {
    pub(super) fn into_error(self, place: &Place) -> StoreError {
        match self {
            Trouble::Database(error) => of_database(place, &error),
            Trouble::Unread(unread) => {
                unread.into_error(&format!("`{}`", place.path.display()), "an earlier copy of the file")
            }
        }
    }
}

fn of_database(place: &Place, error: &rusqlite::Error) -> StoreError {
    let path = place.path.display();
    let Some(code) = error.sqlite_error_code() else {
        return StoreError::Corrupt(format!(
            "`{path}` holds a value of the wrong kind ({error}): restore an earlier copy"
        ));
    };
    match code {
        ErrorCode::DiskFull => StoreError::Full,
        ErrorCode::ReadOnly => StoreError::ReadOnly,
        ErrorCode::NotADatabase => {
            StoreError::Corrupt(format!("`{path}` is not a run store: move it away, or name another file"))
        }
        ErrorCode::DatabaseCorrupt => StoreError::Corrupt(format!(
            "`{path}` is damaged ({error}): restore an earlier copy, or move it away to begin a new one"
        )),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            let seconds = place.patience.as_secs();
            StoreError::Unavailable(format!(
                "another process has kept `{path}` locked for {seconds} seconds: end it, or try again"
            ))
        }
        ErrorCode::CannotOpen | ErrorCode::SystemIoFailure => of_system(place, error),
        _ => StoreError::Unavailable(format!("`{path}` cannot be used ({error}): try again, or name another file")),
    }
}

/// Probes the directory, because SQLite does not give the operating system's error.
fn of_system(place: &Place, error: &rusqlite::Error) -> StoreError {
    let path = place.path.display();
    if place.path.is_dir() {
        return StoreError::Unavailable(format!("`{path}` is a directory: name a file in it"));
    }
    match probe(&place.path) {
        Err(error) if is_known(&error) => of_io(&place.path, &error),
        Ok(()) | Err(_) => {
            StoreError::Unavailable(format!("`{path}` cannot be read or written ({error}): check the disk"))
        }
    }
}

/// Converts an error of the operating system at `path`.
pub(super) fn of_io(path: &Path, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly,
        _ => StoreError::Unavailable(format!("`{}` cannot be used ({error}): name another place", path.display())),
    }
}

fn is_known(error: &io::Error) -> bool {
    !matches!(of_io(Path::new(""), error), StoreError::Unavailable(_))
}

/// Writes beside the database, never into it: closing the database file drops SQLite's locks on it.
fn probe(database: &Path) -> io::Result<()> {
    let mut path = database.as_os_str().to_owned();
    path.push(format!("-probe-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let written = file.write_all(&[0; 64 * 1024]).and_then(|()| file.sync_data());
    fs::remove_file(&path)?;
    written
}
