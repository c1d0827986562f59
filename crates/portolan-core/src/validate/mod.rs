//! Makes a [`Workflow`] of graphs, or says everything that is wrong with them.
//!
//! A rule is one file under `rules/`: what it looks for, why, how to mend it, and its code. Knows no engine: what
//! a rule promises ("a run cannot be stranded") the engine relies on without looking again.

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

/// How deep subflows may run subflows.
pub const MAX_SUBFLOW_DEPTH: usize = 8;

/// Where the workflows that subflows name are found.
pub type Library<'a> = &'a dyn Fn(&str) -> Option<&'a Graph>;

/// What the rules find in a graph, as it counts in its format.
fn ruled(graph: &Graph) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    let map = map::Map::of(graph);
    for rule in RULES {
        (rule.check)(&map, &mut faults);
    }
    if graph.advised { faults.into_iter().map(Diagnostic::lenient).collect() } else { faults }
}

/// A library without workflows.
pub fn no_library<'g>(_: &str) -> Option<&'g Graph> {
    None
}

/// Checks a graph against every rule and, when it may be used, links it with the workflows that its subflows name.
///
/// All findings are returned, errors and warnings. In [`Strictness::Lenient`], errors that have a repair are
/// warnings, and the workflow is the repaired one. A graph whose text had faults that nothing repairs is checked as
/// well, so that an author hears everything at once, but no workflow comes of it.
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
