//! What the expressions of a node see.

use std::sync::Arc;

use serde_json::Value;

use super::walk::Draft;
use crate::expr::{EvalFault, Expr, Outputs, Scope};
use crate::graph::{Flow, Step};
use crate::run::{Fault, Frame, FramePath, Place, Run};
use crate::value::{NodeId, Timestamp};

/// Time and chance, as the event brings them.
#[derive(Clone, Copy)]
pub(super) struct Now {
    pub(super) at: Timestamp,
    pub(super) seed: u64,
}

/// A value, JSONata's `undefined`, or why there is none.
pub(super) type Evaluated = Result<Option<Value>, Fault>;

/// A node that is executed, and where.
pub(super) struct At<'r> {
    pub(super) path: &'r FramePath,
    pub(super) frame: &'r Frame,
    pub(super) flow: &'r Flow,
    pub(super) step: &'r Step,
    run: &'r Run,
}

impl<'r> At<'r> {
    pub(super) fn of(draft: &Draft<'r>, path: &'r FramePath, frame: &'r Frame, node: &NodeId) -> At<'r> {
        let flow = draft.workflow.flow(&frame.flow);
        At { path, frame, flow, step: flow.step(node), run: draft.before }
    }

    pub(super) fn node(&self) -> &'r NodeId {
        &self.step.node.id
    }

    /// What an expression of this node comes to.
    pub(super) fn eval(&self, expr: &Expr, now: Now, bound: &[(&str, &Value)]) -> Evaluated {
        self.with_scope(now, bound, None, |scope| expr.eval(scope))
    }

    /// Whether a guard of this node holds.
    pub(super) fn holds(&self, guard: &Expr, now: Now) -> Result<bool, Fault> {
        self.with_scope(now, &[], None, |scope| guard.holds(scope))
    }

    /// What becomes of a tool's answer: it is seen under the node's own id, and as `$output`.
    pub(super) fn reshape(&self, post: &Expr, output: Option<&Arc<Value>>, now: Now) -> Evaluated {
        let mut fresh = Outputs::new(false);
        fresh.record(self.node(), output.cloned());
        let output = output.map_or(&Value::Null, |output| output);
        self.with_scope(now, &[("output", output)], Some(&fresh), |scope| post.eval(scope))
    }

    fn with_scope<T>(
        &self,
        now: Now,
        bound: &[(&str, &Value)],
        fresh: Option<&Outputs>,
        evaluate: impl FnOnce(&Scope<'_>) -> Result<T, EvalFault>,
    ) -> Result<T, Fault> {
        let mut names: Vec<(&str, &Value)> = Vec::new();
        let program = self.flow.program.as_ref();
        let data = self.frame.data.as_ref().filter(|_| program.is_some());
        // Only states set variables, and nobody else has anything to see.
        let variables = data.map(|data| &data.variables).filter(|variables| !variables.is_empty());
        let shared = variables.map(|variables| Value::Object(variables.clone()));
        let named = program.is_some_and(|program| program.names_input);
        names.extend(data.filter(|_| named).map(|data| ("input", &*data.input)));
        names.extend(shared.as_ref().map(|shared| ("shared", shared)));
        let mut outputs = outputs(self.run, self.path);
        if let Some(fresh) = fresh {
            outputs.insert(0, fresh);
        }
        let scope = Scope { outputs, root: None, names, bindings: bound.to_vec(), at: now.at, seed: now.seed };
        evaluate(&scope).map_err(|fault| self.fault(fault.code, fault.message, fault.expression))
    }

    pub(super) fn fault(&self, code: &str, message: impl Into<String>, detail: impl Into<String>) -> Fault {
        fault(self.node(), code, message, detail)
    }
}

pub(super) fn fault(node: &NodeId, code: &str, message: impl Into<String>, detail: impl Into<String>) -> Fault {
    Fault { node: node.to_string(), code: code.to_owned(), message: message.into(), detail: detail.into() }
}

/// What the nodes of a frame have come to, the innermost first: a branch sees its own outputs over those of the flow
/// that forked, and nothing of the branches beside it.
pub(super) fn outputs<'r>(run: &'r Run, path: &FramePath) -> Vec<&'r Outputs> {
    let mut chain: Vec<&Outputs> = Vec::new();
    let mut frame = &run.root;
    chain.extend(frame.data.as_ref().map(|data| &data.outputs));
    for name in &path.0 {
        let Some((_, inner)) = frame.inner().find(|(inner, _)| *inner == name) else { break };
        if !matches!(frame.place, Place::Forked { .. }) {
            chain.clear();
        }
        chain.extend(inner.data.as_ref().map(|data| &data.outputs));
        frame = inner;
    }
    chain.reverse();
    chain
}
