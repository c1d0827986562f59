//! `portolan runs start`: a person begins a run for an agent, optionally at a later step.

use clap::Args;
use portolan_runtime::service::{Open, RunCarrier, Service};

use super::output::Output;
use super::runs::{person, print_view};
use super::{Exit, person};

/// How a run begins.
#[derive(Args)]
pub(super) struct Start {
    /// The workflow.
    workflow: String,
    /// Begin at this step and skip everything before it, checks and questions too.
    /// The skip is recorded.
    #[arg(long, value_name = "STEP")]
    at: Option<String>,
    /// The task file that holds the run [default: the store holds it].
    #[arg(long, value_name = "FILE")]
    task: Option<String>,
    /// The purpose of the run, for the agent.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

pub(super) async fn start(output: &Output, service: &Service, args: &Start) -> anyhow::Result<Exit> {
    let caller = match args.at {
        Some(_) => person::confirmed(service, "may start a run at a later step")?,
        None => person(),
    };
    let wanted = Open {
        carrier: args.task.clone().map_or(RunCarrier::Store, RunCarrier::Task),
        workflow: Some(args.workflow.clone()),
        description: args.description.clone(),
        step: args.at.clone(),
        ..Open::default()
    };
    let view = service.open(&wanted, &caller).await?;
    for note in &view.notes {
        output.remark(note);
    }
    print_view(output, &view)?;
    Ok(Exit::Done)
}
