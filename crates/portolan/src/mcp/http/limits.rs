//! What is refused before rmcp sees it: requests of others, requests beyond the limits, and requests at the end.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, BodyDataStream, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Interval, interval_at, timeout};

use super::open_project::OpenProject;
use super::sessions::SESSION_ID;
use super::step_up::CalledTool;
use super::{METRICS, MOST_REQUESTS, MOST_SESSIONS, MOST_STREAMS, Server};
use crate::http::oauth::METADATA;
use crate::http::{Access, Principal, Refusal, Scope, Scopes};
use crate::mcp::transport::values;

/// How long the body of a request can take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// The most sessions of a sender who has a name.
const MOST_SESSIONS_OF_ONE: usize = MOST_SESSIONS / 10;
/// How often the token of an open stream is checked.
const RECHECK: Duration = Duration::from_secs(15);
/// The method of a request whose response is a stream for as long as the client listens.
const LISTEN: &str = "subscriptions/listen";
/// The seconds after which a refused client should try again.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Admits requests of clients that may use the server, with their sender. `/healthz` and `/readyz`, which show nothing,
/// and the metadata need no token.
pub(super) async fn admit(State(server): State<Arc<Server>>, mut request: Request, next: Next) -> Response {
    let addressed = server.access.host(&request).and_then(|()| server.access.same_site(request.headers()));
    if let (Ok(()), Some(oauth)) = (&addressed, server.access.oauth()) {
        oauth.learn(request.headers()).await;
    }
    match addressed.and_then(|()| identified(&server.access, &mut request)) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Adds the sender to a request.
fn identified(access: &Access, request: &mut Request) -> Result<(), Refusal> {
    let path = request.uri().path();
    if matches!(path, "/healthz" | "/readyz") || path.starts_with(METADATA) {
        return Ok(());
    }
    let principal = access.principal(request.headers(), path)?;
    if principal.scopes == Scopes::default() {
        let message = "the token has no scope of this server";
        let help = "ask for a token with scopes, such as `navigate`";
        return Err(Refusal::new(StatusCode::FORBIDDEN, "needs_scope", message, help));
    }
    if path == METRICS && !principal.scopes.has(Scope::Read) {
        let message = format!("the metrics need the scope `read`, and the token has {}", principal.scopes);
        return Err(Refusal::new(StatusCode::FORBIDDEN, "needs_scope", message, "use a token that has it"));
    }
    request.extensions_mut().insert(principal);
    Ok(())
}

/// Admits requests within the limits, and counts each until its response is complete.
pub(super) async fn limit(
    State(server): State<Arc<Server>>,
    Extension(principal): Extension<Principal>,
    mut request: Request,
    next: Next,
) -> Response {
    if !server.sessions.unbind(request.headers_mut(), &principal) {
        return unknown_session().into_response();
    }
    let is_still = server.access.can_withdraw().then(|| still_admitted(&server, &request));
    let mut response = match *request.method() {
        Method::POST => match limited(&server, request, &principal).await {
            Ok((request, permit)) => held(next.run(request).await, permit, is_still),
            Err(refusal) => refusal,
        },
        Method::GET => match permitted(&server, &principal, Pending::Stream).await {
            Ok(permit) => held(next.run(request).await, permit, is_still),
            Err(refusal) => later(refusal),
        },
        _ => ended(&server, request, next).await,
    };
    server.sessions.bind(response.headers_mut(), &principal);
    response
}

/// Answers a request that can only end a session.
async fn ended(server: &Server, request: Request, next: Next) -> Response {
    let table = server.projects.table(request.uri().path());
    let id = request.headers().get(&SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    let mut response = next.run(request).await;
    if response.status() == StatusCode::ACCEPTED {
        if let (Some(table), Some(id)) = (table, id) {
            table.end(&id).await;
        }
        // Some clients treat 202 as a failure to end the session.
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// Returns a check whether the token of a request is still valid: a stream can be open for longer.
fn still_admitted(server: &Arc<Server>, request: &Request) -> IsStill {
    let (server, headers, path) = (Arc::clone(server), request.headers().clone(), request.uri().path().to_owned());
    Box::new(move || server.access.principal(&headers, &path).is_ok())
}

/// How long a request is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// Until it is answered.
    Call,
    /// The same, for one that may begin a session.
    Beginning,
    /// As long as the client listens.
    Stream,
}

impl Pending {
    fn of(headers: &HeaderMap) -> Pending {
        // Only in this revision is the header compared with the body.
        let listens = says(headers, "mcp-protocol-version", "2026-07-28") && says(headers, "mcp-method", LISTEN);
        match (listens, headers.contains_key(&SESSION_ID)) {
            (true, _) => Pending::Stream,
            (false, true) => Pending::Call,
            (false, false) => Pending::Beginning,
        }
    }
}

fn says(headers: &HeaderMap, name: &'static str, value: &str) -> bool {
    headers.get(name).is_some_and(|header| header == value)
}

async fn limited(server: &Server, request: Request, principal: &Principal) -> Result<(Request, Permits), Response> {
    let pending = Pending::of(request.headers());
    let permits = permitted(server, principal, pending).await.map_err(later)?;
    let (parts, body) = request.into_parts();
    let read = timeout(BODY_TIME, to_bytes(body, server.bounds.line)).await;
    let body = read.map_err(|_late| late().into_response())?.map_err(|_long| too_large(server).into_response())?;
    if body.len() > server.bounds.values && values(&body) > server.bounds.values {
        return Err(too_many(server).into_response());
    }
    // Only tokens of an authorization server can be exchanged for others with more scopes.
    let called = server.access.oauth().and_then(|_| CalledTool::of(&body));
    let mut request = Request::from_parts(parts, Body::from(body));
    if let Some(called) = called {
        request.extensions_mut().insert(called);
    }
    Ok((request, permits))
}

/// Returns what a request holds until its response is complete.
async fn permitted(server: &Server, principal: &Principal, pending: Pending) -> Result<Permits, Refusal> {
    if server.is_ending.load(Ordering::Relaxed) {
        return Err(ending());
    }
    let is_stream = pending == Pending::Stream;
    let (all, shares) = match is_stream {
        true => (&server.streams, &server.stream_shares),
        false => (&server.requests, &server.request_shares),
    };
    let share = Share::of(shares, principal).ok_or_else(|| too_many_of_one(shares.most, is_stream))?;
    let permit = Arc::clone(all).try_acquire_owned().map_err(|_none| match is_stream {
        true => busy(format!("{MOST_STREAMS} streams are open")),
        false => busy(format!("{MOST_REQUESTS} requests are being processed")),
    })?;
    if pending == Pending::Beginning {
        room_for_session(server, principal)?;
    }
    Ok((permit, share))
}

/// Checks that a session can be begun.
fn room_for_session(server: &Server, principal: &Principal) -> Result<(), Refusal> {
    if server.session_count().0 >= MOST_SESSIONS {
        return Err(busy(format!("{MOST_SESSIONS} sessions are open")));
    }
    if server.sessions.of(principal) >= MOST_SESSIONS_OF_ONE {
        server.forget_ended_sessions();
        if server.sessions.of(principal) >= MOST_SESSIONS_OF_ONE {
            let message = format!("{MOST_SESSIONS_OF_ONE} sessions of this token are open");
            let help = "end some, or use a client of the revision 2026-07-28, which has none";
            return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_sessions", message, help));
        }
    }
    Ok(())
}

/// Returns the refusal of a server that is about to end.
pub(super) fn ending() -> Refusal {
    let help = "try again with the server that replaces it";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "ending", "the server is about to end", help)
}

fn busy(why: String) -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why, "try again in a second")
}

fn too_many_of_one(most: usize, is_stream: bool) -> Refusal {
    let (message, help) = match is_stream {
        true => (format!("{most} streams of this token are open"), "close some"),
        false => (format!("{most} requests of this token are being processed"), "wait for the answers of some"),
    };
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message, help)
}

fn unknown_session() -> Refusal {
    let help = "begin a session with `initialize`";
    Refusal::new(StatusCode::NOT_FOUND, "unknown_session", "there is no such session of this token", help)
}

fn late() -> Refusal {
    let message = format!("the body did not arrive within {} s", BODY_TIME.as_secs());
    Refusal::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message, "send it without pauses")
}

fn too_large(server: &Server) -> Refusal {
    let message = format!("a message has at most {} bytes", server.bounds.line);
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message, "send less in one message")
}

fn too_many(server: &Server) -> Refusal {
    let message = format!("a message has at most {} values", server.bounds.values);
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message, "send less in one message")
}

/// Asks the client to come back.
pub(super) fn later(refusal: Refusal) -> Response {
    let mut response = refusal.into_response();
    response.headers_mut().insert(RETRY_AFTER, RETRY_SECONDS);
    response
}

/// What a pending request holds.
type Permits = (OwnedSemaphorePermit, Share);

/// The number of pending requests by the name of their sender. One client must not keep out all others.
pub(super) struct Shares {
    counts: Mutex<BTreeMap<Arc<str>, usize>>,
    most: usize,
}

impl Shares {
    /// Returns shares of calls.
    pub(super) fn of_requests() -> Arc<Shares> {
        Arc::new(Shares { counts: Mutex::default(), most: MOST_REQUESTS / 4 })
    }

    /// Returns shares of streams.
    pub(super) fn of_streams() -> Arc<Shares> {
        Arc::new(Shares { counts: Mutex::default(), most: MOST_STREAMS / 8 })
    }
}

/// A pending request of a sender. Requests of senders that are not told apart are counted together, elsewhere.
struct Share(Option<(Arc<Shares>, Arc<str>)>);

impl Share {
    /// Returns `None` if the sender has too many pending requests.
    fn of(shares: &Arc<Shares>, principal: &Principal) -> Option<Share> {
        let Some(name) = &principal.name else { return Some(Share(None)) };
        let mut counts = shares.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(Arc::clone(name)).or_default();
        if *count >= shares.most {
            return None;
        }
        *count += 1;
        Some(Share(Some((Arc::clone(shares), Arc::clone(name)))))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Some((shares, name)) = &self.0 else { return };
        let mut counts = shares.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                counts.remove(name);
            }
        }
    }
}

/// Keeps `permits` until the body of the response is sent or dropped: a call is pending for as long. Ends a stream whose
/// token is no longer valid.
fn held(response: Response, permits: Permits, is_still: Option<IsStill>) -> Response {
    let (mut parts, body) = response.into_parts();
    let project = parts.extensions.remove::<Arc<OpenProject>>();
    let length = body.size_hint().exact();
    // A stream has no known length, and would be sent in chunks.
    if let Some(length) = length {
        parts.headers.insert(CONTENT_LENGTH, length.into());
    }
    let is_still = is_still.filter(|_| length.is_none());
    let watch = is_still.map(|is_still| (interval_at(Instant::now() + RECHECK, RECHECK), is_still));
    let held = HeldBody { body: body.into_data_stream(), watch, _permits: permits, _project: project };
    Response::from_parts(parts, Body::from_stream(held))
}

struct HeldBody {
    body: BodyDataStream,
    /// When the token of a stream is checked again, and how.
    watch: Option<(Interval, IsStill)>,
    _permits: Permits,
    /// The project of the response, which is in use for as long.
    _project: Option<Arc<OpenProject>>,
}

/// A check whether a token is still valid.
type IsStill = Box<dyn Fn() -> bool + Send + Sync>;

impl Stream for HeldBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some((interval, is_still)) = &mut self.watch {
            while interval.poll_tick(context).is_ready() {
                if !is_still() {
                    return Poll::Ready(None);
                }
            }
        }
        Pin::new(&mut self.body).poll_next(context)
    }
}
