//! Of which resources a session wants to be told when they change.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

/// What tells a session, by the address of the resource. It ends with the session.
#[derive(Default)]
pub(super) struct Subscriptions(Mutex<BTreeMap<String, AbortHandle>>);

impl Subscriptions {
    /// Has it told from now on. A second subscription to the same takes the place of the first.
    pub(super) fn begin(&self, uri: String, telling: impl Future<Output = ()> + Send + 'static) {
        let telling = tokio::spawn(telling).abort_handle();
        if let Some(before) = self.all().insert(uri, telling) {
            before.abort();
        }
    }

    /// Has it told no more.
    pub(super) fn end(&self, uri: &str) {
        if let Some(telling) = self.all().remove(uri) {
            telling.abort();
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        self.all().values().for_each(AbortHandle::abort);
    }
}
