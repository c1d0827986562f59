//! A run that outlives the process: each of its events is on disk before what follows from it is done.

use std::pin::Pin;

use portolan_core::run::{Change, Event, Run};

use crate::error::ServiceError;
use crate::store::{Record, RunId, Store, store_error};

/// An event while it is kept.
pub(crate) type Keeping<'k> = Pin<Box<dyn Future<Output = Result<(), ServiceError>> + Send + 'k>>;

/// Keeps the events of one run.
pub(crate) trait Keep: Send + Sync {
    /// Puts an event on disk with what it changed, and the run as it is after it.
    fn record<'k>(&'k mut self, event: Event, changes: Vec<Change>, after: &'k Run) -> Keeping<'k>;
}

/// A run in a store.
pub(crate) struct Stored<'s> {
    pub(crate) store: &'s dyn Store,
    pub(crate) id: RunId,
    /// The number of its last record.
    pub(crate) seq: u64,
}

impl Keep for Stored<'_> {
    fn record<'k>(&'k mut self, event: Event, changes: Vec<Change>, after: &'k Run) -> Keeping<'k> {
        Box::pin(async move {
            let record = Record { seq: self.seq + 1, event, changes };
            self.store.append(&self.id, self.seq, &record, after).await.map_err(store_error)?;
            self.seq += 1;
            Ok(())
        })
    }
}
