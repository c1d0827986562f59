//! The task that is noted is taken up, by whoever comes next. What a process that was killed has not finished is finished
//! here, and nowhere else: a task that never began is none, one whose run is over is no longer the project's, and one whose
//! run was kept and not begun begins.

use std::fs::File;

use portolan_core::run::{EventKind, Place};

use super::Flow;
use super::active::{self, Active, Stage};
use crate::carrier::Address;
use crate::conflict::{CommitError, retrying};
use crate::error::ServiceError;
use crate::service::Caller;
use crate::service::hold::Held;
use crate::store::RunId;

/// What a project's note leads to.
pub(super) enum NoteTarget {
    /// There is no note.
    Nothing,
    /// A task that never began.
    Unborn,
    /// A task that is under way.
    Here(Active, Held),
    /// A task whose run is over.
    Over(Active, Held),
}

/// What somebody who moves the task finds.
pub(super) enum TaskClaim {
    /// No task is under way.
    Nothing,
    /// This one was over, and is not the project's any more.
    Ended(Active),
    /// The task.
    Here(Active, Box<Held>),
}

impl Flow<'_> {
    /// What the note leads to. Nothing is written.
    pub(super) async fn noted(&self) -> Result<NoteTarget, ServiceError> {
        let Some(active) = active::read(self.service.project())? else { return Ok(NoteTarget::Nothing) };
        match self.service.hold(&Address::Stored(active.run.clone())).await {
            Ok(held) if held.run.is_over() => Ok(NoteTarget::Over(active, held)),
            Ok(held) => Ok(NoteTarget::Here(active, held)),
            Err(error) if error.code != "unknown_run" => Err(error),
            Err(_) if active.stage == Stage::Begins => Ok(NoteTarget::Unborn),
            Err(_) => Err(active::without_run(self.service.project(), &active)),
        }
    }

    /// The task that is under way, for who only looks.
    pub(super) async fn seen(&self) -> Result<Option<(Active, Held)>, ServiceError> {
        match self.noted().await? {
            NoteTarget::Here(active, held) => Ok(Some((active, held))),
            NoteTarget::Nothing | NoteTarget::Unborn | NoteTarget::Over(..) => Ok(None),
        }
    }

    /// The task that is under way.
    ///
    /// # Errors
    /// What is noted of it cannot be read, or its run is not there.
    pub async fn active(&self) -> Result<Option<Active>, ServiceError> {
        Ok(self.seen().await?.map(|(active, _)| active))
    }

    /// The task, for who moves it or wants to begin another one.
    pub(super) async fn taken(&self, caller: &Caller) -> Result<TaskClaim, ServiceError> {
        retrying(|| async move {
            let ended = match self.noted().await? {
                NoteTarget::Nothing => return Ok(TaskClaim::Nothing),
                NoteTarget::Unborn => None,
                NoteTarget::Over(active, _) => Some(active),
                NoteTarget::Here(active, mut held) => {
                    self.begun(&active, &mut held, caller).await?;
                    if !held.run.is_over() {
                        return Ok(TaskClaim::Here(active, Box::new(held)));
                    }
                    // What was left to pass was its end.
                    Some(active)
                }
            };
            match self.clear(&self.turn().await?).await? {
                None => Ok(ended.map_or(TaskClaim::Nothing, TaskClaim::Ended)),
                // Another task has come meanwhile.
                Some(_) => Err(CommitError::Conflict),
            }
        })
        .await
    }

    /// Has a task begin whose beginning was cut short.
    async fn begun(&self, active: &Active, held: &mut Held, caller: &Caller) -> Result<(), CommitError> {
        let start = &held.definition.workflow.root().start;
        if matches!(&held.run.root.place, Place::Ready { node } if node == start) {
            self.service.step(held, EventKind::Begun { revision: None }, caller).await?;
        }
        self.service.pass(held).await?;
        if active.stage == Stage::Begins {
            let turn = self.turn().await?;
            // Whoever began it may have gone on meanwhile, or another task may have come.
            if active::read(self.service.project())?.as_ref() == Some(active) {
                self.under_way_from_now(held)?;
            }
            drop(turn);
        }
        Ok(())
    }

    /// Takes the note away of a task that never began, or whose run is over; the task that is under way otherwise. The log
    /// is complete before: nobody comes back to a run that is over.
    pub(super) async fn clear(&self, _turn: &File) -> Result<Option<Active>, ServiceError> {
        match self.noted().await? {
            NoteTarget::Nothing => return Ok(None),
            NoteTarget::Here(active, _) => return Ok(Some(active)),
            NoteTarget::Unborn => {}
            NoteTarget::Over(active, held) => self.service.log_missing(&held, &active.run).await?,
        }
        active::forget(self.service.project())?;
        Ok(None)
    }

    /// The same, where it is of this run.
    pub(super) async fn clear_of(&self, run: &RunId) -> Result<(), ServiceError> {
        let turn = self.turn().await?;
        if active::read(self.service.project())?.is_some_and(|active| active.run == *run) {
            self.clear(&turn).await?;
        }
        Ok(())
    }
}
