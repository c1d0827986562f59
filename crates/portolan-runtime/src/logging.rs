//! Reports what happens to runs as `tracing` events. They contain identifiers, names, codes and numbers: no text of a
//! definition, a person, a model or a server, and no value of a run.

use std::time::Instant;

use portolan_core::chat::{ModelAnswer, ModelError};
use portolan_core::engine::EffectKind;
use portolan_core::run::{
    Change, Completion, EffectId, EffectResult, EventKind, Place, Reply, ToolCallResult, Verdict,
};
use portolan_core::value::WorkflowId;
use tracing::{Span, debug, info, info_span, warn};

use crate::error::ServiceError;

/// Returns the span of one run. A run that is not stored has no name.
pub(crate) fn of_run(run: Option<&str>, workflow: &WorkflowId) -> Span {
    info_span!(target: "portolan::run", "run", run, %workflow)
}

/// Reports that a run was opened.
pub(crate) fn opened(run: Option<&str>, workflow: &WorkflowId) {
    info!(target: "portolan::run", run, %workflow, event = "opened", "run opened");
}

/// Reports a decided event with its number of changes, and its record `seq` if the run is stored.
pub(crate) fn decided(run: Option<&str>, seq: Option<u64>, event: &'static str, changes: usize) {
    debug!(target: "portolan::run", run, seq, event, changes, "event decided");
}

/// A run that is over.
pub(crate) struct EndedRun<'a> {
    pub(crate) run: Option<&'a str>,
    pub(crate) workflow: &'a WorkflowId,
    /// Its result, or the code of its fault.
    pub(crate) outcome: &'a str,
    pub(crate) took_ms: f64,
    pub(crate) model_calls: u64,
    pub(crate) tool_calls: u64,
}

/// Checks whether anybody receives reports of runs that are over, for which journals are read.
pub(crate) fn reports_ends() -> bool {
    tracing::event_enabled!(target: "portolan::run", tracing::Level::INFO)
}

/// Reports that a run is over.
pub(crate) fn ended(ended: &EndedRun<'_>) {
    let EndedRun { run, workflow, outcome, took_ms, model_calls, tool_calls } = *ended;
    let workflow = workflow.as_str();
    info!(target: "portolan::run", run, workflow, outcome, took_ms, model_calls, tool_calls, "run ended");
}

/// Reports that a call was refused or failed.
pub(crate) fn refused(run: &str, error: &ServiceError) {
    info!(target: "portolan::run", run, code = error.code, "call refused");
}

/// Reports that a lease on a run was taken.
pub(crate) fn leased(run: &str) {
    debug!(target: "portolan::lease", run, "lease taken");
}

/// Reports that a lease was lost while it was held.
pub(crate) fn lease_lost(run: &str) {
    warn!(target: "portolan::lease", run, "lease lost");
}

/// Reports that a server was started, or could not be: then there is a code.
pub(crate) fn server_started(server: &str, began: Instant, code: Option<&str>) {
    let took_ms = millis(began);
    match code {
        None => info!(target: "portolan::server", server, took_ms, "server started"),
        Some(code) => warn!(target: "portolan::server", server, took_ms, code, "server not started"),
    }
}

/// Reports that a server has answered a request, or that it failed: then there is a code. A request that was cancelled is
/// not reported.
pub(crate) fn server_answered(server: &str, request: (&str, Option<&str>), began: Instant, code: Option<&str>) {
    let ((method, tool), took_ms) = (request, millis(began));
    debug!(target: "portolan::server", server, method, tool, took_ms, code, "request answered");
}

/// Reports that a provider's model has answered a request, or that it failed: then there is a code.
pub(crate) fn model_answered(
    (provider, model): (&str, &str),
    began: Instant,
    answer: &Result<ModelAnswer, ModelError>,
) {
    let usage = answer.as_ref().map(|answer| answer.usage).unwrap_or_default();
    let (input_tokens, output_tokens) = (usage.input, usage.output);
    let (took_ms, code) = (millis(began), answer.as_ref().err().map(|failure| failure.code.as_str()));
    debug!(target: "portolan::model", provider, model, took_ms, input_tokens, output_tokens, code, "model answered");
}

/// An effect that is being performed.
pub(crate) struct EffectTimer {
    id: EffectId,
    kind: &'static str,
    began: Instant,
}

impl EffectTimer {
    pub(crate) fn begin(id: &EffectId, kind: &'static str) -> EffectTimer {
        EffectTimer { id: id.clone(), kind, began: Instant::now() }
    }

    pub(crate) fn done(self, result: &str) {
        let (kind, node, frame, took_ms) = (self.kind, &self.id.node, self.id.frame.text(), millis(self.began));
        debug!(target: "portolan::effect", kind, %node, frame, took_ms, result, "effect performed");
    }
}

/// Returns the milliseconds since a moment, with those of a microsecond as their fraction.
fn millis(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1e6).round() / 1e3
}

/// Returns the number of calls of tools by nodes, each retry counted. The calls of models are counted by the run.
pub(crate) fn calls_of_nodes(changes: &[Change]) -> u64 {
    let is_call = |change: &&Change| matches!(change, Change::Moved { place: Place::Calling { .. }, .. });
    changes.iter().filter(is_call).count() as u64
}

/// Returns the name of an event, in one word.
pub fn event_word(event: &EventKind) -> &'static str {
    match event {
        EventKind::Opened(_) => "opened",
        EventKind::Begun { .. } => "begun",
        EventKind::Reported { .. } => "reported",
        EventKind::Settled { .. } => "settled",
        EventKind::Gathered { .. } => "gathered",
        EventKind::Resumed { .. } => "resumed",
        EventKind::Raised { .. } => "raised",
        EventKind::Noted { .. } => "noted",
        EventKind::Bypassed { .. } => "bypassed",
        EventKind::Used { .. } => "used",
        EventKind::Cancelled { .. } => "cancelled",
    }
}

/// Returns the name of an effect's kind.
pub(crate) fn effect_word(what: &EffectKind) -> &'static str {
    match what {
        EffectKind::Instruct => "instruct",
        EffectKind::Ask => "ask",
        EffectKind::TimeOut => "time_out",
        EffectKind::Advance => "advance",
        EffectKind::Check(_) => "check",
        EffectKind::Call(_) => "call",
        EffectKind::Complete(_) => "complete",
        EffectKind::UseTool(_) => "use_tool",
        EffectKind::Work(_) => "work",
    }
}

/// Returns the name of an effect's result, or the code of its failure.
pub(crate) fn result_word(result: &EffectResult) -> &str {
    match result {
        EffectResult::Due => "due",
        EffectResult::Verdict(verdict) => verdict_word(verdict),
        EffectResult::Reply(Reply::Output(_)) | EffectResult::Completion(Completion::Output { .. }) => "output",
        EffectResult::Reply(Reply::Failed(fault)) => &fault.code,
        EffectResult::Completion(Completion::Answer(_)) => "answer",
        EffectResult::Completion(Completion::Unanswered(_)) => "unanswered",
        EffectResult::Tool { done, .. } => match done {
            ToolCallResult::Output(_) => "output",
            ToolCallResult::Failed(_) => "failed",
            ToolCallResult::Breaks(_) => "breaks",
            ToolCallResult::Waits(_) => "waits",
        },
    }
}

/// Returns the name of a verdict.
pub(crate) fn verdict_word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Held | Verdict::Shown { .. } => "held",
        Verdict::Excused { .. } => "excused",
        Verdict::Broken { .. } => "broken",
        Verdict::ForPerson { .. } => "for a person",
        Verdict::Unknown { .. } => "unknown",
    }
}
