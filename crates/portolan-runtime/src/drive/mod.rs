//! Drives a run as far as it goes without an agent or a person: executes automatic nodes, performs the pending effects
//! that its performers take, and notifies observers.
//!
//! ```text
//! pending ─┬─ advance ────────────→ decide → keep → apply → pending …
//!          └─ perform → settled → decide → keep → apply → …
//! ```
//! Each event of a stored run is stored before its effects are performed. Knows no protocol and no terminal.
//!
//! [`Drive`] drives every run: functions, and the checks of agents' reports. A [`Perform`] performs the effects, a
//! [`Keep`] stores the run. [`Performers`] and [`StoreRun`] are the implementations of this crate. A worker on another
//! machine is a `Drive` that takes the effects which it can perform there.
//!
//! # Example
//! Custom performers check an agent's report, over any store:
//!
//! ```
//! use portolan_core::engine::{Effect, EffectKind};
//! use portolan_core::graph::{CheckBy, Workflow};
//! use portolan_core::run::Verdict;
//! use portolan_runtime::drive::{Drive, DriveSetup, EffectFuture, EffectRequest, Outcome, Perform, StoreRun};
//! use std::sync::Arc;
//!
//! /// Performs checks in a container, passes what needs nobody, and leaves everything else to others.
//! struct InContainer;
//!
//! impl Perform for InContainer {
//!     fn takes(&self, effect: &Effect, _workflow: &Workflow) -> bool {
//!         matches!(effect.what, EffectKind::Check(_) | EffectKind::Advance)
//!     }
//!
//!     fn perform(&self, wanted: EffectRequest) -> EffectFuture {
//!         EffectFuture::at_once(async move {
//!             let EffectKind::Check(request) = &wanted.effect.what else { unreachable!("it takes checks") };
//!             look_in_container(&request.check).await.into()
//!         })
//!     }
//! }
//!
//! # use portolan_core::dialect::{self, Strictness};
//! # use portolan_core::engine;
//! # use portolan_core::run::{Actor, Event, EventKind, FramePath, Opening, Run};
//! # use portolan_core::source::Source;
//! # use portolan_core::value::{Outcome as Word, Timestamp};
//! # use portolan_runtime::store::{Digest, MemoryStore, NewRun, Record, RunId, Store};
//! # async fn look_in_container(_: &CheckBy) -> Verdict { Verdict::Held }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let source = Source::new("fix.json", r#"{
//! #   "nodes": {
//! #     "start": {"type": "start"},
//! #     "fix": {"type": "task", "accept": [{"id": "tests", "run": ["cargo", "test"]}]},
//! #     "done": {"type": "end", "result": "success"}
//! #   },
//! #   "edges": [{"from": "start", "to": "fix"}, {"from": "fix", "to": "done"}]
//! # }"#);
//! # let graph = dialect::parse(&source, Strictness::Strict).first().0.expect("it can be drawn");
//! # let workflow = portolan_core::validate::validate(&graph, &|_| None, Strictness::Strict).0.expect("it may be run");
//! # let workflow = Arc::new(workflow);
//! # let frame = FramePath::default();
//! # let done = EventKind::Reported { frame, outcome: Word::passed(), revision: None, note: None, outputs: None };
//! # let opening = Opening::of("fix");
//! # let changes = engine::open(&workflow, &opening).expect("it can be opened");
//! # let mut run = Run::fold(&changes).expect("it is open");
//! # let (at, by) = (Timestamp(0), Actor::Agent("me".into()));
//! # let event = Event { at, by: by.clone(), what: EventKind::Opened(opening) };
//! # let mut records = vec![Record { seq: 1, event, changes }];
//! # for what in [EventKind::Begun { revision: None }, done] {
//! #     let event = Event { at, by: by.clone(), what };
//! #     let changes = engine::decide(&workflow, &run, &event).expect("it is allowed");
//! #     changes.iter().for_each(|change| run.apply(change));
//! #     records.push(Record { seq: records.len() as u64 + 1, event, changes });
//! # }
//! # let (store, id) = (MemoryStore::default(), RunId::random());
//! # let (definition, definition_text) = (Digest::of("fix"), "fix".into());
//! # store.create(NewRun { id: id.clone(), definition, definition_text, cover: None, run, records }).await?;
//! let stored = store.load(&id).await?;
//! let keep = StoreRun::new(&store, id, stored.seq);
//! let mut drive = Drive::new(workflow, stored.run, DriveSetup::of(Arc::new(InContainer), 7), Some(Box::new(keep)));
//! assert_eq!(drive.until_over().await?, Outcome::Done(None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod keep;
mod pace;
mod perform;
mod spans;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portolan_core::engine::{self, Effect, EffectKind, ToolCall};
use portolan_core::graph::{EndResult, Workflow};
use portolan_core::run::{
    Actor, Change, EffectId, EffectPart, EffectResult, Event, EventKind, Fault, Frame, FramePath, Place, Reply, Run,
    WaitReason,
};
use portolan_core::value::{NodeId, Timestamp};
use serde_json::{Map, Value};
use tokio::task::{AbortHandle, JoinSet};
use tracing::Instrument as _;

use crate::clock::Clock;
use crate::conflict::Retries;
use crate::control::{Next, PendingEvent, Permit};
use crate::error::ServiceError;
use crate::logging;

pub use crate::conflict::CommitError;
pub use crate::control::{Breakpoint, Control, Phase, StateChanges};
pub use crate::trace::{Over, SpanId, TraceContext, TraceId, TracedRequest};
pub use keep::{Keep, KeepFuture, StoreRun};
pub use pace::StepTimer;
pub use perform::{EffectFuture, EffectRequest, Perform, Performers};
pub use spans::CallSpan;
pub use watch::{Began, ExecutionObserver, NodeEnd, WorkingStateChange};

use spans::Spans;

/// The number of nodes after which a run yields to other tasks.
const TURN: u64 = 64;
/// The time after which it yields in any case: an expression may take a second, and tasks that it woke wait on this
/// thread.
const TURN_TIME: Duration = Duration::from_millis(5);

/// What drives a run besides its definition.
#[derive(Clone)]
pub struct DriveSetup {
    /// The performers of its effects.
    pub performers: Arc<dyn Perform>,
    /// The source of time.
    pub clock: Clock,
    /// The seed of random numbers.
    pub seed: u64,
    /// The observer of each node.
    pub watch: Option<ExecutionObserver>,
    /// The control that can stop, pause and step the run.
    pub control: Option<Control>,
    /// The trace to which the run belongs.
    pub trace: TraceContext,
    /// The recent durations of steps, of all runs.
    pub pace: Arc<StepTimer>,
}

impl DriveSetup {
    /// Returns a setup without an observer and a control, with the system's clock. `seed` is the seed of random
    /// numbers.
    pub fn of(performers: Arc<dyn Perform>, seed: u64) -> DriveSetup {
        let (clock, trace, pace) = (Clock::System, TraceContext::fresh(), Arc::default());
        DriveSetup { performers, clock, seed, watch: None, control: None, trace, pace }
    }
}

/// The result of driving a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The run is done, with its output. `None` is JSONata's `undefined`.
    Done(Option<Arc<Value>>),
    /// The run failed.
    Failed(Fault),
    /// The run was called off.
    Cancelled,
    /// The run waits for an agent or a person.
    Waiting {
        /// The waiting node.
        node: String,
        /// Why a state waits, in one sentence. `None` for other nodes.
        why: Option<String>,
    },
}

impl Outcome {
    /// Returns the outcome of a run that waits at the first of its positions.
    pub(crate) fn waits(run: &Run) -> Outcome {
        let place = &run.positions()[0].1.place;
        Outcome::Waiting { node: place.node().to_string(), why: place.held().map(WaitReason::text) }
    }
}

/// A run that is being driven.
pub struct Drive<'d> {
    workflow: Arc<Workflow>,
    run: Run,
    setup: DriveSetup,
    /// Whether a step may take long for any input.
    heavy: bool,
    keep: Option<Box<dyn Keep + 'd>>,
    spans: Spans,
    flights: JoinSet<(EffectId, (EffectResult, Duration))>,
    flying: BTreeMap<EffectId, AbortHandle>,
    /// Whether others may have moved the run since the last decision.
    released: bool,
    /// The number of calls of tools by nodes that it decided.
    calls: u64,
    drawn: u64,
    /// The time of the last yield.
    turn: Instant,
}

impl<'d> Drive<'d> {
    /// Returns a run to be driven from its present position. With `keep`, no effect is performed before its event is
    /// stored.
    pub fn new(workflow: Arc<Workflow>, run: Run, setup: DriveSetup, keep: Option<Box<dyn Keep + 'd>>) -> Drive<'d> {
        let spans = Spans::new(&setup.trace);
        let heavy = workflow.flows().any(|(_, flow)| flow.heavy);
        Drive {
            workflow,
            run,
            setup,
            heavy,
            keep,
            spans,
            flights: JoinSet::new(),
            flying: BTreeMap::new(),
            released: false,
            calls: 0,
            drawn: 0,
            turn: Instant::now(),
        }
    }

    /// Returns the present run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the number of calls of tools by nodes that it decided, each retry counted.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// Drives the run until it is over, or until an agent or a person must act. Dropping the future drops the effects
    /// under way, which cancels calls.
    ///
    /// # Errors
    /// The run could not be stored.
    pub async fn until_over(&mut self) -> Result<Outcome, ServiceError> {
        loop {
            if let Some(outcome) = self.outcome() {
                return Ok(outcome);
            }
            if self.go_on().await? {
                continue;
            }
            if self.flights.is_empty() {
                return Ok(Outcome::waits(&self.run));
            }
            self.take_answer().await?;
        }
    }

    /// Does everything that needs no result of an effect. Returns whether there was anything.
    async fn go_on(&mut self) -> Result<bool, ServiceError> {
        let mut went_on = false;
        let pending = self.run.pending(&self.workflow);
        self.drop_unwanted(&pending);
        for effect in pending {
            if !self.setup.performers.takes(&effect, &self.workflow) {
                continue;
            }
            match &effect.what {
                EffectKind::Advance => {
                    match self.permit(&effect.id.frame).await {
                        Permit::Go => {}
                        Permit::Leave => continue,
                        Permit::Stop => {
                            self.call_off("it was stopped").await?;
                            return Ok(true);
                        }
                        Permit::TakeUp(wanted) => {
                            self.take_up(wanted).await;
                            // Other effects may be pending now.
                            return Ok(true);
                        }
                    }
                    self.spans.begin(&effect.id.frame);
                    let seed = self.chance();
                    self.step(effect.id.settled(EffectResult::Due, seed)).await?;
                    went_on = true;
                    // A long run shares its thread with others.
                    if self.run.executed.is_multiple_of(TURN) || self.turn.elapsed() >= TURN_TIME {
                        tokio::task::yield_now().await;
                        self.turn = Instant::now();
                    }
                }
                EffectKind::Instruct | EffectKind::Ask | EffectKind::TimeOut => {}
                // Commands of one claim may use the same files, so they run one after the other.
                EffectKind::Check(_) if self.is_checked(&effect.id.frame) => {}
                _ => self.begin(effect),
            }
        }
        Ok(went_on)
    }

    async fn permit(&mut self, frame: &FramePath) -> Permit {
        let Some(control) = &self.setup.control else { return Permit::Go };
        let Some(at) = self.run.frame(frame) else { return Permit::Go };
        let (run, workflow) = (&self.run, &*self.workflow);
        let next = Next { path: frame, node: at.place.node(), run, workflow, at: self.setup.clock.now() };
        let mut permit = pin!(control.permit(next));
        tokio::select! {
            biased;
            permit = &mut permit => return permit,
            () = std::future::ready(()) => {}
        }
        // It waits. A worker that finds the run after the end of this process would not.
        if let Some(keep) = &mut self.keep {
            // If the store cannot be reached, the next record fails as well.
            let _ = keep.pause().await;
        }
        permit.await
    }

    /// Applies an event that was requested while the run waits. A refused event does not stop the run.
    async fn take_up(&mut self, wanted: Box<PendingEvent>) {
        let result = self.happened(wanted.by.clone(), wanted.what.clone()).await;
        if let Some(control) = &self.setup.control {
            control.moved(&self.run);
        }
        wanted.became(result);
    }

    /// Checks whether a check of a frame's claim is under way.
    fn is_checked(&self, frame: &FramePath) -> bool {
        let is_claimed = |frame: &Frame| matches!(frame.place, Place::Checking { .. });
        let is_check = |id: &EffectId| id.check().is_some() && id.frame == *frame;
        self.run.frame(frame).is_some_and(is_claimed) && self.flying.keys().any(is_check)
    }

    /// Begins an effect that is performed outside, unless it is under way.
    fn begin(&mut self, effect: Effect) {
        if self.flying.contains_key(&effect.id) {
            return;
        }
        let id = effect.id.clone();
        let (name, word) = (id.clone(), logging::effect_word(&effect.what));
        let meta = match &effect.what {
            EffectKind::Call(call) => {
                let meta = self.spans.meta(&id.frame, call);
                self.notify_call(&effect, call);
                meta
            }
            _ => Map::new(),
        };
        let due = due(&effect);
        let (workflow, clock) = (self.workflow.clone(), self.setup.clock.clone());
        let wanted = EffectRequest { effect, workflow, clock: clock.clone(), meta };
        let flight = self.setup.performers.perform(wanted);
        let performed = async move {
            let performing = logging::EffectTimer::begin(&name, word);
            let mut waited = Duration::ZERO;
            if let Some(wait) = due.filter(|_| flight.waits).and_then(|due| until(due, &clock)) {
                let began = tokio::time::Instant::now();
                tokio::time::sleep(wait).await;
                waited = began.elapsed();
            }
            let result = flight.result().await;
            performing.done(logging::result_word(&result));
            (name, (result, waited))
        };
        let handle = self.flights.spawn(performed.in_current_span());
        self.flying.insert(id, handle);
    }

    /// Drops effects that are no longer needed: their branch was cancelled, or the run has failed elsewhere.
    fn drop_unwanted(&mut self, pending: &[Effect]) {
        if self.flying.is_empty() {
            return;
        }
        let wanted: BTreeSet<&EffectId> = pending.iter().map(|effect| &effect.id).collect();
        let unwanted: Vec<EffectId> = self.flying.keys().filter(|id| !wanted.contains(id)).cloned().collect();
        for id in unwanted {
            if let Some(handle) = self.flying.remove(&id) {
                handle.abort();
            }
            if id.part == EffectPart::Node {
                let open = self.spans.end(&id.frame);
                if let Some(watch) = &self.setup.watch {
                    watch.dropped(open.span);
                }
            }
        }
    }

    async fn take_answer(&mut self) -> Result<(), ServiceError> {
        if let Some(keep) = &mut self.keep
            && self.flying.keys().all(|id| id.check().is_some())
        {
            self.released = keep.release();
        }
        let answered = match &self.setup.control {
            None => self.flights.join_next().await,
            Some(control) => {
                let control = control.clone();
                tokio::select! {
                    answered = self.flights.join_next() => answered,
                    () = control.stopped() => {
                        return self.call_off("it was stopped").await;
                    }
                }
            }
        };
        // An aborted effect has no result.
        let Some(Ok((id, (result, waited)))) = answered else { return Ok(()) };
        if self.flying.remove(&id).is_none() {
            return Ok(());
        }
        if let EffectResult::Reply(reply) = &result {
            self.spans.answered(&id.frame, waited, reply);
        }
        let seed = self.chance();
        self.step(id.settled(result, seed)).await
    }

    async fn call_off(&mut self, reason: &str) -> Result<(), ServiceError> {
        self.flights.abort_all();
        self.flying.clear();
        self.step(EventKind::Cancelled { reason: reason.to_owned(), outcome: None }).await
    }

    async fn step(&mut self, what: EventKind) -> Result<(), ServiceError> {
        self.happened(Actor::Engine, what).await
    }

    /// Applies an event of an actor. It is stored like every other event, and its effects wait until the run is driven.
    ///
    /// # Errors
    /// The event is not possible now, or could not be stored.
    pub async fn happened(&mut self, by: Actor, what: EventKind) -> Result<(), ServiceError> {
        let mut retries = Retries::NONE_SPENT;
        loop {
            let decided = self.decide(&by, &what).await;
            self.released = matches!(decided, Err(CommitError::Conflict));
            if let Some(settled) = retries.settled(decided) {
                return settled;
            }
        }
    }

    async fn decide(&mut self, by: &Actor, what: &EventKind) -> Result<(), CommitError> {
        if let (Some(keep), true) = (&mut self.keep, self.released) {
            self.run = keep.take_up(what).await?;
        }
        let event = Event { at: self.setup.clock.now(), by: by.clone(), what: what.clone() };
        let decided = self.setup.pace.take(self.heavy, || engine::decide(&self.workflow, &self.run, &event));
        let changes = decided.map_err(ServiceError::from)?;
        if changes.is_empty() {
            return Ok(());
        }
        let Some(keep) = &mut self.keep else {
            self.tell(&event, &changes);
            logging::decided(None, None, logging::event_word(&event.what), changes.len());
            changes.iter().for_each(|change| self.run.apply(change));
            return Ok(());
        };
        let mut after = self.run.clone();
        changes.iter().for_each(|change| after.apply(change));
        keep.record(&event, &changes, &after).await?;
        self.tell(&event, &changes);
        self.run = after;
        Ok(())
    }

    /// Returns the next random number of the run: splitmix64, so that one seed serves a whole run.
    fn chance(&mut self) -> u64 {
        self.drawn = self.drawn.wrapping_add(1);
        let mut mixed = self.setup.seed.wrapping_add(self.drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn outcome(&self) -> Option<Outcome> {
        let Place::Ended { result, .. } = &self.run.root.place else { return None };
        let data = self.run.root.data.as_deref();
        Some(match (result, data.and_then(|data| data.fault.clone())) {
            (_, Some(fault)) => Outcome::Failed(fault),
            (EndResult::Cancelled, None) => Outcome::Cancelled,
            (_, None) => Outcome::Done(data.and_then(|data| data.output.clone())),
        })
    }
}

impl Drive<'_> {
    fn notify_call(&mut self, effect: &Effect, call: &ToolCall) {
        let Some(watch) = &self.setup.watch else { return };
        let path = &effect.id.frame;
        let Some((span, since, made)) = self.spans.begun(path) else { return };
        watch.began(&Began {
            path,
            flow: &effect.flow,
            node: effect.node(),
            kind: "mcp",
            retries: call.retries,
            arguments: Some(&call.arguments),
            since,
            span,
            parent: self.spans.parent(path),
            call: made,
        });
    }

    /// Notifies the observer of every node that was executed, and of every long-running node that began.
    fn tell(&mut self, event: &Event, changes: &[Change]) {
        self.calls += logging::calls_of_nodes(changes);
        let Some(watch) = self.setup.watch.clone() else { return };
        if let EventKind::Settled { result: EffectResult::Reply(Reply::Output(Some(answer))), .. } = &event.what {
            watch.answered(answer);
        }
        for change in changes {
            match change {
                Change::Executed { frame, node, output, fault } => {
                    let Some(at) = self.run.frame(frame) else { continue };
                    let step = self.workflow.flow(&at.flow).step(node);
                    let open = self.spans.end(frame);
                    let index = self.run.executed + executed_before(changes, change);
                    let input = match &at.place {
                        Place::Calling { arguments, .. } => Some(&**arguments),
                        _ => None,
                    };
                    watch.ended(&NodeEnd {
                        index,
                        path: frame,
                        flow: &at.flow,
                        node: &step.node,
                        at: event.at,
                        took: open.began.elapsed(),
                        input,
                        output: output.as_deref(),
                        fault: fault.as_ref(),
                        next: led_to(changes, change, frame),
                        span: open.span,
                        parent: self.spans.parent(frame),
                        calls: &open.calls,
                    });
                }
                Change::Talked { frame, said } => {
                    let Some(at) = self.run.frame(frame) else { continue };
                    let spent = self.run.tallies.as_deref().map(|tallies| tallies.run.spend).unwrap_or_default();
                    watch.talked(&WorkingStateChange { path: frame, node: at.place.node(), change: said, spent });
                }
                Change::Moved {
                    frame,
                    place: Place::Each { .. } | Place::Within { .. } | Place::Conversing { .. },
                    ..
                } => {
                    let Some(at) = self.run.frame(frame) else { continue };
                    let node = at.place.node();
                    let kind = self.workflow.flow(&at.flow).step(node).node.kind.word();
                    let Some((span, since, call)) = self.spans.begun(frame) else { continue };
                    let (parent, flow, arguments) = (self.spans.parent(frame), &at.flow, None);
                    let began =
                        Began { path: frame, flow, node, kind, retries: 0, arguments, since, span, parent, call };
                    watch.began(&began);
                }
                _ => {}
            }
        }
    }
}

/// Returns when a delayed effect is due: never after the end of the run.
fn due(effect: &Effect) -> Option<Timestamp> {
    let due = effect.not_before?;
    Some(Timestamp(due.0.min(effect.deadline.map_or(i64::MAX, |deadline| deadline.0))))
}

/// Returns the time until then.
fn until(due: Timestamp, clock: &Clock) -> Option<Duration> {
    let wait = u64::try_from(due.0.saturating_sub(clock.now().0)).ok()?;
    (wait > 0).then(|| Duration::from_millis(wait))
}

/// Returns the node to which an executed node led: the next place of its frame in the same decision.
fn led_to<'c>(changes: &'c [Change], this: &Change, path: &FramePath) -> Option<&'c NodeId> {
    let after = changes.iter().skip_while(|change| !std::ptr::eq(*change, this)).skip(1);
    let mut places = after.filter_map(|change| match change {
        Change::Moved { frame, place, .. } if frame == path => Some(place),
        _ => None,
    });
    places.next().filter(|place| !matches!(place, Place::Ended { .. } | Place::Forked { .. })).map(Place::node)
}

/// Returns the number of nodes that the same decision executed before this one.
fn executed_before(changes: &[Change], this: &Change) -> u64 {
    let before = changes.iter().take_while(|change| !std::ptr::eq(*change, this));
    before.filter(|change| matches!(change, Change::Executed { .. })).count() as u64
}
