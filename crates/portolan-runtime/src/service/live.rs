//! The runs that can be controlled while they are driven: an observer finds them here, and stops or steps them.

use std::sync::PoisonError;

use portolan_core::value::WorkflowId;

use super::Service;
use crate::drive::{Control, Phase};
use crate::error::ServiceError;
use crate::store::RunId;

/// A run that is being driven and can be controlled.
#[derive(Clone, Debug)]
pub struct Live {
    /// The handle. A run that is not stored has one only while it is driven.
    pub run: RunId,
    /// The function.
    pub workflow: WorkflowId,
    /// The control for pausing, stepping and stopping.
    pub control: Control,
}

impl Live {
    /// Returns the phase of the run.
    pub fn phase(&self) -> Phase {
        self.control.phase()
    }
}

impl Service {
    /// Returns the runs that are being driven now and can be controlled.
    pub fn live(&self) -> Vec<Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns the control of a run that is being driven now.
    ///
    /// # Errors
    /// No such run is being driven.
    pub fn control(&self, run: &RunId) -> Result<Control, ServiceError> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.get(run).map(|live| live.control.clone()).ok_or_else(|| {
            ServiceError::refused(
                "not_running",
                format!("the run `{run}` is not being driven now, or was begun without a control"),
                "`portolan runs show` shows where it is",
            )
        })
    }

    /// Registers a run until the returned value is dropped.
    pub(super) fn enter(&self, live: Live) -> LiveRun<'_> {
        let run = live.run.clone();
        self.live.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), live);
        LiveRun { service: self, run }
    }
}

pub(super) struct LiveRun<'s> {
    service: &'s Service,
    run: RunId,
}

impl Drop for LiveRun<'_> {
    fn drop(&mut self) {
        self.service.live.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.run);
    }
}
