//! The runs that can be controlled while they are driven: who looks on finds them here, and stops or steps them.

use std::sync::PoisonError;

use portolan_core::value::WorkflowId;

use super::Service;
use crate::drive::{Control, Phase};
use crate::error::ServiceError;
use crate::store::RunId;

/// A run that is being driven and that somebody may control.
#[derive(Clone, Debug)]
pub struct Live {
    /// Its handle; a run that is not kept has one only while it is driven.
    pub run: RunId,
    /// The function.
    pub workflow: WorkflowId,
    /// Pausing, stepping, stopping.
    pub control: Control,
}

impl Live {
    /// How it stands.
    pub fn phase(&self) -> Phase {
        self.control.phase()
    }
}

impl Service {
    /// The runs that are being driven now and can be controlled.
    pub fn live(&self) -> Vec<Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The control of a run that is being driven now.
    ///
    /// # Errors
    /// No such run is.
    pub fn control(&self, run: &RunId) -> Result<Control, ServiceError> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.get(run).map(|live| live.control.clone()).ok_or_else(|| {
            ServiceError::refused(
                "not_running",
                format!("the run `{run}` is not being driven now, or was begun without a control"),
                "`portolan runs show` tells where it is",
            )
        })
    }

    /// Enters a run; it is struck off when the answer is dropped.
    pub(super) fn enter(&self, live: Live) -> Entered<'_> {
        let run = live.run.clone();
        self.live.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), live);
        Entered { service: self, run }
    }
}

pub(super) struct Entered<'s> {
    service: &'s Service,
    run: RunId,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.service.live.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.run);
    }
}
