//! Taking turns: one advisory lock a folder, on a file that stays there. A lock that is deleted can be held twice.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of a folder's lock file. It lies beside the files that are written in turns.
pub const LOCK_FILE: &str = ".portolan.lock";

/// How long a turn is waited for.
pub(crate) const WAIT: Duration = Duration::from_secs(10);

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
    let lock = open_lock(&path).map_err(NoTurn::Failed)?;
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
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
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

/// Takes a lock, however long that takes; it is over when the file is dropped.
pub(crate) fn alone(path: &Path) -> io::Result<File> {
    let lock = open_lock(path)?;
    lock.lock()?;
    Ok(lock)
}

/// Takes a lock that nobody else has; nothing where somebody has it.
pub(crate) fn try_alone(path: &Path) -> io::Result<Option<File>> {
    let lock = open_lock(path)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
