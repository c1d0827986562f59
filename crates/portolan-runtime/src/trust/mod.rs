//! Which commands a person allowed to run. A definition comes with the repository, and its checks name programs. None
//! of them runs before a person has seen them and `portolan trust` has recorded it outside the repository, where
//! neither a clone nor an agent that is confined to the project can write. (An agent that may start any program as this
//! user may also start `portolan trust`: its client has to forbid that.)
//!
//! **The rule.** Trust is given to *these commands in this project*: the digest of all commands of the checked workflow
//! ([`commands_digest`]) together with the project's folder. The digest of the file's text is recorded too, so that a
//! listing can show whether the file has changed since. It does not affect the decision:
//!
//! * The text alone would be too weak. A subflow's commands are in another file, which may change while this one stays
//!   the same; and a later release may interpret the same text differently.
//! * The text would also be too strict. A run keeps a copy of its definition, a catalogue copy is reformatted, and a
//!   corrected sentence changes no command. A person who is asked without need soon allows everything.
//! * The commands without the project would be too weak. `cargo test` runs whatever the repository contains. Allowed
//!   here, it must not be allowed in another clone that happens to name the same steps.
//!
//! Trust may be shared with other machines through a store: see `shared.rs`. The folder of a project differs from machine
//! to machine, so the store names the commands alone, and each machine decides for which of its projects the store counts.
//!
//! Trust covers each command's program, arguments and timeout, and its flow, node and check. It does not cover the text
//! of scripts that a command starts. They belong to the work that is being checked.

mod commands;
mod error;
mod phases;
mod place;
mod shared;
#[cfg(test)]
mod shared_tests;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};

pub use crate::digest::Digest;
use crate::disk::{self, Fresh};
pub(crate) use commands::stays_below;
pub use commands::{TrustedCommand, commands, commands_digest, digest_of, server_commands};
pub use error::{TrustError, TrustFault};
pub use phases::phases_digest;
pub use place::data_dir;
pub use place::{data_dir_from, data_dir_of_account};
pub use shared::{Acceptance, GivenTrust, SharedDecision};

/// The folder of the entries. Each is a separate file, so recording needs no lock and a broken entry affects no other.
const FOLDER: &str = "trusted";
/// The largest entry that is read, in bytes.
const MAX_ENTRY_BYTES: u64 = 1024 * 1024;

/// Commands that a person allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustEntry {
    /// The project's folder, absolute, with symlinks resolved. [`Trust::record`] sets it.
    pub project: PathBuf,
    /// The digest of the commands, which decides.
    pub commands: Digest,
    /// The digest of the text of the file that the person saw.
    pub file: Digest,
    /// That file, as the person named it.
    pub path: String,
    /// When the person allowed it.
    pub at: Timestamp,
    /// The commands, for display.
    pub runs: Vec<TrustedCommand>,
}

impl TrustEntry {
    /// Returns the key under which the entry is stored.
    pub fn key(&self) -> Digest {
        key(&self.project, &self.commands)
    }
}

/// The record of trust for one project.
pub struct Trust {
    folder: PathBuf,
    project: PathBuf,
    /// The store through which machines share trust, if the project has one.
    shared: Option<shared::SharedTrust>,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trust { folder, project, .. } = self;
        f.debug_struct("Trust").field("folder", folder).field("project", project).finish_non_exhaustive()
    }
}

impl Trust {
    /// Opens the record in the data folder `dir`, which need not exist yet, for `project`.
    ///
    /// # Errors
    /// The record would be inside the project, another user may write it, or a path cannot be resolved.
    pub fn open(dir: &Path, project: &Path) -> Result<Trust, TrustError> {
        let project = project.canonicalize().map_err(|error| TrustError::unreadable(project, error))?;
        Ok(Trust { folder: outside(&dir.join(FOLDER), &project)?, project, shared: None })
    }

    /// Checks whether a person allowed these commands in this project: on this machine, or through the store if that
    /// counts here. The store is asked only if it counts.
    pub fn is_trusted(&self, commands: &Digest) -> Result<bool, TrustError> {
        Ok(self.is_trusted_here(commands)? || self.is_trusted_in_store(commands)?)
    }

    /// Checks whether a person allowed these commands in this project on this machine, whatever the store says.
    pub fn is_trusted_here(&self, commands: &Digest) -> Result<bool, TrustError> {
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
        // Another process may have created it just before.
        place::guarded(&self.folder)?;
        // Written atomically, so that no partial entry exists.
        let path = self.path(&entry.key());
        let written = Fresh::beside(&path, &text).and_then(Fresh::synced).and_then(|fresh| fresh.replace(&path));
        written.map_err(failed)
    }

    /// Removes the entry under `key`, of any project. Returns whether there was one.
    pub fn revoke(&self, key: &Digest) -> Result<bool, TrustError> {
        match fs::remove_file(self.path(key)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(TrustError::unwritable(&self.folder, error)),
        }
    }

    /// Returns the entries of all projects, the latest last, and the errors of those that cannot be read.
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

/// Returns a folder for what agents must not change, with symlinks resolved. It need not exist yet.
///
/// # Errors
/// The folder would be inside the project, another user may write it, or a path cannot be resolved.
pub fn outside(folder: &Path, project: &Path) -> Result<PathBuf, TrustError> {
    let project = project.canonicalize().map_err(|error| TrustError::unreadable(project, error))?;
    let real = place::resolved(folder).map_err(|error| TrustError::unreadable(folder, error))?;
    if real.starts_with(&project) {
        return Err(TrustError::inside(folder, &project));
    }
    place::guarded(&real)?;
    Ok(real)
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
