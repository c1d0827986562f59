//! Pausing, stepping and breakpoints: before each of its nodes, a run asks whether it may continue.

mod breakpoint;

use std::collections::VecDeque;
use std::sync::Arc;

use portolan_core::present::way;
use portolan_core::run::{Actor, EventKind, FramePath, Run};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use crate::error::ServiceError;

pub use breakpoint::Breakpoint;
use breakpoint::Hit;
pub(crate) use breakpoint::Next;

/// Stops and pauses a run, and steps through it. All clones control the same run.
#[derive(Clone, Debug)]
pub struct Control(Arc<watch::Sender<State>>);

/// The changes of a run's phase. Of changes in quick succession, only the last may be reported.
#[derive(Debug)]
pub struct StateChanges(watch::Receiver<State>);

impl StateChanges {
    /// Returns the phase after the next change, or `None` if there will be none.
    pub async fn next(&mut self) -> Option<Phase> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().phase)
    }
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// How many nodes may be executed before the run pauses again.
    allowed: u64,
    breakpoints: Arc<[Breakpoint]>,
    /// The frame before whose next node the run pauses, or before that of a frame around it.
    over: Option<FramePath>,
    /// The node before which it paused.
    at: Option<String>,
    /// The frame of this node.
    before: Option<FramePath>,
    /// Why it could not be determined whether to pause there.
    fault: Option<String>,
    context: Option<Arc<Run>>,
    /// Whether its driver ends before the next node.
    is_left: bool,
    /// Requested events for the waiting run, which its driver applies.
    wanted: VecDeque<PendingEvent>,
}

/// An event for a waiting run. Only the driver of the run may write it.
#[derive(Debug)]
pub(super) struct PendingEvent {
    pub(super) by: Actor,
    pub(super) what: EventKind,
    /// Receives the result.
    reply: oneshot::Sender<Result<(), ServiceError>>,
}

impl PendingEvent {
    /// Sends the result. The requester may have gone.
    pub(super) fn became(self, result: Result<(), ServiceError>) {
        let _ = self.reply.send(result);
    }
}

/// What a run may do before a node.
pub(super) enum Permit {
    /// Execute the node.
    Go,
    /// End, because it was stopped.
    Stop,
    /// Leave the node to another driver.
    Leave,
    /// Apply an event first.
    TakeUp(Box<PendingEvent>),
}

/// The phase of a controlled run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It runs.
    Running,
    /// It waits before a node.
    Paused,
    /// It was stopped.
    Stopped,
    /// It is over.
    Finished,
}

impl Phase {
    /// Returns the name of the phase.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Running => "running",
            Phase::Paused => "paused",
            Phase::Stopped => "stopped",
            Phase::Finished => "finished",
        }
    }
}

impl Control {
    /// Creates a control for a run. With `paused`, the run waits before its first node.
    pub fn new(paused: bool, breakpoints: impl IntoIterator<Item = Breakpoint>) -> Control {
        let phase = if paused { Phase::Paused } else { Phase::Running };
        let breakpoints = breakpoints.into_iter().collect();
        let state = State {
            phase,
            allowed: 0,
            breakpoints,
            over: None,
            at: None,
            before: None,
            fault: None,
            context: None,
            is_left: false,
            wanted: VecDeque::new(),
        };
        Control(Arc::new(watch::Sender::new(state)))
    }

    /// Returns the phase of the run.
    pub fn phase(&self) -> Phase {
        self.0.borrow().phase
    }

    /// Returns the node before which it waits.
    pub fn waits_before(&self) -> Option<String> {
        self.0.borrow().at.clone()
    }

    /// Returns why it could not be determined whether to pause before that node. The run pauses in this case.
    pub fn fault(&self) -> Option<String> {
        self.0.borrow().fault.clone()
    }

    /// Returns the run as it was when it paused.
    pub fn context(&self) -> Option<Arc<Run>> {
        self.0.borrow().context.clone()
    }

    /// Returns the breakpoints.
    pub fn breakpoints(&self) -> Arc<[Breakpoint]> {
        self.0.borrow().breakpoints.clone()
    }

    /// Sets the breakpoints, effective from the next node on.
    pub fn set_breakpoints(&self, breakpoints: impl IntoIterator<Item = Breakpoint>) {
        let breakpoints = breakpoints.into_iter().collect();
        self.0.send_modify(|state| state.breakpoints = breakpoints);
    }

    /// Pauses the run before its next node. Calls under way continue.
    ///
    /// # Errors
    /// It is not running.
    pub fn pause(&self) -> Result<(), ServiceError> {
        self.change("pause", &[Phase::Running], |state| {
            state.phase = Phase::Paused;
            state.over = None;
        })
    }

    /// Resumes the run.
    ///
    /// # Errors
    /// It is not paused.
    pub fn resume(&self) -> Result<(), ServiceError> {
        self.change("resume", &[Phase::Paused], |state| {
            state.phase = Phase::Running;
            // The breakpoint of the node before which it waits must not hit again.
            state.allowed = u64::from(state.at.is_some());
            state.pass();
        })
    }

    /// Lets the run execute one node. It has done so when [`Control::paused`] returns.
    ///
    /// # Errors
    /// It is not paused.
    pub fn step(&self) -> Result<(), ServiceError> {
        self.change("step", &[Phase::Paused], |state| {
            state.allowed = 1;
            state.pass();
        })
    }

    /// Lets the run execute one node with everything inside of it. It pauses before the next node of the same frame, or
    /// of one around it, and at breakpoints.
    ///
    /// # Errors
    /// It is not paused.
    pub fn step_over(&self) -> Result<(), ServiceError> {
        self.change("step over a node of", &[Phase::Paused], |state| {
            state.phase = Phase::Running;
            state.allowed = u64::from(state.at.is_some());
            let over = state.before.clone().unwrap_or_default();
            state.pass();
            state.over = Some(over);
        })
    }

    /// Has the driver end before the next node, once calls under way have ended. Another one may continue the run.
    pub fn leave(&self) {
        self.0.send_modify(|state| state.is_left = true);
    }

    /// Returns whether the driver was asked to leave the run.
    pub fn is_left(&self) -> bool {
        self.0.borrow().is_left
    }

    /// Stops the run for good, including calls under way.
    ///
    /// # Errors
    /// It is over already.
    pub fn stop(&self) -> Result<(), ServiceError> {
        self.change("stop", &[Phase::Running, Phase::Paused], |state| state.phase = Phase::Stopped)
    }

    /// Sets outputs of nodes and variables while the run waits before a node: of the frame at `frame` and those around
    /// it, or by default of the frame in which it waits. They are part of the run when this returns.
    ///
    /// # Errors
    /// The run does not wait before a node, or these values are not allowed there.
    pub async fn set(&self, by: Actor, frame: Option<FramePath>, values: Arc<Value>) -> Result<(), ServiceError> {
        let (reply, answer) = oneshot::channel();
        let mut refused = None;
        self.0.send_if_modified(|state| {
            let Some(before) = state.before.as_ref().filter(|_| state.phase == Phase::Paused) else {
                refused = Some(not_waiting(state.phase));
                return false;
            };
            let what = EventKind::Noted { frame: frame.unwrap_or_else(|| before.clone()), values };
            state.wanted.push_back(PendingEvent { by, what, reply });
            true
        });
        match refused {
            Some(error) => Err(error),
            // The driver has ended without applying it.
            None => answer.await.unwrap_or_else(|_| Err(not_waiting(self.phase()))),
        }
    }

    /// Returns the future changes of the phase.
    pub fn changes(&self) -> StateChanges {
        StateChanges(self.0.subscribe())
    }

    /// Waits until the run is paused before a node, stopped or over.
    pub async fn paused(&self) -> Phase {
        let mut changes = self.0.subscribe();
        let rests = |state: &State| match state.phase {
            Phase::Running => false,
            Phase::Paused => state.at.is_some(),
            Phase::Stopped | Phase::Finished => true,
        };
        // The sender is part of this control, which outlives the wait.
        changes.wait_for(rests).await.map_or(Phase::Finished, |state| state.phase)
    }

    /// Marks the run as over.
    pub fn finish(&self) {
        self.0.send_modify(|state| {
            if state.phase != Phase::Stopped {
                state.phase = Phase::Finished;
            }
            state.pass();
            state.wanted.clear();
        });
    }

    /// Resolves when the run is stopped.
    pub(super) async fn stopped(&self) {
        let mut changes = self.0.subscribe();
        let _ = changes.wait_for(|state| state.phase == Phase::Stopped).await;
    }

    /// Waits until the node may be executed, or another action comes first.
    pub(super) async fn permit(&self, next: Next<'_>) -> Permit {
        loop {
            let hit = self.hit(&next);
            if let Some(permit) = self.ask(&next, hit) {
                return permit;
            }
            let mut changes = self.0.subscribe();
            let moves = |state: &State| {
                state.phase != Phase::Paused || state.is_left || state.allowed > 0 || !state.wanted.is_empty()
            };
            // The sender is part of this control, which outlives the wait.
            let _ = changes.wait_for(moves).await;
        }
    }

    /// Checks whether a running run pauses before a node. Evaluates conditions without holding the lock, so that
    /// readers are not blocked.
    fn hit(&self, next: &Next<'_>) -> Option<Hit> {
        let breakpoints = {
            let state = self.0.borrow();
            if state.phase != Phase::Running || state.allowed > 0 {
                return None;
            }
            if state.over.as_ref().is_some_and(|over| over.0.starts_with(&next.path.0)) {
                return Some(Hit::Held);
            }
            state.breakpoints.clone()
        };
        let mut hits = breakpoints.iter().filter_map(|breakpoint| breakpoint.hit(next));
        let first = hits.next()?;
        // A breakpoint that holds needs no explanation.
        if first == Hit::Held || hits.any(|hit| hit == Hit::Held) { Some(Hit::Held) } else { Some(first) }
    }

    /// Returns what may be done before a node, or `None` if the run waits.
    fn ask(&self, next: &Next<'_>, hit: Option<Hit>) -> Option<Permit> {
        let mut permit = None;
        self.0.send_if_modified(|state| {
            if let Some(wanted) = state.wanted.pop_front() {
                permit = Some(Permit::TakeUp(Box::new(wanted)));
                return false;
            }
            permit = match state.phase {
                Phase::Stopped => Some(Permit::Stop),
                _ if state.is_left => Some(Permit::Leave),
                _ if state.allowed > 0 => Some(Permit::Go),
                Phase::Running | Phase::Finished if hit.is_none() => Some(Permit::Go),
                _ => None,
            };
            match permit {
                Some(Permit::Go) if state.allowed > 0 => {
                    state.allowed -= 1;
                    true
                }
                None => state.wait(next, hit),
                _ => false,
            }
        });
        permit
    }

    /// Updates the run after an event was applied.
    pub(super) fn moved(&self, run: &Run) {
        self.0.send_modify(|state| state.context = Some(Arc::new(run.clone())));
    }

    fn change(&self, verb: &str, from: &[Phase], change: impl FnOnce(&mut State)) -> Result<(), ServiceError> {
        let mut refused = None;
        self.0.send_if_modified(|state| {
            if from.contains(&state.phase) {
                change(state);
                return true;
            }
            refused = Some(state.phase);
            false
        });
        match refused {
            None => Ok(()),
            Some(phase) => Err(ServiceError::refused(
                "out_of_place",
                format!("cannot {verb} a run that is {}", phase.word()),
                "check its state first",
            )),
        }
    }
}

impl State {
    /// Makes the run wait before a node. Returns whether it did not wait there already.
    fn wait(&mut self, next: &Next<'_>, hit: Option<Hit>) -> bool {
        let name = way(next.path, next.node);
        if self.at.as_deref() == Some(name.as_str()) {
            return false;
        }
        self.phase = Phase::Paused;
        self.over = None;
        self.at = Some(name);
        self.before = Some(next.path.clone());
        self.context = Some(Arc::new(next.run.clone()));
        self.fault = match hit {
            Some(Hit::Unknown(why)) => Some(why),
            Some(Hit::Held) | None => None,
        };
        true
    }

    /// Clears the node before which it waited.
    fn pass(&mut self) {
        self.at = None;
        self.before = None;
        self.fault = None;
        self.over = None;
    }
}

fn not_waiting(phase: Phase) -> ServiceError {
    let message = format!("a run can be changed only while it waits before a node, and this one is {}", phase.word());
    ServiceError::refused("out_of_place", message, "pause it first, or fork it with other values")
}
