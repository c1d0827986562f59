//! The person's passphrase. Its hashes (Argon2id) are in `people/passphrases.json` of the user's data folder, the
//! newest last. The event log of each project names the hash it uses, so that no other can replace it. A project keeps
//! asking for the passphrase that its log names until a person who knows it sets another there.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use portolan_core::value::Timestamp;
use portolan_runtime::audit::{self, Durability, Kind, Line, Log, LogEntry};
use portolan_runtime::digest::Digest;
use portolan_runtime::disk;
use portolan_runtime::error::ServiceError;
use portolan_runtime::process::lineage;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::People;

/// The folder of the hashes within a data folder.
const FOLDER: &str = "people";
/// The file of the hashes.
const FILE: &str = "passphrases.json";

/// The minimum length of a passphrase, in letters.
pub const MIN_LETTERS: usize = 10;

/// The maximum length of a passphrase, in bytes. A longer one would only take time to hash.
const MAX_BYTES: usize = 1_000;
/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// How many hashes are kept. Projects may still use earlier ones.
const MAX_KEPT: usize = 20;
/// The longest wait after wrong passphrases, in milliseconds.
const MAX_WAIT_MS: i64 = 3_600_000;
/// The name of the setting in the log.
const NAME: &str = "passphrase";
/// The value in the log after a person has removed the passphrase.
const NONE: &str = "none";

/// Whether persons confirm by a passphrase in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassphrasePolicy {
    /// No passphrase is asked for.
    Unset,
    /// The passphrase with this hash is asked for.
    Set {
        /// The hash.
        hash: String,
        /// Whether the project's log names the hash.
        is_named: bool,
        /// The data folder that contains the hash.
        folder: PathBuf,
    },
    /// The log names a hash that is in no data folder.
    Tampered,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct PassphraseHashes {
    hashes: Vec<String>,
}

/// How many wrong passphrases were given in a row, and when the last was given.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Failures {
    count: u32,
    last_ms: i64,
}

impl People<'_> {
    /// Returns the passphrase policy of this project.
    ///
    /// # Errors
    /// The log or the passphrase file cannot be read.
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

    /// Refuses a wrong passphrase, if one is asked for. Each wrong one is recorded in the log and doubles the wait
    /// before the next attempt. `act` says what the passphrase was asked for, such as "may trust commands".
    ///
    /// # Errors
    /// The passphrase is wrong, the right one is missing, the wait is not over, or the log or the attempt count cannot
    /// be read or written.
    pub fn confirm(&self, passphrase: &str, act: &str) -> Result<(), ServiceError> {
        let (hash, is_named, data) = match self.standing()? {
            PassphrasePolicy::Unset => return Ok(()),
            PassphrasePolicy::Tampered => return Err(tampered(&self.file()?)),
            PassphrasePolicy::Set { hash, is_named, folder } => (hash, is_named, folder),
        };
        // Attempts are counted beside the hash. A caller that could choose another folder could try as often as it
        // likes.
        let folder = data.join(FOLDER);
        let _turn = turn(&folder)?;
        let failures = failures(&folder)?;
        let now = self.service.clock().now();
        let wait = failures.wait(now);
        if wait > 0 {
            let message = format!("{} wrong passphrases were given in a row", failures.count);
            return Err(ServiceError::refused("too_soon", message, format!("try again in {} s", (wait + 999) / 1_000)));
        }
        // The attempt counts before the comparison, so that ending the process in between does not undo it.
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

    /// Sets a new passphrase. The caller must have confirmed the existing one.
    ///
    /// # Errors
    /// The passphrase has the wrong length, or cannot be hashed, stored or recorded.
    pub fn set_passphrase(&self, passphrase: &str) -> Result<(), ServiceError> {
        if passphrase.trim().chars().count() < MIN_LETTERS || passphrase.len() > MAX_BYTES {
            let message =
                format!("a passphrase must have at least {MIN_LETTERS} characters and at most {MAX_BYTES} bytes");
            return Err(ServiceError::refused("bad_input", message, "use several words"));
        }
        let _turn = turn(&self.folder()?)?;
        let hash = Argon2::default().hash_password(passphrase.as_bytes()).map_err(|error| {
            let help = "try again on a machine with enough memory and a source of random numbers";
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

    /// Stops asking for a passphrase in this project. The caller must have confirmed the existing one.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn forget_passphrase(&self) -> Result<(), ServiceError> {
        self.name_hash(NONE)
    }

    /// Records in the log which passphrase the project uses, if one is set and the log names none.
    ///
    /// # Errors
    /// The log or the passphrase file cannot be read, or the log cannot be written.
    pub fn name_passphrase(&self) -> Result<(), ServiceError> {
        match self.standing()? {
            PassphrasePolicy::Set { hash, is_named: false, .. } => self.name_hash(&fingerprint(&hash)),
            PassphrasePolicy::Set { is_named: true, .. } | PassphrasePolicy::Unset | PassphrasePolicy::Tampered => {
                Ok(())
            }
        }
    }

    /// Returns the path of the passphrase file.
    ///
    /// # Errors
    /// The user's data folder cannot be found.
    pub fn file(&self) -> Result<PathBuf, ServiceError> {
        Ok(self.folder()?.join(FILE))
    }

    /// Returns the folder of the passphrases and passkeys.
    pub(super) fn folder(&self) -> Result<PathBuf, ServiceError> {
        Ok(self.data_folder()?.join(FOLDER))
    }

    /// Returns the latest value of a setting in the log.
    pub(super) fn named(&self, name: &str) -> Result<Option<String>, ServiceError> {
        let is_it = |line: &Line| line.kind == Kind::Config.name() && line.data["name"] == name;
        let line = audit::latest(&audit::project_log(self.service.project()), is_it)?;
        Ok(line.and_then(|line| line.data["value"].as_str().map(str::to_owned)))
    }

    /// Records the value of a setting in the log.
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

    /// Records the folder of the confirmed passphrase in the log, if it is not the account's own.
    fn name_folder(&self, folder: &Path) -> Result<(), ServiceError> {
        if self.own_folder().is_none_or(|own| own == folder) {
            return Ok(());
        }
        let value = folder.to_string_lossy();
        self.put_on_record(Kind::Config, json!({ "name": "data folder", "value": value, "source": "passphrase" }))
    }

    /// Reads the passphrases of all data folders. Skips a folder of another user that this account cannot read.
    fn all_kept(&self) -> Result<Vec<(PathBuf, PassphraseHashes)>, ServiceError> {
        let own = [self.own_folder(), Some(self.data_folder()?)];
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

fn kept(path: &Path) -> Result<PassphraseHashes, ServiceError> {
    match text(path) {
        Ok(None) => Ok(PassphraseHashes::default()),
        Ok(Some(text)) => serde_json::from_str(&text).map_err(|_| tampered(path)),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn failures(folder: &Path) -> Result<Failures, ServiceError> {
    let path = folder.join("failures.json");
    // A file that cannot be parsed must not reset the count.
    let unknown = || Failures { count: 10, last_ms: 0 };
    let text = text(&path).map_err(|error| unreadable(&path, &error))?;
    Ok(text.map_or_else(Failures::default, |text| serde_json::from_str(&text).unwrap_or_else(|_| unknown())))
}

fn keep_failures(folder: &Path, failures: &Failures) -> Result<(), ServiceError> {
    let path = folder.join("failures.json");
    disk::replace(&path, &json_of(failures)).map_err(|error| unwritable(&path, &error))
}

/// Locks the attempt count. Two attempts at once would count as one.
pub(super) fn turn(folder: &Path) -> Result<File, ServiceError> {
    let path = folder.join("lock");
    let taken = disk::private_folder(folder).and_then(|()| disk::alone(&path));
    taken.map_err(|error| unwritable(&path, &error))
}

impl Failures {
    /// Returns the remaining wait in milliseconds: one second after the first wrong passphrase, doubled for each
    /// further one.
    fn wait(&self, now: Timestamp) -> i64 {
        let Some(doubled) = self.count.checked_sub(1) else { return 0 };
        let wait = 1_000_i64.checked_shl(doubled.min(32)).map_or(MAX_WAIT_MS, |wait| wait.min(MAX_WAIT_MS));
        // A clock that was set back must not extend the wait.
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

/// Returns the text of a file, or `None` if the file does not exist.
pub(super) fn text(path: &Path) -> io::Result<Option<String>> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() && meta.len() <= MAX_FILE => fs::read_to_string(path).map(Some),
        Ok(_) => Err(io::Error::new(ErrorKind::InvalidData, "it is not a file, or is too large")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the error for a project whose log names a missing passphrase.
pub(super) fn tampered(path: &Path) -> ServiceError {
    ServiceError::refused(
        "passphrase_tampered",
        format!("`{}` does not hold the passphrase that the event log of this project names", path.display()),
        "find out who changed it, and restore the file; `portolan flow events --type flow.config` shows who set it",
    )
}

fn unreadable(path: &Path, error: &io::Error) -> ServiceError {
    let message = format!("`{}` cannot be read: {error}", path.display());
    ServiceError::failed("passphrase_unreadable", message, "make it a readable file that you own")
}

pub(super) fn unwritable(path: &Path, error: &io::Error) -> ServiceError {
    let message = format!("`{}` cannot be written: {error}", path.display());
    ServiceError::failed("read_only", message, "make the user's data folder writable")
}
