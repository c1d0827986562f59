//! Every condition can hold, and every way out that has one can be taken.

use std::collections::BTreeSet;

use super::{Code, Rule};
use crate::diagnostic::{Diagnostic, clip, list};
use crate::expr::{Expr, Misfit, misfits, never};
use crate::graph::{Finding, Kind, Node};
use crate::source::Span;
use crate::validate::map::Map;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "never-holds",
            what: "No values of what it reads make a condition hold: what stands behind it never happens.",
            fix: "Correct the condition, or remove what it stands before.",
        },
        Code {
            code: "other-type",
            what: "A condition compares a variable with a value that it can never have, because it is of another type.",
            fix: "Compare with a value of the variable's type, or declare the variable with the other type.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    let mut said = BTreeSet::new();
    for node in map.nodes() {
        for (expr, span, what) in conditions(map, node) {
            if said.insert((span, expr.text())) {
                compared(map, node, expr, span, faults);
                dead(map, node, expr, span, what.as_deref(), faults);
            }
        }
        if let Kind::Switch = node.kind {
            covered(map, node, &mut said, faults);
        }
    }
}

/// The conditions of a node, each with its place and, where the place does not say it, what it is a condition of: those
/// of its ways out, of a loop, and what is to hold of a state's output.
fn conditions<'g>(map: &Map<'g>, node: &'g Node) -> Vec<(&'g Expr, Span, Option<String>)> {
    let guards = map.guards(&node.id).into_iter().map(|(guard, _)| (&guard.value, guard.span, None));
    let mut conditions: Vec<_> = guards.collect();
    match &node.kind {
        Kind::Loop(looping) => {
            let all = [Some(looping.condition()), looping.stop.as_ref()].into_iter().flatten();
            conditions
                .extend(all.map(|expr| (expr, node.span, Some(format!("the condition of the loop `{}`", node.name)))));
        }
        Kind::State(state) => {
            for result in &state.key_results {
                if let Finding::Expr(expr) = &result.by {
                    let what = format!("the key result `{}`", result.name.value);
                    conditions.push((expr, result.name.span, Some(what)));
                }
            }
        }
        _ => {}
    }
    conditions
}

/// Comparisons with values of another type.
fn compared(map: &Map<'_>, node: &Node, expr: &Expr, span: Span, faults: &mut Vec<Diagnostic>) {
    for misfit in misfits(expr, &|path, value| map.known().can_be(&node.id, path, value)) {
        let name = misfit.path.split('.').next().unwrap_or_default();
        let Some(kind) = map.known().described(name) else { continue };
        let Misfit { path, comparison, value } = &misfit;
        let compared = clip(&format!("{path} {comparison} {value}"));
        let (message, help) = if comparison.is_relation() {
            (
                format!("`{compared}` compares numbers, and `{name}` is {kind}"),
                "compare with `==`, or declare it as a number",
            )
        } else if value.is_null() {
            (
                format!("`{compared}` compares with `null`, which `{name}` never is"),
                "ask with `exists` whether it has a value",
            )
        } else {
            (
                format!("`{compared}` compares {kind} with another type: they are never equal"),
                "compare with a value of its type, or declare the variable with the other type",
            )
        };
        faults.push(Diagnostic::warning("other-type", message).at(span).help(help));
    }
}

/// A condition that never holds; what compares with another type has been said.
fn dead(map: &Map<'_>, node: &Node, expr: &Expr, span: Span, what: Option<&str>, faults: &mut Vec<Diagnostic>) {
    let can_be = |path: &[String], value: Option<&serde_json::Value>| map.known().can_be(&node.id, path, value);
    if !misfits(expr, &can_be).is_empty() || !never(&[expr], &[], &can_be) {
        return;
    }
    let text = expr.text();
    let message = match what {
        None => format!("`{}` never holds, whatever the values are", clip(&text)),
        Some(what) => format!("{what}, `{}`, never holds, whatever the values are", clip(&text)),
    };
    let help = "correct it, or remove what it stands before";
    faults.push(Diagnostic::warning("never-holds", message).at(span).help(help));
}

/// Ways out that are never taken, because the conditions before them hold whenever theirs does.
fn covered(map: &Map<'_>, node: &Node, said: &mut BTreeSet<(Span, String)>, faults: &mut Vec<Diagnostic>) {
    let can_be = |path: &[String], value: Option<&serde_json::Value>| map.known().can_be(&node.id, path, value);
    let mut earlier: Vec<&Expr> = Vec::new();
    for (guard, edge) in map.guards(&node.id) {
        let text = guard.value.text();
        let is_dead = never(&[&guard.value], &[], &can_be);
        if !is_dead && never(&[&guard.value], &earlier, &can_be) && said.insert((guard.span, format!("covered {text}")))
        {
            let texts: Vec<String> = earlier.iter().map(|expr| expr.text()).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let (to, text) = (&edge.to.value, clip(&text));
            let message = format!("the way to `{to}` is never taken: when `{text}` holds, so does one before it");
            let help = format!("before it stand {}; put the narrower condition first", list(&texts));
            faults.push(Diagnostic::warning("shadowed-edge", message).at(guard.span).help(help));
        }
        earlier.push(&guard.value);
    }
}
