//! The user's keys, in `run.keys` of the data folder, beside the record of trust: a line for each, the newest last.
//!
//! The file is made whole or not at all, and never replaced: of two processes that need the first key at once, one makes
//! it and the other reads it. A key is added by adding a line; texts name the key that sealed them.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk};

use crate::digest::Digest;
use crate::store::{RunId, StoreError};

/// The name of the file.
const NAME: &str = "run.keys";
/// A key is a line of some eighty bytes; what is larger is no such file.
const MAX_BYTES: u64 = 1024 * 1024;
const KEY_BYTES: usize = 32;
/// So many letters of a key's digest tell it from the others.
const ID_LETTERS: usize = 16;

/// A key of the user's. It is not shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    id: String,
    secret: [u8; KEY_BYTES],
}

impl Key {
    fn new(secret: [u8; KEY_BYTES]) -> Key {
        let digest = Digest::of_parts(["portolan key 1".as_bytes(), &secret]);
        Key { id: digest.as_str().chars().take(ID_LETTERS).collect(), secret }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// What seals the texts of one run: with a key for each, random nonces do not meet however many runs there are.
    pub(super) fn of_run(&self, run: &RunId) -> LessSafeKey {
        let derived = Prk::new_less_safe(HKDF_SHA256, &self.secret);
        let purpose = ["portolan run 1".as_bytes(), run.as_str().as_bytes()];
        let key = derived.expand(&purpose, &CHACHA20_POLY1305).expect("one key is not too long");
        LessSafeKey::new(UnboundKey::from(key))
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
pub(super) struct KeyFile {
    path: PathBuf,
    /// Those that texts were opened with: they stay what they are, whatever becomes of the file.
    known: Mutex<Vec<Key>>,
}

impl KeyFile {
    pub(super) fn in_folder(data: &Path) -> KeyFile {
        KeyFile { path: data.join(NAME), known: Mutex::default() }
    }

    /// The key that seals now; the first one is made. Read each time: what were sealed with a key whose file is gone
    /// would be lost when this process ends.
    pub(super) fn newest(&self) -> Result<Key, StoreError> {
        let keys = match self.read()? {
            Some(keys) => keys,
            None => {
                self.make()?;
                // Whoever came first has made it.
                self.read()?.unwrap_or_default()
            }
        };
        keys.into_iter().next_back().ok_or_else(|| self.no_keys("holds no key"))
    }

    /// The key of this id, which sealed a text of `run`.
    pub(super) fn named(&self, id: &str, run: &RunId) -> Result<Key, StoreError> {
        let found = |keys: &[Key]| keys.iter().find(|key| key.id == id).cloned();
        if let Some(key) = found(&self.known.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(key);
        }
        let path = self.path.display();
        let Some(keys) = self.read()? else {
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

    /// The keys of the file; nothing when there is no file.
    fn read(&self) -> Result<Option<Vec<Key>>, StoreError> {
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
            let message = format!("others may read the key file `{path}`: close it with `chmod 600`");
            return Err(StoreError::Unavailable(message));
        }
        let mut text = String::new();
        let read = File::open(&self.path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        read.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => self.no_keys("is no key file"),
            _ => self.failed("read", &error),
        })?;
        let keys: Option<Vec<Key>> = text.lines().map(Key::parse).collect();
        keys.map(Some).ok_or_else(|| self.no_keys("is damaged"))
    }

    fn make(&self) -> Result<(), StoreError> {
        let mut secret = [0_u8; KEY_BYTES];
        getrandom::fill(&mut secret).map_err(|_| no_chance())?;
        match self.keep(&Key::new(secret)) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(self.failed("written", &error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Written whole under another name, on disk before anything is sealed with it, and never over another one.
    fn keep(&self, key: &Key) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        // It is nobody's but the user's from the first moment.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(key.line().as_bytes())?;
        file.as_file().sync_all()?;
        file.persist_noclobber(&self.path).map_err(|error| error.error)?;
        #[cfg(unix)]
        File::open(folder)?.sync_all()?;
        Ok(())
    }

    fn failed(&self, what: &str, error: &io::Error) -> StoreError {
        let path = self.path.display();
        StoreError::Unavailable(format!(
            "the key file `{path}` cannot be {what} ({error}), and the run has secrets: make it readable and its folder \
             writable, or set `PORTOLAN_DATA_DIR`"
        ))
    }

    fn no_keys(&self, what: &str) -> StoreError {
        let path = self.path.display();
        StoreError::Unavailable(format!("`{path}` {what}: put back the key file that runs were kept with"))
    }
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

pub(super) fn no_chance() -> StoreError {
    StoreError::Unavailable("the system gives no random numbers, and the run has secrets: try again".to_owned())
}
