//! What runs with secrets look like on disk: their records and snapshots are sealed, so that whoever comes by the file
//! of a store, but not by the user's key, reads nothing of them.
//!
//! ```text
//! sealed:<id of the key>:<base64 of nonce, ChaCha20-Poly1305 of the text, tag>
//! ```
//! Each run has a key of its own, made from the user's and its handle. A text is bound to its run, its number and its
//! part: moved elsewhere in the store, it does not open. JSON never begins like this, so that texts which stand as they
//! are need no mark. Knows neither SQL nor what is a secret.

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

/// How every sealed text begins.
const PREFIX: &str = "sealed:";

/// What seals and opens: the user's keys.
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

/// What a text is of a run, which it is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The opening of the run, by the number of its first record.
    Opening,
    /// The event of a record.
    Event,
    /// The changes of a record.
    Changes,
    /// The run, as a record left it.
    Snapshot,
}

/// Why a text did not open.
#[derive(Debug)]
pub enum Unopened {
    /// Its key is not there.
    NoKey(StoreError),
    /// It is not what was sealed there.
    Damaged(String),
}

impl Keyring {
    /// The keys of the user whose data folder this is. Nothing is read before it is needed; the first run that has
    /// secrets makes the file.
    pub fn in_folder(data: &Path) -> Keyring {
        Keyring { keys: Keys::in_folder(data) }
    }

    /// What seals the texts of a run, by the newest key.
    ///
    /// # Errors
    /// The keys cannot be read or made.
    pub fn sealer<'r>(&self, run: &'r RunId) -> Result<Sealer<'r>, StoreError> {
        Ok(Sealer { run, key: self.keys.newest()? })
    }

    /// The text as it was before it was sealed; one that never was stays what it is.
    ///
    /// # Errors
    /// Its key is not there, or it is not what was sealed there.
    pub fn open<'t>(&self, run: &RunId, seq: u64, part: Part, text: &'t str) -> Result<Cow<'t, str>, Unopened> {
        let Some(rest) = text.strip_prefix(PREFIX) else { return Ok(Cow::Borrowed(text)) };
        let damaged = |why: &str| Unopened::Damaged(why.to_owned());
        let (id, sealed) = rest.split_once(':').ok_or_else(|| damaged("the seal is cut off"))?;
        let key = self.keys.named(id, run).map_err(Unopened::NoKey)?;
        let mut bytes = BASE64.decode(sealed).map_err(|_| damaged("the seal is no base64"))?;
        if bytes.len() < NONCE_LEN {
            return Err(damaged("the seal is cut off"));
        }
        let mut text = bytes.split_off(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&bytes).map_err(|_| damaged("the seal is cut off"))?;
        let opened = keys::of_run(&key, run).open_in_place(nonce, bound_to(run, seq, part), &mut text);
        let length = opened.map_err(|_| damaged("it is not what was sealed there"))?.len();
        text.truncate(length);
        String::from_utf8(text).map(Cow::Owned).map_err(|_| damaged("it is no text"))
    }
}

/// What seals the texts of one run.
pub struct Sealer<'r> {
    run: &'r RunId,
    key: Key,
}

impl Sealer<'_> {
    /// The text as it may lie where the run is kept.
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
