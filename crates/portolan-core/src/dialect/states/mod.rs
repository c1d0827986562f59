//! Agents' states: objectives with key results, their workers, and transitions between them. The format is that of
//! fsm-agent-flow, version 2.0, in JSON and in YAML, with additional fields of our own.
//!
//! ```yaml
//! version: "2.0"
//! objective: a short article
//! states:
//!   research:
//!     objective: three facts about the topic
//!     key_results:
//!       - { name: enough, description: has three facts, check: "output.count('\n') >= 2" }
//!   write:
//!     objective: the article
//!     is_final: true
//! transitions:
//!   research: write
//! ```
//! Tools, transforms, other workflows and questions to people may be under `states` as well. `docs/agent-states.md`
//! describes the fields.

mod branches;
mod codes;
mod edit;
mod lower;
mod nodes;
mod original;
mod syntax;
#[cfg(test)]
mod tests;
mod ways;

use crate::dialect::{Dialect, File, Original, RunAs, Strictness};
use crate::expr::Language;
use crate::source::fields::FaultList;
use crate::source::{Source, Tree};

pub(super) const DIALECT: Dialect = Dialect {
    name: "states",
    field: "states",
    shape: "a workflow of agents' states has `states`, an object from name to state",
    run_as: RunAs::Calls,
    language: Language::Python,
    is_one: |_, tree| tree.get("states").is_some(),
    read,
    codes: codes::CODES,
    editing: Some(edit::EDITING),
    original: Some(Original { beyond: original::beyond, unlike: original::unlike }),
};

fn read(source: &Source, tree: &Tree, strictness: Strictness) -> File {
    let mut faults = FaultList::default();
    let file = syntax::read(source, tree, &mut faults);
    let graph = file.map(|file| lower::graph(file, &mut faults));
    File::of(graph, strictness.weigh(faults))
}
