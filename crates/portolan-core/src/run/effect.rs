//! How an effect is named, and what can come of it. What is to be performed is made from a run by `engine::pending`.

use serde::{Deserialize, Serialize};

use super::{Completion, Done, EventKind, FramePath, Reply, Verdict};
use crate::value::{CheckId, NodeId};

/// The name of an effect. The same visit of the same node gives the same name, so that an effect is settled once,
/// however often it is performed, and so that the name serves as an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EffectId {
    /// The frame that waits for it.
    pub frame: FramePath,
    /// The node it belongs to. Empty in events that journals of earlier formats have.
    pub node: NodeId,
    /// The frame's revision when it began to wait.
    pub since: u64,
    /// Which of the node's effects it is.
    pub part: EffectPart,
}

/// Which of a node's effects it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectPart {
    /// The node itself: its instruction, its question, its call, its execution.
    Node,
    /// The time at which its question answers itself.
    Timer,
    /// One of its checks.
    Check(CheckId),
    /// A request to the model or function that works on a state, by its number in the visit.
    Request(u32),
    /// A request to one of the judges of a state.
    Vote {
        /// The number of the request that is judged.
        turn: u32,
        /// The judge, from 0.
        judge: u32,
    },
    /// A tool call that a model asks for, by its name in the conversation.
    Tool(String),
}

impl EffectId {
    /// The check that it is the name of.
    pub fn check(&self) -> Option<&CheckId> {
        match &self.part {
            EffectPart::Check(check) => Some(check),
            _ => None,
        }
    }

    /// The event that says what came of it; `seed` is what `$random` and its like are drawn from.
    #[must_use]
    pub fn settled(self, result: impl Into<EffectResult>, seed: u64) -> EventKind {
        EventKind::Settled { effect: self, result: result.into(), seed }
    }
}

/// What came of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectResult {
    /// Its time has come: an automatic node is executed, a question answers itself.
    Due,
    /// The verdict of a check.
    Verdict(Verdict),
    /// The reply to a tool call.
    Reply(Reply),
    /// The answer to a request.
    Completion(Completion),
    /// The end of a tool call that a model asked for.
    Tool {
        /// What it came to.
        done: Done,
    },
}

impl From<Verdict> for EffectResult {
    fn from(verdict: Verdict) -> EffectResult {
        EffectResult::Verdict(verdict)
    }
}

impl From<Reply> for EffectResult {
    fn from(reply: Reply) -> EffectResult {
        EffectResult::Reply(reply)
    }
}

impl From<Completion> for EffectResult {
    fn from(completion: Completion) -> EffectResult {
        EffectResult::Completion(completion)
    }
}
