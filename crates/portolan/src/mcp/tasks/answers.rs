//! Answers: structured content, and the same as text for clients that read only that.

use portolan_core::diagnostic::clip;
use portolan_runtime::service::{ServiceError, View};
use rmcp::model::{CallToolRequestParams, CallToolResult, JsonObject};
use serde_json::{Map, Value, json};

use crate::mcp::face::result;
use crate::words::tasks as words;

/// The version of the answers' format, in Navigator's numbering.
const SCHEMA_VERSION: u32 = 3;
/// The most arguments that an error repeats.
const MAX_ECHOED: usize = 16;
/// The longest string that an error repeats in full, in bytes.
const MAX_ECHOED_BYTES: usize = 400;

pub(super) fn success(mut value: Map<String, Value>) -> CallToolResult {
    value.entry("schemaVersion").or_insert(json!(SCHEMA_VERSION));
    result(Value::Object(value), false)
}

/// Returns a refused call: the reason, the help, and the situation of the run. `args` and `metadata` are Navigator's.
pub(super) fn failure(
    request: &CallToolRequestParams,
    error: &ServiceError,
    metadata: Option<Map<String, Value>>,
) -> CallToolResult {
    let mut value = Map::new();
    value.insert("schemaVersion".to_owned(), json!(SCHEMA_VERSION));
    value.insert("error".to_owned(), json!(error.code));
    value.insert("message".to_owned(), json!(error.message));
    value.insert("help".to_owned(), json!(error.help));
    value.insert("tool".to_owned(), json!(clip(&request.name)));
    let args = echoed(request.arguments.as_ref());
    if let Some(result) = args.get("result") {
        value.insert("result".to_owned(), result.clone());
    }
    value.insert("args".to_owned(), Value::Object(args));
    if !error.accepted.is_empty() {
        value.insert("accepted".to_owned(), json!(error.accepted));
    }
    if let Some(view) = &error.view {
        value.insert("currentStep".to_owned(), json!(view.current_step));
        value.insert(
            "situation".to_owned(),
            serde_json::to_value(words::task_situation(view)).expect("a situation is JSON"),
        );
    }
    if let Some(metadata) = metadata {
        value.insert("metadata".to_owned(), Value::Object(metadata));
    }
    result(Value::Object(value), true)
}

/// Shortens the arguments of a call for an error.
fn echoed(arguments: Option<&JsonObject>) -> Map<String, Value> {
    let short = |value: &Value| match value {
        Value::String(text) if text.len() > MAX_ECHOED_BYTES => json!(clip(text)),
        Value::String(text) => json!(text),
        Value::Array(items) => json!(format!("an array of {}", items.len())),
        Value::Object(members) => json!(format!("an object of {}", members.len())),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    };
    let shown = arguments.into_iter().flatten().take(MAX_ECHOED);
    shown.map(|(name, value)| (clip(name), short(value))).collect()
}

/// Returns Navigator's fields, followed by the situation.
pub(super) fn navigation(view: &View) -> Map<String, Value> {
    let mut value = Map::new();
    if let Some(id) = view.address.handle() {
        value.insert("run".to_owned(), json!(id.as_str()));
    }
    value.insert("currentStep".to_owned(), json!(view.current_step));
    value.insert("instructions".to_owned(), json!(words::instructions(view)));
    value.insert("terminal".to_owned(), json!(view.terminal));
    value.insert("metadata".to_owned(), Value::Object(view.metadata.clone()));
    value.insert("state".to_owned(), json!(view.situation.state));
    value.insert("position".to_owned(), json!(view.situation.position));
    value.insert("actions".to_owned(), json!(words::actions(view)));
    if let Some(claim) = &view.claim {
        value.insert("claim".to_owned(), json!(claim));
    }
    if !view.notes.is_empty() {
        value.insert("notes".to_owned(), json!(view.notes));
    }
    value
}
