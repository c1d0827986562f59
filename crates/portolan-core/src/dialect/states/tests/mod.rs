//! Files of states, read and lowered: the graph, and every diagnostic with its location.

mod faults;
mod fields;
mod properties;

use crate::diagnostic::Diagnostic;
use crate::dialect::{self, Strictness};
use crate::graph::{Graph, Trigger};
use crate::source::Source;
use crate::validate;

/// Reads a YAML file strictly.
fn read(text: &str) -> (Graph, Vec<Diagnostic>) {
    let (graph, faults) = dialect::parse(&Source::new("flow.yaml", text), Strictness::Strict).first();
    (graph.expect("it can be drawn"), faults)
}

/// Formats the nodes and edges, a line each.
fn outline(graph: &Graph) -> String {
    let mut told = String::new();
    for node in &graph.nodes {
        told.push_str(&format!("{} {}\n", node.kind.word(), node.id));
        for edge in graph.edges_from(&node.id) {
            let on = match &edge.on {
                Trigger::Done => String::new(),
                Trigger::Outcome(on) => format!("{} ", on.value),
                Trigger::When(guard) => format!("when {} ", guard.value.text()),
            };
            told.push_str(&format!("  {on}-> {}\n", edge.to.value));
        }
    }
    told
}

/// Returns the diagnostics of a file with their locations: those of reading, then those of the rules if there is a
/// graph.
fn faults(text: &str, strictness: Strictness) -> String {
    let source = Source::new("flow.yaml", text);
    let (graph, mut faults) = dialect::parse(&source, strictness).first();
    if let Some(graph) = graph {
        faults.extend(validate::validate(&graph, &validate::no_library, strictness).1);
    }
    let told = faults.iter().map(|fault| {
        let at = fault.span.map(|span| source.location(span.start));
        let at = at.map_or_else(String::new, |at| format!("{}:{} ", at.line, at.column));
        let severity = if fault.is_error() { "error" } else { "warning" };
        let help = fault.help.as_ref().map_or_else(String::new, |help| format!("\n  {help}"));
        format!("{at}{severity} {}: {}{help}\n", fault.code, fault.message)
    });
    told.collect()
}
