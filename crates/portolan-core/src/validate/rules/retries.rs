//! Retries end.

use indexmap::IndexMap;

use super::{Code, Rule};
use crate::diagnostic::Diagnostic;
use crate::graph::{Edge, Kind, Node};
use crate::validate::circles::circles;
use crate::validate::map::Map;
use crate::value::NodeId;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "retry-loop-without-exit",
            what: "A `failed` edge leads back to a step from which the node is reached again, without a question on \
                   the way. A run can repeat the cycle forever, because the node has neither `maxRetries` nor a \
                   `failed` edge to an end.",
            fix: "Give the node `maxRetries`, and a second `failed` edge to the end that the last failure leads to. \
                  Without that edge, a person decides after the last retry.",
        },
        Code {
            code: "retries-without-effect",
            what: "A node has two `failed` edges and a `maxRetries` that is 0 or absent, so the edge that retries is \
                   never taken. Or a join has `maxRetries`, but no `failed` edge leads back from it; a join alone \
                   cannot be tried again.",
            fix: "Give the node a `maxRetries` of 1 or more, or remove the edge that retries. Lead a `failed` edge of \
                  the join back to its fork or to a step before it.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    // An error edge of a function is no retry, and the function's limits bound its cycles.
    if map.graph.interface.is_some() {
        return;
    }
    let circle_of = circles_without_people(map);
    let leads_back = |node: &Node, to: &NodeId| circle_of.get(&node.id) == circle_of.get(to);
    for node in map.nodes() {
        let does_nothing =
            matches!(node.kind, Kind::Start | Kind::Checkpoint { .. } | Kind::End { .. } | Kind::Fork { .. });
        // A phase has a cap of its own, which may be 0, after which a person decides.
        if does_nothing || node.phase.is_some() {
            continue;
        }
        let budget = node.max_retries.as_ref().map_or(0, |count| count.value);
        match map.failed_edges(&node.id) {
            (Some(retry), None) if budget == 0 && leads_back(node, &retry.to.value) => {
                faults.push(without_exit(node, retry));
            }
            (Some(retry), Some(escalation)) if budget == 0 => faults.push(without_effect(node, retry, escalation)),
            (None, _) if budget > 0 && matches!(node.kind, Kind::Join { .. }) => faults.extend(idle(node)),
            _ => {}
        }
    }
}

fn without_exit(node: &Node, retry: &Edge) -> Diagnostic {
    Diagnostic::error("retry-loop-without-exit", format!("`{}` can lead back to `{}` on failure without limit", node.id, retry.to.value))
        .at(retry.span)
        .help("give the node `maxRetries`; the failure after the last retry takes a second `failed` edge to an end, or asks a person")
        .repaired("every failure is tried again")
}

fn without_effect(node: &Node, retry: &Edge, escalation: &Edge) -> Diagnostic {
    let message = format!(
        "`{}` never retries at `{}`: the first failure leads to `{}`",
        node.id, retry.to.value, escalation.to.value
    );
    Diagnostic::warning("retries-without-effect", message)
        .at(retry.span)
        .help("give the node a `maxRetries` of 1 or more")
}

fn idle(join: &Node) -> Option<Diagnostic> {
    let message = format!("`maxRetries` of the join `{}` does nothing: a join alone cannot be tried again", join.id);
    Some(
        Diagnostic::warning("retries-without-effect", message)
            .at(join.max_retries.as_ref()?.span)
            .help("lead a `failed` edge back to the fork, or to a step before it"),
    )
}

/// Returns the cycles that contain no question: a person who is asked may leave the cycle.
fn circles_without_people<'g>(map: &Map<'g>) -> IndexMap<&'g NodeId, usize> {
    let numbers: IndexMap<&NodeId, usize> = map.nodes().enumerate().map(|(at, node)| (&node.id, at)).collect();
    let next = |node: &'g Node| match node.kind {
        // A person, or the maximum number of passes of the loop, bounds the cycle.
        Kind::Checkpoint { .. } | Kind::Repeat { .. } => Vec::new(),
        _ => map.next(node).into_iter().filter_map(|id| numbers.get(id).copied()).collect(),
    };
    let next: Vec<Vec<usize>> = map.nodes().map(next).collect();
    numbers.keys().copied().zip(circles(&next)).collect()
}
