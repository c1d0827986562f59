//! A run of phases does not go on while a budget of its task is used up, whoever moves it and by whatever way. What has
//! begun is settled, and a task can always be called off and a rule got past by name: neither uses anything up.

use portolan_core::graph::Workflow;
use portolan_core::run::{EventKind, Run};

use super::Service;
use super::flow::has_phases;
use super::hold::Held;
use crate::error::ServiceError;

impl Service {
    /// Refuses to begin a run that a budget stops. The session that reported last may be over, so that its own budget
    /// keeps nobody from a new task.
    pub(super) async fn may_begin(&self, workflow: &Workflow, run: &Run) -> Result<(), ServiceError> {
        if !has_phases(workflow) {
            return Ok(());
        }
        self.supervisor().may_begin(run.opening.description.as_deref()).await
    }

    /// Refuses to move a run that a budget stops.
    pub(super) async fn may_move(&self, held: &Held, what: &EventKind) -> Result<(), ServiceError> {
        let workflow = &held.definition.workflow;
        match what {
            EventKind::Begun { .. } => self.may_begin(workflow, &held.run).await,
            EventKind::Reported { .. }
            | EventKind::Gathered { .. }
            | EventKind::Raised { .. }
            | EventKind::Noted { .. }
                if has_phases(workflow) =>
            {
                self.supervisor().may_work(held.run.opening.description.as_deref()).await
            }
            EventKind::Opened(_)
            | EventKind::Reported { .. }
            | EventKind::Settled { .. }
            | EventKind::Gathered { .. }
            | EventKind::Resumed { .. }
            | EventKind::Raised { .. }
            | EventKind::Noted { .. }
            | EventKind::Bypassed { .. }
            | EventKind::Used { .. }
            | EventKind::Cancelled { .. } => Ok(()),
        }
    }
}
