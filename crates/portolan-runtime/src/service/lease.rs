//! Who drives a run of the store: one at a time, in whichever process, so that no call is made twice.
//!
//! A lease is a lock of the operating system's on a file beside the store, named by the handle of the run. It ends with
//! its holder, however that one ends. It guards what is done, not what is written: that is the sequence number's.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::StoreAt;
use crate::disk::{open_lock, private_folder};
use crate::error::ServiceError;
use crate::store::RunId;

/// The runs that are driven.
pub(super) struct Leases {
    /// Where the lock files are; runs in memory have none.
    folder: Option<PathBuf>,
    /// Those that this process drives.
    ours: Mutex<BTreeSet<RunId>>,
}

/// The right to drive a run, until it is dropped.
pub(super) struct Lease<'l> {
    leases: &'l Leases,
    id: RunId,
    /// Closing it unlocks.
    lock: Option<(PathBuf, File)>,
}

/// Why a run may not be driven.
enum Taken {
    Here,
    Elsewhere,
    Failed(PathBuf, io::Error),
}

impl Leases {
    pub(super) fn beside(store: &StoreAt) -> Leases {
        let folder = match store {
            StoreAt::Memory => None,
            StoreAt::File(path) => {
                let mut name = path.file_name().unwrap_or_default().to_owned();
                name.push(".driven");
                Some(path.with_file_name(name))
            }
        };
        Leases { folder, ours: Mutex::default() }
    }

    /// Takes the right to drive a run that is kept.
    ///
    /// # Errors
    /// Somebody else drives it.
    pub(super) fn take(&self, id: &RunId) -> Result<Lease<'_>, ServiceError> {
        self.try_take(id).map_err(|taken| {
            let help = format!("wait until it is done; `portolan runs cancel {id}` calls it off");
            match taken {
                Taken::Here => ServiceError::refused("under_way", format!("the run `{id}` is under way already"), help),
                Taken::Elsewhere => {
                    ServiceError::refused("under_way", format!("the run `{id}` is under way in another process"), help)
                }
                Taken::Failed(path, error) => ServiceError::failed(
                    "not_locked",
                    format!(
                        "nobody can tell whether the run `{id}` is under way: `{}` cannot be locked ({error})",
                        path.display()
                    ),
                    "keep the store on a disk whose files can be locked, in a folder that you may write to",
                ),
            }
        })
    }

    fn try_take(&self, id: &RunId) -> Result<Lease<'_>, Taken> {
        if !self.ours().insert(id.clone()) {
            return Err(Taken::Here);
        }
        // From here on it is given back however this ends.
        let mut lease = Lease { leases: self, id: id.clone(), lock: None };
        if let Some(folder) = &self.folder {
            let path = folder.join(format!("{id}.lock"));
            let lock = match private_folder(folder).and_then(|()| lock(&path)) {
                Ok(Some(lock)) => lock,
                Ok(None) => return Err(Taken::Elsewhere),
                Err(error) => return Err(Taken::Failed(path, error)),
            };
            lease.lock = Some((path, lock));
        }
        Ok(lease)
    }

    fn ours(&self) -> MutexGuard<'_, BTreeSet<RunId>> {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some((path, lock)) = self.lock.take() {
            // While it is still locked: whoever opened it before finds that it is gone, and opens another one. Where
            // nobody could find that, it stays.
            if cfg!(unix) {
                let _left_behind = fs::remove_file(path);
            }
            drop(lock);
        }
        self.leases.ours().remove(&self.id);
    }
}

/// The locked file; nothing when somebody else has locked it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = open_lock(path)?;
        match file.try_lock() {
            Ok(()) if is_still(&file, path)? => return Ok(Some(file)),
            // Its holder was done with it, and removed it, between the two.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Whether the path leads to this file.
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

    #[test]
    fn one_drives_at_a_time_in_whichever_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = StoreAt::File(folder.path().join("runs.db"));
        // Two services are to each other as two processes are.
        let (one, other) = (Leases::beside(&store), Leases::beside(&store));
        let (id, another) = (RunId::random(), RunId::random());
        let held = one.take(&id).expect("nobody drives it");
        let said = |leases: &Leases| leases.take(&id).map(drop).expect_err("it is driven").message;
        assert_eq!(said(&one), format!("the run `{id}` is under way already"));
        assert_eq!(said(&other), format!("the run `{id}` is under way in another process"));
        assert!(other.take(&another).is_ok(), "it is a matter of one run");
        drop(held);
        assert!(other.take(&id).is_ok() && one.take(&id).is_ok());
        let left = fs::read_dir(folder.path().join("runs.db.driven")).expect("the folder of the locks");
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
    fn runs_in_memory_are_driven_once_too() {
        let leases = Leases::beside(&StoreAt::Memory);
        let id = RunId::random();
        let held = leases.take(&id);
        assert!(held.is_ok() && leases.take(&id).is_err());
        drop(held);
        assert!(leases.take(&id).is_ok());
    }
}
