//! The array of a loop has a value.

use super::{Code, Rule};
use crate::diagnostic::{Diagnostic, clip};
use crate::graph::{Kind, LoopKind, Node};
use crate::validate::map::Map;

pub(super) const RULE: Rule = Rule {
    codes: &[Code {
        code: "never-set",
        what: "A loop iterates over the items of an array that nothing gives a value to.",
        fix: "Let a step report the variable in its `outputs`, give it a `default`, or declare with `required: true` \
              that a run begins with it.",
    }],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    // The variables of a function are those that its inputs name, which its dialect checks.
    if map.graph.interface.is_none() {
        faults.extend(map.nodes().filter_map(|node| loop_over_nothing(map, node)));
    }
}

fn loop_over_nothing(map: &Map<'_>, node: &Node) -> Option<Diagnostic> {
    let Kind::Loop(looping) = &node.kind else { return None };
    let LoopKind::ForEach { over, .. } = &looping.kind else { return None };
    let text = over.text().replace('`', "");
    let name = text.split('.').next().unwrap_or_default();
    let variable = map.graph.variables.iter().find(|variable| variable.name.value == name)?;
    let begins_with_it = variable.required || variable.default.is_some();
    if begins_with_it || map.nodes().any(|node| node.gives_all() || node.gives().contains(&name)) {
        return None;
    }
    let message = format!("the loop `{}` iterates over `{}`, which nothing gives a value to", node.name, clip(&text));
    let help = "let a step report it (`outputs`), give it a `default`, or declare with `required: true` that a run begins with it";
    Some(Diagnostic::error("never-set", message).at(node.span).help(help).repaired("a person is asked for it"))
}
