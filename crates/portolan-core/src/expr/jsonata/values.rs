//! Converts values to the library's and back.

use jsonata_core::value::JValue;
use serde_json::{Map, Value};

use super::super::logic::from_number;
use super::parts::Part;
use super::reach::Reach;
use crate::expr::{EvalFault, Scope};

/// The maximum number of values in one value of an evaluation, with nested ones.
pub(super) const MAX_VALUES: usize = 2_000_000;
/// The maximum number of bytes of text in one value; shared text counts each time.
pub(super) const MAX_VALUE_BYTES: usize = 64 << 20;

/// The reason that a value of the library cannot be converted.
pub(super) enum Why {
    /// It is or contains a function.
    Function(&'static str),
    /// It is too large.
    Large(String),
}

impl Why {
    pub(super) fn fault(self, expression: &str) -> EvalFault {
        match self {
            Why::Function(kind) => {
                EvalFault::error(format!("the result is or contains {kind}, which is not a value; call it"), expression)
            }
            Why::Large(message) => EvalFault::bounds(message, expression),
        }
    }
}

/// Converts the readable part of the scope to the context of an expression.
pub(super) fn context(scope: &Scope<'_>, reach: &Reach) -> JValue {
    match scope.root {
        Some(root) if !root.is_object() => return to_library(root),
        None if scope.outputs.is_empty() && scope.names.is_empty() => return JValue::Undefined,
        _ => {}
    }
    JValue::object(match &reach.members {
        None => scope.entries().into_iter().map(|(name, value)| (name.to_owned(), to_library(value))).collect(),
        Some(members) => members
            .iter()
            .filter_map(|(name, part)| Some((name.clone(), part_to_library(scope.name(name)?, part))))
            .collect(),
    })
}

fn part_to_library(value: &Value, part: &Part) -> JValue {
    match (value, part) {
        (Value::Object(object), Part::Members(members)) => {
            let found = members.iter().filter_map(|(name, part)| {
                let value = object.get(name)?;
                Some((name.clone(), part_to_library(value, part)))
            });
            JValue::object(found.collect())
        }
        (Value::Array(items), Part::Members(_)) => {
            JValue::array(items.iter().map(|item| part_to_library(item, part)).collect())
        }
        _ => to_library(value),
    }
}

pub(super) fn to_library(value: &Value) -> JValue {
    match value {
        Value::Null => JValue::Null,
        Value::Bool(truth) => JValue::Bool(*truth),
        Value::Number(number) => JValue::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => JValue::string(text.as_str()),
        Value::Array(items) => JValue::array(items.iter().map(to_library).collect()),
        Value::Object(members) => {
            JValue::object(members.iter().map(|(name, value)| (name.clone(), to_library(value))).collect())
        }
    }
}

/// Converts the result to JSON; `None` for undefined.
pub(super) fn from_library(value: &JValue) -> Result<Option<Value>, Why> {
    weigh(value, MAX_VALUES).map_err(Why::Large)?;
    convert(value)
}

fn convert(value: &JValue) -> Result<Option<Value>, Why> {
    Ok(Some(match value {
        JValue::Undefined => return Ok(None),
        JValue::Null => Value::Null,
        JValue::Bool(truth) => Value::Bool(*truth),
        JValue::Number(number) => from_number(*number),
        JValue::String(text) => Value::String(text.to_string()),
        JValue::Array(items) => jsonata_core::value::with_stack(|| {
            let items = items.iter().filter_map(|item| convert(item).transpose());
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        })?,
        JValue::Object(members) => jsonata_core::value::with_stack(|| {
            let mut object = Map::new();
            for (name, value) in members.iter() {
                if let Some(value) = convert(value)? {
                    object.insert(name.clone(), value);
                }
            }
            Ok(Value::Object(object))
        })?,
        JValue::Lambda(_) | JValue::Builtin { .. } => return Err(Why::Function("a function")),
        JValue::Regex { .. } => return Err(Why::Function("a regular expression")),
    }))
}

/// Checks that the serialized size of a value is within bounds: shared values count each time.
///
/// # Errors
/// If it is larger than one value may be. The count stops there, so that its time is bounded however much is shared.
pub(super) fn weigh(value: &JValue, most: usize) -> Result<(), String> {
    let mut room = Room { values: most, bytes: MAX_VALUE_BYTES };
    room.take(value)
}

struct Room {
    values: usize,
    bytes: usize,
}

impl Room {
    fn take(&mut self, value: &JValue) -> Result<(), String> {
        self.values =
            self.values.checked_sub(1).ok_or_else(|| format!("a value holds more than {MAX_VALUES} values"))?;
        match value {
            JValue::String(text) => self.text(text.len()),
            JValue::Array(items) => {
                jsonata_core::value::with_stack(|| items.iter().try_for_each(|item| self.take(item)))
            }
            JValue::Object(members) => jsonata_core::value::with_stack(|| {
                members.iter().try_for_each(|(name, value)| {
                    self.text(name.len())?;
                    self.take(value)
                })
            }),
            _ => Ok(()),
        }
    }

    fn text(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.ok_or_else(|| format!("a value holds more than {} MiB of text", MAX_VALUE_BYTES >> 20))?;
        Ok(())
    }
}

/// Computes JSONata's `$boolean` of a JSON value: empty is false, and an array is true if one of its items is.
pub(in crate::expr) fn boolean(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(boolean),
        Value::Object(members) => !members.is_empty(),
    }
}
