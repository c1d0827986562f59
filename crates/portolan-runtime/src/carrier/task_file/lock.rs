//! The lock of a folder, held from the read of a task to its write.

use std::fs::{File, Metadata};
use std::io;
use std::time::Duration;

use super::{Task, TaskFile, TaskFileError, WriteDurability, load, merge, write};
use crate::disk::{NoTurn, turn};

/// A locked task file. Dropping it releases the lock.
#[derive(Debug)]
pub struct LockedTaskFile {
    file: TaskFile,
    /// The task and the metadata of its file at the time of reading. `None` if there was no file.
    loaded: Option<(Task, Metadata)>,
    /// Closing it unlocks.
    _lock: File,
}

impl LockedTaskFile {
    pub(super) async fn wait(file: &TaskFile, patience: Duration) -> Result<LockedTaskFile, TaskFileError> {
        let lock = acquire(file, patience).await?;
        let loaded = load(&file.target, &file.given)?;
        // Refused before a decision is made. A rename would succeed, but a read-only file is read-only on purpose.
        if loaded.as_ref().is_some_and(|(_, meta)| meta.permissions().readonly()) {
            return Err(TaskFileError::read_only(&file.given));
        }
        Ok(LockedTaskFile { file: file.clone(), loaded, _lock: lock })
    }

    /// Returns the content of the file. `None` if it does not exist.
    pub fn task(&self) -> Option<&Task> {
        self.loaded.as_ref().map(|(task, _)| task)
    }

    /// Writes `changes` over the content of the file, and returns the new content.
    ///
    /// Keys that `changes` does not name keep their values and their places, in `metadata` too. A `null` removes its
    /// key. A change by a writer without the lock is kept in the same way, unless it changes `metadata`. Readers see
    /// the old file or the new one.
    ///
    /// # Errors
    /// The file is as it was before. [`TaskFileFault::Changed`](super::TaskFileFault::Changed) means that `metadata`
    /// differs from what was read: lock again and decide again.
    pub fn write(&mut self, changes: Task, durability: WriteDurability) -> Result<&Task, TaskFileError> {
        self.take_up()?;
        let (before, meta) = match self.loaded.take() {
            Some((task, meta)) => (task, Some(meta)),
            None => (Task::new(), None),
        };
        let merged = merge::merged(before, changes);
        match write::replace(&self.file, &merged, meta.as_ref(), durability) {
            Ok(now) => Ok(&self.loaded.insert((merged, now)).0),
            Err(error) => {
                // Nothing was written. The content is read again here, which is cheaper than a copy on each success.
                self.loaded = load(&self.file.target, &self.file.given).unwrap_or(None);
                Err(error)
            }
        }
    }

    /// Takes in a change by a writer without the lock since the file was read.
    fn take_up(&mut self) -> Result<(), TaskFileError> {
        let now = match std::fs::symlink_metadata(&self.file.target) {
            Ok(meta) => Some(meta),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(TaskFileError::unreadable(&self.file.given, error)),
        };
        let same = match (&self.loaded, &now) {
            (Some((_, before)), Some(now)) => is_same(before, now),
            (None, None) => true,
            _ => false,
        };
        if same {
            return Ok(());
        }
        let found = load(&self.file.target, &self.file.given)?;
        let metadata =
            |loaded: &Option<(Task, Metadata)>| loaded.as_ref().and_then(|(task, _)| task.get("metadata").cloned());
        if found.is_none() || metadata(&found) != metadata(&self.loaded) {
            return Err(TaskFileError::changed(&self.file.given));
        }
        self.loaded = found;
        Ok(())
    }
}

#[cfg(unix)]
fn is_same(before: &Metadata, now: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let key = |meta: &Metadata| (meta.dev(), meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec(), meta.mode());
    key(before) == key(now)
}

#[cfg(not(unix))]
fn is_same(before: &Metadata, now: &Metadata) -> bool {
    let key = |meta: &Metadata| (meta.len(), meta.modified().ok());
    key(before) == key(now)
}

async fn acquire(file: &TaskFile, patience: Duration) -> Result<File, TaskFileError> {
    turn(file.folder(), patience).await.map_err(|why| match why {
        NoTurn::Failed(error) => TaskFileError::unwritable(&file.given, error),
        NoTurn::Late(path) => TaskFileError::busy(&file.given, &path),
    })
}
