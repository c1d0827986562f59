//! Leases to drive a run: one caller has one at a time, so that no call is made twice.
//!
//! A lease guards execution. Writes are guarded by the sequence number. The leases of the stores here end with their
//! holder in any case: within a process they are entries of a set, and between processes they are locks of the
//! operating system on files beside the store, named by the handles of the runs.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{RunId, StoreError};
use crate::disk::{open_lock, private_folder};

/// A future that completes when a lease is lost.
pub type LossFuture<'l> = Pin<Box<dyn Future<Output = ()> + Send + 'l>>;

/// The lease to drive a run, until it is dropped.
///
/// A store whose leases expire renews each one while it is held.
pub trait Lease: Send + Sync {
    /// Completes if the lease is lost although it is held: it could not be renewed in time, and another caller may have
    /// it. The driver of the run must stop then. A lease that lasts as long as its holder is never lost.
    fn lost(&self) -> LossFuture<'_> {
        Box::pin(std::future::pending())
    }
}

/// The runs that are driven through one store of this process.
#[derive(Clone, Debug, Default)]
pub(super) struct DrivenRuns(Arc<Mutex<BTreeSet<RunId>>>);

/// A lease of this process.
#[derive(Debug)]
pub(super) struct ProcessLease {
    driven: DrivenRuns,
    id: RunId,
    /// Closing it unlocks.
    lock: Option<(PathBuf, File)>,
}

impl Lease for ProcessLease {}

impl DrivenRuns {
    /// Acquires the lease of a run, unless it is held in this process.
    pub(super) fn take(&self, id: &RunId) -> Result<ProcessLease, StoreError> {
        match self.runs().insert(id.clone()) {
            true => Ok(ProcessLease { driven: self.clone(), id: id.clone(), lock: None }),
            false => Err(StoreError::UnderWay { run: id.clone(), holder: None }),
        }
    }

    /// Does the same, unless another process with its locks in `folder` holds it.
    pub(super) fn take_among(&self, folder: &Path, id: &RunId) -> Result<ProcessLease, StoreError> {
        let mut held = self.take(id)?;
        let path = folder.join(format!("{id}.lock"));
        match private_folder(folder).and_then(|()| lock(&path)) {
            Ok(Some(lock)) => held.lock = Some((path, lock)),
            Ok(None) => {
                return Err(StoreError::UnderWay { run: id.clone(), holder: Some("another process".to_owned()) });
            }
            Err(error) => return Err(not_locked(id, &path, &error)),
        }
        Ok(held)
    }

    fn runs(&self) -> MutexGuard<'_, BTreeSet<RunId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ProcessLease {
    fn drop(&mut self) {
        if let Some((path, lock)) = self.lock.take() {
            // Removed while it is still locked: a process that opened it before finds that it is gone, and opens
            // another one. On platforms without this check the file stays.
            if cfg!(unix) {
                let _left_behind = fs::remove_file(path);
            }
            drop(lock);
        }
        self.driven.runs().remove(&self.id);
    }
}

fn not_locked(id: &RunId, path: &Path, error: &io::Error) -> StoreError {
    StoreError::Failed {
        code: "not_locked",
        message: format!(
            "it cannot be determined whether the run `{id}` is running: `{}` cannot be locked ({error})",
            path.display()
        ),
        help: "keep the store on a disk that supports file locks, in a folder that you can write to".to_owned(),
    }
}

/// Returns the locked file. `None` if it is locked already.
fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = open_lock(path)?;
        match file.try_lock() {
            Ok(()) if is_still(&file, path)? => return Ok(Some(file)),
            // Its holder released and removed it between the two calls.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Checks whether the path leads to this file.
#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_still(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::store_error;

    #[test]
    fn one_drives_at_a_time_in_whichever_process() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("runs.db.driven");
        // Two stores behave like two processes here.
        let (one, other) = (DrivenRuns::default(), DrivenRuns::default());
        let (id, another) = (RunId::random(), RunId::random());
        let held = one.take_among(&folder, &id).expect("nobody drives it");
        let said = |driven: &DrivenRuns| {
            let error = store_error(driven.take_among(&folder, &id).map(drop).expect_err("it is driven"));
            format!("{}: {}; {}", error.code, error.message, error.help)
        };
        let help = format!("wait until it is done, or cancel it with `portolan runs cancel {id}`");
        assert_eq!(said(&one), format!("under_way: the run `{id}` is already running; {help}"));
        assert_eq!(said(&other), format!("under_way: the run `{id}` is running in another process; {help}"));
        assert!(other.take_among(&folder, &another).is_ok(), "a lease is for one run only");
        drop(held);
        assert!(other.take_among(&folder, &id).is_ok() && one.take_among(&folder, &id).is_ok());
        let left = fs::read_dir(folder).expect("the folder of the locks");
        assert_eq!(left.count(), if cfg!(unix) { 0 } else { 2 });
    }

    #[test]
    fn a_lock_that_is_removed_meanwhile_is_not_held_twice() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.lock");
        let first = lock(&path).expect("it can be locked").expect("nobody has it");
        let waiting = open_lock(&path).expect("the same file");
        fs::remove_file(&path).expect("it is there");
        let second = lock(&path).expect("it can be locked").expect("a new file");
        drop(first);
        assert!(waiting.try_lock().is_ok() && !is_still(&waiting, &path).expect("it can be told"));
        assert!(lock(&path).expect("it can be told").is_none(), "the second has it");
        drop(second);
    }

    #[test]
    fn where_nothing_can_be_locked_nobody_drives() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("runs.db.driven");
        fs::write(&folder, "no folder").expect("there is room");
        let (driven, id) = (DrivenRuns::default(), RunId::random());
        let error = store_error(driven.take_among(&folder, &id).map(drop).expect_err("it cannot be told"));
        assert_eq!(error.code, "not_locked");
        assert!(error.message.starts_with(&format!("it cannot be determined whether the run `{id}` is running: ")));
        assert!(driven.take(&id).is_ok(), "what failed holds nothing");
    }
}
