//! Subscriptions to the resources of a server. The server is subscribed once for any number of subscribers, again
//! whenever it was started again, and no longer once the last subscriber has gone.

#![expect(deprecated, reason = "servers of revisions with sessions are subscribed with a request of its own")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    ClientRequest, ErrorCode, SubscribeRequest, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequest,
    UnsubscribeRequestParams,
};
use rmcp::service::Subscription;
use rmcp::{Peer, RoleClient};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::connection::{Connection, Terms};
use super::notices::Notices;
use super::slot::Slot;
use super::{CallError, CallErrorKind};
use crate::logging;

/// The wait before a subscription that was lost is tried again. It doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// The maximum of that wait.
const MAX_RETRY: Duration = Duration::from_secs(30);
/// The maximum wait for a server to confirm that a subscription has ended.
const ENDED_WITHIN: Duration = Duration::from_secs(5);

/// Counts the updates of a resource.
pub(super) type Updates = Arc<watch::Sender<u64>>;

/// The subscribed resources of a server, by address.
#[derive(Default)]
pub(super) struct Subscriptions(Mutex<BTreeMap<String, SubscribedResource>>);

struct SubscribedResource {
    updates: Updates,
    /// What the server answered to the first request.
    begun: watch::Receiver<Option<Result<(), CallError>>>,
}

impl Subscriptions {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, SubscribedResource>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, uri: &str) {
        self.all().remove(uri);
    }

    /// Removes a resource, unless it has a subscriber.
    fn remove_unused(&self, uri: &str, updates: &Updates) -> bool {
        // Under the lock, so that nobody subscribes meanwhile.
        let mut all = self.all();
        let is_unused = updates.receiver_count() == 0;
        if is_unused {
            all.remove(uri);
        }
        is_unused
    }
}

impl Slot {
    /// Subscribes to a resource. Returns a receiver that changes with each update. Dropping it ends the subscription.
    pub(super) async fn subscribe(
        self: &Arc<Self>,
        uri: &str,
        limit: Duration,
    ) -> Result<watch::Receiver<u64>, CallError> {
        let (receiver, mut begun) = {
            let mut all = self.subscriptions.all();
            match all.get(uri) {
                Some(known) => (known.updates.subscribe(), known.begun.clone()),
                None => {
                    let (updates, (first_outcome, begun)) = (Updates::new(watch::Sender::new(0)), watch::channel(None));
                    let receiver = updates.subscribe();
                    let resource = SubscribedResource { updates: Arc::clone(&updates), begun: begun.clone() };
                    all.insert(uri.to_owned(), resource);
                    let subscription = KeptSubscription { slot: Arc::clone(self), uri: uri.to_owned(), limit, updates };
                    // In its own task: the first subscriber may leave before others do.
                    tokio::spawn(subscription.keep(first_outcome));
                    (receiver, begun)
                }
            }
        };
        match begun.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or_else(|| Err(self.closed())).map(|()| receiver),
            Err(_ended) => Err(self.closed()),
        }
    }
}

/// A subscription that is kept while it has a subscriber.
struct KeptSubscription {
    slot: Arc<Slot>,
    uri: String,
    limit: Duration,
    updates: Updates,
}

impl KeptSubscription {
    async fn keep(self, first_outcome: watch::Sender<Option<Result<(), CallError>>>) {
        let (mut first_outcome, mut failures) = (Some(first_outcome), 0);
        loop {
            match self.begin().await {
                Ok(mut held) => {
                    failures = 0;
                    match first_outcome.take() {
                        Some(first_outcome) => drop(first_outcome.send_replace(Some(Ok(())))),
                        // Updates may have been missed while the server was away.
                        None => self.updates.send_modify(|count| *count += 1),
                    }
                    tokio::select! {
                        () = self.updates.closed() => held.end().await,
                        () = held.lost() => {}
                    }
                }
                Err(error) => {
                    if first_outcome.is_some() || error.kind == CallErrorKind::Closed {
                        self.slot.subscriptions.remove(&self.uri);
                        if let Some(first_outcome) = first_outcome {
                            first_outcome.send_replace(Some(Err(error)));
                        }
                        return;
                    }
                    let rest = FIRST_RETRY.saturating_mul(2_u32.saturating_pow(failures)).min(MAX_RETRY);
                    failures += 1;
                    tokio::select! {
                        () = self.updates.closed() => {}
                        () = sleep(rest) => {}
                    }
                }
            }
            if self.slot.subscriptions.remove_unused(&self.uri, &self.updates) {
                return;
            }
        }
    }

    async fn begin(&self) -> Result<HeldSubscription, CallError> {
        let connection = self.slot.connection().await?;
        let began = Instant::now();
        let held = connection.subscribe(&self.uri, &self.updates, self.limit).await;
        let code = held.as_ref().err().map(|error| error.code);
        logging::server_answered(&connection.server, ("resources/subscribe", None), began, code);
        held
    }
}

/// A subscription at a server that runs. It does not hold the connection, which ends with its server.
struct HeldSubscription {
    uri: String,
    peer: Peer<RoleClient>,
    notices: Arc<Notices>,
    /// The request that stays open at a server of the revision without a handshake.
    listening: Option<Subscription>,
}

impl HeldSubscription {
    /// Waits until the server is gone, or has ended the subscription.
    async fn lost(&mut self) {
        let ended = self.notices.ended();
        match &mut self.listening {
            None => ended.await,
            Some(listening) => tokio::select! {
                () = ended => {}
                () = async { while let Ok(Some(_counted)) = listening.next().await {} } => {}
            },
        }
    }

    /// Ends it at the server.
    async fn end(&mut self) {
        let ending = async {
            match &mut self.listening {
                Some(listening) => listening.cancel().await.is_ok(),
                None => {
                    let params = UnsubscribeRequestParams::new(self.uri.clone());
                    let request = ClientRequest::UnsubscribeRequest(UnsubscribeRequest::new(params));
                    self.peer.send_request(request).await.is_ok()
                }
            }
        };
        // A server that does not confirm it may send updates, which nobody receives.
        let _confirmed = timeout(ENDED_WITHIN, ending).await;
    }
}

impl Drop for HeldSubscription {
    fn drop(&mut self) {
        self.notices.unfollow(&self.uri);
    }
}

impl Connection {
    async fn subscribe(&self, uri: &str, updates: &Updates, limit: Duration) -> Result<HeldSubscription, CallError> {
        if !self.reports_updates() {
            let kind = CallErrorKind::Protocol { code: ErrorCode::METHOD_NOT_FOUND.0 };
            let message = format!("server `{}` reports no changes of its resources", self.server);
            return Err(self.error(kind, message, "read the resource again when you need it"));
        }
        self.notices.follow(uri, updates);
        let (peer, notices) = (self.peer.clone(), Arc::clone(&self.notices));
        let mut held = HeldSubscription { uri: uri.to_owned(), peer, notices, listening: None };
        let what = format!("subscription to `{uri}`");
        if !self.has_no_handshake() {
            let request = SubscribeRequest::new(SubscribeRequestParams::new(uri));
            let terms = Terms { limit, ..Terms::default() };
            self.request(&what, ClientRequest::SubscribeRequest(request), terms).await?;
            return Ok(held);
        }
        self.notices.ask();
        let wanted = SubscriptionFilter::builder().resource_subscription(uri).build();
        match timeout(limit, self.peer.listen(wanted.clone())).await {
            Ok(Ok(listening)) if *listening.acknowledged() == wanted => held.listening = Some(listening),
            Ok(Ok(_less)) => {
                let kind = CallErrorKind::Protocol { code: ErrorCode::INVALID_PARAMS.0 };
                let message = format!("server `{}` did not accept the {what}", self.server);
                return Err(self.error(kind, message, "read the resource again when you need it"));
            }
            Ok(Err(error)) => return Err(self.failed(&what, error).await),
            Err(_elapsed) => return Err(self.timed_out(&what, limit)),
        }
        Ok(held)
    }
}
