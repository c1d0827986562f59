//! The hosts of agents that were seen to run a hook: a file for each in `hosts` of the user's data folder, named by the
//! number of its process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::process::lineage::{Process, ProcessIdentity};

/// The name of the folder.
const FOLDER: &str = "hosts";
/// What is longer is no such file.
const MAX_BYTES: u64 = 4 << 10;
/// After how long a file is thrown away. The next call of a host that still lives makes it anew, before its agent acts.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// A host of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The process.
    pub process: Process,
}

/// What is remembered in the data folders that there are.
pub(super) struct Hosts {
    folders: Vec<PathBuf>,
}

impl Hosts {
    pub(super) fn new(data: Vec<PathBuf>) -> Hosts {
        Hosts { folders: data.into_iter().map(|data| data.join(FOLDER)).collect() }
    }

    /// The host that a process is, where it is one that is remembered.
    pub(super) fn known(&self, process: &Process) -> Option<Host> {
        let hosts = self.folders.iter().filter_map(|folder| read(&folder.join(process.pid.to_string())));
        hosts.into_iter().find(|host| host.process == *process)
    }

    /// All that are remembered, those that have ended as well.
    pub(super) fn all(&self) -> Vec<Host> {
        let entries = self.folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let mut hosts: Vec<Host> = entries.filter_map(|entry| read(&entry.path())).collect();
        hosts.sort_by_key(|host| host.process.pid);
        hosts
    }

    /// Remembers the host that a hook, the first of these processes, descends from.
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

/// The host among those that a hook descends from: the nearest that is no shell which only runs the hook. A host may be
/// several processes of one program; then it is the outermost, which the agent's shells descend from as well. At a
/// person's own shell there is none.
fn host_of(chain: impl IntoIterator<Item = ProcessIdentity>) -> Option<Process> {
    let mut above = chain.into_iter().skip(1).skip_while(|seen| seen.is_shell() && runs_text(seen)).peekable();
    let mut host = above.next().filter(|seen| !seen.is_shell() && !seen.is_no_host())?;
    while let Some(next) = above.next_if(|next| next.file.is_some() && next.file == host.file) {
        host = next;
    }
    Some(host.process)
}

/// The host that runs a hook, the first of these processes, and every other above it that is remembered: an agent may have
/// started another one.
pub(super) fn hosts_in(chain: &[ProcessIdentity], known: Option<&Hosts>) -> Vec<Process> {
    let is_known = |process: &Process| known.is_some_and(|known| known.known(process).is_some());
    let others = chain.iter().skip(1).map(|seen| seen.process.clone()).filter(is_known);
    host_of(chain.iter().cloned()).into_iter().chain(others).collect()
}

/// Whether a shell runs a text that it was given, and reads no terminal.
fn runs_text(seen: &ProcessIdentity) -> bool {
    seen.words
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
            // Another process may have done it.
            let _gone = fs::remove_file(entry.path());
        }
    }
}
