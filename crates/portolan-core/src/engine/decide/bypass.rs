//! Bypasses a rule. The bypass is recorded before it has any effect: a check that is settled later reads it here.

use super::walk::Draft;
use super::{Rejection, RejectionReason};
use crate::diagnostic::clip;
use crate::run::{Bypass, Change, EventKind};

/// The maximum number of bypasses of a run: a workflow that needs more should be changed.
const MAX_BYPASSES: usize = 100;

/// The maximum length of the name of a rule, in bytes.
const MAX_INVARIANT_BYTES: usize = 64;

/// The rule that every bypass is recorded.
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
            format!("`{}` is not a rule name", clip(invariant)),
            "name exactly one rule, such as `I-3`: a bypass cannot cover several",
        );
    }
    if invariant == ON_RECORD {
        return refused(
            format!("`{ON_RECORD}` cannot be bypassed: it is what records every bypass"),
            "name the rule that blocks the run",
        );
    }
    if reason.trim().is_empty() {
        return refused(format!("the bypass of `{invariant}` has no reason"), "say why, in a sentence");
    }
    if draft.before.is_over() {
        let node = draft.before.root.place.node();
        return Err(Rejection::new(
            RejectionReason::Over,
            format!("the run has ended at `{node}`"),
            "there is nothing left to bypass",
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
        return refused(format!("the run already has {count} bypasses"), "change the rules instead, or cancel the run");
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

/// Marks a bypass as used. Nothing changes if it may be used repeatedly or was already used.
pub(super) fn used(draft: &mut Draft<'_>, id: &str) {
    let open = draft.before.bypasses().iter().any(|bypass| bypass.id == id && bypass.once && !bypass.used);
    if open {
        draft.emit(Change::Used { bypass: id.to_owned() });
    }
}
