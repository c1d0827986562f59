//! An outcome is reported, or a question answered: who says it, whether it may be said now, and the checks that it asks
//! for.

use std::sync::Arc;

use portolan_core::engine::{self, CheckRequest, EffectKind};
use portolan_core::graph::CheckBy;
use portolan_core::run::{
    self, Actor, Change, Channel, EffectId, EffectResult, Event, EventKind, FramePath, Human, Place, Run, Verdict,
};
use portolan_core::value::{CheckId, Outcome};
use serde_json::Value;

use super::hold::{Held, Refused, Released};
use super::moves::{MAX_CONFLICTS, too_busy};
use super::view::{lifted_by, runs_commands};
use super::{Caller, Service};
use crate::error::ServiceError;
use crate::gates::{self, Ground};
use crate::repository::Repository;
use crate::view::Claim;

/// The longest note, in bytes.
const MAX_NOTE_BYTES: usize = 8 << 10;

/// What somebody says of a position.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) outcome: Outcome,
    pub(super) note: Option<String>,
    pub(super) outputs: Option<Arc<Value>>,
    /// The revision that the caller knows the position by.
    pub(super) revision: Option<u64>,
}

/// Where a report led.
pub(super) struct Led {
    pub(super) held: Held,
    /// What became of the claim, when it was checked.
    pub(super) claim: Option<Claim>,
    /// What the caller should know besides.
    pub(super) notes: Vec<String>,
}

/// Refuses a note that is too long to be kept.
pub(super) fn bounded(note: Option<&str>) -> Result<(), ServiceError> {
    if note.is_some_and(|note| note.len() > MAX_NOTE_BYTES) {
        let message = format!("the note has more than {MAX_NOTE_BYTES} bytes");
        return Err(ServiceError::refused("too_large", message, "say it shorter, or name a file"));
    }
    Ok(())
}

impl Service {
    /// Refuses a report that claims what only commands can show, when these may not be run.
    pub(super) fn may_be_checked(&self, held: &Held, path: &FramePath, report: &Report) -> Result<(), ServiceError> {
        let Some(frame) = held.run.frame(path) else { return Ok(()) };
        let node = &held.definition.workflow.flow(&frame.flow).step(frame.place.node()).node;
        let at_work = matches!(frame.place, Place::Ready { .. } | Place::Checking { .. });
        let claims = at_work && node.is_checked_on(&report.outcome);
        if !claims || !runs_commands(&held.definition, frame) {
            return Ok(());
        }
        match self.untrusted(&held.definition) {
            Some(lift) => Err(ServiceError::refused(
                "not_trusted",
                format!("`{}` is left only after commands that nobody has trusted yet", frame.place.node()),
                format!("{}; the person at this machine decides that", lifted_by(&lift)),
            )),
            None => Ok(()),
        }
    }

    /// The event that a report comes to at the present position, and by whom.
    pub(super) fn claim(
        &self,
        held: &Held,
        path: &FramePath,
        report: &Report,
        caller: &Caller,
    ) -> Result<(EventKind, Caller), ServiceError> {
        let place = held.run.frame(path).map(|frame| &frame.place);
        let reported = |outputs| EventKind::Reported {
            frame: path.clone(),
            outcome: report.outcome.clone(),
            revision: report.revision,
            note: report.note.clone(),
            outputs,
        };
        if let Some(Place::Gathering { .. }) = place {
            if report.revision.is_some_and(|known| known != held.run.root.since) {
                return Ok((reported(None), caller.clone()));
            }
            return Ok((EventKind::Gathered { branches: self.earned(held)? }, caller.clone()));
        }
        let by = match (&caller.by, place) {
            (Actor::Agent(name), Some(Place::Waiting { .. })) if held.run.opening.rules.human == Human::Attested => {
                Actor::Person { name: name.clone(), via: Channel::Attested }
            }
            (by, _) => by.clone(),
        };
        Ok((reported(report.outputs.clone()), Caller { by, can_ask: caller.can_ask }))
    }

    /// Decides one event, keeps what it made true, and passes what needs nobody after it.
    pub(super) async fn step(&self, held: &mut Held, what: EventKind, caller: &Caller) -> Result<(), Refused> {
        self.decided(held, what, caller).await?;
        self.pass(held).await.map_err(Refused::Failed)
    }

    /// Executes what needs nobody and comes to no value. What computes is driven: see [`Service::go_on`].
    pub(super) async fn pass(&self, held: &mut Held) -> Result<(), ServiceError> {
        let engine = Caller { by: Actor::Engine, can_ask: false };
        while let Some(effect) = passing(held) {
            match self.decided(held, effect.settled(EffectResult::Due, self.seed()), &engine).await {
                Ok(_) => {}
                // Whoever came first has passed it, or it is passed now.
                Err(Refused::Conflict) => *held = self.reload(held).await?,
                Err(Refused::Failed(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// The same, and what it made true.
    async fn decided(&self, held: &mut Held, what: EventKind, caller: &Caller) -> Result<Vec<Change>, Refused> {
        self.may_move(held, &what).await.map_err(Refused::Failed)?;
        let event = Event { at: self.options.clock.now(), by: caller.by.clone(), what };
        let changes = engine::decide(&held.definition.workflow, &held.run, &event)
            .map_err(|rejection| Refused::Failed(rejection.into()))?;
        if !changes.is_empty() {
            self.commit(held, event, changes.clone()).await?;
        }
        Ok(changes)
    }

    /// Performs the checks that a claim asked for, and whatever follows without anybody.
    pub(super) async fn settle(
        &self,
        mut held: Held,
        path: &FramePath,
        outcome: &Outcome,
    ) -> Result<Led, ServiceError> {
        let Some((mut effect, mut request)) = pending(&held, path).into_iter().next() else {
            let notes = self.go_on(&mut held).await?.into_iter().collect();
            return Ok(Led { held, claim: None, notes });
        };
        let checks = checks_of(&held, path);
        // The run is free while commands run: others may look, and a move of theirs makes this one's verdict late.
        let ground = self.ground(&held, path).await;
        let mut released = held.release();
        let mut claim = None;
        loop {
            let verdict = gates::perform(&request, &ground).await;
            let (mut held, settled) = self.settled(released, &effect, verdict).await?;
            self.log_violations(&held, &ground.violations())?;
            claim = settled.map(|settled| Claim::of(&effect.node, outcome, &settled)).or(claim);
            let next = pending(&held, path).into_iter().find(|(next, _)| next.since == effect.since);
            if let Some(next) = next.filter(|(next, _)| *next != effect) {
                (effect, request) = next;
                released = held.release();
                continue;
            }
            let mut notes: Vec<String> = self.go_on(&mut held).await?.into_iter().collect();
            let claim = claim.filter(|claim: &Claim| claim.checks.len() == checks);
            if claim.is_none() {
                notes.push(format!("`{}` was left by another call while its checks were performed", effect.node));
            }
            return Ok(Led { held, claim, notes });
        }
    }

    /// Where the checks of a position are performed.
    async fn ground(&self, held: &Held, path: &FramePath) -> Ground {
        let repository = match &self.options.environment {
            Some(environment) => Repository::within(self.project(), environment.iter().cloned()),
            None => Repository::of(self.project()),
        };
        // What a person allowed is looked for where this service keeps it, and nowhere else.
        let repository = match &self.options.trust {
            Some(data) => repository.trusting(data.clone()),
            None => repository,
        };
        let node =
            held.run.frame(path).map(|frame| &held.definition.workflow.flow(&frame.flow).step(frame.place.node()).node);
        let gates = node.into_iter().flat_map(|node| &node.accept).filter_map(|check| match &check.by {
            CheckBy::Gate { name } => Some(name.clone()),
            CheckBy::Run { .. } | CheckBy::File { .. } => None,
        });
        let gates: Vec<String> = gates.collect();
        let others = self.others(held, &gates).await;
        Ground::of(repository, gates).beside(others)
    }

    /// Has a verdict counted. Also what all checks of the claim came to so far, unless nobody waits for this one.
    async fn settled(
        &self,
        mut released: Released,
        effect: &EffectId,
        verdict: Verdict,
    ) -> Result<(Held, Settled), ServiceError> {
        let engine = Caller { by: Actor::Engine, can_ask: false };
        for _ in 0..MAX_CONFLICTS {
            let mut held = self.take_up(released).await?;
            let so_far = so_far(&held.run, effect);
            match self.note_used(&mut held, &effect.node, &verdict, &engine).await {
                Ok(()) => {}
                Err(Refused::Conflict) => {
                    released = held.release();
                    continue;
                }
                Err(Refused::Failed(error)) => return Err(error),
            }
            let event = effect.clone().settled(verdict.clone(), 0);
            match self.decided(&mut held, event, &engine).await {
                Ok(changes) => {
                    self.pass(&mut held).await?;
                    // Somebody may have got past the rule: then it is another verdict that counts.
                    let counts = changes.into_iter().find_map(|change| match change {
                        Change::Settled { check, verdict, .. } => Some((check, verdict)),
                        _ => None,
                    });
                    let settled = so_far.map(|so_far| so_far.into_iter().chain(counts).collect());
                    return Ok((held, settled));
                }
                Err(Refused::Conflict) => released = held.release(),
                Err(Refused::Failed(error)) => return Err(error),
            }
        }
        Err(too_busy())
    }
}

/// The node that is passed next.
pub(super) fn passing(held: &Held) -> Option<EffectId> {
    let effect = held.run.passing()?;
    let flow = &held.run.frame(&effect.frame)?.flow;
    (!held.definition.workflow.flow(flow).records).then_some(effect)
}

/// How many checks the step has that a position is at.
fn checks_of(held: &Held, path: &FramePath) -> usize {
    let step =
        |frame: &run::Frame| held.definition.workflow.flow(&frame.flow).step(frame.place.node()).node.accept.len();
    held.run.frame(path).map_or(0, step)
}

/// The verdicts of a claim's checks, in the order in which they came.
type Settled = Option<Vec<(CheckId, Verdict)>>;

/// The verdicts that a claim has, while it waits for that of `effect`.
fn so_far(run: &Run, effect: &EffectId) -> Settled {
    let frame = run.frame(&effect.frame).filter(|frame| frame.since == effect.since)?;
    let Place::Checking { settled, .. } = &frame.place else { return None };
    let open = settled.iter().all(|(check, _)| effect.check() != Some(check));
    open.then(|| settled.clone())
}

fn pending(held: &Held, path: &FramePath) -> Vec<(EffectId, CheckRequest)> {
    let effects = held.run.pending(&held.definition.workflow);
    let checks = effects.into_iter().filter_map(|effect| match effect.what {
        EffectKind::Check(request) if effect.id.frame == *path => Some((effect.id, request)),
        _ => None,
    });
    checks.collect()
}
