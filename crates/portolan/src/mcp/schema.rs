//! The building blocks of the tools' JSON Schemas, for all toolsets.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

pub(super) fn tool(
    name: &'static str,
    description: &'static str,
    input: Value,
    output: Value,
    annotations: ToolAnnotations,
) -> Tool {
    Tool::new(name, description, object(input))
        .with_raw_output_schema(Arc::new(object(output)))
        .with_annotations(annotations)
}

/// Returns the annotations of a tool. None of these tools reaches beyond this machine.
pub(super) fn hints(read_only: bool, idempotent: bool) -> ToolAnnotations {
    ToolAnnotations::new().read_only(read_only).destructive(false).idempotent(idempotent).open_world(false)
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

pub(super) fn properties(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

pub(super) fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

pub(super) fn texts(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

/// Returns the schema of the calls at a position. The schema that contains it defines `action`.
pub(super) fn actions() -> Value {
    let list = |description: &str| json!({ "type": "array", "items": { "$ref": "#/$defs/action" }, "description": description });
    json!({
        "type": "object",
        "properties": {
            "required": list("Calls that continue the run."),
            "optional": list("Calls that can be made instead."),
            "blocked": list("Calls that would be refused now."),
        },
        "required": ["required", "optional", "blocked"],
    })
}

/// Returns the schema of a call.
pub(super) fn action() -> Value {
    json!({
        "type": "object",
        "properties": {
            "tool": { "type": "string" },
            "arguments": { "type": "object" },
            "title": { "type": "string" },
            "fill": texts("The arguments that are yours to choose."),
            "delegate": texts("The abilities that this needs and that you did not declare."),
            "liftedBy": text("What must happen before the call is accepted."),
        },
        "required": ["tool", "arguments", "title"],
    })
}
