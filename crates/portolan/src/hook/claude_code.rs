//! Claude Code. It reads the decision on a call only in `hookSpecificOutput`, with status 0. At another depth, or with
//! another exit code, it ignores the decision and the call passes.

use portolan_gates::Decision;
use serde_json::{Value, json};

use super::answer::{Answer, Reply, specific};
use super::tools::{Names, two_underscores};
use super::{Event, Stage};

pub(super) const EVENTS: &[Event] = &[
    Event::installed("PreToolUse", Stage::BeforeTool),
    Event::installed("PostToolUse", Stage::AfterTool),
    Event::installed("PostToolUseFailure", Stage::AfterTool),
    Event::installed("SessionStart", Stage::SessionStart),
    Event::installed("Stop", Stage::Stop),
    Event::installed("SubagentStop", Stage::SubagentStop),
    Event::understood("UserPromptSubmit", Stage::PromptSubmitted),
    Event::installed("TaskCompleted", Stage::TaskCompleted),
];

pub(super) const NAMES: Names = Names {
    shell: &["Bash", "PowerShell", "Monitor"],
    edit: &["Edit", "Write", "MultiEdit", "NotebookEdit"],
    reads: &["Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "LSP", "ToolSearch"],
    other: &["Task", "Agent", "TaskCreate", "TaskUpdate", "TodoWrite", "Skill", "BashOutput", "TaskOutput", "TaskStop"],
    mcp: two_underscores,
};

pub(super) fn answer(stage: Stage, event: &str, answer: &Answer) -> Reply {
    match stage {
        Stage::BeforeTool => before_tool(event, answer),
        Stage::AfterTool => match answer.decision {
            Decision::Block | Decision::Ask => {
                with_context(event, answer, json!({ "decision": "block", "reason": answer.message() }))
            }
            Decision::Allow => with_context(event, answer, json!({})),
        },
        Stage::SessionStart => with_context(event, answer, json!({})),
        Stage::PromptSubmitted => match answer.decision {
            Decision::Block => Reply::json(&json!({ "decision": "block", "reason": answer.message() })),
            Decision::Ask | Decision::Allow => with_context(event, answer, json!({})),
        },
        Stage::Stop | Stage::SubagentStop => match answer.decision {
            Decision::Block => Reply::json(&json!({ "decision": "block", "reason": answer.message() })),
            // No one can be asked at the end of a turn, but the person can be informed.
            Decision::Ask => Reply::json(&json!({ "systemMessage": answer.message() })),
            Decision::Allow => Reply::silent(),
        },
        // For this event it reads only the exit code.
        Stage::TaskCompleted => match answer.decision {
            Decision::Block | Decision::Ask => Reply::exit_two(&answer.message()),
            Decision::Allow => Reply::silent(),
        },
        Stage::BeforeToolSelection | Stage::Other => Reply::silent(),
    }
}

fn before_tool(event: &str, answer: &Answer) -> Reply {
    let decision = match answer.decision {
        // `allow` would also answer the host's own question to the person.
        Decision::Allow => return with_context(event, answer, json!({})),
        Decision::Ask => "ask",
        Decision::Block => "deny",
    };
    let mut fields = json!({ "permissionDecision": decision, "permissionDecisionReason": answer.message() });
    if let Some(context) = answer.context() {
        fields["additionalContext"] = context.into();
    }
    Reply::json(&specific(event, fields))
}

/// Returns `said` with the context added, or a silent reply if both are empty.
fn with_context(event: &str, answer: &Answer, mut body: Value) -> Reply {
    if let Some(context) = answer.context() {
        body["hookSpecificOutput"] =
            specific(event, json!({ "additionalContext": context }))["hookSpecificOutput"].take();
    }
    if body == json!({}) { Reply::silent() } else { Reply::json(&body) }
}
