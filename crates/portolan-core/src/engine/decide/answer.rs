//! A person's answer, direct or relayed.

use serde_json::Value;

use super::activities::misfits;
use super::report::Claim;
use super::walk::Draft;
use super::{Rejection, RejectionReason, Remedy, raise, settle};
use crate::graph::{Exits, FailureHandling, Kind};
use crate::run::{Actor, Change, Channel, Feedback, Frame, FramePath, Human, Place, WaitingFor};
use crate::value::{CANCELLED, NodeId, Outcome};

pub(super) fn decide(
    draft: &mut Draft<'_>,
    (path, frame): (&FramePath, &Frame),
    node: &NodeId,
    on: WaitingFor,
    claim: &Claim<'_>,
) -> Result<(), Rejection> {
    // A check that nothing can decide needs a person's own answer.
    let first_hand = on == WaitingFor::Unchecked || draft.before.opening.rules.human == Human::Verified;
    if first_hand && !is_first_hand(claim.by) {
        return Err(Rejection::new(
            RejectionReason::NeedsPerson,
            format!("`{node}` asks a person, and an answer from an agent does not count here"),
            "stop and let the person answer",
        )
        .lifted_by(Remedy::PersonAnswers));
    }
    let exits = &draft.step(&frame.flow, node).exits;
    if calls_off(exits, on, claim) {
        no_values(node, claim)?;
        draft.cancel();
        return Ok(());
    }
    match on {
        WaitingFor::Answer => {
            no_values(node, claim)?;
            refill(draft, path, frame);
            leave(draft, (path, frame), node, claim.outcome, feedback(node, claim));
        }
        WaitingFor::Raised => {
            no_values(node, claim)?;
            raise::answered(draft, path, frame, claim);
        }
        WaitingFor::Unchecked => {
            no_values(node, claim)?;
            settle::answered(draft, path, node, claim);
        }
        WaitingFor::Budget | WaitingFor::Progress if claim.outcome.is_failed() => {
            no_values(node, claim)?;
            draft.give_up(path, node);
        }
        WaitingFor::Budget | WaitingFor::Progress => {
            give_values(draft, path, claim)?;
            try_again(draft, (path, frame), node, claim);
        }
    }
    Ok(())
}

/// Refuses values with an answer that takes none.
fn no_values(node: &NodeId, claim: &Claim<'_>) -> Result<(), Rejection> {
    match values(claim) {
        None => Ok(()),
        Some(_) => Err(Rejection::new(
            RejectionReason::BadOutputs,
            format!("this answer at `{node}` cannot set variables"),
            "answer without values",
        )),
    }
}

/// Sets the values that come with an answer. The problem may be a missing or wrong value, and the person who resolves
/// it sets the right one.
fn give_values(draft: &mut Draft<'_>, path: &FramePath, claim: &Claim<'_>) -> Result<(), Rejection> {
    let Some(values) = values(claim) else { return Ok(()) };
    let refused = |message: String, help: &str| Err(Rejection::new(RejectionReason::BadOutputs, message, help));
    if !is_first_hand(claim.by) {
        let message = "only a person can set variables here";
        let help = "answer without values; the person gives them with their own answer";
        return Err(Rejection::new(RejectionReason::BadOutputs, message, help).lifted_by(Remedy::PersonGives));
    }
    let Some(values) = values.as_object() else {
        return refused("the given values are not an object from variable to value".to_owned(), "name each variable");
    };
    let owner = draft.before.owner(path);
    let Some(frame) = draft.before.frame(&owner) else { return Ok(()) };
    let faults = misfits(draft.workflow.flow(&frame.flow), values);
    if !faults.is_empty() {
        let message = format!("the values do not match the variables: {}", faults.join("; "));
        return refused(message, "give each a value of its type");
    }
    for (name, value) in values {
        draft.emit(Change::Set { frame: owner.clone(), name: name.clone(), value: value.clone() });
    }
    Ok(())
}

/// Returns the values that come with an answer, if any.
fn values<'c>(claim: &Claim<'c>) -> Option<&'c Value> {
    claim.outputs.filter(|values| values.as_object().is_none_or(|values| !values.is_empty()))
}

/// Applies the effects of an answer and leaves the question.
fn leave(
    draft: &mut Draft<'_>,
    (path, frame): (&FramePath, &Frame),
    node: &NodeId,
    answer: &Outcome,
    feedback: Option<Feedback>,
) {
    let checkpoint = &draft.step(&frame.flow, node).node;
    if let Kind::Checkpoint { question: Some(question), .. } = &checkpoint.kind
        && let Some(choice) = question.choice(answer)
    {
        draft.keep_answer(path, checkpoint, answer);
        draft.take_effect(path, choice);
    }
    draft.leave(path, node, answer, feedback);
}

/// Leaves a question that was answered before with that answer. If there is none, it is asked.
pub(super) fn again(draft: &mut Draft<'_>, (path, frame): (&FramePath, &Frame), node: &NodeId) {
    match draft.answered_before(path, &draft.step(&frame.flow, node).node) {
        Some(answer) => leave(draft, (path, frame), node, &answer, frame.feedback.clone()),
        None => draft.enter(path, frame.flow.clone(), node, &Outcome::passed(), frame.feedback.clone()),
    }
}

/// Answers a question whose time is up. An event that is too early or too late changes nothing. Nor does any event if
/// only a person's own answer is accepted, even if the question has a time.
pub(super) fn time_out(draft: &mut Draft<'_>, path: &FramePath, frame: &Frame) {
    if draft.before.opening.rules.human == Human::Verified {
        return;
    }
    let Place::Waiting { node, on: WaitingFor::Answer, due: Some(due) } = &frame.place else { return };
    let Kind::Checkpoint { question: Some(question), .. } = &draft.step(&frame.flow, node).node.kind else { return };
    let Some(fallback) = question.fallback.as_ref().filter(|_| due.0 <= draft.now.at.0) else { return };
    let label = question.choice(&fallback.option).map_or(fallback.option.as_str(), |choice| &choice.label);
    let name = &draft.step(&frame.flow, node).node.name;
    let note = Some(format!("\"{name}\" was not answered in time: it counts as \"{label}\""));
    let feedback = Feedback { from: Some(node.clone()), failures: Vec::new(), note };
    leave(draft, (path, frame), node, &fallback.option, Some(feedback));
}

/// Checks whether an answer came by a channel that the agent does not control.
fn is_first_hand(by: &Actor) -> bool {
    match by {
        Actor::Person { via: Channel::Elicitation | Channel::CommandLine | Channel::Passkey, .. } => true,
        Actor::Person { via: Channel::Attested | Channel::Studio, .. } | Actor::Agent(_) | Actor::Engine => false,
    }
}

/// Checks whether the answer ends the run: `cancelled` does, unless the question itself offers that answer.
fn calls_off(exits: &Exits, on: WaitingFor, claim: &Claim<'_>) -> bool {
    let leads_on = on == WaitingFor::Answer && exits.target(claim.outcome).is_some();
    let asks = matches!(on, WaitingFor::Raised | WaitingFor::Unchecked);
    claim.outcome.as_str() == CANCELLED && !leads_on && !asks
}

/// Attempts the work again, with a full budget, after a person has resolved the problem.
fn try_again(draft: &mut Draft<'_>, (path, frame): (&FramePath, &Frame), node: &NodeId, claim: &Claim<'_>) {
    refill(draft, path, frame);
    let step = draft.step(&frame.flow, node);
    let again = match (&step.node.kind, &step.exits.failing) {
        // A join does no work: its branches are attempted again.
        (Kind::Join { fork, .. }, FailureHandling::Leads(_) | FailureHandling::Stays) => &fork.value,
        _ => step.exits.again(node),
    };
    draft.enter(path, frame.flow.clone(), again, claim.outcome, feedback(node, claim));
}

fn feedback(node: &NodeId, claim: &Claim<'_>) -> Option<Feedback> {
    let note = claim.note?.to_owned();
    Some(Feedback { from: Some(node.clone()), failures: Vec::new(), note: Some(note) })
}

/// Resets every budget of a frame that a person has helped with.
fn refill(draft: &mut Draft<'_>, path: &FramePath, frame: &Frame) {
    if !frame.spent.is_empty() {
        draft.emit(Change::Refilled { frame: path.clone(), gate: None });
    }
}
