//! The supervisor's records in the event log: the questions, the budgets and the queue of a project, and changes of them.
//!
//! The event log is authoritative; [`SupervisorState`] is its fold. Every change is decided on the current state,
//! appended to the log, and then stored beside the log, all under one lock. A process that dies in between loses
//! nothing.

mod shared;
#[cfg(test)]
mod shared_tests;
mod state;

use std::path::Path;

use portolan_core::value::Timestamp;
use portolan_gates::supervisor::{Budget, BudgetStatus, Scope, SupervisorState, standings};

use crate::audit::{self, Durability, Log, LogEntry};
use crate::clock::Clock;
use crate::error::ServiceError;
use crate::store::Store;
use crate::{plugins, project_folder};
use state::KeptState;

pub use state::log_line;

/// How many lines may be folded anew on each load before the state is stored.
const BEHIND: usize = 500;

/// The supervisor's records of a project.
#[derive(Clone, Copy)]
pub struct SupervisorLog<'p> {
    project: &'p Path,
    clock: &'p Clock,
    /// The store through which machines share budgets, if the project has one.
    store: Option<&'p dyn Store>,
}

impl<'p> SupervisorLog<'p> {
    /// Returns the records of a project.
    pub fn of(project: &'p Path, clock: &'p Clock) -> SupervisorLog<'p> {
        SupervisorLog { project, clock, store: None }
    }

    /// Returns the records with the budgets that machines share through `store`, if it has lists.
    #[must_use]
    pub fn shared_through(self, store: &'p dyn Store) -> SupervisorLog<'p> {
        SupervisorLog { store: store.shared_address().map(|_| store), ..self }
    }

    /// Returns the current state.
    ///
    /// # Errors
    /// The log cannot be read.
    pub async fn board(&self) -> Result<SupervisorState, ServiceError> {
        let kept = self.load()?;
        if kept.behind > BEHIND
            && let Ok(turn) = project_folder::turn_in(self.project).await
        {
            // Another process may have stored a newer state. If it cannot be stored, it is folded again next time.
            let _unkept = self.load().and_then(|kept| kept.save(self.project));
            drop(turn);
        }
        Ok(kept.board)
    }

    /// Sends to the store what other machines do not know of this one's usage, and returns what all machines reported.
    /// `None` if no budget of these depends on it: then the store is not asked.
    ///
    /// # Errors
    /// `budgets_unverified` if the store cannot be asked or its list is damaged; or the log cannot be read.
    pub async fn shared(&self, budgets: &[Budget]) -> Result<Option<SupervisorState>, ServiceError> {
        let are_shared = budgets.iter().any(|budget| budget.scope != Scope::Session);
        match self.store.filter(|_| are_shared) {
            Some(store) => shared::synchronize(self.project, store).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the current state, with what other machines reported towards these budgets.
    async fn counted(&self, budgets: &[Budget]) -> Result<SupervisorState, ServiceError> {
        let shared = self.shared(budgets).await?;
        let board = self.board().await?;
        Ok(shared.map_or_else(|| board.clone(), |shared| board.with_shared(&shared)))
    }

    /// Returns the status of the budgets for a task, and for the session that reported last on this machine.
    ///
    /// # Errors
    /// The project's plugins cannot be read or have faults, or the log cannot be read; or as for
    /// [`shared`](SupervisorLog::shared).
    pub async fn standings(&self, task: Option<&str>) -> Result<Vec<BudgetStatus>, ServiceError> {
        let budgets = plugins::load(self.project)?.budgets;
        let board = self.counted(&budgets).await?;
        Ok(standings(&budgets, &board, task, board.session.as_deref(), self.now()))
    }

    /// Refuses to continue if a budget is used up, or cannot be verified.
    ///
    /// # Errors
    /// `halted` if one is; or as for [`standings`](SupervisorLog::standings).
    pub async fn may_work(&self, task: Option<&str>) -> Result<(), ServiceError> {
        self.stops(task, |board| board.session.clone()).await
    }

    /// Refuses to begin if a budget is used up. Ignores the budget of the session that reported last, which may be
    /// over.
    ///
    /// # Errors
    /// As for [`may_work`](SupervisorLog::may_work).
    pub async fn may_begin(&self, task: Option<&str>) -> Result<(), ServiceError> {
        self.stops(task, |_| None).await
    }

    async fn stops(
        &self,
        task: Option<&str>,
        session: fn(&SupervisorState) -> Option<String>,
    ) -> Result<(), ServiceError> {
        let budgets = plugins::load(self.project)?.budgets;
        if budgets.is_empty() {
            return Ok(());
        }
        let board = self.counted(&budgets).await?;
        let all = standings(&budgets, &board, task, session(&board).as_deref(), self.now());
        all.into_iter().find(|standing| standing.halts).map_or(Ok(()), |halt| Err(halted(&halt)))
    }

    /// Checks whether a budget stops a task: one that is used up, or one that cannot be verified.
    pub(crate) async fn is_stopped(&self, task: Option<&str>) -> Result<bool, ServiceError> {
        match self.may_work(task).await {
            Ok(()) => Ok(false),
            Err(error) if matches!(error.code, "halted" | "budgets_unverified") => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Returns the present time, by the clock of the project's service.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn log(&self) -> Result<Log, ServiceError> {
        Ok(Log::of_project(self.project)?.with_clock(self.clock.clone()))
    }

    fn load(&self) -> Result<KeptState, ServiceError> {
        KeptState::load(self.project, &audit::project_log(self.project))
    }

    /// Decides on the current state, records the decision in the log, and stores the new state. Holds the project's
    /// lock meanwhile.
    ///
    /// # Errors
    /// The decision is a refusal, or the log or the state cannot be read or written.
    pub async fn change<T>(
        &self,
        decide: impl FnOnce(&SupervisorState, Timestamp) -> Result<(Vec<LogEntry>, T), ServiceError>,
    ) -> Result<T, ServiceError> {
        let turn = project_folder::turn_in(self.project).await?;
        let mut kept = self.load()?;
        let (entries, value) = decide(&kept.board, self.now())?;
        if !entries.is_empty() {
            let lines = self.log()?.append(&entries, Durability::Synced)?;
            // Other processes may have appended to the log in between, without this lock. Their lines are folded too.
            kept = match lines.first() {
                Some(first) if kept.is_before(first) => {
                    lines.iter().for_each(|line| kept.take(line));
                    kept
                }
                _ => self.load()?,
            };
            kept.save(self.project)?;
        }
        drop(turn);
        Ok(value)
    }
}

fn halted(halt: &BudgetStatus) -> ServiceError {
    let help = format!(
        "`portolan supervisor budget` shows it; a person can raise it with `portolan supervisor budget raise {} {} …`",
        halt.scope.name(),
        halt.unit.name(),
    );
    ServiceError::refused("halted", halt.sentence(), help)
}
