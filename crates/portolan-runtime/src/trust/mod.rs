//! Which commands a person allowed to run. A definition comes with the repository, and its checks name programs: none
//! of them runs before a person has seen them and `portolan trust` has recorded it outside the repository, where
//! neither a clone nor an agent that is confined to the project can write. (An agent that may start any program as this
//! user may also start `portolan trust`: its client has to forbid that.)
//!
//! **The rule.** Trust is given to *these commands in this project*: the digest of all commands of the checked workflow
//! ([`commands_digest`]) together with the project's folder. The digest of the file's text is recorded too, so that a
//! listing can say whether the file is still the one that was looked at, but nothing is decided by it:
//!
//! * The text alone would be too weak. A subflow's commands stand in another file, which may be edited while this one
//!   stays as it is; and a later release may read the same text differently.
//! * The text would also be too strict. A run keeps a copy of its definition and a catalogue copy is formatted anew; a
//!   corrected sentence changes no command. Whoever is asked for nothing soon says yes to everything.
//! * The commands without the project would be too weak. `cargo test` runs whatever the repository says that it runs:
//!   allowed here, it must not be allowed in the next clone that happens to name the same steps.
//!
//! What is covered is each command's program, arguments and time limit, and the flow, node and check at which it
//! stands. What is not: the text of scripts that a command starts. They belong to the work that is being checked.

mod commands;
mod error;
mod phases;
mod place;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};

pub use crate::digest::Digest;
use crate::disk::{self, Fresh};
pub(crate) use commands::stays_below;
pub use commands::{TrustedCommand, commands, commands_digest, digest_of};
pub use error::{TrustError, TrustFault};
pub use phases::phases_digest;
pub use place::data_dir;
pub(crate) use place::{data_dir_from, data_dir_of_account};

/// The folder of the entries, one file each: recording needs no lock, and a broken one spoils no other.
const FOLDER: &str = "trusted";
/// Entries are small; what is larger is none.
const MAX_ENTRY_BYTES: u64 = 1024 * 1024;

/// What a person allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustEntry {
    /// The project's folder, absolute, symlinks followed. [`Trust::record`] fills it in.
    pub project: PathBuf,
    /// What decides: the digest of the commands.
    pub commands: Digest,
    /// The digest of the text of the file that was looked at.
    pub file: Digest,
    /// That file, as the person named it.
    pub path: String,
    /// When.
    pub at: Timestamp,
    /// The commands, to be shown.
    pub runs: Vec<TrustedCommand>,
}

impl TrustEntry {
    /// The name under which it is kept.
    pub fn key(&self) -> Digest {
        key(&self.project, &self.commands)
    }
}

/// The record of what was allowed for one project.
#[derive(Debug)]
pub struct Trust {
    folder: PathBuf,
    project: PathBuf,
}

impl Trust {
    /// The record in the data folder `dir`, which need not exist yet, as far as it concerns `project`.
    ///
    /// # Errors
    /// When the record would lie inside the project, or when somebody else may write it.
    pub fn open(dir: &Path, project: &Path) -> Result<Trust, TrustError> {
        let project = project.canonicalize().map_err(|error| TrustError::unreadable(project, error))?;
        let folder = dir.join(FOLDER);
        let real = place::resolved(&folder).map_err(|error| TrustError::unreadable(&folder, error))?;
        if real.starts_with(&project) {
            return Err(TrustError::inside(&folder, &project));
        }
        place::guarded(&real)?;
        Ok(Trust { folder: real, project })
    }

    /// Whether a person allowed these commands in this project.
    pub fn is_trusted(&self, commands: &Digest) -> Result<bool, TrustError> {
        let path = self.path(&key(&self.project, commands));
        match read(&path) {
            Ok(entry) => Ok(entry.project == self.project && entry.commands == *commands),
            Err(error) if error.is_missing() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Records that a person allowed `entry` in this project.
    pub fn record(&self, entry: TrustEntry) -> Result<(), TrustError> {
        let entry = TrustEntry { project: self.project.clone(), ..entry };
        let failed = |error| TrustError::unwritable(&self.folder, error);
        let mut text = serde_json::to_vec_pretty(&entry).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        disk::private_folder(&self.folder).map_err(failed)?;
        // It may have been created by somebody else just before.
        place::guarded(&self.folder)?;
        // An entry is there as a whole or not at all.
        let path = self.path(&entry.key());
        let written = Fresh::beside(&path, &text).and_then(Fresh::synced).and_then(|fresh| fresh.replace(&path));
        written.map_err(failed)
    }

    /// Takes back what is kept under `key`, in whichever project; whether there was anything.
    pub fn revoke(&self, key: &Digest) -> Result<bool, TrustError> {
        match fs::remove_file(self.path(key)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(TrustError::unwritable(&self.folder, error)),
        }
    }

    /// Everything that was allowed, in every project, the latest last; and what could not be read.
    pub fn list(&self) -> (Vec<TrustEntry>, Vec<TrustError>) {
        let mut entries = Vec::new();
        let mut faults = Vec::new();
        match fs::read_dir(&self.folder) {
            Ok(found) => {
                let paths = found.flatten().map(|entry| entry.path());
                for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
                    match read(&path) {
                        Ok(entry) => entries.push(entry),
                        Err(error) => faults.push(error),
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => faults.push(TrustError::unreadable(&self.folder, error)),
        }
        entries.sort_by_key(|entry| (entry.at, entry.key()));
        (entries, faults)
    }

    fn path(&self, key: &Digest) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}

fn key(project: &Path, commands: &Digest) -> Digest {
    Digest::of_parts([
        "portolan trust 1".as_bytes(),
        project.as_os_str().as_encoded_bytes(),
        commands.as_str().as_bytes(),
    ])
}

fn read(path: &Path) -> Result<TrustEntry, TrustError> {
    let unreadable = |error| TrustError::unreadable(path, error);
    let text = disk::bytes(path, MAX_ENTRY_BYTES).map_err(unreadable)?.ok_or_else(|| TrustError::broken(path))?;
    serde_json::from_slice(&text).map_err(|_| TrustError::broken(path))
}
