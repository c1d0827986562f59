//! Which coding agents a run binds: those of the hosts that whoever began it, or went on with it, descends from. A hook
//! descends from its host as well, so that it finds the runs that hold its agent without anybody naming a session, and
//! whatever the host calls the sessions of subagents.
//!
//! What is noted lies in `.portolan/bindings`, a file for each run, until the run is over. This room knows no run: whether
//! one is over, and what its steps say, is for others to tell.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::digest::Digest;
use crate::disk;
use crate::process::lineage::{self, Process, ProcessIdentity};
use crate::project_folder;
use crate::store::RunId;

/// The name of the folder.
const FOLDER: &str = "bindings";
/// The file that is locked while one of the folder is changed.
const LOCK: &str = "lock";
/// What is longer is no such file.
const MAX_BYTES: u64 = 1 << 20;
/// So many processes are noted of a run at most, the latest.
const MAX_PROCESSES: usize = 256;
/// After how long a file is thrown away that nobody has written to: no host runs that long.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// What is noted of a run.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Binding {
    run: BoundRun,
    /// What those who began it, or went on with it, descend from.
    processes: Vec<Process>,
}

/// A run, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BoundRun {
    /// One of the project's store.
    Stored(String),
    /// One that lives in a task file.
    Task(String),
}

impl BoundRun {
    /// Its address; nothing where what was written down is none.
    pub(crate) fn address(&self) -> Option<Address> {
        match self {
            BoundRun::Stored(id) => RunId::parse(id).map(Address::Stored),
            BoundRun::Task(path) => Some(Address::Task(path.clone())),
        }
    }

    fn file(&self, project: &Path) -> PathBuf {
        let name = match self {
            BoundRun::Stored(id) => id.clone(),
            BoundRun::Task(path) => format!("task-{}", &Digest::of(path).as_str()[..32]),
        };
        folder(project).join(format!("{name}.json"))
    }
}

fn folder(project: &Path) -> PathBuf {
    project.join(".portolan").join(FOLDER)
}

/// The processes that this one descends from and that may be hosts, the nearest first.
pub(crate) fn above() -> Vec<Process> {
    possible(lineage::ancestors().unwrap_or_default())
}

/// A shell, and what opens terminals, has no hooks.
fn possible(chain: Vec<ProcessIdentity>) -> Vec<Process> {
    chain.into_iter().skip(1).filter(|seen| !seen.is_shell() && !seen.is_no_host()).map(|seen| seen.process).collect()
}

/// Notes that a run binds the agents of these processes, where they are hosts.
///
/// # Errors
/// It cannot be written.
pub(crate) fn bind(project: &Path, run: &BoundRun, above: &[Process]) -> io::Result<()> {
    let path = run.file(project);
    let knows = |binding: &Binding| binding.run == *run && above.iter().all(|one| binding.processes.contains(one));
    if above.is_empty() || read(&path).is_some_and(|binding| knows(&binding)) {
        return Ok(());
    }
    project_folder::make(&project.join(".portolan"))?;
    disk::private_folder(&folder(project))?;
    let _turn = disk::alone(&folder(project).join(LOCK))?;
    let runs = lineage::running();
    let mut processes = read(&path).filter(|binding| binding.run == *run).map_or_else(Vec::new, |it| it.processes);
    // What has ended has no agent any more.
    processes.retain(|process| runs(process) && !above.contains(process));
    processes.extend(above.iter().cloned());
    processes.drain(..processes.len().saturating_sub(MAX_PROCESSES));
    let text = serde_json::to_vec(&Binding { run: run.clone(), processes })?;
    disk::Fresh::beside(&path, &text)?.exchange(&path)
}

/// Forgets a run that is over.
pub(crate) fn release(project: &Path, run: &BoundRun) {
    // It may bind nobody, or another process may have done it.
    let _gone = fs::remove_file(run.file(project));
}

/// Whether any run binds anybody.
pub(crate) fn are_there(project: &Path) -> bool {
    files(project).next().is_some()
}

/// The runs that bind the agents of these hosts, in their order by name.
pub(crate) fn of_hosts(project: &Path, hosts: impl FnOnce() -> Vec<Process>) -> Vec<BoundRun> {
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

/// Throws away what nobody has gone on with for long.
pub(crate) fn sweep(project: &Path) {
    let now = SystemTime::now();
    for path in files(project) {
        let written = path.metadata().and_then(|meta| meta.modified());
        if written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > KEPT)) {
            // Another process may have done it.
            let _gone = fs::remove_file(path);
        }
    }
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

    /// This very process: of those that are noted only what runs is kept.
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
        let of = |process: &Process| of_hosts(project, || vec![process.clone()]);
        assert!(!are_there(project) && of(&own()).is_empty());
        bind(project, &run, &[own()]).expect("noted");
        bind(project, &run, &[process(7), process(8)]).expect("noted");
        bind(project, &task, &[process(8)]).expect("noted");
        assert_eq!(of(&own()), vec![run.clone()]);
        assert_eq!(of(&process(8)), [run.clone(), task.clone()]);
        assert_eq!(of(&Process { start: "2@boot".to_owned(), ..process(8) }), []);
        // Whoever has ended meanwhile makes place.
        bind(project, &run, &[process(9)]).expect("noted");
        assert_eq!((of(&process(7)), of(&own())), (vec![], vec![run.clone()]));
        release(project, &run);
        release(project, &run);
        assert_eq!((of(&own()), of(&process(8))), (vec![], vec![task]));
    }

    #[test]
    fn nobody_above_is_nothing_to_note() {
        let folder = tempfile::tempdir().expect("a folder");
        bind(folder.path(), &BoundRun::Stored("k7m2qx4p".to_owned()), &[]).expect("nothing is done");
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
