//! The calls on one run, as their processes wrote them down, and what a run is for the checker.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use portolan_core::run::Run;
use portolan_runtime::store::RunId;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use todc_utils::Specification;
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History as Checked};

/// A call and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Call {
    /// The run had the record `expected`, and has the next one now. `mark` names it.
    Appended { expected: u64, mark: u64, lease: Option<u64> },
    /// The last record had another number.
    Conflicted { expected: u64, actual: u64 },
    /// The driver no longer had its lease.
    Lost { lease: u64 },
    /// There was no answer to an append.
    Unknown { expected: u64, mark: u64, lease: Option<u64> },
    /// The last record, with its mark.
    Loaded { seq: u64, mark: u64 },
    /// The caller drives the run.
    Leased { lease: u64 },
    /// The caller has given the lease back.
    Released { lease: u64 },
    /// A process was killed: its leases end.
    Killed { process: u64 },
    /// The lease was taken away by the operator.
    TakenAway,
    /// There was no answer, or a refusal that says nothing of the run.
    Failed,
}

/// A run for the checker: the number and the mark of the last record, and the lease.
pub(crate) struct OneRun;

/// The state of a run before the history.
const BEGIN: (u64, u64, Option<u64>) = (1, 0, None);

impl Specification for OneRun {
    type State = (u64, u64, Option<u64>);
    type Operation = Call;

    fn init() -> Self::State {
        BEGIN
    }

    fn apply(call: &Call, state: &Self::State) -> (bool, Self::State) {
        let (seq, last, holder) = *state;
        let may_write = |lease: &Option<u64>| lease.is_none_or(|lease| holder == Some(lease));
        match call {
            Call::Appended { expected, mark, lease } => match seq == *expected && may_write(lease) {
                true => (true, (seq + 1, *mark, holder)),
                false => (false, *state),
            },
            // Without an answer it was stored or not, where it could be.
            Call::Unknown { expected, mark, lease } => match seq == *expected && may_write(lease) {
                true => (true, (seq + 1, *mark, holder)),
                false => (true, *state),
            },
            Call::Conflicted { expected, actual } => (seq == *actual && actual != expected, *state),
            Call::Lost { lease } => (holder != Some(*lease), *state),
            Call::Loaded { seq: found, mark } => (seq == *found && last == *mark, *state),
            Call::Leased { lease } => match holder {
                None => (true, (seq, last, Some(*lease))),
                Some(_) => (false, *state),
            },
            Call::Released { lease } => (true, (seq, last, holder.filter(|holder| holder != lease))),
            Call::Killed { process } => (true, (seq, last, holder.filter(|holder| holder >> 32 != *process))),
            Call::TakenAway => (true, (seq, last, None)),
            Call::Failed => (true, *state),
        }
    }
}

/// Returns the mark of the last record of a run.
pub(crate) fn mark(run: &Run) -> u64 {
    run.root.place.node().as_str().strip_prefix('m').map_or(0, |mark| mark.parse().expect("a mark is a number"))
}

/// The clock of the machine, which all processes share.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// One line of a log: the time, the call's number in the file, the run, and what is known then.
#[derive(Serialize, Deserialize)]
struct Line(u64, u64, usize, bool, Call);

/// The file in which a process writes down its calls, before and after each.
pub(crate) struct Log {
    file: Mutex<File>,
    calls: AtomicU64,
}

/// A call that has begun.
pub(crate) struct Begun(u64, usize);

impl Log {
    pub(crate) fn of_process(folder: &Path) -> Log {
        Log::at(&folder.join(format!("{}.calls", std::process::id())))
    }

    fn at(path: &Path) -> Log {
        let file = OpenOptions::new().create(true).append(true).open(path).expect("there is room");
        Log { file: Mutex::new(file), calls: AtomicU64::new(0) }
    }

    pub(crate) fn begins(&self, run: usize, call: Call) -> Begun {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        self.write(Line(now(), number, run, false, call));
        Begun(number, run)
    }

    pub(crate) fn ends(&self, Begun(number, run): Begun, call: Call) -> Call {
        self.write(Line(now(), number, run, true, call.clone()));
        call
    }

    fn write(&self, line: Line) {
        let text = serde_json::to_string(&line).expect("JSON") + "\n";
        self.file.lock().expect("nobody panics").write_all(text.as_bytes()).expect("there is room");
    }
}

pub(crate) fn ids(folder: &Path) -> Vec<RunId> {
    let ids = std::fs::read_to_string(folder.join("runs")).expect("the parent has made them");
    ids.lines().map(|id| RunId::parse(id).expect("a handle")).collect()
}

/// Writes down that a process was killed: its leases end some time after.
pub(crate) fn note_killed(folder: &Path, process: u32) {
    let log = Log::at(&folder.join(format!("{process}.killed")));
    let process = u64::from(process);
    for run in 0..super::RUNS {
        log.begins(run, Call::Killed { process });
    }
}

/// Writes down that all leases were lost.
pub(crate) fn noting_lost_leases(folder: &Path, lost: impl FnOnce()) {
    let log = Log::at(&folder.join(format!("{}.lost", now())));
    let begun: Vec<Begun> = (0..super::RUNS).map(|run| log.begins(run, Call::TakenAway)).collect();
    lost();
    for begun in begun {
        log.ends(begun, Call::TakenAway);
    }
}

/// Writes down that leases may end at any time from now on, although their holders live. As a call without an answer, it
/// may be explained at any time, also after everything else.
pub(crate) fn note_leases_that_may_end(folder: &Path) {
    let log = Log::at(&folder.join(format!("{}.lost", now())));
    for run in 0..super::RUNS {
        log.begins(run, Call::TakenAway);
    }
}

/// The calls on one run.
#[derive(Clone, Default)]
pub(crate) struct History {
    /// The times of each call and of its answer, if there was one.
    calls: Vec<(u64, Option<u64>, Call)>,
}

impl History {
    /// Adds a call that follows all others.
    pub(crate) fn add(&mut self, call: Call) {
        let at = self.calls.len() as u64 * 2;
        self.calls.push((at, Some(at + 1), call));
    }

    pub(crate) fn count(&self) -> usize {
        self.calls.iter().filter(|(_, _, call)| !matches!(call, Call::Killed { .. } | Call::TakenAway)).count()
    }

    pub(crate) fn has(&self, kind: &str) -> bool {
        self.calls.iter().any(|(_, _, call)| format!("{call:?}").starts_with(kind))
    }

    pub(crate) fn is_linearizable(&self) -> bool {
        let mut events = Vec::new();
        for (caller, (begun, ended, call)) in self.calls.iter().enumerate() {
            events.push((*begun, false, caller, call.clone()));
            events.push((ended.unwrap_or(u64::MAX), true, caller, call.clone()));
        }
        events.sort_by_key(|(at, is_answer, ..)| (*at, *is_answer));
        let actions = events.into_iter().map(|(_, is_answer, caller, call)| {
            (caller, if is_answer { Action::Response(call) } else { Action::Call(call) })
        });
        WGLChecker::<OneRun>::is_linearizable(Checked::from_actions(actions.collect()))
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.calls.iter().try_for_each(|(begun, ended, call)| writeln!(f, "{begun} {ended:?} {call:?}"))
    }
}

/// Reads what all processes wrote down, run by run.
pub(crate) fn read(folder: &Path) -> Vec<History> {
    let mut histories = vec![History::default(); super::RUNS];
    let is_log =
        |path: &PathBuf| path.extension().is_some_and(|kind| kind == "calls" || kind == "killed" || kind == "lost");
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    for path in files.filter(is_log) {
        let text = std::fs::read_to_string(path).expect("text");
        let mut calls: BTreeMap<u64, (usize, u64, Option<u64>, Call)> = BTreeMap::new();
        // A process may be killed in the middle of a line.
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        for Line(at, number, run, is_answer, call) in lines {
            match is_answer {
                false => drop(calls.insert(number, (run, at, None, call))),
                true => {
                    let begun = calls.get_mut(&number).expect("a call begins before it ends");
                    begun.3 = call.clone();
                    // An append without an answer may be stored later.
                    begun.2 = Some(at).filter(|_| !matches!(call, Call::Unknown { .. }));
                }
            }
        }
        for (run, begun, ended, call) in calls.into_values() {
            histories[run].calls.push((begun, ended, call));
        }
    }
    histories
}
