//! Taking turns: one advisory lock a folder, held from reading a task until it is written.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Durability, Task, TaskFile, TaskFileError, load, merge, write};

/// The name of the lock file. It lies beside the tasks and stays there: a lock that is deleted can be held twice.
pub const LOCK_FILE: &str = ".portolan.lock";

/// How long a turn is waited for.
pub(crate) const WAIT: Duration = Duration::from_secs(10);

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
    /// The file is as it was before. [`Fault::Changed`](super::Fault::Changed) means that `metadata` is not what was
    /// read: lock again and decide again.
    pub fn write(&mut self, changes: &Task, durability: Durability) -> Result<&Task, TaskFileError> {
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

/// Why no turn came.
#[derive(Debug)]
pub(crate) enum NoTurn {
    /// The lock file cannot be used.
    Failed(io::Error),
    /// Somebody else keeps this lock file.
    Late(PathBuf),
}

/// Waits for the turn to write in a folder; it is over when the file is dropped.
pub(crate) async fn turn(folder: &Path, patience: Duration) -> Result<File, NoTurn> {
    let path = folder.join(LOCK_FILE);
    let lock = open(&path).map_err(NoTurn::Failed)?;
    match lock.try_lock() {
        Ok(()) => return Ok(lock),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(NoTurn::Failed(error)),
    }
    // Waiting blocks a thread, so not one of the executor's. Should the turn come too late, that thread gives it back.
    let waiting = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock));
    match tokio::time::timeout(patience, waiting).await {
        Ok(Ok(locked)) => locked.map_err(NoTurn::Failed),
        Ok(Err(stopped)) => Err(NoTurn::Failed(io::Error::other(stopped))),
        Err(_elapsed) => Err(NoTurn::Late(path)),
    }
}

/// Opens a lock file, and makes it where it is missing: the owner's alone, through no symlink, without waiting for a pipe.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    options.open(path)
}
