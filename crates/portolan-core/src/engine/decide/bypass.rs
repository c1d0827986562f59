//! Somebody gets past a rule by name. It is on record before anything follows from it: a check that is settled later
//! looks here.

use super::walk::Draft;
use super::{Rejection, RejectionReason};
use crate::diagnostic::clip;
use crate::run::{Bypass, Change, EventKind};

/// How many exceptions a run may have: a workflow that needs more needs another workflow.
const MAX_BYPASSES: usize = 100;

/// The longest name of a rule, in bytes.
const MAX_INVARIANT_BYTES: usize = 64;

/// The rule that every bypass is on record.
const ON_RECORD: &str = "I-13";

pub(super) fn decide(draft: &mut Draft<'_>, event: &EventKind) -> Result<(), Rejection> {
    let EventKind::Bypassed { invariant, node, reason, source, identifier, expires_at, once } = event else {
        return Ok(());
    };
    let refused = |message: String, help: &str| Err(Rejection::new(RejectionReason::BadBypass, message, help));
    let is_named = !invariant.is_empty()
        && invariant.len() <= MAX_INVARIANT_BYTES
        && invariant.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if !is_named {
        return refused(
            format!("`{}` is no name of a rule", clip(invariant)),
            "name exactly one rule, such as `I-3`: there is no bypass of several",
        );
    }
    if invariant == ON_RECORD {
        return refused(
            format!("`{ON_RECORD}` cannot be got past: it is what puts every bypass on record"),
            "name the rule that is in the way",
        );
    }
    if reason.trim().is_empty() {
        return refused(format!("the bypass of `{invariant}` has no reason"), "say why, in a sentence");
    }
    if draft.before.is_over() {
        let node = draft.before.root.place.node();
        return Err(Rejection::new(
            RejectionReason::Over,
            format!("the run is over: it ended at `{node}`"),
            "there is nothing left to get past",
        ));
    }
    if !draft.workflow.flows().any(|(_, flow)| flow.steps.contains_key(node)) {
        return refused(
            format!("there is no `{}` in the workflow", clip(node.as_str())),
            "name one of its nodes, or leave it out for the present one",
        );
    }
    let count = draft.before.bypasses().len();
    if count >= MAX_BYPASSES {
        return refused(
            format!("the run has {count} bypasses already"),
            "change the rules instead, or call the run off",
        );
    }
    let bypass = Bypass {
        id: format!("b{}", count + 1),
        invariant: invariant.clone(),
        node: Some(node.clone()),
        reason: reason.trim().to_owned(),
        source: *source,
        identifier: identifier.clone(),
        at: draft.now.at,
        expires_at: *expires_at,
        once: *once,
        used: false,
    };
    draft.emit(Change::Bypassed { bypass });
    Ok(())
}

/// A bypass has counted elsewhere. One that counts as often as it is needed, or that has counted, stays as it is.
pub(super) fn used(draft: &mut Draft<'_>, id: &str) {
    let open = draft.before.bypasses().iter().any(|bypass| bypass.id == id && bypass.once && !bypass.used);
    if open {
        draft.emit(Change::Used { bypass: id.to_owned() });
    }
}
