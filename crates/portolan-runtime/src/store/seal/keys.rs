//! The user's keys for sealing runs: a derived key for each run, and texts that name their key.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};

use crate::keys::{Key, KeyFault, KeyFile};
use crate::store::{RunId, StoreError};

/// The purpose of the keys, for messages.
const NEEDED: &str = "the run has secrets";

/// The keys of a user.
pub(super) struct Keys {
    file: KeyFile,
    /// The keys that opened texts. They stay valid if the file changes.
    known: Mutex<Vec<Key>>,
}

impl Keys {
    pub(super) fn in_folder(data: &Path) -> Keys {
        Keys { file: KeyFile::in_folder(data, NEEDED), known: Mutex::default() }
    }

    /// Returns the key that seals now.
    pub(super) fn newest(&self) -> Result<Key, StoreError> {
        Ok(self.file.newest()?)
    }

    /// Returns the key with this id, which sealed a text of `run`.
    pub(super) fn named(&self, id: &str, run: &RunId) -> Result<Key, StoreError> {
        let found = |keys: &[Key]| keys.iter().find(|key| key.id() == id).cloned();
        if let Some(key) = found(&self.known.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(key);
        }
        let path = self.file.path().display();
        let Some(keys) = self.file.read()? else {
            return Err(StoreError::Unavailable(format!(
                "run `{run}` is sealed and the key file `{path}` is missing: restore it, or set \
                `PORTOLAN_DATA_DIR` to the folder that it is in"
            )));
        };
        let key = found(&keys).ok_or_else(|| {
            StoreError::Unavailable(format!(
                "run `{run}` is sealed with a key that the key file `{path}` does not have: restore the file \
                that the run was kept with, or set `PORTOLAN_DATA_DIR` to the folder that it is in"
            ))
        })?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).push(key.clone());
        Ok(key)
    }
}

/// Returns the cipher key of one run: with a key for each run, random nonces do not collide for any number of runs.
pub(super) fn of_run(key: &Key, run: &RunId) -> LessSafeKey {
    let root = key.root();
    let purpose = ["portolan run 1".as_bytes(), run.as_str().as_bytes()];
    let derived = root.expand(&purpose, &CHACHA20_POLY1305).expect("one key is not too long");
    LessSafeKey::new(UnboundKey::from(derived))
}

pub(super) fn no_chance() -> StoreError {
    crate::keys::no_chance(NEEDED).into()
}

impl From<KeyFault> for StoreError {
    fn from(fault: KeyFault) -> StoreError {
        StoreError::Unavailable(format!("{}: {}", fault.message, fault.help))
    }
}
