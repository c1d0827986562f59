//! Every outcome has an edge, and every edge serves an outcome.

use std::collections::BTreeSet;

use super::{Code, Rule};
use crate::diagnostic::{Diagnostic, clip, list};
use crate::graph::{Edge, Kind, Node, Trigger};
use crate::validate::map::Map;
use crate::value::{Outcome, PASSED};

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "output-without-edge",
            what: "A node can report an outcome that no edge serves, or it can only fail. A run would have no next \
                   step. `failed` needs no edge: the work is attempted again, and then a person decides.",
            fix: "Add an edge with that `on`; for `passed`, an edge without `on` is enough. If the node can only fail, \
                  add an outcome to its `outputs`, or another answer, with an edge for it.",
        },
        Code {
            code: "edge-for-no-output",
            what: "An edge waits for an outcome that its node never has, or an edge of a fork waits for an outcome \
                   although a fork opens all its branches. An edge without `on` waits for `passed`.",
            fix: "Correct the `on`, or add the outcome to the node's `outputs`. Remove the `on` from an edge of a \
                  fork.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    // The nodes of a function have a single exit, which its dialect requires by name.
    if map.graph.interface.is_some() {
        return;
    }
    for node in map.nodes() {
        match &node.kind {
            Kind::End { .. } => {}
            // The analysis finds out whether one of its conditions always holds.
            Kind::Switch => for_no_output(map, node, faults),
            Kind::Fork { .. } => branches_are_unconditional(map, node, faults),
            _ => {
                without_edge(map, node, faults);
                for_no_output(map, node, faults);
            }
        }
    }
}

fn without_edge(map: &Map<'_>, node: &Node, faults: &mut Vec<Diagnostic>) {
    let outcomes = map.outcomes(node);
    if outcomes.is_empty() && !map.strays(&node.id) {
        let (what, help) = match node.kind {
            Kind::Checkpoint { .. } => ("asks a person who can only answer `failed`", "add an edge for another answer"),
            _ => ("can only fail", "add `passed` to its `outputs`, and an edge for it"),
        };
        faults.push(stranded(node, format!("`{}` {what}", node.id), help));
    }
    let served = |outcome: &Outcome| {
        let loose = map.loose(&node.id).iter().any(|edge| serves(edge, outcome));
        loose || map.edge_on(&node.id, outcome.as_str()).is_some()
    };
    for outcome in outcomes.iter().filter(|outcome| !served(outcome)) {
        let what = format!("`{}` can end with `{}`, but no edge serves that outcome", node.id, clip(outcome.as_str()));
        let help = match outcome.as_str() {
            PASSED => "add an edge to the next step; it serves `passed` when it has no `on`".to_owned(),
            word => format!("add an edge with `\"on\": \"{}\"`", clip(word)),
        };
        faults.push(stranded(node, what, &help));
    }
}

fn stranded(node: &Node, what: String, help: &str) -> Diagnostic {
    Diagnostic::error("output-without-edge", what).at(node.span).help(help).repaired("the run ends there as blocked")
}

fn serves(edge: &Edge, outcome: &Outcome) -> bool {
    edge.on.outcome().map_or(outcome.as_str() == PASSED, |on| on == outcome)
}

fn for_no_output(map: &Map<'_>, node: &Node, faults: &mut Vec<Diagnostic>) {
    let can_fail = !matches!(node.kind, Kind::Start);
    let accepted = map.outcomes(node);
    let words: Vec<&str> = accepted.iter().map(Outcome::as_str).chain(can_fail.then_some("failed")).collect();
    let known: BTreeSet<&str> = words.iter().copied().collect();
    for edge in map.leaving(&node.id) {
        let on = edge.on.outcome().map_or(PASSED, Outcome::as_str);
        if known.contains(on) {
            continue;
        }
        let message = match edge.on {
            Trigger::Outcome(_) => format!("an edge waits for `{}`, which `{}` never ends with", clip(on), node.id),
            Trigger::Done | Trigger::When(_) => {
                format!("an edge without `on` waits for `passed`, which `{}` never ends with", node.id)
            }
        };
        let fault = Diagnostic::error("edge-for-no-output", message).at(edge.on_span()).help(format!(
            "`{}` ends with {}",
            node.id,
            list(&words)
        ));
        let fault = if edge.on == Trigger::Done { fault } else { fault.did_you_mean(on, words.iter().copied()) };
        let repair = if can_fail { "that outcome is accepted" } else { "it is never taken" };
        faults.push(fault.repaired(repair));
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
                .help("remove the `on`; what follows the branches depends on the outcome of the join")
                .repaired("the branch is opened anyway"),
            );
        }
    }
}
