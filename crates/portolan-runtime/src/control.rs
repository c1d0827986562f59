//! Pausing, stepping, breakpoints: a run asks before each of its nodes whether it may go on.

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

/// Who may stop a run, pause it and step through it. All clones are the same one.
#[derive(Clone, Debug)]
pub struct Control(Arc<watch::Sender<State>>);

/// What changes about how a run stands. Of changes that come fast only the last need be told.
#[derive(Debug)]
pub struct StateChanges(watch::Receiver<State>);

impl StateChanges {
    /// How it stands after the next change; nothing when there will be none.
    pub async fn next(&mut self) -> Option<Phase> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().phase)
    }
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// How many nodes may still be executed before the run pauses again.
    allowed: u64,
    breakpoints: Arc<[Breakpoint]>,
    /// The frame at whose next node it pauses again, or at one of a frame around it.
    over: Option<FramePath>,
    /// The node before which it paused.
    at: Option<String>,
    /// The frame that this node is in.
    before: Option<FramePath>,
    /// Why it could not be found out whether it is to pause there.
    fault: Option<String>,
    context: Option<Arc<Run>>,
    /// What somebody wants to happen to the run while it waits, for whoever drives it.
    wanted: VecDeque<PendingEvent>,
}

/// An event for a run that waits: there is one writer, and that is who drives it.
#[derive(Debug)]
pub(super) struct PendingEvent {
    pub(super) by: Actor,
    pub(super) what: EventKind,
    /// Whom to tell what became of it.
    told: oneshot::Sender<Result<(), ServiceError>>,
}

impl PendingEvent {
    /// What became of it; nobody may wait for that any more.
    pub(super) fn became(self, result: Result<(), ServiceError>) {
        let _ = self.told.send(result);
    }
}

/// What a run may do before a node.
pub(super) enum Permit {
    /// Execute the node.
    Go,
    /// End, for it was stopped.
    Stop,
    /// Take up an event first.
    TakeUp(Box<PendingEvent>),
}

/// How a run that can be controlled stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It goes on by itself.
    Running,
    /// It waits before a node.
    Paused,
    /// Somebody stopped it.
    Stopped,
    /// It is over.
    Finished,
}

impl Phase {
    /// The word for it.
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
    /// A control under which a run goes on; with `paused`, it waits before its first node.
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
            wanted: VecDeque::new(),
        };
        Control(Arc::new(watch::Sender::new(state)))
    }

    /// How the run stands.
    pub fn phase(&self) -> Phase {
        self.0.borrow().phase
    }

    /// The node before which it waits.
    pub fn waits_before(&self) -> Option<String> {
        self.0.borrow().at.clone()
    }

    /// Why it could not be found out whether it is to pause before that node: so it does.
    pub fn fault(&self) -> Option<String> {
        self.0.borrow().fault.clone()
    }

    /// The run as it was when it paused.
    pub fn context(&self) -> Option<Arc<Run>> {
        self.0.borrow().context.clone()
    }

    /// Where it stops by itself.
    pub fn breakpoints(&self) -> Arc<[Breakpoint]> {
        self.0.borrow().breakpoints.clone()
    }

    /// Sets where it stops by itself, from its next node on.
    pub fn set_breakpoints(&self, breakpoints: impl IntoIterator<Item = Breakpoint>) {
        let breakpoints = breakpoints.into_iter().collect();
        self.0.send_modify(|state| state.breakpoints = breakpoints);
    }

    /// Pauses it before its next node. Calls under way go on.
    ///
    /// # Errors
    /// It is not running.
    pub fn pause(&self) -> Result<(), ServiceError> {
        self.change("pause", &[Phase::Running], |state| {
            state.phase = Phase::Paused;
            state.over = None;
        })
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// It is not paused.
    pub fn resume(&self) -> Result<(), ServiceError> {
        self.change("resume", &[Phase::Paused], |state| {
            state.phase = Phase::Running;
            // The node before which it waits is no breakpoint a second time.
            state.allowed = u64::from(state.at.is_some());
            state.pass();
        })
    }

    /// Lets it execute one node; it has when [`Control::paused`] returns.
    ///
    /// # Errors
    /// It is not paused.
    pub fn step(&self) -> Result<(), ServiceError> {
        self.change("step", &[Phase::Paused], |state| {
            state.allowed = 1;
            state.pass();
        })
    }

    /// Lets it execute one node with all that happens inside of it: it pauses before the next node of the same frame, or of
    /// one around it; and at breakpoints, as ever.
    ///
    /// # Errors
    /// It is not paused before a node.
    pub fn step_over(&self) -> Result<(), ServiceError> {
        self.change("step over a node of", &[Phase::Paused], |state| {
            state.phase = Phase::Running;
            state.allowed = u64::from(state.at.is_some());
            let over = state.before.clone().unwrap_or_default();
            state.pass();
            state.over = Some(over);
        })
    }

    /// Stops it for good, calls under way included.
    ///
    /// # Errors
    /// It is over already.
    pub fn stop(&self) -> Result<(), ServiceError> {
        self.change("stop", &[Phase::Running, Phase::Paused], |state| state.phase = Phase::Stopped)
    }

    /// Gives values to what nodes came to, and to variables, while it waits before a node: of the frame at `frame` and those
    /// around it, or of the one that it waits in. They are a part of the run when this returns.
    ///
    /// # Errors
    /// It does not wait before a node, or these values cannot be given there.
    pub async fn set(&self, by: Actor, frame: Option<FramePath>, values: Arc<Value>) -> Result<(), ServiceError> {
        let (told, answer) = oneshot::channel();
        let mut refused = None;
        self.0.send_if_modified(|state| {
            let Some(before) = state.before.as_ref().filter(|_| state.phase == Phase::Paused) else {
                refused = Some(not_waiting(state.phase));
                return false;
            };
            let what = EventKind::Noted { frame: frame.unwrap_or_else(|| before.clone()), values };
            state.wanted.push_back(PendingEvent { by, what, told });
            true
        });
        match refused {
            Some(error) => Err(error),
            // Whoever drove it has ended without taking it up.
            None => answer.await.unwrap_or_else(|_| Err(not_waiting(self.phase()))),
        }
    }

    /// What changes about it from now on.
    pub fn changes(&self) -> StateChanges {
        StateChanges(self.0.subscribe())
    }

    /// Waits until it is paused before a node, stopped or over.
    pub async fn paused(&self) -> Phase {
        let mut changes = self.0.subscribe();
        let rests = |state: &State| match state.phase {
            Phase::Running => false,
            Phase::Paused => state.at.is_some(),
            Phase::Stopped | Phase::Finished => true,
        };
        // The sender is this control's own, and lives as long as it waits.
        changes.wait_for(rests).await.map_or(Phase::Finished, |state| state.phase)
    }

    /// The run is over.
    pub fn finish(&self) {
        self.0.send_modify(|state| {
            if state.phase != Phase::Stopped {
                state.phase = Phase::Finished;
            }
            state.pass();
            state.wanted.clear();
        });
    }

    /// Resolves when somebody stops it.
    pub(super) async fn stopped(&self) {
        let mut changes = self.0.subscribe();
        let _ = changes.wait_for(|state| state.phase == Phase::Stopped).await;
    }

    /// Waits until the node may be executed, or something else is to be done first.
    pub(super) async fn permit(&self, next: Next<'_>) -> Permit {
        loop {
            let hit = self.hit(&next);
            if let Some(permit) = self.ask(&next, hit) {
                return permit;
            }
            let mut changes = self.0.subscribe();
            let moves = |state: &State| state.phase != Phase::Paused || state.allowed > 0 || !state.wanted.is_empty();
            // The sender is this control's own, and lives as long as it waits.
            let _ = changes.wait_for(moves).await;
        }
    }

    /// Whether a run that goes on is to pause before a node. Conditions are evaluated while nobody is kept from looking.
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
        // One that holds needs no explanation.
        if first == Hit::Held || hits.any(|hit| hit == Hit::Held) { Some(Hit::Held) } else { Some(first) }
    }

    /// What may be done before a node; nothing where the run waits.
    fn ask(&self, next: &Next<'_>, hit: Option<Hit>) -> Option<Permit> {
        let mut permit = None;
        self.0.send_if_modified(|state| {
            if let Some(wanted) = state.wanted.pop_front() {
                permit = Some(Permit::TakeUp(Box::new(wanted)));
                return false;
            }
            permit = match state.phase {
                Phase::Stopped => Some(Permit::Stop),
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

    /// The run that waits has taken up an event.
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
                "look at how it stands first",
            )),
        }
    }
}

impl State {
    /// It waits before a node; whether it did not already.
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

    /// It waits before no node any more.
    fn pass(&mut self) {
        self.at = None;
        self.before = None;
        self.fault = None;
        self.over = None;
    }
}

fn not_waiting(phase: Phase) -> ServiceError {
    let message = format!("a run is changed while it waits before a node, and this one is {}", phase.word());
    ServiceError::refused("out_of_place", message, "pause it first, or fork it with other values")
}
