//! Hooks around the events of runs. They are the only place where the service calls phases and gates.
//!
//! ```text
//! may_begin → created           may_move → decided → before_commit → kept → after_commit
//! other_tasks → checks → before_verdict → the verdict → log_violations           run_ended
//! ```
//!
//! A run with phases does not advance while a budget of its task is used up, whoever moves it. Begun effects are
//! settled, a task can always be called off, and a rule can be bypassed: none of these uses a budget.

use portolan_core::graph::Workflow;
use portolan_core::run::{EventKind, Run};

use super::log::has_phases;
use crate::error::ServiceError;
use crate::service::Service;
use crate::service::hold::HeldRun;

/// The hooks. Those of budgets are here, those of the event log in `log.rs`, of bypasses in `uses.rs`, of other tasks
/// in `others.rs`.
pub(in crate::service) struct Hooks<'s> {
    pub(super) service: &'s Service,
}

impl Service {
    /// Returns the hooks around the events of runs.
    pub(in crate::service) fn hooks(&self) -> Hooks<'_> {
        Hooks { service: self }
    }
}

impl Hooks<'_> {
    /// Refuses to begin a run that a budget stops. The session that reported last may be over, so its own budget does
    /// not stop a new task.
    pub(in crate::service) async fn may_begin(&self, workflow: &Workflow, run: &Run) -> Result<(), ServiceError> {
        if !has_phases(workflow) {
            return Ok(());
        }
        self.service.supervisor_log().may_begin(run.opening.description.as_deref()).await
    }

    /// Refuses to move a run that a budget stops.
    pub(in crate::service) async fn may_move(&self, held: &HeldRun, what: &EventKind) -> Result<(), ServiceError> {
        let workflow = &held.definition.workflow;
        match what {
            EventKind::Begun { .. } => self.may_begin(workflow, &held.run).await,
            EventKind::Reported { .. }
            | EventKind::Gathered { .. }
            | EventKind::Raised { .. }
            | EventKind::Noted { .. }
                if has_phases(workflow) =>
            {
                self.service.supervisor_log().may_work(held.run.opening.description.as_deref()).await
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
