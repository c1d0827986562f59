//! OpenCode. Its hooks are plug-ins rather than programs. Ours forwards each call to the program in Claude Code's
//! format, and throws unless the answer says `allow`. The answer's format is therefore ours, and there always is one.

use portolan_gates::Decision;
use serde_json::json;

use super::answer::{Answer, Reply};
use super::tools::Names;
use super::{Event, Stage};

pub(super) const EVENTS: &[Event] = &[
    Event::installed("tool.execute.before", Stage::BeforeTool),
    Event::installed("tool.execute.after", Stage::AfterTool),
];

pub(super) const NAMES: Names = Names {
    shell: &["bash", "shell"],
    edit: &["edit", "write", "patch", "apply_patch", "multiedit"],
    reads: &[
        "read",
        "grep",
        "glob",
        "list",
        "webfetch",
        "websearch",
        "codesearch",
        "lsp",
        "lsp_diagnostics",
        "lsp_hover",
    ],
    other: &["task", "todowrite", "todoread", "skill", "question", "batch", "plan_enter", "plan_exit", "invalid"],
    mcp,
};

/// Parses `server_tool`. The host's own tools with an underscore are all listed.
fn mcp(name: &str) -> Option<(&str, &str)> {
    name.split_once('_')
}

pub(super) fn answer(stage: Stage, answer: &Answer) -> Reply {
    let body = match (stage, answer.decision) {
        (Stage::BeforeTool, Decision::Ask | Decision::Block) => {
            json!({ "decision": "deny", "reason": answer.message_unasked() })
        }
        (Stage::AfterTool, _) => match answer.feedback() {
            Some(context) => json!({ "decision": "allow", "context": context }),
            None => json!({ "decision": "allow" }),
        },
        _ => json!({ "decision": "allow" }),
    };
    Reply::json(&body)
}
