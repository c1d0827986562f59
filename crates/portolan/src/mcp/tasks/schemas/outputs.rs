//! The schemas of the tools' answers. Clients validate the `structuredContent` of errors, too, so each schema allows
//! both.

use serde_json::{Value, json};

use crate::mcp::schema::{action, actions, text, texts};

pub(super) fn navigation() -> Value {
    let success = json!({
        "currentStep": word(),
        "instructions": text("What to do now."),
        "terminal": { "type": ["string", "null"], "description": "`start`, `success`, `hitl`, `failure` or `join`; null while there is work." },
        "metadata": { "type": "object" },
        "run": text("The handle of a stored run."),
        "state": { "type": "string", "enum": ["working", "checking", "waiting", "ended"] },
        "position": { "type": "object" },
        "actions": { "$ref": "#/$defs/actions" },
        "claim": { "type": "object", "description": "How the acceptance checks judged the reported outcome." },
        "notes": texts("What else the caller should know."),
    });
    let required = ["currentStep", "instructions", "terminal", "metadata", "state", "position", "actions"];
    let mut error = error();
    error["accepted"] = texts("The outcomes that would be accepted.");
    error["situation"] = json!({
        "type": "object",
        "properties": {
            "state": word(),
            "position": { "type": "object" },
            "message": text("What to do now."),
            "actions": { "$ref": "#/$defs/actions" },
        },
        "required": ["state", "position", "message", "actions"],
    });
    let mut schema = either(success, &required, error);
    schema["$defs"] = json!({ "actions": actions(), "action": action() });
    schema
}

pub(super) fn list_workflows() -> Value {
    answer(
        json!({ "workflows": listing(), "filter": word(), "hasProjectWorkflows": { "type": "boolean" } }),
        &["workflows", "filter", "hasProjectWorkflows"],
    )
}

pub(super) fn select_workflow() -> Value {
    answer(
        json!({ "workflows": listing(), "dialog": { "type": "array", "items": { "type": "object" } } }),
        &["workflows", "dialog"],
    )
}

pub(super) fn diagram() -> Value {
    answer(
        json!({ "savedTo": word(), "source": word(), "mermaid": word(), "markdown": word() }),
        &["savedTo", "source", "mermaid", "markdown"],
    )
}

pub(super) fn copying() -> Value {
    answer(json!({ "copied": words(), "unchanged": words(), "errors": errors(), "path": word() }), &["copied", "path"])
}

pub(super) fn load_workflows() -> Value {
    answer(
        json!({ "loaded": { "type": "integer" }, "ids": words(), "errors": errors(), "available": words(), "hint": word() }),
        &[],
    )
}

pub(super) fn list_catalog() -> Value {
    answer(
        json!({
            "workflows": listing(),
            "workflowSelectionOptions": options(),
            "agents": { "type": "array", "items": { "type": "object" } },
            "agentSelectionOptions": options(),
        }),
        &["workflows", "workflowSelectionOptions", "agents", "agentSelectionOptions"],
    )
}

fn answer(success: Value, required: &[&str]) -> Value {
    either(success, required, error())
}

fn either(mut success: Value, required: &[&str], error: Value) -> Value {
    success["schemaVersion"] = json!({ "type": "integer" });
    json!({
        "type": "object",
        "anyOf": [
            { "properties": success, "required": required, "not": { "required": ["error"] } },
            { "properties": error, "required": ["error", "message", "help"] },
        ],
    })
}

fn error() -> Value {
    json!({ "error": text("A stable code."), "message": text("What is wrong."), "help": text("What to do about it.") })
}

fn listing() -> Value {
    json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "id": word(),
                "name": word(),
                "description": word(),
                "stepCount": { "type": "integer" },
                "source": word(),
            },
            "required": ["id", "name", "description", "stepCount"],
        },
    })
}

fn errors() -> Value {
    let error =
        json!({ "type": "object", "properties": { "id": word(), "error": word() }, "required": ["id", "error"] });
    json!({ "type": "array", "items": error })
}

fn options() -> Value {
    let option = json!({ "type": "object", "properties": { "label": word(), "description": word() } });
    json!({ "type": "array", "items": option })
}

fn word() -> Value {
    json!({ "type": "string" })
}

fn words() -> Value {
    json!({ "type": "array", "items": word() })
}
