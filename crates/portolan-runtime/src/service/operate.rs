//! What the operator of a store does with it: looks at it, verifies, copies and tidies it.

use super::Service;
use crate::error::ServiceError;
use crate::store::{self, SchemaVersion, StoreStatus, Verification, store_error};

/// The state of the store of a service.
#[derive(Clone, Debug)]
pub struct StoreReport {
    /// The file, or the address without its password.
    pub place: String,
    /// The kind: `memory`, `sqlite`, `postgres` or `custom`.
    pub kind: &'static str,
    /// Its state.
    pub status: StoreStatus,
    /// The reason why it cannot be written, if it can only be read.
    pub unwritable: Option<ServiceError>,
}

impl Service {
    /// Returns the state of the store, and changes nothing.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn store_status(&self) -> Result<StoreReport, ServiceError> {
        let status = self.store().status().await.map_err(store_error)?;
        let (place, kind) = (self.options.store.to_string(), self.options.store.kind());
        Ok(StoreReport { place, kind, unwritable: status.unwritable.clone().map(store_error), status })
    }

    /// Brings the tables of the store to the version of this release. Returns the version before, or `None` if there is
    /// no store yet.
    ///
    /// # Errors
    /// The store cannot be written, or has a newer version.
    pub async fn migrate_store(&self) -> Result<Option<SchemaVersion>, ServiceError> {
        self.store().migrate().await.map_err(store_error)
    }

    /// Verifies every run: folds its journal and compares the result with everything that is stored beside it.
    ///
    /// # Errors
    /// The store cannot be read. A fault of a run is no error.
    pub async fn verify_store(&self) -> Result<Verification, ServiceError> {
        store::verify(self.store()).await.map_err(store_error)
    }
}
