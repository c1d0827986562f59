//! `portolan runs resume`: the kept run of a graph is gone on with.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use portolan_runtime::carrier::Address;
use portolan_runtime::drive::Control;
use portolan_runtime::graphs::redaction;
use portolan_runtime::servers::{PoolOptions, Servers};
use portolan_runtime::service::{Interrupted, Kept, Service, ServiceError};
use portolan_runtime::store::RunId;
use portolan_runtime::tools::Tools;

use super::output::Output;
use super::run::{Look, Over, Told, drive, left, tell};
use super::{Exit, runs};

/// How a run is gone on with.
#[derive(Args)]
pub(super) struct Resume {
    /// A handle.
    run: String,
    /// Make a call again that was under way when the run was left.
    #[arg(long, conflicts_with = "fail")]
    repeat: bool,
    /// Count a call as failed that was under way when the run was left.
    #[arg(long)]
    fail: bool,
    /// Your own file of MCP servers, for servers that the graph does not define.
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
    /// Show every node with its time afterwards.
    #[arg(long)]
    trace: bool,
}

pub(super) async fn resume(output: Output, service: &Service, args: &Resume) -> anyhow::Result<Exit> {
    let run = handle(&args.run)?;
    let Kept { definition, run: state, servers } = service.kept_function(&run, args.mcp.as_deref()).await?;
    let input = state.opening.input.as_deref().cloned().unwrap_or_default();
    let hidden = redaction(&definition, &servers).learning(&input);
    let records = service.records(&Address::Stored(run.clone())).await?;
    hidden.learn_from(records.iter().map(|record| (&record.event, record.changes.as_slice())));
    let servers = Arc::new(Servers::new(servers, PoolOptions::default()));
    let look = Look {
        output,
        workflow: &definition.workflow,
        hidden: &hidden,
        control: Control::new(false, []),
        steps: false,
        trace: args.trace,
        kept: true,
        servers: Some(servers.clone()),
    };
    let interrupted = match (args.repeat, args.fail) {
        (true, _) => Interrupted::Repeat,
        (_, true) => Interrupted::Fail,
        (false, false) => Interrupted::Ask,
    };
    let over = drive(look, Tools::of(servers), async |how| service.resume_function(&run, interrupted, how).await);
    let Over { finished, rows } = over.await?;
    match finished {
        Some(finished) => tell(output, &Told { finished: &finished, rows, hidden: &hidden }),
        None => Ok(left(output, Some(&run))),
    }
}

/// The handle that an argument is.
pub(super) fn handle(text: &str) -> Result<RunId, ServiceError> {
    match runs::address(text)? {
        Address::Stored(run) => Ok(run),
        Address::Task(path) => Err(ServiceError::refused(
            "not_a_handle",
            format!("`{path}` is a task file, whose run its agent goes on with"),
            "name the handle of a run; `portolan runs list` shows them",
        )),
    }
}
