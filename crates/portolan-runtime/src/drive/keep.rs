//! A run that outlives the process: each of its events is on disk before what follows from it is done.

use portolan_core::run::{Change, Event, Run};

use crate::error::ServiceError;
use crate::service::{Held, Service};
use crate::store::{Record, RunId, Store, store_error};

/// Where a run is kept.
pub(crate) enum Keep<'d> {
    /// In the store, up to this record.
    Stored {
        /// The store.
        store: &'d dyn Store,
        /// The run.
        id: RunId,
        /// The number of its last record.
        seq: u64,
    },
    /// Wherever an agent's run lives that came to a function.
    Held(&'d Service, &'d mut Held),
}

impl Keep<'_> {
    pub(super) async fn record(&mut self, event: Event, changes: Vec<Change>, after: &Run) -> Result<(), ServiceError> {
        match self {
            Keep::Stored { store, id, seq } => {
                let record = Record { seq: *seq + 1, event, changes };
                store.append(id, *seq, &record, after).await.map_err(store_error)?;
                *seq += 1;
                Ok(())
            }
            Keep::Held(service, held) => service.keep(held, event, changes).await,
        }
    }
}
