//! Codex. It rejects answers with unknown fields, and a rejected answer lets the call pass. The output is therefore
//! exactly what it expects, or empty. It cannot ask a person from a hook.

use portolan_gates::Decision;
use serde_json::json;

use super::answer::{Answer, Reply, specific};
use super::tools::{Names, two_underscores};
use super::{Event, Stage};

pub(super) const EVENTS: &[Event] = &[
    Event::installed("PreToolUse", Stage::BeforeTool),
    Event::installed("PostToolUse", Stage::AfterTool),
    Event::installed("SessionStart", Stage::SessionStart),
    Event::understood("UserPromptSubmit", Stage::PromptSubmitted),
    Event::installed("Stop", Stage::Stop),
    Event::understood("SubagentStop", Stage::SubagentStop),
];

pub(super) const NAMES: Names = Names {
    shell: &["Bash", "shell", "exec_command", "local_shell"],
    edit: &["apply_patch", "Edit", "Write"],
    reads: &["view_image", "read_file", "list_dir", "grep_files", "web_search"],
    other: &["update_plan", "write_stdin", "spawn_agent", "wait"],
    mcp: two_underscores,
};

pub(super) fn answer(stage: Stage, event: &str, answer: &Answer) -> Reply {
    let refused = answer.decision != Decision::Allow;
    match stage {
        // An allowed call gets no context: an answer that allows could be rejected.
        Stage::BeforeTool if refused => {
            let fields = json!({ "permissionDecision": "deny", "permissionDecisionReason": answer.message_unasked() });
            Reply::json(&specific(event, fields))
        }
        Stage::AfterTool if refused => block(answer),
        Stage::AfterTool | Stage::SessionStart | Stage::PromptSubmitted if answer.decision != Decision::Block => {
            match answer.context() {
                Some(context) => Reply::json(&specific(event, json!({ "additionalContext": context }))),
                None => Reply::silent(),
            }
        }
        Stage::Stop | Stage::SubagentStop | Stage::PromptSubmitted if answer.decision == Decision::Block => {
            block(answer)
        }
        Stage::BeforeTool
        | Stage::AfterTool
        | Stage::SessionStart
        | Stage::Stop
        | Stage::SubagentStop
        | Stage::PromptSubmitted
        | Stage::BeforeToolSelection
        | Stage::TaskCompleted
        | Stage::Other => Reply::silent(),
    }
}

fn block(answer: &Answer) -> Reply {
    Reply::json(&json!({ "decision": "block", "reason": answer.message() }))
}
