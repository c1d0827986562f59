//! Forks and joins belong together in pairs, and what a fork opens its join collects.

use std::collections::BTreeSet;

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
            what: "A fork and a join do not name each other, or two of them name the same one.",
            fix: "Give every fork one join: `join` on the fork and `fork` on the join name each other.",
        },
        Code {
            code: "fork-without-branches",
            what: "A fork opens no branch: no edge leaves it, or an edge leads straight to its join.",
            fix: "Add an edge to the first step of each branch.",
        },
        Code {
            code: "nested-fork",
            what: "A branch comes to a fork before it has come to its join.",
            fix: "Put the inner fork into a workflow of its own and run it as a subflow.",
        },
        Code {
            code: "branch-misses-join",
            what: "A branch can end, or come to another join, without coming to the join of its fork, which would wait for it forever.",
            fix: "Lead every way through the branch to the join; `failed` may lead there too.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    let mut collected = BTreeSet::new();
    for node in map.nodes() {
        match &node.kind {
            Kind::Fork { join, .. } => {
                if !collected.insert(&join.value) {
                    faults.push(mismatch(node, join, "which already belongs to another fork"));
                }
                check_fork(map, node, join, faults);
            }
            Kind::Join { fork, .. } => check_join(map, node, fork, faults),
            Kind::Start | Kind::End { .. } | Kind::Checkpoint { .. } | Kind::Work { .. } | Kind::Subflow { .. } => {}
        }
    }
}

fn mismatch(node: &Node, other: &Spanned<NodeId>, what: &str) -> Diagnostic {
    Diagnostic::error("fork-join-mismatch", format!("`{}` names `{}`, {what}", node.id, other.value))
        .at(other.span)
        .help("a fork's `join` and that join's `fork` must name each other")
}

fn check_fork(map: &Map<'_>, fork: &Node, join: &Spanned<NodeId>, faults: &mut Vec<Diagnostic>) {
    match map.node(&join.value).map(|node| &node.kind) {
        None => faults.push(unknown(map, &format!("the fork `{}` names the join `{}`", fork.id, join.value), join)),
        Some(Kind::Join { fork: back, .. }) if back.value == fork.id => {}
        Some(Kind::Join { .. }) => faults.push(mismatch(fork, join, "which names another fork")),
        Some(_) => faults.push(mismatch(fork, join, "which is not a join")),
    }
    let mut branches = 0;
    for edge in map.leaving(&fork.id) {
        branches += 1;
        if edge.to.value == join.value {
            faults.push(
                Diagnostic::error(
                    "fork-without-branches",
                    format!("a branch of `{}` leads straight to its join and does nothing", fork.id),
                )
                .at(edge.to.span)
                .help("remove the edge, or lead it to a step"),
            );
            continue;
        }
        if let Some(entry) = map.node(&edge.to.value) {
            check_branch(map, fork, join, entry, faults);
        }
    }
    if branches == 0 {
        faults.push(
            Diagnostic::error("fork-without-branches", format!("no edge leaves the fork `{}`", fork.id))
                .at(fork.span)
                .help("add an edge to the first step of each branch"),
        );
    }
}

fn check_join(map: &Map<'_>, join: &Node, fork: &Spanned<NodeId>, faults: &mut Vec<Diagnostic>) {
    match map.node(&fork.value).map(|node| &node.kind) {
        None => faults.push(unknown(map, &format!("the join `{}` names the fork `{}`", join.id, fork.value), fork)),
        Some(Kind::Fork { join: back, .. }) if back.value == join.id => {}
        Some(Kind::Fork { .. }) => faults.push(mismatch(join, fork, "which names another join")),
        Some(_) => faults.push(mismatch(join, fork, "which is not a fork")),
    }
}

fn check_branch<'g>(map: &Map<'g>, fork: &Node, join: &Spanned<NodeId>, entry: &'g Node, faults: &mut Vec<Diagnostic>) {
    let stop = |node: &Node| matches!(node.kind, Kind::Join { .. } | Kind::Fork { .. });
    let reached = map.reach(&entry.id, stop);
    for node in reached.iter().filter_map(|id| map.node(id)) {
        let misses = match &node.kind {
            Kind::Fork { .. } => {
                faults.push(
                    Diagnostic::error(
                        "nested-fork",
                        format!(
                            "the branch `{}` of `{}` comes to the fork `{}` before its own join",
                            entry.id, fork.id, node.id
                        ),
                    )
                    .at(node.span)
                    .help("put the inner fork into a workflow of its own and run it as a subflow")
                    .repaired("the inner fork opens branches of that branch"),
                );
                false
            }
            Kind::Join { .. } => node.id != join.value,
            Kind::End { .. } => true,
            Kind::Start | Kind::Checkpoint { .. } | Kind::Work { .. } | Kind::Subflow { .. } => false,
        };
        if misses {
            faults.push(
                missed(fork, join, entry, &format!("can come to `{}`", node.id))
                    .repaired("the branch counts as done there, failed unless it is a success"),
            );
        }
    }
    if !reached.contains(&join.value) {
        faults.push(missed(fork, join, entry, "never comes there").repaired("a person decides"));
    }
}

fn missed(fork: &Node, join: &Spanned<NodeId>, entry: &Node, what: &str) -> Diagnostic {
    Diagnostic::error(
        "branch-misses-join",
        format!("the branch `{}` of `{}` must come to `{}`, but {what}", entry.id, fork.id, join.value),
    )
    .at(entry.span)
    .help(format!("lead every way through the branch to `{}`", join.value))
}
