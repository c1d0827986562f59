//! What was under way when a run was left, and how a state that waits goes on.

use portolan_core::diagnostic::{clip, list};
use portolan_core::engine::{AfterCrash, Effect};
use portolan_core::run::{Actor, Doing, Done, EventKind, Fault, Frame, FramePath, Place, Reply, Resume, Run, Spend};

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

/// How a state that waits goes on.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// Who says so.
    pub by: Actor,
    /// How.
    pub with: Resume,
    /// In which branch, where several wait.
    pub branch: Option<String>,
}

/// What the state that waits is told; where none does, the engine refuses it at the root.
///
/// # Errors
/// Several wait and none is named, or the one that is named does not wait.
pub(super) fn resumed(run: &Run, resumed: Resumed, seed: u64) -> Result<EventKind, ServiceError> {
    let waits = |frame: &Frame| matches!(&frame.place, Place::Conversing { talk, .. } if matches!(talk.doing, Doing::Held { .. }));
    let waiting = run.positions().into_iter().filter(|(_, frame)| waits(frame)).map(|(path, _)| path);
    let Resumed { with, branch, .. } = resumed;
    let all: Vec<FramePath> = waiting.collect();
    let names: Vec<String> = all.iter().map(FramePath::text).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let named = branch.as_ref().map(|branch| all.iter().find(|path| path.text() == *branch));
    let frame = match (named, all.as_slice()) {
        (Some(Some(path)), _) | (None, [path]) => path.clone(),
        (None, []) => FramePath::default(),
        (Some(None), _) => {
            let message = format!("no branch `{}` waits", clip(&branch.unwrap_or_default()));
            let help =
                if all.is_empty() { "nothing waits here".to_owned() } else { format!("those are {}", list(&names)) };
            return Err(ServiceError::refused("unknown_branch", message, help));
        }
        (None, several) => {
            let message = format!("{} branches wait", several.len());
            let help = format!("say which with `--branch`: {}", list(&names));
            return Err(ServiceError::refused("ambiguous_branch", message, help));
        }
    };
    Ok(EventKind::Resumed { frame, revision: None, with, seed })
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
        let (node, tool, failed, besides) = match effect {
            Effect::Call(call) if call.after_crash == AfterCrash::Ask => {
                let message = format!("the call of `{}` was interrupted", call.tool);
                let (node, code) = (call.node.to_string(), "interrupted".to_owned());
                let reply = Reply::Failed(Fault { node, code, message, detail: String::new() });
                let failed = EventKind::Returned { frame: call.frame, since: call.since, reply, seed: 0 };
                let besides = "`idempotent: true` on the node says that repeating does no harm";
                (call.node, call.tool, failed, besides)
            }
            Effect::Use(used) => {
                let done =
                    Done::Failed("the call was interrupted, and whether it was performed is not known".to_owned());
                let (frame, since, call) = (used.frame, used.since, used.call);
                let failed = EventKind::ToolDone { frame, since, call, done, spent: Spend::default(), seed: 0 };
                (used.node, used.tool, failed, "the model is told of a call that failed")
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
                    format!("say `--repeat` to make it again, or `--fail` to count it as failed; {besides}"),
                ));
            }
        }
    }
    Ok(told)
}
