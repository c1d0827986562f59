//! Stores a driven run: each of its events is stored before its effects are performed.

use std::pin::Pin;

use portolan_core::run::{Change, Event, EventKind, Run};

use crate::conflict::CommitError;
use crate::logging;
use crate::store::{Record, RunId, Store, StoreError, store_error};

/// The future of a [`Keep`] method.
pub type KeepFuture<'k, T = ()> = Pin<Box<dyn Future<Output = Result<T, CommitError>> + Send + 'k>>;

/// Stores the events of one run.
pub trait Keep: Send + Sync {
    /// Stores an event with its changes and the resulting run. If another writer came first, the error is
    /// [`CommitError::Conflict`] and nothing is stored.
    fn record<'k>(&'k mut self, event: &'k Event, changes: &'k [Change], after: &'k Run) -> KeepFuture<'k>;

    /// Returns the run as it is stored now, before `next` is decided: after a conflict, and after a release.
    fn take_up<'k>(&'k mut self, next: &'k EventKind) -> KeepFuture<'k, Run>;

    /// Leaves the run, which is paused before a node, to whoever continues it by hand. Its next record ends this.
    fn pause(&mut self) -> KeepFuture<'_> {
        Box::pin(async { Ok(()) })
    }

    /// Releases the run while checks are performed, which may take long. Returns whether others may move it until it is
    /// taken up again.
    fn release(&mut self) -> bool {
        false
    }
}

/// A run in a store.
pub struct StoreRun<'s> {
    store: &'s dyn Store,
    id: RunId,
    seq: u64,
}

impl<'s> StoreRun<'s> {
    /// Returns the run `id`, whose last record has the number `seq`.
    pub fn new(store: &'s dyn Store, id: RunId, seq: u64) -> StoreRun<'s> {
        StoreRun { store, id, seq }
    }
}

impl Keep for StoreRun<'_> {
    fn record<'k>(&'k mut self, event: &'k Event, changes: &'k [Change], after: &'k Run) -> KeepFuture<'k> {
        Box::pin(async move {
            let record = Record { seq: self.seq + 1, event: event.clone(), changes: changes.to_vec() };
            match self.store.append(&self.id, self.seq, &record, after).await {
                Ok(()) => self.seq += 1,
                Err(StoreError::Conflict { .. }) => return Err(CommitError::Conflict),
                Err(error) => return Err(store_error(error).into()),
            }
            logging::decided(Some(self.id.as_str()), Some(self.seq), logging::event_word(&event.what), changes.len());
            Ok(())
        })
    }

    fn pause(&mut self) -> KeepFuture<'_> {
        Box::pin(async move { Ok(self.store.defer(&self.id, None).await.map_err(store_error)?) })
    }

    fn take_up<'k>(&'k mut self, _next: &'k EventKind) -> KeepFuture<'k, Run> {
        Box::pin(async move {
            let stored = self.store.load(&self.id).await.map_err(store_error)?;
            self.seq = stored.seq;
            Ok(stored.run)
        })
    }
}
