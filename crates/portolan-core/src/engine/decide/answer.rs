//! A person's answer, given or relayed.

use super::report::Claim;
use super::walk::Draft;
use super::{Rejection, Why};
use crate::graph::Kind;
use crate::run::{Actor, Change, Channel, Feedback, Frame, FramePath, Human, Place, WaitingFor};
use crate::value::{CANCELLED, NodeId};

pub(super) fn decide(
    draft: &mut Draft<'_>,
    path: &FramePath,
    node: &NodeId,
    on: WaitingFor,
    claim: &Claim<'_>,
) -> Result<(), Rejection> {
    if draft.run.opening.rules.human == Human::Verified && !is_first_hand(claim.by) {
        return Err(Rejection::new(
            Why::NeedsPerson,
            format!("`{node}` asks a person, and an agent's word does not count here"),
            "stop and let the person answer: in the client's own dialog, or with `portolan runs answer`",
        ));
    }
    match on {
        _ if calls_off(draft, path, node, claim) => draft.cancel(),
        WaitingFor::Answer => recover(draft, path, node, claim),
        WaitingFor::Budget | WaitingFor::Progress if claim.outcome.is_failed() => draft.give_up(path, node),
        WaitingFor::Budget | WaitingFor::Progress => try_again(draft, path, node, claim),
    }
    Ok(())
}

/// Whether an answer came by a channel that the agent does not hold.
fn is_first_hand(by: &Actor) -> bool {
    match by {
        Actor::Person { via: Channel::Elicitation | Channel::CommandLine, .. } => true,
        Actor::Person { via: Channel::Attested, .. } | Actor::Agent(_) | Actor::Engine => false,
    }
}

/// Whether the answer ends the run: `cancelled` does, unless the workflow says where it leads.
fn calls_off(draft: &Draft<'_>, path: &FramePath, node: &NodeId, claim: &Claim<'_>) -> bool {
    let leads_on = |frame: &Frame| draft.step(&frame.flow, node).exits.target(claim.outcome).is_some();
    claim.outcome.as_str() == CANCELLED && !draft.run.frame(path).is_some_and(leads_on)
}

/// The question of the workflow is answered: a way on is taken, and the work after it has its full budget again.
fn recover(draft: &mut Draft<'_>, path: &FramePath, node: &NodeId, claim: &Claim<'_>) {
    refill(draft, path);
    draft.leave(path, node, claim.outcome, feedback(node, claim));
}

/// The person removed what was in the way: the work is attempted again, with a full budget.
fn try_again(draft: &mut Draft<'_>, path: &FramePath, node: &NodeId, claim: &Claim<'_>) {
    refill(draft, path);
    let Some(frame) = draft.run.frame(path) else { return };
    let again = draft.step(&frame.flow, node).exits.again(node);
    // A join is no place to attempt work at: to come there is to be done with the branch.
    let done = matches!(draft.step(&frame.flow, again).node.kind, Kind::Join { .. });
    let to = if done { node } else { again };
    draft.enter(path, to, claim.outcome, feedback(node, claim));
}

fn feedback(node: &NodeId, claim: &Claim<'_>) -> Option<Feedback> {
    let note = claim.note?.to_owned();
    Some(Feedback { from: Some(node.clone()), failures: Vec::new(), note: Some(note) })
}

fn refill(draft: &mut Draft<'_>, path: &FramePath) {
    if draft.run.frame(path).is_some_and(|frame| !frame.spent.is_empty()) {
        draft.emit(Change::Refilled { frame: path.clone(), gate: None });
    }
    debug_assert!(matches!(draft.run.frame(path).map(|frame| &frame.place), Some(Place::Waiting { .. })));
}
