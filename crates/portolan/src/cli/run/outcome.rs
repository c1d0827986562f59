//! Prints the outcome of a run: its result on standard output, everything else on standard error.

use std::io::{IsTerminal, stdout};

use portolan_core::present::{Redaction, TraceRow};
use portolan_core::run::Fault;
use portolan_runtime::drive::Outcome;
use portolan_runtime::service::FunctionResult;
use serde_json::{Value, json};

use super::waterfall;
use crate::cli::output::{one_line, safe};
use crate::cli::{Exit, Output};

/// The outcome of a run, with the trace and the redaction of its output.
pub(in crate::cli) struct OutcomeReport<'t> {
    /// How the run ended.
    pub(in crate::cli) finished: &'t FunctionResult,
    /// The trace of each node, if requested.
    pub(in crate::cli) rows: Option<Vec<TraceRow>>,
    /// The values to mask.
    pub(in crate::cli) hidden: &'t Redaction,
}

/// Prints the outcome.
pub(in crate::cli) fn tell(output: Output, outcome_report: &OutcomeReport<'_>) -> anyhow::Result<Exit> {
    if !output.is_json()
        && let Some(rows) = &outcome_report.rows
    {
        output.remark(waterfall(rows, width()).trim_end());
    }
    match &outcome_report.finished.outcome {
        Outcome::Done(result) => {
            done(output, outcome_report, result.as_deref().unwrap_or(&Value::Null))?;
            Ok(Exit::Done)
        }
        Outcome::Failed(fault) => {
            failed(output, outcome_report, &outcome_report.hidden.fault(fault));
            Ok(Exit::Failed)
        }
        Outcome::Cancelled => {
            output.error("stopped", "the run was stopped", "");
            Ok(Exit::Failed)
        }
        Outcome::Waiting { node, .. } => {
            waiting(output, outcome_report, node)?;
            Ok(Exit::Waiting)
        }
    }
}

fn done(output: Output, outcome_report: &OutcomeReport<'_>, result: &Value) -> anyhow::Result<()> {
    if !output.is_json() {
        let text = if stdout().is_terminal() { serde_json::to_string_pretty(result)? } else { result.to_string() };
        return output.line(text);
    }
    output.json(&with_trace(outcome_report, json!({ "outcome": "done", "output": result })))
}

/// Completes the JSON report with the run, the number of executed nodes, and the trace if requested.
fn with_trace(outcome_report: &OutcomeReport<'_>, mut report: Value) -> Value {
    report["run"] = json!(outcome_report.finished.run.as_ref().map(ToString::to_string));
    report["executed"] = json!(outcome_report.finished.executed);
    if let Some(rows) = &outcome_report.rows {
        report["trace"] = json!(rows);
    }
    report
}

fn failed(output: Output, outcome_report: &OutcomeReport<'_>, fault: &Fault) {
    if output.is_json() {
        let Fault { node, code, message, detail } = fault;
        let report = json!({ "error": code, "message": message, "help": "", "node": node, "detail": detail });
        return output.remark(with_trace(outcome_report, report).to_string());
    }
    output.remark(one_line(&format!("error: `{}` failed ({}): {}", fault.node, fault.code, fault.message)));
    if !fault.detail.is_empty() {
        output.remark(safe(&fault.detail));
    }
}

fn waiting(output: Output, outcome_report: &OutcomeReport<'_>, node: &str) -> anyhow::Result<()> {
    let run = outcome_report.finished.run.as_ref().map(ToString::to_string).unwrap_or_default();
    if output.is_json() {
        return output.json(&with_trace(outcome_report, json!({ "outcome": "waiting", "node": node })));
    }
    output.remark(one_line(&format!("run {run} waits at `{node}`; `portolan runs show {run}` says for whom")));
    Ok(())
}

/// Returns the width of the terminal, or 100 if it is unknown.
pub(in crate::cli) fn width() -> usize {
    let configured = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    configured
        .or_else(|| terminal_size::terminal_size_of(std::io::stderr()).map(|size| usize::from(size.0.0)))
        .unwrap_or(100)
}
