//! `portolan runs resume`: the kept run of a graph is gone on with.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use portolan_core::run;
use portolan_runtime::carrier::Address;
use portolan_runtime::drive::Control;
use portolan_runtime::graphs::redaction;
use portolan_runtime::servers::{PoolOptions, Servers};
use portolan_runtime::service::{FunctionRun, History, Interrupted, ResumableRun, Resumed, Service, ServiceError};
use portolan_runtime::store::RunId;
use portolan_runtime::tools::Tools;
use serde_json::Value;

use super::output::Output;
use super::run::{Look, OutcomeReport, Over, cast, drive, left, tell};
use super::runs::person;
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
    /// Answer the tool, or the person's question, that a state waits for: JSON, or a text.
    #[arg(long, value_name = "JSON|TEXT", group = "how")]
    answer: Option<String>,
    /// Let a state go on that waits; at a limit, with as much again.
    #[arg(long, group = "how")]
    go_on: bool,
    /// Have the best attempt of a state that waits count.
    #[arg(long, group = "how")]
    accept: bool,
    /// Give up on a state that waits.
    #[arg(long, group = "how")]
    give_up: bool,
    /// Which branch, when several wait.
    #[arg(long, value_name = "BRANCH", requires = "how")]
    branch: Option<String>,
    /// The model that works on states where the file names none.
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
    /// What a state that waits is told.
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
        (true, _) => Interrupted::Repeat,
        (_, true) => Interrupted::Fail,
        (false, false) => Interrupted::Ask,
    };
    let resumed = args.resume().map(|with| Resumed { by: person().by, with, branch: args.branch.clone() });
    let kept = FunctionRun::Kept { run: run.clone(), interrupted, resumed };
    let begin = async |how| service.drive(kept, how).await;
    let over = drive(look, Tools::of(servers), begin);
    let Over { finished, rows } = over.await?;
    match finished {
        Some(finished) => tell(output, &OutcomeReport { finished: &finished, rows, hidden: &hidden }),
        None => Ok(left(output, Some(&run))),
    }
}

/// The handle that an argument is.
pub(super) fn handle(text: &str) -> Result<RunId, ServiceError> {
    match runs::address(text)? {
        Address::Stored(run) => Ok(run),
        Address::Task(path) | Address::State(path) => Err(ServiceError::refused(
            "not_a_handle",
            format!("`{path}` is a task file, whose run its agent goes on with"),
            "name the handle of a run; `portolan runs list` shows them",
        )),
    }
}
