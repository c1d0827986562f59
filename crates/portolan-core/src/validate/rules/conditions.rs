//! Conditions compare values of matching types, and key results can be met. Whether an edge can be taken is left to the
//! analysis, which knows how a run reaches it.

use std::collections::BTreeSet;

use super::{Code, Rule};
use crate::diagnostic::{Diagnostic, clip};
use crate::expr::{Expr, Misfit, misfits, never};
use crate::graph::{KeyResult, KeyResultCheck, Kind, Node};
use crate::source::{Span, Spanned};
use crate::validate::map::Map;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "never-holds",
            what: "No output can meet a key result. If the key result is required, the state is attempted until its \
                   attempts are used up.",
            fix: "Correct the key result, or remove it.",
        },
        Code {
            code: "other-type",
            what: "A condition compares a variable with a value of another type, compares numbers although the \
                   variable is not a number, or compares a variable that always has a value with `null`. Values of \
                   different types are never equal.",
            fix: "Compare with a value of the variable's type, or declare the variable with the other type. Use \
                  `exists` to test whether a variable has a value.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    let mut checked = BTreeSet::new();
    for node in map.nodes() {
        for (expr, span) in conditions(map, node) {
            if checked.insert((span, expr.text())) {
                compared(map, node, expr, span, faults);
            }
        }
        for result in key_results(node) {
            if let KeyResultCheck::Expr(expr) = &result.by {
                compared(map, node, expr, result.name.span, faults);
                never_met(map, node, expr, &result.name, faults);
            }
        }
    }
}

/// Returns the conditions that decide where a node leads, each with its span.
fn conditions<'g>(map: &Map<'g>, node: &'g Node) -> Vec<(&'g Expr, Span)> {
    let mut conditions: Vec<_> =
        map.guards(&node.id).into_iter().map(|(guard, _)| (&guard.value, guard.span)).collect();
    if let Kind::Loop(looping) = &node.kind {
        let all = [Some(looping.condition()), looping.stop.as_ref()].into_iter().flatten();
        conditions.extend(all.map(|expr| (expr, node.span)));
    }
    conditions
}

fn key_results(node: &Node) -> &[KeyResult] {
    match &node.kind {
        Kind::State(state) => &state.key_results,
        _ => &[],
    }
}

/// Reports comparisons with values of another type.
fn compared(map: &Map<'_>, node: &Node, expr: &Expr, span: Span, faults: &mut Vec<Diagnostic>) {
    for misfit in misfits(expr, &|path, value| map.known().can_be(&node.id, path, value)) {
        let name = misfit.path.split('.').next().unwrap_or_default();
        let Some(kind) = map.known().described(name) else { continue };
        let Misfit { path, comparison, value } = &misfit;
        let compared = clip(&format!("{path} {comparison} {value}"));
        let (message, help) = if comparison.is_relation() {
            (
                format!("`{compared}` compares numbers, but `{name}` is {kind}"),
                "compare with `==`, or declare it as a number",
            )
        } else if value.is_null() {
            (
                format!("`{compared}` compares with `null`, which `{name}` never is"),
                "use `exists` to test whether it has a value",
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

/// Reports a key result that never holds, unless it compares with another type, which `compared` reports.
fn never_met(map: &Map<'_>, node: &Node, expr: &Expr, name: &Spanned<String>, faults: &mut Vec<Diagnostic>) {
    let can_be = |path: &[String], value: Option<&serde_json::Value>| map.known().can_be(&node.id, path, value);
    if !misfits(expr, &can_be).is_empty() || !never(expr, &can_be) {
        return;
    }
    let span = name.span;
    let (name, text) = (&name.value, clip(&expr.text()));
    let message = format!("the key result `{name}`, `{text}`, never holds, whatever the values are");
    let help = "correct it, or remove it";
    faults.push(Diagnostic::warning("never-holds", message).at(span).help(help));
}
