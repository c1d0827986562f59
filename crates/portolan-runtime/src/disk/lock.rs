//! Locking: one advisory lock per folder, on a file that is never deleted, or on the folder itself. A lock file that is
//! deleted could be locked twice.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of a folder's lock file. It is beside the files that it protects.
pub const LOCK_FILE: &str = ".portolan.lock";

/// The timeout for a lock.
pub const WAIT: Duration = Duration::from_secs(10);

/// Why a lock was not acquired.
#[derive(Debug)]
pub enum NoTurn {
    /// The lock file cannot be used.
    Failed(io::Error),
    /// Another process holds this lock.
    Late(PathBuf),
}

/// Acquires the lock of a folder, which is released when the file is dropped.
pub async fn turn(folder: &Path, patience: Duration) -> Result<File, NoTurn> {
    let path = folder.join(LOCK_FILE);
    let lock = open_lock(&path).map_err(NoTurn::Failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => waited(lock, path, patience).await,
        Err(TryLockError::Error(error)) => Err(NoTurn::Failed(error)),
    }
}

/// Acquires the lock of a folder that must not contain our files, such as one that is committed, by locking the folder
/// itself. Uses [`turn`] if the system, or the disk, cannot lock folders.
pub async fn turn_without_file(folder: &Path, patience: Duration) -> Result<File, NoTurn> {
    let Ok(lock) = File::open(folder) else { return turn(folder, patience).await };
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => waited(lock, folder.to_owned(), patience).await,
        Err(TryLockError::Error(_)) => turn(folder, patience).await,
    }
}

/// Waiting blocks a thread, so it must not be one of the executor's. If the lock comes too late, that thread releases
/// it.
async fn waited(lock: File, path: PathBuf, patience: Duration) -> Result<File, NoTurn> {
    let waiting = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock));
    match tokio::time::timeout(patience, waiting).await {
        Ok(Ok(locked)) => locked.map_err(NoTurn::Failed),
        Ok(Err(stopped)) => Err(NoTurn::Failed(io::Error::other(stopped))),
        Err(_elapsed) => Err(NoTurn::Late(path)),
    }
}

/// Opens a lock file, and creates it if it is missing: for the owner alone, through no symlink, without blocking on a
/// pipe.
pub fn open_lock(path: &Path) -> io::Result<File> {
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

/// Acquires a lock without a timeout. It is released when the file is dropped.
pub fn alone(path: &Path) -> io::Result<File> {
    let lock = open_lock(path)?;
    lock.lock()?;
    Ok(lock)
}

/// Acquires a lock without waiting. Returns `None` if it is taken.
pub fn try_alone(path: &Path) -> io::Result<Option<File>> {
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
        let first = runtime.block_on(turn_without_file(folder.path(), WAIT)).expect("nobody else has it");
        let late = runtime.block_on(turn_without_file(folder.path(), Duration::from_millis(5)));
        assert!(matches!(late, Err(NoTurn::Late(path)) if path == folder.path()));
        // The thread that still waits acquires the lock, and releases it.
        drop(first);
        drop(runtime.block_on(turn_without_file(folder.path(), WAIT)).expect("its turn has come"));
        #[cfg(unix)]
        assert_eq!(std::fs::read_dir(folder.path()).expect("it can be read").count(), 0);
    }
}
