//! A connection to a server after the handshake: sends requests, receives replies, and remembers what the server
//! reported about itself.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, GetExtensions, ProgressToken, RequestId,
};
use rmcp::service::{PeerRequestOptions, RunningService, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::{Peer, RoleClient};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::bounds;
use super::client::{CallClient, ClientFeatures, LogLevel};
use super::error::clip_line;
use super::face::{Face, level_request};
use super::http::reason;
use super::in_flight::Registration;
use super::lists::{self, Offers, ReceivedList, Tool};
use super::message::{TOO_LARGE, UNREADABLE, untyped};
use super::notices::{Listener, Notices, OnProgress};
#[cfg(unix)]
use super::process::Process;
use super::stderr::Stderr;
use super::{CallError, CallErrorKind, ServerAbout, seconds};

/// The maximum wait for the end of a process, to report how it ended.
const POST_MORTEM: Duration = Duration::from_secs(1);
/// Fields of a request's `_meta` for servers without a handshake.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

pub(super) struct Connection {
    pub(super) server: String,
    pub(super) peer: Peer<RoleClient>,
    running: Mutex<Option<RunningService<RoleClient, Face>>>,
    #[cfg(unix)]
    process: Option<Process>,
    stderr: Arc<Stderr>,
    pub(super) notices: Arc<Notices>,
    /// The list of tools, if it was requested.
    pub(super) tools: Mutex<Option<ReceivedList<[Tool]>>>,
    /// The lists of resources and prompts, if they were requested.
    pub(super) offers: Mutex<Option<ReceivedList<Offers>>>,
    answered: AtomicBool,
    gone: AtomicBool,
    /// What the server was told that it may ask.
    features: ClientFeatures,
    /// The least severe log messages that the server was asked for.
    log_level: Mutex<Option<LogLevel>>,
}

/// The parts of a connection after the handshake.
pub(super) struct Parts {
    pub(super) running: RunningService<RoleClient, Face>,
    #[cfg(unix)]
    pub(super) process: Option<Process>,
    pub(super) stderr: Arc<Stderr>,
    pub(super) notices: Arc<Notices>,
    pub(super) features: ClientFeatures,
}

/// What a request brings along, and what it allows.
#[derive(Default)]
pub(super) struct Terms {
    /// Its `_meta`.
    pub(super) meta: Map<String, Value>,
    /// The maximum time of the answer.
    pub(super) limit: Duration,
    /// Receives the progress that the server reports.
    pub(super) progress: Option<OnProgress>,
    /// The client for which it is sent.
    pub(super) client: Option<CallClient>,
}

impl Connection {
    pub(super) fn new(server: &str, parts: Parts) -> Connection {
        lists::listen(parts.running.peer(), &parts.notices);
        Connection {
            server: server.to_owned(),
            peer: parts.running.peer().clone(),
            notices: parts.notices,
            running: Mutex::new(Some(parts.running)),
            #[cfg(unix)]
            process: parts.process,
            stderr: parts.stderr,
            tools: Mutex::default(),
            offers: Mutex::default(),
            answered: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            features: parts.features,
            log_level: Mutex::default(),
        }
    }

    /// Returns what the server was told that it may ask.
    pub(super) fn features(&self) -> &ClientFeatures {
        &self.features
    }

    /// Checks whether the server is told with each request what it may ask.
    pub(super) fn has_no_handshake(&self) -> bool {
        self.peer.peer_info().is_some_and(|info| !info.protocol_version.has_initialize())
    }

    /// Checks whether calls of clients are under way.
    pub(super) fn is_called(&self) -> bool {
        !self.notices.calls.is_empty()
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed) || self.peer.is_transport_closed()
    }

    /// Checks whether it has ever answered a request.
    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    pub(super) fn changes(&self) -> u64 {
        self.notices.changes()
    }

    /// Checks whether the server has announced resources, and whether it has announced prompts.
    pub(super) fn has_resources_and_prompts(&self) -> (bool, bool) {
        let info = self.peer.peer_info();
        let capabilities = info.as_deref().map(|info| &info.capabilities);
        capabilities.map_or((false, false), |all| (all.resources.is_some(), all.prompts.is_some()))
    }

    /// Checks whether the server has announced that its resources can be subscribed to.
    pub(super) fn reports_updates(&self) -> bool {
        let info = self.peer.peer_info();
        let resources = info.as_deref().and_then(|info| info.capabilities.resources.as_ref());
        resources.is_some_and(|resources| resources.subscribe == Some(true))
    }

    /// Checks whether the server reports changes of its lists.
    pub(super) fn tells_changes(&self) -> bool {
        let info = self.peer.peer_info();
        info.is_some_and(|info| info.protocol_version.has_initialize()) || self.notices.listens()
    }

    pub(super) fn about(&self) -> ServerAbout {
        let info = self.peer.peer_info();
        let info = info.as_deref();
        let server = info.and_then(|info| info.server_info.clone());
        ServerAbout {
            name: server.as_ref().map_or_else(|| self.server.clone(), |server| server.name.clone()),
            title: server.as_ref().and_then(|server| server.title.clone()),
            version: server.map(|server| server.version),
            instructions: info.and_then(|info| info.instructions.clone()),
        }
    }

    /// Sends a request and waits for its result. If the future is dropped before that, the server is notified that the
    /// request is cancelled.
    pub(super) async fn request(
        &self,
        what: &str,
        request: ClientRequest,
        mut terms: Terms,
    ) -> Result<Value, CallError> {
        let limit = terms.limit;
        let answer = match terms.client.take() {
            None => timeout(limit, self.exchange(request, terms)).await.ok(),
            Some(client) => {
                self.declare(&client, &mut terms).await;
                let Registration { call, .. } = &self.notices.calls.register(client);
                tokio::select! {
                    biased;
                    answer = self.exchange(request, terms) => Some(answer),
                    () = call.used_up(limit) => None,
                }
            }
        };
        let Some(answer) = answer else { return Err(self.timed_out(what, limit)) };
        match answer {
            Ok(result) => {
                self.answered.store(true, Ordering::Relaxed);
                Ok(result)
            }
            Err(error) => Err(self.failed(what, error).await),
        }
    }

    /// Tells the server what it may ask the client of a call, and which log messages the client wants.
    async fn declare(&self, client: &CallClient, terms: &mut Terms) {
        let level = client.log.as_ref().map(|(level, _)| *level);
        if self.has_no_handshake() {
            let declared = serde_json::to_value(client.features.declared()).expect("JSON");
            terms.meta.insert(CAPABILITIES.to_owned(), declared);
            if let Some(level) = level {
                terms.meta.insert(LOG_LEVEL.to_owned(), serde_json::to_value(level).expect("JSON"));
            }
        } else if let Some(level) = level {
            self.ask_for_logs(level, terms.limit).await;
        }
    }

    /// Asks a server with sessions for log messages, unless it was asked for these before.
    async fn ask_for_logs(&self, level: LogLevel, limit: Duration) {
        let info = self.peer.peer_info();
        if info.is_none_or(|info| info.capabilities.logging.is_none()) {
            return;
        }
        {
            let mut current = self.log_level.lock().unwrap_or_else(PoisonError::into_inner);
            if current.is_some_and(|current| current <= level) {
                return;
            }
            *current = Some(level);
        }
        // A server that refuses sends what it will: the call does not depend on it.
        let _answered = timeout(limit, self.exchange(level_request(level), Terms::default())).await;
    }

    async fn exchange(&self, mut request: ClientRequest, terms: Terms) -> Result<Value, ServiceError> {
        let options = PeerRequestOptions::no_options().with_meta(terms.meta.into());
        if let Some(progress) = terms.progress {
            request.extensions_mut().insert(Listener(progress));
        }
        let handle = self.peer.send_cancellable_request(request, options).await?;
        let (peer, notices) = (&self.peer, &*self.notices);
        let mut giving_up = GivingUp { peer, id: Some(handle.id), notices, token: handle.progress_token };
        let answer = handle.rx.await;
        giving_up.id = None;
        let result = answer.map_err(|_dropped| ServiceError::TransportClosed)??;
        untyped(result).map_err(|_unwritable| ServiceError::UnexpectedResponse)
    }

    pub(super) fn timed_out(&self, what: &str, limit: Duration) -> CallError {
        let message = format!("{what} of server `{}` did not answer within {}", self.server, seconds(limit));
        let help = "give the call more time, or find out what the server waits for";
        self.error(CallErrorKind::Timeout, message, help)
    }

    pub(super) async fn failed(&self, what: &str, error: ServiceError) -> CallError {
        match error {
            ServiceError::McpError(error) if error.code == TOO_LARGE => {
                let message =
                    format!("the reply of {what} of server `{}` was discarded: {}", self.server, error.message);
                self.error(CallErrorKind::TooLarge, message, "ask the tool for less at a time")
            }
            ServiceError::McpError(error) if error.code == UNREADABLE => {
                let why = clip_line(&self.stderr.redact(error.message.into_owned()));
                let message = format!("the reply of {what} of server `{}` cannot be read: {why}", self.server);
                let help = "report this to the author of the server: a reply must be one line of JSON in UTF-8, \
                    nested at most 128 levels deep";
                self.error(CallErrorKind::Unreadable, message, help)
            }
            ServiceError::McpError(error) => {
                self.answered.store(true, Ordering::Relaxed);
                let kind = CallErrorKind::Protocol { code: error.code.0 };
                let words = clip_line(&self.stderr.redact(error.message.into_owned()));
                let message = format!("server `{}` refused {what}: {words} ({})", self.server, error.code.0);
                self.error(kind, message, "correct the call; the server lists the arguments of its tools")
            }
            ServiceError::UnexpectedResponse => {
                let message = format!("server `{}` answered {what} with something that is not a result", self.server);
                self.error(CallErrorKind::Unusable, message, "report this to the author of the server")
            }
            ServiceError::TransportSend(error) if is_too_large(&error) => {
                let message = format!("the reply of {what} of server `{}` was discarded: it is too large", self.server);
                self.error(CallErrorKind::TooLarge, message, "ask the tool for less at a time")
            }
            other => self.lost(what, &other).await,
        }
    }

    /// Returns the error for a server that went away. Nothing more is sent over this connection.
    async fn lost(&self, what: &str, error: &ServiceError) -> CallError {
        self.gone.store(true, Ordering::Relaxed);
        self.notices.end();
        let how = match (self.obituary().await, error) {
            (Some(how), _) => how,
            (None, ServiceError::TransportSend(error)) => {
                format!("cannot be reached ({})", clip_line(&self.stderr.redact(reason(error.error.as_ref()))))
            }
            (None, _) => "closed the connection".to_owned(),
        };
        let message = format!("server `{}` {how} during {what}", self.server);
        let help = "the next call starts the server again; whether this one had an effect is unknown";
        self.error(CallErrorKind::Lost, message, help)
    }

    #[cfg(unix)]
    async fn obituary(&self) -> Option<String> {
        match &self.process {
            Some(process) => process.ended(POST_MORTEM).await,
            None => None,
        }
    }

    #[cfg(not(unix))]
    async fn obituary(&self) -> Option<String> {
        None
    }

    pub(super) fn error(&self, kind: CallErrorKind, message: String, help: &str) -> CallError {
        CallError::new(kind, &self.server, message, help).with_stderr(self.stderr.tail())
    }

    /// Closes the connection, and waits until the server's process has ended by itself or by force.
    pub(super) async fn close(&self, patience: Duration) {
        self.gone.store(true, Ordering::Relaxed);
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut running) = running {
            let _late = running.close_with_timeout(patience).await;
        }
        #[cfg(unix)]
        if let Some(process) = &self.process {
            let _how = process.ended(patience).await;
        }
    }
}

fn is_too_large(error: &DynamicTransportError) -> bool {
    bounds::is_too_large(&error.error.to_string())
}

/// Notifies the server, when dropped, that the request is cancelled, unless it was answered. Its progress is no longer
/// heard.
struct GivingUp<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
    notices: &'a Notices,
    token: ProgressToken,
}

impl Drop for GivingUp<'_> {
    fn drop(&mut self) {
        self.notices.forget(&self.token);
        let Some(id) = self.id.take() else { return };
        let reason = Some("the caller no longer waits for the answer".to_owned());
        let params = CancelledNotificationParam::new(Some(id), reason);
        let cancelled = CancelledNotification::new(params);
        // Polling it once queues the notification. Its transmission is not awaited.
        let sending = pin!(self.peer.send_notification(cancelled.into()));
        let _sent_later = sending.poll(&mut Context::from_waker(Waker::noop()));
    }
}
