//! Codex, without a terminal: `codex exec --json -`. It prints a line of JSON for each event, with tokens but no costs.

use portolan_gates::supervisor::Usage;
use serde_json::Value;

use super::process::{Program, ProgramOutput, run, short};
use super::{AgentDriver, Assignment, SessionFuture, SessionResult, on_path};

/// Codex.
pub struct Codex;

impl AgentDriver for Codex {
    fn id(&self) -> &str {
        "codex"
    }

    fn available(&self) -> Result<(), String> {
        on_path("codex")
    }

    fn run_phase<'a>(&'a self, assignment: &'a Assignment) -> SessionFuture<'a> {
        Box::pin(async move {
            let argv = ["codex", "exec", "--json", "-"].map(str::to_owned);
            let (folder, input, deadline) = (&assignment.project, assignment.prompt.as_str(), assignment.deadline);
            match run(Program { argv: &argv, folder, input, deadline, secrets: true }).await {
                Ok(printed) => session_result(&printed),
                Err(failed) => failed,
            }
        })
    }
}

/// Parses these events: `thread.started {thread_id}`, `item.completed {item: {type, text}}`, `turn.completed {usage:
/// {input_tokens, output_tokens}}`, `turn.failed {error: {message}}`.
pub(super) fn session_result(printed: &ProgramOutput) -> SessionResult {
    let usage = Usage { wall_ms: Some(printed.took_ms), ..Usage::default() };
    let mut worked = SessionResult { usage, ..SessionResult::default() };
    for event in printed.lines() {
        let text = |path: &str| event.pointer(path).and_then(Value::as_str).map(str::to_owned);
        match text("/type").as_deref() {
            Some("thread.started") => worked.session = text("/thread_id"),
            Some("item.completed") => match text("/item/type").as_deref() {
                Some("agent_message") => worked.final_message = short(&text("/item/text").unwrap_or_default()),
                Some("command_execution" | "file_change" | "mcp_tool_call" | "web_search") => {
                    worked.usage.tool_calls = Some(worked.usage.tool_calls.unwrap_or(0) + 1);
                }
                _ => {}
            },
            Some("turn.completed") => {
                let number = |path: &str| event.pointer(path).and_then(Value::as_u64);
                let sum = |known: Option<u64>, more: Option<u64>| match (known, more) {
                    (Some(known), Some(more)) => Some(known.saturating_add(more)),
                    (known, more) => known.or(more),
                };
                worked.usage.turns = Some(worked.usage.turns.unwrap_or(0) + 1);
                worked.usage.tokens_in = sum(worked.usage.tokens_in, number("/usage/input_tokens"));
                worked.usage.tokens_out = sum(worked.usage.tokens_out, number("/usage/output_tokens"));
            }
            Some("turn.failed") => {
                let why = text("/error/message").unwrap_or_default();
                worked.failed = Some(format!("`codex` reports an error: {}", portolan_core::diagnostic::clip(&why)));
            }
            _ => {}
        }
    }
    worked.failed = printed.failure("codex").or(worked.failed);
    worked
}
