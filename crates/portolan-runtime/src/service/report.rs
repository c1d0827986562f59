//! Reports an outcome or answers a question: by whom, whether it is allowed now, and the checks that follow.

use std::sync::Arc;

use portolan_core::engine::{self, Effect, EffectKind};
use portolan_core::graph::{CheckBy, Node, Workflow};
use portolan_core::run::{Actor, Channel, EffectId, EffectResult, Event, EventKind, FramePath, Human, Place, Run};
use portolan_core::value::Outcome;

use super::hold::HeldRun;
use super::led_drive::PendingClaim;
use super::request::Report;
use super::{Caller, Service};
use crate::conflict::{CommitError, Retries};
use crate::definition::Definition;
use crate::drive::{EffectFuture, EffectRequest, Perform, Performers};
use crate::error::ServiceError;
use crate::gates::review::ReviewBrief;
use crate::gates::{CheckWorkspace, FileBaseline};
use crate::repository::Repository;
use crate::runner::Listener;
use crate::states::Workers;
use crate::view::Claim;

/// The maximum length of a note in bytes.
const MAX_NOTE_BYTES: usize = 8 << 10;

/// The result of a report.
#[derive(Default)]
pub(super) struct ReportResult {
    /// The result of the claim, if it was checked.
    pub(super) claim: Option<Claim>,
    /// Notes for the caller.
    pub(super) notes: Vec<String>,
}

/// Refuses a note that is too long to be stored.
pub(super) fn bounded(note: Option<&str>) -> Result<(), ServiceError> {
    if note.is_some_and(|note| note.len() > MAX_NOTE_BYTES) {
        let message = format!("the note has more than {MAX_NOTE_BYTES} bytes");
        return Err(ServiceError::refused("too_large", message, "shorten it, or name a file"));
    }
    Ok(())
}

impl Service {
    /// Refuses a report that needs checks by commands that may not run.
    pub(super) fn may_be_checked(&self, held: &HeldRun, path: &FramePath, report: &Report) -> Result<(), ServiceError> {
        let Some(frame) = held.run.frame(path) else { return Ok(()) };
        let node = &held.definition.workflow.flow(&frame.flow).step(frame.place.node()).node;
        let at_work = matches!(frame.place, Place::Ready { .. } | Place::Checking { .. });
        let claims = at_work && node.is_checked_on(&report.outcome);
        if !claims {
            return Ok(());
        }
        match self.lacks_trust(&held.definition, frame) {
            Some(lift) => Err(ServiceError::refused(
                "not_trusted",
                format!("leaving `{}` requires commands that are not trusted yet", frame.place.node()),
                format!("{}; the person at this machine decides this", self.lifted_here(&lift)),
            )),
            None => Ok(()),
        }
    }

    /// Returns the event of a report at the present position, and its actor.
    pub(super) fn claim(
        &self,
        held: &HeldRun,
        path: &FramePath,
        (report, revision): (&Report, Option<u64>),
        caller: &Caller,
    ) -> Result<(EventKind, Caller), ServiceError> {
        let place = held.run.frame(path).map(|frame| &frame.place);
        let reported = |outputs| EventKind::Reported {
            frame: path.clone(),
            outcome: report.outcome.clone(),
            revision,
            note: report.note.clone(),
            outputs,
        };
        if let Some(Place::Gathering { .. }) = place {
            if revision.is_some_and(|known| known != held.run.root.since) {
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

    /// Decides one event, stores its changes, and passes the nodes after it that need no agent.
    pub(super) async fn step(&self, held: &mut HeldRun, what: EventKind, caller: &Caller) -> Result<(), CommitError> {
        self.decide(held, what, caller).await?;
        Ok(self.pass(held).await?)
    }

    /// Passes nodes that need no agent and have no value. Nodes that compute are driven: see [`Service::go_on`].
    pub(super) async fn pass(&self, held: &mut HeldRun) -> Result<(), ServiceError> {
        let engine = Caller { by: Actor::Engine, can_ask: false };
        let mut retries = Retries::NONE_SPENT;
        while let Some(effect) = passing(&held.definition, &held.run) {
            let passed = self.decide(held, effect.settled(EffectResult::Due, self.seed()), &engine).await;
            if matches!(passed, Err(CommitError::Conflict)) {
                // Another caller may have passed it; otherwise it is passed in the next round.
                self.take_up(held).await?;
            }
            retries.settled(passed).unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    async fn decide(&self, held: &mut HeldRun, what: EventKind, caller: &Caller) -> Result<(), CommitError> {
        self.hooks().may_move(held, &what).await?;
        let event = Event { at: self.options.clock.now(), by: caller.by.clone(), what };
        let changes = engine::decide(&held.definition.workflow, &held.run, &event).map_err(ServiceError::from)?;
        if !changes.is_empty() {
            self.commit(held, event, changes).await?;
        }
        Ok(())
    }

    /// Performs the checks of a claim, and whatever follows without an agent.
    pub(super) async fn settle(
        &self,
        held: &mut HeldRun,
        path: &FramePath,
        outcome: &Outcome,
        listener: &Listener,
    ) -> Result<ReportResult, ServiceError> {
        let Some(effect) = held.run.pending(&held.definition.workflow).into_iter().find(|it| is_check_at(it, path))
        else {
            let notes = self.go_on(held).await?.into_iter().collect();
            return Ok(ReportResult { claim: None, notes });
        };
        let EffectId { node, since, .. } = effect.id;
        let checks = held.definition.workflow.flow(&effect.flow).step(&node).node.accept.len();
        let noting = self.note_checking(held, path);
        let hidden = self.hidden_of(held);
        let listener = noting.listener().and(listener.clone()).masked(move |text| hidden.text(text));
        let ground = self.ground(held, path).await.with_listener(listener);
        let ground = Arc::new(ground);
        let performer = ClaimChecks { ground: ground.clone(), path: path.clone(), since };
        let mut claimed = PendingClaim { ground, settled: Vec::new() };
        self.drive_led(held, Arc::new(performer), Some(&mut claimed)).await?;
        drop(noting);
        let PendingClaim { ground, settled } = claimed;
        self.hooks().log_violations(held, &ground.violations())?;
        self.pass(held).await?;
        let mut notes: Vec<String> = self.go_on(held).await?.into_iter().collect();
        let claim = (settled.len() == checks).then(|| Claim::of(&node, outcome, &settled));
        if claim.is_none() {
            notes.push(format!("`{node}` was left by another call while its checks were performed"));
        }
        Ok(ReportResult { claim, notes })
    }

    /// Returns the workspace for the checks of a position.
    async fn ground(&self, held: &HeldRun, path: &FramePath) -> CheckWorkspace {
        let repository = match &self.options.environment {
            Some(environment) => Repository::within(self.project(), environment.iter().cloned()),
            None => Repository::of(self.project()),
        };
        // A person's permissions are read from this service's data folder, and nowhere else.
        let repository = match &self.options.trust {
            Some(data) => repository.trusting(data.clone()),
            None => repository,
        };
        let node =
            held.run.frame(path).map(|frame| &held.definition.workflow.flow(&frame.flow).step(frame.place.node()).node);
        let checks = || node.into_iter().flat_map(|node| &node.accept);
        let gates = checks().filter_map(|check| match &check.by {
            CheckBy::Gate { name } => Some(name.clone()),
            CheckBy::Run { .. } | CheckBy::Project { .. } | CheckBy::File { .. } | CheckBy::Evidence(_) => None,
        });
        let gates: Vec<String> = gates.collect();
        let others = self.hooks().other_tasks(held, &gates).await;
        let looks_back = checks().any(|check| check.by.evidence().is_some_and(|wanted| wanted.fact.needs_before()));
        let before = if looks_back { self.stood_before(held, path) } else { FileBaseline::default() };
        let wanted = ReviewBrief {
            text: node.map_or_else(String::new, |node| wanted(held, node)),
            hidden: self.hidden_of(held),
        };
        CheckWorkspace::of(repository, gates).beside(others).since(before).wanting(wanted)
    }
}

/// Returns the task, as the user and the workflow describe it.
fn wanted(held: &HeldRun, node: &Node) -> String {
    let task = held.run.opening.description.as_deref().map(|task| format!("The task: {task}"));
    let more = [&node.brief.description, &node.brief.instructions].into_iter().flatten().cloned();
    let step = std::iter::once(format!("The step: {}", node.name)).chain(more);
    task.into_iter().chain(step).collect::<Vec<_>>().join("\n\n")
}

/// Returns the node that is passed next.
pub(super) fn passing(definition: &Definition, run: &Run) -> Option<EffectId> {
    let effect = run.passing()?;
    let flow = &run.frame(&effect.frame)?.flow;
    (!definition.workflow.flow(flow).records).then_some(effect)
}

/// Checks whether an effect is a check of the claim at a position.
fn is_check_at(effect: &Effect, path: &FramePath) -> bool {
    matches!(effect.what, EffectKind::Check(_)) && effect.id.frame == *path
}

/// Performs the checks of one claim only. A claim at another position performs its own checks.
struct ClaimChecks {
    ground: Arc<CheckWorkspace>,
    path: FramePath,
    /// The revision at which the position was reached.
    since: u64,
}

impl Perform for ClaimChecks {
    fn takes(&self, effect: &Effect, _workflow: &Workflow) -> bool {
        is_check_at(effect, &self.path) && effect.id.since == self.since
    }

    fn perform(&self, wanted: EffectRequest) -> EffectFuture {
        let workers = Workers { ground: Some(self.ground.clone()), ..Workers::default() };
        Performers { workers, ..Performers::default() }.perform(wanted)
    }
}
