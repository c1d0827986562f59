//! The guards that a project, or a program that embeds this crate, adds to Portolan's own.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use portolan_core::value::Timestamp;
use portolan_gates::guards::{GuardContext, WorktreeHead};
use portolan_gates::plugins::{CallsOfDay, DeclaredGuard, EarlierCall, Guard, GuardInput};
use portolan_gates::{Decision, Intent, Judgement};
use portolan_runtime::audit::{self, Filter, Kind, Line};
use portolan_runtime::clock::rfc3339;
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

/// The arguments of a call that guards add up, with their values.
pub(super) type Amounts = BTreeMap<String, f64>;

/// What has to be recorded with a call, so that guards can count it later.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) amounts: Amounts,
    /// Whether it counts outside of a run, too.
    pub(super) is_of_day: bool,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Adds the judgements of added guards about a call, whose arguments are `input`, as JSON: those of the project's file,
/// and those of an embedder. A guard of the file with the name of one of Portolan's own replaces it, which the file has
/// to allow by name. An embedder's guard never does. Returns what has to be recorded, so that guards can add it up.
///
/// # Errors
/// The log, in which earlier calls are counted, cannot be read.
pub(super) fn judge(
    (project, declared, registered): (Option<&Path>, &[DeclaredGuard], &[Arc<dyn Guard>]),
    (intent, input): (&Intent, &str),
    (branch, gate, strict, now): (Option<&str>, &Gate, bool, Timestamp),
    judgements: &mut Vec<Judgement>,
) -> Result<Counted, ServiceError> {
    if declared.is_empty() && registered.is_empty() {
        return Ok(Counted::default());
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
    let is_of_day = declared.iter().any(|guard| guard.counts_in_day(intent));
    let today = project.filter(|_| is_of_day).map(|project| of_day(project, now)).transpose()?;
    let steps: Vec<&str> = gate.runs.iter().flat_map(|run| &run.steps).map(String::as_str).collect();
    let branches = gate.runs.iter().map(|run| run.branches.as_slice()).filter(|branches| !branches.is_empty());
    let branches: Vec<&[String]> = branches.collect();
    let (arguments, earlier, today) = (arguments.as_ref(), earlier.as_deref(), today.as_ref());
    let around = GuardInput {
        root: &root,
        branch,
        phase,
        strict,
        arguments,
        earlier,
        today,
        steps: &steps,
        branches: &branches,
    };
    judgements.retain(|judgement| !declared.iter().any(|guard| guard.id == judgement.guard));
    judgements.extend(declared.iter().filter_map(|guard| guard.judge(intent, &around)));
    judgements.extend(registered.iter().filter_map(|guard| guard_judgement(guard.as_ref(), intent, &around)));
    let amounts = declared.iter().filter_map(|guard| guard.amount(intent, arguments));
    let amounts = amounts.map(|(argument, amount)| (argument.to_owned(), amount)).collect();
    Ok(Counted { amounts, is_of_day })
}

/// Returns the calls that runs have made, from the log: those that were allowed, by guards or by a person. `runs` are the
/// runs, each with its present step. A call of several of them is returned for each.
fn earlier(project: &Path, runs: &BTreeMap<&str, Option<&str>>) -> Result<Vec<EarlierCall>, ServiceError> {
    Ok(made(project, &Filter::default(), |line| calls(line, runs))?.into_iter().map(|(_, call)| call).collect())
}

/// Returns the calls of the day in UTC, in a run or not.
fn of_day(project: &Path, now: Timestamp) -> Result<CallsOfDay, ServiceError> {
    let begin = Timestamp(now.0.div_euclid(DAY_MS) * DAY_MS);
    // A person may have been asked before midnight, and have answered after it.
    let filter = Filter { since: Some(Timestamp(begin.0 - DAY_MS)), ..Filter::default() };
    let calls = made(project, &filter, |line| vec![call_of(line, String::new(), false)])?;
    let calls = calls.into_iter().filter(|(at, _)| *at >= begin).map(|(_, call)| call).collect();
    Ok(CallsOfDay { calls, until: rfc3339(Timestamp(begin.0 + DAY_MS)) })
}

/// Returns the calls in the log that were made, as `read` finds them in a line, with the time at which they were allowed.
fn made(
    project: &Path,
    filter: &Filter,
    read: impl Fn(&Line) -> Vec<EarlierCall>,
) -> Result<Vec<(Timestamp, EarlierCall)>, ServiceError> {
    let (mut pending, mut made) = (BTreeMap::new(), Vec::new());
    for line in audit::read(&audit::project_log(project), filter)? {
        let line = line?;
        let at = |calls: Vec<EarlierCall>| calls.into_iter().map(|call| (line.at, call)).collect::<Vec<_>>();
        let call = line.data["call"].as_str().unwrap_or_default();
        if line.kind == Kind::GuardAllow.name() && line.data["guardId"] == PERSON {
            made.extend(at(pending.remove(call).unwrap_or_default()));
        } else if line.kind == Kind::ToolInvoked.name() {
            match line.data["decision"].as_str() {
                Some("allow") => made.extend(at(read(&line))),
                Some("ask") => drop(pending.insert(call.to_owned(), read(&line))),
                _ => {}
            }
        }
    }
    Ok(made)
}

/// Returns a call, once for each of the runs that it belongs to.
fn calls(line: &Line, runs: &BTreeMap<&str, Option<&str>>) -> Vec<EarlierCall> {
    let data = &line.data;
    let own = line.run.as_deref().map(|run| (run, data["step"].as_str()));
    let others = data[OTHER_RUNS].as_object().into_iter().flatten().map(|(run, step)| (run.as_str(), step.as_str()));
    let calls = own.into_iter().chain(others).filter_map(|(run, step)| {
        let present = *runs.get(run)?;
        Some(call_of(line, run.to_owned(), present.is_some() && present == step))
    });
    calls.collect()
}

fn call_of(line: &Line, run: String, is_of_step: bool) -> EarlierCall {
    let data = &line.data;
    let names = data["toolKinds"].as_array().into_iter().flatten().chain([&data["toolName"]]);
    let amounts = data[AMOUNTS].as_object().into_iter().flatten();
    EarlierCall {
        run,
        names: names.filter_map(Value::as_str).map(str::to_owned).collect(),
        is_of_step,
        amounts: amounts.filter_map(|(argument, sum)| Some((argument.clone(), sum.as_f64()?))).collect(),
    }
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
