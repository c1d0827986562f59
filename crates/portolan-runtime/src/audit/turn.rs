//! Taking turns: one advisory lock a log, on a file beside it that is never removed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::error::AuditError;
use super::place;
use crate::disk::open_lock;

/// How long a turn to write is waited for.
const WAIT: Duration = Duration::from_secs(10);
/// How long a turn to read is: there is something to be read without one, and a hook reads several times.
const WAIT_TO_READ: Duration = Duration::from_millis(500);

/// What a turn is for.
#[derive(Clone, Copy)]
enum For {
    Writing,
    Reading,
}

/// The turn to write; it is over when the file is dropped.
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

/// The turn to look at what the log consists of. Whoever may only read, or waits too long, looks without one.
pub(super) fn to_read(log: &Path) -> Option<File> {
    let lock = place::open(&beside(log), OpenOptions::new().read(true)).ok()?;
    wait(lock, For::Reading).ok()?
}

fn beside(log: &Path) -> PathBuf {
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    log.with_file_name(name)
}

/// The file, locked; nothing when that took too long.
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
    // The operating system has no patience to set: a thread waits, and gives the turn back should it come too late.
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
