//! The names and inputs of the navigation tools. Their texts are for models, which read every word.

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::{PAGE, Profile};
use crate::mcp::app::{self, shown};
use crate::mcp::schema::{action, actions, hints, properties, text, texts, tool};

/// Returns the tools, in the order in which they are listed.
pub(crate) fn tools(profile: Profile) -> Vec<Tool> {
    let mut tools = vec![
        list_workflows(),
        shown(start_workflow()),
        shown(get_position()),
        complete_step(),
        respond_to_checkpoint(),
        raise_checkpoint(),
        end_workflow(),
    ];
    if profile == Profile::Author {
        tools.push(get_workflow());
    }
    tools.extend(app::tools(PAGE));
    tools
}

fn list_workflows() -> Tool {
    let workflow = json!({
        "type": "object",
        "properties": {
            "id": text("The id for start_workflow."),
            "title": word(),
            "description": word(),
            "version": word(),
            "source": text("`project`, `external` or `catalog`."),
            "required": { "type": "array", "items": { "type": "object" }, "description": "The variables that it \
                needs to start, with their types." },
            "broken": text("Why it cannot be started."),
        },
        "required": ["id", "title", "description", "source"],
    });
    tool(
        "list_workflows",
        "The available workflows, with ids for start_workflow. One with `broken` has faults that a person must fix.",
        properties(json!({}), &[]),
        plain(json!({ "workflows": { "type": "array", "items": workflow } })),
        hints(true, true),
    )
}

fn start_workflow() -> Tool {
    tool(
        "start_workflow",
        "Begin a workflow. The answer says what to do first, and has the `state` to send with later calls.",
        properties(
            json!({
                "workflow_id": text("The id, as list_workflows gives it."),
                "description": text("What the user wants done, in the user's words."),
                "variables": { "type": "object", "description": "Initial values of the workflow's variables." },
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
                "definition": { "type": "string", "enum": ["pinned", "migrate"], "description": "The run \
                    continues with the workflow as it was when the run began (`pinned`); only a person can \
                    switch it to a changed one." },
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
        "Report that the current step is done, and continue. If it has acceptance checks, they decide.",
        properties(
            of_run(json!({
                "step_id": text("The step, as the action names it."),
                "summary": text("What was done, in a few sentences."),
                "result": text("The outcome of the step, if it is not `passed`, as an action names it."),
                "outputs": { "type": "object", "description": "Values of the workflow's variables that the step had to set." },
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
                "option_id": text("The option that the person chose. Leave it out if their client asks them itself."),
                "note": text("What else they said."),
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
        "Ask the person a question that is not part of the workflow. The step continues once it is answered.",
        properties(
            of_run(json!({
                "question": text("What is to be decided."),
                "options": texts("The answers to choose from, two to twenty."),
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
        "state": text("The newest `state`, exactly as received."),
    });
    if let (Value::Object(named), Value::Object(with)) = (&mut named, with) {
        named.extend(with);
    }
    named
}

fn able() -> Value {
    texts("What you are able to do, by the names that steps use. Steps that need more are offered for delegation.")
}

/// Returns the schema of the answer of all tools that concern a run. Clients validate refusals against it, too.
fn situation() -> Value {
    let mut given = json!({
        "success": { "type": "boolean" },
        "position": { "type": "object", "description": "`workflow`, `activity`, `step` and `loop`, where present." },
        "message": text("Where you are, what to do, and what done means."),
        "availableActions": { "$ref": "#/$defs/actions" },
        "checkpoint": { "type": "object", "description": "The open question: `id`, `message` and `options`, each \
            with `id` and `label`." },
        "complete": { "type": "boolean", "description": "Whether nothing is left to do." },
        "state": text("The value to send with the next call."),
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
