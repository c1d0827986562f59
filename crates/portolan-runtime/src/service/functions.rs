//! Functions are called: opened with their input, driven to their end, and, where that is asked for, kept on the way.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use portolan_core::engine::{self, Effect, EffectKind};
use portolan_core::graph::Workflow;
use portolan_core::run::{Actor, Change, Event, EventKind, Opening, Remembered, Run};
use serde_json::Value;

use super::hold::{Carrier, Held, Refused};
use super::interrupted::{self, Interrupted, Resumed};
use super::{Live, Service, lifted_by};
use crate::carrier::Address;
use crate::definition::Definition;
use crate::drive::{Control, Drive, Keep, Keeping, Outcome, Setup, Stored, Watch};
use crate::error::ServiceError;
use crate::graphs::{self, Loaded};
use crate::servers::{PoolOptions, Servers};
use crate::states::Workers;
use crate::store::{Record, RunId, store_error};
use crate::telemetry::Tracing;
use crate::tools::Tools;
use crate::trace::TraceContext;

/// A call of a function.
pub struct FunctionCall {
    /// The function.
    pub definition: Arc<Definition>,
    /// What it is given: an object.
    pub input: Value,
    /// Who calls it.
    pub by: Actor,
    /// How it is driven.
    pub how: How,
    /// Whether its run is kept in the store, so that it outlives the process.
    pub kept: bool,
}

/// How a function is driven.
#[derive(Clone)]
pub struct How {
    /// Who answers its tool calls.
    pub tools: Arc<Tools>,
    /// Who works on its states.
    pub workers: Workers,
    /// Who is told of each node.
    pub watch: Option<Watch>,
    /// Who may stop it, pause it and step through it.
    pub control: Option<Control>,
    /// The trace that it belongs to.
    pub trace: TraceContext,
}

impl Default for How {
    /// Without servers, models and functions.
    fn default() -> How {
        How::with(Arc::default())
    }
}

impl How {
    /// It is driven without anybody looking on.
    pub fn with(tools: Arc<Tools>) -> How {
        How { tools, workers: Workers::default(), watch: None, control: None, trace: TraceContext::fresh() }
    }
}

/// What a call came to.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The handle of its run, where that is kept.
    pub run: Option<RunId>,
    /// What it came to.
    pub outcome: Outcome,
    /// How many nodes were executed.
    pub executed: u64,
}

impl Service {
    /// Whether the servers that a file of functions brings along may be started: they come with the repository.
    ///
    /// # Errors
    /// Nobody has trusted them yet.
    pub fn may_start_servers(&self, loaded: &Loaded, definition: &Definition) -> Result<(), ServiceError> {
        let Some(commands) = &definition.commands else { return Ok(()) };
        if self.trust().is_trusted(commands).unwrap_or(false) {
            return Ok(());
        }
        let file = loaded.file_of(definition).unwrap_or_else(|| definition.workflow.id().to_string());
        Err(ServiceError::refused(
            "not_trusted",
            format!("`{file}` starts or contacts servers that nobody has trusted yet"),
            format!(
                "read it, then run `portolan trust {}`; the person at this machine decides that",
                super::view::shell_word(&file)
            ),
        ))
    }

    /// Calls a function and drives it until it is over, or waits for somebody.
    ///
    /// # Errors
    /// The input is not what it takes, or its run cannot be kept. That the function failed is no error here.
    pub async fn call_function(&self, call: FunctionCall) -> Result<Finished, ServiceError> {
        let FunctionCall { definition, input, by, how, kept } = call;
        let (run, record) =
            self.open_function(&definition, input, by, Opening::of(definition.workflow.id().clone()))?;
        let id = if kept { Some(self.create(&definition, &run, record).await?) } else { None };
        let _lease = id.as_ref().map(|id| self.leases.take(id)).transpose()?;
        self.drive(&definition, run, id.map(|id| (id, 1)), how).await
    }

    /// Keeps the run of a function, of which nothing is done yet: [`Service::resume_function`] drives it. It begins with
    /// what it is given, and perhaps with what another run remembered. `folder` is where the paths of its servers start
    /// from.
    ///
    /// # Errors
    /// The input is not what it takes, or its run cannot be kept.
    pub async fn keep_function(
        &self,
        definition: &Arc<Definition>,
        (input, remembered): (Value, Option<Remembered>),
        by: Actor,
        folder: &Path,
    ) -> Result<RunId, ServiceError> {
        let folder = (folder != self.project()).then(|| folder.to_string_lossy().into_owned());
        let at = remembered.as_ref().and_then(|remembered| remembered.state.clone());
        let opening = Opening {
            folder,
            at,
            remembered: remembered.map(Arc::new),
            ..Opening::of(definition.workflow.id().clone())
        };
        let (run, record) = self.open_function(definition, input, by, opening)?;
        self.create(definition, &run, record).await
    }

    fn open_function(
        &self,
        definition: &Definition,
        input: Value,
        by: Actor,
        opening: Opening,
    ) -> Result<(Run, Record), ServiceError> {
        let now = self.options.clock.now();
        let opening = Opening { input: Some(Arc::new(input)), since: Some(now), ..opening };
        let changes = self.pace.take(false, || engine::open(&definition.workflow, &opening))?;
        let run = Run::fold(&changes).expect("what `open` decides begins a journal");
        let event = Event { at: now, by, what: EventKind::Opened(opening) };
        Ok((run, Record { seq: 1, event, changes }))
    }

    pub(super) fn seed(&self) -> u64 {
        self.options.seed.unwrap_or_else(|| getrandom::u64().unwrap_or_default())
    }

    /// Drives a run that is kept on from where a crash, or somebody's wait, left it. What was settled is not done again.
    ///
    /// # Errors
    /// The run is not known, is over, or is driven by somebody else; or a call was interrupted and nobody said what
    /// becomes of it.
    pub async fn resume_function(
        &self,
        id: &RunId,
        interrupted: Interrupted,
        how: How,
    ) -> Result<Finished, ServiceError> {
        self.resume_with(id, interrupted, None, how).await
    }

    /// The same, where somebody says how the state that waits is to go on.
    ///
    /// # Errors
    /// As for [`Service::resume_function`]; or no state waits for that.
    pub async fn resume_with(
        &self,
        id: &RunId,
        interrupted: Interrupted,
        resumed: Option<Resumed>,
        how: How,
    ) -> Result<Finished, ServiceError> {
        let address = Address::Stored(id.clone());
        // Nothing is left behind for a run that is not known; and only who drives a run knows where it is.
        self.peek(&address).await?;
        let _lease = self.leases.take(id)?;
        let held = self.hold(&address).await?;
        let Held { definition, run, mut seq, carrier: Carrier::Stored(_) } = held else {
            unreachable!("the address is one of the store")
        };
        if run.is_over() {
            return Err(ServiceError::refused(
                "no_outgoing_edges",
                format!("the run `{id}` is over"),
                "`portolan runs show` tells how it ended",
            ));
        }
        let mut run = run;
        let told = interrupted::told(&definition, &run, interrupted)?.into_iter().map(|what| (Actor::Engine, what));
        let resumed = match resumed {
            Some(resumed) => Some((resumed.by.clone(), interrupted::resumed(&run, resumed, self.seed())?)),
            None => None,
        };
        for (by, what) in told.chain(resumed) {
            let event = Event { at: self.options.clock.now(), by, what };
            let changes = engine::decide(&definition.workflow, &run, &event)?;
            for change in &changes {
                run.apply(change);
            }
            let record = Record { seq: seq + 1, event, changes };
            self.store().append(id, seq, &record, &run).await.map_err(store_error)?;
            seq += 1;
        }
        self.drive(&definition, run, Some((id.clone(), seq)), how).await
    }

    async fn drive(
        &self,
        definition: &Arc<Definition>,
        run: Run,
        kept: Option<(RunId, u64)>,
        how: How,
    ) -> Result<Finished, ServiceError> {
        let (setup, tracing) = self.setup(&definition.workflow, how, kept.as_ref().map(|(id, _)| id));
        let control = setup.control.clone();
        let entered = control.clone().map(|control| {
            let run = kept.as_ref().map_or_else(RunId::random, |(id, _)| id.clone());
            self.enter(Live { run, workflow: definition.workflow.id().clone(), control })
        });
        let stored = |(id, seq): &(RunId, u64)| Box::new(Stored { store: self.store(), id: id.clone(), seq: *seq });
        let keep = kept.as_ref().map(|kept| stored(kept) as Box<dyn Keep>);
        let mut drive = Drive::new(definition.workflow.clone(), run, setup, keep);
        let outcome = drive.until_over().await;
        if let Some(tracing) = tracing {
            tracing.finish(&outcome, drive.run().executed);
        }
        if let Some(control) = control {
            control.finish();
        }
        drop(entered);
        Ok(Finished { run: kept.map(|(id, _)| id), outcome: outcome?, executed: drive.run().executed })
    }

    /// What drives a run, and what traces it where traces are collected.
    fn setup(&self, workflow: &Arc<Workflow>, how: How, run: Option<&RunId>) -> (Setup, Option<Tracing>) {
        let How { tools, workers, watch, control, mut trace } = how;
        let telemetry = self.options.telemetry.as_ref();
        let tracing = telemetry.and_then(|telemetry| telemetry.begin(workflow, &mut trace, run.cloned()));
        let watch = match (watch, tracing.as_ref().map(Tracing::watch)) {
            (Some(watch), Some(other)) => Some(watch.and(other)),
            (watch, other) => watch.or(other),
        };
        let (clock, seed, pace) = (self.options.clock.clone(), self.seed(), self.pace.clone());
        (Setup { tools, workers, clock, seed, watch, control, trace, pace, leaves_states: false }, tracing)
    }
}

/// Functions inside an agent's run.
impl Service {
    /// Executes what needs nobody: an agent's run has come to a function, or to the end of one. What the agent should
    /// know of it, if anything.
    pub(super) async fn go_on(&self, held: &mut Held) -> Result<Option<String>, ServiceError> {
        let by_itself = |effect: &Effect| matches!(effect.what, EffectKind::Advance | EffectKind::Call(_));
        if !held.run.pending(&held.definition.workflow).iter().any(by_itself) {
            return Ok(None);
        }
        if let Some(lift) = self.untrusted(&held.definition) {
            let run = match &held.carrier {
                Carrier::Stored(id) => format!("`portolan runs resume {id}`"),
                Carrier::Task { .. } => "call Start again".to_owned(),
                Carrier::Token { .. } => "call get_position again".to_owned(),
            };
            return Ok(Some(format!(
                "the run waits before servers that nobody has trusted yet: {}, then {run}",
                lifted_by(&lift)
            )));
        }
        let id = match &held.carrier {
            Carrier::Stored(id) => Some(id.clone()),
            // Its file is locked, or nobody else has it.
            Carrier::Task { .. } | Carrier::Token { .. } => None,
        };
        let lease = match &id {
            Some(id) => match self.leases.take(id) {
                Ok(lease) => Some(lease),
                Err(error) if error.code == "under_way" => {
                    return Ok(Some(format!("{}; {}", error.message, error.help)));
                }
                Err(error) => return Err(error),
            },
            None => None,
        };
        if let Some(id) = lease.as_ref().and(id.as_ref()) {
            // Whoever drove it before may have moved it on.
            *held = self.hold(&Address::Stored(id.clone())).await?;
        }
        let definition = held.definition.clone();
        let how = How::with(self.tools_of(&definition));
        let (setup, tracing) = self.setup(&definition.workflow, how, id.as_ref());
        // Whoever moves a run on has no models: `portolan runs resume` has.
        let setup = Setup { leaves_states: true, ..setup };
        let run = held.run.clone();
        let mut drive =
            Drive::new(definition.workflow.clone(), run, setup, Some(Box::new(Kept { service: self, held })));
        let outcome = drive.until_over().await;
        if let Some(tracing) = tracing {
            tracing.finish(&outcome, drive.run().executed);
        }
        outcome.map(|_| None)
    }

    /// Who answers the tool calls of a definition: the servers that it brings along, each started once for all runs.
    pub fn tools_of(&self, definition: &Arc<Definition>) -> Arc<Tools> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = pools.entry(definition.digest.clone()).or_insert_with(|| {
            let servers = graphs::servers_of(definition, self.project(), self.project());
            Arc::new(Tools::of(Arc::new(Servers::new(servers, PoolOptions::default()))))
        });
        pool.clone()
    }
}

/// An agent's run that came to a function, wherever it lives.
struct Kept<'s> {
    service: &'s Service,
    held: &'s mut Held,
}

impl Keep for Kept<'_> {
    fn record<'k>(&'k mut self, event: Event, changes: Vec<Change>, _after: &'k Run) -> Keeping<'k> {
        Box::pin(async move {
            self.service.commit(self.held, event, changes).await.map_err(|refused| match refused {
                Refused::Failed(error) => error,
                Refused::Conflict => ServiceError::refused(
                    "stale",
                    "somebody else moved the run on meanwhile",
                    "look at the present situation first",
                ),
            })
        })
    }
}
