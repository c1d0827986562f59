//! Takes up the noted task, and finishes what a killed process left unfinished. This happens here and nowhere else: a
//! task that never began is dropped, one whose run is over is no longer the project's, and one whose run was stored but
//! not begun begins.

use std::fs::File;

use portolan_core::run::{EventKind, Place};

use super::Flow;
use super::active::{self, Active, Stage};
use crate::carrier::Address;
use crate::conflict::{CommitError, retrying};
use crate::error::ServiceError;
use crate::service::Caller;
use crate::service::hold::HeldRun;
use crate::store::RunId;

/// The target of a project's note.
pub(super) enum NoteTarget {
    /// There is no note.
    Nothing,
    /// A task that never began.
    Unborn,
    /// A task that is under way.
    Here(Active, HeldRun),
    /// A task whose run is over.
    Over(Active, HeldRun),
}

/// The task for a caller that moves it.
pub(super) enum TaskClaim {
    /// No task is under way.
    Nothing,
    /// The task was over, and is no longer the project's.
    Ended(Active),
    /// The task.
    Here(Active, Box<HeldRun>),
}

impl Flow<'_> {
    /// Returns the target of the note. Writes nothing.
    pub(super) async fn noted(&self) -> Result<NoteTarget, ServiceError> {
        let Some(active) = active::read(self.service.project())? else { return Ok(NoteTarget::Nothing) };
        let own = self.service.other_store();
        if active.store.is_some() && active.store != own {
            return Err(active::in_other_store(self.service.project(), &active));
        }
        match self.service.hold(&Address::Stored(active.run.clone())).await {
            Ok(held) if held.run.is_over() => Ok(NoteTarget::Over(active, held)),
            Ok(held) => Ok(NoteTarget::Here(active, held)),
            Err(error) if error.code != "unknown_run" => Err(error),
            // Notes of earlier releases name no store.
            Err(_) if active.store != own => Err(active::in_other_store(self.service.project(), &active)),
            Err(_) if active.stage == Stage::Begins => Ok(NoteTarget::Unborn),
            Err(_) => Err(active::without_run(self.service.project(), &active)),
        }
    }

    /// Returns the task that is under way, for a caller that only reads.
    pub(super) async fn active_run(&self) -> Result<Option<(Active, HeldRun)>, ServiceError> {
        match self.noted().await? {
            NoteTarget::Here(active, held) => Ok(Some((active, held))),
            NoteTarget::Nothing | NoteTarget::Unborn | NoteTarget::Over(..) => Ok(None),
        }
    }

    /// Returns the task that is under way.
    ///
    /// # Errors
    /// The note cannot be read, or the run does not exist.
    pub async fn active(&self) -> Result<Option<Active>, ServiceError> {
        Ok(self.active_run().await?.map(|(active, _)| active))
    }

    /// Returns the task, for a caller that moves it or begins another one.
    pub(super) async fn taken(&self, caller: &Caller) -> Result<TaskClaim, ServiceError> {
        retrying(|| async move {
            let ended = match self.noted().await? {
                NoteTarget::Nothing => return Ok(TaskClaim::Nothing),
                NoteTarget::Unborn => None,
                NoteTarget::Over(active, _) => Some(active),
                NoteTarget::Here(active, mut held) => {
                    active.store.as_ref().map_or(Ok(()), |store| self.service.note_store(store))?;
                    self.begun(&active, &mut held, caller).await?;
                    if !held.run.is_over() {
                        return Ok(TaskClaim::Here(active, Box::new(held)));
                    }
                    // Only its end was left to pass.
                    Some(active)
                }
            };
            match self.clear(&self.turn().await?).await? {
                None => Ok(ended.map_or(TaskClaim::Nothing, TaskClaim::Ended)),
                // Another task has begun meanwhile.
                Some(_) => Err(CommitError::Conflict),
            }
        })
        .await
    }

    /// Completes the interrupted beginning of a task.
    async fn begun(&self, active: &Active, held: &mut HeldRun, caller: &Caller) -> Result<(), CommitError> {
        let start = &held.definition.workflow.root().start;
        if matches!(&held.run.root.place, Place::Ready { node } if node == start) {
            self.service.step(held, EventKind::Begun { revision: None }, caller).await?;
        }
        self.service.pass(held).await?;
        if active.stage == Stage::Begins {
            let turn = self.turn().await?;
            // The process that began it may have continued meanwhile, or another task may have begun.
            if active::read(self.service.project())?.as_ref() == Some(active) {
                self.under_way_from_now(held)?;
            }
            drop(turn);
        }
        Ok(())
    }

    /// Removes the note of a task that never began, or whose run is over. Returns a task that is still under way. The
    /// log is completed first: nothing moves a finished run again.
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

    /// Does the same, if the note is of this run.
    pub(super) async fn clear_of(&self, run: &RunId) -> Result<(), ServiceError> {
        let turn = self.turn().await?;
        if active::read(self.service.project())?.is_some_and(|active| active.run == *run) {
            self.clear(&turn).await?;
        }
        Ok(())
    }
}
