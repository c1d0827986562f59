//! The passphrase of the person. Its hashes (Argon2id) lie in `people/passphrases.json` of the user's data folder, the
//! newest last; the event log of each project names the one that it goes by, so that nobody puts another in its place. A
//! project goes on asking for the one that its log names until a person who knows it sets another there.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::People;
use crate::audit::{self, Durability, Kind, Line, Log, LogEntry};
use crate::digest::Digest;
use crate::disk;
use crate::error::ServiceError;
use crate::process::lineage;

/// Where hashes lie in a data folder.
const FOLDER: &str = "people";
/// Their file in it.
const FILE: &str = "passphrases.json";

/// The fewest letters that a passphrase has.
pub const MIN_LETTERS: usize = 10;

/// The longest passphrase, in bytes: what is longer would only take time.
const MAX_BYTES: usize = 1_000;
/// The largest file that is read.
const MAX_FILE: u64 = 64 << 10;
/// So many of the earlier ones are kept, for projects that go by them.
const MAX_KEPT: usize = 20;
/// The longest that is waited for after wrong ones, in milliseconds.
const MAX_WAIT_MS: i64 = 3_600_000;
/// What the log calls it.
const NAME: &str = "passphrase";
/// What the log says where a person has taken it away.
const NONE: &str = "none";

/// Whether a project has its persons confirm by a passphrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassphrasePolicy {
    /// It does not.
    Unset,
    /// It does, by this hash, which its log names or not yet.
    Set {
        /// The hash.
        hash: String,
        /// Whether the log names it.
        is_named: bool,
        /// The data folder that it lies in.
        folder: PathBuf,
    },
    /// The log names one that is not there.
    Tampered,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    hashes: Vec<String>,
}

/// Wrong ones in a row, and when the last one was.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Failures {
    count: u32,
    last_ms: i64,
}

impl People<'_> {
    /// Whether this project has its persons confirm by a passphrase.
    ///
    /// # Errors
    /// The log, or what is kept of passphrases, cannot be read.
    pub fn standing(&self) -> Result<PassphrasePolicy, ServiceError> {
        let kept = self.all_kept()?;
        let set = |folder: &Path, hash: &str, is_named| {
            let (folder, hash) = (folder.to_owned(), hash.to_owned());
            PassphrasePolicy::Set { hash, is_named, folder }
        };
        Ok(match self.named(NAME)? {
            Some(named) if named == NONE => PassphrasePolicy::Unset,
            Some(named) => {
                let mut all = kept.iter().flat_map(|(folder, kept)| kept.hashes.iter().map(move |hash| (folder, hash)));
                let found = all.find(|(_, hash)| fingerprint(hash) == named);
                found.map_or(PassphrasePolicy::Tampered, |(folder, hash)| set(folder, hash, true))
            }
            None => {
                let newest = kept.iter().find_map(|(folder, kept)| Some((folder, kept.hashes.last()?)));
                newest.map_or(PassphrasePolicy::Unset, |(folder, hash)| set(folder, hash, false))
            }
        })
    }

    /// Refuses where a passphrase is asked for and this is not it. Each wrong one is on record, and is waited after longer
    /// than after the one before. `act` says what it was asked for, such as "may trust commands".
    ///
    /// # Errors
    /// It is the wrong one, the right one is gone, it is too soon, or it cannot be put on record.
    pub fn confirm(&self, passphrase: &str, act: &str) -> Result<(), ServiceError> {
        let (hash, is_named, data) = match self.standing()? {
            PassphrasePolicy::Unset => return Ok(()),
            PassphrasePolicy::Tampered => return Err(tampered(&self.file()?)),
            PassphrasePolicy::Set { hash, is_named, folder } => (hash, is_named, folder),
        };
        // Attempts are counted where it lies: who could have them counted elsewhere could try as often as they like.
        let folder = data.join(FOLDER);
        let _turn = turn(&folder)?;
        let failures = failures(&folder)?;
        let now = self.service.clock().now();
        let wait = failures.wait(now);
        if wait > 0 {
            let message = format!("{} wrong passphrases were given in a row", failures.count);
            return Err(ServiceError::refused("too_soon", message, format!("try again in {} s", (wait + 999) / 1_000)));
        }
        // It counts before it is compared: whoever ends the process meanwhile has had an attempt all the same.
        keep_failures(&folder, &Failures { count: failures.count.saturating_add(1), last_ms: now.0 })?;
        let is_right = passphrase.len() <= MAX_BYTES && is_of(passphrase, &hash);
        if !is_right {
            let reason = format!("a wrong passphrase was given where only a person {act}");
            self.put_on_record(Kind::GuardBlock, json!({ "guardId": NAME, "reason": reason }))?;
            return Err(ServiceError::refused("wrong_passphrase", "this is not the passphrase", "nothing has changed"));
        }
        keep_failures(&folder, &Failures::default())?;
        self.name_folder(&data)?;
        if is_named { Ok(()) } else { self.name_hash(&fingerprint(&hash)) }
    }

    /// Sets another passphrase. Whoever calls has had the one confirmed that there was.
    ///
    /// # Errors
    /// It is too short, or cannot be kept or put on record.
    pub fn set_passphrase(&self, passphrase: &str) -> Result<(), ServiceError> {
        if passphrase.trim().chars().count() < MIN_LETTERS || passphrase.len() > MAX_BYTES {
            let message = format!("a passphrase has {MIN_LETTERS} letters or more, and at most {MAX_BYTES} bytes");
            return Err(ServiceError::refused("bad_input", message, "take several words"));
        }
        let _turn = turn(&self.folder()?)?;
        let hash = Argon2::default().hash_password(passphrase.as_bytes()).map_err(|error| {
            let help = "try again on a machine that has some memory and random numbers to give";
            ServiceError::failed("no_hash", format!("the passphrase cannot be hashed: {error}"), help)
        })?;
        let hash = hash.to_string();
        let path = self.file()?;
        let mut kept = kept(&path)?;
        kept.hashes.push(hash.clone());
        let over = kept.hashes.len().saturating_sub(MAX_KEPT);
        kept.hashes.drain(..over);
        disk::replace(&path, &json_of(&kept)).map_err(|error| unwritable(&path, &error))?;
        self.name_hash(&fingerprint(&hash))
    }

    /// Has this project ask for no passphrase any more. Whoever calls has had the one confirmed that there was.
    ///
    /// # Errors
    /// It cannot be put on record.
    pub fn forget_passphrase(&self) -> Result<(), ServiceError> {
        self.name_hash(NONE)
    }

    /// Puts on record which passphrase the project goes by, where one is set and the log names none.
    ///
    /// # Errors
    /// The log, or what is kept of passphrases, cannot be read or written.
    pub fn name_passphrase(&self) -> Result<(), ServiceError> {
        match self.standing()? {
            PassphrasePolicy::Set { hash, is_named: false, .. } => self.name_hash(&fingerprint(&hash)),
            PassphrasePolicy::Set { is_named: true, .. } | PassphrasePolicy::Unset | PassphrasePolicy::Tampered => {
                Ok(())
            }
        }
    }

    /// Where the hashes lie.
    ///
    /// # Errors
    /// The user's data folder cannot be found.
    pub fn file(&self) -> Result<PathBuf, ServiceError> {
        Ok(self.folder()?.join(FILE))
    }

    /// Where that is kept by which persons are known.
    pub(super) fn folder(&self) -> Result<PathBuf, ServiceError> {
        Ok(self.data()?.join(FOLDER))
    }

    /// What the log says by this name, the last time that it says something.
    pub(super) fn named(&self, name: &str) -> Result<Option<String>, ServiceError> {
        let is_it = |line: &Line| line.kind == Kind::Config.name() && line.data["name"] == name;
        let line = audit::latest(&audit::project_log(self.service.project()), is_it)?;
        Ok(line.and_then(|line| line.data["value"].as_str().map(str::to_owned)))
    }

    /// Has the log say it.
    pub(super) fn name(&self, name: &str, value: &str, source: &str) -> Result<(), ServiceError> {
        self.put_on_record(Kind::Config, json!({ "name": name, "value": value, "source": source }))
    }

    fn name_hash(&self, value: &str) -> Result<(), ServiceError> {
        self.name(NAME, value, "people passphrase")
    }

    fn put_on_record(&self, kind: Kind, data: Value) -> Result<(), ServiceError> {
        let log = Log::of_project(self.service.project())?.with_clock(self.service.clock().clone());
        log.append(&[LogEntry::of(kind, data)], Durability::Synced)?;
        Ok(())
    }

    /// Says on record in which folder the passphrase lay that was confirmed, where that is not the account's own.
    fn name_folder(&self, folder: &Path) -> Result<(), ServiceError> {
        if self.own_folder().is_none_or(|own| own == folder) {
            return Ok(());
        }
        let value = folder.to_string_lossy();
        self.put_on_record(Kind::Config, json!({ "name": "data folder", "value": value, "source": "passphrase" }))
    }

    /// What is kept in the data folders that count. One that this account may not read belongs to somebody else.
    fn all_kept(&self) -> Result<Vec<(PathBuf, Kept)>, ServiceError> {
        let own = [self.own_folder(), Some(self.data()?)];
        let mut all = Vec::new();
        for folder in self.folders(lineage::ancestors().as_deref())? {
            match kept(&folder.join(FOLDER).join(FILE)) {
                Ok(kept) => all.push((folder, kept)),
                Err(error) if own.contains(&Some(folder)) => return Err(error),
                Err(_others) => {}
            }
        }
        Ok(all)
    }
}

fn kept(path: &Path) -> Result<Kept, ServiceError> {
    match text(path) {
        Ok(None) => Ok(Kept::default()),
        Ok(Some(text)) => serde_json::from_str(&text).map_err(|_| tampered(path)),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn failures(folder: &Path) -> Result<Failures, ServiceError> {
    let path = folder.join("failures.json");
    // What nobody understands is not nothing.
    let unknown = || Failures { count: 10, last_ms: 0 };
    let text = text(&path).map_err(|error| unreadable(&path, &error))?;
    Ok(text.map_or_else(Failures::default, |text| serde_json::from_str(&text).unwrap_or_else(|_| unknown())))
}

fn keep_failures(folder: &Path, failures: &Failures) -> Result<(), ServiceError> {
    let path = folder.join("failures.json");
    disk::replace(&path, &json_of(failures)).map_err(|error| unwritable(&path, &error))
}

/// One attempt at a time: two at once would count as one.
pub(super) fn turn(folder: &Path) -> Result<File, ServiceError> {
    let path = folder.join("lock");
    let taken = disk::private_folder(folder).and_then(|()| disk::alone(&path));
    taken.map_err(|error| unwritable(&path, &error))
}

impl Failures {
    /// How long has still to be waited, in milliseconds: a second after the first, and each time twice as long.
    fn wait(&self, now: Timestamp) -> i64 {
        let Some(doubled) = self.count.checked_sub(1) else { return 0 };
        let wait = 1_000_i64.checked_shl(doubled.min(32)).map_or(MAX_WAIT_MS, |wait| wait.min(MAX_WAIT_MS));
        // A clock that was put back makes nobody wait longer than that.
        self.last_ms.saturating_add(wait).saturating_sub(now.0).clamp(0, wait)
    }
}

fn is_of(passphrase: &str, hash: &str) -> bool {
    let hash = PasswordHash::new(hash);
    hash.is_ok_and(|hash| Argon2::default().verify_password(passphrase.as_bytes(), &hash).is_ok())
}

fn fingerprint(hash: &str) -> String {
    Digest::of_parts(["portolan passphrase 1".as_bytes(), hash.as_bytes()]).as_str().chars().take(32).collect()
}

pub(super) fn json_of(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("texts and numbers are JSON")
}

/// The text of a file; nothing where there is none.
pub(super) fn text(path: &Path) -> io::Result<Option<String>> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() && meta.len() <= MAX_FILE => fs::read_to_string(path).map(Some),
        Ok(_) => Err(io::Error::new(ErrorKind::InvalidData, "it is no such file")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is said where the passphrase that the log names is gone.
pub(super) fn tampered(path: &Path) -> ServiceError {
    ServiceError::refused(
        "passphrase_tampered",
        format!("`{}` does not hold the passphrase that the event log of this project names", path.display()),
        "find out who changed it, and put the file back; `portolan flow events --type flow.config` shows who set it",
    )
}

fn unreadable(path: &Path, error: &io::Error) -> ServiceError {
    let message = format!("`{}` cannot be read: {error}", path.display());
    ServiceError::failed("passphrase_unreadable", message, "make it a readable file of your own")
}

pub(super) fn unwritable(path: &Path, error: &io::Error) -> ServiceError {
    let message = format!("`{}` cannot be written: {error}", path.display());
    ServiceError::failed("read_only", message, "make the user's data folder writable")
}
