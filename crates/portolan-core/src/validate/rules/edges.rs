//! Every edge joins two existing nodes, and every edge can be taken.

use std::collections::BTreeMap;

use super::{Code, Rule};
use crate::diagnostic::{Diagnostic, clip, list};
use crate::graph::{Edge, Kind, Node, Trigger};
use crate::source::Spanned;
use crate::validate::map::{Map, is_terminal};
use crate::value::{NodeId, PASSED};

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "unknown-node",
            what: "An edge, a fork, a join, or the `entryNode` or `exitNode` of a tool names a node that is not \
                   defined, or a test file has an answer for a node that calls no tool.",
            fix: "Correct the spelling, or define the node.",
        },
        Code {
            code: "shadowed-edge",
            what: "An edge or a transition can never be taken, because another one of the same node has precedence: it \
                   serves the same outcome, or it has no condition.",
            fix: "Remove it, give the edge another `on`, or put a conditional transition before the one without a \
                  condition.",
        },
    ],
    check,
};

/// The number of faults after which no suggestions are searched: each suggestion looks at every node.
const MAX_GUESSES: usize = 50;

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    for edge in &map.graph.edges {
        for (end, verb) in [(&edge.from, "leaves"), (&edge.to, "leads to")] {
            if !map.mentions(&end.value) {
                let what = format!("an edge {verb} `{}`", clip(end.value.as_str()));
                faults.push(unknown(map, faults, &what, end).repaired("the edge is left out"));
            }
        }
    }
    for node in map.nodes() {
        match node.kind {
            Kind::Fork { .. } => shadowed_branches(map, node, faults),
            _ => shadowed(map, node, faults),
        }
    }
}

/// Returns the diagnostic for a node id that is not defined.
pub(super) fn unknown(map: &Map<'_>, faults: &[Diagnostic], what: &str, name: &Spanned<NodeId>) -> Diagnostic {
    let fault = Diagnostic::error("unknown-node", format!("{what}, which is not defined"))
        .at(name.span)
        .help(format!("define it under `nodes`; there are {}", some(map)));
    if faults.len() < MAX_GUESSES { fault.did_you_mean(name.value.as_str(), map.ids()) } else { fault }
}

/// Lists the ids of the nodes, at most eight.
fn some(map: &Map<'_>) -> String {
    let ids: Vec<&str> = map.ids().take(8).collect();
    match map.ids().len() - ids.len() {
        0 if ids.is_empty() => "none so far".to_owned(),
        0 => list(&ids),
        more => format!("`{}` and {more} more", ids.iter().map(|id| clip(id)).collect::<Vec<_>>().join("`, `")),
    }
}

fn shadowed(map: &Map<'_>, node: &Node, faults: &mut Vec<Diagnostic>) {
    let from = &node.id;
    let mut first_edges: BTreeMap<(&str, bool), &Edge> = BTreeMap::new();
    for &edge in map.leaving(from).iter().filter(|edge| !matches!(edge.on, Trigger::When(_))) {
        let key = taken_on(map, edge);
        let Some(earlier) = first_edges.get(&key) else {
            first_edges.insert(key, edge);
            continue;
        };
        let message = if earlier.to.value == edge.to.value {
            format!("the edge from `{from}` to `{}` is defined twice", edge.to.value)
        } else {
            let (to, first) = (&edge.to.value, &earlier.to.value);
            format!("the edge from `{from}` to `{to}` is never taken: the one to `{first}` comes first")
        };
        faults.push(
            Diagnostic::error("shadowed-edge", message)
                .at(edge.span)
                .help("remove it, or give it another `on`")
                .repaired("the earlier edge is taken"),
        );
    }
    // An unconditional edge serves `passed`, so beside an edge for `passed` it is never taken.
    if let (Some(spare), Some(_)) = (first_edges.get(&("", false)), first_edges.get(&(PASSED, false))) {
        faults.push(
            Diagnostic::error(
                "shadowed-edge",
                format!("the edge from `{from}` to `{}` is never taken: another edge serves `passed`", spare.to.value),
            )
            .at(spare.span)
            .help("set its `on` to the intended outcome; an edge without one serves `passed`, and never `failed`")
            .repaired("the edge for `passed` is taken"),
        );
    }
}

/// Returns the key that selects an edge: the outcome, and for `failed` whether the edge escalates or retries.
fn taken_on<'e>(map: &Map<'_>, edge: &'e Edge) -> (&'e str, bool) {
    match edge.on.outcome() {
        None => ("", false),
        Some(on) => {
            let terminal = || map.node(&edge.to.value).is_some_and(|node| is_terminal(&node.kind));
            (on.as_str(), on.is_failed() && terminal())
        }
    }
}

/// Reports a second edge from a fork to the same step: both open one branch.
fn shadowed_branches(map: &Map<'_>, fork: &Node, faults: &mut Vec<Diagnostic>) {
    let mut targets = std::collections::BTreeSet::new();
    for edge in map.leaving(&fork.id) {
        if !targets.insert(&edge.to.value) {
            faults.push(
                Diagnostic::error(
                    "shadowed-edge",
                    format!("the branch from `{}` to `{}` is defined twice", fork.id, edge.to.value),
                )
                .at(edge.span)
                .help("remove one of the two: a step that is to run twice needs a second node")
                .repaired("one branch is opened"),
            );
        }
    }
}
