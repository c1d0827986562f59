//! Claude Code, without a terminal: `claude -p --output-format json`. Its result contains the cost.

use portolan_gates::supervisor::{Unit, Usage};
use serde_json::Value;

use super::process::{Program, ProgramOutput, run, short};
use super::{AgentDriver, Assignment, SessionFuture, SessionResult, on_path};

/// Claude Code.
pub struct Claude;

impl AgentDriver for Claude {
    fn id(&self) -> &str {
        "claude"
    }

    fn available(&self) -> Result<(), String> {
        on_path("claude")
    }

    fn run_phase<'a>(&'a self, assignment: &'a Assignment) -> SessionFuture<'a> {
        Box::pin(async move {
            let argv = ["claude", "-p", "--output-format", "json"].map(str::to_owned);
            let (folder, input, deadline) = (&assignment.project, assignment.prompt.as_str(), assignment.deadline);
            match run(Program { argv: &argv, folder, input, deadline, secrets: true }).await {
                Ok(printed) => session_result(&printed),
                Err(failed) => failed,
            }
        })
    }
}

/// Parses the result: `{"type":"result","is_error":…,"result":…,"session_id":…,"num_turns":…,"total_cost_usd":…,
/// "usage":{"input_tokens":…,"output_tokens":…}}`. Tokens read from and written to the cache count as input.
pub(super) fn session_result(printed: &ProgramOutput) -> SessionResult {
    let failure = printed.failure("claude");
    let Some(result) = printed.json().and_then(result) else {
        let failed = failure.unwrap_or_else(|| "`claude` did not answer with a result".to_owned());
        let usage = Usage { wall_ms: Some(printed.took_ms), ..Usage::default() };
        return SessionResult { usage, ..SessionResult::failed(failed) };
    };
    let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64);
    let usage = result.get("usage").cloned().unwrap_or(Value::Null);
    let read = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let read = read.iter().filter_map(|name| number(&usage, name)).reduce(u64::saturating_add);
    let reply = result.get("result").and_then(Value::as_str).unwrap_or_default();
    let is_error = result.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    let failed = is_error.then(|| format!("`claude` reports an error: {}", portolan_core::diagnostic::clip(reply)));
    SessionResult {
        final_message: short(reply),
        usage: Usage {
            turns: number(&result, "num_turns"),
            tokens_in: read,
            tokens_out: number(&usage, "output_tokens"),
            cost_micros: result
                .get("total_cost_usd")
                .and_then(Value::as_f64)
                .and_then(|cost| Unit::CostUsd.counted(cost)),
            wall_ms: Some(number(&result, "duration_ms").unwrap_or(printed.took_ms)),
            tool_calls: None,
        },
        session: result.get("session_id").and_then(Value::as_str).map(str::to_owned),
        failed: failure.or(failed),
        ..SessionResult::default()
    }
}

/// Returns the result. In a list of messages, the last result counts.
fn result(answer: Value) -> Option<Value> {
    let is_result = |value: &Value| value.get("type").and_then(Value::as_str) == Some("result");
    match answer {
        Value::Array(messages) => messages.into_iter().rev().find(is_result),
        answer => is_result(&answer).then_some(answer),
    }
}
