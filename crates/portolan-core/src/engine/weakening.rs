//! Checks whether, under another definition, a run would be past checks that it never had to pass.

use std::collections::BTreeSet;

use crate::graph::{Flow, Kind, Node, Workflow};
use crate::run::{Frame, Place};
use crate::value::{NodeId, Outcome, SKIPPED};

/// Checks that no check, gate or question on the path so far was added or changed in `now`.
///
/// # Errors
/// The first difference, in a sentence.
pub(super) fn unchanged_so_far(then: &Workflow, now: &Workflow, frame: &Frame) -> Result<(), String> {
    let (was, is) = (then.flow(&frame.flow), now.flow(&frame.flow));
    let passed = passed(was, frame);
    for id in &passed {
        match is.steps.get(*id) {
            Some(step) => same(then, now, &was.step(id).node, &step.node)?,
            None if then.holds_back(&was.step(id).node) => {
                return Err(format!("`{id}`, which is on the path so far, no longer exists"));
            }
            None => {}
        }
    }
    let added = self::passed(is, frame);
    if let Some(id) = added.difference(&passed).find(|id| now.holds_back(&is.step(id).node)) {
        return Err(format!("`{id}` is now on the path so far, but the run did not pass it"));
    }
    let at = frame.place.node();
    if !is.is_reached(at) {
        return Err(format!("`{at}` can no longer be reached from the start"));
    }
    let unavoidable = |id: &&&NodeId| is.must_come_through(id, at) && !was.must_come_through(id, at);
    let mut holding = added.iter().filter(|id| now.holds_back(&is.step(id).node));
    if let Some(id) = holding.find(unavoidable) {
        return Err(format!("every path so far now passes `{id}`, but the run may have taken another"));
    }
    frame.inner().try_for_each(|(_, inner)| unchanged_so_far(then, now, inner))
}

/// Returns the nodes of a flow that a frame may have passed, its own included.
fn passed<'f>(flow: &'f Flow, frame: &Frame) -> BTreeSet<&'f NodeId> {
    let at = frame.place.node();
    let mut passed: BTreeSet<&NodeId> =
        flow.before(at).into_iter().chain(flow.steps.get_key_value(at).map(|(id, _)| id)).collect();
    match &frame.place {
        Place::Forked { branches, .. } => {
            let names = branches.iter().filter_map(|branch| flow.steps.get_key_value(&branch.name));
            passed.extend(names.flat_map(|(name, _)| flow.branch(at, name)));
        }
        // An earlier pass may have visited the later nodes of the loop.
        Place::Looping { pass: 1.., .. } => {
            passed.extend(flow.steps.keys().filter(|id| flow.loops(id).contains(at)));
        }
        _ => {}
    }
    passed
}

/// Checks that a node requires the same in both workflows.
fn same(then: &Workflow, now: &Workflow, was: &Node, is: &Node) -> Result<(), String> {
    let id = &was.id;
    let checks = |node: &Node| -> Vec<_> {
        node.accept.iter().map(|check| (check.id.clone(), check.invariant.clone(), check.by.clone())).collect()
    };
    let (before, after) = (checks(was), checks(is));
    let is_among = |all: &[_], one| all.contains(one);
    if let Some((check, ..)) = before.iter().find(|check| !is_among(&after, *check)) {
        return Err(format!("the check `{check}` of `{id}` was changed or removed"));
    }
    if let Some((check, ..)) = after.iter().find(|check| !is_among(&before, *check)) {
        return Err(format!("`{id}` now has the check `{check}`, which was not required of the run"));
    }
    let may_be_skipped = |node: &Node| node.seat.is_some() && outputs(node).any(|outcome| outcome.as_str() == SKIPPED);
    if !was.accept.is_empty() && may_be_skipped(was) != may_be_skipped(is) {
        return Err(format!("whether `{id}`, which is on the path so far, may be skipped has changed"));
    }
    let asks = |node: &Node| match &node.kind {
        Kind::Checkpoint { .. } => Some(node.kind.clone()),
        Kind::Work { gate: true, .. } => Some(Kind::Work { gate: true, outputs: Vec::new() }),
        _ => None,
    };
    if asks(was) != asks(is) {
        return Err(format!("`{id}` is a {} that now asks for something else", is.kind.word()));
    }
    same_inside(then, now, was, is)
}

fn outputs(node: &Node) -> impl Iterator<Item = &Outcome> {
    let outputs = match &node.kind {
        Kind::Work { outputs, .. } => outputs.as_slice(),
        _ => &[],
    };
    outputs.iter().map(|output| &output.value)
}

/// Checks that the workflow which a node runs requires the same in both workflows.
fn same_inside(then: &Workflow, now: &Workflow, was: &Node, is: &Node) -> Result<(), String> {
    if !then.holds_back(was) && !now.holds_back(is) {
        return Ok(());
    }
    let runs = |workflow: &Workflow, node: &Node| -> Option<Flow> {
        let id = node.kind.runs()?;
        workflow.flows().find(|(flow, _)| flow.as_str() == id.value).map(|(_, flow)| flow.clone())
    };
    let (before, after) = match (runs(then, was), runs(now, is)) {
        (Some(before), Some(after)) => (before, after),
        (None, None) => return Ok(()),
        _ => return Err(format!("`{}` runs a workflow in only one of the two versions", was.id)),
    };
    let ids: BTreeSet<&NodeId> = before.steps.keys().chain(after.steps.keys()).collect();
    ids.into_iter().try_for_each(|id| match (before.steps.get(id), after.steps.get(id)) {
        (Some(before), Some(after)) => same(then, now, &before.node, &after.node),
        _ => Err(format!("`{id}`, in what `{}` runs, is in only one of the two versions", was.id)),
    })
}
