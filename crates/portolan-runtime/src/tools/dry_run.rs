//! Held calls: a dry run shows the calls that a function would make, and makes none.

use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::engine::{Effect, ToolCall};
use portolan_core::run::Reply;

use crate::control::Control;

/// The held calls. The first of them stops the run. All clones share them.
#[derive(Clone, Debug)]
pub struct HeldCalls {
    control: Control,
    calls: Arc<Mutex<Vec<(Effect, ToolCall)>>>,
}

impl HeldCalls {
    /// Holds the calls of the run under `control`.
    pub fn new(control: Control) -> HeldCalls {
        HeldCalls { control, calls: Arc::default() }
    }

    /// Returns the calls that would have been made next, in the order in which they began.
    pub fn calls(&self) -> Vec<(Effect, ToolCall)> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Never completes: the run is stopped.
    pub(super) async fn hold(&self, effect: &Effect, call: &ToolCall) -> Reply {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push((effect.clone(), call.clone()));
        // A run that is over needs no stop.
        let _ = self.control.stop();
        std::future::pending().await
    }
}
