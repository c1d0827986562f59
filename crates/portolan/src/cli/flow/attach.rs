//! `portolan flow attach`: attaches a session of a coding agent to a run.

use clap::Args;
use portolan_runtime::service::ServiceError;
use portolan_runtime::store::RunId;
use portolan_supervision::hook::Gatekeeper;
use serde_json::json;

use super::super::{Common, Exit, block_on};

/// Attach a session of a coding agent to a run.
///
/// The steps of the run then decide which tools the session may use.
///
/// Example: portolan flow attach k7m2qx4p --session 5f0c1f2e
#[derive(Args)]
#[command(
    after_help = "An agent that starts or continues a run is held to its steps even without this. In addition, a \
        session works on the project's task, or on the run that it is attached to, which may be in the store that \
        `--store` names. A host can also set `PORTOLAN_RUN` for its hooks, to a run of `.portolan/runs.db`."
)]
pub(super) struct Attach {
    /// The run.
    #[arg(value_name = "RUN")]
    run: String,
    /// The session, by its host's name for it.
    #[arg(long, value_name = "ID")]
    session: String,
}

pub(super) fn run(args: &Attach, common: &Common) -> anyhow::Result<Exit> {
    let (output, project) = (common.output(), common.project()?);
    let run = RunId::parse(&args.run).ok_or_else(|| {
        let message = format!("`{}` is not a valid run id", portolan_core::diagnostic::clip(&args.run));
        ServiceError::refused("bad_id", message, "`portolan runs list` shows the runs")
    })?;
    let service = common.service_of_task()?;
    block_on(async { service.flow().gate(Some(&service.stored(&run)), None).await })??;
    let named = service.stored_for_hooks(&run)?;
    Gatekeeper::of(Some(project.clone()), "portolan", Some(&args.session), &project).attach(&named)?;
    if output.is_json() {
        output.json(&json!({ "session": args.session, "run": run.as_str() }))?;
    } else {
        output
            .line(format!("the session `{}` is attached to {run}", portolan_core::diagnostic::clip(&args.session)))?;
    }
    Ok(Exit::Done)
}
