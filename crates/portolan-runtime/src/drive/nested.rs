//! A workflow that a model uses as a tool: driven like the run that it belongs to, with the same servers, models and
//! functions. It is kept nowhere: of a tool, only what it came to is.

use std::pin::Pin;
use std::sync::Arc;

use portolan_core::engine::{self, ModelToolCall};
use portolan_core::graph::{Bounds, State, Workflow};
use portolan_core::run::{Done, Opening, Run, Spend};
use serde_json::Value;

use super::{Drive, Outcome, Setup};

/// A workflow while it is driven.
pub(super) type Running = Pin<Box<dyn Future<Output = (Done, Spend)> + Send>>;

/// The workflow that is meant by a tool; nothing where it is no workflow.
pub(super) fn of(workflow: &Workflow, used: &ModelToolCall) -> Option<Arc<Workflow>> {
    workflow.rooted(State::workflow_of(&used.tool)?).map(Arc::new)
}

/// Runs it to its end with what the run that uses it has `left`, and says what it has used up of that. Dropping the future
/// drops all of it.
pub(super) fn run(workflow: Arc<Workflow>, used: ModelToolCall, left: Bounds, setup: Setup) -> Running {
    Box::pin(async move {
        let name = workflow.id().clone();
        let opening = Opening {
            input: Some(used.arguments.clone()),
            since: Some(setup.clock.now()),
            bounds: (left != Bounds::default()).then_some(left),
            ..Opening::of(name.clone())
        };
        let opened = setup.pace.take(false, || engine::open(&workflow, &opening));
        let run = match opened {
            Ok(changes) => Run::fold(&changes).expect("what `open` decides begins a journal"),
            Err(refusal) => return (Done::Failed(refusal.message), Spend::default()),
        };
        // Whoever watches, pauses and steps does so with the run that uses it.
        let setup = Setup { watch: None, control: None, ..setup };
        let mut drive = Drive::new(workflow, run, setup, None);
        let done = match drive.until_over().await {
            Ok(Outcome::Done(output)) => Done::Output(output.unwrap_or_else(|| Arc::new(Value::Null))),
            Ok(Outcome::Failed(fault)) => {
                Done::Failed(format!("`{name}` failed at `{}`: {}", fault.node, fault.message))
            }
            Ok(Outcome::Cancelled) => Done::Failed(format!("`{name}` was cancelled")),
            Ok(Outcome::Waiting { node, why }) => {
                let why = why.unwrap_or_else(|| "it waits for somebody".to_owned());
                Done::Failed(format!("`{name}` stopped at `{node}`: {why}; a tool cannot wait, and nothing came of it"))
            }
            Err(error) => Done::Failed(error.message),
        };
        (done, drive.run().tallies.as_deref().map(|tallies| tallies.run.spend).unwrap_or_default())
    })
}
