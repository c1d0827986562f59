//! `portolan store export` and `portolan store import`.

use std::io::{self, BufWriter};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use portolan_core::value::Timestamp;
use portolan_runtime::service::Service;
use portolan_runtime::store::{ExportError, ExportResult, LeftOuts, RunId, Selection};
use serde_json::json;

use super::verify::are;
use crate::cli::Exit;
use crate::cli::check::counted;
use crate::cli::duration::duration;
use crate::cli::output::{Output, one_line};
use crate::cli::person;
use crate::cli::resume::handle;

/// Write runs with their journals and definitions to a file.
///
/// The file is JSON Lines, can be read by its owner alone, and is never overwritten. Any store can import it. Runs with
/// secrets are left out, because their values would be readable in it. Exit code 1 if a run was left out.
///
/// Example: portolan store export runs.jsonl
#[derive(Args)]
pub(super) struct Export {
    /// The file to write [default: standard output].
    file: Option<PathBuf>,
    /// Only this run. May be given several times.
    #[arg(long = "run", value_name = "RUN")]
    runs: Vec<String>,
    /// Only runs that are over and have not moved for this time, such as `90d`.
    #[arg(long, value_name = "AGE", value_parser = duration)]
    ended_before: Option<i64>,
    /// Accept that runs with secrets are left out.
    #[arg(long)]
    skip_sealed: bool,
}

/// Take over the runs of an export.
///
/// Each run is verified first. A run that the store has already is skipped if it is the same and refused if it differs, so
/// that an import can be repeated. Exit code 1 if a run was refused. Only a person may import runs.
///
/// Example: portolan store import runs.jsonl
#[derive(Args)]
pub(super) struct Import {
    /// The file that `store export` or `runs prune --archive` has written.
    file: PathBuf,
}

pub(super) async fn export(output: Output, service: &Service, args: &Export) -> anyhow::Result<Exit> {
    let runs = args.runs.iter().map(|run| handle(run)).collect::<Result<Vec<RunId>, _>>()?;
    let ended_before = args.ended_before.map(|age| Timestamp(service.now().0.saturating_sub(age)));
    let selection = Selection { runs: (!runs.is_empty()).then_some(runs), ended_before };
    let exported = match &args.file {
        Some(file) => service.export_runs_to(&selection, file).await?,
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            match service.export_runs(&selection, &mut out).await {
                Ok(exported) => exported,
                Err(ExportError::Store(error)) => return Err(error.into()),
                Err(ExportError::Write(error)) => return Err(error).context("the output cannot be written"),
            }
        }
    };
    let accepted = if args.skip_sealed { exported.left_out.sealed } else { 0 };
    report(output, args, &exported)?;
    Ok(if exported.left_out.count > accepted { Exit::Failed } else { Exit::Done })
}

fn report(output: Output, args: &Export, exported: &ExportResult) -> anyhow::Result<()> {
    let ExportResult { runs, records, definitions, left_out } = exported;
    let file = args.file.as_ref().map(|file| file.display().to_string());
    if let (Some(file), true) = (&file, output.is_json()) {
        return output.json(&json!({
            "file": file,
            "runs": runs,
            "records": records,
            "definitions": definitions,
            "leftOut": left_out.named,
            "leftOutCount": left_out.count,
        }));
    }
    let number = |count: &u64, what: &str| counted(usize::try_from(*count).unwrap_or(usize::MAX), what);
    let (runs, records) = (number(runs, "run"), number(records, "record"));
    let summary = format!("exported {runs} with {records} and {}", number(definitions, "definition"));
    match file {
        Some(file) => output.line(one_line(&format!("{summary} to `{file}`")))?,
        None => output.remark(summary),
    }
    remark_left_out(output, left_out, "left out");
    let sealed = left_out.sealed;
    if sealed > 0 && !args.skip_sealed {
        let message = format!("{} sealed: `--skip-sealed` accepts that they are left out", are(sealed, "run"));
        output.remark(message);
    }
    Ok(())
}

/// Names the runs that were left out on standard error.
pub(in crate::cli) fn remark_left_out(output: Output, left_out: &LeftOuts, done: &str) {
    for run in &left_out.named {
        output.remark(one_line(&format!("run `{}` is {done}: {} ({})", run.run, run.why, run.code)));
    }
    let unnamed = left_out.count - left_out.named.len() as u64;
    if unnamed > 0 {
        output.remark(format!("{} {done} besides", are(unnamed, "run")));
    }
}

pub(super) async fn import(output: Output, service: &Service, args: &Import) -> anyhow::Result<Exit> {
    // The records of an import count as decisions of persons and checks.
    person::confirmed(service, "may import runs")?;
    let imported = service.import_runs(&args.file).await?;
    if output.is_json() {
        output.json(&json!({
            "runs": imported.runs,
            "records": imported.records,
            "equal": imported.equal,
            "refused": imported.left_out.named,
            "refusedCount": imported.left_out.count,
        }))?;
    } else {
        let number = |count: u64, what: &str| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
        let (runs, records) = (number(imported.runs, "run"), number(imported.records, "record"));
        let equal = match imported.equal {
            0 => String::new(),
            equal => format!("; {} here already", are(equal, "run")),
        };
        let has_done = imported.runs + imported.equal + imported.left_out.count > 0;
        if has_done || imported.stopped.is_none() {
            output.line(format!("imported {runs} with {records}{equal}"))?;
        }
        remark_left_out(output, &imported.left_out, "refused");
    }
    match imported.stopped {
        Some(error) => Err(error.into()),
        None => Ok(if imported.left_out.count > 0 { Exit::Failed } else { Exit::Done }),
    }
}
