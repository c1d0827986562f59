//! `portolan qa`: runs one check of the project's rules.

use clap::Args;
use portolan_core::graph::Gate;
use portolan_gates::acceptance::{CHECKS, CheckFinding, CheckStatus};
use portolan_runtime::gates::REMOVALS;
use portolan_runtime::gates::qa::{ChecklistRequest, TYPECHECK, ask};
use portolan_runtime::typecheck::PATIENCE_SECONDS;
use serde_json::json;

use super::output::{Output, Paint, one_line, safe, table};
use super::{Common, Exit, block_on};

/// Run one check of the project's rules.
///
/// Example: portolan qa list
#[derive(Args)]
#[command(
    after_help = "`typecheck` runs the type checker on the files as they are, and keeps its verdict for exactly this content. \
                  Exit code 0 when the check holds, 1 when it does not, 3 when it cannot be verified."
)]
pub(super) struct Qa {
    /// `typecheck`, or the name of a check; `list` shows the names.
    #[arg(value_name = "CHECK")]
    check: String,
    /// The claimed issue: a number or a key [default: the one in the branch's name].
    #[arg(long, value_name = "ISSUE")]
    issue: Option<String>,
    /// The claimed branch [default: the one that is checked out].
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// The claimed specification.
    #[arg(long, value_name = "FILE")]
    spec: Option<String>,
    /// The claimed pull request.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pr: Option<u64>,
    /// The timeout of the type checker, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = PATIENCE_SECONDS, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

pub(super) fn run(args: &Qa, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    if args.check == "list" {
        return list(output);
    }
    let request = ChecklistRequest {
        check: args.check.clone(),
        issue: args.issue.clone(),
        branch: args.branch.clone(),
        spec: args.spec.clone(),
        pull_request: args.pr,
        seconds: args.timeout,
    };
    let report = block_on(ask(&common.project()?, &request))??;
    if !report.output.is_empty() {
        output.remark(safe(report.output.trim_end()));
    }
    for remark in &report.remarks {
        output.remark(format!("note: {}", one_line(remark)));
    }
    tell(output, &report.finding)?;
    Ok(match report.finding.standing {
        CheckStatus::Holds => Exit::Done,
        CheckStatus::Fails => Exit::Failed,
        CheckStatus::Unverified => Exit::UNVERIFIED,
    })
}

fn tell(output: Output, finding: &CheckFinding) -> anyhow::Result<()> {
    if output.is_json() {
        return output.json(finding);
    }
    let (paint, word) = match finding.standing {
        CheckStatus::Holds => (Paint::Good, "holds"),
        CheckStatus::Fails => (Paint::Bad, "fails"),
        CheckStatus::Unverified => (Paint::Warn, "cannot verify"),
    };
    let reason = one_line(&finding.reason);
    let reason = reason.strip_prefix("cannot verify: ").unwrap_or(&reason);
    output.line(format!("{}: {reason}", output.paint(paint, word)))?;
    // The reason already names a single violation.
    for violation in finding.violations.iter().filter(|_| finding.violations.len() > 1) {
        let sha = violation.sha.get(..10).unwrap_or(&violation.sha);
        output.line(format!("  {sha} {}: {}", one_line(&violation.subject), one_line(&violation.expected)))?;
    }
    Ok(())
}

fn list(output: Output) -> anyhow::Result<Exit> {
    let asks = |id: &str| Gate::named(id).map_or("", |gate| gate.wants);
    let own = (TYPECHECK, Some("I-6"), "the type check passes now; its verdict is kept for exactly this content");
    let merge = (REMOVALS, Some("I-10"), asks(REMOVALS));
    let rows = CHECKS.iter().map(|kind| (kind.id, kind.invariant, asks(kind.id)));
    let rows = std::iter::once(own).chain(rows).chain([merge]);
    if output.is_json() {
        let objects = rows.map(|(id, invariant, wants)| json!({ "check": id, "invariant": invariant, "asks": wants }));
        output.json(&json!({ "checks": objects.collect::<Vec<_>>() }))?;
    } else {
        let rows: Vec<Vec<String>> = rows
            .map(|(id, invariant, wants)| vec![id.to_owned(), invariant.unwrap_or("-").to_owned(), wants.to_owned()])
            .collect();
        output.line(table(&rows))?;
    }
    Ok(Exit::Done)
}
