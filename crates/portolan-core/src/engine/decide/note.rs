//! Values that are set during work. For variables they are claims, which are not checked before the work is reported as
//! done. In a run of a function the outputs of nodes may be set too, to try how the run continues with other outputs.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::activities::misfits;
use super::walk::Draft;
use super::{Rejection, RejectionReason, addressed, report};
use crate::diagnostic::clip;
use crate::run::{Actor, Change, Frame, FramePath, Place};
use crate::value::NodeId;

pub(super) fn decide(draft: &mut Draft<'_>, path: &FramePath, values: &Value, by: &Actor) -> Result<(), Rejection> {
    let frame = addressed(draft.before, path)?;
    let is_function = draft.workflow.root().interface.is_some();
    match &frame.place {
        Place::Checking { node, .. } => Err(Rejection::new(
            RejectionReason::Checking,
            format!("the checks of `{node}` are running with the present values"),
            "wait for their verdict, then give the values",
        )),
        Place::Arrived { node, .. } | Place::Ended { node, .. } => Err(Rejection::new(
            RejectionReason::Over,
            format!("the run has ended at `{node}`"),
            "nothing more can be reported; begin a new run for new work",
        )),
        Place::Ready { .. } if !is_function || names_variables(draft, frame, values) => {
            report::take_values(draft, path, values)
        }
        _ if is_function => alter(draft, path, values, by),
        place => Err(Rejection::new(
            RejectionReason::OutOfPlace,
            format!("`{}` is not work that gives values", place.node()),
            "give them at one of your steps",
        )),
    }
}

/// Checks whether all values are for variables of the flow.
fn names_variables(draft: &Draft<'_>, frame: &Frame, values: &Value) -> bool {
    let flow = draft.workflow.flow(&frame.flow);
    values.as_object().is_none_or(|values| values.keys().all(|name| flow.variable(name).is_some()))
}

/// Replaces outputs of nodes and values of variables: all of them, or none.
fn alter(draft: &mut Draft<'_>, path: &FramePath, values: &Value, by: &Actor) -> Result<(), Rejection> {
    if matches!(by, Actor::Agent(_)) {
        let message = "only a person is allowed to change the outputs of a run's nodes";
        return Err(Rejection::new(
            RejectionReason::NeedsPerson,
            message,
            "let a person change it in the studio, or fork the run",
        ));
    }
    let Some(values) = values.as_object() else {
        let message = "the values are not an object from node or variable to value";
        return Err(Rejection::new(RejectionReason::BadOutputs, message, "write them like `{\"add\": {\"sum\": 3}}`"));
    };
    for (name, value) in values {
        let change = change(draft, path, name, value)?;
        draft.emit(change);
    }
    Ok(())
}

/// Returns the change that sets one name: a variable that is visible at `path`, else the output of a node, from the
/// innermost frame out.
fn change(draft: &Draft<'_>, path: &FramePath, name: &str, value: &Value) -> Result<Change, Rejection> {
    if let Some(frame) = holder(draft, path, name, value)? {
        return Ok(Change::Set { frame, name: name.to_owned(), value: value.clone() });
    }
    let node = NodeId::from(name);
    match inside_out(path).find(|path| has_come_to(draft, path, name)) {
        Some(frame) => Ok(Change::Altered { frame, node, output: Arc::new(value.clone()) }),
        None => Err(unknown(draft, path, &node)),
    }
}

/// Returns the frame that has a variable. An error if the value is not valid for it.
fn holder(draft: &Draft<'_>, path: &FramePath, name: &str, value: &Value) -> Result<Option<FramePath>, Rejection> {
    let owner = draft.before.owner(path);
    let Some(frame) = draft.before.frame(&owner) else { return Ok(None) };
    let flow = draft.workflow.flow(&frame.flow);
    let holds = |path: &FramePath| {
        let data = draft.before.frame(path).and_then(|frame| frame.data.as_deref());
        data.is_some_and(|data| data.variables.contains_key(name))
    };
    // The item of a pass is in the frame of the pass and is not declared.
    let inner = inside_out(path).take_while(|path| path.0.len() >= owner.0.len()).find(holds);
    if flow.variable(name).is_none() || inner.as_ref().is_some_and(|inner| *inner != owner) {
        return Ok(inner);
    }
    let given = Map::from_iter([(name.to_owned(), value.clone())]);
    match misfits(flow, &given).as_slice() {
        [] => Ok(Some(owner)),
        faults => {
            let message = format!("the value does not match the variable: {}", faults.join("; "));
            Err(Rejection::new(RejectionReason::BadOutputs, message, "give a value of its type"))
        }
    }
}

/// Returns the paths of the frames around a position, from the innermost out to the root.
fn inside_out(path: &FramePath) -> impl Iterator<Item = FramePath> {
    (0..=path.0.len()).rev().map(|length| FramePath(path.0[..length].to_vec()))
}

fn has_come_to(draft: &Draft<'_>, path: &FramePath, node: &str) -> bool {
    let data = draft.before.frame(path).and_then(|frame| frame.data.as_deref());
    data.is_some_and(|data| data.outputs.count(node) > 0)
}

fn unknown(draft: &Draft<'_>, path: &FramePath, node: &NodeId) -> Rejection {
    let mut flows = inside_out(path).filter_map(|path| draft.before.frame(&path)).map(|frame| &frame.flow);
    let name = clip(node.as_str());
    if flows.any(|flow| draft.workflow.flow(flow).steps.contains_key(node)) {
        let message = format!("`{name}` has no output yet that could be changed");
        return Rejection::new(RejectionReason::BadOutputs, message, "let the run continue past it first");
    }
    let message = format!("there is no node and no variable `{name}`");
    Rejection::new(RejectionReason::BadOutputs, message, "name a node that was executed, or a variable")
}
