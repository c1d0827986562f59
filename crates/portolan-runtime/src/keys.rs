//! The user's keys, in `run.keys` of the data folder, beside the record of trust: one line per key, the newest last.
//!
//! The file is created atomically, and never replaced: if two processes need the first key at once, one creates it and
//! the other reads it. A key is added by appending a line. Everything made with a key names the key. The uses of keys
//! are not known here: each use derives its own key.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use data_encoding::HEXLOWER;
use ring::hkdf::{HKDF_SHA256, Prk};

use crate::digest::Digest;
use crate::disk::{Fresh, Stamp, folder_of, private_folder, sync_folder};

/// The name of the file.
const NAME: &str = "run.keys";
/// The largest file that is read, in bytes. A key is a line of some eighty bytes.
const MAX_BYTES: u64 = 1024 * 1024;
const KEY_BYTES: usize = 32;
/// The number of letters of a key's digest that identify it.
const ID_LETTERS: usize = 16;

/// A key of the user. It is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    id: String,
    secret: [u8; KEY_BYTES],
}

impl Key {
    fn new(secret: [u8; KEY_BYTES]) -> Key {
        let digest = Digest::of_parts(["portolan key 1".as_bytes(), &secret]);
        Key { id: digest.as_str().chars().take(ID_LETTERS).collect(), secret }
    }

    /// Returns the identifier, in lower-case hexadecimal digits.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the root from which the keys of each use are derived. The secret itself is not used directly.
    pub(crate) fn root(&self) -> Prk {
        Prk::new_less_safe(HKDF_SHA256, &self.secret)
    }

    fn line(&self) -> String {
        format!("{} {}\n", self.id, HEXLOWER.encode(&self.secret))
    }

    /// Parses the key of a line. Returns `None` if it is malformed or its identifier does not match.
    fn parse(line: &str) -> Option<Key> {
        let (id, digits) = line.split_once(' ')?;
        if digits.len() != 2 * KEY_BYTES || !digits.is_ascii() {
            return None;
        }
        let mut secret = [0_u8; KEY_BYTES];
        for (at, byte) in secret.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Key::new(secret)).filter(|key| key.id == id)
    }
}

/// The key file.
pub(crate) struct KeyFile {
    path: PathBuf,
    /// What the keys are needed for, as a clause for errors.
    needed: &'static str,
    /// The keys, with the metadata of the file. Only set if every later change of the file shows in its metadata.
    known: Mutex<Option<(Stamp, Arc<[Key]>)>>,
}

/// Why the keys are not available.
#[derive(Debug)]
pub(crate) struct KeyFault {
    /// The error, in one lower-case sentence.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: String,
}

impl KeyFile {
    /// Returns the key file of a data folder. `needed` says what the keys are needed for, such as "the run has
    /// secrets".
    pub(crate) fn in_folder(data: &Path, needed: &'static str) -> KeyFile {
        KeyFile { path: data.join(NAME), needed, known: Mutex::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the newest key, and creates the first one. The file is checked on each call: anything made with a key
    /// whose file is missing would be lost when this process ends.
    pub(crate) fn newest(&self) -> Result<Key, KeyFault> {
        let keys = match self.read()? {
            Some(keys) => keys,
            None => {
                self.make()?;
                // Another process may have created it first.
                self.read()?.unwrap_or_default()
            }
        };
        keys.last().cloned().ok_or_else(|| self.no_keys("holds no key"))
    }

    /// Returns the keys of the file, or `None` if there is no file. A file with unchanged metadata is not read again;
    /// the metadata includes the permissions.
    pub(crate) fn read(&self) -> Result<Option<Arc<[Key]>>, KeyFault> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // The metadata is read before the content, so that a change in between shows the next time.
        let (stamp, now) = (Stamp::of(&self.path), SystemTime::now());
        if let Some((_, keys)) = known.as_ref().filter(|(then, _)| stamp.as_ref() == Some(then)) {
            return Ok(Some(Arc::clone(keys)));
        }
        let keys = self.read_anew()?;
        let settled = stamp.filter(|stamp| stamp.is_settled(now));
        *known = settled.zip(keys.clone());
        Ok(keys)
    }

    fn read_anew(&self) -> Result<Option<Arc<[Key]>>, KeyFault> {
        // Checked before opening, because opening a pipe would wait for a writer.
        let meta = match fs::metadata(&self.path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed("read", &error)),
        };
        if !meta.is_file() || meta.len() > MAX_BYTES {
            return Err(self.no_keys("is not a key file"));
        }
        if is_open_to_others(&meta) {
            let path = self.path.display();
            return Err(fault(
                format!("others can read the key file `{path}`"),
                "restrict its permissions with `chmod 600`",
            ));
        }
        let mut text = String::new();
        let read = File::open(&self.path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        read.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => self.no_keys("is not a key file"),
            _ => self.failed("read", &error),
        })?;
        let keys: Option<Arc<[Key]>> = text.lines().map(Key::parse).collect();
        keys.map(Some).ok_or_else(|| self.no_keys("is damaged"))
    }

    fn make(&self) -> Result<(), KeyFault> {
        let mut secret = [0_u8; KEY_BYTES];
        getrandom::fill(&mut secret).map_err(|_| no_chance(self.needed))?;
        match self.keep(&Key::new(secret)) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(self.failed("written", &error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes the file under another name, flushes it to the disk before the key is used, and never replaces a file.
    fn keep(&self, key: &Key) -> io::Result<()> {
        let folder = folder_of(&self.path);
        private_folder(folder)?;
        Fresh::beside(&self.path, key.line().as_bytes())?.synced()?.place(&self.path)?;
        sync_folder(folder)
    }

    fn failed(&self, what: &str, error: &io::Error) -> KeyFault {
        let path = self.path.display();
        fault(
            format!("the key file `{path}` cannot be {what} ({error}), and {}", self.needed),
            "make it readable and its folder writable, or set `PORTOLAN_DATA_DIR`",
        )
    }

    fn no_keys(&self, what: &str) -> KeyFault {
        fault(format!("`{}` {what}", self.path.display()), "restore the key file that the runs were stored with")
    }
}

fn fault(message: String, help: &str) -> KeyFault {
    KeyFault { message, help: help.to_owned() }
}

#[cfg(unix)]
fn is_open_to_others(meta: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(meta) & 0o077 != 0
}

/// The access list of the user's profile protects it.
#[cfg(not(unix))]
fn is_open_to_others(_meta: &fs::Metadata) -> bool {
    false
}

/// Returns the error for missing randomness, which is needed for the same purpose as the keys.
pub(crate) fn no_chance(needed: &str) -> KeyFault {
    fault(format!("the system provides no random numbers, and {needed}"), "try again")
}
