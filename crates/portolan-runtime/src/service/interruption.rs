//! Settles the calls that were under way when a run was left, and resumes a waiting state.

use portolan_core::diagnostic::{clip, list};
use portolan_core::engine::{AfterCrash, EffectKind};
use portolan_core::run::{Actor, EffectResult, EventKind, Fault, FramePath, Reply, Resume, Run, ToolCallResult};

use crate::definition::Definition;
use crate::error::{ErrorKind, ServiceError};

/// How to settle a call that a crash interrupted: whether the server performed it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptionPolicy {
    /// Asks the person, unless the definition says that a repetition does no harm.
    Ask,
    /// Repeats the call.
    Repeat,
    /// Counts the call as failed.
    Fail,
}

/// How a waiting state continues.
#[derive(Clone, Debug)]
pub struct ResumeRequest {
    /// The actor who decides it.
    pub by: Actor,
    /// The decision.
    pub with: Resume,
    /// The branch, if several wait.
    pub branch: Option<String>,
}

/// Returns the event for the waiting state. If none waits, the engine refuses the event at the root.
///
/// # Errors
/// Several states wait and no branch is named, or the named branch does not wait.
pub(super) fn resumed(run: &Run, resumed: ResumeRequest, seed: u64) -> Result<EventKind, ServiceError> {
    let ResumeRequest { with, branch, .. } = resumed;
    let held = run.positions().into_iter().filter(|(_, frame)| frame.place.held().is_some());
    let held: Vec<FramePath> = held.map(|(path, _)| path).collect();
    let frame = match (branch, held.as_slice()) {
        (Some(branch), held) => held.iter().find(|path| path.text() == branch).cloned().ok_or_else(|| {
            let help = if held.is_empty() {
                "nothing is waiting here".to_owned()
            } else {
                format!("those are {}", named(held))
            };
            ServiceError::refused("unknown_branch", format!("no branch `{}` is waiting", clip(&branch)), help)
        })?,
        (None, []) => FramePath::default(),
        (None, [path]) => path.clone(),
        (None, several) => return Err(ambiguous(format!("{} branches wait", several.len()), several)),
    };
    Ok(EventKind::Resumed { frame, revision: None, with, seed })
}

/// Returns the error for a call that means one of several branches and does not name it.
pub(super) fn ambiguous(message: String, among: &[FramePath]) -> ServiceError {
    ServiceError::refused("ambiguous_branch", message, format!("choose one with `--branch`: {}", named(among)))
}

fn named(paths: &[FramePath]) -> String {
    let names: Vec<String> = paths.iter().map(FramePath::text).collect();
    list(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns the events that settle the tool calls that were under way when the run was left.
///
/// # Errors
/// It is not decided how to settle a call.
pub(super) fn settlement_events(
    definition: &Definition,
    run: &Run,
    interrupted: InterruptionPolicy,
) -> Result<Vec<EventKind>, ServiceError> {
    let mut events = Vec::new();
    for effect in run.pending(&definition.workflow) {
        if effect.after_crash == AfterCrash::Repeat {
            continue;
        }
        let node = effect.node().clone();
        let (tool, failed, besides): (_, EffectResult, _) = match &effect.what {
            EffectKind::Call(call) => {
                let message = format!("the call of `{}` was interrupted", call.tool);
                let (at, code) = (node.to_string(), "interrupted".to_owned());
                let reply = Reply::Failed(Fault { node: at, code, message, detail: String::new() });
                let besides = "set `idempotent: true` on the node if repeating the call does no harm";
                (call.tool.clone(), reply.into(), besides)
            }
            EffectKind::UseTool(used) => {
                let done = ToolCallResult::Failed(
                    "the call was interrupted, and it is not known whether it was performed".to_owned(),
                );
                let failed = EffectResult::Tool { done };
                (used.tool.clone(), failed, "the model is then told that the call failed")
            }
            _ => continue,
        };
        match interrupted {
            InterruptionPolicy::Repeat => {}
            InterruptionPolicy::Fail => events.push(effect.id.settled(failed, 0)),
            InterruptionPolicy::Ask => {
                return Err(ServiceError::of(
                    ErrorKind::NeedsPerson,
                    "interrupted",
                    format!(
                        "the call of `{tool}` at `{node}` was interrupted, and it is not known whether the server performed it"
                    ),
                    format!("use `--repeat` to make it again, or `--fail` to count it as failed; {besides}"),
                ));
            }
        }
    }
    Ok(events)
}
