//! What was under way when a run was left, and how a state that waits goes on.

use portolan_core::engine::{AfterCrash, Effect};
use portolan_core::run::{Doing, Done, EventKind, Fault, Frame, Place, Reply, Resume, Run};

use super::{ErrorKind, ServiceError};
use crate::definition::Definition;

/// What becomes of a call that a crash interrupted: whether the server performed it is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// The person is asked, unless the definition says that repeating does no harm.
    Ask,
    /// It is made again.
    Repeat,
    /// It counts as failed.
    Fail,
}

/// What the first state that waits is told; where none does, the engine refuses it at the root.
pub(super) fn resumed(run: &Run, with: Resume, seed: u64) -> EventKind {
    let waits = |frame: &Frame| matches!(&frame.place, Place::Conversing { talk, .. } if matches!(talk.doing, Doing::Held { .. }));
    let waiting = run.positions().into_iter().find(|(_, frame)| waits(frame));
    let frame = waiting.map(|(path, _)| path).unwrap_or_default();
    EventKind::Resumed { frame, revision: None, with, seed }
}

/// What the engine is told of the tools that were called when the run was left.
///
/// # Errors
/// Nobody has said what becomes of one.
pub(super) fn told(
    definition: &Definition,
    run: &Run,
    interrupted: Interrupted,
) -> Result<Vec<EventKind>, ServiceError> {
    let mut told = Vec::new();
    for effect in run.pending(&definition.workflow) {
        let (node, tool, failed) = match effect {
            Effect::Call(call) if call.after_crash == AfterCrash::Ask => {
                let message = format!("the call of `{}` was interrupted", call.tool);
                let (node, code) = (call.node.to_string(), "interrupted".to_owned());
                let reply = Reply::Failed(Fault { node, code, message, detail: String::new() });
                let failed = EventKind::Returned { frame: call.frame, since: call.since, reply, seed: 0 };
                (call.node, call.tool, failed)
            }
            Effect::Use(used) => {
                let done =
                    Done::Failed("the call was interrupted, and whether it was performed is not known".to_owned());
                let (frame, since, call) = (used.frame, used.since, used.call);
                (used.node, used.tool, EventKind::ToolDone { frame, since, call, done, seed: 0 })
            }
            _ => continue,
        };
        match interrupted {
            Interrupted::Repeat => {}
            Interrupted::Fail => told.push(failed),
            Interrupted::Ask => {
                return Err(ServiceError::of(
                    ErrorKind::NeedsPerson,
                    "interrupted",
                    format!(
                        "the call of `{tool}` at `{node}` was interrupted, and whether the server performed it is not known"
                    ),
                    "say `--repeat` to make it again, or `--fail` to count it as failed; `idempotent: true` on the node says that repeating does no harm",
                ));
            }
        }
    }
    Ok(told)
}
