//! Finds the names that an expression reads from the top of its context, to report missing ones before evaluation.
//!
//! Only certain reads count. A path, a filter or an order inside a value does not read from the top.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, PathStep, Stage};

/// Returns the names in alphabetical order.
pub(super) fn roots(ast: &AstNode) -> Vec<String> {
    let mut names = BTreeSet::new();
    look(ast, true, &mut names);
    names.into_iter().collect()
}

/// Visits a node; `top` is whether its context is that of the whole expression.
fn look(node: &AstNode, top: bool, names: &mut BTreeSet<String>) {
    jsonata_core::value::with_stack(|| level(node, top, names));
}

fn all<'n>(nodes: impl IntoIterator<Item = &'n AstNode>, top: bool, names: &mut BTreeSet<String>) {
    nodes.into_iter().for_each(|node| look(node, top, names));
}

fn level(node: &AstNode, top: bool, names: &mut BTreeSet<String>) {
    match node {
        AstNode::Name(name) if top => {
            names.insert(name.clone());
        }
        AstNode::Path { steps } => path(steps, top, names),
        AstNode::Function { args, .. } => all(args, top, names),
        AstNode::Call { procedure, args } => {
            look(procedure, top, names);
            all(args, top, names);
        }
        // A function with a signature may be called with another context than that of its definition.
        AstNode::Lambda { body, signature, .. } => look(body, top && signature.is_none(), names),
        AstNode::Binary { lhs, rhs, .. } => all([&**lhs, &**rhs], top, names),
        AstNode::Unary { operand: inner, .. } | AstNode::FunctionApplication(inner) => look(inner, top, names),
        AstNode::Array(items) | AstNode::ArrayGroup(items) | AstNode::Block(items) => all(items, top, names),
        AstNode::Object(pairs) => all(pairs.iter().flat_map(|(key, value)| [key, value]), top, names),
        AstNode::ObjectTransform { input, pattern } => {
            look(input, top, names);
            all(pattern.iter().flat_map(|(key, value)| [key, value]), false, names);
        }
        AstNode::Conditional { condition, then_branch, else_branch } => {
            all([&**condition, &**then_branch], top, names);
            all(else_branch.as_deref(), top, names);
        }
        AstNode::Sort { input, terms } => {
            look(input, top, names);
            all(terms.iter().map(|(term, _)| term), false, names);
        }
        AstNode::Transform { location, update, delete } => {
            all([&**location, &**update], false, names);
            all(delete.as_deref(), false, names);
        }
        _ => {}
    }
}

fn path(steps: &[PathStep], top: bool, names: &mut BTreeSet<String>) {
    for (at, step) in steps.iter().enumerate() {
        let next = steps.get(at + 1).map(|next| &next.node);
        match (&step.node, next) {
            // `$$` is the top everywhere, `$` only at the top.
            (AstNode::ParentVariable(variable), Some(AstNode::Name(name))) if variable.is_empty() => {
                names.insert(name.clone());
            }
            (AstNode::Variable(variable), Some(AstNode::Name(name))) if variable.is_empty() && top && at == 0 => {
                if step.stages.is_empty() {
                    names.insert(name.clone());
                }
            }
            (node, _) => look(node, top && at == 0, names),
        }
        for stage in &step.stages {
            if let Stage::Filter(filter) = stage {
                look(filter, false, names);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Jsonata;

    fn roots(text: &str) -> String {
        Jsonata::parse(text).expect("it can be read").roots().join(" ")
    }

    #[test]
    fn only_what_is_asked_of_the_top_counts() {
        assert_eq!(roots("$.a.b + $$.c[d > $.e] & f.g"), "a c f");
        assert_eq!(roots("a.{ 'x': b, 'y': $$.c }"), "a c");
        assert_eq!(roots("$map(a, function($v, $i) { $v.b & c })"), "a c");
        assert_eq!(roots("a^(>b)[0]{c: $sum(d)}"), "a");
        assert_eq!(roots("( $x := a; $x.b ? $count(c) : [d, -e] )"), "a c d e");
        assert_eq!(roots("$.`my-node`.a ~> $sum()"), "my-node");
        assert_eq!(roots("$.my-node.a"), "my node");
        assert_eq!(roots("$item.a & $index & 'a.b'"), "");
        assert_eq!(roots("$.*.a & **.b"), "");
    }
}
