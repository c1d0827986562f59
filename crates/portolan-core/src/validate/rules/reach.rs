//! Every node can be reached, and from every node the work comes to an end.

use std::collections::BTreeSet;

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
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    // Without a start everything would be unreachable: that one fault is reported by itself.
    if let Some(start) = map.start() {
        let reached = map.reach(&start.id);
        // Where an edge leads nobody knows where, it may lead to all of them.
        let sure = !reached.iter().any(|id| map.strays(id));
        let lost = |node: &&Node| !reached.contains(&node.id) && node.kind != Kind::Start && !is_exit(map, node);
        let activities: BTreeSet<usize> = map.nodes().filter(lost).filter_map(activity_of).collect();
        let lost_ids: BTreeSet<&NodeId> = map.nodes().filter(lost).map(|node| &node.id).collect();
        let lost = |node: &&Node| lost(node) && !is_inside(node, &activities, &lost_ids);
        for node in map.nodes().filter(|node| sure && lost(node)) {
            let message = format!("no way leads from the start to `{}`", node.id);
            // Graphs of tool calls that are in use have such nodes, and run.
            let fault = match map.graph.interface {
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
    let stranded = map.nodes().filter(|node| !map.comes_to_an_end(&node.id) && has_way_on(map, node));
    // A function that cannot come to its exit is one fault, and its dialect says when it has none.
    let most = match map.graph.interface {
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
}

/// The exit of a function, the end behind activities: when nothing leads there, it is the nodes before it that lack a
/// way.
fn is_exit(map: &Map<'_>, node: &Node) -> bool {
    let is_invented = map.graph.interface.is_some() || !map.graph.activities.is_empty();
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
