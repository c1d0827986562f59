//! The resources that clients are subscribed to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The most subscriptions of one client to the resources of other servers.
const MAX_OF_CLIENT: usize = 200;
/// The most of all clients.
const MAX_IN_ALL: usize = 5_000;

/// The notifying tasks of a session, by the address of the resource. They end with the session.
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

/// The updates of a resource, until this is dropped.
pub(super) struct ResourceUpdates {
    counted: watch::Receiver<u64>,
    /// The place that a subscription takes among those of its client.
    _place: Option<SubscriptionPlace>,
}

impl ResourceUpdates {
    pub(super) fn of(counted: watch::Receiver<u64>, place: Option<SubscriptionPlace>) -> ResourceUpdates {
        ResourceUpdates { counted, _place: place }
    }

    /// Waits for an update. Returns `false` if there will be none.
    pub(super) async fn next(&mut self) -> bool {
        self.counted.changed().await.is_ok()
    }
}

/// The numbers of subscriptions, by client.
#[derive(Default)]
pub(super) struct SubscriptionCounts(Mutex<BTreeMap<String, usize>>);

/// A place among the subscriptions of a client, which is free again when this is dropped.
pub(super) struct SubscriptionPlace {
    counts: Arc<SubscriptionCounts>,
    client: String,
}

impl SubscriptionCounts {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for one more subscription. `None` if the client has too many, or all clients together.
    pub(super) fn take(self: &Arc<Self>, client: &str) -> Option<SubscriptionPlace> {
        let mut all = self.all();
        if all.values().sum::<usize>() >= MAX_IN_ALL || all.get(client).is_some_and(|count| *count >= MAX_OF_CLIENT) {
            return None;
        }
        *all.entry(client.to_owned()).or_default() += 1;
        Some(SubscriptionPlace { counts: Arc::clone(self), client: client.to_owned() })
    }
}

impl Drop for SubscriptionPlace {
    fn drop(&mut self) {
        let mut all = self.counts.all();
        if let Some(count) = all.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_a_bounded_number_of_subscriptions() {
        let counts = Arc::<SubscriptionCounts>::default();
        let mut places: Vec<_> = std::iter::from_fn(|| counts.take("one")).collect();
        assert_eq!(places.len(), MAX_OF_CLIENT);
        let other = counts.take("other");
        assert!(other.is_some(), "another client has its own number");
        places.pop();
        places.push(counts.take("one").expect("one is free again"));
        assert!(counts.take("one").is_none());
        drop((places, other));
        assert!(counts.all().is_empty());
    }

    #[test]
    fn all_clients_together_have_a_bounded_number() {
        let counts = Arc::<SubscriptionCounts>::default();
        let each = |client: usize| std::iter::from_fn(move || Some(client));
        let places: Vec<_> = (0..100)
            .flat_map(|client| each(client).map_while(|client| counts.take(&client.to_string())).collect::<Vec<_>>())
            .collect();
        assert_eq!(places.len(), MAX_IN_ALL);
    }
}
