//! The moves: begin, report or answer, cancel. Each is one event, decided, kept, and followed by whatever is to be
//! performed.

use portolan_core::diagnostic::clip;
use portolan_core::engine::{self, Effect, Work};
use portolan_core::run::{self, Actor, Channel, Event, EventKind, FramePath, Human, Place, Run, Verdict};
use portolan_core::value::{CheckId, NodeId, Outcome};

use super::hold::{Held, Refused};
use super::view::{Claim, View, runs_commands};
use super::{Caller, Service, ServiceError};
use crate::carrier::Address;
use crate::runner;

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
}

/// The longest note, in bytes.
const MAX_NOTE_BYTES: usize = 8 << 10;
/// The longest name of a branch that is taken apart, in bytes. A longer one cannot be under way.
const MAX_BRANCH_BYTES: usize = 4 << 10;
/// How often a decision is made anew because another writer came first. Each time, that other one got on.
const MAX_CONFLICTS: usize = 32;

impl Service {
    /// Leaves the start node. On a run that has begun it changes nothing and shows the situation.
    ///
    /// # Errors
    /// The run is not known or cannot be kept; the caller's revision is an old one.
    pub async fn start(&self, address: &Address, revision: Option<u64>, caller: &Caller) -> Result<View, ServiceError> {
        for _ in 0..MAX_CONFLICTS {
            let mut held = self.hold(address).await?;
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
        let held = self.peek(address).await?;
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
        if wanted.note.as_ref().is_some_and(|note| note.len() > MAX_NOTE_BYTES) {
            return Err(ServiceError::refused(
                "too_large",
                format!("the note has more than {MAX_NOTE_BYTES} bytes"),
                "say it shorter, or name a file",
            ));
        }
        for _ in 0..MAX_CONFLICTS {
            let mut held = self.hold(&wanted.address).await?;
            let path = match &wanted.branch {
                Some(branch) => named(&held.run, branch).unwrap_or_else(|| path_of(branch)),
                None => only(&held.run),
            };
            if let Err(error) = self.may_be_asked(&held, &path, wanted) {
                return Err(self.situated(error, &held, None, caller));
            }
            let (event, caller_now) = match self.claim(&held, &path, wanted, caller) {
                Ok(claim) => claim,
                Err(error) => return Err(self.situated(error, &held, None, caller)),
            };
            match self.step(&mut held, event, &caller_now).await {
                Ok(()) => return self.settle(held, wanted, &path, caller).await,
                Err(Refused::Conflict) => {}
                Err(Refused::Failed(error)) => return Err(self.situated(error, &held, Some(path), caller)),
            }
        }
        Err(too_busy())
    }

    /// What the engine cannot see and that refuses a call all the same.
    fn may_be_asked(&self, held: &Held, path: &FramePath, wanted: &Move) -> Result<(), ServiceError> {
        if wanted.revision.is_none() && matches!(wanted.address, Address::Stored(_)) {
            return Err(ServiceError::refused(
                "revision_required",
                "the call names no `revision`",
                "send an action of the present situation as it stands: it has one",
            ));
        }
        let Some(frame) = held.run.frame(path) else { return Ok(()) };
        let claims = matches!(frame.place, Place::Ready { .. } | Place::Checking { .. }) && !wanted.outcome.is_failed();
        if !claims || !runs_commands(&held.definition, frame) {
            return Ok(());
        }
        match self.untrusted(&held.definition) {
            Some(lift) => Err(ServiceError::refused(
                "not_trusted",
                format!("`{}` is left only after commands that nobody has trusted yet", frame.place.node()),
                format!("{lift}; the person at this machine decides that"),
            )),
            None => Ok(()),
        }
    }

    /// The event that a call comes to at the present position, and by whom.
    fn claim(
        &self,
        held: &Held,
        path: &FramePath,
        wanted: &Move,
        caller: &Caller,
    ) -> Result<(EventKind, Caller), ServiceError> {
        let place = held.run.frame(path).map(|frame| &frame.place);
        if let Some(Place::Gathering { .. }) = place {
            let frame = &held.run.root;
            if wanted.revision.is_some_and(|known| known != frame.since) {
                let stale = EventKind::Reported {
                    frame: path.clone(),
                    outcome: wanted.outcome.clone(),
                    revision: wanted.revision,
                    note: None,
                    outputs: None,
                };
                return Ok((stale, caller.clone()));
            }
            return Ok((EventKind::Gathered { branches: self.earned(held)? }, caller.clone()));
        }
        let by = match (&caller.by, place) {
            (Actor::Agent(name), Some(Place::Waiting { .. })) if held.run.opening.rules.human == Human::Attested => {
                Actor::Person { name: name.clone(), via: Channel::Attested }
            }
            (by, _) => by.clone(),
        };
        let event = EventKind::Reported {
            frame: path.clone(),
            outcome: wanted.outcome.clone(),
            revision: wanted.revision,
            note: wanted.note.clone(),
            outputs: None,
        };
        Ok((event, Caller { by, can_ask: caller.can_ask }))
    }

    /// Decides one event and keeps what it made true.
    async fn step(&self, held: &mut Held, what: EventKind, caller: &Caller) -> Result<(), Refused> {
        let event = self.event(caller, what);
        let changes = engine::decide(&held.definition.workflow, &held.run, &event)
            .map_err(|rejection| Refused::Failed(rejection.into()))?;
        if changes.is_empty() {
            return Ok(());
        }
        self.commit(held, event, changes).await
    }

    fn event(&self, caller: &Caller, what: EventKind) -> Event {
        Event { at: self.options.clock.now(), by: caller.by.clone(), what }
    }

    /// Performs the checks that a claim asked for, and shows where that led.
    async fn settle(
        &self,
        mut held: Held,
        wanted: &Move,
        path: &FramePath,
        caller: &Caller,
    ) -> Result<View, ServiceError> {
        let Some(mut work) = pending(&held, path).into_iter().next() else {
            let note = self.go_on(&mut held).await?;
            return self.view(&held, after(&held.run, path), caller).map(|view| view.noting(note));
        };
        let checks = checks_of(&held, path);
        // The file is free while commands run: others may look, and a move of theirs makes this one's verdict late.
        drop(held);
        let mut claim = None;
        loop {
            let verdict = runner::perform(&work, &self.options.project).await;
            let (mut held, settled) = self.settled(&wanted.address, &work, verdict).await?;
            claim = settled.map(|settled| Claim::of(&work.id.node, &wanted.outcome, &settled)).or(claim);
            let next = pending(&held, path).into_iter().find(|next| next.id.since == work.id.since);
            match next.filter(|next| next.id != work.id) {
                Some(next) => work = next,
                None => {
                    let note = self.go_on(&mut held).await?;
                    let mut view = self.view(&held, after(&held.run, path), caller)?.noting(note);
                    view.claim = claim.filter(|claim: &Claim| claim.checks.len() == checks);
                    if view.claim.is_none() {
                        view.notes.push(format!(
                            "`{}` was left by another call while its checks were performed",
                            work.id.node
                        ));
                    }
                    return Ok(view);
                }
            }
        }
    }

    /// Has a verdict counted. Also what all checks of the claim came to so far, unless nobody waits for this one.
    async fn settled(&self, address: &Address, work: &Work, verdict: Verdict) -> Result<(Held, Settled), ServiceError> {
        let engine = Caller { by: Actor::Engine, can_ask: false };
        for _ in 0..MAX_CONFLICTS {
            let mut held = self.hold(address).await?;
            let settled = so_far(&held.run, work).map(|mut settled| {
                settled.push((work.id.check.clone(), verdict.clone()));
                settled
            });
            let event = EventKind::Settled { effect: work.id.clone(), verdict: verdict.clone() };
            match self.step(&mut held, event, &engine).await {
                Ok(()) => return Ok((held, settled)),
                Err(Refused::Conflict) => {}
                Err(Refused::Failed(error)) => return Err(error),
            }
        }
        Err(too_busy())
    }

    /// Calls a run off.
    ///
    /// # Errors
    /// It is over already, or cannot be kept.
    pub async fn cancel(&self, address: &Address, reason: &str, caller: &Caller) -> Result<View, ServiceError> {
        for _ in 0..MAX_CONFLICTS {
            let mut held = self.hold(address).await?;
            match self.step(&mut held, EventKind::Cancelled { reason: reason.to_owned() }, caller).await {
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
            Ok(view) => error.in_situation(view.situation),
            Err(_) => error,
        }
    }
}

/// How many checks the step has that a position is at.
fn checks_of(held: &Held, path: &FramePath) -> usize {
    let step =
        |frame: &run::Frame| held.definition.workflow.flow(&frame.flow).step(frame.place.node()).node.accept.len();
    held.run.frame(path).map_or(0, step)
}

/// The verdicts of a claim's checks, in the order in which they came.
type Settled = Option<Vec<(CheckId, Verdict)>>;

/// The verdicts that a claim has, while it waits for the one of `work`.
fn so_far(run: &Run, work: &Work) -> Settled {
    let frame = run.frame(&work.id.frame).filter(|frame| frame.since == work.id.since)?;
    let Place::Checking { settled, .. } = &frame.place else { return None };
    let open = settled.iter().all(|(check, _)| *check != work.id.check);
    open.then(|| settled.clone())
}

fn pending(held: &Held, path: &FramePath) -> Vec<Work> {
    let effects = held.run.pending(&held.definition.workflow);
    let works = effects.into_iter().filter_map(|effect| match effect {
        Effect::Perform(work) if work.id.frame == *path => Some(work),
        _ => None,
    });
    works.collect()
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

fn too_busy() -> ServiceError {
    ServiceError::refused(
        "stale",
        "other writers moved this run on again and again",
        "look at the present situation and choose anew",
    )
}
