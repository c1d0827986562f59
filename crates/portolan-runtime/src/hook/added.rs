//! The guards that a project, or a program that embeds this crate, adds to Portolan's own.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use portolan_gates::guards::{GuardContext, WorktreeHead};
use portolan_gates::plugins::{DeclaredGuard, EarlierCall, Guard, GuardInput};
use portolan_gates::{Decision, Intent, Judgement};
use serde_json::Value;

use crate::audit::{self, Filter, Kind};
use crate::error::ServiceError;
use crate::service::Gate;

/// The name under which the log has a person who allowed a call.
pub(crate) const PERSON: &str = "person";

/// Returns the branch that is checked out where the call would happen.
pub(super) fn branch(scene: &GuardContext) -> Option<String> {
    scene.places.values().filter_map(|place| place.worktree.as_ref()).find_map(|worktree| match &worktree.head {
        WorktreeHead::Branch(branch) | WorktreeHead::Unborn(branch) => Some(branch.clone()),
        WorktreeHead::Detached(_) | WorktreeHead::Unknown => None,
    })
}

/// Adds the judgements of added guards about a call, whose arguments are `input`, as JSON: those of the project's file,
/// and those of an embedder. A guard of the file with the name of one of Portolan's own replaces it, which the file has
/// to allow by name. An embedder's guard never does.
///
/// # Errors
/// The log, in which earlier calls are counted, cannot be read.
pub(super) fn judge(
    (project, declared, registered): (Option<&Path>, &[DeclaredGuard], &[Arc<dyn Guard>]),
    (intent, input): (&Intent, &str),
    (branch, gate, strict): (Option<&str>, &Gate, bool),
    judgements: &mut Vec<Judgement>,
) -> Result<(), ServiceError> {
    if declared.is_empty() && registered.is_empty() {
        return Ok(());
    }
    let root = project.map(Path::to_string_lossy).unwrap_or_default();
    let phase = gate.flow.as_ref().map(|flow| flow.phase.as_str());
    // They are parsed only if a guard reads them. Arguments that are no object are unknown.
    let arguments: Option<Value> = match declared.iter().any(DeclaredGuard::reads_arguments) {
        true => serde_json::from_str(input).ok().filter(Value::is_object),
        false => None,
    };
    let earlier = match (project, &gate.run, declared.iter().any(DeclaredGuard::reads_calls)) {
        (Some(project), Some(run), true) => Some(earlier(project, run.as_str(), gate.step.as_deref())?),
        _ => None,
    };
    let (arguments, earlier) = (arguments.as_ref(), earlier.as_deref());
    let around = GuardInput { root: &root, branch, phase, strict, arguments, earlier };
    judgements.retain(|judgement| !declared.iter().any(|guard| guard.id == judgement.guard));
    judgements.extend(declared.iter().filter_map(|guard| guard.judge(intent, &around)));
    judgements.extend(registered.iter().filter_map(|guard| heard(guard.as_ref(), intent, &around)));
    Ok(())
}

/// Returns the calls that a run has made, from the log: those that were allowed, by guards or by a person. `step` is the
/// present step.
fn earlier(project: &Path, run: &str, step: Option<&str>) -> Result<Vec<EarlierCall>, ServiceError> {
    let filter = Filter { run: Some(run.to_owned()), ..Filter::default() };
    let (mut asked, mut made) = (BTreeMap::new(), Vec::new());
    for line in audit::read(&audit::project_log(project), &filter)? {
        let line = line?;
        let data = &line.data;
        let call = data["call"].as_str().unwrap_or_default();
        if line.kind == Kind::GuardAllow.name() && data["guardId"] == PERSON {
            made.extend(asked.remove(call));
        } else if line.kind == Kind::ToolInvoked.name() {
            let names = data["toolKinds"].as_array().into_iter().flatten().chain([&data["toolName"]]);
            let names = names.filter_map(Value::as_str).map(str::to_owned).collect();
            let earlier = EarlierCall { names, is_of_step: step.is_some_and(|step| data["step"] == step) };
            match data["decision"].as_str() {
                Some("allow") => made.push(earlier),
                Some("ask") => drop(asked.insert(call.to_owned(), earlier)),
                _ => {}
            }
        }
    }
    Ok(made)
}

/// Returns the judgement of a guard. A guard that panics does not allow the call.
fn heard(guard: &dyn Guard, intent: &Intent, around: &GuardInput<'_>) -> Option<Judgement> {
    catch_unwind(AssertUnwindSafe(|| guard.judge(intent, around))).unwrap_or_else(|_panicked| {
        let decision = if around.strict { Decision::Block } else { Decision::Ask };
        Some(Judgement::new(
            guard.id(),
            decision,
            format!("the guard `{}` failed; a person must check this", guard.id()),
        ))
    })
}
