//! Trust that machines share through the store of a project.
//!
//! Whoever can write the store could otherwise run commands on every machine that uses it. So an entry of the store counts
//! on a machine in two cases only, and the record of that machine, outside the project, says which: its user shared the
//! entry there ([`Trust::share`]), or has accepted for this project what the store at this address says
//! ([`Trust::accept_shared`]).
//!
//! Each decision asks the store, so that a withdrawal counts at once. If the store cannot be asked, or an entry about the
//! commands is damaged, they are not trusted.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portolan_core::value::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Digest, MAX_ENTRY_BYTES, Trust, TrustEntry, TrustError, TrustedCommand, outside, place};
use crate::disk::{self, Fresh};
use crate::store::{SharedEntry, SharedList, SharedRequest, Store, StoreError, host};

/// The folder of this machine's decisions about stores. An earlier release does not read it, and so trusts none of it.
const FOLDER: &str = "trusted-stores";
/// The version of an entry in the store.
const VERSION: u32 = 1;
/// The time for which a decision waits for the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// The store of a project, and this machine's decisions about it.
pub(super) struct SharedTrust {
    folder: PathBuf,
    address: String,
    store: Arc<dyn Store>,
}

/// A person's decision about commands, as the store has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedDecision {
    /// The version of this layout.
    v: u32,
    /// Whether the commands are trusted from now on, or no longer.
    pub is_trusted: bool,
    /// The digest of the commands. It is the key of the entry as well.
    pub commands: Digest,
    /// The file that the person saw, as the person named it.
    pub path: String,
    /// When the person decided, by the clock of that machine.
    pub at: Timestamp,
    /// The person.
    pub by: String,
    /// The machine on which the person decided.
    pub machine: String,
    /// The commands, for display.
    pub runs: Vec<TrustedCommand>,
}

/// The decision of this machine's user that a store counts here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// The project's folder.
    pub project: PathBuf,
    /// The address of the store.
    pub store: String,
    /// When the user accepted it.
    pub at: Timestamp,
}

/// A decision that this machine's user shared. It counts for as long as the store has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenTrust {
    /// The address of the store.
    pub store: String,
    /// What was trusted here.
    pub entry: TrustEntry,
}

impl Trust {
    /// Returns the record with the trust of `store`, if that has lists that machines share.
    ///
    /// # Errors
    /// As for [`Trust::open`].
    pub fn shared_through(self, dir: &Path, store: &Arc<dyn Store>) -> Result<Trust, TrustError> {
        let Some(address) = store.shared_address() else { return Ok(self) };
        let shared =
            SharedTrust { folder: outside(&dir.join(FOLDER), &self.project)?, address, store: Arc::clone(store) };
        Ok(Trust { shared: Some(shared), ..self })
    }

    /// Returns the address of the store through which machines share trust, if there is one.
    pub fn shared_address(&self) -> Option<&str> {
        self.shared.as_ref().map(|shared| shared.address.as_str())
    }

    /// Checks whether the user of this machine accepted what the store says. Asks only this machine.
    pub fn accepts_shared(&self) -> Result<bool, TrustError> {
        let Some(shared) = &self.shared else { return Ok(false) };
        let found: Option<Acceptance> = read(&self.acceptance(shared))?;
        Ok(found.is_some_and(|found| found.project == self.project && found.store == shared.address))
    }

    /// Records that the store counts on this machine, for this project: all that it says now and later.
    pub fn accept_shared(&self, at: Timestamp) -> Result<(), TrustError> {
        let shared = self.sharing()?;
        let acceptance = Acceptance { project: self.project.clone(), store: shared.address.clone(), at };
        shared.write(&self.acceptance(shared), &acceptance)
    }

    /// Ends the acceptance. Returns whether there was one.
    pub fn refuse_shared(&self) -> Result<bool, TrustError> {
        let shared = self.sharing()?;
        remove(&self.acceptance(shared))
    }

    /// Records that a person allowed `entry`, for all machines that accept the store and for this one. It replaces the
    /// record of this machine alone: a withdrawal on another machine ends it here too.
    pub fn share(&self, entry: TrustEntry, by: &str) -> Result<(), TrustError> {
        let shared = self.sharing()?;
        let entry = TrustEntry { project: self.project.clone(), ..entry };
        let decision = SharedDecision::of(&entry, by, true);
        let path = self.given(shared, &entry.commands);
        let key = entry.key();
        // First in the store, so that this machine lists nothing as shared that is not.
        shared.append(&decision)?;
        shared.write(&path, &GivenTrust { store: shared.address.clone(), entry })?;
        self.revoke(&key)?;
        Ok(())
    }

    /// Withdraws the trust in `entry` for all machines, and the record of this one. Returns whether it was trusted.
    pub fn withdraw(&self, entry: &TrustEntry, by: &str) -> Result<bool, TrustError> {
        let shared = self.sharing()?;
        // Also where the store cannot be asked, this machine's own record ends.
        let was_here = self.forget(entry)?;
        let was_shared = shared.says(&entry.commands)?.is_some_and(|last| last.is_trusted);
        if was_shared {
            shared.append(&SharedDecision::of(entry, by, false))?;
        }
        Ok(was_here || was_shared)
    }

    /// Removes this machine's records of `entry`, also that its user shared it. Returns whether there was one.
    pub fn forget(&self, entry: &TrustEntry) -> Result<bool, TrustError> {
        let entry = TrustEntry { project: self.project.clone(), ..entry.clone() };
        let was_given = match &self.shared {
            Some(shared) => remove(&self.given(shared, &entry.commands))?,
            None => false,
        };
        Ok(self.revoke(&entry.key())? || was_given)
    }

    /// Returns what the store trusts now, the latest last, and a fault for each entry that is damaged.
    pub fn shared_decisions(&self) -> Result<(Vec<SharedDecision>, Vec<TrustError>), TrustError> {
        let shared = self.sharing()?;
        let mut decisions: Vec<SharedDecision> = Vec::new();
        let mut faults = Vec::new();
        for (number, entry) in shared.entries(None)? {
            match shared.understood(number, &entry) {
                Ok(decision) => {
                    decisions.retain(|earlier| earlier.commands != decision.commands);
                    decisions.push(decision);
                }
                Err(fault) => faults.push(fault),
            }
        }
        decisions.retain(|decision| decision.is_trusted);
        Ok((decisions, faults))
    }

    /// Returns this machine's decisions about stores, of all projects, and the faults of those that cannot be read.
    pub fn list_stores(&self) -> (Vec<Acceptance>, Vec<GivenTrust>, Vec<TrustError>) {
        let (mut accepted, mut given, mut faults) = (Vec::new(), Vec::new(), Vec::new());
        let folder = self.folder.with_file_name(FOLDER);
        for found in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (found.path(), found.file_name());
            let name = name.to_string_lossy();
            if name.starts_with(ACCEPTED) {
                read(&path).map_or_else(|fault| faults.push(fault), |one| accepted.extend(one));
            } else if name.starts_with(GIVEN) {
                read(&path).map_or_else(|fault| faults.push(fault), |one| given.extend(one));
            }
        }
        accepted.sort_by_key(|one: &Acceptance| (one.at, one.store.clone()));
        given.sort_by_key(|one: &GivenTrust| (one.entry.at, one.entry.key()));
        (accepted, given, faults)
    }

    /// Checks whether the store's trust in `commands` counts on this machine, and the store has it.
    pub(super) fn is_trusted_in_store(&self, commands: &Digest) -> Result<bool, TrustError> {
        let Some(shared) = &self.shared else { return Ok(false) };
        let given: Option<GivenTrust> = read(&self.given(shared, commands))?;
        let is_given = given.is_some_and(|given| {
            given.store == shared.address && given.entry.project == self.project && given.entry.commands == *commands
        });
        if !is_given && !self.accepts_shared()? {
            return Ok(false);
        }
        Ok(shared.says(commands)?.is_some_and(|last| last.is_trusted))
    }

    fn sharing(&self) -> Result<&SharedTrust, TrustError> {
        self.shared.as_ref().ok_or_else(TrustError::not_shared)
    }

    fn acceptance(&self, shared: &SharedTrust) -> PathBuf {
        shared.path(ACCEPTED, &[self.project.as_os_str().as_encoded_bytes(), shared.address.as_bytes()])
    }

    fn given(&self, shared: &SharedTrust, commands: &Digest) -> PathBuf {
        let parts =
            [self.project.as_os_str().as_encoded_bytes(), shared.address.as_bytes(), commands.as_str().as_bytes()];
        shared.path(GIVEN, &parts)
    }
}

/// The beginnings of the names of files.
const ACCEPTED: &str = "accepted-";
const GIVEN: &str = "given-";

impl SharedTrust {
    fn path(&self, kind: &str, parts: &[&[u8]]) -> PathBuf {
        let digest =
            Digest::of_parts(std::iter::once("portolan shared trust 1".as_bytes()).chain(parts.iter().copied()));
        self.folder.join(format!("{kind}{digest}.json"))
    }

    /// Writes a decision of this machine, atomically.
    fn write(&self, path: &Path, decision: &impl Serialize) -> Result<(), TrustError> {
        let failed = |error| TrustError::unwritable(&self.folder, error);
        let mut text = serde_json::to_vec_pretty(decision).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        disk::private_folder(&self.folder).map_err(failed)?;
        // Another process may have created it just before.
        place::guarded(&self.folder)?;
        Fresh::beside(path, &text).and_then(Fresh::synced).and_then(|fresh| fresh.replace(path)).map_err(failed)
    }

    /// Returns the last decision of the store about commands. A damaged one may have been a withdrawal, so any is an error.
    fn says(&self, commands: &Digest) -> Result<Option<SharedDecision>, TrustError> {
        let mut last = None;
        for (number, entry) in self.entries(Some(commands))? {
            last = Some(self.understood(number, &entry)?);
        }
        Ok(last)
    }

    fn append(&self, decision: &SharedDecision) -> Result<(), TrustError> {
        let text = serde_json::to_string(decision).expect("texts and numbers are JSON");
        // A decision is not that of another person who made the same one.
        let id = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        let entry = SharedEntry { id, key: decision.commands.to_string(), text };
        self.wait_for(async { self.store.append_shared(SharedList::Trust, std::slice::from_ref(&entry)).await })
    }

    fn entries(&self, commands: Option<&Digest>) -> Result<Vec<(u64, SharedEntry)>, TrustError> {
        let key = commands.map(ToString::to_string);
        let mut request = SharedRequest { key, ..SharedRequest::of(SharedList::Trust) };
        self.wait_for(async {
            let mut entries = Vec::new();
            loop {
                let page = self.store.shared(&request).await?;
                let Some((last, _)) = page.last() else { return Ok(entries) };
                request.after = *last;
                entries.extend(page);
            }
        })
    }

    fn understood(&self, number: u64, entry: &SharedEntry) -> Result<SharedDecision, TrustError> {
        let decision: Option<SharedDecision> = serde_json::from_str(&entry.text).ok();
        decision
            .filter(|decision| decision.v == VERSION && decision.commands.as_str() == entry.key)
            .ok_or_else(|| TrustError::damaged(number, &self.address))
    }

    /// Waits for the store, for a bounded time. Decisions about trust are made where nothing can be awaited, so that a
    /// thread of its own waits.
    fn wait_for<T: Send>(&self, request: impl Future<Output = Result<T, StoreError>> + Send) -> Result<T, TrustError> {
        let waited = std::thread::scope(|scope| {
            let wait = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
                runtime.block_on(async { tokio::time::timeout(PATIENCE, request).await.ok() })
            };
            scope.spawn(wait).join().unwrap_or(None)
        });
        match waited {
            Some(answer) => answer.map_err(|error| TrustError::unasked(&self.address, &error.to_string())),
            None => Err(TrustError::unasked(&self.address, "it does not answer")),
        }
    }
}

impl SharedDecision {
    fn of(entry: &TrustEntry, by: &str, is_trusted: bool) -> SharedDecision {
        SharedDecision {
            v: VERSION,
            is_trusted,
            commands: entry.commands.clone(),
            path: entry.path.clone(),
            at: entry.at,
            by: by.to_owned(),
            machine: host(),
            runs: entry.runs.clone(),
        }
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, TrustError> {
    let text = match disk::bytes(path, MAX_ENTRY_BYTES) {
        Ok(text) => text.ok_or_else(|| TrustError::broken(path))?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(TrustError::unreadable(path, error)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|_| TrustError::broken(path))
}

fn remove(path: &Path) -> Result<bool, TrustError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(TrustError::unwritable(path, error)),
    }
}
