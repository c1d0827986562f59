//! Workflows that other workflows run: their input, and the variables that are taken back.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::activities::at_first;
use super::advance::format_faults;
use super::scope::{At, EvaluationResult, fault};
use super::walk::Draft;
use crate::diagnostic::list;
use crate::expr::Outputs;
use crate::graph::{Bounds, Flow, Kind, Variable};
use crate::run::{Budget, Data, Fault, Feedback, Frame, FramePath, Place, StateUsage};
use crate::value::{NodeId, WorkflowId};

/// Returns the initial data of a flow with an interface.
///
/// # Errors
/// The input does not match its schema.
pub(super) fn given(flow: &Flow, input: Arc<Value>) -> Result<Data, Fault> {
    if let Some(schema) = flow.interface.as_ref().and_then(|interface| interface.input.as_ref()) {
        let faults = schema.value.check(&input);
        if !faults.is_empty() {
            let message = format!("the input is not valid for `{}`: {}", flow.name, format_faults(&faults));
            return Err(fault(&flow.start, "bad-input", message, ""));
        }
    }
    let variables = at_first(flow, &|_| None);
    Ok(Data { input, variables, outputs: Outputs::new(flow.looks_back), ..Data::default() })
}

impl Draft<'_> {
    /// Begins the workflow that the node runs.
    pub(super) fn descend(
        &mut self,
        at: &At<'_>,
        workflow: WorkflowId,
        given: EvaluationResult,
        feedback: Option<Feedback>,
    ) {
        match given.and_then(|input| self.inner_frame(&workflow, input)) {
            Ok(inner) => {
                let frame = Box::new(Frame { feedback, ..inner });
                self.moved(at.path, Place::Within { node: at.node().clone(), frame }, None);
            }
            // A retry would have the same input.
            Err(fault) => self.undecided(at.path, at.node(), Fault { node: at.node().to_string(), ..fault }),
        }
    }

    /// Creates the frame of a workflow that another one runs. A workflow with an interface gets exactly the input.
    /// Otherwise the input sets its variables, as far as the types match, and its agent is shown the rest.
    ///
    /// # Errors
    /// The input does not match the schema; or a required variable has no value, so that its guards would skip nodes.
    pub(super) fn inner_frame(&self, workflow: &WorkflowId, input: Option<Value>) -> Result<Frame, Fault> {
        let flow = self.workflow.flow(workflow);
        let place = Place::Passing { node: flow.start.clone(), passed: self.passed };
        if flow.interface.is_some() {
            let data = given(flow, Arc::new(input.unwrap_or_else(|| Value::Object(Map::new()))))?;
            let counts = flow.interface.as_ref().is_some_and(|interface| interface.bounds != Bounds::default());
            let budget = counts.then(|| Box::new(Budget { since: self.now.at, tally: StateUsage::default() }));
            let data = Data { budget, ..data };
            return Ok(Frame { data: Some(Arc::new(data)), ..Frame::at(workflow.clone(), place) });
        }
        let given = |variable: &Variable| {
            let value = input.as_ref().and_then(|input| input.get(&variable.name.value));
            value.filter(|value| variable.kind.takes(value))
        };
        let lacks = |variable: &&Variable| variable.required && variable.default.is_none() && given(variable).is_none();
        let lacking: Vec<&str> = flow.variables.iter().filter(lacks).map(|it| it.name.value.as_str()).collect();
        if !lacking.is_empty() {
            let message =
                format!("`{workflow}` requires {}, but was given no value of the required type", list(&lacking));
            return Err(fault(&flow.start, "bad-input", message, ""));
        }
        let variables = at_first(flow, &given);
        let data = (input.is_some() || !variables.is_empty() || flow.records).then(|| {
            let input = input.map(Arc::new).unwrap_or_default();
            Arc::new(Data { input, variables, outputs: Outputs::new(flow.looks_back), ..Data::default() })
        });
        Ok(Frame { data, ..Frame::at(workflow.clone(), place) })
    }

    /// Returns the variables that are passed to a workflow, as far as they have a value.
    pub(super) fn handed_on(&self, path: &FramePath, context: &[String]) -> Option<Value> {
        if context.is_empty() {
            return None;
        }
        let known = self.before.variables(path);
        let value = |name: &String| known.iter().find(|(known, _)| known == name).map(|(_, value)| (*value).clone());
        let handed: Map<String, Value> = context.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect();
        Some(Value::Object(handed))
    }

    /// Takes back the variables that were passed to a workflow, after its success, as far as the types match.
    pub(super) fn take_back(&mut self, outer: &FramePath, inner: &FramePath, node: &NodeId) {
        let Some(frame) = self.before.frame(outer) else { return };
        let flow = self.workflow.flow(&frame.flow);
        let Kind::Subflow { context, .. } = &flow.step(node).node.kind else { return };
        let Some(data) = self.before.frame(inner).and_then(|frame| frame.data.as_ref()) else { return };
        let sets: Vec<(String, Value)> = context
            .iter()
            .filter_map(|name| {
                let value = data.variables.get(name)?;
                let fits = flow.variable(name).is_some_and(|variable| variable.kind.takes(value));
                fits.then(|| (name.clone(), value.clone()))
            })
            .collect();
        self.set_all(outer, &sets);
    }
}
