//! The sessions of one path. Those that are idle are suspended, and restored at their next request.
//!
//! rmcp keeps two tasks and the buffers of five channels for a session, some 80 KiB. Of a suspended session only its
//! `initialize` message is kept. A client does not notice the difference: what else a session contains (a call, a stream,
//! a subscription, a response that its client may come back for) keeps it from being suspended.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use portolan_runtime::service::ServiceError;
use rmcp::ServiceExt;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, LocalSessionManagerError, LocalSessionWorker, SessionConfig, SessionError, create_local_session,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use rmcp::transport::{StreamableHttpServerConfig, WorkerTransport};
use serde_json::json;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, timeout};

use super::IDLE;
use crate::http::random_token;
use crate::mcp::face::Face;

/// How long a session is idle before it is suspended.
const SUSPENDED_AFTER: Duration = Duration::from_secs(10);
/// The same, while more than [`MANY`] sessions are active, which would take much memory: allocators do not return all.
const SUSPENDED_AFTER_IF_MANY: Duration = Duration::from_millis(100);
const MANY: usize = 500;
/// How long a worker can take to notice that it is to end.
const CLOSED_WITHIN: Duration = Duration::from_millis(250);
/// The most bytes of an `initialize` message that is kept. A session with a longer one is not suspended.
const MAX_INITIALIZE: usize = 16 << 10;

/// Creates the server of a session. The parameter is whether the session was suspended before.
pub(super) type MakeFace = Arc<dyn Fn(bool) -> Face + Send + Sync>;

/// The sessions of a path.
pub(super) struct SessionTable(Arc<SharedSessions>);

struct SharedSessions {
    sessions: Mutex<BTreeMap<SessionId, Session>>,
    face: MakeFace,
    config: StreamableHttpServerConfig,
    /// When idle sessions were last looked for.
    looked: Mutex<Instant>,
    /// Held while a session is restored, so that two requests do not restore it twice.
    restoring: tokio::sync::Mutex<()>,
}

struct Session {
    /// The message that began it. `None` if it cannot be restored.
    initialize: Option<Box<str>>,
    /// When its last request arrived, or its last stream ended.
    used: Instant,
    /// How often it was restored.
    restored: u32,
    active: Option<Active>,
}

/// What a session has while it is not suspended.
struct Active {
    handle: LocalSessionHandle,
    /// The number of streams that are open, with those of calls.
    streams: usize,
    /// Whether it contains more than its `initialize` message can restore.
    must_stay: bool,
}

impl Active {
    fn new(handle: LocalSessionHandle) -> Active {
        Active { handle, streams: 0, must_stay: false }
    }
}

impl Session {
    fn is_idle(&self, now: Instant, time: Duration) -> bool {
        let has_stream = self.active.as_ref().is_some_and(|active| active.streams > 0);
        !has_stream && now.duration_since(self.used) >= time
    }

    fn can_be_suspended(&self) -> bool {
        self.initialize.is_some() && self.active.as_ref().is_some_and(|active| !active.must_stay)
    }
}

impl SessionTable {
    pub(super) fn new(face: MakeFace, config: StreamableHttpServerConfig) -> SessionTable {
        let (sessions, looked) = (Mutex::default(), Mutex::new(Instant::now()));
        SessionTable(Arc::new(SharedSessions {
            sessions,
            face,
            config,
            looked,
            restoring: tokio::sync::Mutex::default(),
        }))
    }

    /// Returns the number of sessions, and how many of them are suspended.
    pub(super) fn count(&self) -> (usize, usize) {
        let sessions = self.0.all();
        (sessions.len(), sessions.values().filter(|session| session.active.is_none()).count())
    }

    /// Returns the ids of all sessions.
    pub(super) fn ids(&self) -> Vec<String> {
        self.0.all().keys().map(|id| id.to_string()).collect()
    }

    #[cfg(test)]
    pub(super) fn add_suspended(&self, id: &str) {
        let session = Session { initialize: None, used: Instant::now(), restored: 0, active: None };
        self.0.all().insert(id.into(), session);
    }

    /// Ends the session that its client has ended.
    pub(super) async fn end(&self, id: &str) {
        let ended = self.0.all().remove(id);
        close(ended.and_then(|session| session.active)).await;
    }

    /// Ends all sessions.
    pub(super) async fn end_all(&self) {
        let ended = std::mem::take(&mut *self.0.all());
        for session in ended.into_values() {
            close(session.active).await;
        }
    }

    /// Checks whether a stream is open or a session contains more than can be restored.
    pub(super) fn is_in_use(&self) -> bool {
        let sessions = self.0.all();
        let mut active = sessions.values().filter_map(|session| session.active.as_ref());
        active.any(|active| active.streams > 0 || active.must_stay)
    }

    /// Suspends the sessions that have been idle for a while, and ends those that have been idle for [`IDLE`].
    pub(super) async fn suspend_idle(&self) {
        self.0.suspend_idle().await;
    }
}

/// Ends the tasks of a session.
async fn close(active: Option<Active>) {
    if let Some(active) = active {
        // A worker that has ended is closed. One that waits for a slow reader ends with its handle.
        let _ended = timeout(CLOSED_WITHIN, active.handle.close()).await;
    }
}

/// Returns the parameters of rmcp's sessions. It is the table that ends them.
fn session_config() -> SessionConfig {
    let mut config = SessionConfig::default();
    config.keep_alive = None;
    config
}

fn worker(id: &SessionId) -> (LocalSessionHandle, WorkerTransport<LocalSessionWorker>) {
    let (handle, worker) = create_local_session(Arc::clone(id), session_config());
    (handle, WorkerTransport::spawn(worker))
}

impl SharedSessions {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SessionId, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Suspends idle sessions before another one becomes active, unless it was done just now.
    async fn make_room(&self) {
        let now = Instant::now();
        let is_soon = {
            let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            now.duration_since(*looked) < SUSPENDED_AFTER_IF_MANY
        };
        if !is_soon && self.all().len() > MANY {
            self.suspend_idle().await;
        }
    }

    async fn suspend_idle(&self) {
        let (mut closed, now) = (Vec::new(), Instant::now());
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = now;
        {
            let mut sessions = self.all();
            let active = sessions.values().filter(|session| session.active.is_some()).count();
            let after = if active > MANY { SUSPENDED_AFTER_IF_MANY } else { SUSPENDED_AFTER };
            sessions.retain(|_id, session| {
                let is_over = session.is_idle(now, IDLE);
                if is_over || session.can_be_suspended() && session.is_idle(now, after) {
                    closed.push(session.active.take());
                }
                !is_over
            });
        }
        for active in closed {
            close(active).await;
        }
    }

    /// Returns the handle of a session, and notes that it is used.
    fn used(&self, id: &SessionId) -> Option<LocalSessionHandle> {
        let mut sessions = self.all();
        let session = sessions.get_mut(id)?;
        session.used = Instant::now();
        session.active.as_ref().map(|active| active.handle.clone())
    }

    /// The same, for a request that is about to use it.
    fn handle(&self, id: &SessionId) -> Result<LocalSessionHandle, LocalSessionManagerError> {
        self.used(id).ok_or_else(|| LocalSessionManagerError::SessionNotFound(Arc::clone(id)))
    }

    /// Counts a stream until it is dropped.
    fn open(self: &Arc<Self>, id: &SessionId, is_call: bool, must_stay: bool) -> OpenStream {
        if let Some(active) = self.all().get_mut(id).and_then(|session| session.active.as_mut()) {
            active.streams += 1;
            active.must_stay |= must_stay;
        }
        OpenStream { shared: Arc::clone(self), id: Arc::clone(id), is_unanswered: is_call }
    }

    /// Restores a session that is suspended. Returns `false` if there is none.
    async fn restore(self: Arc<Self>, id: SessionId) -> bool {
        let _one = self.restoring.lock().await;
        if self.used(&id).is_some() {
            return true;
        }
        self.make_room().await;
        let initialize = self.all().get(&id).and_then(|session| session.initialize.clone());
        let Some(Ok(initialize)) = initialize.map(|text| serde_json::from_str(&text)) else { return false };
        let initialized = serde_json::from_value(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let initialized = initialized.expect("it is a message");
        let (handle, transport) = worker(&id);
        let restored = self.all().get(&id).map_or(0, |session| session.restored) + 1;
        tokio::spawn(Arc::clone(&self).serve(Arc::clone(&id), restored, transport));
        if handle.initialize(initialize).await.is_err() || handle.push_message(initialized, None).await.is_err() {
            return false;
        }
        match self.all().get_mut(&id) {
            Some(session) => {
                session.restored = restored;
                session.active = Some(Active::new(handle));
                true
            }
            // The client has ended it meanwhile. The worker ends with its handle.
            None => false,
        }
    }

    /// Serves a restored session until it is suspended again or ends.
    async fn serve(self: Arc<Self>, id: SessionId, restored: u32, transport: WorkerTransport<LocalSessionWorker>) {
        let cancel = self.config.cancellation_token.child_token();
        if let Ok(running) = (self.face)(true).serve_with_ct(transport, cancel).await {
            let _reason = running.waiting().await;
        }
        self.worker_ended(&id, restored);
    }

    /// Removes a session whose worker has ended, unless it was suspended.
    fn worker_ended(&self, id: &SessionId, restored: u32) -> Option<Active> {
        let mut sessions = self.all();
        let session = sessions.get(id)?;
        if session.active.is_none() || session.restored != restored {
            return None;
        }
        sessions.remove(id)?.active
    }
}

impl SessionManager for SessionTable {
    type Error = LocalSessionManagerError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let id = random_token().map_err(|error: ServiceError| SessionError::Io(io::Error::other(error.to_string())))?;
        let id = SessionId::from(id);
        self.0.make_room().await;
        let (handle, transport) = worker(&id);
        let active = Some(Active::new(handle));
        let session = Session { initialize: None, used: Instant::now(), restored: 0, active };
        self.0.all().insert(Arc::clone(&id), session);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let text = serde_json::to_string(&message).ok().filter(|text| text.len() <= MAX_INITIALIZE);
        let response = self.0.handle(id)?.initialize(message).await?;
        if let Some(session) = self.0.all().get_mut(id) {
            session.initialize = text.map(String::into_boxed_str);
        }
        Ok(response)
    }

    /// Restores the session of a request if it is suspended.
    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        if self.0.used(id).is_some() {
            return Ok(true);
        }
        if !self.0.all().contains_key(id) {
            return Ok(false);
        }
        // A client that leaves meanwhile must not leave half a session behind.
        Ok(tokio::spawn(Arc::clone(&self.0).restore(Arc::clone(id))).await.unwrap_or(false))
    }

    /// Notes that the first worker of a session has ended. rmcp also calls it for the client, see [`SessionTable::end`].
    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        close(self.0.worker_ended(id, 0)).await;
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let handle = self.0.handle(id)?;
        let open = self.0.open(id, true, subscribes(&message));
        let receiver = handle.establish_request_wise_channel().await?;
        handle.push_message(message, receiver.http_request_id).await?;
        Ok(open.of(receiver.inner))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        Ok(self.0.handle(id)?.push_message(message, None).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let handle = self.0.handle(id)?;
        let open = self.0.open(id, false, false);
        Ok(open.of(handle.establish_common_channel().await?.inner))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let handle = self.0.handle(id)?;
        let open = self.0.open(id, false, false);
        Ok(open.of(handle.resume(last_event_id.parse()?).await?.inner))
    }
}

/// Checks whether a message begins a subscription, which lives in the session.
fn subscribes(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    matches!(request.request, ClientRequest::SubscribeRequest(_))
}

/// An open stream of a session.
struct OpenStream {
    shared: Arc<SharedSessions>,
    id: SessionId,
    /// Whether it is the stream of a call whose response was not sent.
    is_unanswered: bool,
}

impl OpenStream {
    fn of(self, messages: Receiver<ServerSseMessage>) -> Messages {
        Messages { messages, open: self }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut sessions = self.shared.all();
        let Some(session) = sessions.get_mut(&self.id) else { return };
        session.used = Instant::now();
        if let Some(active) = &mut session.active {
            active.streams = active.streams.saturating_sub(1);
            // Its client may come back for the response.
            active.must_stay |= self.is_unanswered;
        }
    }
}

/// The messages of a stream.
struct Messages {
    messages: Receiver<ServerSseMessage>,
    open: OpenStream,
}

impl Stream for Messages {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        let message = self.messages.poll_recv(context);
        if let Poll::Ready(message) = &message {
            let message = message.as_ref().map(|message| message.message.as_deref());
            // The stream of a call that its client has cancelled ends without a response.
            if matches!(message, None | Some(Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)))) {
                self.open.is_unanswered = false;
            }
        }
        message
    }
}
