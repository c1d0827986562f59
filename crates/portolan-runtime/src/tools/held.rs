//! Calls that are held back: what a function would do is shown, and nothing is done.

use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::engine::{Effect, ToolCall};
use portolan_core::run::Reply;

use crate::control::Control;

/// The calls that were held back. The first of them stops the run. All clones are the same one.
#[derive(Clone, Debug)]
pub struct HeldCalls {
    control: Control,
    calls: Arc<Mutex<Vec<(Effect, ToolCall)>>>,
}

impl HeldCalls {
    /// Holds back the calls of the run under `control`.
    pub fn new(control: Control) -> HeldCalls {
        HeldCalls { control, calls: Arc::default() }
    }

    /// The calls that would have been made next, in the order in which they began.
    pub fn calls(&self) -> Vec<(Effect, ToolCall)> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Never answers: the run that waits for it is stopped.
    pub(super) async fn hold(&self, effect: &Effect, call: &ToolCall) -> Reply {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push((effect.clone(), call.clone()));
        // A run that is over already has nothing to be stopped.
        let _ = self.control.stop();
        std::future::pending().await
    }
}
