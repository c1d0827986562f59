//! Nodes of functions: what each of them comes to when it is executed, and where that leads.
//!
//! Every node is an event of its own, so that a loop of a hundred thousand passes is a hundred thousand small decisions
//! and not one without an end, and so that whoever drives a run can stop before any of them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::scope::{At, Evaluated, Now, fault};
use super::states::STEPS;
use super::walk::{self, Draft};
use crate::expr::Outputs;
use crate::graph::{Call, EndResult, Failing, Flow, Kind, Limits, MAX_DEPTH};
use crate::run::{Change, Data, Fault, Frame, FramePath, Place, Reply, WaitingFor};
use crate::schema::SchemaFault;
use crate::value::{NodeId, Outcome, WorkflowId};

/// How many faults of a value are told; the first ones tell what is wrong.
const MAX_FAULTS_TOLD: usize = 5;

/// Executes the node at which a frame is passing.
pub(super) fn execute(draft: &mut Draft<'_>, path: &FramePath, frame: &Frame, now: Now) {
    let Place::Passing { node } = &frame.place else { return };
    let at = At::of(draft, path, frame, node);
    if let Some(fault) = over_limit(draft, node, now) {
        return match &at.step.node.kind {
            Kind::State(_) if waits_at_limits(draft) => {
                let (used, limit) = (draft.before.executed, max_nodes(draft));
                super::states::wait_for_steps(draft, &at, now, (used, limit));
            }
            _ => draft.abort(fault),
        };
    }
    match &at.step.node.kind {
        Kind::Start => {
            let input = frame.data.as_ref().map(|data| data.input.clone());
            draft.came_to(path, node, input);
        }
        Kind::Compute(expr) => {
            let value = at.eval(expr, now, &[]);
            draft.settle(path, node, value);
        }
        Kind::Switch => switch(draft, &at, now),
        Kind::Call(call) => begin_call(draft, &at, call, now),
        Kind::Each(each) => super::each::begin(draft, &at, each, now),
        Kind::State(state) => super::states::begin(draft, &at, state, now),
        Kind::Subflow { workflow, args, .. } => {
            let given = match args {
                Some(args) => at.eval(args, now, &[]),
                None => Ok(None),
            };
            draft.run_workflow(&at, &WorkflowId::from(workflow.value.as_str()), given);
        }
        Kind::Fork { .. } if path.0.len() >= MAX_DEPTH => draft.broke(path, node, too_deep(node)),
        Kind::Fork { .. } => {
            draft.executed(path, node, Ok(None));
            draft.fork(path, &frame.flow, node.clone(), None);
        }
        Kind::End { result, .. } => end(draft, &at, *result),
        // Nobody passes these: work and questions are presented, and a join is left when its branches are done.
        Kind::Work { .. }
        | Kind::Checkpoint { .. }
        | Kind::Join { .. }
        | Kind::Activity
        | Kind::Loop(_)
        | Kind::Repeat { .. } => {
            draft.leave(path, node, &Outcome::passed(), None);
        }
    }
}

/// A tool answered, or did not.
pub(super) fn returned(draft: &mut Draft<'_>, (path, frame): (&FramePath, &Frame), reply: &Reply, now: Now) {
    let Place::Calling { node, arguments, retries, .. } = &frame.place else { return };
    let at = At::of(draft, path, frame, node);
    let Kind::Call(call) = &at.step.node.kind else { return };
    match reply {
        Reply::Output(output) => {
            let value = match &call.post {
                None => return draft.came_to(path, node, output.clone()),
                Some(post) => at.reshape(post, output.as_ref(), now),
            };
            draft.settle(path, node, value);
        }
        Reply::Failed(fault) => {
            if let Some(over) = time_is_up(draft, node, now) {
                return draft.abort(over);
            }
            if *retries < call.retry.max {
                let place = Place::Calling {
                    node: node.clone(),
                    arguments: arguments.clone(),
                    retries: retries + 1,
                    not_before: Some(now.at.after_ms(call.retry.delay_ms(retries + 1))),
                };
                return draft.moved(path, place, None);
            }
            draft.broke(path, node, Fault { node: node.to_string(), ..fault.clone() });
        }
    }
}

fn switch(draft: &mut Draft<'_>, at: &At<'_>, now: Now) {
    let exits = &at.step.exits;
    let mut chosen = exits.passed();
    for (guard, to) in &exits.guards {
        match at.holds(guard, now) {
            Ok(false) => {}
            Ok(true) => {
                chosen = Some(to);
                break;
            }
            Err(fault) => return draft.broke(at.path, at.node(), fault),
        }
    }
    let Some(to) = chosen else {
        return draft.broke(
            at.path,
            at.node(),
            at.fault("no-way-on", "no condition holds, and there is no default", ""),
        );
    };
    draft.executed(at.path, at.node(), Ok(Some(Arc::new(Value::from(to.as_str())))));
    draft.enter(at.path, at.frame.flow.clone(), to, &Outcome::passed(), None);
}

fn begin_call(draft: &mut Draft<'_>, at: &At<'_>, call: &Call, now: Now) {
    let arguments = match at.eval(&call.args, now, &[]) {
        Ok(Some(value @ Value::Object(_))) => Arc::new(value),
        Ok(_) => {
            let fault = at.fault("bad-arguments", "the arguments of a tool must be an object", call.args.text());
            return draft.broke(at.path, at.node(), fault);
        }
        Err(fault) => return draft.broke(at.path, at.node(), fault),
    };
    draft.moved(at.path, Place::Calling { node: at.node().clone(), arguments, retries: 0, not_before: None }, None);
}

/// The exit: the function comes to what the node before it came to.
fn end(draft: &mut Draft<'_>, at: &At<'_>, result: EndResult) {
    let output = at.frame.data.as_ref().and_then(|data| data.outputs.last().cloned());
    if let Some(schema) = at.flow.program.as_ref().and_then(|program| program.output.as_ref()) {
        let faults = schema.value.check(output.as_deref().unwrap_or(&Value::Null));
        if !faults.is_empty() {
            let message = format!("the output is not what `outputSchema` says: {}", told(&faults));
            return draft.broke(at.path, at.node(), at.fault("bad-output", message, ""));
        }
    }
    draft.executed(at.path, at.node(), Ok(output.clone()));
    draft.finish_function(at.path, at.node(), result, Ok(output));
}

/// What a function begins with.
///
/// # Errors
/// The input is not what it takes.
pub(super) fn given(flow: &Flow, input: Arc<Value>) -> Result<Data, Fault> {
    if let Some(schema) = flow.program.as_ref().and_then(|program| program.input.as_ref()) {
        let faults = schema.value.check(&input);
        if !faults.is_empty() {
            let message = format!("the input is not what `{}` takes: {}", flow.name, told(&faults));
            return Err(fault(&flow.start, "bad-input", message, ""));
        }
    }
    Ok(Data { input, outputs: Outputs::new(flow.looks_back), ..Data::default() })
}

fn told(faults: &[SchemaFault]) -> String {
    let mut told: Vec<String> = faults.iter().take(MAX_FAULTS_TOLD).map(|fault| fault.to_string()).collect();
    if faults.len() > MAX_FAULTS_TOLD {
        told.push(format!("and {} more", faults.len() - MAX_FAULTS_TOLD));
    }
    told.join("; ")
}

fn over_limit(draft: &Draft<'_>, node: &NodeId, now: Now) -> Option<Fault> {
    let max_nodes = max_nodes(draft);
    let executed = draft.before.executed;
    if executed >= max_nodes {
        let message = format!("the run has executed {executed} nodes, and `maxNodeExecutions` is {max_nodes}");
        return Some(fault(node, "limit-nodes", message, "mend a loop that does not end, or raise `executionLimits`"));
    }
    time_is_up(draft, node, now)
}

/// How many nodes the run may execute, with what a person has granted.
fn max_nodes(draft: &Draft<'_>) -> u64 {
    let granted = draft.before.tallies.as_deref().and_then(|tallies| tallies.run.granted.get(STEPS)).copied();
    limits(draft).max_nodes.saturating_mul(granted.unwrap_or(0).saturating_add(1))
}

/// Whether the run waits for a person where it has gone as far as it may, and does not fail.
fn waits_at_limits(draft: &Draft<'_>) -> bool {
    draft.workflow.root().program.as_ref().is_some_and(|program| program.waits_at_limits)
}

fn time_is_up(draft: &Draft<'_>, node: &NodeId, now: Now) -> Option<Fault> {
    let Limits { max_ms, .. } = limits(draft);
    let elapsed = u64::try_from(now.at.0.saturating_sub(draft.before.opening.since?.0)).unwrap_or(0);
    (elapsed >= max_ms).then(|| {
        let message = format!("the run has taken {elapsed} ms, and `maxExecutionTimeMs` is {max_ms}");
        fault(node, "limit-time", message, "see with `--trace` which node takes its time, or raise `executionLimits`")
    })
}

/// The limits of a run are those of the function that it runs, however many others that calls.
fn limits(draft: &Draft<'_>) -> Limits {
    draft.workflow.root().program.as_ref().map(|program| program.limits).unwrap_or_default()
}

/// The functions' half of the walk.
impl Draft<'_> {
    /// A node has come to a value, or has failed.
    pub(super) fn settle(&mut self, path: &FramePath, node: &NodeId, value: Evaluated) {
        match value {
            Ok(output) => self.came_to(path, node, output.map(Arc::new)),
            Err(fault) => self.broke(path, node, fault),
        }
    }

    pub(super) fn executed(&mut self, path: &FramePath, node: &NodeId, came: Result<Option<Arc<Value>>, Fault>) {
        let (output, fault) = match came {
            Ok(output) => (output, None),
            Err(fault) => (None, Some(fault)),
        };
        self.emit(Change::Executed { frame: path.clone(), node: node.clone(), output, fault });
    }

    /// A node of a function has come to an output: on to the next.
    pub(super) fn came_to(&mut self, path: &FramePath, node: &NodeId, output: Option<Arc<Value>>) {
        let Some(frame) = self.before.frame(path) else { return };
        let step = self.step(&frame.flow, node);
        self.executed(path, node, Ok(output));
        match step.exits.passed() {
            Some(to) => self.enter(path, frame.flow.clone(), to, &Outcome::passed(), None),
            None => self.moved(path, Place::Waiting { node: node.clone(), on: WaitingFor::Progress, due: None }, None),
        }
    }

    /// A node of a function has failed: on along its error edge, or the function fails with it.
    pub(super) fn broke(&mut self, path: &FramePath, node: &NodeId, fault: Fault) {
        let Some(frame) = self.before.frame(path) else { return };
        let step = self.step(&frame.flow, node);
        self.executed(path, node, Err(fault.clone()));
        match &step.exits.failing {
            Failing::Stays => {}
            Failing::Leads(to) => self.enter(path, frame.flow.clone(), to, &Outcome::passed(), None),
            Failing::Retries { .. } => self.finish_function(path, node, EndResult::Failure, Err(fault)),
        }
    }

    /// A function is over, and whatever waits for it goes on.
    pub(super) fn finish_function(
        &mut self,
        path: &FramePath,
        node: &NodeId,
        result: EndResult,
        came: Result<Option<Arc<Value>>, Fault>,
    ) {
        let (output, fault) = match &came {
            Ok(output) => (output.clone(), None),
            Err(fault) => (None, Some(fault.clone())),
        };
        self.emit(Change::Finished { frame: path.clone(), output, fault });
        self.moved(path, Place::Ended { node: node.clone(), result }, None);
        let Some((parent, name)) = path.split() else { return };
        let Some(outer) = self.before.frame(&parent) else { return };
        let outcome = if came.is_ok() { Outcome::passed() } else { Outcome::failed() };
        match &outer.place {
            Place::Each { .. } => self.item_done(&parent, outer, name, came),
            Place::Within { node, .. } if self.is_function(&outer.flow) => match came {
                Ok(output) => self.came_to(&parent, node, output),
                Err(fault) => self.broke(&parent, node, fault.within(node)),
            },
            _ => self.tell_parent(path, &outcome, result.word()),
        }
    }

    /// The run cannot go on, whatever its error edges say.
    fn abort(&mut self, fault: Fault) {
        let root = FramePath::default();
        let node = self.before.root.place.node().clone();
        self.emit(Change::Finished { frame: root.clone(), output: None, fault: Some(fault) });
        self.moved(&root, Place::Ended { node, result: EndResult::Failure }, None);
    }

    pub(super) fn is_function(&self, flow: &WorkflowId) -> bool {
        self.workflow.flow(flow).program.is_some()
    }

    /// The frame in which a function begins, given its input.
    pub(super) fn function_frame(&self, workflow: &WorkflowId, input: Option<Value>) -> Result<Frame, Fault> {
        let flow = self.workflow.flow(workflow);
        let input = Arc::new(input.unwrap_or_else(|| Value::Object(Map::new())));
        let data = given(flow, input)?;
        let place = Place::Passing { node: flow.start.clone() };
        Ok(Frame { data: Some(Box::new(data)), ..Frame::at(workflow.clone(), place) })
    }

    fn run_workflow(&mut self, at: &At<'_>, workflow: &WorkflowId, given: Evaluated) {
        if at.path.0.len() >= MAX_DEPTH {
            return self.broke(at.path, at.node(), too_deep(at.node()));
        }
        if !self.is_function(workflow) {
            let unfit = |why| at.fault("bad-input", why, "");
            let begun =
                given.and_then(|input| self.agents_frame(workflow, input.clone()).map(|_| input).map_err(unfit));
            return match begun {
                Ok(input) => self.descend(at.path, at.node(), workflow.clone(), (None, input)),
                Err(fault) => self.broke(at.path, at.node(), fault),
            };
        }
        match given.and_then(|input| self.function_frame(workflow, input)) {
            Ok(inner) => {
                let place = Place::Within { node: at.node().clone(), frame: Box::new(inner) };
                self.moved(at.path, place, None);
            }
            Err(fault) => self.broke(at.path, at.node(), Fault { node: at.node().to_string(), ..fault }),
        }
    }

    /// An agent's workflow that a function ran is over.
    pub(super) fn led_to(&mut self, parent: &FramePath, outer: &Frame, name: &NodeId, outcome: &Outcome, word: &str) {
        let node = outer.place.node();
        let came = if outcome.is_failed() {
            // An item says itself that it was in it: what is left to say is where that ended.
            let item = outer.inner().find(|(inner, _)| *inner == name && *inner != node);
            let at = item.map_or(node, |(_, frame)| frame.place.node());
            Err(fault(at, "workflow-failed", format!("the workflow that `{node}` runs ended as {word}"), ""))
        } else {
            Ok(Some(Arc::new(json!({ "outcome": outcome.as_str(), "result": word }))))
        };
        match (&outer.place, came) {
            (Place::Each { .. }, came) => self.item_done(parent, outer, name, came),
            (_, Ok(output)) => self.came_to(parent, name, output),
            (_, Err(fault)) => self.broke(parent, name, fault),
        }
    }
}

pub(super) fn too_deep(node: &NodeId) -> Fault {
    fault(node, "too-deep", walk::too_deep(), "")
}
