//! Pausing, stepping, breakpoints: a run asks before each of its nodes whether it may go on.

use std::collections::BTreeSet;
use std::sync::Arc;

use portolan_core::run::{FramePath, Run};
use portolan_core::value::NodeId;
use tokio::sync::watch;

use crate::error::ServiceError;

/// Who may stop a run, pause it and step through it. All clones are the same one.
#[derive(Clone, Debug)]
pub struct Control(Arc<watch::Sender<State>>);

#[derive(Clone, Debug)]
struct State {
    phase: Phase,
    /// How many nodes may still be executed before the run pauses again.
    allowed: u64,
    breakpoints: BTreeSet<NodeId>,
    /// The node before which it paused.
    at: Option<String>,
    context: Option<Arc<Run>>,
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
    pub fn new(paused: bool, breakpoints: impl IntoIterator<Item = NodeId>) -> Control {
        let phase = if paused { Phase::Paused } else { Phase::Running };
        let breakpoints = breakpoints.into_iter().collect();
        Control(Arc::new(watch::Sender::new(State { phase, allowed: 0, breakpoints, at: None, context: None })))
    }

    /// How the run stands.
    pub fn phase(&self) -> Phase {
        self.0.borrow().phase
    }

    /// The node before which it waits.
    pub fn waits_before(&self) -> Option<String> {
        self.0.borrow().at.clone()
    }

    /// The run as it was when it paused.
    pub fn context(&self) -> Option<Arc<Run>> {
        self.0.borrow().context.clone()
    }

    /// Where it stops by itself.
    pub fn breakpoints(&self) -> BTreeSet<NodeId> {
        self.0.borrow().breakpoints.clone()
    }

    /// Sets where it stops by itself, from its next node on.
    pub fn set_breakpoints(&self, breakpoints: impl IntoIterator<Item = NodeId>) {
        let breakpoints = breakpoints.into_iter().collect();
        self.0.send_modify(|state| state.breakpoints = breakpoints);
    }

    /// Pauses it before its next node. Calls under way go on.
    ///
    /// # Errors
    /// It is not running.
    pub fn pause(&self) -> Result<(), ServiceError> {
        self.change("pause", &[Phase::Running], |state| state.phase = Phase::Paused)
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// It is not paused.
    pub fn resume(&self) -> Result<(), ServiceError> {
        self.change("resume", &[Phase::Paused], |state| {
            state.phase = Phase::Running;
            // The node before which it waits is no breakpoint a second time.
            state.allowed = u64::from(state.at.take().is_some());
        })
    }

    /// Lets it execute one node; it has when [`Control::paused`] returns.
    ///
    /// # Errors
    /// It is not paused.
    pub fn step(&self) -> Result<(), ServiceError> {
        self.change("step", &[Phase::Paused], |state| {
            state.allowed = 1;
            state.at = None;
        })
    }

    /// Stops it for good, calls under way included.
    ///
    /// # Errors
    /// It is over already.
    pub fn stop(&self) -> Result<(), ServiceError> {
        self.change("stop", &[Phase::Running, Phase::Paused], |state| state.phase = Phase::Stopped)
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
            state.at = None;
        });
    }

    /// Resolves when somebody stops it.
    pub(super) async fn stopped(&self) {
        let mut changes = self.0.subscribe();
        let _ = changes.wait_for(|state| state.phase == Phase::Stopped).await;
    }

    /// Waits until the node may be executed; whether it may, or the run was stopped.
    pub(super) async fn permit(&self, path: &FramePath, node: &NodeId, run: &Run) -> bool {
        let name = if path.0.is_empty() { node.to_string() } else { format!("{}/{node}", path.text()) };
        loop {
            match self.ask(&name, node, run) {
                Answer::Go => return true,
                Answer::Stop => return false,
                Answer::Wait => {}
            }
            let mut changes = self.0.subscribe();
            let moves = |state: &State| state.phase != Phase::Paused || state.allowed > 0;
            // The sender is this control's own, and lives as long as it waits.
            let _ = changes.wait_for(moves).await;
        }
    }

    fn ask(&self, name: &str, node: &NodeId, run: &Run) -> Answer {
        let mut answer = Answer::Go;
        self.0.send_if_modified(|state| {
            let breaks = state.phase == Phase::Running && state.breakpoints.contains(node);
            answer = match state.phase {
                Phase::Stopped => Answer::Stop,
                _ if state.allowed > 0 => Answer::Go,
                Phase::Running | Phase::Finished if !breaks => Answer::Go,
                _ => Answer::Wait,
            };
            match answer {
                Answer::Go if state.allowed > 0 => {
                    state.allowed -= 1;
                    true
                }
                Answer::Wait if state.at.as_deref() != Some(name) => {
                    state.phase = Phase::Paused;
                    state.at = Some(name.to_owned());
                    state.context = Some(Arc::new(run.clone()));
                    true
                }
                _ => false,
            }
        });
        answer
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

enum Answer {
    Go,
    Wait,
    Stop,
}
