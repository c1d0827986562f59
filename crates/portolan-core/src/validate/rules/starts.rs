//! A run begins at exactly one node.

use super::{Code, Rule};
use crate::diagnostic::Diagnostic;
use crate::graph::Kind;
use crate::validate::map::Map;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "no-start",
            what: "The workflow has no node of type `start`, so no run of it can begin.",
            fix: "Add a node of type `start` and an edge from it to the first step.",
        },
        Code {
            code: "several-starts",
            what: "The workflow has more than one node of type `start`. Which one counts would depend on their order.",
            fix: "Keep one of them. To begin several steps at once, lead it to a `fork`.",
        },
        Code {
            code: "edge-into-start",
            what: "An edge leads back to the start node. A run starts only once, and the start node does no work.",
            fix: "Lead the edge to the step after the start.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    // A function's dialect defines its own start, and a loop may lead back to it.
    if map.graph.interface.is_some() {
        return;
    }
    let mut starts = map.nodes().filter(|node| node.kind == Kind::Start);
    let Some(first) = starts.next() else {
        faults.push(
            Diagnostic::error("no-start", "the workflow has no `start` node")
                .help("add `\"start\": {\"type\": \"start\"}` and an edge from it to the first step")
                .repaired("it begins at the first node that no edge leads to"),
        );
        return;
    };
    for other in starts {
        faults.push(
            Diagnostic::error(
                "several-starts",
                format!("`{}` is a second `start`; the first is `{}`", other.id, first.id),
            )
            .at(other.span)
            .help("keep one of them")
            .repaired("the first one counts and this one is passed through"),
        );
    }
    for edge in &map.graph.edges {
        if map.node(&edge.to.value).is_some_and(|node| node.kind == Kind::Start) {
            faults.push(
                Diagnostic::error(
                    "edge-into-start",
                    format!("an edge leads from `{}` back to the start", edge.from.value),
                )
                .at(edge.to.span)
                .help("lead it to the step after the start")
                .repaired("the start is passed through"),
            );
        }
    }
}
