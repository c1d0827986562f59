//! Python's arithmetic with integers and floats. Integers stay integers, and are exact within 128 bits.

use std::cmp::Ordering;

use super::meter::{Run, exceeds, raise, value_error};
use super::tree::Operator;
use super::value::Val;

/// A number; `True` and `False` are one and zero.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub(super) fn of(value: &Val) -> Option<Number> {
        match value {
            Val::Float(float) => Some(Number::Float(*float)),
            other => other.whole().map(Number::Int),
        }
    }

    pub(super) fn value(self) -> Val {
        match self {
            Number::Int(int) => Val::Int(int),
            Number::Float(float) => Val::Float(float),
        }
    }

    pub(super) fn float(self) -> f64 {
        match self {
            Number::Int(int) => int as f64,
            Number::Float(float) => float,
        }
    }
}

/// Applies an arithmetic operator to two numbers.
pub(super) fn arithmetic(operator: Operator, left: Number, right: Number) -> Run<Number> {
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => whole_arithmetic(operator, left, right),
        _ => float_arithmetic(operator, left.float(), right.float()).map(Number::Float),
    }
}

fn whole_arithmetic(operator: Operator, left: i128, right: i128) -> Run<Number> {
    /// A float has each whole number up to this one, so that a quotient of two of them is rounded once.
    const EXACT: u128 = 1 << 53;
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        _ if right == 0 => return by_zero(),
        Operator::Divide if left.unsigned_abs().max(right.unsigned_abs()) > EXACT => {
            return exceeds("a whole number is too large to be divided with `/`: use `//`");
        }
        Operator::Divide => return Ok(Number::Float(left as f64 / right as f64)),
        Operator::FloorDivide => {
            let downwards = left.wrapping_rem(right) != 0 && (left < 0) != (right < 0);
            left.checked_div(right).map(|quotient| quotient - i128::from(downwards))
        }
        _ => {
            let rest = left.wrapping_rem(right);
            let other_sign = rest != 0 && (rest < 0) != (right < 0);
            Some(if other_sign { rest + right } else { rest })
        }
    };
    in_range(result).map(Number::Int)
}

/// Fails if a whole number does not fit in 128 bits.
pub(super) fn in_range(int: Option<i128>) -> Run<i128> {
    int.map_or_else(|| exceeds("a whole number is too large"), Ok)
}

fn by_zero<T>() -> Run<T> {
    raise("ZeroDivisionError", "a number is divided by zero")
}

fn float_arithmetic(operator: Operator, left: f64, right: f64) -> Run<f64> {
    match operator {
        Operator::Add => Ok(left + right),
        Operator::Subtract => Ok(left - right),
        Operator::Multiply => Ok(left * right),
        _ if right == 0.0 => by_zero(),
        Operator::Divide => Ok(left / right),
        Operator::FloorDivide => Ok(floor_and_rest(left, right).0),
        _ => Ok(floor_and_rest(left, right).1),
    }
}

/// Computes `//` and `%` of floats; the rest has the sign of the divisor.
fn floor_and_rest(left: f64, right: f64) -> (f64, f64) {
    let mut rest = left % right;
    let mut quotient = (left - rest) / right;
    if rest == 0.0 {
        rest = 0f64.copysign(right);
    } else if (right < 0.0) != (rest < 0.0) {
        rest += right;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0f64.copysign(left / right), rest);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, rest)
}

/// Compares two numbers exactly: an integer is not converted to a float.
pub(super) fn compare(left: Number, right: Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => Some(left.cmp(&right)),
        (Number::Float(left), Number::Float(right)) => left.partial_cmp(&right),
        (Number::Float(_), Number::Int(_)) => compare(right, left).map(Ordering::reverse),
        (Number::Int(_), Number::Float(right)) if right.is_nan() => None,
        (Number::Int(left), Number::Float(right)) => Some(match whole(right.floor()) {
            Some(floor) if right.fract() == 0.0 => left.cmp(&floor),
            Some(floor) => left.cmp(&floor).then(Ordering::Less),
            None if right > 0.0 => Ordering::Less,
            None => Ordering::Greater,
        }),
    }
}

/// Returns the integer that equals a float.
pub(super) fn whole(float: f64) -> Option<i128> {
    // 2 to the power of 127 is the first value that is too large.
    let fits = float.fract() == 0.0 && (-(2f64.powi(127))..2f64.powi(127)).contains(&float);
    fits.then_some(float as i128)
}

/// Computes `int(…)` of a float.
pub(super) fn truncated(float: f64) -> Run<i128> {
    if float.is_nan() {
        return value_error("`nan` is not a whole number");
    }
    if float.is_infinite() {
        return raise("OverflowError", "infinity is not a whole number");
    }
    in_range(whole(float.trunc()))
}

/// Returns the digits of a number without the `_` between them; `None` if a `_` is elsewhere.
pub(super) fn without_underscores(digits: &str) -> Option<String> {
    let parts: Vec<&str> = digits.split('_').collect();
    let is_digit = |c: char| c.is_ascii_digit();
    parts.windows(2).all(|pair| pair[0].ends_with(is_digit) && pair[1].starts_with(is_digit)).then(|| parts.concat())
}

/// Formats a float as Python prints it: the shortest digits that parse back to it.
pub(super) fn printed(float: f64) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        return format!("{float:?}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
