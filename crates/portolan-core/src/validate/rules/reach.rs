//! Every node can be reached, and from every node the work comes to an end.

use std::collections::{BTreeMap, BTreeSet};

use super::{Code, Rule};
use crate::diagnostic::Diagnostic;
use crate::graph::{Kind, Node};
use crate::validate::map::Map;
use crate::value::NodeId;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "unreachable-node",
            what: "No way leads from the start to the node.",
            fix: "Add the edge that was meant to lead there, or remove the node.",
        },
        Code {
            code: "no-way-to-end",
            what: "No way leads from the node to an end, so that a run that comes there can never finish.",
            fix: "Add an edge that leads on towards an end.",
        },
        Code {
            code: "endless-loop",
            what: "An agent whose every step succeeds goes round in a circle and never comes to an end.",
            fix: "Let the loop be left on success, and repeated on `failed` or on another declared outcome.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    // Without a start everything would be unreachable: that one fault is reported by itself.
    if let Some(start) = map.start() {
        let reached = map.reach(&start.id);
        // Where an edge leads nobody knows where, it may lead to all of them.
        let sure = reached.iter().all(|id| map.loose(id).is_empty());
        let lost = |node: &&Node| !reached.contains(&node.id) && node.kind != Kind::Start && !is_exit(map, node);
        let activities: BTreeSet<usize> = map.nodes().filter(lost).filter_map(activity_of).collect();
        let lost_ids: BTreeSet<&NodeId> = map.nodes().filter(lost).map(|node| &node.id).collect();
        let lost = |node: &&Node| lost(node) && !is_inside(node, &activities, &lost_ids);
        for node in map.nodes().filter(|node| sure && lost(node)) {
            let message = format!("no way leads from the start to `{}`", node.id);
            // Graphs of tool calls that are in use have such nodes, and run.
            let fault = match map.graph.program {
                Some(_) => Diagnostic::warning("unreachable-node", message),
                None => Diagnostic::error("unreachable-node", message).repaired("it is never visited"),
            };
            let help = match node.kind {
                Kind::Activity => "add a transition that leads there, or remove the activity",
                _ => "add the edge that leads there, or remove the node",
            };
            faults.push(fault.at(node.span).help(help));
        }
    }
    let ending = reaching_an_end(map);
    let stranded = map.nodes().filter(|node| !ending.contains(&node.id) && has_way_on(map, node));
    // A function that cannot come to its exit is one fault, and its dialect says when it has none.
    let most = match map.graph.program {
        Some(_) if !map.nodes().any(|node| is_exit(map, node)) => 0,
        Some(_) => 1,
        None => usize::MAX,
    };
    for node in stranded.take(most) {
        faults.push(
            Diagnostic::error("no-way-to-end", format!("no way leads from `{}` to an end", node.id))
                .at(node.span)
                .help("add an edge that leads on towards an end")
                .repaired("a run that comes there ends only when it is cancelled"),
        );
    }
    if map.graph.program.is_some() {
        // What a switch does by default is no success: it may well go round.
        return;
    }
    for node in loops(map).into_iter().filter(|node| ending.contains(&node.id)) {
        faults.push(
            Diagnostic::error(
                "endless-loop",
                format!("when every step succeeds, `{}` is reached again and again", node.id),
            )
            .at(node.span)
            .help("let success leave the loop, and `failed` repeat it; `passed` is success, or else the outcome that comes first")
            .repaired("a run that succeeds there goes round"),
        );
    }
}

/// The exit of a function, the end behind activities: when nothing leads there, it is the nodes before it that lack a
/// way.
fn is_exit(map: &Map<'_>, node: &Node) -> bool {
    let is_invented = map.graph.program.is_some() || !map.graph.activities.is_empty();
    is_invented && matches!(node.kind, Kind::End { .. })
}

/// The activity that a node is the beginning of; in a loop it is only gone through.
fn activity_of(node: &Node) -> Option<usize> {
    let seat = node.seat.as_ref().filter(|seat| seat.loops.is_empty() && node.kind == Kind::Activity)?;
    Some(seat.activity)
}

/// Whether a node stands in one of the activities, or in a loop that is lost itself: those are the fault.
fn is_inside(node: &Node, activities: &BTreeSet<usize>, lost: &BTreeSet<&NodeId>) -> bool {
    let Some(seat) = &node.seat else { return false };
    let in_activity = activity_of(node).is_none() && activities.contains(&seat.activity);
    in_activity || seat.loops.iter().any(|looping| lost.contains(looping))
}

/// A node without any way on is `output-without-edge`: one fault is enough.
fn has_way_on(map: &Map<'_>, node: &Node) -> bool {
    !map.leaving(&node.id).is_empty()
}

fn reaching_an_end<'g>(map: &Map<'g>) -> BTreeSet<&'g NodeId> {
    let mut before: BTreeMap<&NodeId, Vec<&'g NodeId>> = BTreeMap::new();
    for node in map.nodes() {
        for next in map.next(node) {
            before.entry(next).or_default().push(&node.id);
        }
    }
    let ends = map.nodes().filter(|node| matches!(node.kind, Kind::End { .. }) || !map.loose(&node.id).is_empty());
    let mut waiting: Vec<&NodeId> = ends.map(|node| &node.id).collect();
    let mut ending = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if ending.insert(id) {
            waiting.extend(before.get(id).into_iter().flatten());
        }
    }
    ending
}

/// The first node of each circle that success alone goes round.
fn loops<'g>(map: &Map<'g>) -> Vec<&'g Node> {
    let mut walk_of: BTreeMap<&NodeId, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (walk, first) in map.nodes().enumerate() {
        let mut at = Some(first);
        while let Some(node) = at {
            match walk_of.get(&node.id) {
                Some(&earlier) if earlier == walk => {
                    found.push(node);
                    break;
                }
                Some(_) => break,
                None => walk_of.insert(&node.id, walk),
            };
            at = on_success(map, node);
        }
    }
    found
}

/// Where success leads: along the first outcome, and from a fork to its join.
fn on_success<'g>(map: &Map<'g>, node: &'g Node) -> Option<&'g Node> {
    if let Kind::Fork { join, .. } = &node.kind {
        return map.node(&join.value);
    }
    let outcome = map.outcomes(node).into_iter().next()?;
    map.node(&map.edge_on(&node.id, outcome.as_str())?.to.value)
}
