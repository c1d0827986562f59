//! A workflow as a Graphviz digraph, for `dot -Tsvg`.

use super::check_words::{describe_verification, legend, sign_of};
use super::picture::{Line, Look, label, lines, one_line, small_print};
use crate::graph::{Node, Workflow};

/// Returns the digraph of the root flow. Edges that a failure takes are dashed.
///
/// Nodes keep their identifiers as written: Graphviz accepts any quoted text.
pub fn dot(workflow: &Workflow) -> String {
    let flow = workflow.root();
    let mut graph = format!("digraph {} {{\n", quoted(workflow.id().as_str()));
    let title = text(&[&one_line(&flow.name), legend(flow).unwrap_or_default()]);
    graph += &format!("    graph [label={title}, labelloc=t, fontname=\"{FONT}\"]\n");
    graph += &format!("    node [shape=box, style=filled, fillcolor=\"#FFFFFF\", fontname=\"{FONT}\"]\n");
    graph += &format!("    edge [fontname=\"{FONT}\", fontsize=10]\n\n");
    for step in flow.steps.values() {
        graph += &drawn_node(&step.node);
    }
    graph.push('\n');
    for line in lines(flow) {
        graph += &drawn_line(&line);
    }
    graph += "}\n";
    graph
}

const FONT: &str = "Helvetica,Arial,sans-serif";

fn drawn_node(node: &Node) -> String {
    let look = Look::of(&node.kind);
    let sign = sign_of(node).map(|sign| format!("{sign} ")).unwrap_or_default();
    let label = format!("{sign}{}", label(node));
    let style = match look {
        Look::Start => ", shape=circle, fillcolor=\"#90EE90\", color=\"#228B22\"",
        Look::Success => ", shape=box, peripheries=2, fillcolor=\"#87CEEB\", color=\"#4169E1\"",
        Look::Person => ", shape=hexagon, fillcolor=\"#FFB6C1\", color=\"#DC143C\"",
        Look::Failure => ", shape=box, peripheries=2, fillcolor=\"#FFB6C1\", color=\"#DC143C\"",
        Look::Gate => ", shape=diamond, fillcolor=\"#E6E6FA\", color=\"#9370DB\"",
        Look::ForkJoin => ", style=\"filled,rounded\", fillcolor=\"#FFEAA7\", color=\"#FDCB6E\"",
        Look::Subflow => ", shape=component",
        Look::Plain => "",
    };
    let tooltip = describe_verification(node)
        .map(|description| format!(", tooltip={}", text(&[&description])))
        .unwrap_or_default();
    format!("    {} [label={}{style}{tooltip}]\n", quoted(node.id.as_str()), text(&[&label, &small_print(node)]))
}

fn drawn_line(line: &Line<'_>) -> String {
    let mut attributes = Vec::new();
    if let Some(label) = &line.text {
        attributes.push(format!("label={}", text(&[label])));
    }
    if line.failed {
        attributes.push("style=dashed, color=\"#DC143C\"".to_owned());
    }
    let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
    format!("    {} -> {}{attributes}\n", quoted(line.from.as_str()), quoted(line.to.as_str()))
}

/// Quotes an identifier. Graphviz has an escape only for the quote, but a backslash before the last quote would hide
/// it.
fn quoted(id: &str) -> String {
    format!("\"{}\"", id.replace('\\', "\\\\").replace('"', "\\\"").replace('\0', "\u{fffd}"))
}

/// Formats a label of several lines, without empty ones. Labels use HTML entities and backslashes.
fn text(lines: &[&str]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| line.replace('&', "&amp;").replace('\\', "\\\\").replace('"', "\\\""))
        .collect();
    format!("\"{}\"", lines.join("\\n"))
}
