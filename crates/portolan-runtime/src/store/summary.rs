//! A run in one line, for lists. It is derived from the run alone, so that every store gives the same.

use portolan_core::run::{Frame, Opening, Place, Run};
use portolan_core::value::{Timestamp, WorkflowId};
use serde::Serialize;

use super::RunId;

/// A run in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The handle.
    pub id: RunId,
    /// The workflow of the run.
    pub workflow: WorkflowId,
    /// The user's task in full: it may be long.
    pub description: Option<String>,
    /// The status.
    pub status: RunStatus,
    /// The present node, or several, in order and separated by `, `, while branches are under way.
    pub step: String,
    /// The time of the last event.
    pub updated_at: Timestamp,
    /// The number of the last record.
    pub seq: u64,
}

impl Summary {
    /// Returns the summary of `run`. `shown` is the opening as lists may show it: the whole, or the cover.
    pub fn of(id: &RunId, shown: &Opening, run: &Run, (updated_at, seq): (Timestamp, u64)) -> Summary {
        Summary {
            id: id.clone(),
            workflow: shown.workflow.clone(),
            description: shown.description.clone(),
            status: RunStatus::of(run),
            step: step(run),
            updated_at,
            seq,
        }
    }
}

/// The status of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// There is work to do.
    Working,
    /// A person must decide, on at least one branch.
    Waiting,
    /// Checks are being performed, and nothing else can be done meanwhile.
    Checking,
    /// The run is over.
    Ended {
        /// The result: `success`, `failure`, `blocked` or `cancelled`; for a branch that is a run of its own, its
        /// outcome.
        result: String,
    },
}

impl RunStatus {
    /// Returns the status of `run`.
    pub fn of(run: &Run) -> RunStatus {
        match &run.root.place {
            Place::Ended { result, .. } => return RunStatus::Ended { result: result.word().to_owned() },
            Place::Arrived { outcome, .. } => return RunStatus::Ended { result: outcome.as_str().to_owned() },
            _ => {}
        }
        let positions = run.positions();
        let any = |wanted: fn(&Place) -> bool| positions.iter().any(|(_, frame)| wanted(&frame.place));
        // A question on one branch takes precedence over work on others, because people search lists for it.
        if any(|place| matches!(place, Place::Waiting { .. })) {
            RunStatus::Waiting
        } else if any(|place| !matches!(place, Place::Checking { .. })) {
            RunStatus::Working
        } else {
            RunStatus::Checking
        }
    }

    /// Returns the status in one word: `working`, `waiting`, `checking` or `ended`.
    pub fn word(&self) -> &'static str {
        match self {
            RunStatus::Working => "working",
            RunStatus::Waiting => "waiting",
            RunStatus::Checking => "checking",
            RunStatus::Ended { .. } => "ended",
        }
    }

    /// Checks whether the run is over.
    pub fn is_ended(&self) -> bool {
        matches!(self, RunStatus::Ended { .. })
    }

    /// Returns the result if the run is over.
    pub fn result(&self) -> Option<&str> {
        match self {
            RunStatus::Ended { result } => Some(result),
            RunStatus::Working | RunStatus::Waiting | RunStatus::Checking => None,
        }
    }

    /// Returns the result, or else the status in one word, as lists show it.
    pub fn shown(&self) -> &str {
        self.result().unwrap_or(self.word())
    }

    /// Returns the status with this [`word`](RunStatus::word) and [`result`](RunStatus::result).
    pub(super) fn parse(word: &str, result: Option<String>) -> Option<RunStatus> {
        match (word, result) {
            ("working", None) => Some(RunStatus::Working),
            ("waiting", None) => Some(RunStatus::Waiting),
            ("checking", None) => Some(RunStatus::Checking),
            ("ended", Some(result)) => Some(RunStatus::Ended { result }),
            _ => None,
        }
    }
}

/// Returns the nodes at which `run` is.
pub(super) fn step(run: &Run) -> String {
    let nodes = |(_, frame): (_, &Frame)| frame.place.node().to_string();
    run.positions().into_iter().map(nodes).collect::<Vec<_>>().join(", ")
}
