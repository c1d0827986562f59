//! Formats a value like Python's `str` and `repr`, and as JSON.

use serde_json::{Map, Number, Value};

use super::meter::{Error, Meter, Run, deeper};
use super::number::printed;
use super::value::{Kind, Val};

/// Computes `str(value)`.
pub(super) fn text(value: &Val<'_>, meter: &Meter) -> Run<String> {
    match value {
        Val::Text(text) => {
            meter.text(text.len())?;
            Ok(text.to_string())
        }
        other => {
            let mut printer = Printer { text: String::new(), meter };
            printer.value(other, 0)?;
            Ok(printer.text)
        }
    }
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

    fn value(&mut self, value: &Val<'_>, depth: usize) -> Run<()> {
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
            Val::List(items) => self.listed("[", (0..items.len()).filter_map(|at| items.get(at)), "]", deeper(depth)?),
            Val::Tuple(items) if items.len() == 1 => self.listed("(", items.iter().cloned(), ",)", deeper(depth)?),
            Val::Tuple(items) => self.listed("(", items.iter().cloned(), ")", deeper(depth)?),
            Val::Set(set) if set.is_empty() => self.put("set()"),
            Val::Set(set) => self.listed("{", set.values().cloned(), "}", deeper(depth)?),
            Val::Dict(dict) => {
                self.meter.items(dict.len())?;
                self.members(dict.members(), deeper(depth)?)
            }
            Val::Series(series) => match series.kind {
                Kind::Range { start, stop, step: 1 } => self.put(&format!("range({start}, {stop})")),
                Kind::Range { start, stop, step } => self.put(&format!("range({start}, {stop}, {step})")),
                Kind::Keys | Kind::Values | Kind::Items => {
                    self.put(value.kind())?;
                    self.listed("([", series.items.iter().cloned(), "])", deeper(depth)?)
                }
                Kind::Iterator(name) => {
                    Error::Type.raise(format!("`{name}` cannot be printed: put `list(…)` around it"))
                }
            },
        }
    }

    fn listed<'v>(&mut self, open: &str, items: impl Iterator<Item = Val<'v>>, close: &str, depth: usize) -> Run<()> {
        self.put(open)?;
        for (number, item) in items.enumerate() {
            if number > 0 {
                self.put(", ")?;
            }
            self.value(&item, depth)?;
        }
        self.put(close)
    }

    fn members(&mut self, members: Vec<(Val<'_>, Val<'_>)>, depth: usize) -> Run<()> {
        self.put("{")?;
        for (number, (key, value)) in members.into_iter().enumerate() {
            if number > 0 {
                self.put(", ")?;
            }
            self.value(&key, depth)?;
            self.put(": ")?;
            self.value(&value, depth)?;
        }
        self.put("}")
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

/// Converts the value to JSON. Tuples, sets and iterators become arrays.
pub(super) fn json(value: &Val<'_>, meter: &Meter, depth: usize) -> Run<Value> {
    meter.items(1)?;
    meter.step()?;
    let list = |items: &mut dyn Iterator<Item = Val<'_>>| {
        let depth = deeper(depth)?;
        items.map(|item| json(&item, meter, depth)).collect::<Run<Vec<Value>>>().map(Value::Array)
    };
    match value {
        Val::None => Ok(Value::Null),
        Val::Bool(is) => Ok(Value::Bool(*is)),
        Val::Int(int) => match (i64::try_from(*int), u64::try_from(*int)) {
            (Ok(int), _) => Ok(int.into()),
            (_, Ok(int)) => Ok(int.into()),
            _ => Error::Bounds.raise(format!("`{int}` is too large for a whole number in JSON")),
        },
        Val::Float(float) => match Number::from_f64(*float) {
            Some(number) => Ok(Value::Number(number)),
            None => Error::Value.raise(format!("`{}` is not a JSON number", printed(*float))),
        },
        Val::Text(text) => {
            meter.text(text.len())?;
            Ok(Value::String(text.to_string()))
        }
        Val::List(items) => list(&mut (0..items.len()).filter_map(|at| items.get(at))),
        Val::Tuple(items) => list(&mut items.iter().cloned()),
        Val::Set(set) => list(&mut set.values().cloned()),
        Val::Series(series) => list(&mut series.items.iter().cloned()),
        Val::Dict(dict) => {
            let depth = deeper(depth)?;
            meter.items(dict.len())?;
            let members = dict.members().into_iter();
            let members = members.map(|(key, value)| Ok((name(&key, meter)?, json(&value, meter, depth)?)));
            members.collect::<Run<Map<String, Value>>>().map(Value::Object)
        }
    }
}

/// Converts the key of a dict to a member name.
fn name(key: &Val<'_>, meter: &Meter) -> Run<String> {
    match key {
        Val::Text(_) | Val::Int(_) | Val::Float(_) => text(key, meter),
        Val::Bool(is) => Ok(is.to_string()),
        Val::None => Ok("null".to_owned()),
        other => Error::Type.raise(format!("a `{}` cannot be a key in JSON", other.kind())),
    }
}
