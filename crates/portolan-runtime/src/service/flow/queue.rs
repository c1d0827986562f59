//! The project's task among others: set aside, taken up again, stopped by budgets, waiting for questions.

use portolan_core::run::{Place, Run};
use portolan_gates::supervisor::WindowUsage;

use super::super::Caller;
use super::{Active, Flow, TaskStatus, Tick, active, phase, refused};
use crate::error::{ErrorKind, ServiceError};

/// The instructions for the present phase of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// The name of the task.
    pub task: String,
    /// The phase.
    pub phase: String,
    /// The instructions of the phase, from its workflow.
    pub prompt: Option<String>,
    /// Whether the run is over.
    pub is_over: bool,
    /// The run, if it waits for a person: no action of an agent moves it.
    pub waits: Option<String>,
}

/// The supervisor's state of a task.
pub(super) struct TaskSupervision {
    /// The status, if it takes precedence over the run's.
    pub(super) status: Option<TaskStatus>,
    /// The questions for which the task waits.
    pub(super) questions: Vec<String>,
    /// The usage of the task.
    pub(super) spent: WindowUsage,
}

impl Flow<'_> {
    /// Returns the present work. `None` if there is no task.
    ///
    /// # Errors
    /// The note of the task cannot be read.
    pub async fn brief(&self) -> Result<Option<Brief>, ServiceError> {
        let Some((active, held)) = self.active_run().await? else { return Ok(None) };
        let is_over = held.run.is_over();
        let step = held.definition.workflow.root().step(held.run.root.place.node());
        let prompt = step.node.brief.instructions.clone().filter(|_| !is_over);
        let waits = matches!(held.run.root.place, Place::Waiting { .. }).then(|| active.run.to_string());
        Ok(Some(Brief { task: active.task, phase: phase(&held.run), prompt, is_over, waits }))
    }

    /// Sets the project's task aside. Its run does not change, and can be taken up again.
    ///
    /// # Errors
    /// The note of the task cannot be read or written.
    pub async fn set_aside(&self, _caller: &Caller) -> Result<Option<Active>, ServiceError> {
        let turn = self.turn().await?;
        let active = self.clear(&turn).await?;
        if active.is_some() {
            active::forget(self.service.project())?;
        }
        drop(turn);
        Ok(active)
    }

    /// Makes a run that was set aside the project's task again.
    ///
    /// # Errors
    /// Another task is under way, there is no such run, or the note cannot be written.
    pub async fn take_up(&self, wanted: &Active, _caller: &Caller) -> Result<(), ServiceError> {
        self.held(&wanted.run).await?;
        let turn = self.turn().await?;
        if let Some(active) = self.clear(&turn).await?.filter(|active| active.run != wanted.run) {
            let message = format!("the task `{}` is in progress", active.task);
            return Err(ServiceError::refused("task_under_way", message, "set it aside first"));
        }
        self.note_down(wanted)?;
        drop(turn);
        Ok(())
    }

    /// Returns the tick of a task that a budget stops. Any other error is returned as such.
    pub(super) async fn halted(&self, active: &Active, why: ServiceError) -> Result<Tick, ServiceError> {
        if why.kind != ErrorKind::Refused {
            return Err(why);
        }
        let held = self.held(&active.run).await?;
        Ok(refused(&phase(&held.run), why.message))
    }

    /// Returns the supervisor's state of the task of a run.
    pub(super) async fn supervised(&self, run: &Run) -> Result<TaskSupervision, ServiceError> {
        let task = run.opening.description.as_deref();
        let supervisor = self.service.supervisor_log();
        let board = supervisor.board().await?;
        let asks = board.open().filter(|question| task.is_some() && question.task.as_deref() == task);
        let questions: Vec<String> = asks.map(|question| question.token.clone()).collect();
        let status = match (run.is_over(), supervisor.is_stopped(task).await?, questions.is_empty()) {
            (true, ..) => None,
            (_, true, _) => Some(TaskStatus::Halted),
            (_, _, false) => Some(TaskStatus::WaitingForReply),
            _ => None,
        };
        let spent = task.and_then(|task| board.spent.get(&format!("task:{task}")).cloned()).unwrap_or_default();
        Ok(TaskSupervision { status, questions, spent })
    }
}
