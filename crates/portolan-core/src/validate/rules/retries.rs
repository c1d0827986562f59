//! Trying again comes to an end.

use super::{Code, Rule};
use crate::diagnostic::Diagnostic;
use crate::graph::{Kind, Node};
use crate::validate::map::Map;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "retry-loop-without-exit",
            what: "A `failed` edge leads back to where the node is reached again, and nothing bounds how often: neither `maxRetries` nor a `failed` edge to an end.",
            fix: "Give the node `maxRetries`, and a second `failed` edge to the end that the last failure leads to.",
        },
        Code {
            code: "retries-without-effect",
            what: "`maxRetries` is 0 or absent beside two `failed` edges, so that the one that retries is never taken.",
            fix: "Give the node a `maxRetries` of 1 or more, or remove the edge that retries.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    for node in map.nodes() {
        if matches!(node.kind, Kind::Checkpoint { .. } | Kind::End { .. } | Kind::Fork { .. }) {
            continue;
        }
        let budget = node.max_retries.as_ref().map_or(0, |count| count.value);
        match map.failed_edges(&node.id) {
            (Some(retry), None) if budget == 0 && leads_back(map, node, &retry.to.value) => faults.push(
                Diagnostic::error("retry-loop-without-exit", format!("`{}` can fail back to `{}` for ever", node.id, retry.to.value))
                    .at(retry.span)
                    .help("give the node `maxRetries`; the failure after the last retry takes a second `failed` edge to an end, or asks a person")
                    .repaired("every failure is tried again"),
            ),
            (Some(retry), Some(escalation)) if budget == 0 => faults.push(
                Diagnostic::warning("retries-without-effect", format!("`{}` never retries at `{}`: the first failure leads to `{}`", node.id, retry.to.value, escalation.to.value))
                    .at(retry.span)
                    .help("give the node a `maxRetries` of 1 or more"),
            ),
            _ => {}
        }
    }
}

/// Whether the work comes back to `node` by itself, without a person or a join in between.
fn leads_back<'g>(map: &Map<'g>, node: &'g Node, to: &'g crate::value::NodeId) -> bool {
    let stop = |at: &Node| at.id == node.id || matches!(at.kind, Kind::Checkpoint { .. });
    map.reach(to, stop).contains(&node.id)
}
