//! Passes the result of an effect to whatever waits for it.

use super::walk::Draft;
use super::{advance, answer, settle, states};
use crate::run::{EffectId, EffectPart, EffectResult, Place};

/// Settles an effect. A result that nothing waits for (the position has moved on, the effect is settled, or it is of
/// another kind) changes nothing: an effect may be performed more than once and is settled once.
pub(super) fn settled(draft: &mut Draft<'_>, effect: &EffectId, result: &EffectResult) {
    let EffectId { frame: path, node, since, part } = effect;
    let Some(frame) = draft.before.frame(path).filter(|frame| frame.since == *since) else { return };
    if frame.place.node() != node {
        return;
    }
    match (part, result) {
        (EffectPart::Node, EffectResult::Due) => advance::execute(draft, path, frame),
        (EffectPart::Node, EffectResult::Reply(reply)) => advance::returned(draft, (path, frame), reply),
        (EffectPart::Timer, EffectResult::Due) => answer::time_out(draft, path, frame),
        (EffectPart::Check(check), EffectResult::Verdict(verdict)) => match &frame.place {
            Place::Conversing { .. } => states::settled(draft, path, (check, verdict)),
            _ => settle::decide(draft, path, (node, check), verdict),
        },
        (EffectPart::Request(turn), EffectResult::Completion(reply)) => {
            states::completed(draft, path, (*turn, None), reply);
        }
        (EffectPart::Vote { turn, judge }, EffectResult::Completion(reply)) => {
            states::completed(draft, path, (*turn, Some(*judge)), reply);
        }
        (EffectPart::Tool(call), EffectResult::Tool { done }) => states::tool_done(draft, path, call, done),
        _ => {}
    }
}
