//! Formats a value like Python's `str` and `repr`, and as JSON.

use serde_json::{Map, Number, Value};

use super::meter::{Meter, Run, exceeds, type_error, value_error};
use super::number::printed;
use super::value::{Val, too_deep};

/// Computes `str(value)`.
pub(super) fn text(value: &Val, meter: &Meter) -> Run<String> {
    if let Val::Text(text) = value {
        meter.text(text.len())?;
        return Ok(text.to_string());
    }
    let mut printer = Printer { text: String::new(), meter };
    printer.value(value)?;
    Ok(printer.text)
}

struct Printer<'m> {
    text: String,
    meter: &'m Meter,
}

impl Printer<'_> {
    fn put(&mut self, text: &str) -> Run<()> {
        self.meter.step()?;
        self.text.push_str(text);
        // Each piece is charged once; the total length is checked each time.
        self.meter.text(text.len())?;
        self.meter.is_short(self.text.len())
    }

    fn value(&mut self, value: &Val) -> Run<()> {
        match value {
            Val::None => self.put("None"),
            Val::Bool(true) => self.put("True"),
            Val::Bool(false) => self.put("False"),
            Val::Int(int) => self.put(&int.to_string()),
            Val::Float(float) => self.put(&printed(*float)),
            Val::Text(text) => {
                self.meter.text(text.len())?;
                self.put(&quoted(text))
            }
            Val::List(items) => self.listed("[", items.iter(), "]"),
            Val::Tuple(items) if items.len() == 1 => self.listed("(", items.iter(), ",)"),
            Val::Tuple(items) => self.listed("(", items.iter(), ")"),
            Val::Set(set) if set.is_empty() => self.put("set()"),
            Val::Set(set) => self.listed("{", set.values().map(|(item, _)| item), "}"),
            Val::View(_, items) => {
                self.put(value.kind())?;
                self.listed("([", items.iter(), "])")
            }
            Val::Dict(dict) => {
                self.put("{")?;
                for (number, (key, value)) in dict.values().enumerate() {
                    self.put(if number > 0 { ", " } else { "" })?;
                    self.value(key)?;
                    self.put(": ")?;
                    self.value(value)?;
                }
                self.put("}")
            }
            Val::Function(_) => type_error("a function cannot be printed"),
            Val::Deep(_) => too_deep(),
        }
    }

    fn listed<'v>(&mut self, open: &str, items: impl Iterator<Item = &'v Val>, close: &str) -> Run<()> {
        self.put(open)?;
        for (number, item) in items.enumerate() {
            self.put(if number > 0 { ", " } else { "" })?;
            self.value(item)?;
        }
        self.put(close)
    }
}

/// Returns the `repr` of a string.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut written = String::with_capacity(text.len() + 2);
    written.push(quote);
    for c in text.chars() {
        match c {
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            c if c == quote => written.extend(['\\', c]),
            c if is_printable(c) => written.push(c),
            c => written.push_str(&match u32::from(c) {
                code @ ..=0xff => format!("\\x{code:02x}"),
                code @ ..=0xffff => format!("\\u{code:04x}"),
                code => format!("\\U{code:08x}"),
            }),
        }
    }
    written.push(quote);
    written
}

fn is_printable(c: char) -> bool {
    // After a letter, `escape_debug` escapes only what is not printable.
    matches!(c, '\'' | '"') || !c.is_control() && ['a', c].iter().collect::<String>().escape_debug().count() == 2
}

/// Converts the value to JSON. Tuples, sets and views of dicts become arrays.
pub(super) fn json(value: &Val, meter: &Meter) -> Run<Value> {
    meter.items(1)?;
    meter.step()?;
    match value {
        Val::None => Ok(Value::Null),
        Val::Bool(is) => Ok(Value::Bool(*is)),
        Val::Int(int) => match (i64::try_from(*int), u64::try_from(*int)) {
            (Ok(int), _) => Ok(int.into()),
            (_, Ok(int)) => Ok(int.into()),
            _ => exceeds(format!("`{int}` is too large for a whole number in JSON")),
        },
        Val::Float(float) => match Number::from_f64(*float) {
            Some(number) => Ok(Value::Number(number)),
            None => value_error(format!("`{}` is not a JSON number", printed(*float))),
        },
        Val::Text(text) => {
            meter.text(text.len())?;
            Ok(Value::String(text.to_string()))
        }
        Val::List(items) | Val::Tuple(items) | Val::View(_, items) => array(items.iter(), meter),
        Val::Set(set) => array(set.values().map(|(item, _)| item), meter),
        Val::Dict(dict) => {
            let members = dict.values().map(|(key, value)| Ok((name(key, meter)?, json(value, meter)?)));
            members.collect::<Run<Map<String, Value>>>().map(Value::Object)
        }
        Val::Function(_) => type_error("a function is not a JSON value"),
        Val::Deep(_) => too_deep(),
    }
}

fn array<'v>(items: impl Iterator<Item = &'v Val>, meter: &Meter) -> Run<Value> {
    items.map(|item| json(item, meter)).collect::<Run<Vec<Value>>>().map(Value::Array)
}

/// Converts the key of a dict to a member name.
fn name(key: &Val, meter: &Meter) -> Run<String> {
    match key {
        Val::Text(_) | Val::Int(_) | Val::Float(_) => text(key, meter),
        Val::Bool(is) => Ok(is.to_string()),
        Val::None => Ok("null".to_owned()),
        other => type_error(format!("a `{}` cannot be a key in JSON", other.kind())),
    }
}
