//! Runs of the store are driven by one caller at a time, for as long as it holds the lease.

use super::Service;
use crate::error::ServiceError;
use crate::logging;
use crate::store::{Lease, RunId, store_error};

/// The lease of a run, until it is dropped.
pub(super) struct RunLease {
    id: RunId,
    lease: Box<dyn Lease>,
}

impl Service {
    /// Acquires the lease of a stored run.
    ///
    /// # Errors
    /// The run is unknown, or another caller drives it.
    pub(super) async fn lease(&self, id: &RunId) -> Result<RunLease, ServiceError> {
        let taken = self.store().lease(id).await.map_err(store_error);
        let lease = taken.inspect_err(|error| logging::refused(id.as_str(), error))?;
        logging::leased(id.as_str());
        Ok(RunLease::of(id.clone(), lease))
    }
}

impl RunLease {
    /// Returns the lease of a run that was claimed.
    pub(super) fn of(id: RunId, lease: Box<dyn Lease>) -> RunLease {
        RunLease { id, lease }
    }

    /// Does `work` while the lease lasts. If the lease is lost, the work stops.
    pub(super) async fn during<T>(
        &self,
        work: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, ServiceError> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.lease.lost() => {
                logging::lease_lost(self.id.as_str());
                Err(ServiceError::failed(
                    "lease_lost",
                    format!("the lease of the run `{}` was lost, and another process may be driving it", self.id),
                    "make sure that the store can be reached, then resume the run",
                ))
            }
        }
    }
}
