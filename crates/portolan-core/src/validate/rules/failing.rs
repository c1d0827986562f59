//! Work that a gate rejects does not reach the target of its success.

use std::collections::BTreeSet;

use super::{Code, Rule};
use crate::diagnostic::Diagnostic;
use crate::graph::{Edge, Kind, Node};
use crate::validate::map::Map;
use crate::value::NodeId;

pub(super) const RULE: Rule = Rule {
    codes: &[Code {
        code: "failed-goes-on",
        what: "Work that a gate or a checked step rejects reaches the same step as work that passes, and no gate, \
               checked step or person examines it on the way. The gate holds nothing back.",
        fix: "Lead `failed` back to the work, to a person, to another gate, or to an end that is not a success.",
    }],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    // An error edge of a function continues without the failed result.
    if map.graph.interface.is_some() {
        return;
    }
    for node in map.nodes().filter(|node| judges(node)) {
        let success = map.outcomes(node).into_iter().next();
        let Some(passed) = success.and_then(|outcome| map.edge_on(&node.id, outcome.as_str())) else { continue };
        let (retry, escalation) = map.failed_edges(&node.id);
        let failed =
            [retry, escalation].into_iter().flatten().find(|failed| leads_on(map, node, failed, &passed.to.value));
        faults.extend(failed.map(|failed| goes_on(node, failed, &passed.to.value)));
    }
}

fn judges(node: &Node) -> bool {
    matches!(node.kind, Kind::Work { gate: true, .. }) || !node.accept.is_empty()
}

/// Returns whether a failure reaches the target of success without passing a gate, a checked step or a checkpoint.
fn leads_on<'g>(map: &Map<'g>, gate: &'g Node, failed: &'g Edge, passed: &NodeId) -> bool {
    // A branch whose work fails ends at the join as failed.
    if map.node(&failed.to.value).is_some_and(|node| matches!(node.kind, Kind::Join { .. })) {
        return false;
    }
    let mut reached: BTreeSet<&NodeId> = BTreeSet::new();
    let mut waiting = vec![&failed.to.value];
    while let Some(id) = waiting.pop() {
        if id == passed {
            return true;
        }
        let Some(node) = map.node(id).filter(|node| reached.insert(&node.id)) else { continue };
        let looked_at = node.id == gate.id || judges(node) || matches!(node.kind, Kind::Checkpoint { .. });
        if !looked_at {
            waiting.extend(map.next(node));
        }
    }
    false
}

fn goes_on(gate: &Node, failed: &Edge, passed: &NodeId) -> Diagnostic {
    let (id, to) = (&gate.id, &failed.to.value);
    let message = if to == passed {
        format!("`{id}` leads to `{passed}` both when it fails and when it passes")
    } else {
        format!("work that `{id}` rejects continues through `{to}` to `{passed}`, as if it had passed")
    };
    let help = "lead `failed` back to the work, to a person, to another gate, or to an end that is not a success";
    Diagnostic::warning("failed-goes-on", message).at(failed.on_span()).help(help)
}
