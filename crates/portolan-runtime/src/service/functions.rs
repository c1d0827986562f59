//! Calls functions: opens them with their input, drives them to their end, and stores the run on request.

use std::sync::Arc;
use std::time::Duration;

use ::tracing::Instrument as _;
use portolan_core::engine::Effect;
use portolan_core::graph::Workflow;
use portolan_core::present::TrustRequirement;
use portolan_core::run::{Actor, Event, EventKind, Opening, Run};
use portolan_core::value::Timestamp;
use serde_json::Value;

use super::hold::HeldRun;
use super::interruption::{self, InterruptionPolicy, ResumeRequest};
use super::{Live, Service};
use crate::attachments::FILE;
use crate::carrier::Address;
use crate::clock::Clock;
use crate::definition::Definition;
use crate::drive::{
    Control, Drive, DriveSetup, EffectFuture, EffectRequest, ExecutionObserver, Keep, Outcome, Perform, Performers,
    StoreRun,
};
use crate::error::ServiceError;
use crate::logging;
use crate::states::Workers;
use crate::store::{Record, RunId};
use crate::telemetry::Tracing;
use crate::tools::Tools;
use crate::trace::TraceContext;

/// The run of a function to drive.
pub enum FunctionRun {
    /// A new run that is not stored.
    Called {
        /// The function.
        definition: Arc<Definition>,
        /// Its input: an object.
        input: Value,
        /// The caller.
        by: Actor,
    },
    /// A run in the store. It continues from where its opening, a crash or a wait left it. Settled effects are not
    /// repeated.
    Kept {
        /// The run.
        run: RunId,
        /// How to settle a call that a crash interrupted.
        interrupted: InterruptionPolicy,
        /// How a waiting state continues, if it is to continue.
        resumed: Option<ResumeRequest>,
    },
}

impl FunctionRun {
    /// Returns a run in the store. If a call was interrupted, a person is asked.
    pub fn kept(run: RunId) -> FunctionRun {
        FunctionRun::Kept { run, interrupted: InterruptionPolicy::Ask, resumed: None }
    }
}

/// The configuration for driving a function.
#[derive(Clone)]
pub struct How {
    /// The handlers of its tool calls.
    pub tools: Arc<Tools>,
    /// The workers of its states.
    pub workers: Workers,
    /// The observer of each node.
    pub watch: Option<ExecutionObserver>,
    /// The control that can stop, pause and step the run.
    pub control: Option<Control>,
    /// The trace to which the run belongs.
    pub trace: TraceContext,
    /// The longest wait for an effect. One that is due later is left, and the run waits. `None` waits for each.
    pub longest_wait: Option<Duration>,
}

impl Default for How {
    /// Returns a configuration without servers, models and functions.
    fn default() -> How {
        How::with(Arc::default())
    }
}

impl How {
    /// Returns a configuration without an observer and a control.
    pub fn with(tools: Arc<Tools>) -> How {
        How {
            tools,
            workers: Workers::default(),
            watch: None,
            control: None,
            trace: TraceContext::fresh(),
            longest_wait: None,
        }
    }
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct FunctionResult {
    /// The handle of the run, if it is stored.
    pub run: Option<RunId>,
    /// The outcome.
    pub outcome: Outcome,
    /// The number of nodes executed.
    pub executed: u64,
}

impl Service {
    /// Checks whether the servers that a file of functions brings along may be started: they come with the repository.
    ///
    /// # Errors
    /// They are not trusted yet.
    pub fn may_start_servers(&self, definition: &Definition) -> Result<(), ServiceError> {
        let Some(untrusted) = self.untrusted(definition) else { return Ok(()) };
        let (message, file) = match &untrusted {
            TrustRequirement::Unverified { reason } => {
                let message = "it cannot be verified that the servers are trusted";
                return Err(ServiceError::refused("not_trusted", message, reason));
            }
            TrustRequirement::Trust { file } | TrustRequirement::PutBack { file, .. } if file == FILE => {
                (format!("`{FILE}` attaches commands to `{}` that are not trusted yet", definition.workflow.id()), FILE)
            }
            _ => {
                let file = definition.file.as_deref().unwrap_or(definition.workflow.id().as_str());
                (format!("`{file}` starts or contacts servers that are not trusted yet"), file)
            }
        };
        let lifted = self.lifted_here(&TrustRequirement::Trust { file: file.to_owned() });
        let help = format!("read it, then {lifted}; the person at this machine decides this");
        Err(ServiceError::refused("not_trusted", message, help))
    }

    /// Drives the run of a function until it is over or waits.
    ///
    /// # Errors
    /// The function does not accept the input. A stored run is unknown, over, or driven by another caller. A call was
    /// interrupted and it is not decided how to settle it. No state waits to be resumed. The run cannot be stored. A
    /// function that fails is not an error here.
    pub async fn drive(&self, run: FunctionRun, how: How) -> Result<FunctionResult, ServiceError> {
        match run {
            FunctionRun::Called { definition, input, by } => {
                let opening = Opening { input: Some(Arc::new(input)), ..Opening::of(definition.workflow.id().clone()) };
                let (run, _) = self.called(&definition, by, opening)?;
                logging::opened(None, definition.workflow.id());
                self.drive_function(&definition, run, None, Vec::new(), how).await
            }
            FunctionRun::Kept { run, interrupted, resumed } => self.drive_kept(&run, interrupted, resumed, how).await,
        }
    }

    /// Returns a new run of a function, and its first record.
    pub(super) fn called(
        &self,
        definition: &Definition,
        by: Actor,
        opening: Opening,
    ) -> Result<(Run, Record), ServiceError> {
        let now = self.options.clock.now();
        let opening = Opening { since: Some(now), ..opening };
        let (run, changes) = self.pace.take(false, || Run::open(&definition.workflow, &opening))?;
        let event = Event { at: now, by, what: EventKind::Opened(opening) };
        Ok((run, Record { seq: 1, event, changes }))
    }

    pub(super) fn seed(&self) -> u64 {
        self.options.seed.unwrap_or_else(|| getrandom::u64().unwrap_or_default())
    }

    async fn drive_kept(
        &self,
        id: &RunId,
        interrupted: InterruptionPolicy,
        resumed: Option<ResumeRequest>,
        how: How,
    ) -> Result<FunctionResult, ServiceError> {
        let address = Address::Stored(id.clone());
        // Only the holder of the lease knows the run's position.
        let lease = self.lease(id).await?;
        let held = self.hold(&address).await?;
        lease.during(self.drive_held(id, held, interrupted, resumed, how)).await
    }

    /// Drives a stored run from its position, whose lease the caller has.
    pub(super) async fn drive_held(
        &self,
        id: &RunId,
        held: HeldRun,
        interrupted: InterruptionPolicy,
        resumed: Option<ResumeRequest>,
        how: How,
    ) -> Result<FunctionResult, ServiceError> {
        let HeldRun { definition, run, seq, .. } = held;
        if run.is_over() {
            return Err(ServiceError::refused(
                "no_outgoing_edges",
                format!("the run `{id}` has ended"),
                "`portolan runs show` shows how it ended",
            ));
        }
        let mut events: Vec<(Actor, EventKind)> = Vec::new();
        events.extend(
            interruption::settlement_events(&definition, &run, interrupted)?
                .into_iter()
                .map(|what| (Actor::Engine, what)),
        );
        if let Some(resumed) = resumed {
            events.push((resumed.by.clone(), interruption::resumed(&run, resumed, self.seed())?));
        }
        self.drive_function(&definition, run, Some((id.clone(), seq)), events, how).await
    }

    /// Drives a run from its position, after it has taken in `events`.
    async fn drive_function(
        &self,
        definition: &Arc<Definition>,
        run: Run,
        kept: Option<(RunId, u64)>,
        events: Vec<(Actor, EventKind)>,
        how: How,
    ) -> Result<FunctionResult, ServiceError> {
        let performers = self.performers(&how);
        let run_id = kept.as_ref().map(|(id, _)| id);
        // A run that agents are led through has a span of its own.
        let part_of = run_id.filter(|_| definition.workflow.root().interface.is_none()).map(RunId::as_str);
        let (setup, tracing) = self.setup(&definition.workflow, performers, how, run_id, part_of);
        let control = setup.control.clone();
        let entered = control.clone().map(|control| {
            let run = kept.as_ref().map_or_else(RunId::random, |(id, _)| id.clone());
            self.enter(Live { run, workflow: definition.workflow.id().clone(), control })
        });
        let stored = |(id, seq): &(RunId, u64)| Box::new(StoreRun::new(self.store(), id.clone(), *seq));
        let keep = kept.as_ref().map(|kept| stored(kept) as Box<dyn Keep>);
        let (was_new, was_over) = (run.executed == 0, run.is_over());
        let mut drive = Drive::new(definition.workflow.clone(), run, setup, keep);
        let span = logging::of_run(kept.as_ref().map(|(id, _)| id.as_str()), definition.workflow.id());
        let driven = async {
            for (by, what) in events {
                drive.happened(by, what).await?;
            }
            drive.until_over().await
        };
        let outcome = driven.instrument(span).await;
        if let Some(tracing) = tracing {
            tracing.finish(&outcome, drive.run().executed);
        }
        if let Some((id, _)) = &kept {
            self.trace_driven(id, &definition.workflow, drive.run()).await;
        }
        if !was_over {
            self.report_driven(kept.as_ref().map(|(id, _)| id), &definition.workflow, was_new, &drive).await;
        }
        if let Some(control) = control {
            control.finish();
        }
        drop(entered);
        Ok(FunctionResult { run: kept.map(|(id, _)| id), outcome: outcome?, executed: drive.run().executed })
    }

    /// Returns the performers of effects.
    pub(super) fn performers(&self, how: &How) -> Arc<dyn Perform> {
        let performers = Performers { tools: how.tools.clone(), workers: how.workers.clone() };
        match how.longest_wait {
            None => Arc::new(performers),
            Some(longest) => Arc::new(Soon { performers, clock: self.options.clock.clone(), longest }),
        }
    }

    /// Returns the setup of a drive, and its tracing if traces are collected.
    pub(super) fn setup(
        &self,
        workflow: &Arc<Workflow>,
        performers: Arc<dyn Perform>,
        how: How,
        run: Option<&RunId>,
        part_of: Option<&str>,
    ) -> (DriveSetup, Option<Tracing>) {
        let How { watch, control, mut trace, .. } = how;
        if let Some(name) = part_of {
            trace = TraceContext::of_run(name);
        }
        let telemetry = self.options.telemetry.as_ref();
        let tracing = telemetry.and_then(|telemetry| telemetry.begin(workflow, &mut trace, run.cloned()));
        let tracing = tracing.map(|tracing| if part_of.is_some() { tracing.part_of_run() } else { tracing });
        let watch = match (watch, tracing.as_ref().map(Tracing::watch)) {
            (Some(watch), Some(other)) => Some(watch.and(other)),
            (watch, other) => watch.or(other),
        };
        let (clock, seed, pace) = (self.options.clock.clone(), self.seed(), self.pace.clone());
        (DriveSetup { performers, clock, seed, watch, control, trace, pace }, tracing)
    }
}

/// Performs the effects that are due soon.
struct Soon {
    performers: Performers,
    clock: Clock,
    longest: Duration,
}

impl Perform for Soon {
    fn takes(&self, effect: &Effect, workflow: &Workflow) -> bool {
        let longest = i64::try_from(self.longest.as_millis()).unwrap_or(i64::MAX);
        let is_soon = |due: Timestamp| due.0 <= self.clock.now().0.saturating_add(longest);
        effect.not_before.is_none_or(is_soon) && self.performers.takes(effect, workflow)
    }

    fn perform(&self, wanted: EffectRequest) -> EffectFuture {
        self.performers.perform(wanted)
    }
}
