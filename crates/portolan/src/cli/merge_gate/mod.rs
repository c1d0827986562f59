//! `portolan merge-gate`: decides whether a branch may be merged.

mod report;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use portolan_core::diagnostic::Diagnostic;
use portolan_core::source::Source;
use portolan_gates::merge::MergeVerdict;
use portolan_runtime::merge_gate::{MergeQuestion, MergeRuling, MergeRulingError, rule};
use portolan_runtime::repository::Repository;

use super::check::drawn;
use super::output::{Output, is_broken_pipe, table};
use super::{Common, Exit, block_on};

/// Rule whether a branch may be merged.
///
/// Its removals must have been announced, and whatever requires a review must have been reviewed.
///
/// Example: portolan merge-gate --base origin/main --head HEAD
#[derive(Args)]
#[command(
    after_help = "The policy is `.portolan/merge-policy.yaml` of the base commit, never of the branch. Exit code \
        0 when the branch may be merged, 1 when it may not, 3 when a person decides, 2 when no ruling was \
        possible."
)]
pub(super) struct MergeGate {
    /// The commit or branch to merge into.
    #[arg(long, value_name = "COMMIT")]
    base: String,
    /// The commit or branch to merge.
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    head: String,
    /// Its pull request, whose reviews are read by `gh`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pr: Option<u64>,
    /// A text with `Removes:` lines, or with lists below a heading `Removals`.
    #[arg(long, value_name = "FILE")]
    intent: Option<PathBuf>,
    /// The results of other reviews, as JSON.
    /// For example `{"owasp": {"ok": true, "summary": "…"}}`.
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// Print a report in this format; `--format json` prints the complete ruling.
    #[arg(long, value_enum, value_name = "FORM")]
    report: Option<Form>,
}

/// The formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Markdown, for a comment on the pull request.
    Md,
    /// SARIF 2.1.0, for tools that show findings beside the code.
    Sarif,
}

pub(super) fn run(args: &MergeGate, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let project = common.project()?;
    let question = MergeQuestion {
        base: args.base.clone(),
        head: args.head.clone(),
        request: args.pr,
        intent: args.intent.clone(),
        evidence: args.evidence.clone(),
    };
    let ruled = match block_on(rule(&Repository::of(&project), &question)).context("the commits cannot be checked")? {
        Ok(ruled) => ruled,
        Err(MergeRulingError::Failed(error)) => {
            // 1 and 3 are verdicts, so a failure to rule needs another code.
            output.error(error.code, &error.message, &error.help);
            return Ok(Exit::Refused);
        }
        Err(MergeRulingError::Policy(source, faults)) => {
            tell(output, &source, &faults);
            return Ok(Exit::Refused);
        }
    };
    let printed = match args.report {
        Some(Form::Md) => output.line(report::markdown(&ruled)),
        Some(Form::Sarif) => output.json(&report::sarif(&ruled)),
        None if output.is_json() => output.json(&report::json(&ruled)),
        None => text(output, &ruled),
    };
    // A reader that closed the pipe has read enough. The exit code still has the ruling.
    printed.or_else(|error| if is_broken_pipe(&error) { Ok(()) } else { Err(error) })?;
    Ok(match ruled.ruling.verdict {
        MergeVerdict::Pass => Exit::Done,
        MergeVerdict::HumanReview => Exit::HUMAN_REVIEW,
        MergeVerdict::Block => Exit::Failed,
    })
}

/// Prints the faults of the policy.
fn tell(output: Output, source: &Source, faults: &[Diagnostic]) {
    let message = "the merge policy of the base commit has faults";
    let help = "fix it there first: the policy of the branch is not used";
    if output.is_json() {
        let texts = faults
            .iter()
            .map(|fault| format!("{}: {}", source.place(fault.span.map_or(0, |span| span.start)), fault.message));
        let texts: Vec<String> = texts.collect();
        return output.error("bad_policy", &format!("{message}: {}", texts.join("; ")), help);
    }
    for fault in faults {
        output.remark(drawn(source, fault, output.has_error_colour()));
        output.remark("");
    }
    output.error("bad_policy", message, help);
}

fn text(output: Output, ruled: &MergeRuling) -> anyhow::Result<()> {
    output.line(report::headline(ruled))?;
    let rows = report::rows(ruled);
    if rows.is_empty() { Ok(()) } else { output.line(table(&rows)) }
}
