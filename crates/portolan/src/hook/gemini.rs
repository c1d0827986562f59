//! Gemini CLI. Its standard output must be JSON and nothing else. It is the only host that lets a hook choose the
//! model's tools for each turn.

use portolan_gates::Decision;
use serde_json::{Value, json};

use super::answer::{Answer, Reply, specific};
use super::tools::Names;
use super::{Event, Stage};

pub(super) const EVENTS: &[Event] = &[
    Event::installed("BeforeTool", Stage::BeforeTool),
    Event::installed("AfterTool", Stage::AfterTool),
    Event::installed("BeforeToolSelection", Stage::BeforeToolSelection),
    Event::installed("SessionStart", Stage::SessionStart),
    Event::understood("BeforeAgent", Stage::PromptSubmitted),
    Event::installed("AfterAgent", Stage::Stop),
];

pub(super) const NAMES: Names = Names {
    shell: &["run_shell_command"],
    edit: &["write_file", "replace", "edit"],
    reads: &[
        "read_file",
        "read_many_files",
        "list_directory",
        "glob",
        "search_file_content",
        "grep_search",
        "google_web_search",
        "web_fetch",
    ],
    other: &["save_memory", "write_todos", "activate_skill", "ask_user"],
    mcp,
};

/// Parses `mcp_server_tool`. The host's name is ambiguous, so the server is assumed to have no underscore.
fn mcp(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix("mcp_")?;
    Some(rest.split_once('_').unwrap_or((rest, "")))
}

pub(super) fn answer(stage: Stage, event: &str, answer: &Answer) -> Reply {
    let body = match stage {
        // A hook cannot ask a person here. Only the host's policy engine can.
        Stage::BeforeTool if answer.decision != Decision::Allow => {
            json!({ "decision": "deny", "reason": answer.message_unasked() })
        }
        Stage::Stop | Stage::PromptSubmitted if answer.decision == Decision::Block => {
            json!({ "decision": "deny", "reason": answer.message() })
        }
        // A denial after the tool would only hide the tool's output from the model.
        Stage::AfterTool => added(event, answer.feedback()),
        Stage::SessionStart | Stage::PromptSubmitted => added(event, answer.context()),
        Stage::BeforeToolSelection => selection(event, answer),
        Stage::BeforeTool | Stage::Stop | Stage::SubagentStop | Stage::TaskCompleted | Stage::Other => json!({}),
    };
    Reply::json(&body)
}

fn added(event: &str, text: Option<String>) -> Value {
    text.map_or_else(|| json!({}), |text| specific(event, json!({ "additionalContext": text })))
}

/// Restricts the tools. A list counts only in the mode `ANY`, where an empty list would show every tool, so that needs
/// `NONE`.
fn selection(event: &str, answer: &Answer) -> Value {
    match &answer.allowed_tools {
        None => json!({}),
        Some(names) if names.is_empty() => specific(event, json!({ "toolConfig": { "mode": "NONE" } })),
        Some(names) => specific(event, json!({ "toolConfig": { "mode": "ANY", "allowedFunctionNames": names } })),
    }
}

/// Returns the host's names of the tools that a step allows. Returns `None` if not all of them can be named, or if none
/// of them would let the agent leave the step.
pub(crate) fn shown(allowed: &[String]) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for pattern in allowed {
        match pattern.as_str() {
            "shell" => names.extend(NAMES.shell.iter().map(|&name| name.to_owned())),
            "edit" => names.extend(NAMES.edit.iter().map(|&name| name.to_owned())),
            "read" => names.extend(NAMES.reads.iter().map(|&name| name.to_owned())),
            pattern if pattern.contains('*') => return None,
            pattern => match pattern.strip_prefix("mcp:").and_then(|name| name.split_once('/')) {
                Some((server, tool)) => names.push(format!("mcp_{server}_{tool}")),
                None => names.push(pattern.to_owned()),
            },
        }
    }
    let goes_on = |name: &String| NAMES.shell.contains(&name.as_str()) || name.starts_with("mcp_portolan_");
    names.iter().any(goes_on).then_some(names)
}
