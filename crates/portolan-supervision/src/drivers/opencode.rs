//! OpenCode, without a terminal: `opencode run --format json <prompt>`. Each finished step reports its tokens and cost.

use portolan_gates::supervisor::{Unit, Usage};
use serde_json::Value;

use super::process::{Program, ProgramOutput, run, short};
use super::{AgentDriver, Assignment, SessionFuture, SessionResult, on_path};

/// OpenCode.
pub struct OpenCode;

impl AgentDriver for OpenCode {
    fn id(&self) -> &str {
        "opencode"
    }

    fn available(&self) -> Result<(), String> {
        on_path("opencode")
    }

    fn run_phase<'a>(&'a self, assignment: &'a Assignment) -> SessionFuture<'a> {
        Box::pin(async move {
            let argv = ["opencode", "run", "--format", "json", "--", &assignment.prompt].map(str::to_owned);
            let (folder, deadline) = (&assignment.project, assignment.deadline);
            match run(Program { argv: &argv, folder, input: "", deadline, secrets: true }).await {
                Ok(printed) => session_result(&printed),
                Err(failed) => failed,
            }
        })
    }
}

/// Parses lines such as `{"type":"step_finish","sessionID":…,"part":{"cost":…,"tokens":{"input":…,"output":…}}}`, and
/// `text` and `tool_use` for messages and actions.
pub(super) fn session_result(printed: &ProgramOutput) -> SessionResult {
    let usage = Usage { wall_ms: Some(printed.took_ms), ..Usage::default() };
    let mut worked = SessionResult { usage, ..SessionResult::default() };
    let add = |to: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *to = Some(to.unwrap_or(0).saturating_add(more));
        }
    };
    for event in printed.lines() {
        let text = |path: &str| event.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let number = |path: &str| event.pointer(path).and_then(Value::as_u64);
        worked.session = text("/sessionID").or(worked.session);
        match text("/type").as_deref() {
            Some("text") => worked.final_message = short(&text("/part/text").unwrap_or_default()),
            Some("tool_use") => add(&mut worked.usage.tool_calls, Some(1)),
            Some("step_finish") => {
                let cost = event.pointer("/part/cost").and_then(Value::as_f64);
                add(&mut worked.usage.turns, Some(1));
                add(&mut worked.usage.cost_micros, cost.and_then(|cost| Unit::CostUsd.counted(cost)));
                add(&mut worked.usage.tokens_in, number("/part/tokens/input"));
                add(&mut worked.usage.tokens_out, number("/part/tokens/output"));
            }
            Some("error") => {
                let why = text("/error/data/message").or(text("/error/name")).unwrap_or_default();
                worked.failed = Some(format!("`opencode` reports an error: {}", portolan_core::diagnostic::clip(&why)));
            }
            _ => {}
        }
    }
    worked.failed = printed.failure("opencode").or(worked.failed);
    worked
}
