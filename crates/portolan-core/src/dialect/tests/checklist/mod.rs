//! A dialect for the tests: things to do, one after the other.
//!
//! ```yaml
//! checklist: [wash, cook, eat]
//! ```

use crate::diagnostic::{Code, Diagnostic, clip};
use crate::dialect::{Dialect, File, RunAs, Strictness};
use crate::graph::{Edge, EndResult, Graph, Kind, Node, Trigger};
use crate::source::fields::{FaultList, Fields};
use crate::source::{Source, Span, Spanned, Tree};
use crate::value::NodeId;

pub(super) const DIALECT: Dialect = Dialect {
    name: "checklist",
    field: "checklist",
    shape: "a list of things to do has `checklist`, their names in order",
    run_as: RunAs::Steps,
    language: crate::expr::Language::When,
    is_one: |_, tree| tree.get("checklist").is_some(),
    read,
    codes: &[Code {
        code: "nothing-twice",
        what: "Something stands on the list twice.",
        fix: "Remove one of the two.",
    }],
    editing: None,
    original: None,
};

fn read(source: &Source, tree: &Tree, strictness: Strictness) -> File {
    let mut faults = FaultList::default();
    let graph = items(tree, &mut faults).map(|items| lower(source, tree, items));
    File::of(graph, strictness.weigh(faults))
}

fn items(tree: &Tree, faults: &mut FaultList) -> Option<Vec<Spanned<String>>> {
    let mut fields = Fields::of(tree, "the file", faults)?;
    let mut items: Vec<Spanned<String>> = Vec::new();
    for item in fields.strings("checklist", faults) {
        if items.iter().any(|earlier| earlier.value == item.value) {
            let message = format!("`{}` stands on the list twice", clip(&item.value));
            let fault = Diagnostic::error("nothing-twice", message).at(item.span).help("remove one of the two");
            faults.push(fault.repaired("it is done once"));
            continue;
        }
        items.push(item);
    }
    fields.finish(faults);
    Some(items)
}

/// Lowers a list to `start ─ first ─ … ─ last ─ done`.
fn lower(source: &Source, tree: &Tree, items: Vec<Spanned<String>>) -> Graph {
    let work = || Kind::Work { gate: false, outputs: Vec::new() };
    let mut nodes = vec![Node::new("start", Span::default(), Kind::Start)];
    nodes.extend(items.into_iter().map(|item| Node::new(item.value, item.span, work())));
    let end = Kind::End { result: EndResult::Success, escalation: None };
    nodes.push(Node::new("done", Span::default(), end));
    let edge = |pair: &[Node]| Edge {
        from: at(&pair[0]),
        to: at(&pair[1]),
        on: Trigger::Done,
        label: None,
        span: pair[0].span,
    };
    let edges = nodes.windows(2).map(edge).collect();
    let id = source.stem().unwrap_or("checklist").to_owned();
    Graph { nodes, edges, ..Graph::new(Spanned { value: id, span: tree.head() }) }
}

fn at(node: &Node) -> Spanned<NodeId> {
    Spanned { value: node.id.clone(), span: node.span }
}
