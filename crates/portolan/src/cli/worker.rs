//! `portolan worker`: drives the runs of the store that continue by themselves.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use portolan_runtime::drive::Outcome;
use portolan_runtime::service::{DrivenRun, Service, ServiceError, StoreAt, WorkerOptions};
use serde_json::json;

use super::output::{Paint, one_line};
use super::signals::asked_to_end;
use super::{Common, Exit, Output};

/// Drive the runs that wait in the store.
///
/// These are runs that were begun with `portolan run --detach`, whose time to continue has come, or whose process has
/// died. Any number of workers share the runs of a store, on any number of machines. It ends with Ctrl+C, after the
/// nodes under way, and leaves its runs to other workers.
///
/// Example: portolan worker --once
#[derive(Args)]
pub(super) struct Worker {
    /// The most runs that are driven at once.
    #[arg(long, value_name = "N", default_value = "16")]
    jobs: NonZeroUsize,
    /// End when no run is left that continues now.
    #[arg(long)]
    once: bool,
    /// The model for states whose file names none.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    model: Option<String>,
    /// Your own file of MCP servers, for servers that the graphs do not define.
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
}

pub(super) fn run(args: Worker, common: &Common) -> anyhow::Result<Exit> {
    let (output, options) = (common.output(), common.options()?);
    if matches!(options.store, StoreAt::Memory) {
        let message = "a store in memory has no runs of other processes";
        return Err(ServiceError::refused("no_store", message, "name a file or a database with `--store`").into());
    }
    let Worker { jobs, once, model, mcp } = args;
    let wanted = WorkerOptions { at_once: jobs.get(), model, mcp, folder: std::env::current_dir()? };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let worker = Arc::new(portolan_runtime::service::Worker::new(Arc::new(Service::new(options)?), wanted)?);
        let (mut unwritten, mut failed) = (None, false);
        let mut tell = |driven: Result<DrivenRun, ServiceError>| {
            failed |= driven.as_ref().map_or(true, |driven| driven.outcome.is_err());
            // A closed output must not end the runs under way.
            unwritten = tell(output, driven).err().or(unwritten.take());
        };
        worker.run(once, asked_to_end(), &mut tell).await?;
        match unwritten {
            Some(error) => Err(error),
            None => Ok(if once && failed { Exit::Failed } else { Exit::Done }),
        }
    })
}

fn tell(output: Output, driven: Result<DrivenRun, ServiceError>) -> anyhow::Result<()> {
    let DrivenRun { run, workflow, outcome } = match driven {
        Ok(driven) => driven,
        Err(error) => {
            output.error(error.code, &error.message, &error.help);
            return Ok(());
        }
    };
    let workflow = workflow.map(|workflow| workflow.to_string());
    if output.is_json() {
        let (word, node) = match &outcome {
            Ok(outcome) => word(outcome),
            Err(_) => ("left", None),
        };
        let error = outcome.as_ref().err().map(|error| json!({ "code": error.code, "message": error.message }));
        let object = json!({ "run": run, "workflow": workflow, "outcome": word, "node": node, "error": error });
        // One line for each run, as it comes.
        return output.line(object.to_string());
    }
    let name = workflow.map(|name| format!(" {}", one_line(&name))).unwrap_or_default();
    match outcome {
        Ok(outcome) => {
            let (word, node) = word(&outcome);
            let at = node.map(|node| format!(" at {}", one_line(node))).unwrap_or_default();
            output.line(format!("{run}{name} {}{at}", output.paint(paint(&outcome), word)))
        }
        Err(error) => {
            let message = one_line(&error.message);
            let help = match error.code {
                "interrupted" => format!(
                    "`portolan runs resume {run} --repeat` makes the call again, `portolan runs resume {run} --fail` counts \
                     it as failed"
                ),
                _ => one_line(&error.help),
            };
            output.remark(format!("{run}{name} left as it is: {message}; {help}"));
            Ok(())
        }
    }
}

/// Returns the outcome in one word, and the node at which the run waits.
fn word(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Done(_) => ("done", None),
        Outcome::Failed(_) => ("failed", None),
        Outcome::Cancelled => ("cancelled", None),
        Outcome::Waiting { node, .. } => ("waits", Some(node)),
    }
}

fn paint(outcome: &Outcome) -> Paint {
    match outcome {
        Outcome::Done(_) => Paint::Good,
        Outcome::Failed(_) => Paint::Bad,
        Outcome::Cancelled | Outcome::Waiting { .. } => Paint::Faint,
    }
}
