//! The resources that a session is subscribed to.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

/// The notifying tasks, by the address of the resource. They end with the session.
#[derive(Default)]
pub(super) struct Subscriptions(Mutex<BTreeMap<String, AbortHandle>>);

impl Subscriptions {
    /// Begins a subscription. It replaces an earlier one to the same resource.
    pub(super) fn begin(&self, uri: String, telling: impl Future<Output = ()> + Send + 'static) {
        let telling = tokio::spawn(telling).abort_handle();
        if let Some(before) = self.all().insert(uri, telling) {
            before.abort();
        }
    }

    /// Ends a subscription.
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
