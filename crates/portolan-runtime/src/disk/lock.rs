//! Taking turns: one advisory lock a folder, on a file that stays there, or on the folder itself. A lock that is deleted can be
//! held twice.

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
    /// Somebody else keeps this lock.
    Late(PathBuf),
}

/// Waits for the turn to write in a folder; it is over when the file is dropped.
pub(crate) async fn turn(folder: &Path, patience: Duration) -> Result<File, NoTurn> {
    let path = folder.join(LOCK_FILE);
    let lock = open_lock(&path).map_err(NoTurn::Failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => waited(lock, path, patience).await,
        Err(TryLockError::Error(error)) => Err(NoTurn::Failed(error)),
    }
}

/// The same in a folder in which nothing of ours is to lie, such as one that is committed: the folder itself is locked. It is
/// [`turn`] where the system, or the disk, locks no folders.
pub(crate) async fn turn_unseen(folder: &Path, patience: Duration) -> Result<File, NoTurn> {
    let Ok(lock) = File::open(folder) else { return turn(folder, patience).await };
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => waited(lock, folder.to_owned(), patience).await,
        Err(TryLockError::Error(_)) => turn(folder, patience).await,
    }
}

/// Waiting blocks a thread, so not one of the executor's. Should the turn come too late, that thread gives it back.
async fn waited(lock: File, path: PathBuf, patience: Duration) -> Result<File, NoTurn> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_written_in_turns_and_nothing_is_left_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let first = runtime.block_on(turn_unseen(folder.path(), WAIT)).expect("nobody else has it");
        let late = runtime.block_on(turn_unseen(folder.path(), Duration::from_millis(5)));
        assert!(matches!(late, Err(NoTurn::Late(path)) if path == folder.path()));
        // The thread that still waits gets its turn, and gives it back.
        drop(first);
        drop(runtime.block_on(turn_unseen(folder.path(), WAIT)).expect("its turn has come"));
        #[cfg(unix)]
        assert_eq!(std::fs::read_dir(folder.path()).expect("it can be read").count(), 0);
    }
}
