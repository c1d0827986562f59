//! The names of effects, and their results. `engine::pending` derives the effects themselves from a run.

use serde::{Deserialize, Serialize};

use super::{Completion, EventKind, FramePath, Reply, ToolCallResult, Verdict};
use crate::value::{CheckId, NodeId};

/// The name of an effect. The same visit of the same node gives the same name, so that an effect is settled once,
/// however often it is performed, and so that the name can be used as an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EffectId {
    /// The frame that waits for it.
    pub frame: FramePath,
    /// The node it belongs to. Empty in some events of earlier journal formats.
    pub node: NodeId,
    /// The frame's revision when the wait began.
    pub since: u64,
    /// The part of the node.
    pub part: EffectPart,
}

/// The part of a node that an effect performs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectPart {
    /// The node itself: its instruction, question, call or execution.
    Node,
    /// The timeout of its question.
    Timer,
    /// One of its checks.
    Check(CheckId),
    /// A request to the model or function of a state, by its number in the visit.
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
    /// Returns the check, if it is the name of one.
    pub fn check(&self) -> Option<&CheckId> {
        match &self.part {
            EffectPart::Check(check) => Some(check),
            _ => None,
        }
    }

    /// Returns the event that settles it; `seed` is the seed of `$random` and similar functions.
    #[must_use]
    pub fn settled(self, result: impl Into<EffectResult>, seed: u64) -> EventKind {
        EventKind::Settled { effect: self, result: result.into(), seed }
    }
}

/// The result of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectResult {
    /// The time has come: an automatic node is executed, a question times out.
    Due,
    /// The verdict of a check.
    Verdict(Verdict),
    /// The reply to a tool call.
    Reply(Reply),
    /// The answer to a request.
    Completion(Completion),
    /// The result of a tool call that a model asked for.
    Tool {
        /// The result.
        done: ToolCallResult,
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
