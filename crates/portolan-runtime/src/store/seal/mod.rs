//! The sealing of runs with secrets: their records and snapshots are encrypted, so that the store's file cannot be read
//! without the user's key.
//!
//! ```text
//! sealed:<id of the key>:<base64 of nonce, ChaCha20-Poly1305 of the text, tag>
//! ```
//! Each run has a key of its own, derived from the user's key and the run's handle. A text is bound to its run, its
//! number and its part: moved elsewhere in the store, it does not open. JSON never begins with the prefix, so plain
//! texts need no mark. Knows neither SQL nor what is a secret.

mod keys;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use ring::aead::{Aad, NONCE_LEN, Nonce};

use super::{RunId, StoreError};
use crate::keys::Key;
use keys::Keys;

/// The prefix of every sealed text.
const PREFIX: &str = "sealed:";

/// Seals and opens texts with the user's keys.
///
/// ```
/// use portolan_runtime::store::{Keyring, Part, RunId};
///
/// # let data = tempfile::tempdir()?;
/// # let data = data.path();
/// let (keyring, run) = (Keyring::in_folder(data), RunId::random());
/// let sealed = keyring.sealer(&run)?.seal(1, Part::Event, "the word is xyzzy")?;
/// assert!(!sealed.contains("xyzzy"));
/// assert_eq!(keyring.open(&run, 1, Part::Event, &sealed).unwrap(), "the word is xyzzy");
/// assert!(keyring.open(&run, 2, Part::Event, &sealed).is_err(), "it opens only where it was");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Keyring {
    keys: Keys,
}

/// The part of a run to which a text is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The opening of the run, with the number of its first record.
    Opening,
    /// The event of a record.
    Event,
    /// The changes of a record.
    Changes,
    /// The run after a record.
    Snapshot,
}

/// The reason why a text did not open.
#[derive(Debug)]
pub enum UnsealError {
    /// The key is missing.
    NoKey(StoreError),
    /// The text is not what was sealed there.
    Damaged(String),
}

impl Keyring {
    /// Returns the keys of the user with this data folder. Nothing is read before it is needed. The first run with
    /// secrets creates the key file.
    pub fn in_folder(data: &Path) -> Keyring {
        Keyring { keys: Keys::in_folder(data) }
    }

    /// Returns the sealer of a run, with the newest key.
    ///
    /// # Errors
    /// The keys cannot be read or created.
    pub fn sealer<'r>(&self, run: &'r RunId) -> Result<Sealer<'r>, StoreError> {
        Ok(Sealer { run, key: self.keys.newest()? })
    }

    /// Returns the text before it was sealed. A text that was never sealed is returned unchanged.
    ///
    /// # Errors
    /// The key is missing, or the text is not what was sealed there.
    pub fn open<'t>(&self, run: &RunId, seq: u64, part: Part, text: &'t str) -> Result<Cow<'t, str>, UnsealError> {
        let Some(rest) = text.strip_prefix(PREFIX) else { return Ok(Cow::Borrowed(text)) };
        let damaged = |why: &str| UnsealError::Damaged(why.to_owned());
        let (id, sealed) = rest.split_once(':').ok_or_else(|| damaged("the seal is truncated"))?;
        let key = self.keys.named(id, run).map_err(UnsealError::NoKey)?;
        let mut bytes = BASE64.decode(sealed).map_err(|_| damaged("the seal is not valid base64"))?;
        if bytes.len() < NONCE_LEN {
            return Err(damaged("the seal is truncated"));
        }
        let mut text = bytes.split_off(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&bytes).map_err(|_| damaged("the seal is truncated"))?;
        let opened = keys::of_run(&key, run).open_in_place(nonce, bound_to(run, seq, part), &mut text);
        let length = opened.map_err(|_| damaged("it is not what was sealed there"))?.len();
        text.truncate(length);
        String::from_utf8(text).map(Cow::Owned).map_err(|_| damaged("it is not text"))
    }
}

/// Seals the texts of one run.
pub struct Sealer<'r> {
    run: &'r RunId,
    key: Key,
}

impl Sealer<'_> {
    /// Returns the text in the form in which it may be stored.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn seal(&self, seq: u64, part: Part, text: &str) -> Result<String, StoreError> {
        let mut nonce = [0_u8; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| keys::no_chance())?;
        let mut bytes = text.as_bytes().to_vec();
        let cipher = keys::of_run(&self.key, self.run);
        let bound = bound_to(self.run, seq, part);
        cipher
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut bytes)
            .expect("a text is far below the cipher's bound of 256 GB");
        let mut sealed = format!("{PREFIX}{}:", self.key.id());
        BASE64.encode_string([&nonce[..], &bytes].concat(), &mut sealed);
        Ok(sealed)
    }
}

fn bound_to(run: &RunId, seq: u64, part: Part) -> Aad<String> {
    let part = match part {
        Part::Opening => "opening",
        Part::Event => "event",
        Part::Changes => "changes",
        Part::Snapshot => "snapshot",
    };
    Aad::from(format!("portolan run 1\n{run}\n{seq}\n{part}"))
}
