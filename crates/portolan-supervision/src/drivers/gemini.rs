//! Gemini CLI, without a terminal: `gemini -p <prompt> --output-format json`. It reports tokens by model, but no costs.

use portolan_gates::supervisor::Usage;
use serde_json::Value;

use super::process::{Program, ProgramOutput, run, short};
use super::{AgentDriver, Assignment, SessionFuture, SessionResult, on_path};

/// Gemini CLI.
pub struct Gemini;

impl AgentDriver for Gemini {
    fn id(&self) -> &str {
        "gemini"
    }

    fn available(&self) -> Result<(), String> {
        on_path("gemini")
    }

    fn run_phase<'a>(&'a self, assignment: &'a Assignment) -> SessionFuture<'a> {
        Box::pin(async move {
            let argv = ["gemini", "--output-format", "json", "-p", &assignment.prompt].map(str::to_owned);
            let (folder, deadline) = (&assignment.project, assignment.deadline);
            match run(Program { argv: &argv, folder, input: "", deadline, secrets: true }).await {
                Ok(printed) => session_result(&printed),
                Err(failed) => failed,
            }
        })
    }
}

/// Parses `{"session_id":…,"response":…,"stats":{"models":{…:{"tokens":{"prompt":…,"candidates":…}}},
/// "tools":{"totalCalls":…}}, "error":{"message":…}}`.
pub(super) fn session_result(printed: &ProgramOutput) -> SessionResult {
    let answer = printed.json().unwrap_or(Value::Null);
    let text = |path: &str| answer.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let models = answer.pointer("/stats/models").and_then(Value::as_object);
    let tokens = |name: &str| {
        let of = models.into_iter().flatten().filter_map(|(_, model)| model.pointer(name)?.as_u64());
        of.reduce(u64::saturating_add)
    };
    let reported = text("/error/message")
        .map(|why| format!("`gemini` reports an error: {}", portolan_core::diagnostic::clip(&why)));
    SessionResult {
        final_message: short(&text("/response").unwrap_or_else(|| printed.out.clone())),
        usage: Usage {
            tokens_in: tokens("/tokens/prompt"),
            tokens_out: tokens("/tokens/candidates"),
            tool_calls: answer.pointer("/stats/tools/totalCalls").and_then(Value::as_u64),
            wall_ms: Some(printed.took_ms),
            ..Usage::default()
        },
        session: text("/session_id"),
        failed: printed.failure("gemini").or(reported),
        ..SessionResult::default()
    }
}
