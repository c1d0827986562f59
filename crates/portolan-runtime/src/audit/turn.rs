//! Locking: one advisory lock per log, on a file beside it that is never removed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::error::AuditError;
use super::place;
use crate::disk::open_lock;

/// The timeout for the write lock.
const WAIT: Duration = Duration::from_secs(10);
/// The timeout for the read lock. It is short, because reading works without it, and a hook reads several times.
const WAIT_TO_READ: Duration = Duration::from_millis(500);

/// The purpose of a lock.
#[derive(Clone, Copy)]
enum For {
    Writing,
    Reading,
}

/// Takes the write lock, which is released when the file is dropped.
pub(super) fn to_write(log: &Path) -> Result<File, AuditError> {
    let path = beside(log);
    let lock = open_lock(&path).map_err(|error| AuditError::unwritable(&path, &error))?;
    match wait(lock, For::Writing) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(AuditError::of(
            "log_busy",
            format!("another process has kept `{}` locked for {} seconds", path.display(), WAIT.as_secs()),
            "end that process, then try again",
        )),
        Err(error) => Err(AuditError::unwritable(&path, &error)),
    }
}

/// Takes the read lock for listing the files of a log. Returns `None` if the lock file cannot be opened or the wait was
/// too long; the caller then reads without it.
pub(super) fn to_read(log: &Path) -> Option<File> {
    let lock = place::open(&beside(log), OpenOptions::new().read(true)).ok()?;
    wait(lock, For::Reading).ok()?
}

/// Opens the lock file, for a caller that keeps it open. Returns its path as well.
pub(super) fn opened(log: &Path) -> io::Result<(File, PathBuf)> {
    let path = beside(log);
    Ok((open_lock(&path)?, path))
}

fn beside(log: &Path) -> PathBuf {
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    log.with_file_name(name)
}

/// Locks the file. Returns `None` on a timeout.
fn wait(lock: File, what_for: For) -> io::Result<Option<File>> {
    let tried = match what_for {
        For::Writing => lock.try_lock(),
        For::Reading => lock.try_lock_shared(),
    };
    match tried {
        Ok(()) => return Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // Operating system locks have no timeout: a thread waits, and releases the lock if it comes too late.
    let (turn, turns) = mpsc::sync_channel(0);
    thread::spawn(move || {
        let locked = match what_for {
            For::Writing => lock.lock(),
            For::Reading => lock.lock_shared(),
        };
        let _late = turn.send(locked.map(|()| lock));
    });
    let patience = match what_for {
        For::Writing => WAIT,
        For::Reading => WAIT_TO_READ,
    };
    match turns.recv_timeout(patience) {
        Ok(locked) => locked.map(Some),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
    }
}
