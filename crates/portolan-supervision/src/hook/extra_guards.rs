//! The guards that a project, or a program that embeds this crate, adds to Portolan's own.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use portolan_core::expr::Jsonata;
use portolan_core::value::Timestamp;
use portolan_gates::guards::{GuardContext, WorktreeHead};
use portolan_gates::plugins::{CallsOfDay, DeclaredGuard, EarlierCall, Guard, GuardInput};
use portolan_gates::{Decision, Intent, Judgement};
use portolan_runtime::audit::{self, Filter, Kind, Line};
use portolan_runtime::clock::rfc3339;
use portolan_runtime::error::ServiceError;
use portolan_runtime::service::{DecidingRun, Gate};
use serde_json::Value;

use super::record::{AMOUNTS, CALL_STEPS, OTHER_RUNS, RESULTS};

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
    /// The expressions whose numbers in the result must be recorded.
    pub(super) results: Vec<Jsonata>,
    /// Whether it counts outside of a run, too.
    pub(super) is_of_day: bool,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Adds the judgements of added guards about a call, whose arguments are `input`, as JSON: those of the project's file,
/// those of the definitions whose runs decide, and those of an embedder. A guard of the file with the name of one of
/// Portolan's own replaces it, which the file has to allow by name. No other guard does. Returns what has to be recorded,
/// so that guards can add it up.
///
/// # Errors
/// The log, in which earlier calls are counted, cannot be read.
pub(super) fn judge(
    (project, declared, registered): (Option<&Path>, &[DeclaredGuard], &[Arc<dyn Guard>]),
    (intent, input): (&Intent, &str),
    (branch, gate, strict, now): (Option<&str>, &Gate, bool, Timestamp),
    judgements: &mut Vec<Judgement>,
) -> Result<Counted, ServiceError> {
    let all = || declared.iter().chain(gate.runs.iter().flat_map(|run| run.rules.guards.iter().map(|guard| &**guard)));
    // Those of a definition that are not in force now may be in force later.
    let counting = || declared.iter().chain(gate.runs.iter().flat_map(|run| run.counting.iter().map(|guard| &**guard)));
    if all().next().is_none() && counting().next().is_none() && registered.is_empty() {
        return Ok(Counted::default());
    }
    let root = project.map(Path::to_string_lossy).unwrap_or_default();
    let phase = gate.flow.as_ref().map(|flow| flow.phase.as_str());
    // They are parsed only if a guard reads them. Arguments that are no object are unknown.
    let arguments: Option<Value> = match all().chain(counting()).any(DeclaredGuard::reads_arguments) {
        true => serde_json::from_str(input).ok().filter(Value::is_object),
        false => None,
    };
    let stored = gate.runs.iter().filter_map(|run| Some((run.id()?.as_str(), run.call_steps.as_slice())));
    let runs: BTreeMap<&str, &[String]> = stored.collect();
    let earlier = match project.filter(|_| !runs.is_empty() && all().any(DeclaredGuard::reads_calls)) {
        Some(project) => Some(earlier(project, &runs)?),
        None => None,
    };
    let reads_day = all().any(|guard| guard.counts_in_day(intent));
    let today = project.filter(|_| reads_day).map(|project| of_day(project, now)).transpose()?;
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
    judgements.extend(gate.runs.iter().flat_map(|run| carried(run, intent, &around)));
    judgements.extend(registered.iter().filter_map(|guard| guard_judgement(guard.as_ref(), intent, &around)));
    let amounts = counting().filter_map(|guard| guard.amount(intent, arguments));
    let amounts = amounts.map(|(argument, amount)| (argument.to_owned(), amount)).collect();
    let is_of_day = counting().any(|guard| guard.counts_in_day(intent));
    let results = counting().filter_map(|guard| guard.result_expression(intent)).cloned().collect();
    Ok(Counted { amounts, results, is_of_day })
}

/// Returns the judgements of the guards that a run's definition carries. They see the calls, the steps and the branches of
/// this run alone.
fn carried(run: &DecidingRun, intent: &Intent, around: &GuardInput<'_>) -> Vec<Judgement> {
    if run.rules.guards.is_empty() {
        return Vec::new();
    }
    let is_of_run = |call: &&EarlierCall| run.id().is_some_and(|id| id.as_str() == call.run);
    let of_run = |earlier: &[EarlierCall]| earlier.iter().filter(is_of_run).cloned().collect::<Vec<_>>();
    let earlier = around.earlier.map(of_run);
    let steps: Vec<&str> = run.steps.iter().map(String::as_str).collect();
    let branches = [run.branches.as_slice()];
    let branches = if run.branches.is_empty() { &[][..] } else { &branches[..] };
    let judge = |guard: &Arc<DeclaredGuard>| {
        let at_node = guard.origin.node().filter(|_| run.call_steps.len() > 1);
        let earlier = earlier.as_ref().map(|earlier| match at_node {
            Some(node) => Cow::Owned(at_step_of(earlier, node, &run.call_steps)),
            None => Cow::Borrowed(earlier),
        });
        let earlier = earlier.as_deref().map(Vec::as_slice);
        let around = GuardInput { earlier, steps: &steps, branches, ..*around };
        match run.id() {
            Some(_) => guard.judge(intent, &around),
            None => guard.uncounted(intent, around.strict).or_else(|| guard.judge(intent, &around)),
        }
    };
    run.rules.guards.iter().filter_map(judge).collect()
}

/// Returns calls with the step of one node as the present one: of several branches, those at other nodes do not count.
fn at_step_of(calls: &[EarlierCall], node: &str, open: &[String]) -> Vec<EarlierCall> {
    let is_here = |step: &&String| step.rsplit_once('@').is_some_and(|(name, _)| name == node);
    let here: Vec<&String> = open.iter().filter(is_here).collect();
    let placed = |call: &EarlierCall| {
        let is_of_step = call.steps.iter().any(|step| here.contains(&step));
        EarlierCall { is_of_step, ..call.clone() }
    };
    // The rule of a node around several steps has no step of its own.
    if here.is_empty() { calls.to_vec() } else { calls.iter().map(placed).collect() }
}

/// Returns the calls that runs have made, from the log: those that were allowed, by guards or by a person. `runs` are the
/// runs, each with the steps for which the present call may be made. A call of several of them is returned for each.
fn earlier(project: &Path, runs: &BTreeMap<&str, &[String]>) -> Result<Vec<EarlierCall>, ServiceError> {
    Ok(made(project, &Filter::default(), |line| calls(line, runs))?.into_iter().map(|(_, call)| call).collect())
}

/// Returns the calls of the day in UTC, in a run or not.
fn of_day(project: &Path, now: Timestamp) -> Result<CallsOfDay, ServiceError> {
    let begin = Timestamp(now.0.div_euclid(DAY_MS) * DAY_MS);
    // A person may have been asked before midnight, and have answered after it.
    let filter = Filter { since: Some(Timestamp(begin.0 - DAY_MS)), ..Filter::default() };
    let calls = made(project, &filter, |line| vec![call_of(line, String::new())])?;
    let calls = calls.into_iter().filter(|(at, _)| *at >= begin).map(|(_, call)| call).collect();
    Ok(CallsOfDay { calls, until: rfc3339(Timestamp(begin.0 + DAY_MS)) })
}

/// Returns the calls in the log that were made, as `read` finds them in a line, with the time at which they were allowed.
fn made(
    project: &Path,
    filter: &Filter,
    read: impl Fn(&Line) -> Vec<EarlierCall>,
) -> Result<Vec<(Timestamp, EarlierCall)>, ServiceError> {
    let (mut pending, mut made, mut ended) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
    for line in audit::read(&audit::project_log(project), filter)? {
        let line = line?;
        let call = line.data["call"].as_str().unwrap_or_default().to_owned();
        let at =
            |calls: Vec<EarlierCall>| calls.into_iter().map(|made| (line.at, call.clone(), made)).collect::<Vec<_>>();
        if line.kind == Kind::GuardAllow.name() && line.data["guardId"] == PERSON {
            made.extend(at(pending.remove(&call).unwrap_or_default()));
        } else if line.kind == Kind::ToolInvoked.name() {
            match line.data["decision"].as_str() {
                Some("allow") => made.extend(at(read(&line))),
                Some("ask") => drop(pending.insert(call, read(&line))),
                _ => {}
            }
        } else if line.kind == Kind::ToolAnswered.name() {
            ended.insert(call, numbers(&line.data[RESULTS]));
        }
    }
    let with_end = |(at, call, made): (Timestamp, String, EarlierCall)| {
        (at, EarlierCall { results: ended.get(&call).cloned(), ..made })
    };
    Ok(made.into_iter().map(with_end).collect())
}

fn numbers(data: &Value) -> Amounts {
    let all = data.as_object().into_iter().flatten();
    all.filter_map(|(name, sum)| Some((name.clone(), sum.as_f64()?))).collect()
}

/// Returns a call, once for each of the runs that it belongs to.
fn calls(line: &Line, runs: &BTreeMap<&str, &[String]>) -> Vec<EarlierCall> {
    let data = &line.data;
    let own = line.run.as_deref().map(|run| (run, &data["step"]));
    let others = data[OTHER_RUNS].as_object().into_iter().flatten().map(|(run, step)| (run.as_str(), step));
    let calls = own.into_iter().chain(others).filter_map(|(run, step)| {
        let present = runs.get(run)?;
        let steps = match &data[CALL_STEPS][run] {
            Value::Array(steps) => texts(steps),
            _ => texts(std::slice::from_ref(step)),
        };
        let is_of_step = steps.iter().any(|step| present.contains(step));
        Some(EarlierCall { steps, is_of_step, ..call_of(line, run.to_owned()) })
    });
    calls.collect()
}

fn call_of(line: &Line, run: String) -> EarlierCall {
    let data = &line.data;
    let names = data["toolKinds"].as_array().into_iter().flatten().chain([&data["toolName"]]);
    EarlierCall {
        run,
        names: names.filter_map(Value::as_str).map(str::to_owned).collect(),
        steps: Vec::new(),
        is_of_step: false,
        amounts: numbers(&data[AMOUNTS]),
        results: None,
    }
}

fn texts(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
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
