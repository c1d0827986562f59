//! The tools that only the page calls. Each toolset names them as it names its own.

use rmcp::model::{MetaObject, Tool};
use serde_json::{Value, json};

use super::URI;
use crate::mcp::schema::{hints, properties, text, tool};

/// The names of a toolset's tools.
#[derive(Clone, Copy)]
pub(in crate::mcp) struct Names {
    /// Shows a run.
    pub(in crate::mcp) show: &'static str,
    /// Answers for the person at the page.
    pub(in crate::mcp) answer: &'static str,
    /// The tool with which the agent continues after an answer.
    pub(in crate::mcp) look: &'static str,
}

impl Names {
    /// Returns whether a tool is the page's alone.
    pub(in crate::mcp) fn has(self, tool: &str) -> bool {
        tool == self.show || tool == self.answer
    }
}

/// Returns the tools.
pub(in crate::mcp) fn tools(names: Names) -> Vec<Tool> {
    vec![show(names), answer(names)]
}

fn show(names: Names) -> Tool {
    let known = json!({ "known": text("The `version` that the page shows already.") });
    for_page(tool(
        names.show,
        "For the page that shows a run, not for models: what it shows.",
        properties(of_run(known), &[]),
        view(),
        hints(true, true),
    ))
}

fn answer(names: Names) -> Tool {
    let answer = json!({
        "answer": text("The answer, as the page got it."),
        "revision": { "type": "integer", "description": "The revision of the question's position." },
        "branch": text("The branch that waits, if there are several."),
        "note": text("What else the person said."),
        "code": text("The code that the page got with the question."),
    });
    for_page(tool(
        names.answer,
        "For the page that shows a run, not for models: what the person at the page answers.",
        properties(of_run(answer), &["answer", "revision", "code"]),
        view(),
        hints(false, false),
    ))
}

/// Marks a tool as one that clients do not offer to models.
fn for_page(tool: Tool) -> Tool {
    let mut meta = MetaObject::new();
    meta.insert("ui".to_owned(), json!({ "resourceUri": URI, "visibility": ["app"] }));
    tool.with_meta(meta)
}

fn of_run(mut more: Value) -> Value {
    more["run"] = text("The handle of a stored run.");
    more["taskFilePath"] = text("The task's file, for a run that lives in one.");
    more["state"] = text("The `state` of a run that is led by `navigate`.");
    more
}

fn view() -> Value {
    json!({
        "type": "object",
        "properties": {
            "success": { "type": "boolean" },
            "version": text("It changes with what is shown."),
            "unchanged": { "type": "boolean", "description": "Whether the page shows it already." },
            "run": { "type": "string" },
            "title": { "type": "string" },
            "wanted": { "type": "string" },
            "state": { "type": "string", "enum": ["working", "checking", "waiting", "ended"] },
            "step": { "type": "string" },
            "question": { "type": "object" },
            "refused": { "type": "array", "items": { "type": "object" } },
            "checks": { "type": "array", "items": { "type": "string" } },
            "open": { "type": "array", "items": { "type": "object" } },
            "drawing": { "type": "object" },
            "marks": { "type": "object" },
            "taken": { "type": "array", "items": { "type": "array" } },
            "message": { "type": "string" },
            "error": { "type": "object" },
        },
        "required": ["success"],
    })
}
