//! What is true of every run of a definition: the analysis of `portolan-core`, within the time that somebody has.

use std::time::{Duration, Instant};

use portolan_core::diagnostic::Diagnostic;
use portolan_core::graph::Workflow;
use portolan_core::prove::{Limits, Proof, prove};

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
        Effort { states: Limits::default().states, time: Duration::from_secs(DEFAULT_SECONDS) }
    }
}

/// Finds out what is true of every run of a workflow, as far as the effort goes.
pub fn analyse(workflow: &Workflow, effort: Effort) -> Proof {
    let begun = Instant::now();
    let limits = Limits { states: effort.states, ..Limits::default() };
    prove(workflow, &limits, &mut || begun.elapsed() >= effort.time)
}

/// What is not so of a workflow, as far as the effort goes, each with its place.
pub fn findings(workflow: &Workflow, effort: Effort) -> Vec<Diagnostic> {
    analyse(workflow, effort).findings(workflow).into_iter().map(|finding| finding.diagnostic).collect()
}
