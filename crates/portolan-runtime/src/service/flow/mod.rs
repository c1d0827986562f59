//! The task of a project, in its phases: begun, given claims, advanced when the repository shows them, bypassed by
//! name, called off.
//!
//! A task is a run of a workflow with phases. The project's task is the run whose handle is noted in
//! `.portolan/flow.json`. It can be ticked, navigated by an agent, or both: the events are the same.
//!
//! ```text
//! tick → the phase is claimed as done → its checks, on one look at the repository → on, or back to where it was
//! ```

mod active;
mod allowed_phases;
mod begin;
mod claims;
mod config;
mod events;
mod gate;
mod hooks;
mod log;
mod others;
mod queue;
mod requests;
mod state;
mod takeover;
mod uses;
mod verify;

use std::sync::Arc;

use portolan_core::diagnostic::{clip, closest, list};
use portolan_core::graph::Workflow;
use portolan_core::run::{Actor, BypassSource, EventKind, FramePath, Place, Run, WaitingFor};
use portolan_core::value::{NodeId, Outcome, Timestamp};
use portolan_gates::RULES;
use portolan_gates::guidelines::Who;
use serde::Serialize;
use serde_json::{Map, Value};

use super::hold::{Carrier, HeldRun};
use super::report::bounded;
use super::request::Report;
use super::{Caller, Service};
use crate::carrier::Address;
use crate::conflict::retrying;
use crate::error::ServiceError;
use crate::rules::rules;
use crate::runner::Listener;
use crate::store::RunId;
use crate::view::CheckResult;
use takeover::TaskClaim;

pub(super) use active::store_of_task;
pub use active::{Active, Stage};
pub(super) use events::who;
pub use gate::{DecidingRun, Gate};
pub use queue::Brief;
pub use requests::BypassRequest;
pub use state::{Acceptance, BypassRecord, FlowState, Metrics, TaskStatus, VerifiedPhase};
pub use uses::{is_use, is_used};

/// The workflow of a task if none is named.
pub const DEFAULT_WORKFLOW: &str = "delivery";

/// The maximum length of a reason in bytes.
const MAX_REASON_BYTES: usize = 4 << 10;

/// The tasks of a project.
pub struct Flow<'s> {
    service: &'s Service,
    listener: Listener,
}

/// The parameters of a new task.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The name: a letter or digit, then up to 127 letters, digits, `.`, `_` and `-`.
    pub task: String,
    /// The phase to begin at. No phase before it may have a check.
    pub at: Option<String>,
    /// The workflow with phases. `None` means [`DEFAULT_WORKFLOW`].
    pub workflow: Option<String>,
}

/// The result of a tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tick {
    /// Whether the task is in another phase.
    pub advanced: bool,
    /// The phase before the tick.
    pub from: String,
    /// The phase after the tick.
    pub to: String,
    /// The reason: never empty.
    pub reason: String,
    /// The checks that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<CheckResult>,
}

/// A bypass of a rule.
#[derive(Clone, Debug)]
pub struct Override {
    /// The rule: `I-3`.
    pub invariant: String,
    /// The reason.
    pub reason: String,
    /// The phase. `None` means the present one.
    pub phase: Option<String>,
    /// The origin: `command`, `env`, `flag`, `config`, `code`.
    pub source: BypassSource,
    /// The identifier that was used.
    pub identifier: String,
    /// The time after which the bypass no longer counts.
    pub expires_at: Option<Timestamp>,
    /// Whether it counts only once.
    pub once: bool,
}

/// The ways in which a task can end early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The work was reduced.
    ScopedDown,
    /// Another person or agent must handle the task.
    Escalated,
}

impl Ending {
    /// Returns the name in the log.
    pub fn word(self) -> &'static str {
        match self {
            Ending::ScopedDown => "scoped-down",
            Ending::Escalated => "escalated",
        }
    }
}

impl Service {
    /// Returns the tasks of the project.
    pub fn flow(&self) -> Flow<'_> {
        Flow { service: self, listener: Listener::default() }
    }
}

impl Flow<'_> {
    /// Returns the tasks with a listener that hears running checks.
    #[must_use]
    pub fn with_listener(self, listener: Listener) -> Self {
        Flow { listener, ..self }
    }

    /// Returns the state of the project's task, or the idle state if there is none.
    ///
    /// # Errors
    /// The note of the task cannot be read, or its run is not stored.
    pub async fn status(&self) -> Result<FlowState, ServiceError> {
        let engine = Caller { by: Actor::Engine, can_ask: false };
        // If nothing can be written, the state is shown nevertheless.
        let _unfinished = self.taken(&engine).await;
        self.shown().await
    }

    /// Returns the same state, without finishing an interrupted task first.
    async fn shown(&self) -> Result<FlowState, ServiceError> {
        match self.active_run().await? {
            Some((_, held)) => self.state(&held).await,
            None => self.idle().await,
        }
    }

    /// Sets the claims of the task. A claim is verified only when its phase is left.
    ///
    /// # Errors
    /// There is no task. A field is unknown, has a value that no check could confirm, or may not be set in this phase.
    pub async fn patch(&self, values: &Map<String, Value>, caller: &Caller) -> Result<FlowState, ServiceError> {
        let (active, held) = self.needed(caller).await?;
        let values = claims::meant(&held.definition.workflow, values)?;
        // A claim whose result cannot be shown must not be made.
        self.state(&held).await?;
        self.service.supervisor_log().may_work(Some(&active.task)).await?;
        let values = Arc::new(Value::Object(values));
        let what = EventKind::Noted { frame: FramePath::default(), values };
        let held = self.happen(&active.run, caller, |_| Ok(what.clone())).await?;
        self.state(&held).await
    }

    /// Advances the task by one phase, if the repository is in the state that the phase claims.
    ///
    /// # Errors
    /// The run or the log cannot be read or written. A failed check is no error: it is the reason of the tick.
    pub async fn tick(&self, caller: &Caller) -> Result<Tick, ServiceError> {
        let active = match self.taken(caller).await? {
            TaskClaim::Here(active, _) => active,
            TaskClaim::Nothing => return Ok(refused("idle", "No active task.".to_owned())),
            TaskClaim::Ended(active) => {
                return Ok(refused("idle", format!("No active task: `{}` has ended.", active.task)));
            }
        };
        if let Err(halted) = self.service.supervisor_log().may_work(Some(&active.task)).await {
            return self.halted(&active, halted).await;
        }
        self.must_not_stray(&active.task, &active.run).await?;
        self.report(&active.run, &Outcome::passed(), None, caller).await
    }

    /// Goes back to the work, after failing tests or a review. It counts against the cap.
    ///
    /// # Errors
    /// The phase does not go back, or the reason is blank.
    pub async fn back(&self, reason: &str, caller: &Caller) -> Result<Tick, ServiceError> {
        let reason = check_reason(reason)?;
        let (active, held) = self.needed(caller).await?;
        goes_back(&held)?;
        self.report(&active.run, &Outcome::failed(), Some(reason), caller).await
    }

    /// Calls the task off.
    ///
    /// # Errors
    /// There is no task, or the reason is blank.
    pub async fn abort(&self, ending: Ending, reason: &str, caller: &Caller) -> Result<FlowState, ServiceError> {
        let reason = check_reason(reason)?;
        let (active, _) = self.needed(caller).await?;
        // An error here must not leave the task called off.
        self.status().await?;
        let what = EventKind::Cancelled { reason, outcome: Some(ending.word().to_owned()) };
        let held = self.happen(&active.run, caller, |_| Ok(what.clone())).await?;
        self.forget_if_over(&held).await?;
        self.status().await
    }

    /// Bypasses a rule in one phase. The bypass is logged before anything follows from it.
    ///
    /// # Errors
    /// There is no task. The rule is unknown, or the caller may not bypass it. The bypass cannot be logged.
    pub async fn get_past(&self, wanted: &Override, caller: &Caller) -> Result<FlowState, ServiceError> {
        let reason = check_reason(&wanted.reason)?;
        let (active, held) = self.needed(caller).await?;
        is_rule(&held.definition.workflow, &wanted.invariant)?;
        self.may_get_past(&wanted.invariant, caller)?;
        // An error here must not leave a bypass.
        self.state(&held).await?;
        let what = |held: &HeldRun| {
            let here = held.run.root.place.node().clone();
            Ok(EventKind::Bypassed {
                invariant: wanted.invariant.clone(),
                node: wanted.phase.as_deref().map_or(here, NodeId::from),
                reason: reason.clone(),
                source: wanted.source,
                identifier: wanted.identifier.clone(),
                expires_at: wanted.expires_at,
                once: wanted.once,
            })
        };
        let held = self.happen(&active.run, caller, what).await?;
        self.state(&held).await
    }

    /// Checks whether only a person may bypass a rule.
    ///
    /// # Errors
    /// The rules of the project cannot be read.
    pub fn needs_person(&self, invariant: &str) -> Result<bool, ServiceError> {
        Ok(rules(self.service.project())?.who(invariant) == Who::HumanOnly)
    }

    fn may_get_past(&self, invariant: &str, caller: &Caller) -> Result<(), ServiceError> {
        let is_person = caller.is_person();
        match rules(self.service.project())?.who(invariant) {
            Who::Anyone => Ok(()),
            Who::HumanOnly if is_person => Ok(()),
            Who::HumanOnly => Err(ServiceError::refused(
                "needs_person",
                format!("only a person is allowed to bypass `{invariant}` in this project"),
                "ask the person you work for to allow it",
            )),
            Who::Never => Err(ServiceError::refused(
                "bad_bypass",
                format!("`{invariant}` cannot be bypassed in this project"),
                "do what the rule requires",
            )),
        }
    }

    async fn needed(&self, caller: &Caller) -> Result<(Active, HeldRun), ServiceError> {
        let message = match self.taken(caller).await? {
            TaskClaim::Here(active, held) => return Ok((active, *held)),
            TaskClaim::Nothing => "no task is in progress".to_owned(),
            TaskClaim::Ended(active) => format!("no task is in progress: `{}` has ended", active.task),
        };
        Err(ServiceError::refused("no_task", message, "begin one with `portolan flow start <task>`"))
    }

    async fn held(&self, run: &RunId) -> Result<HeldRun, ServiceError> {
        let held = self.service.hold(&Address::Stored(run.clone())).await;
        held.map_err(|error| self.explained(run, error))
    }

    /// Returns the error of a run that cannot be loaded, which is another one if the run is the project's task.
    fn explained(&self, run: &RunId, error: ServiceError) -> ServiceError {
        if error.code != "unknown_run" {
            return error;
        }
        match active::read(self.service.project()) {
            Ok(Some(active)) if active.run == *run => active::without_run(self.service.project(), &active),
            Ok(_) => error,
            Err(unreadable) => unreadable,
        }
    }

    /// Decides an event without further effects.
    async fn happen(
        &self,
        run: &RunId,
        caller: &Caller,
        what: impl Fn(&HeldRun) -> Result<EventKind, ServiceError> + Sync,
    ) -> Result<HeldRun, ServiceError> {
        let what = &what;
        retrying(|| async move {
            let mut held = self.held(run).await?;
            let event = what(&held)?;
            self.service.step(&mut held, event, caller).await?;
            Ok(held)
        })
        .await
    }

    /// Reports the present phase, and has it checked.
    async fn report(
        &self,
        run: &RunId,
        outcome: &Outcome,
        note: Option<String>,
        caller: &Caller,
    ) -> Result<Tick, ServiceError> {
        bounded(note.as_deref())?;
        let note = &note;
        retrying(|| async move {
            let mut held = self.held(run).await?;
            let from = phase(&held.run);
            if let Some(tick) = stuck(&held, &from) {
                return Ok(tick);
            }
            if let Err(error) = rules(self.service.project()) {
                return Ok(refused(&from, format!("cannot verify: {}; {}", error.message, error.help)));
            }
            let path = FramePath::default();
            let revision = Some(held.run.root.since);
            let report = Report { outcome: outcome.clone(), note: note.clone(), outputs: None };
            if let Err(error) = self.service.may_be_checked(&held, &path, &report) {
                return Ok(refused(&from, format!("cannot verify: {}; {}", error.message, error.help)));
            }
            let (event, by) = self.service.claim(&held, &path, (&report, revision), caller)?;
            self.service.step(&mut held, event, &by).await?;
            let had_checks = matches!(held.run.root.place, Place::Checking { .. });
            let settled = self.service.settle(&mut held, &path, outcome, &self.listener).await?;
            self.forget_if_over(&held).await?;
            if let Some(tick) = stuck(&held, &from) {
                return Ok(tick);
            }
            Ok(report_tick(&from, &held, had_checks, settled.claim.map(|claim| claim.checks), note.clone()))
        })
        .await
    }

    /// Removes the note of a task that is over.
    async fn forget_if_over(&self, held: &HeldRun) -> Result<(), ServiceError> {
        if !held.run.is_over() {
            return Ok(());
        }
        let Carrier::Stored(id) = &held.carrier else { return Ok(()) };
        self.clear_of(id).await
    }
}

/// Refuses to go back from a phase that has no way back.
fn goes_back(held: &HeldRun) -> Result<(), ServiceError> {
    let node = match &held.run.root.place {
        Place::Ready { node } => node,
        // The process that performs the checks may still run or may have been killed, and the two cannot be
        // distinguished.
        Place::Checking { node, .. } => {
            let message = format!("the checks of `{node}` are running, or were interrupted");
            let help = "run `portolan flow tick` to perform them again and see their result";
            return Err(ServiceError::refused("checking", message, help));
        }
        _ => return Ok(()),
    };
    let flow = held.definition.workflow.root();
    let goes = |id: &NodeId| flow.step(id).node.phase.as_ref().is_some_and(|phase| phase.back.is_some());
    if goes(node) {
        return Ok(());
    }
    let names: Vec<&str> = flow.steps.keys().filter(|id| goes(id)).map(NodeId::as_str).collect();
    let help = match names.as_slice() {
        [] => "no phase of this workflow does".to_owned(),
        names => format!("only {} do", list(names)),
    };
    Err(ServiceError::refused("no_way_back", format!("the phase `{node}` does not go back"), help))
}

/// Returns the phase of a run: `idle` if it is over.
fn phase(run: &Run) -> String {
    if run.is_over() { "idle".to_owned() } else { run.root.place.node().to_string() }
}

fn refused(from: &str, reason: String) -> Tick {
    Tick { advanced: false, from: from.to_owned(), to: from.to_owned(), reason, failing: Vec::new() }
}

/// Returns the tick of a task that cannot advance at all.
fn stuck(held: &HeldRun, from: &str) -> Option<Tick> {
    let Place::Waiting { node, on: WaitingFor::Budget, .. } = &held.run.root.place else { return None };
    let step = held.definition.workflow.root().step(node);
    let cap = step.node.phase.as_ref().map_or(0, |phase| phase.cap);
    let Carrier::Stored(id) = &held.carrier else { return None };
    let reason = format!(
        "the task has already gone back to its work {}, which is the limit; a person decides with `portolan runs answer {id}`",
        times(cap),
    );
    Some(refused(from, reason))
}

fn times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// Returns the tick of a report.
fn report_tick(
    from: &str,
    held: &HeldRun,
    had_checks: bool,
    checks: Option<Vec<CheckResult>>,
    note: Option<String>,
) -> Tick {
    let to = phase(&held.run);
    let advanced = to != from;
    let Some(checks) = checks else {
        let reason = match (note, had_checks, advanced) {
            (Some(note), ..) => note,
            (None, true, _) => {
                "stale revision: another caller moved the task while its checks were performed".to_owned()
            }
            (None, false, _) => format!("No acceptance checks for phase \"{from}\"."),
        };
        let advanced = advanced && !had_checks;
        return Tick { advanced, from: from.to_owned(), to, reason, failing: Vec::new() };
    };
    let failing: Vec<CheckResult> = checks.iter().filter(|check| !check.held).cloned().collect();
    let reason_of = |check: &CheckResult| check.reason.clone().unwrap_or_else(|| format!("`{}` holds", check.id));
    let reason = if failing.is_empty() {
        checks.last().map(reason_of).unwrap_or_default()
    } else {
        failing.iter().map(reason_of).collect::<Vec<_>>().join("; ")
    };
    Tick { advanced: failing.is_empty() && advanced, from: from.to_owned(), to, reason, failing }
}

fn is_task(task: &str) -> Result<(), ServiceError> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let begins = task.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if begins && task.len() <= 128 && task.chars().all(is_word) {
        return Ok(());
    }
    Err(ServiceError::refused(
        "bad_id",
        format!("`{}` cannot be the name of a task", clip(task)),
        "use a letter or digit, followed by up to 127 letters, digits, `.`, `_` and `-`",
    ))
}

fn is_rule(workflow: &Workflow, invariant: &str) -> Result<(), ServiceError> {
    let own = workflow.flows().flat_map(|(_, flow)| flow.steps.values());
    let own = own.flat_map(|step| &step.node.accept).filter_map(|check| check.invariant.as_deref());
    let known: Vec<&str> = RULES.iter().map(|rule| rule.id).chain(own).collect();
    if known.contains(&invariant) {
        return Ok(());
    }
    let near = closest(invariant, known).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let message = format!("there is no rule `{}`", clip(invariant));
    let help = format!("{near}name exactly one, such as `I-3`; `portolan flow invariants` lists them");
    Err(ServiceError::refused("bad_bypass", message, help))
}

fn check_reason(reason: &str) -> Result<String, ServiceError> {
    match reason.trim() {
        "" => Err(ServiceError::refused("bad_input", "the reason is empty", "say why, in a sentence")),
        reason if reason.len() > MAX_REASON_BYTES => {
            let message = format!("the reason has more than {MAX_REASON_BYTES} bytes");
            Err(ServiceError::refused("too_large", message, "shorten it"))
        }
        reason => Ok(reason.to_owned()),
    }
}
