//! The hosts of agents that have run a hook. Each is a file in the `hosts` folder of the user's data folder, named
//! after its process ID.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use portolan_runtime::disk;
use portolan_runtime::process::lineage::{Process, ProcessIdentity};
use serde::{Deserialize, Serialize};

/// The name of the folder.
const FOLDER: &str = "hosts";
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 10;
/// The age at which a file is deleted. The next hook call of a host that still runs writes it again, before its agent
/// acts.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// A host of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The host's name.
    pub name: String,
    /// The host's process.
    pub process: Process,
}

/// The hosts recorded in a list of data folders. New ones are written to the first folder.
pub(super) struct Hosts {
    folders: Vec<PathBuf>,
}

impl Hosts {
    pub(super) fn new(data: Vec<PathBuf>) -> Hosts {
        Hosts { folders: data.into_iter().map(|data| data.join(FOLDER)).collect() }
    }

    /// Returns the recorded host of a process.
    pub(super) fn known(&self, process: &Process) -> Option<Host> {
        let hosts = self.folders.iter().filter_map(|folder| read(&folder.join(process.pid.to_string())));
        hosts.into_iter().find(|host| host.process == *process)
    }

    /// Returns all recorded hosts, including those that have ended.
    pub(super) fn all(&self) -> Vec<Host> {
        let entries = self.folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let mut hosts: Vec<Host> = entries.filter_map(|entry| read(&entry.path())).collect();
        hosts.sort_by_key(|host| host.process.pid);
        hosts
    }

    /// Records the host that runs a hook. The hook is the first process of `chain`.
    pub(super) fn remember(&self, name: &str, chain: impl IntoIterator<Item = ProcessIdentity>) -> io::Result<()> {
        let (Some(process), Some(folder)) = (host_of(chain), self.folders.first()) else { return Ok(()) };
        let path = folder.join(process.pid.to_string());
        let host = Host { name: name.to_owned(), process };
        if read(&path).as_ref() == Some(&host) {
            return Ok(());
        }
        disk::private_folder(folder)?;
        sweep(folder);
        disk::replace(&path, &serde_json::to_vec(&host)?)
    }
}

/// Returns the host that runs a hook: the nearest ancestor that is not a shell which only runs the hook. If a host is
/// several processes of one program, returns the outermost, because the agent's shells descend from it too. Returns
/// `None` if the hook was run from an interactive shell.
fn host_of(chain: impl IntoIterator<Item = ProcessIdentity>) -> Option<Process> {
    let mut above =
        chain.into_iter().skip(1).skip_while(|identity| identity.is_shell() && runs_text(identity)).peekable();
    let mut host = above.next().filter(|identity| !identity.is_shell() && !identity.is_no_host())?;
    while let Some(next) = above.next_if(|next| next.file.is_some() && next.file == host.file) {
        host = next;
    }
    Some(host.process)
}

/// Returns the host that runs a hook, the first process of `chain`, and every other recorded host above it. One agent
/// may have started another.
pub(super) fn hosts_in(chain: &[ProcessIdentity], known: Option<&Hosts>) -> Vec<Process> {
    let is_known = |process: &Process| known.is_some_and(|known| known.known(process).is_some());
    let others = chain.iter().skip(1).map(|identity| identity.process.clone()).filter(is_known);
    host_of(chain.iter().cloned()).into_iter().chain(others).collect()
}

/// Checks whether a shell was started with `-c`, and so reads no terminal.
fn runs_text(identity: &ProcessIdentity) -> bool {
    identity
        .words
        .iter()
        .skip(1)
        .take_while(|word| word.starts_with('-'))
        .any(|word| !word.starts_with("--") && word.contains('c'))
}

fn read(path: &Path) -> Option<Host> {
    serde_json::from_slice(&disk::bytes(path, MAX_BYTES).ok()??).ok()
}

fn sweep(folder: &Path) {
    let now = SystemTime::now();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let written = entry.metadata().and_then(|meta| meta.modified());
        if written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > KEPT)) {
            // Another process may have removed it already.
            let _gone = fs::remove_file(entry.path());
        }
    }
}
