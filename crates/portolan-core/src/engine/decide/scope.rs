//! The values that the expressions of a node see.

use std::sync::Arc;

use serde_json::Value;

use super::walk::Draft;
use crate::expr::{EvalFault, Expr, Outputs, Scope};
use crate::graph::{Flow, Step};
use crate::run::{Fault, Frame, FramePath, Place, Run};
use crate::value::{NodeId, Timestamp};

/// Time and seed, from the event.
#[derive(Clone, Copy, Default)]
pub(super) struct Now {
    pub(super) at: Timestamp,
    pub(super) seed: u64,
}

/// A value, JSONata's `undefined`, or an error.
pub(super) type EvaluationResult = Result<Option<Value>, Fault>;

/// A node under execution, with its position.
pub(super) struct At<'r> {
    pub(super) path: &'r FramePath,
    pub(super) frame: &'r Frame,
    pub(super) flow: &'r Flow,
    pub(super) step: &'r Step,
    run: &'r Run,
    now: Now,
}

impl<'r> At<'r> {
    pub(super) fn of(draft: &Draft<'r>, path: &'r FramePath, frame: &'r Frame, node: &NodeId) -> At<'r> {
        let flow = draft.workflow.flow(&frame.flow);
        At { path, frame, flow, step: flow.step(node), run: draft.before, now: draft.now }
    }

    pub(super) fn node(&self) -> &'r NodeId {
        &self.step.node.id
    }

    /// Evaluates an expression of this node.
    pub(super) fn eval(&self, expr: &Expr, bound: &[(&str, &Value)]) -> EvaluationResult {
        self.with_scope(bound, None, |scope| expr.eval(scope))
    }

    /// Transforms a tool's answer, which is visible under the node's own id and as `$output`.
    pub(super) fn reshape(&self, post: &Expr, output: Option<&Arc<Value>>) -> EvaluationResult {
        let mut fresh = Outputs::new(false);
        fresh.record(self.node(), output.cloned());
        let output = output.map_or(&Value::Null, |output| output);
        self.with_scope(&[("output", output)], Some(&fresh), |scope| post.eval(scope))
    }

    fn with_scope<T>(
        &self,
        bound: &[(&str, &Value)],
        fresh: Option<&Outputs>,
        evaluate: impl FnOnce(&Scope<'_>) -> Result<T, EvalFault>,
    ) -> Result<T, Fault> {
        let evaluate = |scope: &Scope<'_>| {
            let mut scope = scope.clone();
            scope.outputs.splice(0..0, fresh);
            scope.bindings = bound.to_vec();
            evaluate(&scope)
        };
        evaluate_at(self.flow, self.run, self.path, self.now, evaluate)
            .map_err(|fault| self.fault(fault.code, fault.message, fault.expression))
    }

    pub(super) fn fault(&self, code: &str, message: impl Into<String>, detail: impl Into<String>) -> Fault {
        fault(self.node(), code, message, detail)
    }
}

pub(super) fn fault(node: &NodeId, code: &str, message: impl Into<String>, detail: impl Into<String>) -> Fault {
    Fault { node: node.to_string(), code: code.to_owned(), message: message.into(), detail: detail.into() }
}

/// Evaluates with what is visible at a position: the outputs of nodes, the variables by their names and under `shared`,
/// and under `input` the input of the flow if its file asks for that.
pub(super) fn evaluate_at<T>(
    flow: &Flow,
    run: &Run,
    path: &FramePath,
    now: Now,
    evaluate: impl FnOnce(&Scope<'_>) -> T,
) -> T {
    let data = run.frame(&run.owner(path)).and_then(|frame| frame.data.as_deref()).filter(|_| flow.records);
    let shared = data.map(|data| &data.variables).filter(|variables| !variables.is_empty());
    let shared = shared.map(|variables| Value::Object(variables.clone()));
    let named = flow.settings.names_input;
    let declared = !flow.variables.is_empty() || !flow.activities.is_empty();
    let mut names = if declared { run.variables(path) } else { Vec::new() };
    names.extend(data.filter(|_| named).map(|data| ("input", &*data.input)));
    names.extend(shared.as_ref().map(|shared| ("shared", shared)));
    let outputs = if flow.records { outputs(run, path) } else { Vec::new() };
    evaluate(&Scope { outputs, root: None, names, bindings: Vec::new(), at: now.at, seed: now.seed })
}

impl Draft<'_> {
    /// Evaluates at a position after the changes so far. An error is attributed to `node`.
    pub(super) fn evaluate<T>(
        &mut self,
        path: &FramePath,
        node: &NodeId,
        evaluate: impl FnOnce(&Scope<'_>) -> Result<T, EvalFault>,
    ) -> Result<T, Fault> {
        let (workflow, now) = (self.workflow, self.now);
        let run = if self.changes().is_empty() { self.before } else { self.run() };
        let Some(frame) = run.frame(path) else { return Err(fault(node, "gone", "it is not in progress", "")) };
        evaluate_at(workflow.flow(&frame.flow), run, path, now, evaluate)
            .map_err(|broken| fault(node, broken.code, broken.message, broken.expression))
    }

    /// Checks whether a condition holds at a position after the changes so far.
    pub(super) fn holds(&mut self, path: &FramePath, node: &NodeId, condition: &Expr) -> Result<bool, Fault> {
        self.evaluate(path, node, |scope| condition.holds(scope))
    }
}

/// Returns the outputs that are visible in a frame, the innermost first: a branch sees its own outputs before those of
/// the flow that forked, and none of its sibling branches.
pub(super) fn outputs<'r>(run: &'r Run, path: &FramePath) -> Vec<&'r Outputs> {
    let mut chain: Vec<&Outputs> = Vec::new();
    let mut frame = &run.root;
    chain.extend(frame.data.as_ref().map(|data| &data.outputs));
    for name in &path.0 {
        let Some((_, inner)) = frame.inner().find(|(inner, _)| *inner == name) else { break };
        if !matches!(frame.place, Place::Forked { .. } | Place::Looping { .. }) {
            chain.clear();
        }
        chain.extend(inner.data.as_ref().map(|data| &data.outputs));
        frame = inner;
    }
    chain.reverse();
    chain
}
