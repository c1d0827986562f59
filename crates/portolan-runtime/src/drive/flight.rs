//! What is under way outside of the engine: calls of tools, requests to models, checks. Each has the name by which it is
//! settled, so that it is begun once, and dropped when nobody waits for it any more.

use portolan_core::engine::Effect;
use portolan_core::run::{Completion, Done, EffectId, EventKind, FramePath, Spend, Verdict};

use crate::tools::Called;

/// The name of something under way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// A call of a tool by a node.
    Call { frame: FramePath, since: u64 },
    /// A request to a model.
    Model { frame: FramePath, since: u64, turn: u32, vote: Option<u32> },
    /// A tool that a model has asked for.
    Tool { frame: FramePath, since: u64, call: String },
    /// A function that works on a state.
    Work { frame: FramePath, since: u64, turn: u32 },
    /// A look at what is outside.
    Check(EffectId),
}

/// What came of it.
pub(super) enum Landed {
    Called(Called),
    Completed(Completion),
    Done(Done, Spend),
    Verdict(Verdict),
}

impl Key {
    /// The name of an effect that is performed outside; nothing for one that is not.
    pub(super) fn of(effect: &Effect) -> Option<Key> {
        Some(match effect {
            Effect::Call(call) => Key::Call { frame: call.frame.clone(), since: call.since },
            Effect::Complete(asked) => {
                Key::Model { frame: asked.frame.clone(), since: asked.since, turn: asked.turn, vote: asked.vote }
            }
            Effect::Use(used) => Key::Tool { frame: used.frame.clone(), since: used.since, call: used.call.clone() },
            Effect::Work(work) => Key::Work { frame: work.frame.clone(), since: work.since, turn: work.turn },
            Effect::Perform(work) => Key::Check(work.id.clone()),
            Effect::Continue { .. } | Effect::Instruct { .. } | Effect::Ask { .. } => return None,
        })
    }

    /// The frame that waits for it.
    pub(super) fn frame(&self) -> &FramePath {
        match self {
            Key::Call { frame, .. } | Key::Model { frame, .. } | Key::Tool { frame, .. } | Key::Work { frame, .. } => {
                frame
            }
            Key::Check(id) => &id.frame,
        }
    }

    /// What the engine is told; nothing where what came is of another sort, which nothing makes.
    pub(super) fn event(self, landed: Landed, seed: u64) -> Option<EventKind> {
        Some(match (self, landed) {
            (Key::Call { frame, since }, Landed::Called(called)) => {
                EventKind::Returned { frame, since, reply: called.reply, seed }
            }
            (Key::Model { frame, since, turn, vote }, Landed::Completed(reply)) => {
                EventKind::Completed { frame, since, turn, vote, reply, seed }
            }
            (Key::Work { frame, since, turn }, Landed::Completed(reply)) => {
                EventKind::Completed { frame, since, turn, vote: None, reply, seed }
            }
            (Key::Tool { frame, since, call }, Landed::Done(done, spent)) => {
                EventKind::ToolDone { frame, since, call, done, spent, seed }
            }
            (Key::Check(effect), Landed::Verdict(verdict)) => EventKind::Settled { effect, verdict },
            _ => return None,
        })
    }
}
