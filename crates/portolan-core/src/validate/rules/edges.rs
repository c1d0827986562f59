//! Every edge joins two nodes that exist, and every edge can be taken.

use super::{Code, Rule};
use crate::diagnostic::{Diagnostic, clip};
use crate::graph::{Edge, Kind};
use crate::source::Spanned;
use crate::validate::map::{Map, is_terminal};
use crate::value::{FAILED, NodeId, PASSED};

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "unknown-node",
            what: "An edge, a fork or a join names a node that is not defined.",
            fix: "Correct the spelling, or define the node.",
        },
        Code {
            code: "shadowed-edge",
            what: "An edge can never be taken, because an earlier edge of the same node is taken on the same outcome.",
            fix: "Remove it, or give it another `on`.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    for edge in &map.graph.edges {
        for (end, verb) in [(&edge.from, "leaves"), (&edge.to, "leads to")] {
            if map.node(&end.value).is_none() {
                faults.push(
                    unknown(map, &format!("an edge {verb} `{}`", clip(end.value.as_str())), end)
                        .repaired("the edge is left out"),
                );
            }
        }
    }
    for node in map.nodes() {
        if !matches!(node.kind, Kind::Fork { .. }) {
            shadowed(map, &node.id, faults);
        }
    }
}

/// A fault for a name that nothing answers to.
pub(super) fn unknown(map: &Map<'_>, what: &str, name: &Spanned<NodeId>) -> Diagnostic {
    Diagnostic::error("unknown-node", format!("{what}, which is not defined"))
        .at(name.span)
        .help(format!("define it under `nodes`; there are {}", some(map)))
        .did_you_mean(name.value.as_str(), map.ids())
}

/// The names of the nodes, as many as fit a line.
fn some(map: &Map<'_>) -> String {
    let ids: Vec<&str> = map.ids().take(8).collect();
    let more = if map.ids().count() > ids.len() { " …" } else { "" };
    format!("`{}`{more}", ids.join("`, `"))
}

fn shadowed(map: &Map<'_>, from: &NodeId, faults: &mut Vec<Diagnostic>) {
    let mut seen: Vec<(String, &Edge)> = Vec::new();
    for edge in map.leaving(from) {
        let key = taken_on(map, edge);
        let earlier = seen.iter().find(|(earlier, _)| *earlier == key);
        if let Some((_, earlier)) = earlier {
            faults.push(
                Diagnostic::error(
                    "shadowed-edge",
                    format!(
                        "the edge from `{from}` to `{}` is never taken: the one to `{}` comes first",
                        edge.to.value, earlier.to.value
                    ),
                )
                .at(edge.span)
                .help("remove it, or give it another `on`")
                .repaired("the earlier edge is taken"),
            );
        } else {
            seen.push((key, edge));
        }
    }
    // An unconditional edge serves `passed`, so that beside an edge for `passed` nothing is left for it.
    let names_passed = seen.iter().any(|(key, _)| key == PASSED);
    if let Some((_, spare)) = seen.iter().find(|(key, _)| key.is_empty() && names_passed) {
        faults.push(
            Diagnostic::error(
                "shadowed-edge",
                format!("the edge from `{from}` to `{}` is never taken: another is for `passed`", spare.to.value),
            )
            .at(spare.span)
            .help("give it the `on` that it is for; an edge without one serves `passed`, and never `failed`")
            .repaired("the edge for `passed` is taken"),
        );
    }
}

/// What decides between edges: the outcome, and for `failed` whether it retries or escalates.
fn taken_on(map: &Map<'_>, edge: &Edge) -> String {
    match edge.on.outcome() {
        None => String::new(),
        Some(on) if on.as_str() == FAILED => {
            let terminal = map.node(&edge.to.value).is_some_and(|node| is_terminal(&node.kind));
            format!("failed {}", if terminal { "escalation" } else { "retry" })
        }
        Some(on) => on.as_str().to_owned(),
    }
}
