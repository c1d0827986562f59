//! Cursor. Its answers are flat. With `failClosed` an empty one refuses the call, so the output is always an object.
//! The effect of `ask` depends on the event and is not enforced before a tool, so it is not used.

use portolan_gates::Decision;
use serde_json::{Map, Value, json};

use super::answer::{Answer, Reply};
use super::tools::Names;
use super::{Event, Stage};

pub(super) const EVENTS: &[Event] = &[
    Event::installed("preToolUse", Stage::BeforeTool),
    Event::understood("beforeShellExecution", Stage::BeforeTool),
    Event::understood("beforeMCPExecution", Stage::BeforeTool),
    Event::understood("beforeReadFile", Stage::BeforeTool),
    Event::installed("postToolUse", Stage::AfterTool),
    Event::understood("afterShellExecution", Stage::AfterTool),
    Event::understood("afterMCPExecution", Stage::AfterTool),
    Event::understood("afterFileEdit", Stage::AfterTool),
    Event::installed("sessionStart", Stage::SessionStart),
    Event::understood("beforeSubmitPrompt", Stage::PromptSubmitted),
    Event::installed("stop", Stage::Stop),
    Event::understood("subagentStop", Stage::SubagentStop),
];

pub(super) const NAMES: Names = Names {
    shell: &["Shell"],
    edit: &["Write", "Edit", "StrReplace", "Delete", "EditNotebook", "ApplyPatch", "MultiEdit"],
    reads: &["Read", "Grep", "Glob", "LS", "List", "SemanticSearch", "WebSearch", "WebFetch", "ReadLints"],
    other: &["Task", "TodoWrite"],
    mcp,
};

/// Parses `MCP:tool`. The server is unknown.
fn mcp(name: &str) -> Option<(&str, &str)> {
    Some(("", name.strip_prefix("MCP:")?))
}

/// Returns the tool of an event that names none because it is for one kind of tool only.
pub(super) fn unnamed(event: &str, announcement: &Map<String, Value>) -> Option<(&'static str, Map<String, Value>)> {
    let event = EVENTS.iter().find(|known| known.name.eq_ignore_ascii_case(event))?;
    let name = match event.name {
        "beforeShellExecution" | "afterShellExecution" => "Shell",
        "beforeReadFile" => "Read",
        "afterFileEdit" => "Edit",
        _ => return None,
    };
    let keys = ["command", "file_path", "edits"];
    let input = announcement.iter().filter(|(key, _)| keys.contains(&key.as_str()));
    Some((name, input.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

pub(super) fn answer(stage: Stage, event: &str, answer: &Answer) -> Reply {
    let body = match stage {
        Stage::BeforeTool => before_tool(answer),
        Stage::AfterTool if event == "postToolUse" => added(answer.feedback()),
        Stage::SessionStart => added(answer.context()),
        Stage::Stop | Stage::SubagentStop if answer.decision == Decision::Block => {
            json!({ "followup_message": answer.message() })
        }
        Stage::PromptSubmitted if answer.decision == Decision::Block => {
            json!({ "continue": false, "user_message": answer.message() })
        }
        Stage::PromptSubmitted => json!({ "continue": true }),
        Stage::AfterTool
        | Stage::Stop
        | Stage::SubagentStop
        | Stage::BeforeToolSelection
        | Stage::TaskCompleted
        | Stage::Other => json!({}),
    };
    Reply::json(&body)
}

fn before_tool(answer: &Answer) -> Value {
    match answer.decision {
        Decision::Allow => json!({ "permission": "allow" }),
        // Which of the two messages reaches the model depends on the version.
        Decision::Ask | Decision::Block => {
            let message = answer.message_unasked();
            json!({ "permission": "deny", "user_message": message, "agent_message": message })
        }
    }
}

fn added(text: Option<String>) -> Value {
    text.map_or_else(|| json!({}), |text| json!({ "additional_context": text }))
}
