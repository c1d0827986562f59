//! Settles a check. When all checks of a node are settled, the claim holds or fails.

use serde_json::Value;

use super::report::Claim;
use super::walk::Draft;
use crate::graph::Check;
use crate::run::{Change, Failure, Feedback, FramePath, Place, RaisedQuestion, Verdict, WaitingFor};
use crate::value::{CheckId, NodeId, Outcome};

pub(super) fn decide(draft: &mut Draft<'_>, path: &FramePath, (node, check): (&NodeId, &CheckId), verdict: &Verdict) {
    let Some(frame) = draft.before.frame(path) else { return };
    let Place::Checking { settled, .. } = &frame.place else { return };
    let known = draft.step(&frame.flow, node).node.accept.iter().find(|known| known.id == *check);
    let Some(known) = known.filter(|_| settled.iter().all(|(id, _)| id != check)) else { return };
    let verdict = excused(draft, (node, known), verdict);
    if let Verdict::Shown { sets: Some(sets), .. } = &verdict {
        learn(draft, path, sets);
    }
    draft.emit(Change::Settled { frame: path.clone(), check: check.clone(), verdict });
    conclude(draft, path);
}

/// Returns the verdict of a check; `Excused` if it does not hold and its rule is bypassed.
fn excused(draft: &Draft<'_>, (node, check): (&NodeId, &Check), verdict: &Verdict) -> Verdict {
    let reason = match verdict {
        Verdict::Broken { reason, .. } | Verdict::Unknown { reason } | Verdict::ForPerson { reason } => reason,
        Verdict::Held | Verdict::Shown { .. } | Verdict::Excused { .. } => return verdict.clone(),
    };
    let bypass = check.invariant.as_deref().and_then(|invariant| {
        draft.before.bypasses().iter().find(|bypass| bypass.covers(invariant, Some(node), draft.now.at))
    });
    match bypass {
        Some(bypass) => Verdict::Excused { reason: reason.clone(), bypass: bypass.id.clone() },
        None => verdict.clone(),
    }
}

/// Sets the variables of the flow that a check has found values for.
fn learn(draft: &mut Draft<'_>, path: &FramePath, sets: &Value) {
    let owner = draft.before.owner(path);
    let Some(frame) = draft.before.frame(&owner) else { return };
    let flow = draft.workflow.flow(&frame.flow);
    for (name, value) in sets.as_object().into_iter().flatten() {
        if flow.variable(name).is_some_and(|variable| variable.kind.takes(value)) {
            draft.emit(Change::Set { frame: owner.clone(), name: name.clone(), value: value.clone() });
        }
    }
}

fn conclude(draft: &mut Draft<'_>, path: &FramePath) {
    let Some(frame) = draft.frame(path) else { return };
    let (flow, Place::Checking { node, outcome, settled, note }) = (frame.flow.clone(), frame.place.clone()) else {
        return;
    };
    let mut checks = draft.step(&flow, &node).node.accept.iter();
    if !checks.all(|check| settled.iter().any(|(id, _)| *id == check.id)) {
        return;
    }
    let open: Vec<String> = settled.iter().filter_map(for_person).collect();
    let failures: Vec<Failure> = settled.into_iter().filter_map(failure).collect();
    if failures.is_empty() && !open.is_empty() {
        ask(draft, path, node, outcome, &open);
    } else if failures.is_empty() {
        draft.leave(path, &node, &outcome, None);
    } else {
        let feedback = Some(Feedback { from: Some(node.clone()), failures, note });
        if draft.step(&flow, &node).node.phase.is_some() {
            draft.moved(path, Place::Ready { node }, feedback);
        } else {
            draft.leave(path, &node, &Outcome::failed(), feedback);
        }
    }
}

/// Returns the question to a person about a check.
fn for_person((check, verdict): &(CheckId, Verdict)) -> Option<String> {
    match verdict {
        Verdict::ForPerson { reason } => Some(format!("`{check}`: {reason}")),
        _ => None,
    }
}

/// Asks a person, once for all checks, whether the claim holds.
fn ask(draft: &mut Draft<'_>, path: &FramePath, node: NodeId, claimed: Outcome, open: &[String]) {
    let question = format!("`{node}` was reported as {claimed}. Is that correct? {}", open.join("; "));
    let question = RaisedQuestion { question, options: vec![claimed, Outcome::failed()] };
    draft.emit(Change::Raised { frame: path.clone(), question: Some(Box::new(question)) });
    draft.moved(path, Place::Waiting { node, on: WaitingFor::Unchecked, due: None }, None);
}

/// Handles a person's answer whether the claim holds.
pub(super) fn answered(draft: &mut Draft<'_>, path: &FramePath, node: &NodeId, claim: &Claim<'_>) {
    draft.emit(Change::Raised { frame: path.clone(), question: None });
    let feedback =
        claim.note.map(|note| Feedback { from: Some(node.clone()), failures: Vec::new(), note: Some(note.to_owned()) });
    let Some(frame) = draft.frame(path) else { return };
    let flow = frame.flow.clone();
    if claim.outcome.is_failed() && draft.step(&flow, node).node.phase.is_some() {
        draft.moved(path, Place::Ready { node: node.clone() }, feedback);
    } else {
        draft.leave(path, node, claim.outcome, feedback);
    }
}

fn failure((check, verdict): (CheckId, Verdict)) -> Option<Failure> {
    match verdict {
        Verdict::Held | Verdict::Shown { .. } | Verdict::Excused { .. } | Verdict::ForPerson { .. } => None,
        Verdict::Broken { reason, output } => Some(Failure { check, reason, output }),
        Verdict::Unknown { reason } => Some(Failure {
            check,
            reason: match reason.starts_with(Verdict::CANNOT_VERIFY) {
                true => reason,
                false => format!("could not be checked, which is no pass: {reason}"),
            },
            output: String::new(),
        }),
    }
}
