//! A check came to a verdict. When all have, the claim holds or it does not.

use super::walk::Draft;
use serde_json::Value;

use crate::run::{Change, EffectId, Failure, Feedback, Place, Verdict};
use crate::value::{CheckId, Outcome};

/// A verdict that nobody waits for (the position has moved on, the check is settled) changes nothing: an effect may
/// be performed more than once and is settled once.
pub(super) fn decide(draft: &mut Draft<'_>, effect: &EffectId, verdict: &Verdict) {
    let Some(frame) = draft.before.frame(&effect.frame) else { return };
    let Place::Checking { node, settled, .. } = &frame.place else { return };
    let known = draft.step(&frame.flow, node).node.accept.iter().any(|check| check.id == effect.check);
    let open = !settled.iter().any(|(id, _)| *id == effect.check);
    if *node != effect.node || frame.since != effect.since || !known || !open {
        return;
    }
    let verdict = excused(draft, effect, verdict);
    if let Verdict::Shown { sets: Some(sets), .. } = &verdict {
        learn(draft, effect, sets);
    }
    draft.emit(Change::Settled { frame: effect.frame.clone(), check: effect.check.clone(), verdict });
    conclude(draft, effect);
}

/// What a verdict comes to where somebody has got past the rule that the check keeps.
fn excused(draft: &Draft<'_>, effect: &EffectId, verdict: &Verdict) -> Verdict {
    let reason = match verdict {
        Verdict::Broken { reason, .. } | Verdict::Unknown { reason } => reason,
        Verdict::Held | Verdict::Shown { .. } | Verdict::Excused { .. } => return verdict.clone(),
    };
    let Some(frame) = draft.before.frame(&effect.frame) else { return verdict.clone() };
    let checks = &draft.step(&frame.flow, &effect.node).node.accept;
    let invariant = checks.iter().find(|check| check.id == effect.check).and_then(|check| check.invariant.as_deref());
    let bypass = invariant.and_then(|invariant| {
        draft.before.bypasses().iter().find(|bypass| bypass.covers(invariant, &effect.node, draft.at))
    });
    match bypass {
        Some(bypass) => Verdict::Excused { reason: reason.clone(), bypass: bypass.id.clone() },
        None => verdict.clone(),
    }
}

/// What a check has found out, where the flow has variables for it.
fn learn(draft: &mut Draft<'_>, effect: &EffectId, sets: &Value) {
    let owner = draft.before.owner(&effect.frame);
    let Some(frame) = draft.before.frame(&owner) else { return };
    let flow = draft.workflow.flow(&frame.flow);
    for (name, value) in sets.as_object().into_iter().flatten() {
        if flow.variable(name).is_some_and(|variable| variable.kind.takes(value)) {
            draft.emit(Change::Set { frame: owner.clone(), name: name.clone(), value: value.clone() });
        }
    }
}

fn conclude(draft: &mut Draft<'_>, effect: &EffectId) {
    let Some(frame) = draft.frame(&effect.frame) else { return };
    let (flow, Place::Checking { node, outcome, settled, note }) = (frame.flow.clone(), frame.place.clone()) else {
        return;
    };
    let mut checks = draft.step(&flow, &node).node.accept.iter();
    if !checks.all(|check| settled.iter().any(|(id, _)| *id == check.id)) {
        return;
    }
    let failures: Vec<Failure> = settled.into_iter().filter_map(failure).collect();
    if failures.is_empty() {
        draft.leave(&effect.frame, &node, &outcome, None);
    } else {
        let feedback = Some(Feedback { from: Some(node.clone()), failures, note });
        if draft.step(&flow, &node).node.phase.is_some() {
            draft.moved(&effect.frame, Place::Ready { node }, feedback);
        } else {
            draft.leave(&effect.frame, &node, &Outcome::failed(), feedback);
        }
    }
}

fn failure((check, verdict): (CheckId, Verdict)) -> Option<Failure> {
    match verdict {
        Verdict::Held | Verdict::Shown { .. } | Verdict::Excused { .. } => None,
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
