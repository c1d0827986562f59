//! Presents a run: the situation with its offers, the history, and pictures.
//!
//! Presentation decides nothing: the possible moves come from [`moves`](crate::run::moves), which the engine uses too.
//! The faces word the situation for agents and people.

mod check_result;
mod check_words;
mod conversation;
mod dot;
mod drawing;
mod export;
mod fill;
mod history;
mod mermaid;
mod offers;
mod outline;
mod overlay;
mod passes;
mod picture;
#[cfg(test)]
mod pictures_tests;
mod question;
mod redaction;
mod save_format;
mod situation;
mod trace;
mod visits;
mod work;

pub use check_result::CheckResult;
pub use check_words::looks_at;
pub use conversation::sentence as state_sentence;
pub use dot::dot;
pub use drawing::{Drawing, DrawingInput, DrawnCheck, DrawnEdge, DrawnNode, FARTHEST, Fold, NodeOffsets, drawing, svg};
pub use export::{Crates, langgraph, rust_project};
pub use history::history;
pub use mermaid::{diagram_markdown, mermaid};
pub use offers::{Act, BlockedBy, Meaning, Offer};
pub use outline::{AttachedIn, outline, outline_with};
pub use overlay::{Mark, NodeMark, Overlay, PassMark, ProgressCount, TakenEdge, Trail, drawn_as};
pub use passes::{PassEnd, PassStrip};
pub use question::{Answer, AnsweredBy, AskReason, DefaultAnswer, OpenQuestion, QuestionView, asked};
pub use redaction::{MASK, Redaction};
pub use save_format::saved;
pub use situation::{
    BranchView, FrameView, LoopPass, Point, Position, Retries, RunStatus, SITUATION_VERSION, Situation, focus,
    situation,
};
pub use trace::{CANCELLED, TraceRow, UNDER_WAY, context, expression, function_word, trace, way};
pub use visits::{ChatMessage, OutcomeReport, OutputChange, Visit, visits};
pub use work::{ActivityView, CheckView, Fork, ForkBranch, Progress, Work};

use serde::{Deserialize, Serialize};

use crate::run::FramePath;
use crate::value::{NodeId, Outcome, Timestamp};

/// The viewer of a situation, with the facts outside the run that affect it. The core cannot read them: the runtime
/// does.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    /// The position to present, if it is not the whole run.
    pub at: Option<FramePath>,
    /// How to lift the block, if the definition's commands may not be run.
    pub untrusted: Option<TrustRequirement>,
    /// Whether the caller's client can ask its person a question.
    pub can_ask: bool,
    /// The abilities that the agent claims; `None` if unchanged since the run began.
    pub effectivities: Option<Vec<String>>,
    /// The progress of the branches outside the run.
    pub children: Vec<Child>,
    /// The reason that a possible task of such a branch cannot be read, if that leaves the outcome open.
    pub unreadable: Option<String>,
    /// The check that is running at the position.
    pub checking: Option<CheckUnderWay>,
}

/// A running check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckUnderWay {
    /// Its name, or its command.
    pub check: String,
    /// When it began.
    pub since: Timestamp,
    /// The last line that it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// The action that is required before untrusted commands may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "liftedBy", rename_all = "snake_case")]
pub enum TrustRequirement {
    /// A person must trust the file.
    Trust {
        /// The definition's file.
        file: String,
    },
    /// The run is bound to an earlier version of the file: put that back and trust it, or begin a new run.
    PutBack {
        /// The workflow.
        workflow: String,
        /// The definition's file.
        file: String,
    },
    /// The same as `PutBack`, for a file that is no longer known.
    Restore {
        /// The workflow.
        workflow: String,
    },
    /// A person may have trusted it, and this cannot be verified.
    Unverified {
        /// The reason, and what to do.
        reason: String,
    },
}

/// A branch outside the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The branch.
    pub branch: NodeId,
    /// Its progress.
    pub state: ChildState,
}

/// The progress of a branch outside the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildState {
    /// It has no task.
    Missing,
    /// Its task is at a step.
    At {
        /// The step.
        step: NodeId,
        /// The task, as calls name it.
        task: String,
    },
    /// It ended with an outcome.
    Done(Outcome),
}
