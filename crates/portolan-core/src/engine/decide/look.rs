//! Evaluates expressions that are in no definition, such as breakpoints and drafts, with what a node would see. Nothing
//! changes.

use serde_json::{Map, Value};

use super::scope::{self, Now};
use super::states;
use crate::expr::Scope;
use crate::graph::{Kind, Workflow};
use crate::run::{FramePath, Run};
use crate::value::{NodeId, Timestamp};

/// Evaluates with what `node` would see if the frame at `path` reached it now; `None` if there is no such frame.
///
/// The seed is always the same, and does not affect that of the run.
pub fn look<T>(
    workflow: &Workflow,
    run: &Run,
    (path, node): (&FramePath, &NodeId),
    at: Timestamp,
    evaluate: impl FnOnce(&Scope<'_>) -> T,
) -> Option<T> {
    let frame = run.frame(path)?;
    let flow = workflow.find(frame.flow.as_str())?;
    let now = Now { at, seed: 0 };
    let is_state = flow.steps.get(node).is_some_and(|step| matches!(step.node.kind, Kind::State(_)));
    if !is_state {
        return Some(scope::evaluate_at(flow, run, path, now, evaluate));
    }
    let (input, attempt) = (states::input(run, path), Value::from(1));
    let data = run.frame(&run.owner(path)).and_then(|frame| frame.data.as_deref());
    let shared = Value::Object(data.map_or_else(Map::new, |data| data.variables.clone()));
    let (calls, feedback) = (Value::Array(Vec::new()), Value::Null);
    let history = states::history(flow, &scope::outputs(run, path));
    let names = [("input", &*input), ("shared", &shared), ("attempt", &attempt), ("calls", &calls)];
    let names = names.into_iter().chain([("feedback", &feedback), ("history", &history)]);
    Some(scope::evaluate_at(flow, run, path, now, |scope| {
        let mut scope = scope.clone();
        scope.names.splice(0..0, names);
        scope.bindings = scope.names.clone();
        evaluate(&scope)
    }))
}
