//! The names and inputs of the navigation tools. Their texts are for models, which read every word.

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::Profile;
use crate::mcp::schema::{action, actions, hints, properties, text, texts, tool};

/// Returns the tools, in the order in which they are listed.
pub(crate) fn tools(profile: Profile) -> Vec<Tool> {
    let mut tools = vec![
        list_workflows(),
        start_workflow(),
        get_position(),
        complete_step(),
        respond_to_checkpoint(),
        raise_checkpoint(),
        end_workflow(),
    ];
    if profile == Profile::Author {
        tools.push(get_workflow());
    }
    tools
}

fn list_workflows() -> Tool {
    let workflow = json!({
        "type": "object",
        "properties": {
            "id": text("What start_workflow calls it."),
            "title": word(),
            "description": word(),
            "version": word(),
            "source": text("`project`, `external` or `catalog`."),
            "required": { "type": "array", "items": { "type": "object" }, "description": "The variables without which it cannot begin, with their types." },
            "broken": text("Why it cannot be started."),
        },
        "required": ["id", "title", "description", "source"],
    });
    tool(
        "list_workflows",
        "The workflows that there are, with ids for start_workflow. One with `broken` has faults that a person must mend.",
        properties(json!({}), &[]),
        plain(json!({ "workflows": { "type": "array", "items": workflow } })),
        hints(true, true),
    )
}

fn start_workflow() -> Tool {
    tool(
        "start_workflow",
        "Begin a workflow. The answer says what to do first, and has the `state` that later calls send.",
        properties(
            json!({
                "workflow_id": text("The id, as list_workflows gives it."),
                "description": text("What the user wants done, in the user's words."),
                "variables": { "type": "object", "description": "What variables of the workflow hold at first." },
                "effectivities": able(),
            }),
            &["workflow_id"],
        ),
        situation(),
        hints(false, false),
    )
}

fn get_position() -> Tool {
    tool(
        "get_position",
        "Where a run is, what to do there, and every call that is open. Answers the same after a loss of context.",
        properties(
            of_run(json!({
                "effectivities": able(),
                "definition": { "type": "string", "enum": ["pinned", "migrate"], "description": "The run continues with the workflow as it was when it began (`pinned`); only a person has it continue with a changed one." },
            })),
            &["workflow_id", "state"],
        ),
        situation(),
        hints(true, true),
    )
}

fn complete_step() -> Tool {
    tool(
        "complete_step",
        "Report that the step at hand is done, and go on. Where it has acceptance checks, they decide.",
        properties(
            of_run(json!({
                "step_id": text("The step, as the action names it."),
                "summary": text("What was done, in a few sentences."),
                "result": text("What the step came to, where that is not `passed`: as an action names it."),
                "outputs": { "type": "object", "description": "Values of the workflow's variables that the step was to give." },
                "effectivities": able(),
            })),
            &["workflow_id", "state", "step_id"],
        ),
        situation(),
        hints(false, false),
    )
}

fn respond_to_checkpoint() -> Tool {
    tool(
        "respond_to_checkpoint",
        "Pass on what the person answered at a checkpoint. Show them the question first; do not answer for them.",
        properties(
            of_run(json!({
                "checkpoint_id": text("The checkpoint, as the action names it."),
                "option_id": text("The option that the person chose. Left out where their client asks them itself."),
                "note": text("What they said besides."),
            })),
            &["workflow_id", "state", "checkpoint_id"],
        ),
        situation(),
        hints(false, false),
    )
}

fn raise_checkpoint() -> Tool {
    tool(
        "raise_checkpoint",
        "Put a question to the person that the workflow does not ask. The step goes on once it is answered.",
        properties(
            of_run(json!({
                "question": text("What is to be decided."),
                "options": texts("The answers that they can choose from, two to twenty."),
            })),
            &["workflow_id", "state", "question", "options"],
        ),
        situation(),
        hints(false, false),
    )
}

fn end_workflow() -> Tool {
    tool(
        "end_workflow",
        "End the run before it is complete. It counts as cancelled.",
        properties(of_run(json!({ "reason": text("Why.") })), &["workflow_id", "state", "reason"]),
        situation(),
        hints(false, false),
    )
}

fn get_workflow() -> Tool {
    tool(
        "get_workflow",
        "The text of a workflow's definition.",
        properties(json!({ "workflow_id": text("The id, as list_workflows gives it.") }), &["workflow_id"]),
        plain(json!({ "id": word(), "source": word(), "definition": word() })),
        hints(true, true),
    )
}

fn word() -> Value {
    json!({ "type": "string" })
}

fn of_run(with: Value) -> Value {
    let mut named = json!({
        "workflow_id": text("The workflow, as the action names it."),
        "state": text("The newest `state`, exactly as it came."),
    });
    if let (Value::Object(named), Value::Object(with)) = (&mut named, with) {
        named.extend(with);
    }
    named
}

fn able() -> Value {
    texts("What you are able to do, by the names that steps use. Steps that need more are offered to be delegated.")
}

/// Returns the schema of the answer of all tools that concern a run. Clients validate refusals against it, too.
fn situation() -> Value {
    let mut given = json!({
        "success": { "type": "boolean" },
        "position": { "type": "object", "description": "`workflow`, `activity`, `step` and `loop`, as far as there are some." },
        "message": text("Where you are, what to do, and what done means."),
        "availableActions": { "$ref": "#/$defs/actions" },
        "checkpoint": { "type": "object", "description": "The question that is open: `id`, `message` and `options`, each with `id` and `label`." },
        "complete": { "type": "boolean", "description": "Nothing more is to be done." },
        "state": text("What the next call sends."),
    });
    given["error"] = refusal();
    json!({
        "type": "object",
        "properties": given,
        "required": ["success", "message"],
        "$defs": { "actions": actions(), "action": action() },
    })
}

fn plain(mut given: Value) -> Value {
    given["success"] = json!({ "type": "boolean" });
    given["message"] = word();
    given["error"] = refusal();
    json!({ "type": "object", "properties": given, "required": ["success"] })
}

fn refusal() -> Value {
    json!({
        "type": "object",
        "properties": {
            "code": text("A stable word."),
            "message": text("What is wrong."),
            "help": text("What to do about it."),
            "accepted": texts("What would be accepted."),
        },
        "required": ["code", "message", "help"],
    })
}
