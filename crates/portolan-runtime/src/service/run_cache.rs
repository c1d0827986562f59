//! Runs that were loaded to judge calls, kept until anything is stored.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Service;
use super::hold::HeldRun;
use crate::carrier::Address;
use crate::error::ServiceError;
use crate::store::{RunId, store_error};

/// The runs, with the version of the store at which they were loaded.
#[derive(Default)]
pub(super) struct LoadedRuns(Mutex<(u64, BTreeMap<RunId, Arc<HeldRun>>)>);

impl LoadedRuns {
    fn at(&self, version: u64, id: &RunId) -> Option<Arc<HeldRun>> {
        let loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.1.get(id).filter(|_| loaded.0 == version).cloned()
    }

    fn keep(&self, version: u64, id: &RunId, held: &Arc<HeldRun>) {
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.0 != version {
            *loaded = (version, BTreeMap::new());
        }
        loaded.1.insert(id.clone(), Arc::clone(held));
    }
}

impl Service {
    /// Reads a stored run without locking it, as of now. A process that judges many calls loads it again only if
    /// something was stored since.
    pub(super) async fn glance(&self, id: &RunId) -> Result<Arc<HeldRun>, ServiceError> {
        let load = async || self.peek(&Address::Stored(id.clone())).await.map(Arc::new);
        if !self.options.is_gateway {
            return load().await;
        }
        // The version is read before the run, so that a change in between shows the next time.
        let Some(version) = self.store().version().await.map_err(store_error)? else { return load().await };
        if let Some(held) = self.loaded.at(version, id) {
            return Ok(held);
        }
        let held = load().await?;
        self.loaded.keep(version, id, &held);
        Ok(held)
    }
}
