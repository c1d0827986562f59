//! Taking turns: a folder's lock, held from reading a task until it is written.

use std::fs::{File, Metadata};
use std::io;
use std::time::Duration;

use super::{Task, TaskFile, TaskFileError, WriteDurability, load, merge, write};
use crate::disk::{NoTurn, turn};

/// A task file whose turn it is. Dropping it gives the turn to the next.
#[derive(Debug)]
pub struct Locked {
    file: TaskFile,
    /// What was read, and what the file looked like then; nothing when there was none.
    seen: Option<(Task, Metadata)>,
    /// Closing it unlocks.
    _lock: File,
}

impl Locked {
    pub(super) async fn wait(file: &TaskFile, patience: Duration) -> Result<Locked, TaskFileError> {
        let lock = acquire(file, patience).await?;
        let seen = load(&file.target, &file.given)?;
        // Said before anything is decided. A rename would not mind, but whoever made it so meant it.
        if seen.as_ref().is_some_and(|(_, meta)| meta.permissions().readonly()) {
            return Err(TaskFileError::read_only(&file.given));
        }
        Ok(Locked { file: file.clone(), seen, _lock: lock })
    }

    /// What the file holds; nothing when it does not exist.
    pub fn task(&self) -> Option<&Task> {
        self.seen.as_ref().map(|(task, _)| task)
    }

    /// Writes `changes` over what the file holds, and returns what it holds then.
    ///
    /// Keys that `changes` does not name stay as they are and where they are, in `metadata` too; a `null` removes its
    /// key. A change by somebody who takes no lock is kept the same way, as long as it leaves `metadata` alone. Readers
    /// see the old file or the new one.
    ///
    /// # Errors
    /// The file is as it was before. [`TaskFileFault::Changed`](super::TaskFileFault::Changed) means that `metadata` is not what was
    /// read: lock again and decide again.
    pub fn write(&mut self, changes: Task, durability: WriteDurability) -> Result<&Task, TaskFileError> {
        self.take_up()?;
        let (before, meta) = match self.seen.take() {
            Some((task, meta)) => (task, Some(meta)),
            None => (Task::new(), None),
        };
        let merged = merge::merged(before, changes);
        match write::replace(&self.file, &merged, meta.as_ref(), durability) {
            Ok(now) => Ok(&self.seen.insert((merged, now)).0),
            Err(error) => {
                // Nothing was written. What it holds is read again rather than copied each time that all goes well.
                self.seen = load(&self.file.target, &self.file.given).unwrap_or(None);
                Err(error)
            }
        }
    }

    /// Takes up what somebody else has written since the file was read.
    fn take_up(&mut self) -> Result<(), TaskFileError> {
        let now = match std::fs::symlink_metadata(&self.file.target) {
            Ok(meta) => Some(meta),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(TaskFileError::unreadable(&self.file.given, error)),
        };
        let same = match (&self.seen, &now) {
            (Some((_, before)), Some(now)) => is_same(before, now),
            (None, None) => true,
            _ => false,
        };
        if same {
            return Ok(());
        }
        let found = load(&self.file.target, &self.file.given)?;
        let metadata =
            |seen: &Option<(Task, Metadata)>| seen.as_ref().and_then(|(task, _)| task.get("metadata").cloned());
        if found.is_none() || metadata(&found) != metadata(&self.seen) {
            return Err(TaskFileError::changed(&self.file.given));
        }
        self.seen = found;
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
