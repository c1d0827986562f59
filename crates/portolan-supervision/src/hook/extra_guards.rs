//! The guards that a project, or a program that embeds this crate, adds to Portolan's own.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use portolan_gates::guards::{GuardContext, WorktreeHead};
use portolan_gates::plugins::{DeclaredGuard, EarlierCall, Guard, GuardInput};
use portolan_gates::{Decision, Intent, Judgement};
use portolan_runtime::audit::{self, Filter, Kind, Line};
use portolan_runtime::error::ServiceError;
use portolan_runtime::service::Gate;
use serde_json::Value;

use super::record::{AMOUNTS, OTHER_RUNS};

/// The name under which the log has a person who allowed a call.
pub(crate) const PERSON: &str = "person";

/// Returns the branch that is checked out where the call would happen.
pub(super) fn branch(scene: &GuardContext) -> Option<String> {
    scene.places.values().filter_map(|place| place.worktree.as_ref()).find_map(|worktree| match &worktree.head {
        WorktreeHead::Branch(branch) | WorktreeHead::Unborn(branch) => Some(branch.clone()),
        WorktreeHead::Detached(_) | WorktreeHead::Unknown => None,
    })
}

/// The arguments of a call that guards add up over a run, with their values.
pub(super) type Amounts = BTreeMap<String, f64>;

/// Adds the judgements of added guards about a call, whose arguments are `input`, as JSON: those of the project's file,
/// and those of an embedder. A guard of the file with the name of one of Portolan's own replaces it, which the file has
/// to allow by name. An embedder's guard never does. Returns what has to be recorded, so that guards can add it up.
///
/// # Errors
/// The log, in which earlier calls are counted, cannot be read.
pub(super) fn judge(
    (project, declared, registered): (Option<&Path>, &[DeclaredGuard], &[Arc<dyn Guard>]),
    (intent, input): (&Intent, &str),
    (branch, gate, strict): (Option<&str>, &Gate, bool),
    judgements: &mut Vec<Judgement>,
) -> Result<Amounts, ServiceError> {
    if declared.is_empty() && registered.is_empty() {
        return Ok(Amounts::new());
    }
    let root = project.map(Path::to_string_lossy).unwrap_or_default();
    let phase = gate.flow.as_ref().map(|flow| flow.phase.as_str());
    // They are parsed only if a guard reads them. Arguments that are no object are unknown.
    let arguments: Option<Value> = match declared.iter().any(DeclaredGuard::reads_arguments) {
        true => serde_json::from_str(input).ok().filter(Value::is_object),
        false => None,
    };
    let runs: BTreeMap<&str, Option<&str>> = gate.stored().map(|(run, step)| (run.as_str(), step)).collect();
    let earlier = match project.filter(|_| !runs.is_empty() && declared.iter().any(DeclaredGuard::reads_calls)) {
        Some(project) => Some(earlier(project, &runs)?),
        None => None,
    };
    let steps: Vec<&str> = gate.runs.iter().flat_map(|run| &run.steps).map(String::as_str).collect();
    let (arguments, earlier) = (arguments.as_ref(), earlier.as_deref());
    let around = GuardInput { root: &root, branch, phase, strict, arguments, earlier, steps: &steps };
    judgements.retain(|judgement| !declared.iter().any(|guard| guard.id == judgement.guard));
    judgements.extend(declared.iter().filter_map(|guard| guard.judge(intent, &around)));
    judgements.extend(registered.iter().filter_map(|guard| guard_judgement(guard.as_ref(), intent, &around)));
    let amounts = declared.iter().filter_map(|guard| guard.amount(intent, arguments));
    Ok(amounts.map(|(argument, amount)| (argument.to_owned(), amount)).collect())
}

/// Returns the calls that runs have made, from the log: those that were allowed, by guards or by a person. `runs` are the
/// runs, each with its present step. A call of several of them is returned for each.
fn earlier(project: &Path, runs: &BTreeMap<&str, Option<&str>>) -> Result<Vec<EarlierCall>, ServiceError> {
    let (mut asked, mut made) = (BTreeMap::new(), Vec::new());
    for line in audit::read(&audit::project_log(project), &Filter::default())? {
        let line = line?;
        let call = line.data["call"].as_str().unwrap_or_default();
        if line.kind == Kind::GuardAllow.name() && line.data["guardId"] == PERSON {
            made.extend(asked.remove(call).into_iter().flatten());
        } else if line.kind == Kind::ToolInvoked.name() {
            match line.data["decision"].as_str() {
                Some("allow") => made.extend(calls(&line, runs)),
                Some("ask") => drop(asked.insert(call.to_owned(), calls(&line, runs))),
                _ => {}
            }
        }
    }
    Ok(made)
}

/// Returns a call, once for each of the runs that it belongs to.
fn calls(line: &Line, runs: &BTreeMap<&str, Option<&str>>) -> Vec<EarlierCall> {
    let data = &line.data;
    let amounts = data[AMOUNTS].as_object().into_iter().flatten();
    let amounts: Amounts = amounts.filter_map(|(argument, sum)| Some((argument.clone(), sum.as_f64()?))).collect();
    let own = line.run.as_deref().map(|run| (run, data["step"].as_str()));
    let others = data[OTHER_RUNS].as_object().into_iter().flatten().map(|(run, step)| (run.as_str(), step.as_str()));
    let calls = own.into_iter().chain(others).filter_map(|(run, step)| {
        let present = *runs.get(run)?;
        let names = data["toolKinds"].as_array().into_iter().flatten().chain([&data["toolName"]]);
        Some(EarlierCall {
            run: run.to_owned(),
            names: names.filter_map(Value::as_str).map(str::to_owned).collect(),
            is_of_step: present.is_some() && present == step,
            amounts: amounts.clone(),
        })
    });
    calls.collect()
}

/// Returns the judgement of a guard. A guard that panics does not allow the call.
fn guard_judgement(guard: &dyn Guard, intent: &Intent, around: &GuardInput<'_>) -> Option<Judgement> {
    catch_unwind(AssertUnwindSafe(|| guard.judge(intent, around))).unwrap_or_else(|_panicked| {
        let decision = if around.strict { Decision::Block } else { Decision::Ask };
        Some(Judgement::new(
            guard.id(),
            decision,
            format!("the guard `{}` failed; a person must check this", guard.id()),
        ))
    })
}
