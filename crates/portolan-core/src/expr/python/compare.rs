//! Equality, ordering and membership.

use std::cmp::Ordering;

use super::meter::{Error, Meter, Run, deeper};
use super::number::{Number, whole};
use super::tree::Relation;
use super::value::{Kind, List, Val};

/// Checks whether a relation holds between two values.
pub(super) fn holds<'a>(relation: Relation, left: &Val<'a>, right: &Val<'a>, meter: &Meter) -> Run<bool> {
    match relation {
        Relation::Equal => equal(left, right, meter, 0),
        Relation::Unequal => Ok(!equal(left, right, meter, 0)?),
        Relation::Less | Relation::LessEqual | Relation::Greater | Relation::GreaterEqual => {
            ordered(relation, left, right, meter, 0)
        }
        Relation::In => contains(right, left, meter),
        Relation::NotIn => Ok(!contains(right, left, meter)?),
        Relation::Is => Ok(same(left, right)),
        Relation::IsNot => Ok(!same(left, right)),
    }
}

/// Implements `is`: checks whether both are `None` or the same boolean. The parser accepts no other comparison.
fn same(left: &Val<'_>, right: &Val<'_>) -> bool {
    match (left, right) {
        (Val::None, Val::None) => true,
        (Val::Bool(left), Val::Bool(right)) => left == right,
        _ => false,
    }
}

pub(super) fn equal<'a>(left: &Val<'a>, right: &Val<'a>, meter: &Meter, depth: usize) -> Run<bool> {
    meter.step()?;
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return Ok(compare(left, right) == Some(Ordering::Equal));
    }
    match (left, right) {
        (Val::None, Val::None) => Ok(true),
        (Val::Text(left), Val::Text(right)) => {
            meter.looks(left.len().min(right.len()))?;
            Ok(left == right)
        }
        (Val::List(left), Val::List(right)) => {
            let pairs = (0..left.len()).map_while(|at| Some((left.get(at)?, right.get(at)?)));
            Ok(left.len() == right.len() && all_equal(pairs, meter, deeper(depth)?)?)
        }
        (Val::Tuple(left), Val::Tuple(right)) => {
            let pairs = left.iter().cloned().zip(right.iter().cloned());
            Ok(left.len() == right.len() && all_equal(pairs, meter, deeper(depth)?)?)
        }
        (Val::Dict(left), Val::Dict(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            let depth = deeper(depth)?;
            meter.items(left.len())?;
            for (key, value) in left.members() {
                match right.get(&key.key(meter)?) {
                    Some(other) if equal(&value, &other, meter, depth)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Val::Series(left), Val::Series(right)) if is_range(left.kind) && is_range(right.kind) => {
            let pairs = left.items.iter().cloned().zip(right.items.iter().cloned());
            Ok(left.items.len() == right.items.len() && all_equal(pairs, meter, deeper(depth)?)?)
        }
        _ => match (left.as_set(meter), right.as_set(meter)) {
            (Some(left), Some(right)) => {
                let (left, right) = (left?, right?);
                meter.steps(left.len())?;
                Ok(left.len() == right.len() && left.keys().all(|key| right.contains_key(key)))
            }
            _ => Ok(false),
        },
    }
}

fn is_range(kind: Kind) -> bool {
    matches!(kind, Kind::Range { .. })
}

fn all_equal<'a>(pairs: impl Iterator<Item = (Val<'a>, Val<'a>)>, meter: &Meter, depth: usize) -> Run<bool> {
    for (left, right) in pairs {
        if !equal(&left, &right, meter, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares two numbers exactly: an integer is not converted to a float.
pub(super) fn compare(left: Number, right: Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => Some(left.cmp(&right)),
        (Number::Float(left), Number::Float(right)) => left.partial_cmp(&right),
        (Number::Int(left), Number::Float(right)) => compare_mixed(left, right),
        (Number::Float(left), Number::Int(right)) => compare_mixed(right, left).map(Ordering::reverse),
    }
}

fn compare_mixed(int: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    match whole(float.floor()) {
        Some(floor) => Some(int.cmp(&floor).then(if float.fract() == 0.0 { Ordering::Equal } else { Ordering::Less })),
        None => Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater }),
    }
}

/// Checks whether `left` is less than `right`.
pub(super) fn less<'a>(left: &Val<'a>, right: &Val<'a>, meter: &Meter) -> Run<bool> {
    ordered(Relation::Less, left, right, meter, 0)
}

fn ordered<'a>(relation: Relation, left: &Val<'a>, right: &Val<'a>, meter: &Meter, depth: usize) -> Run<bool> {
    meter.step()?;
    let fits = |ordering: Option<Ordering>| match relation {
        Relation::Less => ordering == Some(Ordering::Less),
        Relation::LessEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        Relation::Greater => ordering == Some(Ordering::Greater),
        _ => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
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
        (Val::List(left), Val::List(right)) => {
            let first = differing(left.len().min(right.len()), |at| left.get(at), |at| right.get(at), meter, depth)?;
            return match first {
                Some((left, right)) => ordered(relation, &left, &right, meter, deeper(depth)?),
                None => Ok(fits(Some(left.len().cmp(&right.len())))),
            };
        }
        (Val::Tuple(left), Val::Tuple(right)) => {
            let (l, r) = (List::Made(left.clone()), List::Made(right.clone()));
            return ordered(relation, &Val::List(l), &Val::List(r), meter, depth);
        }
        _ => {}
    }
    match (left.as_set(meter), right.as_set(meter)) {
        (Some(left), Some(right)) => {
            let (left, right) = (left?, right?);
            meter.steps(left.len().min(right.len()))?;
            let within = left.len() <= right.len() && left.keys().all(|key| right.contains_key(key));
            let around = right.len() <= left.len() && right.keys().all(|key| left.contains_key(key));
            Ok(match relation {
                Relation::Less => within && !around,
                Relation::LessEqual => within,
                Relation::Greater => around && !within,
                _ => around,
            })
        }
        _ => Error::Type.raise(format!("`{}` cannot compare {}", relation.sign(), kinds(left, right))),
    }
}

/// Formats the types of two values for a message.
pub(super) fn kinds(left: &Val<'_>, right: &Val<'_>) -> String {
    format!("`{}` and `{}`", left.kind(), right.kind())
}

/// Returns the first items in which two sequences differ.
fn differing<'a>(
    length: usize,
    left: impl Fn(usize) -> Option<Val<'a>>,
    right: impl Fn(usize) -> Option<Val<'a>>,
    meter: &Meter,
    depth: usize,
) -> Run<Option<(Val<'a>, Val<'a>)>> {
    let depth = deeper(depth)?;
    for at in 0..length {
        let (Some(left), Some(right)) = (left(at), right(at)) else { break };
        if !equal(&left, &right, meter, depth)? {
            return Ok(Some((left, right)));
        }
    }
    Ok(None)
}

/// Implements `in`.
fn contains<'a>(whole: &Val<'a>, part: &Val<'a>, meter: &Meter) -> Run<bool> {
    match (whole, part) {
        (Val::Text(text), Val::Text(part)) => {
            meter.looks(text.len() + part.len())?;
            Ok(text.contains(&**part))
        }
        (Val::Text(_), other) => {
            Error::Type.raise(format!("only a text can be `in` a text, and this is `{}`", other.kind()))
        }
        (Val::List(items), _) => any_equal((0..items.len()).filter_map(|at| items.get(at)), part, meter),
        (Val::Tuple(items), _) => any_equal(items.iter().cloned(), part, meter),
        (Val::Dict(dict), _) => {
            let key = part.key(meter)?;
            Ok(dict.get(&key).is_some())
        }
        // Python looks up a set in a set as a frozenset, and there are none here.
        (Val::Set(_), Val::Set(_)) => Ok(false),
        (Val::Set(set), _) => {
            let key = part.key(meter)?;
            Ok(set.contains_key(&key))
        }
        (Val::Series(series), _) if series.kind == Kind::Keys => {
            part.key(meter)?;
            any_equal(series.items.iter().cloned(), part, meter)
        }
        (Val::Series(series), _) => any_equal(series.items.iter().cloned(), part, meter),
        (other, _) => Error::Type.raise(format!("`in` is not supported for `{}`", other.kind())),
    }
}

fn any_equal<'a>(items: impl Iterator<Item = Val<'a>>, wanted: &Val<'a>, meter: &Meter) -> Run<bool> {
    for item in items {
        if equal(&item, wanted, meter, 0)? {
            return Ok(true);
        }
    }
    Ok(false)
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
