//! A run in one line, for lists. What it says is derived from the run alone, so that every store says the same.

use portolan_core::run::{Frame, Opening, Place, Run};
use portolan_core::value::{Timestamp, WorkflowId};
use serde::Serialize;

use super::RunId;

/// A run in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Its handle.
    pub id: RunId,
    /// The workflow that it runs.
    pub workflow: WorkflowId,
    /// What the user wants done, whole: it may be long.
    pub description: Option<String>,
    /// How it stands.
    pub status: RunStatus,
    /// The node at which it is; several, in order and separated by `, `, while branches are under way.
    pub step: String,
    /// When its last event happened.
    pub updated_at: Timestamp,
    /// The number of its last record.
    pub seq: u64,
}

impl Summary {
    /// The line of `run`. `shown` is what lists may show of its opening: the whole, or the cover that it has.
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

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// There is work to do.
    Working,
    /// A person decides, on at least one branch.
    Waiting,
    /// Checks are being performed, and nothing else can be done meanwhile.
    Checking,
    /// It is over.
    Ended {
        /// How: `success`, `failure`, `blocked`, `cancelled`; for a branch of its own, the outcome that it came to.
        result: String,
    },
}

impl RunStatus {
    /// How `run` stands.
    pub fn of(run: &Run) -> RunStatus {
        match &run.root.place {
            Place::Ended { result, .. } => return RunStatus::Ended { result: result.word().to_owned() },
            Place::Arrived { outcome, .. } => return RunStatus::Ended { result: outcome.as_str().to_owned() },
            _ => {}
        }
        let positions = run.positions();
        let any = |wanted: fn(&Place) -> bool| positions.iter().any(|(_, frame)| wanted(&frame.place));
        // A question on one branch is what a person looks for in a list, however busy the others are.
        if any(|place| matches!(place, Place::Waiting { .. })) {
            RunStatus::Waiting
        } else if any(|place| !matches!(place, Place::Checking { .. })) {
            RunStatus::Working
        } else {
            RunStatus::Checking
        }
    }

    /// The status in one word: `working`, `waiting`, `checking` or `ended`.
    pub fn word(&self) -> &'static str {
        match self {
            RunStatus::Working => "working",
            RunStatus::Waiting => "waiting",
            RunStatus::Checking => "checking",
            RunStatus::Ended { .. } => "ended",
        }
    }

    /// Whether the run is over.
    pub fn is_ended(&self) -> bool {
        matches!(self, RunStatus::Ended { .. })
    }

    /// How it ended, when it has.
    pub fn result(&self) -> Option<&str> {
        match self {
            RunStatus::Ended { result } => Some(result),
            RunStatus::Working | RunStatus::Waiting | RunStatus::Checking => None,
        }
    }

    /// How it ended, or else the status in one word: what lists show.
    pub fn shown(&self) -> &str {
        self.result().unwrap_or(self.word())
    }

    /// The status that [`word`](Status::word) and [`result`](Status::result) were taken from.
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

/// The nodes at which `run` is.
pub(super) fn step(run: &Run) -> String {
    let nodes = |(_, frame): (_, &Frame)| frame.place.node().to_string();
    run.positions().into_iter().map(nodes).collect::<Vec<_>>().join(", ")
}
