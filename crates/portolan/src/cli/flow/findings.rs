//! `portolan flow findings`: what the event log shows about the course of work.

use clap::Args;
use portolan_gates::findings::{LogFinding, Sort};
use portolan_runtime::clock::Clock;
use portolan_supervision::findings::{find, keep_baseline};
use serde_json::json;

use super::super::output::{Output, table};
use super::super::{Common, Exit};

/// Report from the event log what could improve, and what got worse.
///
/// Example: portolan flow findings
#[derive(Args)]
#[command(after_help = "Finds guards that stop a run three times, rules that are bypassed at more than a fifth of \
        their exits, checks that never fail, tasks that go back more often, and metrics that are worse than the \
        baseline. Each finding names its lines of the log, and is recorded once. Nothing is changed.")]
pub(super) struct Findings {
    /// Print one JSON value.
    #[arg(long)]
    json: bool,
    /// Instead, record the present statistics of tasks as the baseline for later ones.
    #[arg(long)]
    baseline: bool,
}

pub(super) fn run(args: &Findings, common: &Common) -> anyhow::Result<Exit> {
    let (output, project) = (common.output(), common.project()?);
    let json = args.json || output.is_json();
    if args.baseline {
        let kept = keep_baseline(&project)?;
        match json {
            true => output.json(&json!({ "baseline": kept }))?,
            false => output.line(format!(
                "recorded as the baseline: {} tasks, of which {} were completed",
                kept.tasks,
                percent(kept.success_rate)
            ))?,
        }
        return Ok(Exit::Done);
    }
    let found = find(&project, &Clock::System)?;
    if json {
        output.json(&json!({ "findings": found }))?;
    } else if found.is_empty() {
        output.remark("no findings");
    } else {
        show(output, &found)?;
    }
    Ok(Exit::Done)
}

fn show(output: Output, found: &[LogFinding]) -> anyhow::Result<()> {
    let row = |finding: &LogFinding| {
        let kind = match finding.kind {
            Sort::Opportunity => "opportunity",
            Sort::Regression => "regression",
        };
        let change = format!("{}: {} → {}", finding.metric, finding.baseline, finding.now);
        let first = finding.evidence.first().map_or("", String::as_str);
        let lines = format!("{} lines, from {first}", finding.evidence.len());
        vec![kind.to_owned(), finding.rule.clone(), finding.subject.clone(), change, lines]
    };
    output.line(table(&found.iter().map(row).collect::<Vec<_>>()))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
