//! Drives the runs of the store that continue by themselves, whoever began them and on whichever machine: runs that were
//! handed over, that wait for a time which has come, that a person has answered, or whose driver died.
//!
//! Several workers share the runs: each takes the lease of a run before it drives it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use portolan_core::graph::EndResult;
use portolan_core::run::{Place, Run};
use portolan_core::value::{Timestamp, WorkflowId};
use tokio::task::{self, AbortHandle, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use super::hold::HeldRun;
use super::lease::RunLease;
use super::led_drive::LedPerformers;
use super::{How, InterruptionPolicy, Service};
use crate::carrier::Address;
use crate::drive::{Control, Outcome};
use crate::error::ServiceError;
use crate::servers::{PoolOptions, ServerSetup, Servers};
use crate::states::{ModelBindings, Workers};
use crate::store::{Digest, Lease, RunId, store_error};
use crate::tools::Tools;

/// A worker of a service.
pub struct Worker {
    service: Arc<Service>,
    options: WorkerOptions,
    models: ModelBindings,
    /// The servers of each definition, for each folder in which its runs began.
    tools: Mutex<BTreeMap<ToolsOf, Arc<Tools>>>,
}

/// A definition, and the folder in which its runs began, if that is not the project.
type ToolsOf = (Digest, Option<String>);

/// The configuration of a worker.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// The maximum number of runs that are driven at once, at least 1.
    pub at_once: usize,
    /// The model for states whose definition names none, for example `openai:gpt-4o-mini`.
    pub model: Option<String>,
    /// A file of MCP servers, for servers that definitions do not have themselves.
    pub mcp: Option<PathBuf>,
    /// The folder of relative paths in the name of a model.
    pub folder: PathBuf,
}

/// A run that a worker has driven as far as it goes.
#[derive(Debug)]
pub struct DrivenRun {
    /// The handle.
    pub run: RunId,
    /// The workflow, unless the run could not be read.
    pub workflow: Option<WorkflowId>,
    /// The outcome, or why it was left as it is.
    pub outcome: Result<Outcome, ServiceError>,
}

/// A receiver of the runs that were driven, and of failures of the store.
pub type OnDriven<'t> = dyn FnMut(Result<DrivenRun, ServiceError>) + Send + 't;

/// An effect that is due later than this is left to whichever worker finds it then.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The time after which a run is tried again that could not be driven, in milliseconds: its servers may be trusted or
/// started meanwhile, or another worker has what it needs.
const PAUSE: i64 = 60_000;
/// How often to look for runs whose time has come.
const LOOK: Duration = Duration::from_millis(500);
/// The minimum time between two looks that found less than was wanted. Each of the worker's own records is a change.
const LEAST: Duration = Duration::from_millis(20);
/// The time for which a worker that is asked to end waits until its runs reach their next node.
const DRAIN: Duration = Duration::from_secs(30);

impl Service {
    /// Lets any worker drive a run from now on.
    ///
    /// # Errors
    /// The run is unknown, or the store cannot be written.
    pub async fn hand_over(&self, run: &RunId) -> Result<(), ServiceError> {
        self.store().defer(run, Some(self.now())).await.map_err(store_error)
    }

    /// Leaves a run to whoever resumes it: no worker takes it before its next record.
    ///
    /// # Errors
    /// The run is unknown, or the store cannot be written.
    pub async fn leave(&self, run: &RunId) -> Result<(), ServiceError> {
        self.store().defer(run, None).await.map_err(store_error)
    }
}

impl Worker {
    /// Returns a worker.
    ///
    /// # Errors
    /// The model cannot be opened, or the file of servers or the prices of models cannot be read.
    pub fn new(service: Arc<Service>, options: WorkerOptions) -> Result<Worker, ServiceError> {
        let models = service.cast(options.model.as_deref(), options.folder.clone())?;
        options.mcp.as_deref().map(|path| service.library().own_servers(path)).transpose()?;
        Ok(Worker { service, options, models, tools: Mutex::default() })
    }

    /// Drives runs until `stop` completes; with `is_once`, until none is left that continues now. `tell` receives each
    /// run that was driven.
    ///
    /// A run that is under way at the end is left before its next node, for other workers, and told as waiting there.
    ///
    /// # Errors
    /// The store cannot be read at the first attempt. Later failures are told, and it is tried again.
    pub async fn run(
        self: &Arc<Self>,
        is_once: bool,
        stop: impl Future<Output = ()>,
        tell: &mut OnDriven<'_>,
    ) -> Result<(), ServiceError> {
        let (mut stop, mut at_work, mut mark) = (pin!(stop), AtWork::default(), None);
        let (mut has_read, mut is_unreachable) = (false, false);
        loop {
            let free = self.options.at_once.saturating_sub(at_work.slots.len());
            let looked = Instant::now();
            let found = match self.take(free, &mut at_work).await {
                Ok(found) => {
                    (has_read, is_unreachable) = (true, false);
                    found
                }
                Err(error) if !has_read => return Err(error),
                Err(error) => {
                    // Told once for as long as it lasts.
                    if !std::mem::replace(&mut is_unreachable, true) {
                        tell(Err(error));
                    }
                    0
                }
            };
            if is_once && at_work.slots.is_empty() {
                return Ok(());
            }
            let is_behind = found > 0 && found == free;
            let enough = if is_behind { self.options.at_once.div_ceil(4) } else { 1 };
            let next = async {
                if !is_behind {
                    sleep_until(looked + LEAST).await;
                }
            };
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = at_work.finish(enough, tell), if !at_work.slots.is_empty() => next.await,
                () = self.changed(&mut mark), if free > found => next.await,
            }
        }
        self.drain(at_work, tell).await;
        Ok(())
    }

    /// Takes up to `free` runs and begins to drive them. Returns their number.
    async fn take(self: &Arc<Self>, free: usize, at_work: &mut AtWork) -> Result<usize, ServiceError> {
        if free == 0 {
            return Ok(0);
        }
        let claimed = self.service.store().claim(self.service.now(), free).await.map_err(store_error)?;
        let found = claimed.len();
        for (run, lease) in claimed {
            let (worker, control) = (Arc::clone(self), Control::new(false, []));
            let driven = (run.clone(), control.clone());
            let task = at_work.tasks.spawn(async move { worker.work(driven.0, lease, driven.1).await });
            at_work.slots.push(Slot { run, control, task });
        }
        Ok(found)
    }

    /// Completes when there may be runs to drive.
    async fn changed(&self, mark: &mut Option<u64>) {
        let changed = async {
            if self.service.store().changed(mark).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let _time_has_passed = timeout(LOOK, changed).await;
    }

    /// Drives one run.
    async fn work(&self, run: RunId, lease: Box<dyn Lease>, control: Control) -> DrivenRun {
        let lease = RunLease::of(run.clone(), lease);
        let (mut workflow, mut before, left) = (None, None, control.clone());
        let outcome = lease.during(async {
            let held = self.service.hold(&Address::Stored(run.clone())).await?;
            workflow = Some(held.definition.workflow.id().clone());
            before = Some(held.seq);
            self.driven(&run, held, control).await
        });
        let outcome = outcome.await;
        if !left.is_left() {
            self.put_off(&run, before, &outcome).await;
        }
        DrivenRun { run, workflow, outcome }
    }

    /// Drives a run whose lease this worker has.
    async fn driven(&self, run: &RunId, mut held: HeldRun, control: Control) -> Result<Outcome, ServiceError> {
        let servers = self.service.servers_for(&held, self.options.mcp.as_deref())?;
        self.service.time_out(&mut held).await.map_err(|error| error.error_or(moved))?;
        let how = How {
            workers: Workers {
                cast: self.models.clone(),
                ground: Some(self.service.project_ground()),
                ..Workers::default()
            },
            control: Some(control),
            longest_wait: Some(LONGEST_WAIT),
            ..How::with(self.tools_of(&held, servers))
        };
        if held.run.is_over() {
            return Ok(outcome(&held.run));
        }
        if held.definition.workflow.root().interface.is_some() {
            let finished = self.service.drive_held(run, held, InterruptionPolicy::Ask, None, how).await?;
            return Ok(finished.outcome);
        }
        let performers = LedPerformers(self.service.performers(&how));
        self.service.drive_led(&mut held, Arc::new(performers), None).await?;
        self.service.hooks().run_ended(&held).await;
        Ok(outcome(&held.run))
    }

    /// Puts off a run that cannot be continued here, so that it does not keep this worker from others.
    async fn put_off(&self, run: &RunId, before: Option<u64>, outcome: &Result<Outcome, ServiceError>) {
        let until = match outcome {
            // Only a person can say whether the interrupted call was made.
            Err(error) if error.code == "interrupted" => None,
            Err(error) if error.code == "lease_lost" => return,
            Err(_) | Ok(Outcome::Waiting { .. }) => match self.service.store().load(run).await {
                // One that has moved was put off by its last record.
                Ok(stored) if outcome.is_ok() && before != Some(stored.seq) => return,
                Ok(stored) => stored.run.continues_at().map(|time| self.not_at_once(time)),
                Err(_) => Some(self.not_at_once(Timestamp(i64::MIN))),
            },
            Ok(_) => return,
        };
        // If it cannot be stored, the run is tried again earlier.
        let _ = self.service.store().defer(run, until).await;
    }

    /// Returns a time at which a run is tried again: when its time comes, but not at once.
    fn not_at_once(&self, time: Timestamp) -> Timestamp {
        let now = self.service.now().0;
        if time.0 > now { time } else { Timestamp(now.saturating_add(PAUSE)) }
    }

    /// Returns the servers of a run. Each is started once for all runs of a definition that began in the same folder.
    fn tools_of(&self, held: &HeldRun, servers: Vec<ServerSetup>) -> Arc<Tools> {
        let key = (held.definition.digest.clone(), held.run.opening.folder.clone());
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if tools.len() >= MOST_DEFINITIONS && !tools.contains_key(&key) {
            // Those in use end with their runs.
            tools.clear();
        }
        let start = || Arc::new(Tools::of(Arc::new(Servers::new(servers, PoolOptions::default()))));
        Arc::clone(tools.entry(key).or_insert_with(start))
    }

    /// Waits until the runs under way reach their next node, then leaves them to other workers.
    async fn drain(&self, mut at_work: AtWork, tell: &mut OnDriven<'_>) {
        for slot in &at_work.slots {
            slot.control.leave();
        }
        let all = at_work.slots.len();
        let _late = timeout(DRAIN, at_work.finish(all, tell)).await;
        at_work.tasks.shutdown().await;
    }
}

/// The most definitions whose servers a worker keeps running.
const MOST_DEFINITIONS: usize = 64;

/// The runs that a worker drives.
#[derive(Default)]
struct AtWork {
    tasks: JoinSet<DrivenRun>,
    slots: Vec<Slot>,
}

struct Slot {
    run: RunId,
    control: Control,
    task: AbortHandle,
}

impl AtWork {
    /// Waits until `enough` runs were driven, or all, and tells of them.
    async fn finish(&mut self, enough: usize, tell: &mut OnDriven<'_>) {
        for _ in 0..enough {
            let Some(done) = self.tasks.join_next_with_id().await else { return };
            self.finished(done, tell);
        }
        while let Some(done) = self.tasks.try_join_next_with_id() {
            self.finished(done, tell);
        }
    }

    fn finished(&mut self, done: Result<(task::Id, DrivenRun), JoinError>, tell: &mut OnDriven<'_>) {
        let id = done.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let slot = self.slots.iter().position(|slot| slot.task.id() == id).map(|at| self.slots.swap_remove(at));
        match (done, slot) {
            (Ok((_, driven)), _) => tell(Ok(driven)),
            (Err(error), Some(Slot { run, .. })) => {
                let message = format!("the run `{run}` could not be driven: {error}");
                tell(Err(ServiceError::failed("internal", message, "report this as a bug")));
            }
            (Err(_), None) => {}
        }
    }
}

/// Returns the outcome of a run that was driven as far as it goes.
fn outcome(run: &Run) -> Outcome {
    let Place::Ended { result, .. } = &run.root.place else { return Outcome::waits(run) };
    match result {
        EndResult::Cancelled => Outcome::Cancelled,
        _ => Outcome::Done(None),
    }
}

/// The error of a run that others move again and again.
fn moved() -> ServiceError {
    ServiceError::failed("busy", "the run is moved by others at the same time", "it is tried again later")
}
