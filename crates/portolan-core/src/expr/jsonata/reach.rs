//! Finds the parts of the context that an expression can read, so that only those are converted.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};

use super::guard::COMPILED;
use super::parts::{Members, Part, parts};

/// The functions that read earlier outputs.
pub(super) const LOOKING_BACK: &[&str] = &["previousNode", "nodeExecution", "nodeExecutions"];

/// The functions that can default an argument to the context, each with the number of arguments at which it does not.
const CONTEXTUAL: &[(&str, usize)] =
    &[("boolean", 1), ("each", 2), ("keys", 1), ("lookup", 2), ("not", 1), ("sift", 2), ("spread", 1), ("string", 1)];

/// Checks whether a call with this many arguments uses the context as an argument.
pub(super) fn takes_context(name: &str, arguments: usize) -> bool {
    CONTEXTUAL.iter().any(|(known, takes)| *known == name && arguments < *takes)
}

/// The data that an expression can read.
pub(super) struct Reach {
    /// The readable part of the context, by the names at the top; `None` if it may read everything.
    pub(super) members: Option<Members>,
    /// All functions and variables in it, including those of the guard.
    pub(super) mentions: BTreeSet<String>,
    /// Whether it can read outputs before the latest of each node.
    pub(super) looks_back: bool,
    /// Whether it has `@`, `#` or `%`, for which the library keeps an object with each item.
    pub(super) joins: bool,
    /// Whether it has its own functions, ranges, or text to evaluate, which can take long with any input.
    pub(super) heavy: bool,
    /// The plain path, if the expression is nothing else.
    pub(super) path: Option<Plain>,
}

/// A path only through members, from the top of the context or from a variable.
pub(super) struct Plain {
    /// The variable at its start.
    pub(super) variable: Option<String>,
    /// The members that it follows.
    pub(super) segments: Vec<String>,
}

impl Reach {
    /// Checks whether it calls a function of ours; the text of an `$eval` may call any.
    pub(super) fn calls(&self, name: &str) -> bool {
        self.mentions.contains(name) || self.mentions.contains(COMPILED)
    }

    pub(super) fn of(ast: &AstNode) -> Reach {
        let mut look = Look::default();
        look.at(ast, true);
        let looks_back = look.mentions.iter().any(|name| name == "eval" || LOOKING_BACK.contains(&name.as_str()));
        let evals = look.mentions.contains("eval");
        let everything = look.everything || evals;
        let members = (!everything).then(|| {
            let whole = || look.names.into_iter().map(|name| (name, Part::Whole)).collect();
            parts(ast).unwrap_or_else(whole)
        });
        Reach {
            members,
            mentions: look.mentions,
            looks_back,
            joins: look.joins || evals,
            heavy: look.heavy || evals,
            path: plain(ast),
        }
    }
}

/// Returns the path of `a`, `a.b`, `$.a.b`, `$$.a.b`, `$x` and `$x.a.b`.
fn plain(ast: &AstNode) -> Option<Plain> {
    let steps = match ast {
        AstNode::Name(name) => return Some(Plain { variable: None, segments: vec![name.clone()] }),
        AstNode::Variable(name) if !name.is_empty() => {
            return Some(Plain { variable: Some(name.clone()), segments: Vec::new() });
        }
        AstNode::Path { steps } => steps,
        _ => return None,
    };
    let (variable, steps) = match steps.split_first() {
        Some((first, rest)) if is_bare(first) => match &first.node {
            AstNode::Variable(name) | AstNode::ParentVariable(name) if name.is_empty() => (None, rest),
            AstNode::Variable(name) => (Some(name.clone()), rest),
            _ => (None, &steps[..]),
        },
        _ => (None, &steps[..]),
    };
    let segment = |step: &PathStep| match &step.node {
        AstNode::Name(name) if is_bare(step) => Some(name.clone()),
        _ => None,
    };
    let segments: Vec<String> = steps.iter().map(segment).collect::<Option<_>>()?;
    (variable.is_some() || !segments.is_empty()).then_some(Plain { variable, segments })
}

fn is_bare(step: &PathStep) -> bool {
    step.stages.is_empty() && is_unjoined(step)
}

/// Checks whether a step is without `@`, `#` and `%`.
pub(super) fn is_unjoined(step: &PathStep) -> bool {
    step.focus.is_none()
        && step.index_var.is_none()
        && step.ancestor_label.is_none()
        && !step.is_tuple
        && !step.inner_tuple
}

/// Returns the names that an expression binds: by `:=`, `@`, `#`, and as parameters of its functions.
pub(super) fn bound_names(ast: &AstNode) -> BTreeSet<String> {
    let mut look = Look::default();
    look.at(ast, true);
    look.bound
}

#[derive(Default)]
struct Look {
    names: BTreeSet<String>,
    everything: bool,
    joins: bool,
    heavy: bool,
    mentions: BTreeSet<String>,
    bound: BTreeSet<String>,
}

impl Look {
    /// Visits a node; `top` is whether its context may be that of the whole expression.
    fn at(&mut self, node: &AstNode, top: bool) {
        jsonata_core::value::with_stack(|| self.level(node, top));
    }

    fn all<'n>(&mut self, nodes: impl IntoIterator<Item = &'n AstNode>, top: bool) {
        for node in nodes {
            self.at(node, top);
        }
    }

    fn level(&mut self, node: &AstNode, top: bool) {
        match node {
            AstNode::Name(name) => {
                self.names.insert(name.clone());
            }
            AstNode::Path { steps } => self.path(steps, top),
            AstNode::Variable(name) => {
                // A function used as a value may receive the context later.
                self.everything |= (top && name.is_empty()) || CONTEXTUAL.iter().any(|(known, _)| known == name);
                self.mentions.insert(name.clone());
            }
            AstNode::ParentVariable(name) => {
                self.everything |= name.is_empty();
                self.mentions.insert(name.clone());
            }
            AstNode::Wildcard | AstNode::Descendant => self.everything |= top,
            AstNode::Parent(_) => self.everything = true,
            AstNode::Function { name, args, .. } => {
                self.everything |= top && takes_context(name, args.len());
                self.mentions.insert(name.clone());
                self.all(args, top);
            }
            AstNode::Call { procedure, args } => {
                self.at(procedure, top);
                self.all(args, top);
            }
            AstNode::Lambda { params, body, signature, .. } => {
                self.heavy = true;
                self.bound.extend(params.iter().cloned());
                self.everything |= top && signature.as_ref().is_some_and(|signature| signature.contains('-'));
                self.at(body, top);
            }
            AstNode::Binary { op, lhs, rhs } => {
                self.heavy |= *op == BinaryOp::Range;
                if let (BinaryOp::ColonEqual, AstNode::Variable(name)) = (op, &**lhs) {
                    self.bound.insert(name.clone());
                }
                self.at(lhs, top);
                self.at(rhs, top);
            }
            AstNode::Unary { operand: inner, .. } | AstNode::FunctionApplication(inner) => self.at(inner, top),
            AstNode::Array(items) | AstNode::ArrayGroup(items) | AstNode::Block(items) => self.all(items, top),
            AstNode::Object(pairs) => self.pairs(pairs, top),
            AstNode::ObjectTransform { input, pattern } => {
                self.at(input, top);
                self.pairs(pattern, false);
            }
            AstNode::Conditional { condition, then_branch, else_branch } => {
                self.at(condition, top);
                self.at(then_branch, top);
                self.all(else_branch.as_deref(), top);
            }
            AstNode::Sort { input, terms } => {
                self.at(input, top);
                self.all(terms.iter().map(|(term, _)| term), false);
            }
            AstNode::Transform { location, update, delete } => {
                self.at(location, false);
                self.at(update, false);
                self.all(delete.as_deref(), false);
            }
            AstNode::String(_) | AstNode::Number(_) | AstNode::Boolean(_) | AstNode::Null | AstNode::Undefined => {}
            AstNode::Placeholder | AstNode::Regex { .. } => {}
        }
    }

    fn pairs(&mut self, pairs: &[(AstNode, AstNode)], top: bool) {
        for (key, value) in pairs {
            self.at(key, top);
            self.at(value, top);
        }
    }

    fn path(&mut self, steps: &[PathStep], top: bool) {
        for (at, step) in steps.iter().enumerate() {
            self.joins |= step.is_tuple || step.focus.is_some() || step.index_var.is_some();
            self.bound.extend(step.focus.iter().chain(&step.index_var).cloned());
            // After `@` the context stays that of before the step.
            self.everything |= top && step.focus.is_some();
            // `$` and `$$` before a name read only that name, unless an `@` after it keeps them as the context.
            let is_plain_name = |next: &PathStep| matches!(next.node, AstNode::Name(_)) && next.focus.is_none();
            let followed = is_bare(step) && steps.get(at + 1).is_some_and(is_plain_name);
            match &step.node {
                AstNode::Variable(name) | AstNode::ParentVariable(name) if name.is_empty() && followed => {}
                node => self.at(node, top && at == 0),
            }
            for stage in &step.stages {
                if let Stage::Filter(filter) = stage {
                    self.at(filter, false);
                }
            }
        }
    }
}
