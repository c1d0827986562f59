//! Which coding agents a run binds: those of the hosts that are ancestors of a process that started or continued it. A
//! hook descends from its host as well. It thus finds the runs that bind its agent, although no caller names a session,
//! and whatever the host calls the sessions of subagents.
//!
//! The bindings are in `.portolan/bindings`, one file per run, until the run is over. This module knows no runs:
//! callers determine whether one is over, and what its steps say.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::digest::Digest;
use crate::disk::{self, Stamp};
use crate::process::lineage::{self, Process, ProcessIdentity};
use crate::project_folder;
use crate::store::RunId;

/// The name of the folder.
const FOLDER: &str = "bindings";
/// The file that is locked while a file of the folder is changed.
const LOCK: &str = "lock";
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// The maximum number of processes of a run. The latest are kept.
const MAX_PROCESSES: usize = 256;
/// The age at which an unchanged file is deleted. No host runs that long.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// The binding of a run.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Binding {
    run: BoundRun,
    /// The ancestors of the processes that started or continued the run.
    processes: Vec<Process>,
}

/// The stored name of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundRun {
    /// A run of the project's store.
    Stored(String),
    /// A run in a task file.
    Task(String),
    /// A run of another store than the project's.
    Elsewhere {
        /// The file or the address of the store, without what is secret.
        store: String,
        /// The run.
        run: String,
    },
}

impl BoundRun {
    /// Checks whether this is a stored run of this name.
    pub fn is(&self, id: &RunId) -> bool {
        matches!(self, BoundRun::Stored(run) | BoundRun::Elsewhere { run, .. } if run == id.as_str())
    }

    /// Returns the address in its store, or `None` if the stored name is malformed.
    pub(crate) fn address(&self) -> Option<Address> {
        match self {
            BoundRun::Stored(id) | BoundRun::Elsewhere { run: id, .. } => RunId::parse(id).map(Address::Stored),
            BoundRun::Task(path) => Some(Address::Task(path.clone())),
        }
    }

    fn file(&self, project: &Path) -> PathBuf {
        let name = match self {
            BoundRun::Stored(id) => id.clone(),
            BoundRun::Task(path) => format!("task-{}", &Digest::of(path).as_str()[..32]),
            BoundRun::Elsewhere { store, run } => format!("{run}-{}", &Digest::of(store).as_str()[..32]),
        };
        folder(project).join(format!("{name}.json"))
    }
}

fn folder(project: &Path) -> PathBuf {
    project.join(".portolan").join(FOLDER)
}

/// The runs whose files a process has read and found complete. Until one is changed or removed, it is not read again.
#[derive(Debug, Default)]
pub(crate) struct CompleteBindings(Mutex<BTreeMap<BoundRun, (PathBuf, Stamp)>>);

/// The maximum number of such runs.
const MAX_COMPLETE: usize = 256;

impl CompleteBindings {
    fn has(&self, run: &BoundRun) -> bool {
        let complete = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        complete.get(run).is_some_and(|(path, stamp)| Stamp::of(path).as_ref() == Some(stamp))
    }

    fn keep(&self, run: &BoundRun, path: PathBuf, stamp: Stamp) {
        let mut complete = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if complete.len() >= MAX_COMPLETE {
            complete.clear();
        }
        complete.insert(run.clone(), (path, stamp));
    }
}

/// Returns the ancestors of this process that may be hosts, the nearest first.
pub(crate) fn above() -> Vec<Process> {
    possible(lineage::ancestors().unwrap_or_default())
}

/// Returns this process.
pub(crate) fn itself() -> Option<Process> {
    lineage::ancestors()?.into_iter().next().map(|ancestor| ancestor.process)
}

/// Shells, and programs that open terminals, have no hooks.
fn possible(chain: Vec<ProcessIdentity>) -> Vec<Process> {
    chain
        .into_iter()
        .skip(1)
        .filter(|ancestor| !ancestor.is_shell() && !ancestor.is_no_host())
        .map(|ancestor| ancestor.process)
        .collect()
}

/// Records that a run binds the agents of these processes, if they are hosts. `complete` must be of the same processes.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn bind(project: &Path, run: &BoundRun, above: &[Process], complete: &CompleteBindings) -> io::Result<()> {
    if above.is_empty() || complete.has(run) {
        return Ok(());
    }
    let path = run.file(project);
    let knows = |binding: &Binding| binding.run == *run && above.iter().all(|one| binding.processes.contains(one));
    // Before the file is read, so that a later change of it shows.
    let stamp = Stamp::of(&path);
    if read(&path).is_some_and(|binding| knows(&binding)) {
        if let Some(stamp) = stamp {
            complete.keep(run, path, stamp);
        }
        return Ok(());
    }
    project_folder::make(&project.join(".portolan"))?;
    disk::private_folder(&folder(project))?;
    let _turn = disk::alone(&folder(project).join(LOCK))?;
    let runs = lineage::running();
    let mut processes = read(&path).filter(|binding| binding.run == *run).map_or_else(Vec::new, |it| it.processes);
    // A process that has ended has no agent.
    processes.retain(|process| runs(process) && !above.contains(process));
    processes.extend(above.iter().cloned());
    processes.drain(..processes.len().saturating_sub(MAX_PROCESSES));
    let text = serde_json::to_vec(&Binding { run: run.clone(), processes })?;
    disk::Fresh::beside(&path, &text)?.exchange(&path)
}

/// Removes the binding of a run that is over.
pub fn release(project: &Path, run: &BoundRun) {
    // There may be none, or another process may have removed it.
    let _gone = fs::remove_file(run.file(project));
}

/// Checks whether any run binds any agent.
pub fn are_there(project: &Path) -> bool {
    files(project).next().is_some()
}

/// Returns the runs that bind the agents of these hosts, sorted by name.
pub fn of_hosts(project: &Path, hosts: impl FnOnce() -> Vec<Process>) -> Vec<BoundRun> {
    let bindings: Vec<Binding> = files(project).filter_map(|path| read(&path)).collect();
    if bindings.is_empty() {
        return Vec::new();
    }
    let hosts = hosts();
    let binds = |binding: &Binding| binding.processes.iter().any(|process| hosts.contains(process));
    let mut found: Vec<BoundRun> = bindings.into_iter().filter(binds).map(|binding| binding.run).collect();
    found.sort();
    found
}

/// Deletes the bindings of runs that have not been continued for a long time.
pub fn sweep(project: &Path) {
    let now = SystemTime::now();
    for path in files(project) {
        let written = path.metadata().and_then(|meta| meta.modified());
        if written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > KEPT)) {
            // Another process may have removed it already.
            let _gone = fs::remove_file(path);
        }
    }
}

/// Returns the files on which [`of_hosts`] depends: the folder, and those in it.
pub fn watched(project: &Path) -> Vec<PathBuf> {
    std::iter::once(folder(project)).chain(files(project)).collect()
}

fn files(project: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder(project)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "json"))
}

fn read(path: &Path) -> Option<Binding> {
    serde_json::from_slice(&disk::bytes(path, MAX_BYTES).ok()??).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> Process {
        Process { pid, start: "1@boot".to_owned() }
    }

    /// Returns this process: only running processes are kept in a binding.
    fn own() -> Process {
        lineage::ancestors().expect("told").remove(0).process
    }

    #[test]
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn a_run_binds_whoever_went_on_with_it_until_it_is_released() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path();
        let run = BoundRun::Stored("k7m2qx4p".to_owned());
        let task = BoundRun::Task("/tasks/1.json".to_owned());
        let none = CompleteBindings::default();
        let of = |process: &Process| of_hosts(project, || vec![process.clone()]);
        assert!(!are_there(project) && of(&own()).is_empty());
        bind(project, &run, &[own()], &none).expect("noted");
        bind(project, &run, &[process(7), process(8)], &none).expect("noted");
        bind(project, &task, &[process(8)], &none).expect("noted");
        assert_eq!(of(&own()), vec![run.clone()]);
        assert_eq!(of(&process(8)), [run.clone(), task.clone()]);
        assert_eq!(of(&Process { start: "2@boot".to_owned(), ..process(8) }), []);
        // Processes that have ended are dropped.
        bind(project, &run, &[process(9)], &none).expect("noted");
        assert_eq!((of(&process(7)), of(&own())), (vec![], vec![run.clone()]));
        release(project, &run);
        release(project, &run);
        assert_eq!((of(&own()), of(&process(8))), (vec![], vec![task]));
    }

    #[test]
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn a_binding_that_was_removed_or_replaced_is_written_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let (project, complete) = (folder.path(), CompleteBindings::default());
        let run = BoundRun::Stored("k7m2qx4p".to_owned());
        let binds = || bind(project, &run, &[own()], &complete).expect("noted");
        let is_bound = || of_hosts(project, || vec![own()]) == [run.clone()];
        for _ in 0..2 {
            // Once it is written, once it is read, and once it is neither.
            (0..3).for_each(|_| binds());
            assert!(complete.has(&run) && is_bound());
            release(project, &run);
            assert!(!complete.has(&run) && !is_bound());
        }
        (0..2).for_each(|_| binds());
        bind(project, &run, &[process(7)], &CompleteBindings::default()).expect("noted");
        assert!(!complete.has(&run), "another process has written it");
        binds();
        assert!(complete.has(&run) && is_bound());
    }

    #[test]
    fn nobody_above_is_nothing_to_note() {
        let folder = tempfile::tempdir().expect("a folder");
        bind(folder.path(), &BoundRun::Stored("k7m2qx4p".to_owned()), &[], &CompleteBindings::default())
            .expect("nothing is done");
        assert!(!folder.path().join(".portolan").exists());
    }

    #[test]
    fn shells_and_terminals_are_no_hosts() {
        let seen = |pid: u32, words: &[&str]| {
            let words = words.iter().map(|&word| word.to_owned()).collect();
            ProcessIdentity { process: process(pid), file: None, words }
        };
        let chain = vec![
            seen(9, &["portolan", "serve"]),
            seen(8, &["/bin/sh", "-c", "portolan serve"]),
            seen(7, &["claude"]),
            seen(6, &["-bash"]),
            seen(5, &["tmux", "new"]),
            seen(1, &["anything"]),
        ];
        assert_eq!(possible(chain), [process(7)]);
    }
}
