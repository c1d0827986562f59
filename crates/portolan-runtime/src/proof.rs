//! What is true of every run of a definition: the analysis of `portolan-core`, within the time that somebody has; and runs
//! that show what is not, gone through again.

use std::time::{Duration, Instant};

use portolan_core::diagnostic::Diagnostic;
use portolan_core::engine::{Rejection, decide, open};
use portolan_core::graph::Workflow;
use portolan_core::present::history;
use portolan_core::prove::{AnalysisLimits, Counterexample, Proof, prove};
use portolan_core::run::{Move, Run, moves};

/// How long the analysis of one workflow may take where nothing else is said, in seconds.
pub const DEFAULT_SECONDS: u64 = 2;

/// How far the analysis of a workflow goes.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How many states it looks at.
    pub states: usize,
    /// How long it may take.
    pub time: Duration,
}

impl Effort {
    /// What somebody who is writing does not notice.
    pub const WHILE_WRITING: Effort = Effort { states: 20_000, time: Duration::from_millis(100) };
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { states: AnalysisLimits::default().states, time: Duration::from_secs(DEFAULT_SECONDS) }
    }
}

/// Finds out what is true of every run of a workflow, as far as the effort goes.
pub fn analyse(workflow: &Workflow, effort: Effort) -> Proof {
    let begun = Instant::now();
    let limits = AnalysisLimits { states: effort.states, ..AnalysisLimits::default() };
    // What was found by then has to be concluded from, too.
    let until = effort.time.mul_f64(0.85);
    prove(workflow, &limits, &mut || begun.elapsed() >= until)
}

/// What is not so of a workflow, as far as the effort goes, each with its place.
pub fn findings(workflow: &Workflow, effort: Effort) -> Vec<Diagnostic> {
    analyse(workflow, effort).findings(workflow).into_iter().map(|finding| finding.diagnostic).collect()
}

/// What became of a run that was written down.
#[derive(Debug)]
pub struct Replayed {
    /// What happened, a line for each event.
    pub lines: Vec<String>,
    /// The nodes at which the run is then, each with the words for what may be done there.
    pub at: Vec<(String, Vec<String>)>,
    /// Whether it is over.
    pub is_over: bool,
    /// What the engine does not do, and why: the event behind those of `lines`.
    pub refused: Option<Rejection>,
}

/// Has the engine decide over each event of a run, as far as it goes with this definition. Nothing else happens.
pub fn replay(workflow: &Workflow, told: &Counterexample) -> Replayed {
    let mut replayed = Replayed { lines: Vec::new(), at: Vec::new(), is_over: false, refused: None };
    let changes = match open(workflow, &told.opening) {
        Ok(changes) => changes,
        Err(rejection) => return Replayed { refused: Some(rejection), ..replayed },
    };
    let Some(mut run) = Run::fold(&changes) else { return replayed };
    for event in &told.events {
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
