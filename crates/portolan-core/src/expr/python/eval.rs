//! Evaluates a tree. Evaluation is lazy, and every step is counted.

use std::cell::RefCell;
use std::ops::ControlFlow;

use super::compare;
use super::functions::Callable;
use super::meter::{Meter, Run, raise, type_error, value_error};
use super::number::{Number, in_range};
use super::operate::{item, operate, slice};
use super::tree::{Clause, Comprehension, Node, Operator, Shape, Trailer, Unary};
use super::value::Val;
use crate::expr::Scope;
use crate::expr::jsonata::quoted;

/// The state of one evaluation.
pub(super) struct Evaluation<'a> {
    pub(super) meter: Meter,
    /// The values of the scope, and the variables of the enclosing `for`s, innermost last.
    bound: RefCell<Vec<(&'a str, Val)>>,
}

/// The body of a comprehension's pass; it can stop the loop.
type Pass<'p> = dyn FnMut() -> Run<ControlFlow<()>> + 'p;

impl<'a> Evaluation<'a> {
    /// Starts an evaluation that may read these names of a scope.
    pub(super) fn over(scope: &Scope<'_>, names: &'a [String]) -> Run<Evaluation<'a>> {
        let meter = Meter::default();
        let mut bound = Vec::new();
        for name in names {
            if let Some(value) = scope.name(name) {
                bound.push((name.as_str(), Val::of(value, 0, &meter)?));
            }
        }
        Ok(Evaluation { meter, bound: RefCell::new(bound) })
    }

    pub(super) fn value(&self, node: &'a Node) -> Run<Val> {
        self.meter.step()?;
        match node {
            Node::Literal(literal) => Ok(literal.clone()),
            Node::Name(name) => self.name(name),
            Node::Function(function) => Ok(Val::Function(function)),
            Node::Items(shape, items) => {
                self.meter.items(items.len())?;
                let items = items.iter().map(|item| self.value(item)).collect::<Run<Vec<_>>>()?;
                Val::made(*shape, items, &self.meter)
            }
            Node::Comprehension(comprehension) => self.comprehension(comprehension),
            Node::Call(function, arguments) => self.call(function, None, arguments),
            Node::Trailed(value, trailers) => self.trailed(value, trailers),
            Node::Unary(Unary::Not, value) => Ok(Val::Bool(!self.value(value)?.truth())),
            Node::Unary(sign, value) => self.signed(*sign, value),
            Node::Chain(first, rest) => match rest.first() {
                Some((Operator::Or | Operator::And, _)) => self.decide(first, rest),
                Some((operator, _)) if operator.is_arithmetic() => self.compute(first, rest),
                _ => self.compare(first, rest),
            },
            Node::Choose(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.value(if self.value(condition)?.truth() { then } else { otherwise })
            }
        }
    }

    fn name(&self, name: &str) -> Run<Val> {
        match self.bound.borrow().iter().rev().find(|(bound, _)| *bound == name) {
            Some((_, value)) => Ok(value.clone()),
            None => raise("NameError", format!("{} has no value here", quoted(name))),
        }
    }

    fn signed(&self, sign: Unary, value: &'a Node) -> Run<Val> {
        let value = self.value(value)?;
        match Number::of(&value) {
            Some(number) if sign == Unary::Plus => Ok(number.value()),
            Some(Number::Float(float)) => Ok(Val::Float(-float)),
            Some(Number::Int(int)) => in_range(int.checked_neg()).map(Val::Int),
            None => type_error(format!("a sign must be before a number, and this is `{}`", value.kind())),
        }
    }

    /// Evaluates a chain of `or`s or `and`s: the first value that decides it, or else the last.
    fn decide(&self, first: &'a Node, rest: &'a [(Operator, Node)]) -> Run<Val> {
        let mut value = self.value(first)?;
        for (operator, node) in rest {
            if value.truth() == (*operator == Operator::Or) {
                break;
            }
            value = self.value(node)?;
        }
        Ok(value)
    }

    fn compare(&self, first: &'a Node, rest: &'a [(Operator, Node)]) -> Run<Val> {
        let mut left = self.value(first)?;
        for (operator, node) in rest {
            let right = self.value(node)?;
            if !compare::holds(*operator, &left, &right, &self.meter)? {
                return Ok(Val::Bool(false));
            }
            left = right;
        }
        Ok(Val::Bool(true))
    }

    fn compute(&self, first: &'a Node, rest: &'a [(Operator, Node)]) -> Run<Val> {
        let mut value = self.value(first)?;
        for (operator, node) in rest {
            value = operate(*operator, &value, &self.value(node)?, &self.meter)?;
        }
        Ok(value)
    }

    fn trailed(&self, value: &'a Node, trailers: &'a [Trailer]) -> Run<Val> {
        let mut value = self.value(value)?;
        for trailer in trailers {
            self.meter.step()?;
            value = match trailer {
                Trailer::Index(index) => item(&value, &self.value(index)?, &self.meter)?,
                Trailer::Slice(bounds) => {
                    let bounds = bounds.each_ref().map(|bound| bound.as_ref().map(|node| self.value(node)).transpose());
                    let [start, stop, step] = bounds;
                    slice(&value, [start?, stop?, step?], &self.meter)?
                }
                // If the method is missing, its arguments are not evaluated.
                Trailer::Method(method, _) if !method.of.contains(&value.kind()) => {
                    let message = format!("`{}` has no method `.{}`", value.kind(), method.word);
                    return raise("AttributeError", message);
                }
                Trailer::Method(method, arguments) => self.call(method, Some(value), arguments)?,
            };
        }
        Ok(value)
    }

    fn call(&self, callable: &'static Callable, receiver: Option<Val>, arguments: &'a [Option<Node>]) -> Run<Val> {
        if let ("any" | "all", [Some(Node::Comprehension(comprehension))]) = (callable.word, arguments)
            && comprehension.shape == Shape::Generator
        {
            // `any` searches for a true item, `all` for a false one, and they stop there.
            let wanted = callable.word == "any";
            return Ok(Val::Bool(self.finds(comprehension, wanted)? == wanted));
        }
        let mut values: Vec<Option<Val>> = receiver.into_iter().map(Some).collect();
        for argument in arguments {
            values.push(argument.as_ref().map(|node| self.value(node)).transpose()?);
        }
        callable.call(values, &self.meter)
    }

    fn comprehension(&self, comprehension: &'a Comprehension) -> Run<Val> {
        let mut items = Vec::new();
        let finished = self.each(&comprehension.clauses, &mut || {
            self.meter.items(1)?;
            items.push(self.value(&comprehension.item)?);
            Ok(ControlFlow::Continue(()))
        });
        let _ = finished?;
        Val::made(comprehension.shape, items, &self.meter)
    }

    /// Checks whether an item of a generator has the truth `wanted`.
    fn finds(&self, comprehension: &'a Comprehension, wanted: bool) -> Run<bool> {
        let found = self.each(&comprehension.clauses, &mut || {
            let is = self.value(&comprehension.item)?.truth() == wanted;
            Ok(if is { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        Ok(found?.is_break())
    }

    /// Runs the nested clauses until a pass stops them.
    fn each(&self, clauses: &'a [Clause], pass: &mut Pass<'_>) -> Run<ControlFlow<()>> {
        let Some((clause, inner)) = clauses.split_first() else { return pass() };
        let items = self.value(&clause.over)?.items(&self.meter)?;
        let outside = self.bound.borrow().len();
        for item in items {
            self.meter.step()?;
            self.bind(&clause.target, item)?;
            let flow = match self.all_hold(&clause.conditions)? {
                true => self.each(inner, pass)?,
                false => ControlFlow::Continue(()),
            };
            self.bound.borrow_mut().truncate(outside);
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn all_hold(&self, conditions: &'a [Node]) -> Run<bool> {
        for condition in conditions {
            if !self.value(condition)?.truth() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn bind(&self, target: &'a Node, value: Val) -> Run<()> {
        match target {
            Node::Name(name) => self.bound.borrow_mut().push((name, value)),
            Node::Items(_, targets) => {
                let items = value.items(&self.meter)?;
                if items.len() != targets.len() {
                    return value_error(format!("{} names cannot be assigned {} items", targets.len(), items.len()));
                }
                targets.iter().zip(items).try_for_each(|(target, item)| self.bind(target, item))?;
            }
            _ => {}
        }
        Ok(())
    }
}
