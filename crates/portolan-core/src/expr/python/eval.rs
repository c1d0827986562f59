//! Evaluates a tree. Evaluation is lazy, and every step is counted.

use std::cell::RefCell;
use std::ops::ControlFlow;

use super::compare;
use super::functions;
use super::meter::{Error, Meter, Run};
use super::methods;
use super::number::{Number, arithmetic};
use super::sequence;
use super::tree::{
    Clause, Comprehension, ComprehensionOutput, Literal, Name, Node, Operator, Relation, Sign, Target, Trailer,
};
use super::value::{Kind, Val, dict, set};
use crate::expr::Scope;
use crate::expr::jsonata::quoted;

/// The state of one evaluation.
pub(super) struct Evaluation<'a> {
    pub(super) meter: Meter,
    scope: &'a Scope<'a>,
    /// The variables of the enclosing `for`s, innermost last.
    bound: RefCell<Vec<(&'a str, Val<'a>)>>,
}

/// The body of a comprehension's pass; it can stop the loop.
type Pass<'p> = dyn FnMut() -> Run<ControlFlow<()>> + 'p;

impl<'a> Evaluation<'a> {
    pub(super) fn over(scope: &'a Scope<'a>) -> Evaluation<'a> {
        Evaluation { meter: Meter::default(), scope, bound: RefCell::default() }
    }

    pub(super) fn value(&self, node: &'a Node) -> Run<Val<'a>> {
        self.meter.step()?;
        match node {
            Node::Literal(literal) => Ok(value_of(literal)),
            Node::Name(name) => self.name(name),
            Node::List(items) => self.values(items).map(Val::list),
            Node::Tuple(items) => self.values(items).map(Val::tuple),
            Node::Set(items) => self.set(items),
            Node::Dict(members) => self.dict(members),
            Node::Comprehension(comprehension) => self.comprehension(comprehension),
            Node::Trailed(value, trailers) => self.trailed(value, trailers),
            Node::Call(call) => functions::call(self, call),
            Node::IsInstance(value, types) => {
                let value = self.value(value)?;
                Ok(Val::Bool(types.iter().any(|wanted| value.is(*wanted))))
            }
            Node::Sign(sign, value) => self.signed(*sign, value),
            Node::Not(value) => Ok(Val::Bool(!self.value(value)?.truth())),
            Node::Arithmetic(first, rest) => self.arithmetic(first, rest),
            Node::Compare(first, rest) => self.compare(first, rest),
            Node::All(parts) => self.first(parts, false),
            Node::Any(parts) => self.first(parts, true),
            Node::Choose(choice) => match self.value(&choice.condition)?.truth() {
                true => self.value(&choice.then),
                false => self.value(&choice.otherwise),
            },
        }
    }

    fn name(&self, Name { name, .. }: &'a Name) -> Run<Val<'a>> {
        let bound = self.bound.borrow();
        if let Some((_, value)) = bound.iter().rev().find(|(bound, _)| bound == name) {
            return Ok(value.clone());
        }
        match self.scope.name(name) {
            Some(value) => Ok(Val::of(value)),
            None => Error::Name.raise(format!("{} has no value here", quoted(name))),
        }
    }

    fn values(&self, nodes: &'a [Node]) -> Run<Vec<Val<'a>>> {
        self.meter.items(nodes.len())?;
        nodes.iter().map(|node| self.value(node)).collect()
    }

    fn set(&self, items: &'a [Node]) -> Run<Val<'a>> {
        let items = self.values(items)?;
        set(items, &self.meter).map(|set| Val::Set(set.into()))
    }

    fn dict(&self, members: &'a [(Node, Node)]) -> Run<Val<'a>> {
        let members = members.iter().map(|(key, value)| Ok((self.value(key)?, self.value(value)?)));
        dict(members.collect::<Run<Vec<_>>>()?, &self.meter)
    }

    /// Returns the first value whose truth is `wanted`, or else the last.
    fn first(&self, parts: &'a [Node], wanted: bool) -> Run<Val<'a>> {
        let mut last = Val::Bool(!wanted);
        for part in parts {
            last = self.value(part)?;
            if last.truth() == wanted {
                break;
            }
        }
        Ok(last)
    }

    fn signed(&self, sign: Sign, value: &'a Node) -> Run<Val<'a>> {
        let value = self.value(value)?;
        match (sign, Number::of(&value)) {
            (Sign::Plus, Some(number)) => Ok(number.value()),
            (Sign::Minus, Some(Number::Float(float))) => Ok(Val::Float(-float)),
            (Sign::Minus, Some(number)) => arithmetic(Operator::Subtract, Number::Int(0), number).map(Number::value),
            (_, None) => Error::Type.raise(format!("a sign must be before a number, and this is `{}`", value.kind())),
        }
    }

    fn arithmetic(&self, first: &'a Node, rest: &'a [(Operator, Node)]) -> Run<Val<'a>> {
        let mut value = self.value(first)?;
        for (operator, node) in rest {
            let right = self.value(node)?;
            value = self.operation(*operator, &value, &right)?;
        }
        Ok(value)
    }

    /// Applies one arithmetic operator.
    pub(super) fn operation(&self, operator: Operator, left: &Val<'a>, right: &Val<'a>) -> Run<Val<'a>> {
        self.meter.step()?;
        if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
            return arithmetic(operator, left, right).map(Number::value);
        }
        match (operator, left, right) {
            (Operator::Add, Val::Text(left), Val::Text(right)) => {
                self.meter.text(left.len() + right.len())?;
                Ok(Val::text([&**left, &**right].concat()))
            }
            (Operator::Add, Val::List(_), Val::List(_)) => self.joined(left, right).map(Val::list),
            (Operator::Add, Val::Tuple(_), Val::Tuple(_)) => self.joined(left, right).map(Val::tuple),
            (Operator::Multiply, Val::Text(_) | Val::List(_) | Val::Tuple(_), Val::Int(_) | Val::Bool(_)) => {
                sequence::repeated(left, times(right), &self.meter)
            }
            (Operator::Multiply, Val::Int(_) | Val::Bool(_), Val::Text(_) | Val::List(_) | Val::Tuple(_)) => {
                sequence::repeated(right, times(left), &self.meter)
            }
            (Operator::Remainder, Val::Text(_), _) => {
                Error::Type.raise("text with embedded values is not supported: join the parts with `+`")
            }
            (Operator::Subtract, _, _) => self.difference(left, right),
            _ => not_for(operator, left, right),
        }
    }

    fn joined(&self, left: &Val<'a>, right: &Val<'a>) -> Run<Vec<Val<'a>>> {
        let mut items = left.items(&self.meter)?;
        items.extend(right.items(&self.meter)?);
        self.meter.items(items.len())?;
        Ok(items)
    }

    /// Computes the set difference.
    fn difference(&self, left: &Val<'a>, right: &Val<'a>) -> Run<Val<'a>> {
        let other = match left {
            // The keys of a dict accept any iterable as the right side.
            Val::Series(_) if right.as_set(&self.meter).is_none() => {
                right.items(&self.meter).ok().map(|items| set(items, &self.meter).map(std::rc::Rc::new))
            }
            // A set accepts only sets and set-like values.
            _ => right.as_set(&self.meter),
        };
        match (left.as_set(&self.meter), other) {
            (Some(left), Some(other)) => {
                let (left, other) = (left?, other?);
                self.meter.items(left.len())?;
                let kept = left.iter().filter(|(key, _)| !other.contains_key(*key));
                let kept: super::value::Set<'a> = kept.map(|(key, item)| (key.clone(), item.clone())).collect();
                Ok(Val::Set(kept.into()))
            }
            _ => not_for(Operator::Subtract, left, right),
        }
    }

    fn compare(&self, first: &'a Node, rest: &'a [(Relation, Node)]) -> Run<Val<'a>> {
        let mut left = self.value(first)?;
        for (relation, node) in rest {
            let right = self.value(node)?;
            if !compare::holds(*relation, &left, &right, &self.meter)? {
                return Ok(Val::Bool(false));
            }
            left = right;
        }
        Ok(Val::Bool(true))
    }

    fn trailed(&self, value: &'a Node, trailers: &'a [Trailer]) -> Run<Val<'a>> {
        let mut value = self.value(value)?;
        for trailer in trailers {
            self.meter.step()?;
            value = match trailer {
                Trailer::Index(index) => sequence::item(&value, &self.value(index)?, &self.meter)?,
                Trailer::Slice(bounds) => self.slice(&value, bounds)?,
                Trailer::Method(method, arguments) => methods::call(self, &value, *method, arguments)?,
            };
        }
        Ok(value)
    }

    fn slice(&self, value: &Val<'a>, [start, stop, step]: &'a [Option<Node>; 3]) -> Run<Val<'a>> {
        let bound = |bound: &'a Option<Node>| bound.as_ref().map_or(Ok(Val::None), |node| self.value(node));
        sequence::slice(value, [bound(start)?, bound(stop)?, bound(step)?], &self.meter)
    }

    fn comprehension(&self, comprehension: &'a Comprehension) -> Run<Val<'a>> {
        match &comprehension.made {
            ComprehensionOutput::List(item) => self.gathered(comprehension, item).map(Val::list),
            ComprehensionOutput::Generator(item) => {
                self.gathered(comprehension, item).map(|items| Val::series(Kind::Iterator("generator"), items))
            }
            ComprehensionOutput::Set(item) => {
                set(self.gathered(comprehension, item)?, &self.meter).map(|set| Val::Set(set.into()))
            }
            ComprehensionOutput::Dict(key, value) => {
                let mut members = Vec::new();
                self.each(&comprehension.clauses, &mut || {
                    self.meter.items(2)?;
                    members.push((self.value(key)?, self.value(value)?));
                    Ok(ControlFlow::Continue(()))
                })?;
                dict(members, &self.meter)
            }
        }
    }

    fn gathered(&self, comprehension: &'a Comprehension, item: &'a Node) -> Run<Vec<Val<'a>>> {
        let mut items = Vec::new();
        self.each(&comprehension.clauses, &mut || {
            self.meter.items(1)?;
            items.push(self.value(item)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(items)
    }

    /// Checks whether an item has the truth `wanted`. A generator stops at the first such item.
    pub(super) fn finds(&self, over: &'a Node, wanted: bool) -> Run<bool> {
        if let Node::Comprehension(comprehension) = over
            && let ComprehensionOutput::Generator(item) = &comprehension.made
        {
            let mut found = false;
            self.each(&comprehension.clauses, &mut || {
                found = self.value(item)?.truth() == wanted;
                Ok(if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            return Ok(found);
        }
        let items = self.value(over)?.items(&self.meter)?;
        Ok(items.iter().any(|item| item.truth() == wanted))
    }

    /// Runs the nested clauses until a pass stops them.
    fn each(&self, clauses: &'a [Clause], pass: &mut Pass<'_>) -> Run<()> {
        self.inside(clauses, pass).map(|_| ())
    }

    fn inside(&self, clauses: &'a [Clause], pass: &mut Pass<'_>) -> Run<ControlFlow<()>> {
        let Some((clause, inner)) = clauses.split_first() else { return pass() };
        let items = self.value(&clause.over)?.items(&self.meter)?;
        let outside = self.bound.borrow().len();
        for item in items {
            self.meter.step()?;
            self.bind(&clause.target, item)?;
            if self.all_hold(&clause.conditions)? && self.inside(inner, pass)?.is_break() {
                self.bound.borrow_mut().truncate(outside);
                return Ok(ControlFlow::Break(()));
            }
            self.bound.borrow_mut().truncate(outside);
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

    fn bind(&self, target: &'a Target, value: Val<'a>) -> Run<()> {
        match target {
            Target::Name(name) => self.bound.borrow_mut().push((&name.name, value)),
            Target::Several(targets) => {
                let items = value.items(&self.meter)?;
                if items.len() != targets.len() {
                    let message = format!("{} names cannot be assigned {} items", targets.len(), items.len());
                    return Error::Value.raise(message);
                }
                targets.iter().zip(items).try_for_each(|(target, item)| self.bind(target, item))?;
            }
        }
        Ok(())
    }
}

fn value_of(literal: &Literal) -> Val<'_> {
    match literal {
        Literal::None => Val::None,
        Literal::Bool(is) => Val::Bool(*is),
        Literal::Int(int) => Val::Int(*int),
        Literal::Float(float) => Val::Float(*float),
        Literal::Text(text) => Val::lent(text),
    }
}

fn times(value: &Val<'_>) -> i128 {
    match value {
        Val::Int(times) => *times,
        Val::Bool(times) => (*times).into(),
        _ => 0,
    }
}

fn not_for<T>(operator: Operator, left: &Val<'_>, right: &Val<'_>) -> Run<T> {
    Error::Type.raise(format!("`{}` is not supported for {}", operator.sign(), compare::kinds(left, right)))
}
