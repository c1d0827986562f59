//! A person's answer, given or relayed.

use super::report::Claim;
use super::walk::Draft;
use super::{Rejection, Why};
use crate::graph::EndResult;
use crate::run::{Actor, Change, Channel, FramePath, Human, Place, WaitingFor};
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
    if claim.outcome.as_str() == CANCELLED {
        draft.end(&FramePath::default(), node, EndResult::Cancelled);
        return Ok(());
    }
    match on {
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

/// The question of the workflow is answered: a way on is taken, and the work after it has its full budget again.
fn recover(draft: &mut Draft<'_>, path: &FramePath, node: &NodeId, claim: &Claim<'_>) {
    refill(draft, path);
    draft.leave(path, node, claim.outcome, feedback(node, claim));
}

/// The person removed what was in the way: the work is attempted again, with a full budget.
fn try_again(draft: &mut Draft<'_>, path: &FramePath, node: &NodeId, claim: &Claim<'_>) {
    refill(draft, path);
    let Some(frame) = draft.run.frame(path) else { return };
    let to = draft.step(&frame.flow, node).exits.again(node).clone();
    draft.enter(path, &to, claim.outcome, feedback(node, claim));
}

fn feedback(node: &NodeId, claim: &Claim<'_>) -> Option<crate::run::Feedback> {
    let note = claim.note?.to_owned();
    Some(crate::run::Feedback { from: Some(node.clone()), failures: Vec::new(), note: Some(note) })
}

fn refill(draft: &mut Draft<'_>, path: &FramePath) {
    if draft.run.frame(path).is_some_and(|frame| !frame.spent.is_empty()) {
        draft.emit(Change::Refilled { frame: path.clone(), gate: None });
    }
    debug_assert!(matches!(draft.run.frame(path).map(|frame| &frame.place), Some(Place::Waiting { .. })));
}
