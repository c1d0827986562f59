//! The table of rules. A new rule is a file and a line here; `docs/diagnostics.md` is generated from the table.

mod branches;
mod conditions;
pub(super) mod depth;
mod edges;
mod ends;
mod failing;
mod forks;
pub(super) mod inputs;
mod loops;
mod outputs;
mod reads;
mod retries;
mod starts;
pub(super) mod subflows;

use super::map::Map;
use crate::diagnostic::{Code, Diagnostic};

/// A rule that a graph must satisfy.
pub struct Rule {
    /// The codes it reports, each with its meaning and its fix.
    pub codes: &'static [Code],
    pub(super) check: fn(&Map<'_>, &mut Vec<Diagnostic>),
}

/// All rules that check one graph by itself.
pub const RULES: &[Rule] = &[
    starts::RULE,
    edges::RULE,
    outputs::RULE,
    ends::RULE,
    forks::RULE,
    branches::RULE,
    retries::RULE,
    failing::RULE,
    loops::RULE,
    reads::RULE,
    conditions::RULE,
];

/// Returns every code that checking reports.
pub fn codes() -> impl Iterator<Item = &'static Code> {
    let rules = RULES.iter().flat_map(|rule| rule.codes);
    rules.chain([subflows::CODES, inputs::CODES, depth::CODES, super::servers::CODES].into_iter().flatten())
}
