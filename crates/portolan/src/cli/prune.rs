//! `portolan runs prune`.

use std::path::PathBuf;

use clap::Args;
use portolan_core::value::Timestamp;
use portolan_runtime::service::{Prune as Request, PruneResult, Service};
use portolan_supervision::people::People;
use serde_json::json;

use super::Exit;
use super::check::counted;
use super::duration::duration;
use super::output::{Output, one_line};
use super::store::remark_left_out;

/// Delete runs that ended long ago.
///
/// Open runs, and runs that are driven, are never deleted. With `--archive`, a run is deleted only when it is in the
/// archive, on disk; runs with secrets stay then. `runs show --archive` shows an archived run. Only a person may delete
/// runs, or a program that no agent has started.
///
/// Example: portolan runs prune --older-than 90d --dry-run
#[derive(Args)]
pub(super) struct Prune {
    /// The time since the last event, such as `90d`, `12h` or `30m`.
    #[arg(long, value_name = "AGE", value_parser = duration)]
    older_than: i64,
    /// Append the runs to this file first, in the form of `store export`.
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    /// Only show what would be deleted.
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn prune(output: Output, service: &Service, args: &Prune) -> anyhow::Result<Exit> {
    if !args.dry_run {
        People::of(service).must_be_person("may delete runs")?;
    }
    let before = Timestamp(service.now().0.saturating_sub(args.older_than));
    let request = Request { before, archive: args.archive.as_deref(), is_dry_run: args.dry_run };
    let pruned = service.prune_runs(&request).await?;
    if output.is_json() {
        output.json(&json!({
            "dryRun": args.dry_run,
            "runs": pruned.runs,
            "records": pruned.records,
            "definitions": pruned.definitions,
            "deleted": pruned.named,
            "stay": pruned.left_out.named,
            "stayCount": pruned.left_out.count,
        }))?;
    } else {
        tell(output, args, &pruned)?;
    }
    match pruned.stopped {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Done),
    }
}

fn tell(output: Output, args: &Prune, pruned: &PruneResult) -> anyhow::Result<()> {
    let number = |count: u64, what: &str| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
    let what = format!("{} with {}", number(pruned.runs, "run"), number(pruned.records, "record"));
    if args.dry_run {
        pruned.named.iter().try_for_each(|run| output.line(run))?;
        let unnamed = pruned.runs - pruned.named.len() as u64;
        if unnamed > 0 {
            output.line(format!("… and {unnamed} more"))?;
        }
        output.remark(format!("would delete {what}"));
    } else {
        let archived = match &args.archive {
            Some(file) if pruned.runs > 0 => format!(" after archiving them in `{}`", file.display()),
            _ => String::new(),
        };
        let definitions = match pruned.definitions {
            0 => String::new(),
            count => format!(", and {} that no run uses any more", number(count, "definition")),
        };
        output.line(one_line(&format!("deleted {what}{archived}{definitions}")))?;
    }
    remark_left_out(output, &pruned.left_out, "kept");
    Ok(())
}
