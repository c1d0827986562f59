//! The user's keys as runs are sealed with them: a key of its own for each run, and texts that name the key of theirs.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};

use crate::keys::{Key, KeyFault, KeyFile};
use crate::store::{RunId, StoreError};

/// What the keys are needed for.
const NEEDED: &str = "the run has secrets";

/// The keys of a user.
pub(super) struct Keys {
    file: KeyFile,
    /// Those that texts were opened with: they stay what they are, whatever becomes of the file.
    known: Mutex<Vec<Key>>,
}

impl Keys {
    pub(super) fn in_folder(data: &Path) -> Keys {
        Keys { file: KeyFile::in_folder(data, NEEDED), known: Mutex::default() }
    }

    /// The key that seals now.
    pub(super) fn newest(&self) -> Result<Key, StoreError> {
        Ok(self.file.newest()?)
    }

    /// The key of this id, which sealed a text of `run`.
    pub(super) fn named(&self, id: &str, run: &RunId) -> Result<Key, StoreError> {
        let found = |keys: &[Key]| keys.iter().find(|key| key.id() == id).cloned();
        if let Some(key) = found(&self.known.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(key);
        }
        let path = self.file.path().display();
        let Some(keys) = self.file.read()? else {
            return Err(StoreError::Unavailable(format!(
                "run `{run}` is sealed and the key file `{path}` is missing: put it back, or set `PORTOLAN_DATA_DIR` to \
                 the folder that it is in"
            )));
        };
        let key = found(&keys).ok_or_else(|| {
            StoreError::Unavailable(format!(
                "run `{run}` is sealed with a key that the key file `{path}` does not hold: put back the file that the \
                 run was kept with, or set `PORTOLAN_DATA_DIR` to the folder that it is in"
            ))
        })?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).push(key.clone());
        Ok(key)
    }
}

/// What seals the texts of one run: with a key for each, random nonces do not meet however many runs there are.
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
