//! The names of rules, by which a project sets the level of one and who may bypass it.

use crate::{acceptance, guards};
use portolan_core::graph::GATES;

const INVARIANTS: [&str; 15] =
    ["I-1", "I-2", "I-3", "I-4", "I-5", "I-6", "I-7", "I-8", "I-9", "I-10", "I-11", "I-12", "I-13", "I-14", "I-15"];

/// The one rule that cannot be bypassed: every bypass is on record.
pub(super) const KEPT: &str = "I-13";

/// Returns every name of a rule: checks, guards and invariants.
pub fn known() -> Vec<&'static str> {
    let checks = acceptance::CHECKS.iter().map(|kind| kind.id);
    let mut names: Vec<&str> =
        checks.chain(GATES.iter().map(|gate| gate.name)).chain(guards::guards()).chain(INVARIANTS).collect();
    let mut distinct = std::collections::BTreeSet::new();
    names.retain(|name| distinct.insert(*name));
    names
}
