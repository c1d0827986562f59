//! The names and inputs of the gates' tools. Their texts are for models, which read every word.

use rmcp::model::Tool;
use serde_json::{Value, json};

use crate::mcp::schema::{hints, properties, text, tool};

/// Returns the tools, in the order in which they are listed.
pub(crate) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "flow_status",
            "The status of the project's task: its phase, what it claims, what was verified, and why the last tick did not move it.",
            properties(json!({}), &[]),
            stands(),
            hints(true, true),
        ),
        tool(
            "flow_start",
            "Begin a task. There can be only one at a time.",
            properties(
                json!({
                    "task": text("Its name: letters, digits, `.`, `_` and `-`."),
                    "at": text("The phase to begin at. Phases before it must not have a check."),
                    "workflow_id": text("The workflow of phases. Default: `delivery`."),
                }),
                &["task"],
            ),
            stands(),
            hints(false, false),
        ),
        tool(
            "flow_claim",
            "State what the task has. None of it counts until flow_tick has verified it.",
            properties(
                json!({
                    "values": {
                        "type": "object",
                        "description": "Fields that can be set in this phase, such as issueNumber, branch, specPath, prNumber.",
                    },
                }),
                &["values"],
            ),
            stands(),
            hints(false, true),
        ),
        tool(
            "flow_tick",
            "Leave the current phase, if the repository is in the state that the phase claims. Moves at most one \
            phase; otherwise `reason` says what is missing.",
            properties(json!({}), &[]),
            ticked(),
            hints(false, false),
        ),
        tool(
            "flow_back",
            "Go back to the work: tests fail, or a reviewer wants changes. The number of times is limited.",
            properties(json!({ "reason": text("Why, in one sentence; it is recorded.") }), &["reason"]),
            ticked(),
            hints(false, false),
        ),
        tool(
            "flow_abort",
            "Abort the task.",
            properties(
                json!({
                    "outcome": { "type": "string", "enum": ["scoped-down", "escalated"], "description": "The result." },
                    "reason": text("Why, in one sentence; it is recorded."),
                }),
                &["outcome", "reason"],
            ),
            stands(),
            hints(false, false),
        ),
        tool(
            "flow_override",
            "Bypass one rule in one phase, by name. It is recorded before it takes effect; if only a person is \
            allowed to do it, the person is asked.",
            properties(
                json!({
                    "invariant": text("Exactly one rule, such as `I-3`."),
                    "reason": text("Why, in one sentence; it is recorded."),
                    "phase": text("The phase in which the rule does not apply. Default: the current phase."),
                    "once": { "type": "boolean", "description": "Once only." },
                }),
                &["invariant", "reason"],
            ),
            stands(),
            hints(false, false),
        ),
    ]
}

fn stands() -> Value {
    answer(json!({ "state": { "type": "object", "description": "The status of the task." } }))
}

fn ticked() -> Value {
    let check = json!({
        "type": "object",
        "properties": { "id": text("The check."), "held": { "type": "boolean" }, "reason": text("Why it does not hold.") },
        "required": ["id", "held"],
    });
    let tick = json!({
        "type": "object",
        "properties": {
            "advanced": { "type": "boolean", "description": "Whether the task is in the next phase." },
            "from": text("The phase that it was in."),
            "to": text("The phase that it is in."),
            "reason": text("The reason; never empty."),
            "failing": { "type": "array", "items": check, "description": "The checks that do not hold." },
        },
        "required": ["advanced", "from", "to", "reason"],
    });
    answer(json!({ "tick": tick }))
}

/// Returns the schema of an answer with these fields, or an error.
fn answer(fields: Value) -> Value {
    let mut properties = json!({
        "success": { "type": "boolean" },
        "message": text("Why the call was refused."),
        "error": {
            "type": "object",
            "properties": { "code": text("A stable word."), "message": text("What is wrong."), "help": text("What to do.") },
            "required": ["code", "message", "help"],
        },
    });
    if let (Value::Object(all), Value::Object(fields)) = (&mut properties, fields) {
        all.extend(fields);
    }
    json!({ "type": "object", "properties": properties, "required": ["success"] })
}
