//! Variables have a value by the time a condition reads them.
//!
//! Reports only what is certain: a variable with a default, a required one, and one that a step may report count as
//! set. A step that has a technique may report everything; if no step declares what it reports, every step may.

use std::collections::{BTreeMap, BTreeSet};

use super::{Code, Rule};
use crate::diagnostic::{Diagnostic, clip, list};
use crate::expr::Expr;
use crate::graph::{Edge, Kind, Node, Trigger};
use crate::source::Span;
use crate::validate::map::Map;
use crate::value::NodeId;

pub(super) const RULE: Rule = Rule {
    codes: &[Code {
        code: "read-before-set",
        what: "A condition reads a variable before anything can give it a value. On every path, the steps that set the \
               variable come later.",
        fix: "Ask before the condition, give the variable a `default`, or declare with `required: true` that a run \
              begins with it.",
    }],
    check,
};

/// The maximum number of visited nodes for all variables together: a hint is not worth a minute.
const MAX_VISITS: usize = 2_000_000;

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    if map.graph.variables.is_empty() {
        return;
    }
    let setters = setters(map);
    let mut visits = 0;
    let mut reached: BTreeMap<&str, BTreeSet<&NodeId>> = BTreeMap::new();
    let mut reported = BTreeSet::new();
    for (node, span, name) in readers(map) {
        let Some(setting) = setters.get(name) else { continue };
        if !reached.contains_key(name) {
            reached.insert(name, behind(map, setting, &mut visits));
        }
        if visits > MAX_VISITS {
            return;
        }
        // A question may itself depend on the condition that it has not been asked yet.
        let guards_it = setting.iter().any(|setter| is_of_one_part(setter, node));
        if reached[name].contains(&node.id) || guards_it || !reported.insert((span, name)) {
            continue;
        }
        let named = setting.iter().filter(|setter| !setter.gives_all());
        let later: BTreeSet<&str> = named.filter_map(|setter| Some(setter.seat.as_ref()?.id.as_str())).collect();
        let later = list(&later.into_iter().collect::<Vec<_>>());
        let message = format!("`{}` has no value yet when it is read: it is set later, at {later}", clip(name));
        let help = "ask for it earlier, or give the variable a default";
        faults.push(Diagnostic::warning("read-before-set", message).at(span).help(help));
    }
}

/// Returns every variable that a condition reads, with the node and the span.
fn readers<'g>(map: &Map<'g>) -> Vec<(&'g Node, Span, &'g str)> {
    let mut readers = Vec::new();
    for node in map.nodes() {
        for edge in map.leaving(&node.id) {
            let Edge { on: Trigger::When(guard), .. } = edge else { continue };
            readers.extend(names(&guard.value).into_iter().map(|name| (node, guard.span, name)));
        }
        if let Kind::Loop(looping) = &node.kind {
            let read = names(looping.condition()).into_iter().chain(looping.stop.iter().flat_map(names));
            readers.extend(read.map(|name| (node, node.span, name)));
        }
    }
    readers
}

/// Returns the variables whose values matter in a condition, without those that are only tested for existence.
fn names(expr: &Expr) -> Vec<&str> {
    match expr {
        Expr::When(when) => when.names(),
        Expr::Condition(condition) => {
            let existing = condition.existing();
            condition.names().into_iter().filter(|name| !existing.contains(name)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the nodes that set each variable that has no value at first.
fn setters<'g>(map: &Map<'g>) -> BTreeMap<&'g str, Vec<&'g Node>> {
    let variables = map.graph.variables.iter().filter(|variable| variable.default.is_none() && !variable.required);
    let mut setters: BTreeMap<&str, Vec<&Node>> =
        variables.map(|variable| (variable.name.value.as_str(), Vec::new())).collect();
    for node in map.nodes() {
        for name in node.gives() {
            if let Some(setting) = setters.get_mut(name) {
                setting.push(node);
            }
        }
    }
    // If nothing in the text sets a variable, its source is unknown.
    setters.retain(|_, setting| !setting.is_empty());
    let work: Vec<&Node> = map.nodes().filter(|node| node.gives_all()).collect();
    if setters.len().saturating_mul(work.len()) > MAX_VISITS {
        return BTreeMap::new();
    }
    setters.values_mut().for_each(|setting| setting.extend(&work));
    setters
}

/// Returns the nodes that can be reached after one of these nodes.
fn behind<'g>(map: &Map<'g>, nodes: &[&'g Node], visits: &mut usize) -> BTreeSet<&'g NodeId> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&NodeId> = nodes.iter().flat_map(|node| map.next(node)).collect();
    while let Some(id) = waiting.pop() {
        *visits += 1;
        if *visits > MAX_VISITS {
            break;
        }
        if let Some(node) = map.node(id).filter(|node| reached.insert(&node.id)) {
            waiting.extend(map.next(node));
        }
    }
    reached
}

/// Returns whether two nodes come from the same part of the text, such as a question and its condition.
fn is_of_one_part(one: &Node, other: &Node) -> bool {
    match (&one.seat, &other.seat) {
        (Some(one), Some(other)) => one.activity == other.activity && one.id == other.id,
        _ => false,
    }
}
