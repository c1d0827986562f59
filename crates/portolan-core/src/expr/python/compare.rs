//! Equality, ordering and membership.

use std::cmp::Ordering;

use super::meter::{Meter, Run, type_error};
use super::number::{Number, compare};
use super::tree::Operator;
use super::value::{Val, View, too_deep};
use crate::expr::truth::Comparison;

/// Checks whether a comparison holds between two values.
pub(super) fn holds(operator: Operator, left: &Val, right: &Val, meter: &Meter) -> Run<bool> {
    match operator {
        Operator::Compare(Comparison::Equal) => equal(left, right, meter),
        Operator::Compare(Comparison::Unequal) => Ok(!equal(left, right, meter)?),
        Operator::Compare(relation) => ordered(relation, left, right, meter),
        Operator::In => contains(right, left, meter),
        Operator::NotIn => Ok(!contains(right, left, meter)?),
        Operator::Is => Ok(same(left, right)),
        Operator::IsNot => Ok(!same(left, right)),
        _ => type_error(format!("`{}` is no comparison", operator.sign())),
    }
}

/// Implements `is`: checks whether both are `None` or the same boolean. The parser accepts no other comparison.
fn same(left: &Val, right: &Val) -> bool {
    matches!((left, right), (Val::None, Val::None))
        || matches!((left, right), (Val::Bool(left), Val::Bool(right)) if left == right)
}

pub(super) fn equal(left: &Val, right: &Val, meter: &Meter) -> Run<bool> {
    meter.step()?;
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return Ok(compare(left, right) == Some(Ordering::Equal));
    }
    match (left, right) {
        (Val::Deep(_), _) | (_, Val::Deep(_)) => too_deep(),
        (Val::None, Val::None) => Ok(true),
        (Val::Text(left), Val::Text(right)) => {
            meter.looks(left.len().min(right.len()))?;
            Ok(left == right)
        }
        (Val::List(left), Val::List(right)) | (Val::Tuple(left), Val::Tuple(right)) => {
            Ok(left.len() == right.len() && differing(left, right, meter)?.is_none())
        }
        (Val::Dict(left), Val::Dict(right)) => {
            for (key, (_, value)) in left.iter() {
                match right.get(key) {
                    Some((_, other)) if equal(value, other, meter)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(left.len() == right.len())
        }
        (Val::Set(_) | Val::View(..), Val::Set(_) | Val::View(..)) => {
            let (Some(left), Some(right)) = (left.as_set(meter)?, right.as_set(meter)?) else { return Ok(false) };
            meter.steps(left.len())?;
            Ok(left.len() == right.len() && left.keys().all(|key| right.contains_key(key)))
        }
        _ => Ok(false),
    }
}

/// Returns the first items in which two sequences differ.
fn differing<'v>(left: &'v [Val], right: &'v [Val], meter: &Meter) -> Run<Option<(&'v Val, &'v Val)>> {
    for (left, right) in left.iter().zip(right) {
        if !equal(left, right, meter)? {
            return Ok(Some((left, right)));
        }
    }
    Ok(None)
}

/// Checks whether `left` is less than `right`.
pub(super) fn less(left: &Val, right: &Val, meter: &Meter) -> Run<bool> {
    ordered(Comparison::Less, left, right, meter)
}

fn ordered(relation: Comparison, left: &Val, right: &Val, meter: &Meter) -> Run<bool> {
    meter.step()?;
    let fits = |ordering: Option<Ordering>| match relation {
        Comparison::Less => ordering.is_some_and(Ordering::is_lt),
        Comparison::LessEqual => ordering.is_some_and(Ordering::is_le),
        Comparison::Greater => ordering.is_some_and(Ordering::is_gt),
        _ => ordering.is_some_and(Ordering::is_ge),
    };
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return Ok(fits(compare(left, right)));
    }
    match (left, right) {
        (Val::Text(left), Val::Text(right)) => {
            meter.looks(left.len().min(right.len()))?;
            // UTF-8 sorts like its characters.
            return Ok(fits(Some((**left).cmp(&**right))));
        }
        (Val::List(left), Val::List(right)) | (Val::Tuple(left), Val::Tuple(right)) => {
            return match differing(left, right, meter)? {
                Some((left, right)) => ordered(relation, left, right, meter),
                None => Ok(fits(Some(left.len().cmp(&right.len())))),
            };
        }
        _ => {}
    }
    let (Some(a), Some(b)) = (left.as_set(meter)?, right.as_set(meter)?) else {
        return type_error(format!("`{relation}` cannot compare {}", kinds(left, right)));
    };
    meter.steps(a.len().min(b.len()))?;
    let within = a.len() <= b.len() && a.keys().all(|key| b.contains_key(key));
    let around = b.len() <= a.len() && b.keys().all(|key| a.contains_key(key));
    // Of two sets that are each a part of the other, neither is less.
    Ok(match (within, around) {
        (true, true) => fits(Some(Ordering::Equal)),
        (true, false) => fits(Some(Ordering::Less)),
        (false, true) => fits(Some(Ordering::Greater)),
        (false, false) => false,
    })
}

/// Formats the types of two values for a message.
pub(super) fn kinds(left: &Val, right: &Val) -> String {
    format!("`{}` and `{}`", left.kind(), right.kind())
}

/// Implements `in`.
fn contains(whole: &Val, part: &Val, meter: &Meter) -> Run<bool> {
    match (whole, part) {
        (Val::Text(text), Val::Text(part)) => {
            meter.looks(text.len() + part.len())?;
            Ok(text.contains(&**part))
        }
        (Val::Text(_), other) => type_error(format!("only a text can be `in` a text, and this is `{}`", other.kind())),
        // Python looks up a set in a set as a frozenset, and there are none here.
        (Val::Set(_), Val::Set(_)) => Ok(false),
        (Val::Set(members) | Val::Dict(members), _) => Ok(members.contains_key(&part.key(meter)?)),
        (Val::List(items) | Val::Tuple(items) | Val::View(_, items), _) => {
            if let Val::View(View::Keys, _) = whole {
                part.key(meter)?;
            }
            for item in items.iter() {
                if equal(item, part, meter)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (other, _) => type_error(format!("`in` is not supported for `{}`", other.kind())),
    }
}

/// Sorts stably by a comparison that may fail and need not be a total order.
pub(super) fn sort<T>(items: Vec<T>, less: &dyn Fn(&T, &T) -> Run<bool>) -> Run<Vec<T>> {
    if items.len() < 2 {
        return Ok(items);
    }
    let mut left = items;
    let right = left.split_off(left.len() / 2);
    let (left, right) = (sort(left, less)?, sort(right, less)?);
    let mut sorted = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if less(b, a)? { right.next() } else { left.next() };
        sorted.extend(next);
    }
    sorted.extend(left);
    sorted.extend(right);
    Ok(sorted)
}
