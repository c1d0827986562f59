//! What a server sends without being asked: the progress of requests, and changes of its lists.
//!
//! rmcp handles every notification in a task of its own, so that a request's progress could arrive after its result, and out
//! of order. Here it is taken from the transport, in the order in which the server wrote it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    GetExtensions, GetMeta, JsonRpcMessage, NumberOrString, ProgressNotificationParam, ProgressToken,
    ServerNotification,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;

use super::client::LogMessage;
use super::in_flight::CallsInFlight;
use super::stderr::Stderr;
use super::subscriptions::Updates;

/// The maximum number of characters of a message about progress. The rest is cut off.
const MAX_MESSAGE_CHARS: usize = 1000;

/// The maximum size of a log message in bytes. A larger one is replaced by a note.
const MAX_LOG_BYTES: usize = 64 << 10;

/// The progress of a request, as its server reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done, in a unit of the server's own.
    pub progress: f64,
    /// How much there is to do in all, if the server knows.
    pub total: Option<f64>,
    /// A message for people, of at most 1,000 characters.
    pub message: Option<String>,
}

/// A listener of the progress of a request.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// A listener as it is handed to the transport, inside of the request that it belongs to.
#[derive(Clone)]
pub(super) struct Listener(pub(super) OnProgress);

/// What a server has sent unasked, and the calls that it may concern.
pub(super) struct Notices {
    /// Counts the changes of the server's lists.
    changes: AtomicU64,
    /// Whether the server was asked to report them.
    is_asked: AtomicBool,
    /// Whether it was, and does.
    listens: AtomicBool,
    listeners: Mutex<BTreeMap<i64, Listener>>,
    /// The subscribed resources, by address.
    followed: Mutex<BTreeMap<String, Updates>>,
    /// Whether the connection is over.
    is_ended: watch::Sender<bool>,
    pub(super) calls: CallsInFlight,
    /// Knows the secrets of the server.
    stderr: Arc<Stderr>,
}

impl Notices {
    pub(super) fn new(stderr: Arc<Stderr>) -> Notices {
        Notices {
            changes: AtomicU64::default(),
            is_asked: AtomicBool::default(),
            listens: AtomicBool::default(),
            listeners: Mutex::default(),
            followed: Mutex::default(),
            is_ended: watch::Sender::new(false),
            calls: CallsInFlight::default(),
            stderr,
        }
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(super) fn listens(&self) -> bool {
        self.listens.load(Ordering::Relaxed)
    }

    /// Notes that the server is asked to report changes.
    pub(super) fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
    }

    /// Notes that the server reports changes, or does so no longer.
    pub(super) fn listen(&self, listens: bool) {
        self.listens.store(listens, Ordering::Relaxed);
        // A list that was cached while changes were reported has no expiry, so it must not be used after that.
        self.changes.fetch_add(u64::from(!listens), Ordering::Relaxed);
    }

    /// Counts the updates of a resource from here on.
    pub(super) fn follow(&self, uri: &str, updates: &Updates) {
        self.followed().insert(uri.to_owned(), Updates::clone(updates));
    }

    pub(super) fn unfollow(&self, uri: &str) {
        self.followed().remove(uri);
    }

    fn followed(&self) -> MutexGuard<'_, BTreeMap<String, Updates>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn updated(&self, uri: &str) {
        for (subscribed, updates) in &*self.followed() {
            if covers(subscribed, uri) {
                updates.send_modify(|count| *count += 1);
            }
        }
    }

    /// Notes that the connection is over.
    pub(super) fn end(&self) {
        self.is_ended.send_replace(true);
    }

    /// Waits until the connection is over.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut is_ended = self.is_ended.subscribe();
        async move {
            let _dropped = is_ended.wait_for(|is_ended| *is_ended).await.is_err();
        }
    }

    fn listeners(&self) -> MutexGuard<'_, BTreeMap<i64, Listener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the listener of a request that is over.
    pub(super) fn forget(&self, token: &ProgressToken) {
        if let NumberOrString::Number(number) = token.0 {
            self.listeners().remove(&number);
        }
    }

    fn sent(&self, request: &TxJsonRpcMessage<RoleClient>) {
        let JsonRpcMessage::Request(request) = request else { return };
        let Some(listener) = request.request.extensions().get::<Listener>() else { return };
        // rmcp's tokens are numbers.
        if let Some(ProgressToken(NumberOrString::Number(number))) = request.request.get_meta().get_progress_token() {
            self.listeners().insert(number, listener.clone());
        }
    }

    fn progressed(&self, params: ProgressNotificationParam) {
        let NumberOrString::Number(number) = params.progress_token.0 else { return };
        let Some(Listener(listen)) = self.listeners().get(&number).cloned() else { return };
        let message = params.message.map(|message| message.chars().take(MAX_MESSAGE_CHARS).collect());
        listen(Progress { progress: params.progress, total: params.total, message });
    }

    /// Passes on a log message, without the secrets of the server.
    fn logged(&self, message: &impl Serialize) {
        let text = serde_json::to_string(message).expect("JSON");
        let is_large = text.len() > MAX_LOG_BYTES;
        let Ok(mut message) = serde_json::from_str::<LogMessage>(&self.stderr.redact(text)) else { return };
        message.logger = message.logger.map(|logger| logger.chars().take(MAX_MESSAGE_CHARS).collect());
        if is_large {
            message.data = json!(format!("a log message was left out: it is larger than {MAX_LOG_BYTES} bytes"));
        }
        self.calls.log(message);
    }

    /// Takes in a notification. Returns any other message.
    fn received(&self, message: RxJsonRpcMessage<RoleClient>) -> Option<RxJsonRpcMessage<RoleClient>> {
        let JsonRpcMessage::Notification(notification) = message else { return Some(message) };
        match notification.notification {
            // rmcp waits for these where reports were asked for. From other servers they are not used either.
            ServerNotification::SubscriptionsAcknowledgedNotification(_)
            | ServerNotification::CancelledNotification(_)
                if self.is_asked.load(Ordering::Relaxed) =>
            {
                return Some(JsonRpcMessage::Notification(notification));
            }
            ServerNotification::ProgressNotification(progress) => self.progressed(progress.params),
            ServerNotification::ToolListChangedNotification(_)
            | ServerNotification::ResourceListChangedNotification(_)
            | ServerNotification::PromptListChangedNotification(_) => {
                self.changes.fetch_add(1, Ordering::Relaxed);
            }
            ServerNotification::ResourceUpdatedNotification(update) => self.updated(&update.params.uri),
            ServerNotification::LoggingMessageNotification(message) if !self.calls.is_empty() => {
                self.logged(&message.params);
            }
            // Others are not used.
            _ => {}
        }
        None
    }
}

/// Checks whether an update of a resource is one of a subscribed resource. By the specification, it may be of a part of that.
fn covers(subscribed: &str, updated: &str) -> bool {
    let rest = updated.strip_prefix(subscribed);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || subscribed.ends_with('/'))
}

/// A transport whose notifications are taken in.
pub(super) struct WatchedTransport<T> {
    pub(super) transport: T,
    pub(super) notices: Arc<Notices>,
}

impl<T> Drop for WatchedTransport<T> {
    fn drop(&mut self) {
        self.notices.end();
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for WatchedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.notices.sent(&message);
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.transport.receive().await?;
            if let Some(message) = self.notices.received(message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn an_update_is_one_of_the_resource_or_of_a_part_of_it() {
        for (subscribed, updated, is_one) in [
            ("db://row/1", "db://row/1", true),
            ("db://row/1", "db://row/10", false),
            ("db://row", "db://row/1", true),
            ("file:///docs/", "file:///docs/plan", true),
            ("db://row/1", "db://row", false),
        ] {
            assert_eq!(covers(subscribed, updated), is_one, "{subscribed} {updated}");
        }
    }
}
