//! The truth of a condition in any notation: comparisons over the names of a scope, joined by and, or and not.
//!
//! Fails closed: a missing value equals nothing, not even `null`, and is neither less nor greater than anything.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use serde_json::Value;

use super::Scope;

/// A condition as a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    All(Vec<Truth>),
    Any(Vec<Truth>),
    Not(Box<Truth>),
    /// Holds if the value exists and is true.
    Is(Side),
    /// Holds if the value exists and is not `null`.
    Exists(Vec<String>),
    Compare(Side, Comparison, Side),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// A name in the scope and the object members below it; never empty.
    Path(Vec<String>),
    Literal(Value),
}

/// How two values are compared. There is no coercion: `1` and `"1"` are not equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `>`, between numbers
    Greater,
    /// `>=`, between numbers
    GreaterEqual,
    /// `<`, between numbers
    Less,
    /// `<=`, between numbers
    LessEqual,
}

/// The values that `<` and its like compare.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Only numbers.
    Only,
    /// Numbers and text that is a number.
    OrText,
}

impl Truth {
    pub(super) fn holds(&self, scope: &Scope<'_>, numbers: Numbers) -> bool {
        self.holds_where(&|path: &[String]| at(path, scope), numbers)
    }

    /// Checks whether it holds if `value` returns the value at each path.
    pub(super) fn holds_where<'v>(&'v self, value: &impl Fn(&[String]) -> Option<&'v Value>, numbers: Numbers) -> bool {
        match self {
            Truth::All(parts) => parts.iter().all(|part| part.holds_where(value, numbers)),
            Truth::Any(parts) => parts.iter().any(|part| part.holds_where(value, numbers)),
            Truth::Not(inner) => !inner.holds_where(value, numbers),
            Truth::Is(side) => side.value(value).is_some_and(is_true),
            Truth::Exists(path) => value(path).is_some_and(|value| !value.is_null()),
            Truth::Compare(left, comparison, right) => comparison.holds(left.value(value), right.value(value), numbers),
        }
    }

    /// Returns the parts without parts of their own, with repetitions.
    pub(super) fn leaves(&self) -> Vec<&Truth> {
        match self {
            Truth::All(parts) | Truth::Any(parts) => parts.iter().flat_map(Truth::leaves).collect(),
            Truth::Not(inner) => inner.leaves(),
            Truth::Is(_) | Truth::Exists(_) | Truth::Compare(..) => vec![self],
        }
    }

    /// Returns the path that a leaf reads; `None` if it reads none or is not a leaf.
    pub(super) fn path(&self) -> Option<&[String]> {
        match self {
            Truth::Exists(path)
            | Truth::Is(Side::Path(path))
            | Truth::Compare(Side::Path(path), ..)
            | Truth::Compare(_, _, Side::Path(path)) => Some(path),
            _ => None,
        }
    }

    /// Returns the names that it reads from the scope, in alphabetical order.
    pub(super) fn names(&self) -> Vec<&str> {
        let paths = self.leaves().into_iter().filter_map(Truth::path);
        let first = paths.filter_map(|path| path.first().map(String::as_str));
        first.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the names whose existence it checks. Dotted paths do not count.
    pub(super) fn existing(&self) -> Vec<&str> {
        match self {
            Truth::All(parts) | Truth::Any(parts) => parts.iter().flat_map(Truth::existing).collect(),
            Truth::Not(inner) => inner.existing(),
            Truth::Exists(segments) if segments.len() == 1 => segments.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Formats a part of a larger condition, in parentheses if it has parts itself.
    fn part(&self) -> String {
        match self {
            Truth::All(_) | Truth::Any(_) => format!("({self})"),
            _ => self.to_string(),
        }
    }
}

/// Formats as a `when`, except for `exists` and `notExists`, which follow their name.
impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |parts: &[Truth], by: &str| parts.iter().map(Truth::part).collect::<Vec<_>>().join(by);
        match self {
            Truth::All(parts) => f.write_str(&joined(parts, " && ")),
            Truth::Any(parts) => f.write_str(&joined(parts, " || ")),
            Truth::Not(inner) => match &**inner {
                Truth::Exists(path) => write!(f, "{} notExists", path.join(".")),
                Truth::Is(side) => write!(f, "!{side}"),
                inner => write!(f, "!({inner})"),
            },
            Truth::Is(side) => write!(f, "{side}"),
            Truth::Exists(path) => write!(f, "{} exists", path.join(".")),
            Truth::Compare(left, comparison, right) => write!(f, "{left} {comparison} {right}"),
        }
    }
}

impl Side {
    fn value<'v>(&'v self, value: &impl Fn(&[String]) -> Option<&'v Value>) -> Option<&'v Value> {
        match self {
            Side::Literal(value) => Some(value),
            Side::Path(path) => value(path),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Path(path) => f.write_str(&path.join(".")),
            // A `when` has escapes only for the quote and the backslash.
            Side::Literal(Value::String(text)) => {
                f.write_char('"')?;
                for c in text.chars() {
                    if matches!(c, '"' | '\\') {
                        f.write_char('\\')?;
                    }
                    f.write_char(c)?;
                }
                f.write_char('"')
            }
            Side::Literal(value) => write!(f, "{value}"),
        }
    }
}

/// Returns the value at a path. Names lead only through objects.
fn at<'v>(path: &[String], scope: &Scope<'v>) -> Option<&'v Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(scope.name(first)?, |value, segment| value.as_object()?.get(segment))
}

impl Comparison {
    /// Checks whether it compares the order of two numbers.
    pub(crate) fn is_relation(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::Unequal)
    }

    fn holds(self, left: Option<&Value>, right: Option<&Value>, numbers: Numbers) -> bool {
        let equal = || matches!((left, right), (Some(left), Some(right)) if is_equal(left, right));
        let both = || Some((number(left?, numbers)?, number(right?, numbers)?));
        match self {
            Comparison::Equal => equal(),
            Comparison::Unequal => !equal(),
            Comparison::Greater => both().is_some_and(|(left, right)| left > right),
            Comparison::GreaterEqual => both().is_some_and(|(left, right)| left >= right),
            Comparison::Less => both().is_some_and(|(left, right)| left < right),
            Comparison::LessEqual => both().is_some_and(|(left, right)| left <= right),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Equal => "==",
            Comparison::Unequal => "!=",
            Comparison::Greater => ">",
            Comparison::GreaterEqual => ">=",
            Comparison::Less => "<",
            Comparison::LessEqual => "<=",
        })
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// Compares without coercion, except that 1 and 1.0 are equal.
fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

fn number(value: &Value, numbers: Numbers) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if numbers == Numbers::OrText => {
            text.trim().parse().ok().filter(|number: &f64| number.is_finite())
        }
        _ => None,
    }
}
