//! The names and inputs of the gates' tools. Their texts are for models, which read every word.

use rmcp::model::Tool;
use serde_json::{Value, json};

use crate::mcp::schema::{hints, properties, text, tool};

/// Returns the tools, in the order in which they are listed.
pub(crate) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "flow_status",
            "How the project's task stands: its phase, what it claims, what was verified, why the last tick did not move it.",
            properties(json!({}), &[]),
            stands(),
            hints(true, true),
        ),
        tool(
            "flow_start",
            "Begin a task. There is one at a time.",
            properties(
                json!({
                    "task": text("Its name: letters, digits, `.`, `_` and `-`."),
                    "at": text("The phase to begin at. No phase before it may have a check."),
                    "workflow_id": text("The workflow of phases; `delivery` where it is left out."),
                }),
                &["task"],
            ),
            stands(),
            hints(false, false),
        ),
        tool(
            "flow_claim",
            "Say what the task has: nothing of it is believed before flow_tick has verified it.",
            properties(
                json!({
                    "values": {
                        "type": "object",
                        "description": "Fields that may be given a value in this phase, such as issueNumber, branch, specPath, prNumber.",
                    },
                }),
                &["values"],
            ),
            stands(),
            hints(false, true),
        ),
        tool(
            "flow_tick",
            "Leave the present phase, if the repository is in the state that it claims. Moves one phase at most; otherwise `reason` says what is missing.",
            properties(json!({}), &[]),
            ticked(),
            hints(false, false),
        ),
        tool(
            "flow_back",
            "Go back to the work: tests fail, or a reviewer wants something changed. How often is limited.",
            properties(json!({ "reason": text("Why, in a sentence: it is put on record.") }), &["reason"]),
            ticked(),
            hints(false, false),
        ),
        tool(
            "flow_abort",
            "Call the task off.",
            properties(
                json!({
                    "outcome": { "type": "string", "enum": ["scoped-down", "escalated"], "description": "What it came to." },
                    "reason": text("Why, in a sentence: it is put on record."),
                }),
                &["outcome", "reason"],
            ),
            stands(),
            hints(false, false),
        ),
        tool(
            "flow_override",
            "Get past one rule in one phase, by name. It is on record before anything follows from it; where only a person may, the person is asked.",
            properties(
                json!({
                    "invariant": text("The rule, exactly one: `I-3`."),
                    "reason": text("Why, in a sentence: it is put on record."),
                    "phase": text("The phase in which it is not to count; the present one where it is left out."),
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
    answer(json!({ "state": { "type": "object", "description": "How the task stands." } }))
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
            "reason": text("Why: never empty."),
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
