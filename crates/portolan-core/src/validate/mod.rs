//! Builds a [`Workflow`] from graphs, or reports everything that is wrong with them.
//!
//! A rule is one file under `rules/`: what it checks, why, how to fix it, and its code. Knows no engine: the engine
//! relies on the guarantees of the rules ("a run cannot be stranded") without checking again.

mod build;
mod circles;
mod known;
mod map;
mod rules;
mod servers;
#[cfg(test)]
mod tests;

use crate::diagnostic::Diagnostic;
use crate::dialect::Strictness;
use crate::graph::{Graph, Workflow};

pub use rules::{RULES, Rule, codes};
pub use servers::servers;

/// The maximum nesting of subflows.
pub const MAX_SUBFLOW_DEPTH: usize = 8;

/// A lookup for the workflows that subflows name.
pub type Library<'a> = &'a dyn Fn(&str) -> Option<&'a Graph>;

/// Returns what the rules report about a graph, with the severity that its format gives it.
fn ruled(graph: &Graph) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    let map = map::Map::of(graph);
    for rule in RULES {
        (rule.check)(&map, &mut faults);
    }
    if graph.advised { faults.into_iter().map(Diagnostic::lenient).collect() } else { faults }
}

/// Returns `None` for every name: a library without workflows.
pub fn no_library<'g>(_: &str) -> Option<&'g Graph> {
    None
}

/// Checks a graph against every rule and, if it is usable, links it with the workflows that its subflows name.
///
/// Returns all diagnostics, errors and warnings. In [`Strictness::Lenient`], errors that have a repair are warnings,
/// and the workflow is the repaired one. A graph whose text had faults without a repair is checked as well, so that the
/// author sees everything at once, but gives no workflow.
///
/// ```
/// use portolan_core::{dialect, source::Source, validate};
///
/// let source = Source::new("hello.json", r#"{
///   "nodes": { "start": {"type": "start"}, "greet": {"type": "task"}, "done": {"type": "end", "result": "success"} },
///   "edges": [ {"from": "start", "to": "greet"}, {"from": "greet", "to": "don"} ]
/// }"#);
/// let (graph, _) = dialect::parse(&source, dialect::Strictness::Strict).first();
/// let (workflow, faults) = validate::validate(&graph.unwrap(), &validate::no_library, dialect::Strictness::Strict);
/// assert!(workflow.is_none());
/// assert_eq!(faults[0].message, "an edge leads to `don`, which is not defined");
/// assert_eq!(faults[0].help.as_deref(), Some("did you mean `done`?"));
/// ```
pub fn validate<'g>(
    graph: &'g Graph,
    library: Library<'g>,
    strictness: Strictness,
) -> (Option<Workflow>, Vec<Diagnostic>) {
    let mut faults = ruled(graph);
    rules::subflows::check(graph, library, strictness, &mut faults);
    rules::inputs::check(graph, library, &mut faults);
    rules::depth::check(graph, library, &mut faults);
    if strictness == Strictness::Lenient {
        faults = faults.into_iter().map(Diagnostic::lenient).collect();
    }
    faults.sort_by_key(|fault| (fault.span.map_or(0, |span| span.start), fault.code));
    let usable = graph.broken.is_none() && !faults.iter().any(Diagnostic::is_error);
    (usable.then(|| build::workflow(graph, library)), faults)
}
