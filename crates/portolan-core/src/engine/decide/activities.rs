//! Support for workflows of activities: variables, skipped activities, loops.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::scope::fault;
use super::walk::Draft;
use crate::expr::Expr;
use crate::graph::{AtLimit, Choice, Flow, Kind, Loop, LoopKind, MAX_ITEMS, Variable, VariableOwner};
use crate::run::{Change, Data, Fault, Feedback, Frame, FramePath, LoopEnd, Place};
use crate::value::{NodeId, Outcome, PASS, SKIPPED, WorkflowId, described, template};

/// Returns why values are not valid for variables, in one sentence each.
pub(super) fn misfits(flow: &Flow, values: &Map<String, Value>) -> Vec<String> {
    let misfit = |(name, value): (&String, &Value)| match flow.variable(name) {
        None => Some(format!("there is no variable `{}`", crate::diagnostic::clip(name))),
        Some(variable) if variable.kind.takes(value) => match value {
            Value::Array(items) if items.len() > MAX_ITEMS => {
                Some(format!("`{name}` has {} items, more than {MAX_ITEMS}", items.len()))
            }
            _ => None,
        },
        Some(variable) => Some(format!("`{name}` must be {}, but is {}", variable.kind.described(), described(value))),
    };
    values.iter().filter_map(misfit).collect()
}

/// Returns the initial variables of a flow: the given values, else the defaults.
///
/// # Errors
/// The faults of the given values, in one sentence each.
pub(super) fn seeded(flow: &Flow, given: &Map<String, Value>) -> Result<Map<String, Value>, Vec<String>> {
    let mut faults = misfits(flow, given);
    let lacks = |variable: &&Variable| {
        variable.required && variable.default.is_none() && !given.contains_key(&variable.name.value)
    };
    faults.extend(flow.variables.iter().filter(lacks).map(|variable| format!("`{}` is required", variable.name.value)));
    let is_answered = |name: &&String| {
        flow.variable(name).is_some_and(|variable| variable.keeper == VariableOwner::Person && !variable.required)
    };
    let answered = given.keys().filter(is_answered);
    faults.extend(answered.map(|name| format!("`{name}` is answered by a person, and cannot be given at the start")));
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(at_first(flow, &|variable| given.get(&variable.name.value)))
}

pub(super) fn at_first<'v>(flow: &'v Flow, given: &dyn Fn(&Variable) -> Option<&'v Value>) -> Map<String, Value> {
    let value = |variable: &'v Variable| given(variable).or(variable.default.as_ref()).cloned();
    flow.variables.iter().filter_map(|variable| Some((variable.name.value.clone(), value(variable)?))).collect()
}

impl Draft<'_> {
    /// Sets variables of the flow.
    pub(super) fn set_all<'v>(&mut self, path: &FramePath, sets: impl IntoIterator<Item = &'v (String, Value)>) {
        for (name, value) in sets {
            let Some(value) = self.written(path, value) else { continue };
            let frame = self.owner(path);
            self.emit(Change::Set { frame, name: name.clone(), value });
        }
    }

    /// Returns the value to set: `value` itself, or that of the variable that it names; `None` if that has no value.
    fn written(&mut self, path: &FramePath, value: &Value) -> Option<Value> {
        let Some(named) = value.as_str().and_then(template::whole) else { return Some(value.clone()) };
        let workflow = self.workflow;
        let flow = self.standing(path).map(|frame| workflow.flow(&frame.flow))?;
        let variables = self.run().variables(path);
        let root = template::root(named);
        if flow.variable(root).is_none() && variables.iter().all(|(name, _)| *name != root) {
            return Some(value.clone());
        }
        template::found(named, &variables).cloned()
    }

    /// Applies the effects of an answer.
    pub(super) fn take_effect(&mut self, path: &FramePath, choice: &Choice) {
        self.set_all(path, &choice.sets);
        if !choice.skips.is_empty() {
            let frame = self.owner(path);
            self.emit(Change::Skipped { frame, activities: choice.skips.clone() });
        }
    }

    pub(super) fn begin_activity(
        &mut self,
        path: &FramePath,
        flow: &WorkflowId,
        node: &NodeId,
        feedback: Option<Feedback>,
    ) {
        // The copy of an activity in a loop is skipped like the original.
        let flow = self.workflow.flow(flow);
        let activity = flow.step(node).node.seat.as_ref().and_then(|seat| flow.activities.get(seat.activity));
        let first = activity.map_or_else(|| node.clone(), |activity| NodeId::from(activity.id.as_str()));
        let owner = self.owner(path);
        let data = self.frame(&owner).and_then(|frame| frame.data.as_ref());
        let is_skipped = data.is_some_and(|data| data.skipped.contains(&first));
        let past = Outcome::from(SKIPPED);
        // After a migration, the run may have skipped an activity that this definition never skips.
        let may_skip = flow.step(node).exits.target(&past).is_some();
        let outcome = if is_skipped && may_skip { past } else { Outcome::passed() };
        self.forget_answers(path, flow, node);
        self.leave(path, node, &outcome, feedback);
    }
}

/// Loops.
impl Draft<'_> {
    pub(super) fn begin_loop(
        &mut self,
        path: &FramePath,
        (flow, node): (WorkflowId, NodeId),
        looping: &Loop,
        feedback: Option<Feedback>,
    ) {
        let begins = match &looping.kind {
            LoopKind::ForEach { over, .. } => match self.items(path, &node, over) {
                Ok(items) => return self.next_pass(path, (flow, node), looping, (0, Some(items)), feedback),
                Err(fault) => Err(fault),
            },
            LoopKind::While(condition) => self.holds(path, &node, condition),
            LoopKind::DoWhile(_) => Ok(true),
        };
        match begins {
            Ok(true) => self.next_pass(path, (flow, node), looping, (0, None), feedback),
            Ok(false) => self.end_loop(path, node, (0, LoopEnd::Done), feedback),
            Err(fault) => self.undecided(path, &node, fault),
        }
    }

    fn items(&mut self, path: &FramePath, node: &NodeId, over: &Expr) -> Result<Arc<Vec<Value>>, Fault> {
        let value = self.evaluate(path, node, |scope| over.eval(scope))?;
        // The path as it was written: each name in it is quoted for the expression.
        let named = || over.text().replace('`', "");
        let why = match value {
            Some(Value::Array(items)) if items.len() <= MAX_ITEMS => return Ok(Arc::new(items)),
            Some(Value::Array(items)) => format!("`{}` has {} items, more than {MAX_ITEMS}", named(), items.len()),
            Some(other) => format!("`{}` is not an array but {}", named(), described(&other)),
            None => format!("`{}` has no value, but the loop iterates over its items", named()),
        };
        Err(fault(node, "bad-items", why, ""))
    }

    /// Begins pass number `pass`, from 0, or ends the loop if it has no more items or has reached its maximum.
    fn next_pass(
        &mut self,
        path: &FramePath,
        (flow, node): (WorkflowId, NodeId),
        looping: &Loop,
        (pass, items): (u32, Option<Arc<Vec<Value>>>),
        feedback: Option<Feedback>,
    ) {
        let item = match &items {
            Some(items) => match items.get(pass as usize) {
                None => return self.end_loop(path, node, (pass, LoopEnd::Done), feedback),
                item => item.cloned(),
            },
            None => None,
        };
        if pass >= looping.most {
            return self.end_loop(path, node, (pass, LoopEnd::Limit), feedback);
        }
        let Some(first) = self.step(&flow, &node).exits.target(&Outcome::from(PASS)) else {
            return self.end_loop(path, node, (pass, LoopEnd::Done), feedback);
        };
        let data = match (&looping.kind, item) {
            (LoopKind::ForEach { variable, .. }, Some(item)) => {
                let variables = Map::from_iter([(variable.clone(), item)]);
                Some(Arc::new(Data { variables, ..Data::default() }))
            }
            _ => None,
        };
        let inner = Frame { data, ..Frame::at(flow.clone(), Place::Ready { node: first.clone() }) };
        let within = path.join(&node);
        self.moved(path, Place::Looping { node, pass, items, frame: Box::new(inner) }, None);
        self.enter(&within, flow, first, &Outcome::passed(), feedback);
    }

    /// Ends the pass at `path`.
    pub(super) fn end_pass(&mut self, path: &FramePath, flow: WorkflowId, feedback: Option<Feedback>) {
        let Some((outer, _)) = path.split() else { return };
        let Some(Place::Looping { node, pass, items, .. }) = self.frame(&outer).map(|frame| frame.place.clone()) else {
            return;
        };
        let Kind::Loop(looping) = &self.step(&flow, &node).node.kind else { return };
        let stops = match &looping.stop {
            Some(stop) => self.evaluate(path, &node, |scope| stop.holds(scope)),
            None => Ok(false),
        };
        let goes_on = match (stops, &looping.kind) {
            (Err(fault), _) => return self.undecided(&outer, &node, fault),
            (Ok(true), _) => return self.end_loop(&outer, node, (pass + 1, LoopEnd::Broken), feedback),
            (Ok(false), LoopKind::ForEach { .. }) => Ok(true),
            (Ok(false), LoopKind::While(condition) | LoopKind::DoWhile(condition)) => {
                self.holds(&outer, &node, condition)
            }
        };
        match goes_on {
            Ok(true) => self.next_pass(&outer, (flow, node), looping, (pass + 1, items), feedback),
            Ok(false) => self.end_loop(&outer, node, (pass + 1, LoopEnd::Done), feedback),
            Err(fault) => self.undecided(&outer, &node, fault),
        }
    }

    fn end_loop(&mut self, path: &FramePath, node: NodeId, (passes, by): (u32, LoopEnd), feedback: Option<Feedback>) {
        self.emit(Change::Looped { frame: path.clone(), node: node.clone(), passes, by });
        let (outcome, feedback) = match by {
            LoopEnd::Limit => self.cut_short(path, &node, passes, feedback),
            LoopEnd::Done | LoopEnd::Broken => (Outcome::passed(), feedback),
        };
        self.leave(path, &node, &outcome, feedback);
    }

    /// Returns the outcome of a loop that is ended at its maximum: a failure, unless the definition lets the run
    /// continue. The feedback reports it.
    fn cut_short(
        &mut self,
        path: &FramePath,
        node: &NodeId,
        passes: u32,
        before: Option<Feedback>,
    ) -> (Outcome, Option<Feedback>) {
        let Some(flow) = self.frame(path).map(|frame| frame.flow.clone()) else { return (Outcome::failed(), before) };
        let node = &self.step(&flow, node).node;
        let goes_on = matches!(&node.kind, Kind::Loop(looping) if looping.at_limit == AtLimit::GoesOn);
        let ended = format!("\"{}\" was ended after {passes} passes, the maximum allowed", node.name);
        let mut feedback = before.unwrap_or_default();
        feedback.note = Some(match feedback.note {
            Some(note) => format!("{note}; {ended}"),
            None => ended,
        });
        if goes_on {
            return (Outcome::passed(), Some(feedback));
        }
        (Outcome::failed(), Some(Feedback { from: Some(node.id.clone()), ..feedback }))
    }
}
