//! Arithmetic of numbers, texts and collections, subscripts and slices.

use super::compare::kinds;
use super::meter::{Meter, Run, raise, type_error, value_error};
use super::number::{Number, arithmetic};
use super::print;
use super::tree::Operator;
use super::value::{Val, set};
use crate::expr::jsonata::quoted;

/// Applies an arithmetic operator to two values.
pub(super) fn operate(operator: Operator, left: &Val, right: &Val, meter: &Meter) -> Run<Val> {
    meter.step()?;
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return arithmetic(operator, left, right).map(Number::value);
    }
    match (operator, left, right) {
        (Operator::Add, Val::Text(left), Val::Text(right)) => {
            meter.text(left.len() + right.len())?;
            Ok(Val::text([&**left, &**right].concat()))
        }
        (Operator::Add, Val::List(_), Val::List(_)) | (Operator::Add, Val::Tuple(_), Val::Tuple(_)) => {
            let mut items = left.items(meter)?;
            items.extend(right.items(meter)?);
            meter.items(items.len())?;
            Ok(like(left, items))
        }
        (Operator::Multiply, Val::Text(_) | Val::List(_) | Val::Tuple(_), Val::Int(_) | Val::Bool(_)) => {
            repeated(left, right.whole().unwrap_or_default(), meter)
        }
        (Operator::Multiply, Val::Int(_) | Val::Bool(_), Val::Text(_) | Val::List(_) | Val::Tuple(_)) => {
            operate(operator, right, left, meter)
        }
        (Operator::Remainder, Val::Text(_), _) => {
            type_error("text with embedded values is not supported: join the parts with `+`")
        }
        (Operator::Subtract, Val::Set(_) | Val::View(..), _) => difference(left, right, meter),
        _ => not_for(operator, left, right),
    }
}

/// Computes the set difference. The keys of a dict accept any iterable as the right side, a set only another one.
fn difference(left: &Val, right: &Val, meter: &Meter) -> Run<Val> {
    let other = match (left, right.as_set(meter)?) {
        (Val::View(..), None) => Some(set(right.items(meter)?, meter)?),
        (_, other) => other,
    };
    let (Some(whole), Some(other)) = (left.as_set(meter)?, other) else {
        return not_for(Operator::Subtract, left, right);
    };
    let kept = whole.iter().filter(|(key, _)| !other.contains_key(*key)).map(|(_, (item, _))| item.clone());
    set(kept, meter).map(Val::Set)
}

fn not_for<T>(operator: Operator, left: &Val, right: &Val) -> Run<T> {
    type_error(format!("`{}` is not supported for {}", operator.sign(), kinds(left, right)))
}

/// Computes `whole[index]`.
pub(super) fn item(whole: &Val, index: &Val, meter: &Meter) -> Run<Val> {
    if let Val::Dict(members) = whole {
        return match members.get(&index.key(meter)?) {
            Some((_, value)) => Ok(value.clone()),
            None => raise("KeyError", format!("there is no key {}", quoted(&print::text(index, meter)?))),
        };
    }
    if !is_sequence(whole) {
        return type_error(format!("`{}` cannot be indexed with `[…]`", whole.kind()));
    }
    let Some(at) = index.whole() else {
        let (whole, index) = (whole.kind(), index.kind());
        return type_error(format!("the index of a `{whole}` must be a whole number, not `{index}`"));
    };
    let length = whole.len(meter)?;
    let found = usize::try_from(if at < 0 { at.saturating_add(length as i128) } else { at }).ok();
    let item = found.and_then(|at| match whole {
        Val::Text(text) => text.chars().nth(at).map(|c| Val::text(c.to_string())),
        Val::List(items) | Val::Tuple(items) => items.get(at).cloned(),
        _ => None,
    });
    match item {
        Some(item) => Ok(item),
        None => raise("IndexError", format!("there is no item `{at}`: the length is {length}")),
    }
}

fn is_sequence(value: &Val) -> bool {
    matches!(value, Val::Text(_) | Val::List(_) | Val::Tuple(_))
}

/// Computes `whole[start:stop:step]`.
pub(super) fn slice(whole: &Val, [start, stop, step]: [Option<Val>; 3], meter: &Meter) -> Run<Val> {
    if !is_sequence(whole) {
        return type_error(format!("`{}` cannot be sliced", whole.kind()));
    }
    let (start, stop, step) = (bound(start)?, bound(stop)?, bound(step)?.unwrap_or(1));
    if step == 0 {
        return value_error("the step of a slice must not be zero");
    }
    let length = whole.len(meter)? as i128;
    // Backwards, a slice begins at the last item, and ends before the first.
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let place = |at: i128| if at < 0 { at.saturating_add(length).max(low) } else { at.min(high) };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let (start, stop) = (start.map_or(first, place), stop.map_or(last, place));
    let distance = if step > 0 { stop - start } else { start - stop };
    let count = distance.max(0).unsigned_abs().div_ceil(step.unsigned_abs()) as usize;
    let places = (0..count).filter_map(|number| usize::try_from(start + step.saturating_mul(number as i128)).ok());
    match whole {
        Val::Text(text) => {
            meter.text(text.len())?;
            let characters: Vec<char> = text.chars().collect();
            Ok(Val::text(places.filter_map(|at| characters.get(at)).collect::<String>()))
        }
        Val::List(items) | Val::Tuple(items) => {
            meter.items(count)?;
            meter.steps(count)?;
            Ok(like(whole, places.filter_map(|at| items.get(at).cloned()).collect()))
        }
        _ => Ok(Val::None),
    }
}

fn bound(bound: Option<Val>) -> Run<Option<i128>> {
    match bound {
        None | Some(Val::None) => Ok(None),
        Some(bound) => match bound.whole() {
            Some(at) => Ok(Some(at)),
            None => type_error(format!("a slice takes whole numbers, not `{}`", bound.kind())),
        },
    }
}

/// Makes a tuple from a tuple, and a list from anything else.
fn like(whole: &Val, items: Vec<Val>) -> Val {
    if let Val::Tuple(_) = whole { Val::tuple(items) } else { Val::list(items) }
}

/// Computes `items * times` for a text, a list or a tuple.
pub(super) fn repeated(whole: &Val, times: i128, meter: &Meter) -> Run<Val> {
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    if let Val::Text(text) = whole {
        meter.text(text.len().saturating_mul(times))?;
        return Ok(Val::text(if text.is_empty() { String::new() } else { text.repeat(times) }));
    }
    let items = whole.items(meter)?;
    meter.items(items.len().saturating_mul(times))?;
    let repeated = if items.is_empty() { items } else { std::iter::repeat_n(items, times).flatten().collect() };
    Ok(like(whole, repeated))
}
