//! A reported outcome. A report of a node with checks is a request to perform them, not a fact.

use super::activities::misfits;
use super::walk::Draft;
use super::{Rejection, RejectionReason, Remedy, addressed, answer, fresh};
use crate::diagnostic::{clip, list};
use crate::graph::{Evidence, Flow, Kind, Node, Variable, VariableOwner};
use crate::run::{Actor, Change, Feedback, Frame, FramePath, Move, Place, moves};
use crate::value::{NodeId, Outcome};
use serde_json::Value;

/// A reported outcome and its author.
pub(super) struct Claim<'a> {
    pub(super) outcome: &'a Outcome,
    pub(super) note: Option<&'a str>,
    pub(super) by: &'a Actor,
    /// The values that the work sets.
    pub(super) outputs: Option<&'a Value>,
}

pub(super) fn decide(
    draft: &mut Draft<'_>,
    path: &FramePath,
    revision: Option<u64>,
    claim: &Claim<'_>,
) -> Result<(), Rejection> {
    let frame = addressed(draft.before, path)?;
    fresh(frame, revision)?;
    match &frame.place {
        Place::Ready { node } => {
            let step = draft.step(&frame.flow, node);
            if step.node.kind == Kind::Start {
                return Err(not_begun(node));
            }
            accepted(draft, frame, node, claim.outcome)?;
            lacking(&step.node, claim)?;
            take_outputs(draft, path, claim)?;
            work_is_done(draft, path, &step.node, claim);
            Ok(())
        }
        Place::Checking { outcome, .. } if outcome == claim.outcome => Ok(()),
        Place::Checking { node, outcome, .. } => Err(Rejection::new(
            RejectionReason::Checking,
            format!("`{node}` was reported as `{outcome}` and its checks are running"),
            format!("wait for their verdict, or report `{outcome}` again to run them again"),
        )
        .accepting(vec![outcome.clone()])),
        Place::Waiting { node, on, .. } => {
            accepted(draft, frame, node, claim.outcome)?;
            answer::decide(draft, (path, frame), node, *on, claim)
        }
        Place::Forked { node, .. } => Err(open_branches(draft, node)),
        Place::Gathering { node } => Err(Rejection::new(
            RejectionReason::BranchesOpen,
            format!("the branches of `{node}` are separate tasks, and not all of them have an outcome"),
            "bring each of them to the join first",
        )),
        Place::Each { node, open, .. } if open.iter().any(|item| leads_somebody(draft, &item.frame)) => {
            Err(open_branches(draft, node))
        }
        Place::Passing { node, .. }
        | Place::Calling { node, .. }
        | Place::Conversing { node, .. }
        | Place::Each { node, .. } => Err(Rejection::new(
            RejectionReason::OutOfPlace,
            format!("`{node}` is executed by the engine: nothing can be reported for it"),
            "wait until the run reaches a step for you",
        )),
        Place::Looping { node, .. } => Err(Rejection::new(
            RejectionReason::OutOfPlace,
            format!("a pass of `{node}` is in progress"),
            "address the position inside it",
        )),
        Place::Within { node, .. } => Err(Rejection::new(
            RejectionReason::OutOfPlace,
            format!("`{node}` runs a workflow of its own"),
            "address the position inside it",
        )),
        Place::Arrived { node, .. } | Place::Ended { node, .. } => Err(Rejection::new(
            RejectionReason::Over,
            format!("the run has ended at `{node}`"),
            "nothing is left to do; begin a new run for new work",
        )),
    }
}

fn not_begun(start: &NodeId) -> Rejection {
    Rejection::new(RejectionReason::NotBegun, format!("the run has not begun: it is at `{start}`"), "begin it first")
        .lifted_by(Remedy::Begin)
}

fn accepted(draft: &Draft<'_>, frame: &Frame, node: &NodeId, outcome: &Outcome) -> Result<(), Rejection> {
    let moves = moves(draft.workflow, frame);
    let mut accepted = moves.iter().filter_map(Move::outcome);
    if accepted.any(|accepted| accepted == outcome) {
        return Ok(());
    }
    let accepted: Vec<Outcome> = moves.iter().filter_map(Move::outcome).cloned().collect();
    let words: Vec<&str> = accepted.iter().map(Outcome::as_str).collect();
    Err(Rejection::new(
        RejectionReason::UndeclaredOutcome,
        format!("`{}` is not an outcome of `{node}`", clip(outcome.as_str())),
        format!("report one of {}", list(&words)),
    )
    .accepting(accepted))
}

/// Refuses a report without the values that the step must give, so that no older value counts for it.
fn lacking(node: &Node, claim: &Claim<'_>) -> Result<(), Rejection> {
    if !node.is_checked_on(claim.outcome) {
        return Ok(());
    }
    let wanted = node.accept.iter().filter_map(|check| check.by.evidence());
    let fault = |evidence: &Evidence| {
        let (name, schema) = evidence.fact.output()?;
        match claim.outputs.and_then(|outputs| outputs.get(name)) {
            None => Some(format!("`{name}` is missing, and must fit {}", clip(&schema.to_string()))),
            Some(value) => evidence.fact.misfit(value).map(|misfit| format!("`{name}` does not fit: {misfit}")),
        }
    };
    let faults: Vec<String> = wanted.filter_map(fault).collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(Rejection::new(
        RejectionReason::BadOutputs,
        format!(
            "`{}` can be reported as {} only with its required outputs: {}",
            node.id,
            claim.outcome,
            faults.join("; ")
        ),
        "report it again with these values in `outputs`",
    ))
}

/// Sets the values of a report: all of them, or the report is refused.
fn take_outputs(draft: &mut Draft<'_>, path: &FramePath, claim: &Claim<'_>) -> Result<(), Rejection> {
    claim.outputs.map_or(Ok(()), |outputs| take_values(draft, path, outputs))
}

/// Sets values that the work at a position gives.
pub(super) fn take_values(draft: &mut Draft<'_>, path: &FramePath, outputs: &Value) -> Result<(), Rejection> {
    let refused = |message: String| {
        Err(Rejection::new(
            RejectionReason::BadOutputs,
            message,
            "give each a value of its type, and leave out what is not a variable",
        ))
    };
    let Some(outputs) = outputs.as_object() else {
        return refused("`outputs` is not an object from variable to value".to_owned());
    };
    let owner = draft.before.owner(path);
    let Some(frame) = draft.before.frame(&owner) else { return Ok(()) };
    let flow = draft.workflow.flow(&frame.flow);
    let node = draft.before.frame(path).map(|at| &flow.step(at.place.node()).node);
    // The message does not reveal whether the variable exists: the agent may not be allowed to know of it.
    let closed: Vec<&str> = outputs.keys().map(String::as_str).filter(|name| is_closed(flow, node, name)).collect();
    if !closed.is_empty() {
        let at = node.map_or_else(String::new, |node| format!(" at `{}`", node.id));
        let open: Vec<&str> = flow.variables.iter().map(|variable| variable.name.value.as_str()).collect();
        let open: Vec<&str> =
            open.into_iter().filter(|name| node.is_some_and(|node| gives(flow, node, name))).collect();
        let help = match open.as_slice() {
            [] => "no value can be given here".to_owned(),
            open => format!("only {} can be given here", list(open)),
        };
        let message = format!("{} cannot be given a value{at}", list(&closed));
        return Err(Rejection::new(RejectionReason::FieldOutOfPhase, message, help));
    }
    let foreign: Vec<&str> =
        outputs.keys().map(String::as_str).filter(|name| !node.is_some_and(|node| gives(flow, node, name))).collect();
    if !foreign.is_empty() {
        return Err(Rejection::new(
            RejectionReason::BadOutputs,
            format!("the step does not give {}", list(&foreign)),
            "leave out what the step is not declared to give",
        ));
    }
    let faults = misfits(flow, outputs);
    if !faults.is_empty() {
        return refused(format!("the outputs do not match the variables: {}", faults.join("; ")));
    }
    for (name, value) in outputs {
        draft.emit(Change::Set { frame: owner.clone(), name: name.clone(), value: value.clone() });
    }
    Ok(())
}

/// Checks whether a variable may only be set at certain nodes, and this is not one of them.
fn is_closed(flow: &Flow, node: Option<&Node>, name: &str) -> bool {
    if node.is_some_and(|node| node.must_give(name)) {
        return false;
    }
    let nodes = flow.variable(name).and_then(|variable| variable.only_at.as_ref());
    nodes.is_some_and(|nodes| !node.is_some_and(|node| nodes.contains(&node.id)))
}

/// Checks whether a step may set a variable: one that it names; if it names none, one that anyone may set.
fn gives(flow: &Flow, node: &Node, name: &str) -> bool {
    if node.must_give(name) {
        return true;
    }
    match node.seat.as_ref().and_then(|seat| seat.reports.as_ref()) {
        Some(named) => named.iter().any(|named| named == name),
        None => flow.variable(name).is_some_and(|variable| may_give(node, variable)),
    }
}

/// Checks whether work at a node may set a variable of its flow.
pub(crate) fn may_give(node: &Node, variable: &Variable) -> bool {
    let is_open = variable.only_at.as_ref().is_none_or(|nodes| nodes.contains(&node.id));
    let is_given = match node.seat.as_ref().and_then(|seat| seat.reports.as_ref()) {
        Some(named) => named.contains(&variable.name.value),
        None => variable.keeper == VariableOwner::Anyone,
    };
    is_open && is_given
}

fn work_is_done(draft: &mut Draft<'_>, path: &FramePath, node: &Node, claim: &Claim<'_>) {
    let note = claim.note.map(str::to_owned);
    if node.is_checked_on(claim.outcome) {
        let (node, outcome) = (node.id.clone(), claim.outcome.clone());
        let place = Place::Checking { node, outcome, settled: Vec::new(), note };
        draft.emit(Change::Moved { frame: path.clone(), place, feedback: None });
        return;
    }
    let failed = claim.outcome.is_failed();
    let feedback = failed.then(|| Feedback { from: Some(node.id.clone()), failures: Vec::new(), note });
    draft.leave(path, &node.id, claim.outcome, feedback);
}

/// Checks whether work or a question is presented somewhere inside a frame.
fn leads_somebody(draft: &Draft<'_>, frame: &Frame) -> bool {
    !moves(draft.workflow, frame).is_empty() || frame.inner().any(|(_, inner)| leads_somebody(draft, inner))
}

fn open_branches(draft: &Draft<'_>, fork: &NodeId) -> Rejection {
    let positions = draft.before.positions();
    let open: Vec<String> = positions.iter().map(|(path, _)| path.text()).collect();
    let open: Vec<&str> = open.iter().map(String::as_str).collect();
    Rejection::new(
        RejectionReason::BranchesOpen,
        format!("the branches of `{fork}` are running, but the call names none of them"),
        format!("say which one with `branch`: {}", list(&open)),
    )
}
