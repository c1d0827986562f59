//! GitHub Copilot: its CLI, its cloud agent and VS Code. They run the same hooks and read the answer at different
//! depths, so it is given at both.

use portolan_gates::Decision;
use serde_json::{Value, json};

use super::answer::{Answer, Reply, specific};
use super::tools::Names;
use super::{Event, Stage};

/// Only this spelling is registered: the CLI runs a hook twice that is registered in both spellings.
pub(super) const EVENTS: &[Event] = &[
    Event::installed("PreToolUse", Stage::BeforeTool),
    Event::installed("PostToolUse", Stage::AfterTool),
    Event::installed("SessionStart", Stage::SessionStart),
    Event::understood("UserPromptSubmit", Stage::PromptSubmitted),
    Event::installed("Stop", Stage::Stop),
    Event::understood("SubagentStop", Stage::SubagentStop),
];

pub(super) const NAMES: Names = Names {
    shell: &["bash", "powershell", "shell", "run_in_terminal", "runInTerminal", "runCommands"],
    edit: &[
        "create",
        "edit",
        "write",
        "str_replace",
        "str_replace_editor",
        "insert",
        "editFiles",
        "create_file",
        "insert_edit_into_file",
        "replace_string_in_file",
        "multi_replace_string_in_file",
        "edit_notebook_file",
        "apply_patch",
        "MultiEdit",
        "NotebookEdit",
    ],
    reads: &[
        "view",
        "read",
        "grep",
        "rg",
        "glob",
        "read_file",
        "list_dir",
        "file_search",
        "grep_search",
        "semantic_search",
        "fetch_webpage",
        "web_fetch",
        "get_errors",
    ],
    other: &["task", "update_todo", "manage_todo_list", "runSubagent", "ask_user", "report_intent"],
    mcp,
};

/// Parses `mcp_server_tool` of VS Code, and `server-tool` of the CLI. The last hyphen splits: servers have them often,
/// tools seldom.
fn mcp(name: &str) -> Option<(&str, &str)> {
    if let Some(found) = super::tools::two_underscores(name) {
        return Some(found);
    }
    match name.strip_prefix("mcp_") {
        Some(rest) => Some(rest.split_once('_').unwrap_or((rest, ""))),
        None => name.rsplit_once('-'),
    }
}

pub(super) fn answer(stage: Stage, event: &str, answer: &Answer) -> Reply {
    let body = match stage {
        Stage::BeforeTool => before_tool(answer),
        Stage::AfterTool => match answer.decision {
            Decision::Block | Decision::Ask => json!({ "additionalContext": answer.feedback() }),
            Decision::Allow => context(answer),
        },
        Stage::SessionStart => context(answer),
        Stage::Stop | Stage::SubagentStop | Stage::PromptSubmitted => match answer.decision {
            Decision::Block => json!({ "decision": "block", "reason": answer.message() }),
            Decision::Ask | Decision::Allow if stage == Stage::PromptSubmitted => context(answer),
            Decision::Ask | Decision::Allow => json!({}),
        },
        Stage::BeforeToolSelection | Stage::TaskCompleted | Stage::Other => json!({}),
    };
    Reply::json(&at_both_depths(event, body))
}

fn before_tool(answer: &Answer) -> Value {
    let decision = match answer.decision {
        // `allow` would also answer the host's own question to the person.
        Decision::Allow => return context(answer),
        // Without a person, as in the cloud, the host itself treats this as a refusal.
        Decision::Ask => "ask",
        Decision::Block => "deny",
    };
    let mut body = json!({ "permissionDecision": decision, "permissionDecisionReason": answer.message() });
    if let Some(context) = answer.context() {
        body["additionalContext"] = context.into();
    }
    body
}

fn context(answer: &Answer) -> Value {
    answer.context().map_or_else(|| json!({}), |context| json!({ "additionalContext": context }))
}

fn at_both_depths(event: &str, mut body: Value) -> Value {
    if body != json!({}) {
        body["hookSpecificOutput"] = specific(event, body.clone())["hookSpecificOutput"].take();
    }
    body
}
