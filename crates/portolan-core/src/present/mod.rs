//! What a run looks like to whoever is at it: the situation with its actions, the instructions in prose, the history.
//!
//! Presents and decides nothing: which moves there are comes from [`moves`](crate::run::moves), which the engine
//! follows too.

mod about;
mod actions;
mod brief;
mod dot;
mod export;
mod fill;
mod here;
mod history;
mod mermaid;
mod navigation;
mod outline;
mod picture;
#[cfg(test)]
mod pictures_tests;
mod redaction;
mod saved;
mod situation;
mod talk;
mod trace;

pub use actions::{Action, Actions, Blocked};
pub use brief::{instructions, terminal};
pub use dot::dot;
pub use export::{Crates, langgraph, rust_project};
pub use here::{Answer, Asked};
pub use history::history;
pub use mermaid::{diagram_markdown, mermaid};
pub use navigation::{Guidance, Named, Navigator, Numbered, Pass, Whereabouts, checkpoint, focus, navigation};
pub use outline::outline;
pub use redaction::{MASK, Redaction};
pub use saved::saved;
pub use situation::{BranchView, Position, Retries, Situation, State, situation};
pub use talk::sentence as state_sentence;
pub use trace::{CANCELLED, TraceRow, UNDER_WAY, context, expression, function_word, trace, way};

use serde_json::{Map, Value};

use crate::run::FramePath;
use crate::value::{NodeId, Outcome};

/// Who a situation is for, and what of the world bears on it. The core cannot look: the runtime says.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    /// The arguments by which every call names this run: `{"run": …}` or `{"taskFilePath": …}`.
    pub address: Map<String, Value>,
    /// The position to look at, when it is not the whole run.
    pub at: Option<FramePath>,
    /// How to lift it when the definition's commands may not be run.
    pub untrusted: Option<String>,
    /// Whether the caller's client can put a question to the person at it.
    pub can_ask: bool,
    /// How a person answers at a shell.
    pub answer_by: String,
    /// How far the branches are that live outside the run.
    pub children: Vec<Child>,
    /// The name under which a child names this run as its parent.
    pub parent_id: Option<String>,
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
