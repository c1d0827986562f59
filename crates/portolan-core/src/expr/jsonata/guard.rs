//! Rewrites an expression so that it stays within its limits.
//!
//! The library limits time, depth and sequences between two steps of an evaluation, but one step can still make a text
//! of a terabyte. So every node that makes text or contains values is wrapped in a guard call, see [`super::bounds`]. A
//! value that contains others is weighed when it is made, and shared values count each time. So no later traversal of a
//! value can take longer than its size allows.
//!
//! The names of guard calls contain a blank, so that no expression can spell, shadow or call them.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};

use super::bounds::{AS_REPLACEMENT, DATE_PICTURE, DISTINCT, SPLIT};
use super::builtins::{Builtin, builtin};
use super::reach::bound_names;

/// A computed value: bounded, weighed and charged.
pub(super) const MADE: &str = "value made";
/// A value inside another: weighed.
pub(super) const HELD: &str = "value held";
/// `&`
pub(super) const JOINED: &str = "text joined";
/// The values of a join step: each becomes an object.
pub(super) const TUPLED: &str = "values joined";
/// The targets of a transform, and everything that it searches for them.
pub(super) const TARGETS: &str = "targets found";
/// Compiles the text of an `$eval` to a function.
pub(super) const COMPILED: &str = "text compiled";
/// The value of a successful `$eval`.
pub(super) const EVALUATED: &str = "text evaluated";
/// A built-in function used as a value.
pub(super) const AS_VALUE: &str = "function taken";

/// Rewrites the expression.
pub(super) fn guard(ast: AstNode) -> AstNode {
    let guard = Guard { bound: bound_names(&ast) };
    guard.value(ast)
}

struct Guard {
    /// The names that the expression binds: a call by such a name may call a bound value.
    bound: BTreeSet<String>,
}

/// Whether a call may be put around a node: not if the parent checks the kind of the node (`Bare`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Bare,
}

impl Guard {
    fn value(&self, node: AstNode) -> AstNode {
        self.at(node, Place::Free)
    }

    fn bare(&self, node: AstNode) -> AstNode {
        self.at(node, Place::Bare)
    }

    #[expect(clippy::boxed_local, reason = "the tree has its parts in boxes, and wants them back in boxes")]
    fn boxed(&self, node: Box<AstNode>) -> Box<AstNode> {
        Box::new(self.value(*node))
    }

    fn at(&self, node: AstNode, place: Place) -> AstNode {
        jsonata_core::value::with_stack(|| self.level(node, place))
    }

    fn level(&self, node: AstNode, place: Place) -> AstNode {
        match node {
            AstNode::Path { steps } => self.path(steps, place),
            AstNode::Binary { op, lhs, rhs } => self.binary(op, lhs, rhs, place),
            AstNode::Unary { op, operand } => AstNode::Unary { op, operand: self.boxed(operand) },
            AstNode::Variable(name) => self.taken(name),
            AstNode::Function { name, args, is_builtin } => self.call(name, args, is_builtin),
            AstNode::Call { procedure, args } => AstNode::Call {
                procedure: self.boxed(procedure),
                args: args.into_iter().map(|inner| self.value(inner)).collect(),
            },
            AstNode::Lambda { params, body, signature, thunk } => {
                AstNode::Lambda { params, body: self.boxed(body), signature, thunk }
            }
            AstNode::Array(items) => AstNode::Array(items.into_iter().map(|inner| self.item(inner)).collect()),
            AstNode::ArrayGroup(items) => {
                AstNode::ArrayGroup(items.into_iter().map(|inner| self.item(inner)).collect())
            }
            AstNode::Object(pairs) => AstNode::Object(self.members(pairs)),
            AstNode::ObjectTransform { input, pattern } => {
                AstNode::ObjectTransform { input: Box::new(self.bare(*input)), pattern: self.members(pattern) }
            }
            AstNode::Block(nodes) => AstNode::Block(nodes.into_iter().map(|node| self.at(node, place)).collect()),
            AstNode::Conditional { condition, then_branch, else_branch } => AstNode::Conditional {
                condition: self.boxed(condition),
                then_branch: self.boxed(then_branch),
                else_branch: else_branch.map(|inner| self.boxed(inner)),
            },
            AstNode::FunctionApplication(inner) => AstNode::FunctionApplication(Box::new(self.at(*inner, place))),
            AstNode::Sort { input, terms } => AstNode::Sort {
                input: Box::new(self.bare(*input)),
                terms: terms.into_iter().map(|(term, ascending)| (self.value(term), ascending)).collect(),
            },
            AstNode::Transform { location, update, delete } => AstNode::Transform {
                location: Box::new(ours(TARGETS, vec![self.value(*location), AstNode::Variable(String::new())])),
                update: self.boxed(update),
                delete: delete.map(|inner| self.boxed(inner)),
            },
            leaf @ (AstNode::String(_)
            | AstNode::Name(_)
            | AstNode::Number(_)
            | AstNode::Boolean(_)
            | AstNode::Null
            | AstNode::Undefined
            | AstNode::Placeholder
            | AstNode::Regex { .. }
            | AstNode::ParentVariable(_)
            | AstNode::Wildcard
            | AstNode::Descendant
            | AstNode::Parent(_)) => leaf,
        }
    }

    fn binary(&self, op: BinaryOp, lhs: Box<AstNode>, rhs: Box<AstNode>, place: Place) -> AstNode {
        match op {
            BinaryOp::Concatenate => ours(JOINED, vec![self.value(*lhs), self.value(*rhs)]),
            BinaryOp::ChainPipe => self.chain(*lhs, *rhs, place),
            // The left side of `:=` is the variable that it binds.
            BinaryOp::ColonEqual => AstNode::Binary { op, lhs, rhs: self.boxed(rhs) },
            _ => AstNode::Binary { op, lhs: self.boxed(lhs), rhs: self.boxed(rhs) },
        }
    }

    /// Rewrites `lhs ~> rhs`: the left side becomes the first argument of a call on the right, guarded or not.
    fn chain(&self, lhs: AstNode, rhs: AstNode, place: Place) -> AstNode {
        match rhs {
            AstNode::Function { name, mut args, is_builtin: true } if is_guarded_call(&name, &args) => {
                args.insert(0, lhs);
                self.call(name, args, true)
            }
            AstNode::Path { mut steps } if steps.len() == 1 && heads_guarded_call(&steps) => {
                if let AstNode::Function { args, .. } = &mut steps[0].node {
                    args.insert(0, lhs);
                }
                self.path(steps, place)
            }
            AstNode::Function { name, args, is_builtin } => {
                let args = args.into_iter().map(|inner| self.value(inner)).collect();
                pipe(self.value(lhs), AstNode::Function { name, args, is_builtin })
            }
            AstNode::Path { steps } => pipe(self.value(lhs), self.path(steps, Place::Bare)),
            rhs => pipe(self.value(lhs), self.value(rhs)),
        }
    }

    fn path(&self, steps: Vec<PathStep>, place: Place) -> AstNode {
        let gathers = steps.iter().skip(1).any(|step| !selects(&step.node));
        let mut steps: Vec<PathStep> = steps
            .into_iter()
            .enumerate()
            .map(|(nth, inner)| if nth > 0 { multiplied(self.step(inner)) } else { self.step(inner) })
            .collect();
        if steps.len() == 1 && is_ours(&steps[0]) {
            return steps.remove(0).node;
        }
        let path = AstNode::Path { steps };
        if gathers && place == Place::Free { ours(MADE, vec![path]) } else { path }
    }

    fn step(&self, step: PathStep) -> PathStep {
        let stages: Vec<Stage> = step.stages.into_iter().map(|inner| self.stage(inner)).collect();
        let plain = step.focus.is_none() && step.index_var.is_none() && !step.is_tuple && !stages.iter().any(is_index);
        match step.node {
            // The predicates after a call apply to the call itself, so they stay inside the guard.
            AstNode::Function { name, args, is_builtin: true }
                if plain && !stages.is_empty() && is_guarded_call(&name, &args) && !self.bound.contains(&name) =>
            {
                let beside = |call: AstNode| AstNode::Path { steps: vec![PathStep::with_stages(call, stages)] };
                PathStep { node: self.around(name, args, beside), stages: Vec::new(), ..step }
            }
            node => PathStep { node: self.bare(node), stages, ..step },
        }
    }

    fn stage(&self, stage: Stage) -> Stage {
        match stage {
            Stage::Filter(filter) => Stage::Filter(self.boxed(filter)),
            stage @ (Stage::KeepArray | Stage::Index(_)) => stage,
        }
    }

    /// Rewrites an item of an array. Its own items are copied into the array unless it is an array literal.
    fn item(&self, node: AstNode) -> AstNode {
        let written_as_array = match &node {
            AstNode::Array(_) | AstNode::ArrayGroup(_) => true,
            AstNode::Path { steps } => matches!(steps.as_slice(), [step] if matches!(step.node, AstNode::Array(_))),
            _ => false,
        };
        if written_as_array || is_plain(&node) { self.value(node) } else { ours(MADE, vec![self.bare(node)]) }
    }

    fn members(&self, pairs: Vec<(AstNode, AstNode)>) -> Vec<(AstNode, AstNode)> {
        let held = |node: AstNode| {
            if is_plain(&node) || self.measures(&node) { self.value(node) } else { ours(HELD, vec![self.bare(node)]) }
        };
        pairs.into_iter().map(|(key, node)| (self.value(key), held(node))).collect()
    }

    /// Checks whether a node calls a built-in function that returns a number or boolean, and not a function of the
    /// expression with the same name.
    fn measures(&self, node: &AstNode) -> bool {
        matches!(node, AstNode::Function { name, is_builtin: true, .. }
            if MEASURES.contains(&name.as_str()) && !self.bound.contains(name))
    }

    fn call(&self, name: String, args: Vec<AstNode>, is_builtin: bool) -> AstNode {
        if is_builtin && self.bound.contains(&name) && is_guarded(&name) {
            let args = args.into_iter().map(|inner| self.value(inner)).collect();
            return AstNode::Call { procedure: Box::new(self.taken(name)), args };
        }
        self.call_unbound(name, args, is_builtin)
    }

    fn call_unbound(&self, name: String, args: Vec<AstNode>, is_builtin: bool) -> AstNode {
        if !is_builtin {
            // Without its `$` it is not a built-in function.
            return AstNode::Function {
                name,
                args: args.into_iter().map(|inner| self.value(inner)).collect(),
                is_builtin,
            };
        }
        if has_placeholder(&args) && is_guarded(&name) {
            return self.partial(name, args);
        }
        if is_guarded(&name) {
            return self.around(name, args, |call| call);
        }
        let place = if SHALLOW.contains(&name.as_str()) { Place::Bare } else { Place::Free };
        AstNode::Function { name, args: args.into_iter().map(|inner| self.at(inner, place)).collect(), is_builtin }
    }

    /// Makes the guarded call of a built-in function; `beside` adds the predicates to the call itself.
    fn around(&self, name: String, args: Vec<AstNode>, beside: impl FnOnce(AstNode) -> AstNode) -> AstNode {
        let args: Vec<AstNode> = args.into_iter().map(|inner| self.value(inner)).collect();
        let Some(known) = builtin(&name) else { return self.evaluated(args, beside) };
        if let Some(joint) = known.joint {
            return self.jointly(known, joint, args, beside);
        }
        if known.name == "split"
            && let [_, AstNode::String(separator)] = args.as_slice()
            && !separator.is_empty()
        {
            return beside(ours(SPLIT, args));
        }
        if known.name == "distinct" && args.len() == 1 {
            return made(known, beside(ours(DISTINCT, args)));
        }
        let checked = |arg: AstNode| match known.argument {
            Some(check) if !is_short(&arg) || check == DATE_PICTURE => ours(check, vec![arg]),
            _ => arg,
        };
        made(known, beside(ours(known.name, args.into_iter().map(checked).collect())))
    }

    /// Does the same for a check of all arguments together: each argument is evaluated once, then all are checked, then
    /// the function is called.
    fn jointly(
        &self,
        known: &Builtin,
        joint: &str,
        args: Vec<AstNode>,
        beside: impl FnOnce(AstNode) -> AstNode,
    ) -> AstNode {
        let (mut nodes, names) = bound(args);
        let mut all = vec![variable("")];
        all.extend(names.iter().map(|name| variable(name)));
        let args = match known.name {
            "toMillis" if names.len() > 1 => {
                let part = |n: f64| ours(joint, vec![variable(&names[0]), variable(&names[1]), AstNode::Number(n)]);
                vec![part(0.0), part(1.0)]
            }
            "toMillis" => names.iter().map(|name| variable(name)).collect(),
            _ => {
                nodes.push(ours(joint, all));
                names.iter().enumerate().map(|(nth, name)| argument(known, nth, names.len(), name)).collect()
            }
        };
        nodes.push(made(known, beside(ours(known.name, args))));
        AstNode::Block(nodes)
    }

    /// Rewrites `$pad(?, 5)`: given arguments are evaluated once, the rest become parameters.
    fn partial(&self, name: String, args: Vec<AstNode>) -> AstNode {
        let (mut nodes, mut params, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for (nth, arg) in args.into_iter().enumerate() {
            let own = format!("part {nth}");
            match arg {
                AstNode::Placeholder => params.push(own.clone()),
                given => nodes.push(bind(&own, self.value(given))),
            }
            all.push(AstNode::Variable(own));
        }
        nodes.push(lambda(params, self.call(name, all, true)));
        AstNode::Block(nodes)
    }

    /// Rewrites a variable. If it may be a built-in function, it becomes one that keeps its limits wherever it is
    /// called.
    fn taken(&self, name: String) -> AstNode {
        let Some(arity) = builtin(&name).map(|known| known.arity).or_else(|| arity_of_ours(&name)) else {
            return AstNode::Variable(name);
        };
        let params: Vec<String> = (0..arity).map(|nth| format!("parameter {nth}")).collect();
        let with = |count: usize| {
            self.call_unbound(name.clone(), params[..count].iter().map(|name| variable(name)).collect(), true)
        };
        // An absent argument is left out, since some functions distinguish it from undefined.
        let body = (2..=arity).fold(with(arity.min(1)), |fewer, count| AstNode::Conditional {
            condition: Box::new(ours("exists", vec![variable(&params[count - 1])])),
            then_branch: Box::new(with(count)),
            else_branch: Some(Box::new(fewer)),
        });
        AstNode::Block(vec![ours(AS_VALUE, vec![AstNode::Variable(name.clone()), lambda(params, body)])])
    }

    /// Rewrites `$eval(text[, focus])`: the text is parsed, guarded in turn, and called as a function at this place.
    fn evaluated(&self, mut args: Vec<AstNode>, beside: impl FnOnce(AstNode) -> AstNode) -> AstNode {
        // The compiled text replaces this body. The call in it keeps the library from preparing the body.
        args.push(lambda(Vec::new(), ours(COMPILED, Vec::new())));
        let procedure = Box::new(ours(COMPILED, args));
        ours(EVALUATED, vec![beside(AstNode::Call { procedure, args: Vec::new() })])
    }
}

pub(super) fn ours(name: &str, args: Vec<AstNode>) -> AstNode {
    AstNode::Function { name: name.to_owned(), args, is_builtin: true }
}

fn variable(name: &str) -> AstNode {
    AstNode::Variable(name.to_owned())
}

fn pipe(lhs: AstNode, rhs: AstNode) -> AstNode {
    AstNode::Binary { op: BinaryOp::ChainPipe, lhs: Box::new(lhs), rhs: Box::new(rhs) }
}

fn is_guarded_call(name: &str, args: &[AstNode]) -> bool {
    !has_placeholder(args) && is_guarded(name)
}

fn is_guarded(name: &str) -> bool {
    name == "eval" || builtin(name).is_some()
}

fn heads_guarded_call(steps: &[PathStep]) -> bool {
    matches!(&steps[0].node, AstNode::Function { name, args, is_builtin: true } if is_guarded_call(name, args))
}

fn has_placeholder(args: &[AstNode]) -> bool {
    args.iter().any(|arg| matches!(arg, AstNode::Placeholder))
}

/// Checks whether a step is a guard call around another with everything after it.
fn is_ours(step: &PathStep) -> bool {
    let is_made = match &step.node {
        AstNode::Function { name, .. } => name == MADE || name == EVALUATED,
        AstNode::Block(nodes) => {
            matches!(nodes.first(), Some(AstNode::Binary { op: BinaryOp::ColonEqual, lhs, .. }) if matches!(&**lhs, AstNode::Variable(name) if name.contains(' ')))
        }
        _ => false,
    };
    is_made && step.stages.is_empty() && step.focus.is_none() && step.index_var.is_none() && !step.is_tuple
}

/// Guards a join step, which makes an object for each of its values, times those of the steps before it.
fn multiplied(step: PathStep) -> PathStep {
    let joins = step.focus.is_some() || step.index_var.is_some() || step.is_tuple;
    match step.node {
        AstNode::Name(_) if joins => PathStep { node: ours(TUPLED, vec![step.node]), ..step },
        AstNode::Variable(ref name) if joins && !name.is_empty() => {
            PathStep { node: ours(TUPLED, vec![step.node]), ..step }
        }
        _ => step,
    }
}

fn is_index(stage: &Stage) -> bool {
    matches!(stage, Stage::Index(_))
}

/// Checks whether a step only selects parts of its input, each once, so that the result is no larger.
fn selects(node: &AstNode) -> bool {
    match node {
        AstNode::Name(_) | AstNode::Wildcard | AstNode::Descendant | AstNode::Parent(_) | AstNode::Sort { .. } => true,
        AstNode::Variable(name) => name.is_empty(),
        AstNode::FunctionApplication(inner) => is_plain(inner),
        AstNode::Block(nodes) => nodes.iter().all(is_plain),
        other => is_plain(other),
    }
}

/// Checks whether a node has a small value for any input.
fn is_plain(node: &AstNode) -> bool {
    match node {
        AstNode::Number(_) | AstNode::Boolean(_) | AstNode::Null | AstNode::Undefined | AstNode::Regex { .. } => true,
        AstNode::String(_) | AstNode::Unary { .. } | AstNode::Lambda { .. } | AstNode::Placeholder => true,
        AstNode::Binary { op, .. } => !matches!(
            op,
            BinaryOp::Concatenate
                | BinaryOp::Range
                | BinaryOp::ColonEqual
                | BinaryOp::FocusBind
                | BinaryOp::IndexBind
                | BinaryOp::Coalesce
                | BinaryOp::Default
                | BinaryOp::ChainPipe
        ),
        AstNode::Object(pairs) => pairs.iter().all(|(key, value)| is_plain(key) && is_plain(value)),
        AstNode::Array(items) => items.iter().all(is_plain),
        _ => false,
    }
}

/// The functions that read only the items of their argument; some are fast only for paths.
const SHALLOW: &[&str] = &["sum", "max", "min", "average", "count", "exists", "type", "length", "number"];

/// The functions that return a number or boolean for any arguments.
const MEASURES: &[&str] = &["sum", "average", "count", "exists", "length", "number", "boolean", "not"];

fn made(known: &Builtin, call: AstNode) -> AstNode {
    if known.makes { ours(MADE, vec![call]) } else { call }
}

fn is_short(node: &AstNode) -> bool {
    match node {
        AstNode::String(text) => text.len() < 100,
        AstNode::Number(number) => number.abs() < 1_000.0,
        AstNode::Boolean(_) | AstNode::Null | AstNode::Undefined | AstNode::Regex { .. } | AstNode::Lambda { .. } => {
            true
        }
        _ => false,
    }
}

/// The results of a replacement function are guarded, too.
fn argument(known: &Builtin, nth: usize, count: usize, name: &str) -> AstNode {
    let is_replacement = known.name == "replace" && nth == if count > 2 { 2 } else { 1 };
    if !is_replacement {
        return variable(name);
    }
    let made = ours(MADE, vec![AstNode::Call { procedure: Box::new(variable(name)), args: vec![variable("a match")] }]);
    ours(AS_REPLACEMENT, vec![variable(name), lambda(vec!["a match".to_owned()], made)])
}

/// Binds values to guard names.
fn bound(values: Vec<AstNode>) -> (Vec<AstNode>, Vec<String>) {
    let names: Vec<String> = (0..values.len()).map(|nth| format!("argument {nth}")).collect();
    let nodes = values.into_iter().zip(&names).map(|(value, name)| bind(name, value)).collect();
    (nodes, names)
}

fn bind(name: &str, value: AstNode) -> AstNode {
    AstNode::Binary { op: BinaryOp::ColonEqual, lhs: Box::new(variable(name)), rhs: Box::new(value) }
}

fn lambda(params: Vec<String>, body: AstNode) -> AstNode {
    AstNode::Lambda { params, body: Box::new(body), signature: None, thunk: false }
}

/// Returns the number of arguments that a higher-order function passes to a function of ours.
fn arity_of_ours(name: &str) -> Option<usize> {
    match name {
        "eval" | "nodeExecution" | "now" => Some(2),
        "executionCount" | "nodeExecutions" | "previousNode" | "shuffle" => Some(1),
        "millis" | "random" => Some(0),
        _ => None,
    }
}
