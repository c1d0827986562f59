//! Agents' states: objectives with key results, who works on them, and transitions between them. The format is that of
//! fsm-agent-flow, version 2.0, in JSON and in YAML, with fields of our own beside it.
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
//! Beside states, tools, transforms, other workflows and questions to people may stand under `states`. `docs/agent-states.md`
//! says what the fields mean.

mod branches;
mod lower;
mod nodes;
mod original;
mod syntax;
mod ways;

pub use original::{beyond_original, unlike_original};

use crate::diagnostic::Diagnostic;
use crate::dialect::Strictness;
use crate::graph::Graph;
use crate::source::fields::Faults;
use crate::source::{Source, Tree};

/// Reads a file and lowers it to a graph.
pub(super) fn lower(source: &Source, tree: &Tree, strictness: Strictness) -> (Option<Graph>, Vec<Diagnostic>) {
    let mut faults = Faults::default();
    let file = syntax::read(source, tree, &mut faults);
    let mut graph = file.map(|file| lower::graph(file, &mut faults));
    let faults: Vec<Diagnostic> = match strictness {
        Strictness::Strict => faults.0,
        Strictness::Lenient => faults.0.into_iter().map(Diagnostic::lenient).collect(),
    };
    if let (Some(graph), Some(first)) = (&mut graph, faults.iter().find(|fault| fault.is_error())) {
        graph.broken = Some(first.message.clone());
    }
    (graph, faults)
}

#[cfg(test)]
mod tests;
