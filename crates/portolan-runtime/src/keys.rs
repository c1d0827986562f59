//! The user's keys, in `run.keys` of the data folder, beside the record of trust: a line for each, the newest last.
//!
//! The file is made whole or not at all, and never replaced: of two processes that need the first key at once, one makes
//! it and the other reads it. A key is added by adding a line; whatever was made with a key names it. What a key is used
//! for is not known here: each use derives its own from it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use ring::hkdf::{HKDF_SHA256, Prk};

use crate::digest::Digest;
use crate::disk::{Fresh, Stamp, private_folder, sync_folder};

/// The name of the file.
const NAME: &str = "run.keys";
/// A key is a line of some eighty bytes; what is larger is no such file.
const MAX_BYTES: u64 = 1024 * 1024;
const KEY_BYTES: usize = 32;
/// So many letters of a key's digest tell it from the others.
const ID_LETTERS: usize = 16;

/// A key of the user's. It is not shown.
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

    /// Lower-case hexadecimal digits, which tell it from the others.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// What the keys of each use are derived from; the secret itself is used for nothing.
    pub(crate) fn root(&self) -> Prk {
        Prk::new_less_safe(HKDF_SHA256, &self.secret)
    }

    fn line(&self) -> String {
        let mut line = format!("{} ", self.id);
        for byte in self.secret {
            write!(line, "{byte:02x}").expect("a text takes everything");
        }
        line.push('\n');
        line
    }

    /// The key of a line, when it is one and what it says of itself is true.
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

/// The file of keys.
pub(crate) struct KeyFile {
    path: PathBuf,
    /// What the keys are needed for, as a clause that a fault names.
    needed: &'static str,
    /// The keys of a file whose every change would show in its metadata, and the metadata that it had.
    known: Mutex<Option<(Stamp, Arc<[Key]>)>>,
}

/// Why the keys could not be had.
#[derive(Debug)]
pub(crate) struct KeyFault {
    /// What is wrong, in one lower-case sentence.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: String,
}

impl KeyFile {
    /// The file of the user whose data folder this is. `needed` says what for, such as "the run has secrets".
    pub(crate) fn in_folder(data: &Path, needed: &'static str) -> KeyFile {
        KeyFile { path: data.join(NAME), needed, known: Mutex::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The key that is used now; the first one is made. The file is looked at each time: what is made with a key whose
    /// file is gone would be lost when this process ends.
    pub(crate) fn newest(&self) -> Result<Key, KeyFault> {
        let keys = match self.read()? {
            Some(keys) => keys,
            None => {
                self.make()?;
                // Whoever came first has made it.
                self.read()?.unwrap_or_default()
            }
        };
        keys.last().cloned().ok_or_else(|| self.no_keys("holds no key"))
    }

    /// The keys of the file; nothing when there is no file. A file that looks as it did is not read again: who may read
    /// it is among what shows in its metadata.
    pub(crate) fn read(&self) -> Result<Option<Arc<[Key]>>, KeyFault> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at before it is read: what changes in between shows the next time.
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
        // Before it is opened: a pipe would wait for somebody to write.
        let meta = match fs::metadata(&self.path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed("read", &error)),
        };
        if !meta.is_file() || meta.len() > MAX_BYTES {
            return Err(self.no_keys("is no key file"));
        }
        if is_open_to_others(&meta) {
            let path = self.path.display();
            return Err(fault(format!("others may read the key file `{path}`"), "close it with `chmod 600`"));
        }
        let mut text = String::new();
        let read = File::open(&self.path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        read.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => self.no_keys("is no key file"),
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

    /// Written whole under another name, on disk before anything is made with it, and never over another one.
    fn keep(&self, key: &Key) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
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
        fault(format!("`{}` {what}", self.path.display()), "put back the key file that runs were kept with")
    }
}

fn fault(message: String, help: &str) -> KeyFault {
    KeyFault { message, help: help.to_owned() }
}

#[cfg(unix)]
fn is_open_to_others(meta: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(meta) & 0o077 != 0
}

/// The user's profile is guarded by its access list.
#[cfg(not(unix))]
fn is_open_to_others(_meta: &fs::Metadata) -> bool {
    false
}

/// There is no randomness to be had, which is needed for the same as the keys.
pub(crate) fn no_chance(needed: &str) -> KeyFault {
    fault(format!("the system gives no random numbers, and {needed}"), "try again")
}
