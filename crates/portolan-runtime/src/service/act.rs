//! Views a run or acts on it. Each action is one event: decided, stored, and followed by its effects.
//!
//! ```text
//! request → the run, held → what is due by itself → the event, if it is open → checks, functions → view
//! ```

use portolan_core::diagnostic::clip;
use portolan_core::present::RunStatus;
use portolan_core::run::{self, Actor, EffectId, EffectResult, EventKind, FramePath, Place, Run};
use portolan_core::value::{NodeId, Outcome, Timestamp};

use super::hold::{Carrier, HeldRun};
use super::interruption::ambiguous;
use super::report::{ReportResult, bounded, passing};
use super::request::{Act, Report, Request, RunAddress};
use super::{Caller, Service};
use crate::carrier::Address;
use crate::conflict::{CommitError, retrying};
use crate::error::ServiceError;
use crate::runner::Listener;
use crate::view::View;

/// The maximum length in bytes of a branch name that is parsed. A longer one cannot be under way.
const MAX_BRANCH_BYTES: usize = 4 << 10;

/// An event to be decided.
pub(super) struct PendingEvent {
    pub(super) event: EventKind,
    pub(super) by: Caller,
    /// The position and the outcome of a claim, which checks may follow.
    pub(super) settles: Option<(FramePath, Outcome)>,
}

impl Service {
    /// Returns the position of a run, or one of its positions. A run that an agent navigates begins by this call.
    ///
    /// # Errors
    /// The run or the position is unknown. Or the agent's state was never given out, or is not the last one.
    pub async fn view(&self, request: &Request, caller: &Caller) -> Result<View, ServiceError> {
        if !matches!(request.address, Address::State(_)) {
            return self.look(request, caller).await;
        }
        request.within_bounds()?;
        retrying(|| async move {
            let mut grip = self.grip(request, caller).await?;
            let caught_up = self.catch_up(&mut grip.held, caller).await;
            let note = caught_up.map_err(|refused| refused.map(|error| self.situated(error, &grip, None, caller)))?;
            self.bind_looker(&grip.held, caller);
            let mut view = self.present(&grip, None, caller)?;
            view.notes.extend(note.into_iter().chain(self.behind(&grip.held)));
            Ok(view)
        })
        .await
    }

    async fn look(&self, request: &Request, caller: &Caller) -> Result<View, ServiceError> {
        let grip = RunAddress::of(self.peek_in_time(&request.address).await?, None);
        self.bind_looker(&grip.held, caller);
        if request.asked {
            return self.question(&grip, request, caller);
        }
        let at = match request.branch.as_deref() {
            None => None,
            Some(branch) => Some(named(&grip.held.run, branch).ok_or_else(|| {
                let error = ServiceError::refused(
                    "unknown_branch",
                    format!("no branch `{}` is in progress", clip(branch)),
                    "choose one of the current positions",
                );
                self.situated(error, &grip, None, caller)
            })?),
        };
        self.present(&grip, at, caller)
    }

    /// Presents the position at which a person is asked.
    fn question(&self, grip: &RunAddress, request: &Request, caller: &Caller) -> Result<View, ServiceError> {
        let positions = grip.held.run.positions();
        let waiting = positions.into_iter().filter(|(_, frame)| matches!(frame.place, Place::Waiting { .. }));
        let is_named = |path: &FramePath| request.branch.as_ref().is_none_or(|branch| path.text() == *branch);
        let waiting: Vec<FramePath> = waiting.map(|(path, _)| path).filter(is_named).collect();
        let address = &request.address;
        match waiting.as_slice() {
            [path] => self.present(grip, Some(path.clone()), caller),
            [] => {
                let view = self.present(grip, None, caller)?;
                let state = match view.situation.state {
                    RunStatus::Ended => "it has ended",
                    RunStatus::Working | RunStatus::Checking | RunStatus::Waiting => "the agent is working",
                };
                let message = format!("`{address}` is not asking a person at `{}`: {state}", view.current_step);
                Err(ServiceError::refused("nothing_asked", message, "`portolan runs show` shows where it is"))
            }
            several => {
                let message = format!("{} branches of `{address}` wait for a person", several.len());
                Err(ambiguous(message, several))
            }
        }
    }

    /// Performs an action on a run.
    ///
    /// # Errors
    /// The action is refused, with the situation of the run, or the run cannot be stored. Nothing has changed then.
    pub async fn act(&self, request: &Request, act: &Act, caller: &Caller) -> Result<View, ServiceError> {
        self.act_with_listener(request, act, caller, &Listener::default()).await
    }

    /// Performs an action on a run. `listener` hears the checks while they run.
    ///
    /// # Errors
    /// As for [`act`](Service::act).
    pub async fn act_with_listener(
        &self,
        request: &Request,
        act: &Act,
        caller: &Caller,
        listener: &Listener,
    ) -> Result<View, ServiceError> {
        request.within_bounds()?;
        if let Act::Report(report) = act {
            bounded(report.note.as_deref())?;
        }
        retrying(|| async move {
            let mut grip = self.grip(request, caller).await?;
            self.bind(&grip.held, caller)?;
            let ready = self.make_ready(&mut grip, act, caller).await;
            let ready = ready.map_err(|refused| refused.map(|error| self.situated(error, &grip, None, caller)));
            let notes = ready?;
            let doing = self.doing(&grip, request, act, caller);
            let doing = doing.map_err(|error| self.situated(error, &grip, None, caller))?;
            let settles = match doing {
                None => None,
                Some(PendingEvent { event, by, settles }) => {
                    let moved = self.step(&mut grip.held, event, &by).await;
                    let at = || after(&grip.held.run, settles.as_ref().map(|(path, _)| path));
                    moved.map_err(|refused| refused.map(|error| self.situated(error, &grip, at(), caller)))?;
                    settles
                }
            };
            let followed = self.follow(&mut grip, settles.as_ref(), (caller, listener)).await?;
            self.note_standing(&grip.held).await;
            self.release(&grip.held);
            let at = after(&grip.held.run, settles.as_ref().map(|(path, _)| path));
            let mut view = self.present(&grip, at, caller)?;
            view.claim = followed.claim;
            view.notes.extend(notes.into_iter().chain(followed.notes));
            Ok(view)
        })
        .await
    }

    /// Performs what follows from an event: checks, functions, and for a navigating agent whatever is due without it.
    async fn follow(
        &self,
        grip: &mut RunAddress,
        settles: Option<&(FramePath, Outcome)>,
        (caller, listener): (&Caller, &Listener),
    ) -> Result<ReportResult, ServiceError> {
        let mut followed = match settles {
            Some((path, outcome)) => self.settle(&mut grip.held, path, outcome, listener).await?,
            None if grip.is_led => ReportResult::default(),
            None => ReportResult { claim: None, notes: self.go_on(&mut grip.held).await?.into_iter().collect() },
        };
        // If another caller moved the run meanwhile, its position is shown.
        if grip.is_led
            && let Ok(note) = self.catch_up(&mut grip.held, caller).await
        {
            followed.notes.extend(note);
        }
        Ok(followed)
    }

    /// Performs what is due before the action. Returns a note for the caller, if any.
    async fn make_ready(
        &self,
        grip: &mut RunAddress,
        act: &Act,
        caller: &Caller,
    ) -> Result<Option<String>, CommitError> {
        let by_person = matches!(act, Act::Answer { .. }) && !matches!(caller.by, Actor::Agent(_));
        match (act, grip.is_led) {
            // A timeout is not applied before a person's answer, unless another caller has applied it already.
            (_, true) if by_person => Ok(None),
            (_, true) => self.catch_up(&mut grip.held, caller).await,
            (Act::End { .. }, false) => Ok(None),
            (_, false) => {
                self.time_out(&mut grip.held).await?;
                self.hooks().run_ended(&grip.held).await;
                Ok(None)
            }
        }
    }

    /// Returns the event of an action. `None` if there is nothing to do.
    ///
    /// # Errors
    /// The action is not open at the present position.
    fn doing(
        &self,
        grip: &RunAddress,
        request: &Request,
        act: &Act,
        caller: &Caller,
    ) -> Result<Option<PendingEvent>, ServiceError> {
        let (held, by) = (&grip.held, caller.clone());
        match act {
            Act::Begin => {
                let begins = run::moves(&held.definition.workflow, &held.run.root).contains(&run::Move::Begin);
                let event = EventKind::Begun { revision: grip.known };
                Ok((begins || grip.known.is_some()).then_some(PendingEvent { event, by, settles: None }))
            }
            Act::End { reason } if !grip.is_led => {
                let event = EventKind::Cancelled { reason: reason.clone(), outcome: None };
                Ok(Some(PendingEvent { event, by, settles: None }))
            }
            Act::Report(report) => {
                let path = match &request.branch {
                    Some(branch) => named(&held.run, branch).unwrap_or_else(|| path_of(branch)),
                    None => only(&held.run),
                };
                is_known(grip)?;
                self.may_be_checked(held, &path, report)?;
                self.reported(held, path, (report, grip.known), caller).map(Some)
            }
            Act::Complete { .. } | Act::Answer { .. } | Act::Raise(_) | Act::End { .. } => {
                self.deed(grip, act, caller).map(Some)
            }
        }
    }

    /// Returns the event of a report.
    pub(super) fn reported(
        &self,
        held: &HeldRun,
        path: FramePath,
        (report, revision): (&Report, Option<u64>),
        caller: &Caller,
    ) -> Result<PendingEvent, ServiceError> {
        let (event, by) = self.claim(held, &path, (report, revision), caller)?;
        Ok(PendingEvent { event, by, settles: Some((path, report.outcome.clone())) })
    }

    /// Performs what needs no agent: begins a run, applies timeouts of questions, drives functions. Returns a note for
    /// the agent, if any.
    pub(super) async fn catch_up(&self, held: &mut HeldRun, caller: &Caller) -> Result<Option<String>, CommitError> {
        let at_start = Place::Ready { node: held.definition.workflow.root().start.clone() };
        if held.run.root.place == at_start {
            self.step(held, EventKind::Begun { revision: None }, caller).await?;
        }
        self.time_out(held).await?;
        self.hooks().run_ended(held).await;
        Ok(self.go_on(held).await?)
    }

    /// Applies the default answers of questions whose time is over.
    pub(super) async fn time_out(&self, held: &mut HeldRun) -> Result<(), CommitError> {
        let engine = Caller { by: Actor::Engine, can_ask: false };
        // Each answer may lead to another question, whose time begins only now.
        self.pass(held).await?;
        while let Some(timer) = self.overdue(held) {
            let before = held.run.revision;
            self.step(held, timer.settled(EffectResult::Due, 0), &engine).await?;
            if held.run.revision == before {
                break;
            }
        }
        Ok(())
    }

    /// Returns a question whose time is over. The clock is read only if a question has a time limit.
    fn overdue(&self, held: &HeldRun) -> Option<EffectId> {
        if held.run.overdue(Timestamp(i64::MAX)).is_empty() {
            return None;
        }
        held.run.overdue(self.options.clock.now()).into_iter().next()
    }

    /// Reads a run after applying the timeouts of its questions.
    async fn peek_in_time(&self, address: &Address) -> Result<HeldRun, ServiceError> {
        let held = self.peek(address).await?;
        if self.overdue(&held).is_none() && passing(&held.definition, &held.run).is_none() {
            self.hooks().run_ended(&held).await;
            return Ok(held);
        }
        retrying(|| async move {
            let mut held = self.hold(address).await?;
            self.time_out(&mut held).await?;
            self.hooks().run_ended(&held).await;
            Ok(held)
        })
        .await
    }
}

/// Checks that the caller names a revision: several callers may move a run in the store.
fn is_known(grip: &RunAddress) -> Result<(), ServiceError> {
    if grip.known.is_some() || matches!(grip.held.carrier, Carrier::Task { .. }) {
        return Ok(());
    }
    Err(ServiceError::refused(
        "revision_required",
        "the call names no `revision`",
        "send an action of the current situation unchanged: it has a `revision`",
    ))
}

/// Returns the position that situations call `branch`.
fn named(run: &Run, branch: &str) -> Option<FramePath> {
    run.positions().into_iter().map(|(path, _)| path).find(|path| path.text() == branch)
}

/// Returns the path of `branch`, so that the engine can report why it is not under way.
fn path_of(branch: &str) -> FramePath {
    match branch.len() {
        0..=MAX_BRANCH_BYTES => FramePath(branch.split('/').map(NodeId::from).collect()),
        _ => FramePath(vec![clip(branch).into()]),
    }
}

/// Returns the position of a call that names none: the only position, or the fork that has several.
fn only(run: &Run) -> FramePath {
    match run.positions().as_slice() {
        [(path, _)] => path.clone(),
        _ => FramePath::default(),
    }
}

/// Returns the position to show after a move at `path`: `path` if it is under way in a forked run, else the whole run.
fn after(run: &Run, path: Option<&FramePath>) -> Option<FramePath> {
    let (path, positions) = (path?, run.positions());
    let inside = positions.len() > 1 && positions.iter().any(|(position, _)| position == path);
    inside.then(|| path.clone())
}
