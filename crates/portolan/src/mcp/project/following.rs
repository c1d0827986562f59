//! Runs whose changes clients want to hear of, whichever process makes them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan_runtime::service::{Feed, Service};
use tokio::sync::watch;
use tokio::time::timeout;

/// How often to check whether anybody follows a run.
const LOOK: Duration = Duration::from_secs(1);
/// The most runs that are followed at once.
const MOST: usize = 10_000;

/// The followed runs. They are checked together while there is a receiver.
#[derive(Default)]
pub(super) struct FollowedRuns(Mutex<FollowState>);

#[derive(Default)]
struct FollowState {
    runs: BTreeMap<String, watch::Sender<u64>>,
    /// Whether a task checks for new records.
    is_checked: bool,
}

impl FollowedRuns {
    /// Returns a receiver that changes with the run. `None` if too many are followed.
    pub(super) fn follow(self: &Arc<Self>, service: &Arc<Service>, run: &str) -> Option<watch::Receiver<u64>> {
        let mut following = self.lock();
        following.runs.retain(|_, sender| sender.receiver_count() > 0);
        if following.runs.len() >= MOST && !following.runs.contains_key(run) {
            return None;
        }
        let receiver = following.runs.entry(run.to_owned()).or_insert_with(|| watch::Sender::new(0)).subscribe();
        if !std::mem::replace(&mut following.is_checked, true) {
            // What is written from now on is news, even if the task runs later.
            let feed = Feed::from_now(service.now(), None);
            tokio::spawn(Arc::clone(self).check(Arc::clone(service), feed));
        }
        Some(receiver)
    }

    /// Tells of new records until nobody follows a run.
    async fn check(self: Arc<Self>, service: Arc<Service>, mut feed: Feed) {
        loop {
            let _nobody_may_follow_any_more = timeout(LOOK, service.some_news(&mut feed)).await;
            // A store that cannot be read may be readable later. The next successful read returns what is missing.
            let news = service.news(&mut feed).await.unwrap_or_default();
            let mut following = self.lock();
            for happened in news {
                if let Some(sender) = following.runs.get(&happened.line.run) {
                    sender.send_modify(|count| *count += 1);
                }
            }
            following.runs.retain(|_, sender| sender.receiver_count() > 0);
            if following.runs.is_empty() {
                following.is_checked = false;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, FollowState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
