//! Properties that hold for every run of a definition, from the analysis of `portolan-core` with a time limit; and
//! replays of its counterexamples.

use std::time::{Duration, Instant};

use portolan_core::diagnostic::Diagnostic;
use portolan_core::engine::{Rejection, decide, open};
use portolan_core::graph::Workflow;
use portolan_core::present::history;
use portolan_core::prove::{AnalysisLimits, Counterexample, Proof, prove};
use portolan_core::run::{Move, Run, moves};

/// The default time limit for the analysis of one workflow, in seconds.
pub const DEFAULT_SECONDS: u64 = 2;

/// The limits of the analysis of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The maximum number of states.
    pub states: usize,
    /// The maximum time.
    pub time: Duration,
}

impl Effort {
    /// The limits for use while an author is typing, below a noticeable delay.
    pub const WHILE_WRITING: Effort = Effort { states: 20_000, time: Duration::from_millis(100) };
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { states: AnalysisLimits::default().states, time: Duration::from_secs(DEFAULT_SECONDS) }
    }
}

/// Analyses which properties hold for every run of a workflow, within the limits.
pub fn analyse(workflow: &Workflow, effort: Effort) -> Proof {
    let begun = Instant::now();
    let limits = AnalysisLimits { states: effort.states, ..AnalysisLimits::default() };
    // Part of the time is reserved for drawing conclusions from the states.
    let until = effort.time.mul_f64(0.8);
    prove(workflow, &limits, &mut || begun.elapsed() >= until)
}

/// Returns the violated properties of a workflow, within the limits, each with its position, and whether a limit was
/// reached before all properties were decided.
pub fn findings(workflow: &Workflow, effort: Effort) -> (Vec<Diagnostic>, bool) {
    let proof = analyse(workflow, effort);
    let found = proof.findings(workflow).into_iter().map(|finding| finding.diagnostic);
    (found.collect(), proof.is_undecided())
}

/// The result of replaying a run.
#[derive(Debug)]
pub struct ReplayResult {
    /// The history, one line per event.
    pub lines: Vec<String>,
    /// The nodes at which the run then is, each with the possible moves.
    pub at: Vec<(String, Vec<String>)>,
    /// Whether the run is over.
    pub is_over: bool,
    /// Why the engine refused the event after those of `lines`, if it did.
    pub refused: Option<Rejection>,
}

/// Replays the events of a run with this definition, until the engine refuses one. Performs no effects.
pub fn replay(workflow: &Workflow, counterexample: &Counterexample) -> ReplayResult {
    let mut replayed = ReplayResult { lines: Vec::new(), at: Vec::new(), is_over: false, refused: None };
    let changes = match open(workflow, &counterexample.opening) {
        Ok(changes) => changes,
        Err(rejection) => return ReplayResult { refused: Some(rejection), ..replayed },
    };
    let Some(mut run) = Run::fold(&changes) else { return replayed };
    for event in &counterexample.events {
        match decide(workflow, &run, event) {
            Ok(changes) => {
                changes.iter().for_each(|change| run.apply(change));
                replayed.lines.push(history(event, &changes));
            }
            Err(rejection) => {
                replayed.refused = Some(rejection);
                break;
            }
        }
    }
    replayed.is_over = run.is_over();
    replayed.at = positions(workflow, &run);
    replayed
}

fn positions(workflow: &Workflow, run: &Run) -> Vec<(String, Vec<String>)> {
    let word = |wanted: &Move| wanted.outcome().map_or_else(|| "begin".to_owned(), ToString::to_string);
    let offers = |frame| moves(workflow, frame).iter().map(word).collect();
    run.positions().into_iter().map(|(_, frame)| (frame.place.node().to_string(), offers(frame))).collect()
}
