//! The input of a run on the command line: fields, JSON, a file, or standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use portolan_core::diagnostic::{clip, closest};
use portolan_core::run::RunMemory;
use portolan_core::schema::Schema;
use portolan_core::source::MAX_SOURCE_BYTES;
use portolan_runtime::definition::Definition;
use portolan_runtime::service::ServiceError;
use serde_json::{Map, Value};

use super::Run;
use crate::cli::output::{plain, unread};

/// The prefix of the whole input, for states without an input schema.
const WHOLE: &str = "input=";

/// Reads the input and checks it against the function's schema. Reports all faults at once.
pub(super) fn read(args: &Run, definition: &Definition) -> Result<Value, ServiceError> {
    let program = definition.workflow.root().interface.as_ref();
    let schema = program.and_then(|program| program.input.as_ref()).map(|schema| &schema.value);
    // States accept any input; the arguments of a graph of tool calls have names.
    let any = program.is_some_and(|program| program.waits_at_limits);
    let (input, mut faults) = match (&args.input, args.fields.as_slice()) {
        (Some(given), _) => (whole(given, any)?, Vec::new()),
        (None, [only]) if any && schema.is_none() && only.starts_with(WHOLE) => {
            (typed(&only[WHOLE.len()..], &Value::Null), Vec::new())
        }
        (None, given) => fields(given, schema.map_or(&Value::Null, Schema::value)),
    };
    let found = schema.map(|schema| schema.check(&input)).unwrap_or_default();
    faults.extend(found.iter().map(ToString::to_string));
    if faults.is_empty() {
        return Ok(input);
    }
    let message = format!("the input is not valid for `{}`: {}", definition.workflow.id(), faults.join("; "));
    Err(ServiceError::refused(
        "bad_input",
        message,
        "`portolan show` shows the input that it takes; nothing was started",
    ))
}

/// Reads the saved context of another run.
pub(super) fn remembered(path: &Path, definition: &Definition) -> Result<RunMemory, ServiceError> {
    if definition.workflow.root().interface.as_ref().is_none_or(|program| !program.waits_at_limits) {
        let message =
            format!("`--context` is only for workflows of states, and `{}` is not one", definition.workflow.id());
        return Err(ServiceError::refused("usage", message, "leave `--context` out"));
    }
    let what = format!("`{}`", path.display());
    let text = bounded(File::open(path).map_err(|error| unreadable(&what, &error))?, &what)?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{what} is not a saved context: {}", unread(&error));
        refused(message, "write `{\"shared\": {…}, \"history\": [{\"state_name\": …, \"output\": …}]}`")
    })
}

fn refused(message: String, help: &str) -> ServiceError {
    ServiceError::refused("bad_input", message, help)
}

fn whole(given: &str, any: bool) -> Result<Value, ServiceError> {
    let text = match (given, given.strip_prefix('@')) {
        ("-", _) => bounded(io::stdin().lock(), "standard input")?,
        (_, Some(path)) => {
            let what = format!("`{path}`");
            let file = File::open(path).map_err(|error| unreadable(&what, &error))?;
            bounded(file, &what)?
        }
        (text, None) => text.to_owned(),
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if any || value.is_object() => Ok(value),
        Ok(_) => Err(refused("the input must be a JSON object".to_owned(), "write `{\"key\": value}`")),
        Err(error) => Err(refused(
            format!("the input is not valid JSON: {}", unread(&error)),
            "write `{\"key\": value}`, `@FILE`, or `-` for standard input",
        )),
    }
}

fn bounded(from: impl Read, what: &str) -> Result<String, ServiceError> {
    let mut text = String::new();
    let limit = MAX_SOURCE_BYTES as u64 + 1;
    from.take(limit).read_to_string(&mut text).map_err(|error| unreadable(what, &error))?;
    if text.len() > MAX_SOURCE_BYTES {
        return Err(refused(format!("{what} has more than {MAX_SOURCE_BYTES} bytes"), "give a smaller input"));
    }
    Ok(text)
}

fn unreadable(what: &str, error: &io::Error) -> ServiceError {
    let message = format!("{what} cannot be read: {}", plain(error));
    ServiceError::failed("unreadable", message, "check the path and its permissions")
}

/// Parses the fields of the command line, and returns faults other than those of their values.
fn fields(given: &[String], schema: &Value) -> (Value, Vec<String>) {
    let mut input = Map::new();
    let mut faults = Vec::new();
    for field in given {
        let Some((key, text)) = field.split_once('=') else {
            faults.push(format!("`{}` is not of the form `key=value`", clip(field)));
            continue;
        };
        if let Some(fault) = unknown(key, schema) {
            faults.push(fault);
        } else if input.insert(key.to_owned(), typed(text, &schema["properties"][key])).is_some() {
            faults.push(format!("`{}` is given twice", clip(key)));
        }
    }
    (Value::Object(input), faults)
}

/// Returns the fault of a field that the schema does not allow.
fn unknown(key: &str, schema: &Value) -> Option<String> {
    let properties = schema["properties"].as_object()?;
    let open = schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false))
        || schema.get("patternProperties").is_some();
    if open || properties.contains_key(key) {
        return None;
    }
    let known = || properties.keys().map(String::as_str);
    Some(match closest(key, known()) {
        Some(near) => format!("there is no field `{}`: did you mean `{near}`?", clip(key)),
        None => {
            let names: Vec<&str> = known().collect();
            format!("there is no field `{}`: the fields are {}", clip(key), portolan_core::diagnostic::list(&names))
        }
    })
}

/// Parses a value by its schema. A value of another type stays a text, and the schema reports the fault.
fn typed(text: &str, schema: &Value) -> Value {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if types == ["string"] {
        return Value::from(text);
    }
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    // If the schema allows a string, other types count only if it allows them, too.
    let taken = parsed.filter(|value| !types.contains(&"string") || types.contains(&type_of(value)));
    taken.filter(|value| !(types.contains(&"string") && value.is_string())).unwrap_or_else(|| Value::from(text))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_what_its_schema_wants() {
        let cases = [
            ("12", json!({"type": "string"}), json!("12")),
            ("12", json!({"type": "integer"}), json!(12)),
            ("abc", json!({"type": "integer"}), json!("abc")),
            ("[1]", json!({"type": "array"}), json!([1])),
            ("true", json!({"type": "boolean"}), json!(true)),
            ("{\"a\":1}", json!({"type": "object"}), json!({"a": 1})),
            ("null", json!({"type": ["string", "null"]}), json!(null)),
            ("12", json!({"type": ["string", "null"]}), json!("12")),
            ("\"x\"", json!({"type": ["string", "null"]}), json!("\"x\"")),
            ("12", json!({"type": ["string", "integer"]}), json!(12)),
            ("12", json!({}), json!(12)),
            ("a b", Value::Null, json!("a b")),
        ];
        for (text, schema, value) in cases {
            assert_eq!(typed(text, &schema), value, "{text} as {schema}");
        }
    }

    #[test]
    fn a_field_is_unknown_where_the_schema_closes_itself() {
        let named = json!({"properties": {"folder": {}}});
        assert_eq!(unknown("foldr", &named).as_deref(), Some("there is no field `foldr`: did you mean `folder`?"));
        assert_eq!(unknown("zzz", &named).as_deref(), Some("there is no field `zzz`: the fields are `folder`"));
        assert_eq!(unknown("zzz", &json!({"properties": {"a": {}}, "additionalProperties": {}})), None);
        assert_eq!(unknown("zzz", &json!({})), None);
    }
}
