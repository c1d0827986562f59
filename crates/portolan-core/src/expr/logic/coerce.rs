//! JavaScript's coercions, as far as JSON Logic exposes them.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A value during evaluation: JSON, or a number that JSON may be unable to represent.
#[derive(Clone, Debug)]
pub(super) enum Data<'v> {
    Json(Cow<'v, Value>),
    Number(f64),
}

impl<'v> Data<'v> {
    pub(super) fn owned(value: Value) -> Data<'v> {
        Data::Json(Cow::Owned(value))
    }

    pub(super) fn null() -> Data<'v> {
        Data::owned(Value::Null)
    }

    pub(super) fn into_value(self) -> Value {
        match self {
            Data::Json(value) => value.into_owned(),
            Data::Number(number) => from_number(number),
        }
    }

    pub(super) fn truthy(&self) -> bool {
        match self {
            Data::Json(value) => truthy(value),
            Data::Number(number) => *number != 0.0 && !number.is_nan(),
        }
    }

    /// Computes `Number(x)`.
    pub(super) fn to_number(&self) -> f64 {
        match self {
            Data::Json(value) => to_number(value),
            Data::Number(number) => *number,
        }
    }

    /// Computes `parseFloat(x)`.
    pub(super) fn parse_float(&self) -> f64 {
        match self {
            Data::Number(number) => *number,
            Data::Json(value) => match &**value {
                Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
                other => leading_number(&to_text(other)),
            },
        }
    }

    /// Computes `String(x)`.
    pub(super) fn to_text(&self) -> Cow<'_, str> {
        match self {
            Data::Json(value) => to_text(value),
            Data::Number(number) => Cow::Owned(number_text(*number)),
        }
    }

    fn as_number(&self) -> Option<f64> {
        match self {
            Data::Number(number) => Some(*number),
            Data::Json(value) => value.as_f64(),
        }
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Data::Number(_) => None,
            Data::Json(value) => value.as_str(),
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Data::Json(value) if value.is_null())
    }

    fn is_compound(&self) -> bool {
        matches!(self, Data::Json(value) if value.is_array() || value.is_object())
    }
}

/// Checks JSON Logic's truth: an empty array is false, an empty object is true.
pub(in crate::expr) fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(_) => true,
    }
}

/// Computes `a === b`. JavaScript compares compounds by identity, and here each is its own object.
pub(super) fn same(a: &Data<'_>, b: &Data<'_>) -> bool {
    match (a, b) {
        _ if a.is_compound() || b.is_compound() => false,
        (Data::Json(a), Data::Json(b)) if !a.is_number() => **a == **b,
        _ => matches!((a.as_number(), b.as_number()), (Some(a), Some(b)) if a == b),
    }
}

/// Computes `a == b`.
pub(super) fn equal(a: &Data<'_>, b: &Data<'_>) -> bool {
    if a.is_null() || b.is_null() {
        return a.is_null() && b.is_null();
    }
    if a.is_compound() && b.is_compound() {
        return false;
    }
    match (text_side(a, b), text_side(b, a)) {
        // A compound is compared with text as text.
        (Some(a), Some(b)) => a == b,
        _ => a.to_number() == b.to_number(),
    }
}

/// Returns the text of `a` for a comparison of two texts, or of a text and a compound that becomes text.
fn text_side<'d>(a: &'d Data<'_>, b: &Data<'_>) -> Option<Cow<'d, str>> {
    match a.as_text() {
        Some(text) => Some(Cow::Borrowed(text)),
        None if a.is_compound() && b.as_text().is_some() => Some(a.to_text()),
        None => None,
    }
}

/// Compares with `<` and its like; `None` if JavaScript compares with NaN.
pub(super) fn order(a: &Data<'_>, b: &Data<'_>) -> Option<Ordering> {
    let is_text = |data: &Data<'_>| data.as_text().is_some() || data.is_compound();
    if is_text(a) && is_text(b) {
        return Some(a.to_text().encode_utf16().cmp(b.to_text().encode_utf16()));
    }
    a.to_number().partial_cmp(&b.to_number())
}

fn to_number(value: &Value) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        other => text_number(&to_text(other)),
    }
}

/// Computes `Number("…")`: blank is zero, and text that is not a number as a whole is NaN.
fn text_number(text: &str) -> f64 {
    let text = text.trim();
    let radix = |digits: &str, radix: u32| u64::from_str_radix(digits, radix).map_or(f64::NAN, |number| number as f64);
    match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        _ if text.is_empty() => 0.0,
        Some("0x") => radix(&text[2..], 16),
        Some("0o") => radix(&text[2..], 8),
        Some("0b") => radix(&text[2..], 2),
        _ => {
            let number = leading_number_length(text);
            if number == text.len() { leading_number(text) } else { f64::NAN }
        }
    }
}

/// Computes `parseFloat("…")`: the number at the beginning of the text.
fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    let number = &text[..leading_number_length(text)];
    number.parse().unwrap_or(f64::NAN)
}

/// Returns the length in bytes of the leading decimal number in JavaScript's notation.
fn leading_number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    if text[sign..].starts_with("Infinity") {
        return sign + "Infinity".len();
    }
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = bytes.get(end + 1 + signed..).map_or(0, |_| digits(end + 1 + signed));
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
    end
}

fn to_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed("null"),
        Value::Bool(truth) => Cow::Borrowed(if *truth { "true" } else { "false" }),
        Value::Number(number) => Cow::Owned(number.as_f64().map_or_else(|| number.to_string(), number_text)),
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(items) => Cow::Owned(items.iter().map(joined).collect::<Vec<_>>().join(",")),
        Value::Object(_) => Cow::Borrowed("[object Object]"),
    }
}

/// Formats an item as `join` does.
pub(super) fn joined(value: &Value) -> Cow<'_, str> {
    if value.is_null() { Cow::Borrowed("") } else { to_text(value) }
}

fn number_text(number: f64) -> String {
    match from_number(number) {
        Value::Number(number) => number.to_string(),
        _ if number.is_nan() => "NaN".to_owned(),
        _ if number > 0.0 => "Infinity".to_owned(),
        _ => "-Infinity".to_owned(),
    }
}

/// Converts a number to JSON: a whole number without a fraction, and `null` for values that JSON cannot represent.
pub(in crate::expr) fn from_number(number: f64) -> Value {
    /// Beyond this, floats cannot represent every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}
