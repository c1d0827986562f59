//! Files of states, read and lowered: what is drawn, and every fault with its place.

mod faults;
mod fields;
mod properties;

use crate::diagnostic::Diagnostic;
use crate::dialect::{self, Strictness};
use crate::graph::{Graph, Trigger};
use crate::source::Source;
use crate::validate;

/// A file in YAML, as strictly as it can be read.
fn read(text: &str) -> (Graph, Vec<Diagnostic>) {
    let (graph, faults) = dialect::parse(&Source::new("flow.yaml", text), Strictness::Strict).first();
    (graph.expect("it can be drawn"), faults)
}

/// The nodes and edges, a line each.
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

/// What is said of a file, with the lines: reading first, then the rules where it was read without an error.
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
