//! `portolan runs resume`: continues the stored run of a graph.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use portolan_core::run;
use portolan_runtime::carrier::Address;
use portolan_runtime::drive::Control;
use portolan_runtime::graphs::redaction;
use portolan_runtime::servers::{PoolOptions, Servers};
use portolan_runtime::service::{
    FunctionRun, History, InterruptionPolicy, ResumableRun, ResumeRequest, Service, ServiceError,
};
use portolan_runtime::store::RunId;
use portolan_runtime::tools::Tools;
use serde_json::Value;

use super::output::Output;
use super::run::{Look, OutcomeReport, Over, cast, drive, left, tell};
use super::runs::person;
use super::{Exit, runs};

/// How a run continues.
#[derive(Args)]
pub(super) struct Resume {
    /// The handle of the run.
    run: String,
    /// Repeat a call that was interrupted.
    #[arg(long, conflicts_with = "fail")]
    repeat: bool,
    /// Count a call that was interrupted as failed.
    #[arg(long)]
    fail: bool,
    /// Answer the tool or the question that a state waits for: JSON, or else text.
    #[arg(long, value_name = "JSON|TEXT", group = "how")]
    answer: Option<String>,
    /// Continue a state that waits; at a limit, with the same amount again.
    #[arg(long, group = "how")]
    go_on: bool,
    /// Accept the best attempt of a state that waits.
    #[arg(long, group = "how")]
    accept: bool,
    /// Give up a state that waits.
    #[arg(long, group = "how")]
    give_up: bool,
    /// The branch, if several wait.
    #[arg(long, value_name = "BRANCH", requires = "how")]
    branch: Option<String>,
    /// The model for states whose file names none.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    model: Option<String>,
    /// Your own file of MCP servers, for servers that the graph does not define.
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
    /// Show every node with its time afterwards.
    #[arg(long)]
    trace: bool,
}

impl Resume {
    /// Returns the instruction of the options to a waiting state.
    fn resume(&self) -> Option<run::Resume> {
        if let Some(text) = &self.answer {
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
            return Some(run::Resume::Answer(Arc::new(value)));
        }
        let flags =
            [(self.go_on, run::Resume::GoOn), (self.accept, run::Resume::Accept), (self.give_up, run::Resume::GiveUp)];
        flags.into_iter().find_map(|(is_set, with)| is_set.then_some(with))
    }
}

pub(super) async fn resume(output: Output, service: &Service, args: &Resume) -> anyhow::Result<Exit> {
    let run = handle(&args.run)?;
    let ResumableRun { definition, run: state, servers } = service.kept_function(&run, args.mcp.as_deref()).await?;
    let input = state.opening.input.as_deref().cloned().unwrap_or_default();
    let hidden = redaction(&definition, &servers).learning(&input);
    let History { records, .. } = service.history(&Address::Stored(run.clone())).await?;
    hidden.learn_from(records.iter().map(|record| (&record.event, record.changes.as_slice())));
    let servers = Arc::new(Servers::new(servers, PoolOptions::default()));
    let look = Look {
        output,
        workflow: &definition.workflow,
        hidden: &hidden,
        control: Control::new(false, []),
        steps: false,
        trace: args.trace,
        cast: cast(service, args.model.as_deref(), true)?,
        ground: Some(service.project_ground()),
        kept: true,
        servers: Some(servers.clone()),
    };
    let interrupted = match (args.repeat, args.fail) {
        (true, _) => InterruptionPolicy::Repeat,
        (_, true) => InterruptionPolicy::Fail,
        (false, false) => InterruptionPolicy::Ask,
    };
    let resumed = args.resume().map(|with| ResumeRequest { by: person().by, with, branch: args.branch.clone() });
    let kept = FunctionRun::Kept { run: run.clone(), interrupted, resumed };
    let begin = async |how| service.drive(kept, how).await;
    let over = drive(look, Tools::of(servers), begin);
    let Over { finished, rows } = over.await?;
    match finished {
        Some(finished) => tell(output, &OutcomeReport { finished: &finished, rows, hidden: &hidden }),
        None => {
            // Whoever interrupted it decides when it continues.
            service.leave(&run).await?;
            Ok(left(output, Some(&run)))
        }
    }
}

/// Parses an argument as a handle.
pub(super) fn handle(text: &str) -> Result<RunId, ServiceError> {
    match runs::address(text)? {
        Address::Stored(run) => Ok(run),
        Address::Task(path) | Address::State(path) => Err(ServiceError::refused(
            "not_a_handle",
            format!("`{path}` is a task file, whose run is continued by its agent"),
            "name the handle of a run; `portolan runs list` shows them",
        )),
    }
}
