//! What a run looks like to whoever is at it: the situation with its offers, the history, pictures.
//!
//! Presents and decides nothing: which moves there are comes from [`moves`](crate::run::moves), which the engine
//! follows too. What agents and people read of a situation is worded by the faces.

mod checked;
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
mod picture;
#[cfg(test)]
mod pictures_tests;
mod question;
mod redaction;
mod saved;
mod situation;
mod trace;
mod verified;
mod visits;
mod work;

pub use checked::Checked;
pub use conversation::sentence as state_sentence;
pub use dot::dot;
pub use drawing::{Drawing, DrawingInput, DrawnCheck, DrawnEdge, DrawnNode, FARTHEST, Fold, NodeOffsets, drawing, svg};
pub use export::{Crates, langgraph, rust_project};
pub use history::history;
pub use mermaid::{diagram_markdown, mermaid};
pub use offers::{Act, BlockedBy, Meaning, Offer};
pub use outline::{AttachedIn, outline, outline_with};
pub use overlay::{Arrived, Mark, NodeMark, Overlay, PassMark, TakenEdge, Trail, drawn_as};
pub use question::{Answer, AnsweredBy, AskReason, DefaultAnswer, OpenQuestion, QuestionView, asked};
pub use redaction::{MASK, Redaction};
pub use saved::saved;
pub use situation::{
    BranchView, FrameView, LoopPass, Point, Position, Retries, RunStatus, SITUATION_VERSION, Situation, focus,
    situation,
};
pub use trace::{CANCELLED, TraceRow, UNDER_WAY, context, expression, function_word, trace, way};
pub use verified::looks_at;
pub use visits::{Altered, ChatMessage, Reported, Visit, visits};
pub use work::{ActivityView, CheckView, Fork, ForkBranch, Progress, Work};

use serde::{Deserialize, Serialize};

use crate::run::FramePath;
use crate::value::{NodeId, Outcome, Timestamp};

/// Who a situation is for, and what of the world bears on it. The core cannot look: the runtime says.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    /// The position to look at, when it is not the whole run.
    pub at: Option<FramePath>,
    /// How it is lifted when the definition's commands may not be run.
    pub untrusted: Option<Untrusted>,
    /// Whether the caller's client can put a question to the person at it.
    pub can_ask: bool,
    /// What the agent says that it is able to do; nothing when it has said no more than when the run began.
    pub effectivities: Option<Vec<String>>,
    /// How far the branches are that live outside the run.
    pub children: Vec<Child>,
    /// Why something that may be such a branch cannot be read, where that leaves the outcome open.
    pub unreadable: Option<String>,
    /// The check that runs at the position now.
    pub checking: Option<CheckUnderWay>,
}

/// A check while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckUnderWay {
    /// Its name, or the command that it is.
    pub check: String,
    /// When it began.
    pub since: Timestamp,
    /// What it printed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// What is to be done before commands may be run that nobody has trusted yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "liftedBy", rename_all = "snake_case")]
pub enum Untrusted {
    /// A person trusts the file.
    Trust {
        /// The definition's file.
        file: String,
    },
    /// The run is held to what stood in the file earlier: that is put back and trusted, or a new run begun.
    PutBack {
        /// The workflow.
        workflow: String,
        /// The definition's file.
        file: String,
    },
    /// The same, for a file that is not known any more.
    Restore {
        /// The workflow.
        workflow: String,
    },
}

/// A branch that lives outside the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The branch.
    pub branch: NodeId,
    /// How far it is.
    pub state: ChildState,
}

/// How far a branch that lives outside the run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildState {
    /// There is no task for it.
    Missing,
    /// Its task is at a step.
    At {
        /// The step.
        step: NodeId,
        /// The task, as a call names it.
        task: String,
    },
    /// It has come to an outcome.
    Done(Outcome),
}
