//! Drives agents' runs: the checks of their claims, and the functions that they reach. The carrier of such a run and
//! the steps around a commit are the same as when the agent moves it.

use std::sync::{Arc, PoisonError};

use portolan_core::engine::{Effect, EffectKind};
use portolan_core::graph::{Kind, Workflow};
use portolan_core::run::{Actor, Change, EffectId, EffectResult, Event, EventKind, Place, Run, Verdict};
use portolan_core::value::CheckId;
use tracing::Instrument as _;

use super::hold::{Carrier, HeldRun};
use super::{Caller, How, Service};
use crate::carrier::Address;
use crate::definition::Definition;
use crate::drive::{Drive, EffectFuture, EffectRequest, Keep, KeepFuture, Perform, Performers};
use crate::error::ServiceError;
use crate::gates::CheckWorkspace;
use crate::library::servers_of;
use crate::logging;
use crate::servers::{PoolOptions, Servers};
use crate::store::RunId;
use crate::tools::Tools;

/// A claim while its checks are performed.
pub(super) struct PendingClaim {
    /// The workspace of the checks.
    pub(super) ground: Arc<CheckWorkspace>,
    /// The verdicts that count, in the order of their arrival.
    pub(super) settled: Vec<(CheckId, Verdict)>,
}

impl Service {
    /// Executes what needs no agent: the run has reached a function, or the end of one. Returns a note for the agent,
    /// if any.
    pub(super) async fn go_on(&self, held: &mut HeldRun) -> Result<Option<String>, ServiceError> {
        if !held.run.pending(&held.definition.workflow).iter().any(is_automatic) {
            return Ok(None);
        }
        if let Some(lift) = self.untrusted(&held.definition) {
            let run = match &held.carrier {
                Carrier::Stored(id) => format!("`portolan runs resume {id}`"),
                Carrier::Task { .. } => "call Start again".to_owned(),
                Carrier::Token { .. } => "call get_position again".to_owned(),
            };
            return Ok(Some(format!(
                "the run waits because it uses servers that are not trusted yet: {}, then {run}",
                self.lifted_here(&lift)
            )));
        }
        let id = match &held.carrier {
            Carrier::Stored(id) => Some(id.clone()),
            // Its file is locked, or only the caller has the token.
            Carrier::Task { .. } | Carrier::Token { .. } => None,
        };
        let lease = match &id {
            Some(id) => match self.lease(id).await {
                Ok(lease) => Some(lease),
                Err(error) if error.code == "under_way" => {
                    return Ok(Some(format!("{}; {}", error.message, error.help)));
                }
                Err(error) => return Err(error),
            },
            None => None,
        };
        if let Some(id) = lease.as_ref().and(id.as_ref()) {
            // The previous driver may have moved the run.
            *held = self.hold(&Address::Stored(id.clone())).await?;
        }
        let performers = Performers { tools: self.tools_of(&held.definition), ..Performers::default() };
        let driven = self.drive_led(held, Arc::new(Automatic(performers)), None);
        match lease {
            Some(lease) => lease.during(driven).await?,
            None => driven.await?,
        }
        Ok(None)
    }

    /// Drives an agent's run as long as `performers` take its pending effects.
    pub(super) async fn drive_led(
        &self,
        held: &mut HeldRun,
        performers: Arc<dyn Perform>,
        claimed: Option<&mut PendingClaim>,
    ) -> Result<(), ServiceError> {
        let (workflow, run) = (held.definition.workflow.clone(), held.run.clone());
        let id = match &held.carrier {
            Carrier::Stored(id) => Some(id.clone()),
            Carrier::Task { .. } | Carrier::Token { .. } => None,
        };
        let definition = workflow.id();
        let part_of = self.trace_name(held);
        let (setup, tracing) = self.setup(&workflow, performers, How::default(), id.as_ref(), part_of.as_deref());
        let mut drive =
            Drive::new(workflow.clone(), run, setup, Some(Box::new(AgentRun { service: self, held, claimed })));
        let span = logging::of_run(id.as_ref().map(RunId::as_str), definition);
        let outcome = drive.until_over().instrument(span).await;
        if let Some(tracing) = tracing {
            tracing.finish(&outcome, drive.run().executed);
        }
        outcome.map(|_| ())
    }

    /// Returns the handlers of a definition's tool calls: the servers that it brings along, each started once for all
    /// runs.
    pub fn tools_of(&self, definition: &Arc<Definition>) -> Arc<Tools> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = pools.entry(definition.digest.clone()).or_insert_with(|| {
            let servers = servers_of(definition, self.project(), self.project());
            Arc::new(Tools::of(Arc::new(Servers::new(servers, PoolOptions::default()))))
        });
        pool.clone()
    }
}

/// Checks whether an effect needs no agent.
fn is_automatic(effect: &Effect) -> bool {
    matches!(effect.what, EffectKind::Advance | EffectKind::Call(_))
}

/// Performs what needs no agent. It has no models: `portolan runs resume` has.
struct Automatic(Performers);

impl Perform for Automatic {
    fn takes(&self, effect: &Effect, _workflow: &Workflow) -> bool {
        is_automatic(effect)
    }

    fn perform(&self, wanted: EffectRequest) -> EffectFuture {
        self.0.perform(wanted)
    }
}

/// Performs everything that needs no agent. The checks of a report belong to whoever reported.
pub(super) struct LedPerformers(pub(super) Arc<dyn Perform>);

impl Perform for LedPerformers {
    fn takes(&self, effect: &Effect, workflow: &Workflow) -> bool {
        let is_of_state = || matches!(workflow.flow(&effect.flow).step(effect.node()).node.kind, Kind::State(_));
        (!matches!(effect.what, EffectKind::Check(_)) || is_of_state()) && self.0.takes(effect, workflow)
    }

    fn perform(&self, wanted: EffectRequest) -> EffectFuture {
        self.0.perform(wanted)
    }
}

/// An agent's run, with any carrier.
struct AgentRun<'s> {
    service: &'s Service,
    held: &'s mut HeldRun,
    claimed: Option<&'s mut PendingClaim>,
}

impl Keep for AgentRun<'_> {
    fn record<'k>(&'k mut self, event: &'k Event, changes: &'k [Change], _after: &'k Run) -> KeepFuture<'k> {
        Box::pin(async move {
            let so_far = so_far(&self.held.run, &event.what);
            self.service.commit(self.held, event.clone(), changes.to_vec()).await?;
            let Some(claimed) = &mut self.claimed else { return Ok(()) };
            // A person may have bypassed the rule: then another verdict counts.
            let counts = changes.iter().find_map(|change| match change {
                Change::Settled { check, verdict, .. } => Some((check.clone(), verdict.clone())),
                _ => None,
            });
            if let Some(so_far) = so_far {
                claimed.settled = so_far.into_iter().chain(counts).collect();
            }
            Ok(self.service.hooks().log_violations(self.held, &claimed.ground.violations())?)
        })
    }

    fn take_up<'k>(&'k mut self, next: &'k EventKind) -> KeepFuture<'k, Run> {
        Box::pin(async move {
            self.service.take_up(self.held).await?;
            if let EventKind::Settled { effect, result: EffectResult::Verdict(verdict), .. } = next {
                let engine = Caller { by: Actor::Engine, can_ask: false };
                self.service.hooks().before_verdict(self.held, &effect.node, verdict, &engine).await?;
            }
            Ok(self.held.run.clone())
        })
    }

    fn release(&mut self) -> bool {
        self.held.release();
        true
    }
}

/// Returns the verdicts of a claim that waits for the one that is about to count.
fn so_far(run: &Run, next: &EventKind) -> Option<Vec<(CheckId, Verdict)>> {
    let EventKind::Settled { effect, .. } = next else { return None };
    let EffectId { frame, since, .. } = effect;
    let frame = run.frame(frame).filter(|frame| frame.since == *since)?;
    let Place::Checking { settled, .. } = &frame.place else { return None };
    let open = settled.iter().all(|(check, _)| effect.check() != Some(check));
    open.then(|| settled.clone())
}
