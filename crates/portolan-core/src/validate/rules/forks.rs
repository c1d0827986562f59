//! Forks and joins form pairs.

use super::edges::unknown;
use super::{Code, Rule};
use crate::diagnostic::Diagnostic;
use crate::graph::{Kind, Node};
use crate::source::Spanned;
use crate::validate::map::Map;
use crate::value::NodeId;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "fork-join-mismatch",
            what: "A fork and a join do not name each other, two of them name the same one, or one of them names a \
                   node of another type.",
            fix: "Give every fork one join. Let `join` on the fork and `fork` on the join name each other.",
        },
        Code {
            code: "fork-without-branches",
            what: "A fork opens no branch because no edge leads from it to a step, or an edge leads straight to its \
                   join, so that this branch does nothing.",
            fix: "Add an edge to the first step of each branch. Remove an edge that leads straight to the join.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    for node in map.nodes() {
        match &node.kind {
            Kind::Fork { join, .. } => {
                check_pair(map, node, join, faults);
                check_edges(map, node, join, faults);
            }
            Kind::Join { fork, .. } => check_pair(map, node, fork, faults),
            _ => {}
        }
    }
}

/// Returns whether these are a fork and its join.
pub(super) fn is_pair(fork: &Node, join: &Node) -> bool {
    match (&fork.kind, &join.kind) {
        (Kind::Fork { join: named, .. }, Kind::Join { fork: back, .. }) => {
            named.value == join.id && back.value == fork.id
        }
        _ => false,
    }
}

fn check_pair(map: &Map<'_>, node: &Node, named: &Spanned<NodeId>, faults: &mut Vec<Diagnostic>) {
    let (word, wanted) = if matches!(node.kind, Kind::Fork { .. }) { ("fork", "join") } else { ("join", "fork") };
    let Some(other) = map.node(&named.value) else {
        if !map.mentions(&named.value) {
            let what = format!("the {word} `{}` names the {wanted} `{}`", node.id, named.value);
            faults.push(unknown(map, faults, &what, named));
        }
        return;
    };
    if is_pair(node, other) || is_pair(other, node) {
        return;
    }
    let why = match &other.kind {
        Kind::Join { fork: back, .. } if wanted == "join" => format!("a join that names `{}`", back.value),
        Kind::Fork { join: back, .. } if wanted == "fork" => format!("a fork that names `{}`", back.value),
        _ => format!("which is not a {wanted}"),
    };
    faults.push(
        Diagnostic::error("fork-join-mismatch", format!("the {word} `{}` names `{}`, {why}", node.id, other.id))
            .at(named.span)
            .help("a fork has one join: the fork's `join` and the join's `fork` name each other"),
    );
}

fn check_edges(map: &Map<'_>, fork: &Node, join: &Spanned<NodeId>, faults: &mut Vec<Diagnostic>) {
    let straight = |id: &NodeId| *id == join.value && map.node(id).is_some_and(|join| is_pair(fork, join));
    for edge in map.leaving(&fork.id).iter().filter(|edge| straight(&edge.to.value)) {
        faults.push(
            Diagnostic::error(
                "fork-without-branches",
                format!("a branch of `{}` leads straight to its join and does nothing", fork.id),
            )
            .at(edge.to.span)
            .help("remove the edge, or lead it to a step"),
        );
    }
    if map.leaving(&fork.id).is_empty() {
        let message = match map.loose(&fork.id) {
            [] => format!("no edge leaves the fork `{}`", fork.id),
            _ => format!("no edge leads from the fork `{}` to a step that is defined", fork.id),
        };
        faults.push(
            Diagnostic::error("fork-without-branches", message)
                .at(fork.span)
                .help("add an edge to the first step of each branch"),
        );
    }
}
