//! Answers of the navigation tools: structured content, and the same as text for clients that read only that.

use portolan_core::source::Source;
use portolan_runtime::library::{Origin, Overview};
use portolan_runtime::service::{ServiceError, View};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use crate::mcp::face::result;
use crate::words::navigation::guidance;

/// Returns the result of an accepted call.
pub(super) fn led(view: &View) -> CallToolResult {
    result(Value::Object(envelope(true, view)), false)
}

/// Returns the result of a refused call: the reason, the help, and the situation of the run.
pub(super) fn refused(refused: &ServiceError) -> CallToolResult {
    let mut value = match &refused.view {
        Some(view) => envelope(false, view),
        None => Map::from_iter([("success".to_owned(), json!(false))]),
    };
    let why = format!("Refused: {refused}.");
    let message = match value.get("message").and_then(Value::as_str) {
        Some(message) => format!("{why}\n\n{message}"),
        None => why,
    };
    value.insert("message".to_owned(), json!(message));
    value.insert("error".to_owned(), error(refused));
    result(Value::Object(value), true)
}

fn error(error: &ServiceError) -> Value {
    let mut value = json!({ "code": error.code, "message": error.message, "help": error.help });
    if !error.accepted.is_empty() {
        value["accepted"] = json!(error.accepted);
    }
    value
}

fn envelope(success: bool, view: &View) -> Map<String, Value> {
    let mut value = Map::from_iter([("success".to_owned(), json!(success))]);
    if let Ok(Value::Object(fields)) = serde_json::to_value(guidance(view)) {
        value.extend(fields);
    }
    value.insert("state".to_owned(), json!(view.state));
    value
}

pub(super) fn workflows(overview: &[Overview]) -> CallToolResult {
    let line = |known: &Overview| {
        let mut line = json!({
            "id": known.id, "title": known.name, "description": known.description, "source": known.origin.word(),
        });
        if let Some(version) = &known.version {
            line["version"] = json!(version);
        }
        if !known.required.is_empty() {
            let required = known.required.iter().map(|(name, kind)| json!({ "name": name, "type": kind }));
            line["required"] = required.collect();
        }
        if let Some(fault) = &known.fault {
            line["broken"] = json!(fault);
        }
        line
    };
    let workflows: Vec<Value> = overview.iter().map(line).collect();
    result(
        Value::Object(Map::from_iter([
            ("success".to_owned(), json!(true)),
            ("workflows".to_owned(), json!(workflows)),
        ])),
        false,
    )
}

pub(super) fn definition(id: &str, source: &Source, origin: Origin) -> CallToolResult {
    let value = json!({ "success": true, "id": id, "source": origin.word(), "definition": &*source.text });
    let Value::Object(value) = value else { unreachable!("it is written as an object") };
    result(Value::Object(value), false)
}
