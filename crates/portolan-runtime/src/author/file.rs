//! The file itself: read as a whole, written as a whole, by one writer at a time.

use std::fs::{self, File, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::carrier::task_file::{WriteDurability, exchange_known, sync_folder, write_new};
use crate::disk::{self, NoTurn, WAIT, turn_without_file};
use crate::error::{ServiceError, plain};

/// The number of attempts to write a change, if writers without the lock come first.
const TRIES: u32 = 5;

/// Returns the real path of a file: the target of a symlink is replaced, not the link.
///
/// # Errors
/// It is no file, is a dangling link, or its folder does not exist.
pub(super) fn place(file: &Path) -> Result<PathBuf, ServiceError> {
    let name = file.display();
    match fs::symlink_metadata(file) {
        Ok(_) => {
            let target = fs::canonicalize(file).map_err(|error| {
                let message = format!("`{name}` cannot be resolved: {}", plain(&error));
                ServiceError::failed("unreadable", message, "name a file, or a link to one")
            })?;
            match target.is_file() {
                true => Ok(target),
                false => Err(not_a_file(file)),
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = disk::folder_of(file);
            let folder = folder.canonicalize().map_err(|_| {
                let message = format!("`{name}` cannot be written: there is no folder `{}`", folder.display());
                ServiceError::failed("no_folder", message, "create the folder first, or name a file in another one")
            })?;
            file.file_name().map(|name| folder.join(name)).ok_or_else(|| not_a_file(file))
        }
        Err(error) => {
            let message = format!("`{name}` cannot be read: {}", plain(&error));
            Err(ServiceError::failed("unreadable", message, "check the path and its permissions"))
        }
    }
}

fn not_a_file(file: &Path) -> ServiceError {
    let message = format!("`{}` is not a file", file.display());
    ServiceError::refused(
        "not_a_file",
        message,
        "name the single file of graphs to write; it does not have to exist yet",
    )
}

/// Returns the text of a file. `None` if it does not exist.
pub(super) fn read(file: &Path) -> Result<Option<String>, ServiceError> {
    match fs::symlink_metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        _ => disk::source(file).map(Some),
    }
}

/// A file locked for writing. Dropping it releases the lock.
pub(crate) struct LockedFile {
    file: PathBuf,
    target: PathBuf,
    folder: PathBuf,
    tries: u32,
    /// Files of one folder that are written together share the lock.
    turn: Arc<File>,
}

impl LockedFile {
    pub(crate) async fn wait(file: &Path) -> Result<LockedFile, ServiceError> {
        LockedFile::among(&[], file).await
    }

    /// Locks a file in addition to others: a writer of several files holds all locks until the last is written.
    pub(super) async fn among(held: &[LockedFile], file: &Path) -> Result<LockedFile, ServiceError> {
        let target = place(file)?;
        let folder = disk::folder_of(&target).to_owned();
        if let Some(beside) = held.iter().find(|held| held.folder == folder) {
            let turn = Arc::clone(&beside.turn);
            return Ok(LockedFile { file: file.to_owned(), target, folder, tries: 0, turn });
        }
        let turn = turn_without_file(&folder, WAIT).await.map_err(|why| match why {
            NoTurn::Failed(error) => unwritable(file, &error),
            NoTurn::Late(lock) => {
                let message = format!("`{}` is locked by another writer", file.display());
                let help = format!("call again; the process that holds `{}` may hang", lock.display());
                ServiceError::failed("busy", message, help)
            }
        })?;
        Ok(LockedFile { file: file.to_owned(), target, folder, tries: 0, turn: Arc::new(turn) })
    }

    pub(crate) fn read(&self) -> Result<Option<String>, ServiceError> {
        read(&self.target)
    }

    /// Replaces the file with `text`. Returns false if the file differs from `read`, so that it must be read again.
    pub(crate) fn replace(&mut self, read: Option<&str>, text: &str) -> Result<bool, ServiceError> {
        if self.is_written(read, text)? {
            return Ok(true);
        }
        self.tries += 1;
        if self.tries < TRIES {
            return Ok(false);
        }
        let message = format!("other writers repeatedly changed `{}` in the meantime", self.file.display());
        Err(ServiceError::failed("busy", message, "call again when nothing else changes it"))
    }

    fn is_written(&self, read: Option<&str>, text: &str) -> Result<bool, ServiceError> {
        if self.read()?.as_deref() != read {
            return Ok(false);
        }
        let (folder, target, durability) = (&self.folder, &self.target, WriteDurability::Fsync);
        let written = match (self.like()?, read) {
            (like, Some(read)) => {
                exchange_known(folder, target, (read.as_bytes(), text.as_bytes()), like.as_ref(), durability)
            }
            (_, None) => write_new(folder, target, text.as_bytes(), durability),
        };
        written.map_err(|error| unwritable(&self.file, &error))
    }

    /// Removes the file. Returns false if the file differs from `read`. For a symlink, the link is removed.
    pub(super) fn remove(&mut self, read: &str) -> Result<bool, ServiceError> {
        if self.read()?.as_deref() != Some(read) {
            return Ok(false);
        }
        fs::remove_file(&self.file).map_err(|error| unwritable(&self.file, &error))?;
        // The file is removed even if this fails: only a power cut could still undo it.
        let _ = sync_folder(disk::folder_of(&self.file));
        Ok(true)
    }

    /// Refuses a file that may not be written.
    pub(super) fn may_be_written(&self) -> Result<(), ServiceError> {
        self.like()?;
        self.folder_may_be_written()
    }

    /// Returns the metadata of the file. A rename would succeed, but a read-only file is read-only on purpose.
    fn like(&self) -> Result<Option<Metadata>, ServiceError> {
        match fs::metadata(&self.target) {
            Ok(meta) if meta.permissions().readonly() => {
                let message = format!("`{}` is read-only", self.file.display());
                Err(ServiceError::failed("read_only", message, "a person must make it writable first"))
            }
            Ok(meta) => Ok(Some(meta)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unwritable(&self.file, &error)),
        }
    }

    /// Checks that the folder is writable: a file is replaced by another one of its folder.
    #[cfg(unix)]
    fn folder_may_be_written(&self) -> Result<(), ServiceError> {
        let access = rustix::fs::access(&self.folder, rustix::fs::Access::WRITE_OK);
        access.map_err(|error| unwritable(&self.file, &error.into()))
    }

    #[cfg(not(unix))]
    fn folder_may_be_written(&self) -> Result<(), ServiceError> {
        Ok(())
    }
}

fn unwritable(file: &Path, error: &std::io::Error) -> ServiceError {
    let message = format!("`{}` cannot be written: {}", file.display(), plain(error));
    ServiceError::failed(
        "unwritable",
        message,
        "check the permissions of its folder, and the space left; nothing was changed",
    )
}
