//! Python's arithmetic with integers and floats. Integers stay integers, and are exact within 128 bits.

use super::meter::{Error, Run};
use super::tree::Operator;
use super::value::Val;

/// A number; `True` and `False` are one and zero.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub(super) fn of(value: &Val<'_>) -> Option<Number> {
        match value {
            Val::Bool(is) => Some(Number::Int((*is).into())),
            Val::Int(int) => Some(Number::Int(*int)),
            Val::Float(float) => Some(Number::Float(*float)),
            _ => None,
        }
    }

    pub(super) fn value<'a>(self) -> Val<'a> {
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

/// Applies an operator to two numbers.
pub(super) fn arithmetic(operator: Operator, left: Number, right: Number) -> Run<Number> {
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => whole_arithmetic(operator, left, right),
        _ => float_arithmetic(operator, left.float(), right.float()).map(Number::Float),
    }
}

fn whole_arithmetic(operator: Operator, left: i128, right: i128) -> Run<Number> {
    let kept = |result: Option<i128>| match result {
        Some(int) => Ok(Number::Int(int)),
        None => Error::Bounds.raise("a whole number is too large"),
    };
    match operator {
        Operator::Add => kept(left.checked_add(right)),
        Operator::Subtract => kept(left.checked_sub(right)),
        Operator::Multiply => kept(left.checked_mul(right)),
        Operator::Power => power(left, right),
        _ if right == 0 => by_zero(),
        Operator::Divide => Ok(Number::Float(divide(left, right))),
        Operator::FloorDivide => {
            let downwards = left.wrapping_rem(right) != 0 && (left < 0) != (right < 0);
            kept(left.checked_div(right).map(|quotient| quotient - i128::from(downwards)))
        }
        Operator::Remainder => {
            let rest = left.wrapping_rem(right);
            let other_sign = rest != 0 && (rest < 0) != (right < 0);
            Ok(Number::Int(if other_sign { rest + right } else { rest }))
        }
    }
}

fn by_zero<T>() -> Run<T> {
    Error::ZeroDivision.raise("a number is divided by zero")
}

fn power(base: i128, exponent: i128) -> Run<Number> {
    if exponent < 0 {
        return float_arithmetic(Operator::Power, base as f64, exponent as f64).map(Number::Float);
    }
    let result = match base {
        0 | 1 => Some(if exponent == 0 { 1 } else { base }),
        -1 => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => u32::try_from(exponent).ok().and_then(|exponent| base.checked_pow(exponent)),
    };
    match result {
        Some(int) => Ok(Number::Int(int)),
        None => Error::Bounds.raise("a power is too large for a whole number"),
    }
}

/// Divides to the nearest float. Both operands may have more digits than a float; the quotient is rounded once.
fn divide(left: i128, right: i128) -> f64 {
    const EXACT: u128 = 1 << 53;
    let (a, b) = (left.unsigned_abs(), right.unsigned_abs());
    if a <= EXACT && b <= EXACT {
        return left as f64 / right as f64;
    }
    let (mut quotient, mut rest, mut shift) = (a / b, a % b, 0);
    while quotient < 1 << 64 && rest != 0 {
        // The remainder is less than the divisor, which has at most 127 bits.
        rest <<= 1;
        quotient = (quotient << 1) | u128::from(rest >= b);
        rest -= if rest >= b { b } else { 0 };
        shift -= 1;
    }
    // A nonzero remainder decides a tie between two floats.
    let size = (quotient | u128::from(rest != 0)) as f64 * 2f64.powi(shift);
    if (left < 0) == (right < 0) { size } else { -size }
}

fn float_arithmetic(operator: Operator, left: f64, right: f64) -> Run<f64> {
    match operator {
        Operator::Add => Ok(left + right),
        Operator::Subtract => Ok(left - right),
        Operator::Multiply => Ok(left * right),
        Operator::Power => float_power(left, right),
        _ if right == 0.0 => by_zero(),
        Operator::Divide => Ok(left / right),
        Operator::FloorDivide => Ok(floor_and_rest(left, right).0),
        Operator::Remainder => Ok(floor_and_rest(left, right).1),
    }
}

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

fn float_power(base: f64, exponent: f64) -> Run<f64> {
    if base == 0.0 && exponent < 0.0 {
        return Error::ZeroDivision.raise("zero cannot be raised to a negative power");
    }
    if base < 0.0 && base.is_finite() && exponent.is_finite() && exponent.fract() != 0.0 {
        return Error::Value.raise("a power of a negative number that is not a whole number is not a JSON number");
    }
    let power = base.powf(exponent);
    if power.is_infinite() && base.is_finite() && exponent.is_finite() {
        return Error::Overflow.raise("a power is too large for a float");
    }
    Ok(power)
}

/// Returns the integer that equals a float.
pub(super) fn whole(float: f64) -> Option<i128> {
    // 2 ** 127 is the first value that is too large.
    let fits = float.fract() == 0.0 && (-(2f64.powi(127))..2f64.powi(127)).contains(&float);
    fits.then_some(float as i128)
}

/// Computes `int(…)` of a float.
pub(super) fn truncated(float: f64) -> Run<i128> {
    if float.is_nan() {
        return Error::Value.raise("`nan` is not a whole number");
    }
    if float.is_infinite() {
        return Error::Overflow.raise("infinity is not a whole number");
    }
    match whole(float.trunc()) {
        Some(int) => Ok(int),
        None => Error::Bounds.raise("a whole number is too large"),
    }
}

/// Computes `round(…)` to `digits` decimal places. Ties round to even.
pub(super) fn rounded(number: Number, digits: i128) -> Run<Number> {
    match number {
        Number::Int(int) if digits >= 0 => Ok(Number::Int(int)),
        Number::Int(int) => {
            let Some(unit) = u32::try_from(digits.unsigned_abs()).ok().and_then(|digits| 10i128.checked_pow(digits))
            else {
                return Ok(Number::Int(0));
            };
            let rest = int.rem_euclid(unit);
            let half = unit / 2;
            let is_odd = int.div_euclid(unit) % 2 != 0;
            let up = rest > half || (rest == half && is_odd);
            match (int - rest).checked_add(if up { unit } else { 0 }) {
                Some(int) => Ok(Number::Int(int)),
                None => Error::Bounds.raise("a whole number is too large"),
            }
        }
        Number::Float(float) => rounded_float(float, digits).map(Number::Float),
    }
}

fn rounded_float(float: f64, digits: i128) -> Run<f64> {
    if !float.is_finite() || float == 0.0 || digits > 323 {
        return Ok(float);
    }
    if digits < -308 {
        return Ok(0f64.copysign(float));
    }
    let written = match usize::try_from(digits) {
        Ok(digits) => format!("{float:.digits$}"),
        Err(_) => rounded_to_tens(float, digits),
    };
    match written.parse::<f64>() {
        Ok(rounded) if rounded.is_finite() => Ok(rounded),
        _ => Error::Overflow.raise("the rounded number is too large for a float"),
    }
}

/// Rounds a float to a power of ten, as `round` does with negative `digits`.
fn rounded_to_tens(float: f64, digits: i128) -> String {
    let exponent: i128 = exponent(float).into();
    match usize::try_from(exponent + digits) {
        Ok(kept) => format!("{float:.kept$e}"),
        // The value is less than the unit, which is ten times the first digit: more than half of it rounds up.
        Err(_) if exponent + digits == -1 && float.abs() > 5.0 * 10f64.powi((-digits - 1) as i32) => {
            format!("{}1e{}", if float < 0.0 { "-" } else { "" }, -digits)
        }
        Err(_) => if float < 0.0 { "-0.0" } else { "0.0" }.to_owned(),
    }
}

fn exponent(float: f64) -> i32 {
    let written = format!("{float:e}");
    written.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or_default()
}

/// A compensated sum of floats, as in Python's `sum`.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    pub(super) fn of(first: f64) -> Sum {
        Sum { total: first, lost: 0.0 }
    }

    pub(super) fn add(&mut self, float: f64) {
        let total = self.total + float;
        self.lost += match self.total.abs() >= float.abs() {
            true => (self.total - total) + float,
            false => (float - total) + self.total,
        };
        self.total = total;
    }

    /// Adds an integer without compensation.
    pub(super) fn add_plainly(&mut self, float: f64) {
        self.total += float;
    }

    pub(super) fn total(self) -> f64 {
        if self.lost.is_finite() { self.total + self.lost } else { self.total }
    }
}

/// Formats a float as Python prints it: the shortest digits that parse back to it.
pub(super) fn printed(float: f64) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let exponent = exponent(float);
    if (-4..16).contains(&exponent) {
        let plain = format!("{float}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let written = format!("{float:e}");
    let digits = written.split_once('e').map_or(written.as_str(), |(digits, _)| digits);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
