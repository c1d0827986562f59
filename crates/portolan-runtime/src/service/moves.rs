//! The moves: begin, report or answer, cancel. Each is one event, decided, kept, and followed by whatever is to be
//! performed.

use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_core::run::{self, EventKind, FramePath, Run};
use portolan_core::value::{NodeId, Outcome};
use serde_json::Value;

use super::hold::{Held, Refused};
use super::report::{Report, bounded, passing};
use super::{Caller, Service};
use crate::carrier::Address;
use crate::error::ServiceError;
use crate::view::View;

/// What a caller says of a position.
#[derive(Clone, Debug)]
pub struct Move {
    /// The run.
    pub address: Address,
    /// Which position, where there are several: as situations name it.
    pub branch: Option<String>,
    /// The revision that the caller knows it by. A run in the store requires it.
    pub revision: Option<u64>,
    /// The outcome that is reported or answered.
    pub outcome: Outcome,
    /// What the caller says of it.
    pub note: Option<String>,
    /// The variables that the work has given values: an object.
    pub outputs: Option<Arc<Value>>,
}

/// The longest name of a branch that is taken apart, in bytes. A longer one cannot be under way.
const MAX_BRANCH_BYTES: usize = 4 << 10;
/// How often a decision is made anew because another writer came first. Each time, that other one got on.
pub(super) const MAX_CONFLICTS: usize = 32;

impl Service {
    /// Leaves the start node. On a run that has begun it changes nothing and shows the situation.
    ///
    /// # Errors
    /// The run is not known or cannot be kept; the caller's revision is an old one.
    pub async fn start(&self, address: &Address, revision: Option<u64>, caller: &Caller) -> Result<View, ServiceError> {
        for _ in 0..MAX_CONFLICTS {
            let mut held = self.hold_in_time(address).await?;
            let moves = run::moves(&held.definition.workflow, &held.run.root);
            if !moves.contains(&run::Move::Begin) && revision.is_none() {
                let note = self.go_on(&mut held).await?;
                return self.view(&held, None, caller).map(|view| view.noting(note));
            }
            match self.step(&mut held, EventKind::Begun { revision }, caller).await {
                Ok(_) => {
                    let note = self.go_on(&mut held).await?;
                    return self.view(&held, None, caller).map(|view| view.noting(note));
                }
                Err(Refused::Conflict) => {}
                Err(Refused::Failed(error)) => return Err(self.situated(error, &held, None, caller)),
            }
        }
        Err(too_busy())
    }

    /// Where a run is.
    ///
    /// # Errors
    /// The run or the branch is not known.
    pub async fn current(
        &self,
        address: &Address,
        branch: Option<&str>,
        caller: &Caller,
    ) -> Result<View, ServiceError> {
        let held = self.peek_in_time(address).await?;
        let at = match branch {
            None => None,
            Some(branch) => Some(named(&held.run, branch).ok_or_else(|| {
                let error = ServiceError::refused(
                    "unknown_branch",
                    format!("no branch `{}` is under way", clip(branch)),
                    "choose from the present positions",
                );
                self.situated(error, &held, None, caller)
            })?),
        };
        self.view(&held, at, caller)
    }

    /// Reports an outcome, or answers a question.
    ///
    /// # Errors
    /// The call is refused, with the present situation; or it cannot be kept, and then nothing has changed.
    pub async fn next(&self, wanted: &Move, caller: &Caller) -> Result<View, ServiceError> {
        bounded(wanted.note.as_deref())?;
        let Move { outcome, note, outputs, revision, .. } = wanted.clone();
        let report = Report { outcome, note, outputs, revision };
        for _ in 0..MAX_CONFLICTS {
            let mut held = self.hold_in_time(&wanted.address).await?;
            let path = match &wanted.branch {
                Some(branch) => named(&held.run, branch).unwrap_or_else(|| path_of(branch)),
                None => only(&held.run),
            };
            let allowed = known(wanted).and_then(|()| self.may_be_checked(&held, &path, &report));
            let (event, by) = match allowed.and_then(|()| self.claim(&held, &path, &report, caller)) {
                Ok(claim) => claim,
                Err(error) => return Err(self.situated(error, &held, None, caller)),
            };
            match self.step(&mut held, event, &by).await {
                Ok(()) => {
                    let led = self.settle(held, &path, &report.outcome).await?;
                    let mut view = self.view(&led.held, after(&led.held.run, &path), caller)?;
                    view.claim = led.claim;
                    view.notes.extend(led.notes);
                    return Ok(view);
                }
                Err(Refused::Conflict) => {}
                Err(Refused::Failed(error)) => return Err(self.situated(error, &held, Some(path), caller)),
            }
        }
        Err(too_busy())
    }

    /// Takes hold of a run in which every question whose time is over has answered itself.
    async fn hold_in_time(&self, address: &Address) -> Result<Held, ServiceError> {
        for _ in 0..MAX_CONFLICTS {
            let mut held = self.hold(address).await?;
            match self.time_out(&mut held).await {
                Ok(()) => {
                    self.log_end(&held).await;
                    return Ok(held);
                }
                Err(Refused::Conflict) => {}
                Err(Refused::Failed(error)) => return Err(error),
            }
        }
        Err(too_busy())
    }

    /// Looks at a run in which every question whose time is over has answered itself.
    pub(super) async fn peek_in_time(&self, address: &Address) -> Result<Held, ServiceError> {
        let held = self.peek(address).await?;
        if self.overdue(&held).is_some() || passing(&held).is_some() {
            return self.hold_in_time(address).await;
        }
        self.log_end(&held).await;
        Ok(held)
    }

    /// Calls a run off.
    ///
    /// # Errors
    /// It is over already, or cannot be kept.
    pub async fn cancel(&self, address: &Address, reason: &str, caller: &Caller) -> Result<View, ServiceError> {
        for _ in 0..MAX_CONFLICTS {
            let mut held = self.hold(address).await?;
            match self.step(&mut held, EventKind::Cancelled { reason: reason.to_owned(), outcome: None }, caller).await
            {
                Ok(()) => return self.view(&held, None, caller),
                Err(Refused::Conflict) => {}
                Err(Refused::Failed(error)) => return Err(self.situated(error, &held, None, caller)),
            }
        }
        Err(too_busy())
    }

    fn situated(&self, error: ServiceError, held: &Held, at: Option<FramePath>, caller: &Caller) -> ServiceError {
        let at = at.and_then(|path| after(&held.run, &path));
        match self.view(held, at, caller) {
            Ok(view) => error.at(view),
            Err(_) => error,
        }
    }
}

/// A run in the store may be moved by several at once: who moves it says what they know.
fn known(wanted: &Move) -> Result<(), ServiceError> {
    if wanted.revision.is_some() || matches!(wanted.address, Address::Task(_)) {
        return Ok(());
    }
    Err(ServiceError::refused(
        "revision_required",
        "the call names no `revision`",
        "send an action of the present situation as it stands: it has one",
    ))
}

/// The position that situations call `branch`.
fn named(run: &Run, branch: &str) -> Option<FramePath> {
    run.positions().into_iter().map(|(path, _)| path).find(|path| path.text() == branch)
}

/// The path that `branch` would be, so that the engine can say why it is none that is under way.
fn path_of(branch: &str) -> FramePath {
    match branch.len() {
        0..=MAX_BRANCH_BYTES => FramePath(branch.split('/').map(NodeId::from).collect()),
        _ => FramePath(vec![clip(branch).into()]),
    }
}

/// The position of a call that names none: the only one, or else the fork that has several.
fn only(run: &Run) -> FramePath {
    match run.positions().as_slice() {
        [(path, _)] => path.clone(),
        _ => FramePath::default(),
    }
}

/// Where to look after a move at `path`: there while it is under way in a run that has forked, else at the whole run.
fn after(run: &Run, path: &FramePath) -> Option<FramePath> {
    let positions = run.positions();
    let inside = positions.len() > 1 && positions.iter().any(|(position, _)| position == path);
    inside.then(|| path.clone())
}

pub(super) fn too_busy() -> ServiceError {
    ServiceError::refused(
        "stale",
        "other writers moved this run on again and again",
        "look at the present situation and choose anew",
    )
}
