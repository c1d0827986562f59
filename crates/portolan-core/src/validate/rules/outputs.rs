//! Every outcome has somewhere to go, and every edge is for an outcome.

use super::{Code, Rule};
use crate::diagnostic::{Diagnostic, list};
use crate::graph::{Kind, Node, Trigger};
use crate::validate::map::Map;
use crate::value::{Outcome, PASSED};

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "output-without-edge",
            what: "A node may report an outcome that no edge serves, so that a run would have nowhere to go. `failed` needs no edge: the work is attempted again and then a person decides.",
            fix: "Add an edge with that `on`; for `passed`, an edge without `on` serves too.",
        },
        Code {
            code: "edge-for-no-output",
            what: "An edge waits for an outcome that its node never has.",
            fix: "Correct the `on`, or add the outcome to the node's `outputs`.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    for node in map.nodes() {
        match &node.kind {
            Kind::End { .. } => {}
            Kind::Fork { .. } => branches_are_unconditional(map, node, faults),
            Kind::Checkpoint { .. } | Kind::Start | Kind::Work { .. } | Kind::Join { .. } | Kind::Subflow { .. } => {
                without_edge(map, node, faults);
                for_no_output(map, node, faults);
            }
        }
    }
}

fn without_edge(map: &Map<'_>, node: &Node, faults: &mut Vec<Diagnostic>) {
    let Some(node) = map.node(&node.id) else { return };
    let outcomes = map.outcomes(node);
    let declared_nothing_but_failed = outcomes.is_empty();
    let missing = outcomes.iter().find(|outcome| map.edge_on(&node.id, outcome.as_str()).is_none());
    let what = match missing {
        Some(outcome) => format!("`{}` may end with `{outcome}`, but no edge leads on from there", node.id),
        None if declared_nothing_but_failed => format!("`{}` can only fail", node.id),
        None => return,
    };
    faults.push(
        Diagnostic::error("output-without-edge", what)
            .at(node.span)
            .help("add an edge for it; an edge without `on` serves `passed`")
            .repaired("the run ends there as blocked"),
    );
}

fn for_no_output(map: &Map<'_>, node: &Node, faults: &mut Vec<Diagnostic>) {
    let Some(node) = map.node(&node.id) else { return };
    let accepted = map.outcomes(node);
    let can_fail = !matches!(node.kind, Kind::Start);
    for edge in map.leaving(&node.id) {
        let fits = match &edge.on {
            Trigger::Done => accepted.iter().any(|outcome| outcome.as_str() == PASSED),
            Trigger::Outcome(on) if on.value.is_failed() => can_fail,
            Trigger::Outcome(on) => accepted.contains(&on.value),
        };
        if !fits {
            let on = edge.on.outcome().map_or(PASSED, Outcome::as_str);
            let mut words: Vec<&str> = accepted.iter().map(Outcome::as_str).collect();
            words.extend(can_fail.then_some("failed"));
            faults.push(
                Diagnostic::error(
                    "edge-for-no-output",
                    format!("an edge waits for `{on}`, which `{}` never ends with", node.id),
                )
                .at(edge.on_span())
                .help(format!("`{}` ends with {}", node.id, list(&words)))
                .did_you_mean(on, words)
                .repaired("that outcome is accepted"),
            );
        }
    }
}

fn branches_are_unconditional(map: &Map<'_>, fork: &Node, faults: &mut Vec<Diagnostic>) {
    for edge in map.leaving(&fork.id) {
        if edge.on != Trigger::Done {
            faults.push(
                Diagnostic::error(
                    "edge-for-no-output",
                    format!(
                        "the branch `{}` of `{}` waits for an outcome, but a fork opens all its branches",
                        edge.to.value, fork.id
                    ),
                )
                .at(edge.on_span())
                .help("remove the `on`; what follows the branches hangs on the outcome of the join")
                .repaired("the branch is opened all the same"),
            );
        }
    }
}
