//! A check came to a verdict. When all have, the claim holds or it does not.

use super::walk::Draft;
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
    draft.emit(Change::Settled { frame: effect.frame.clone(), check: effect.check.clone(), verdict: verdict.clone() });
    conclude(draft, effect);
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
        let feedback = Feedback { from: Some(node.clone()), failures, note };
        draft.leave(&effect.frame, &node, &Outcome::failed(), Some(feedback));
    }
}

fn failure((check, verdict): (CheckId, Verdict)) -> Option<Failure> {
    match verdict {
        Verdict::Held => None,
        Verdict::Broken { reason, output } => Some(Failure { check, reason, output }),
        Verdict::Unknown { reason } => Some(Failure {
            check,
            reason: format!("could not be checked, which is no pass: {reason}"),
            output: String::new(),
        }),
    }
}
