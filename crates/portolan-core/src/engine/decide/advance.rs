//! Automatic nodes: their execution, their results and the next node.
//!
//! Each execution is an event of its own, whoever began the run. A loop of a hundred thousand passes is therefore a
//! hundred thousand small decisions instead of an endless one, and the driver of a run can stop before any of them.

use std::sync::Arc;

use serde_json::Value;

use super::scope::{At, fault};
use super::states::STEPS;
use super::walk::{Draft, MAX_AUTOMATIC_MOVES, too_deep};
use crate::graph::{Call, EndResult, Kind, MAX_DEPTH, RunLimits};
use crate::run::{Change, Fault, Frame, FramePath, Place, Reply, WaitingFor};
use crate::schema::SchemaFault;
use crate::value::{NodeId, Outcome};

/// The maximum number of faults of a value that are reported.
const MAX_FAULTS_TOLD: usize = 5;

/// Executes the node at which a frame is passing.
pub(super) fn execute(draft: &mut Draft<'_>, path: &FramePath, frame: &Frame) {
    let Place::Passing { node, passed } = &frame.place else { return };
    // A called run is bounded by its limits.
    let is_bounded = draft.workflow.root().interface.is_some();
    draft.passed = if is_bounded { 0 } else { passed + 1 };
    let at = At::of(draft, path, frame, node);
    if let Some(fault) = over_limit(draft, node) {
        return match &at.step.node.kind {
            Kind::State(_) if waits_at_limits(draft) => {
                let (used, limit) = (draft.before.executed, max_nodes(draft));
                super::states::wait_for_steps(draft, &at, (used, limit));
            }
            _ => draft.abort(path, fault),
        };
    }
    let feedback = frame.feedback.clone();
    if *passed >= MAX_AUTOMATIC_MOVES && !is_bounded {
        let place = Place::Waiting { node: node.clone(), on: WaitingFor::Progress, due: None };
        return draft.moved(path, place, feedback);
    }
    let kind = &at.step.node.kind;
    let deepens = matches!(kind, Kind::Fork { .. } | Kind::Subflow { .. } | Kind::Loop(_) | Kind::Each(_));
    if deepens && path.0.len() >= MAX_DEPTH {
        return draft.undecided(path, node, at.fault("too-deep", too_deep(), ""));
    }
    match kind {
        Kind::Start => {
            let given = frame.data.as_ref().map(|data| data.input.clone()).filter(|_| at.flow.interface.is_some());
            draft.came_to(path, node, given);
        }
        Kind::Compute(expr) => {
            let value = at.eval(expr, &[]);
            draft.settle(path, node, value);
        }
        Kind::Switch => switch(draft, &at),
        Kind::Call(call) => begin_call(draft, &at, call),
        Kind::Each(each) => super::each::begin(draft, &at, each),
        Kind::State(state) => super::states::begin(draft, &at, state),
        Kind::Subflow { workflow, args, context } => {
            let given = match args {
                Some(args) => at.eval(args, &[]),
                None => Ok(draft.handed_on(path, context)),
            };
            draft.descend(&at, workflow.value.as_str().into(), given, feedback);
        }
        Kind::Fork { .. } => {
            draft.executed(path, node, Ok(None));
            draft.fork(path, &frame.flow, node.clone(), feedback);
        }
        Kind::End { result, .. } => end(draft, &at, *result),
        Kind::Activity => draft.begin_activity(path, &frame.flow, node, feedback),
        Kind::Loop(looping) => draft.begin_loop(path, (frame.flow.clone(), node.clone()), looping, feedback),
        Kind::Repeat { .. } => draft.end_pass(path, frame.flow.clone(), feedback),
        Kind::Checkpoint { .. } => super::answer::again(draft, (path, frame), node),
        // A valid run never passes these nodes. Any other run enters them.
        Kind::Work { .. } | Kind::Join { .. } => {
            draft.enter(path, frame.flow.clone(), node, &Outcome::passed(), feedback);
        }
    }
}

/// Handles the reply to a tool call.
pub(super) fn returned(draft: &mut Draft<'_>, (path, frame): (&FramePath, &Frame), reply: &Reply) {
    let Place::Calling { node, arguments, retries, .. } = &frame.place else { return };
    let at = At::of(draft, path, frame, node);
    let Kind::Call(call) = &at.step.node.kind else { return };
    match reply {
        Reply::Output(output) => {
            let value = match &call.post {
                None => return draft.came_to(path, node, output.clone()),
                Some(post) => at.reshape(post, output.as_ref()),
            };
            draft.settle(path, node, value);
        }
        Reply::Failed(fault) => {
            if let Some(over) = time_is_up(draft, node) {
                return draft.abort(path, over);
            }
            if *retries < call.retry.max {
                let place = Place::Calling {
                    node: node.clone(),
                    arguments: arguments.clone(),
                    retries: retries + 1,
                    not_before: Some(draft.now.at.after_ms(call.retry.delay_ms(retries + 1))),
                };
                return draft.moved(path, place, None);
            }
            draft.broke(path, node, Fault { node: node.to_string(), ..fault.clone() });
        }
    }
}

/// Leaves a switch along the first edge whose condition holds.
fn switch(draft: &mut Draft<'_>, at: &At<'_>) {
    let (exits, path) = (&at.step.exits, at.path);
    draft.set_all(path, &at.step.node.sets);
    let mut chosen = exits.passed();
    for (guard, to) in &exits.guards {
        match draft.holds(path, at.node(), guard) {
            Ok(false) => {}
            Ok(true) => {
                chosen = Some(to);
                break;
            }
            Err(fault) => return draft.undecided(path, at.node(), fault),
        }
    }
    let Some(to) = chosen else {
        let tried: Vec<String> = exits.guards.iter().map(|(guard, _)| format!("`{}`", guard.text())).collect();
        let why = format!("none of the conditions {} holds, and there is no default", tried.join(", "));
        return draft.undecided(path, at.node(), at.fault("no-way-on", why, ""));
    };
    let passed_over = at.step.node.seat.as_ref().is_some_and(|seat| seat.gates) && Some(to) == exits.passed();
    let over = exits.guards.first().filter(|_| passed_over).map(|(_, over)| over.clone());
    draft.executed(path, at.node(), Ok(Some(Arc::new(Value::from(to.as_str())))));
    if !at.flow.records || at.step.node.seat.is_some() {
        let (frame, node) = (path.clone(), at.node().clone());
        draft.emit(Change::Led { frame, node, to: to.clone(), over });
    }
    draft.enter(path, at.frame.flow.clone(), to, &Outcome::passed(), at.frame.feedback.clone());
}

fn begin_call(draft: &mut Draft<'_>, at: &At<'_>, call: &Call) {
    let arguments = match at.eval(&call.args, &[]) {
        Ok(Some(value @ Value::Object(_))) => Arc::new(value),
        Ok(_) => {
            let fault = at.fault("bad-arguments", "the arguments of a tool must be an object", call.args.text());
            return draft.broke(at.path, at.node(), fault);
        }
        Err(fault) => return draft.broke(at.path, at.node(), fault),
    };
    draft.moved(at.path, Place::Calling { node: at.node().clone(), arguments, retries: 0, not_before: None }, None);
}

/// Ends a flow. A called flow has the last output as its own output.
fn end(draft: &mut Draft<'_>, at: &At<'_>, result: EndResult) {
    let Some(interface) = &at.flow.interface else { return draft.end(at.path, at.node(), result) };
    let output = at.frame.data.as_ref().and_then(|data| data.outputs.last().cloned());
    if let Some(schema) = &interface.output {
        let faults = schema.value.check(output.as_deref().unwrap_or(&Value::Null));
        if !faults.is_empty() {
            let message = format!("the output does not match `outputSchema`: {}", format_faults(&faults));
            return draft.broke(at.path, at.node(), at.fault("bad-output", message, ""));
        }
    }
    draft.executed(at.path, at.node(), Ok(output.clone()));
    draft.finish(at.path, at.node(), result, Some(Ok(output)));
}

/// Returns the first faults of a value as text.
pub(super) fn format_faults(faults: &[SchemaFault]) -> String {
    let mut texts: Vec<String> = faults.iter().take(MAX_FAULTS_TOLD).map(|fault| fault.to_string()).collect();
    if faults.len() > MAX_FAULTS_TOLD {
        texts.push(format!("and {} more", faults.len() - MAX_FAULTS_TOLD));
    }
    texts.join("; ")
}

/// Returns the error if the run has reached its limits. A run without an interface has the default node limit, and no
/// time limit unless its opening has a time.
fn over_limit(draft: &Draft<'_>, node: &NodeId) -> Option<Fault> {
    let max_nodes = max_nodes(draft);
    let executed = draft.before.executed;
    if executed >= max_nodes {
        let message = format!("the run has executed {executed} nodes, and `maxNodeExecutions` is {max_nodes}");
        return Some(fault(node, "limit-nodes", message, "fix a loop that does not end, or raise `executionLimits`"));
    }
    time_is_up(draft, node)
}

/// Returns how many nodes the run may execute, including what a person has granted.
fn max_nodes(draft: &Draft<'_>) -> u64 {
    let granted = draft.before.tallies.as_deref().and_then(|tallies| tallies.run.granted.get(STEPS)).copied();
    limits(draft).max_nodes.saturating_mul(granted.unwrap_or(0).saturating_add(1))
}

/// Checks whether the run waits for a person at its limits instead of failing.
fn waits_at_limits(draft: &Draft<'_>) -> bool {
    draft.workflow.root().interface.as_ref().is_some_and(|interface| interface.waits_at_limits)
}

fn time_is_up(draft: &Draft<'_>, node: &NodeId) -> Option<Fault> {
    let RunLimits { max_ms, .. } = limits(draft);
    let elapsed = u64::try_from(draft.now.at.0.saturating_sub(draft.before.opening.since?.0)).unwrap_or(0);
    (elapsed >= max_ms).then(|| {
        let message = format!("the run has taken {elapsed} ms, and `maxExecutionTimeMs` is {max_ms}");
        fault(node, "limit-time", message, "use `--trace` to see which node takes so long, or raise `executionLimits`")
    })
}

/// Returns the limits of the run: those of its root workflow, whatever other workflows it calls.
fn limits(draft: &Draft<'_>) -> RunLimits {
    draft.workflow.root().interface.as_ref().map(|interface| interface.limits).unwrap_or_default()
}

impl Draft<'_> {
    /// Fails the run, whatever its error edges say. In a workflow that a model uses as a tool, only that workflow fails
    /// and the model gets the error: its state has limits of its own.
    fn abort(&mut self, path: &FramePath, fault: Fault) {
        let is_used = |frame: &Frame| matches!(frame.place, Place::Conversing { .. });
        let outer = self.before.way(path).take(path.0.len()).position(is_used);
        let of = FramePath(path.0[..outer.map_or(0, |depth| depth + 1)].to_vec());
        let Some(frame) = self.before.frame(&of) else { return };
        self.finish(&of, frame.place.node(), EndResult::Failure, Some(Err(fault)));
    }
}
