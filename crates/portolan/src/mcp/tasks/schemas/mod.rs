//! The names and inputs of the tools of the `tasks` set. Their texts are for models, which read every word.

mod outputs;

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::PAGE;
use crate::mcp::app::{self, shown};
use crate::mcp::schema::{hints, properties, text, texts, tool};

/// Returns the tools.
pub(crate) fn tools() -> Vec<Tool> {
    let own = vec![
        init(),
        shown(start()),
        shown(current()),
        next(),
        list_workflows(),
        select_workflow(),
        diagram(),
        copy_workflows(),
        copy_agents(),
        load_workflows(),
        list_catalog(),
    ];
    own.into_iter().chain(app::tools(PAGE)).collect()
}

fn init() -> Tool {
    tool(
        "Init",
        "Begin a workflow, on a task file or as a stored run. For a task that already has one, shows where it is. Then call Start.",
        properties(
            json!({
                "taskFilePath": text("The task's JSON file; it is created if it does not exist. Leave it out for \
                    a run that the server stores: the answer then has its handle as `run`."),
                "workflowType": text("The id of the workflow, as ListWorkflows gives it. Required for a new run."),
                "description": text("What the user wants done, in the user's words."),
                "stepId": text("Begin at this step instead of the start: the entry step of a branch, or recovery \
                    of work that was done before. Only a person is allowed to skip checks, gates and questions. \
                    It is recorded."),
                "parentTaskId": text("For a branch: the id of the task whose fork it belongs to."),
            }),
            &[],
        ),
        outputs::navigation(),
        hints(false, true),
    )
}

fn start() -> Tool {
    tool(
        "Start",
        "Begin the work of an initialised run: go from the start to the first step.",
        properties(address(json!({ "revision": revision("") })), &[]),
        outputs::navigation(),
        hints(false, true),
    )
}

fn current() -> Tool {
    tool(
        "Current",
        "Where a run is, what to do there, and every call that would be accepted now. Changes nothing; answers the same after a loss of context.",
        properties(address(json!({ "branch": text("One branch of a run that has forked.") })), &[]),
        outputs::navigation(),
        hints(true, true),
    )
}

fn next() -> Tool {
    tool(
        "Next",
        "Report the outcome of the current step and continue. If the step has acceptance checks, they decide \
        whether `passed` holds. At a question to a person, it relays the person's answer.",
        properties(
            address(json!({
                "result": text("The outcome: `passed`, `failed`, or a word that the step declares. Send one that the present actions offer."),
                "branch": text("Which branch, in a run that has forked."),
                "revision": revision(" Required for stored runs."),
                "note": text("What was done, or why it failed: recorded, and shown at the next attempt."),
                "outputs": { "type": "object", "description": "Values of the workflow's variables that the step had to set." },
            })),
            &["result"],
        ),
        outputs::navigation(),
        hints(false, false),
    )
}

fn list_workflows() -> Tool {
    tool(
        "ListWorkflows",
        "The workflows that can be run, with ids for Init.",
        properties(
            json!({ "source": { "type": "string", "enum": ["all", "project", "catalog", "external"], "description": "Only \
                workflows from this source. Default: the project's own, or all if it has none." } }),
            &[],
        ),
        outputs::list_workflows(),
        hints(true, true),
    )
}

fn select_workflow() -> Tool {
    tool(
        "SelectWorkflow",
        "A dialog for asking the user which workflow to run: panels of two to four options each.",
        properties(json!({}), &[]),
        outputs::select_workflow(),
        hints(true, true),
    )
}

fn diagram() -> Tool {
    tool(
        "Diagram",
        "A Mermaid flowchart of a workflow, in the answer and as a Markdown file.",
        properties(
            json!({
                "workflowType": text("The id of the workflow."),
                "currentStep": text("A step to highlight."),
                "filePath": text("Where to write it: a `.md` file inside the project. Default: `.flow/diagrams/<id>.md`."),
            }),
            &["workflowType"],
        ),
        outputs::diagram(),
        hints(false, true),
    )
}

fn copy_workflows() -> Tool {
    tool(
        "CopyWorkflows",
        "Copy workflows of the catalogue into `.flow/workflows`, to change them there. They can be run without copying.",
        properties(json!({ "workflowIds": texts("Which ones; empty or absent means all."), "force": force() }), &[]),
        outputs::copying(),
        hints(false, true),
    )
}

fn copy_agents() -> Tool {
    tool(
        "CopyAgents",
        "Copy the agent templates that the catalogue's workflows name into `.claude/agents`.",
        properties(
            json!({
                "agentIds": texts("Which ones; empty or absent means all."),
                "targetDir": text("Another folder inside the project."),
                "force": force(),
            }),
            &[],
        ),
        outputs::copying(),
        hints(false, true),
    )
}

fn load_workflows() -> Tool {
    tool(
        "LoadWorkflows",
        "Check the project's workflows, or load those of another folder under a namespace. Without arguments, \
        lists what is available.",
        properties(
            json!({
                "path": text("A folder that has `.flow/workflows`; its workflows are then named `<folder>:<id>` \
                    and replace no others."),
                "sourceRoot": text("The root that `path` belongs to; `path` is then the folder of workflows itself."),
                "workflowIds": texts("Which ones; absent means all."),
            }),
            &[],
        ),
        outputs::load_workflows(),
        hints(false, true),
    )
}

fn list_catalog() -> Tool {
    tool(
        "ListCatalog",
        "The workflows and agent templates that come with Portolan, with options for a dialog.",
        properties(json!({}), &[]),
        outputs::list_catalog(),
        hints(true, true),
    )
}

fn force() -> Value {
    json!({ "type": "boolean", "description": "Also replace files that have been edited since." })
}

fn revision(required: &str) -> Value {
    let description = format!(
        "The revision of the chosen action: if the run has moved on since, the call is refused as stale.{required}"
    );
    json!({ "type": "integer", "minimum": 0, "description": description })
}

fn address(mut with: Value) -> Value {
    let both = json!({
        "taskFilePath": text("The task's JSON file."),
        "run": text("The handle of a stored run, instead of a task file."),
    });
    if let (Value::Object(with), Value::Object(both)) = (&mut with, both) {
        for (at, (key, value)) in both.into_iter().enumerate() {
            with.shift_insert(at, key, value);
        }
    }
    with
}
