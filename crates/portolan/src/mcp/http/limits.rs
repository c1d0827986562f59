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
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::sessions::SESSION_ID;
use super::{METRICS, MOST_REQUESTS, MOST_SESSIONS, Server};
use crate::http::oauth::METADATA;
use crate::http::{Principal, Refusal, Scope};
use crate::mcp::transport::values;

/// How long the body of a request can take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// The most bytes that are read of a refused request, and for how long.
const UNREAD: usize = 256 << 10;
const UNREAD_TIME: Duration = Duration::from_secs(1);
/// The most pending requests of a sender who has a name.
const MOST_OF_ONE: usize = MOST_REQUESTS / 4;
/// The seconds after which a refused client should try again.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Admits requests of clients that may use the server, with their sender. `/healthz` and `/readyz`, which show nothing,
/// and the metadata need no token.
pub(super) async fn admit(State(server): State<Arc<Server>>, mut request: Request, next: Next) -> Response {
    if let Some(oauth) = server.access.oauth() {
        oauth.learn(request.headers()).await;
    }
    match admitted(&server, &mut request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => unread(refusal.into_response(), request).await,
    }
}

fn admitted(server: &Server, request: &mut Request) -> Result<(), Refusal> {
    let access = &server.access;
    access.host(request)?;
    access.same_site(request.headers())?;
    let path = request.uri().path();
    if matches!(path, "/healthz" | "/readyz") || path.starts_with(METADATA) {
        return Ok(());
    }
    let principal = access.principal(request.headers(), path)?;
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
        return unread(unknown_session().into_response(), request).await;
    }
    let mut response = match request.method() == Method::POST {
        true => match limited(&server, request, &principal).await {
            Ok((request, permit)) => held(next.run(request).await, permit),
            Err(refusal) => refusal,
        },
        false => {
            let ends = request.method() == Method::DELETE;
            let mut response = next.run(request).await;
            // Some clients treat 202 as a failure to end the session.
            if ends && response.status() == StatusCode::ACCEPTED {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            response
        }
    };
    server.sessions.bind(response.headers_mut(), &principal);
    response
}

async fn limited(server: &Server, request: Request, principal: &Principal) -> Result<(Request, Permits), Response> {
    // A request without a session may begin one.
    let may_begin = !request.headers().contains_key(&SESSION_ID);
    let permits = match permitted(server, principal, may_begin).await {
        Ok(permits) => permits,
        Err(refusal) => return Err(unread(later(refusal), request).await),
    };
    let (parts, body) = request.into_parts();
    let read = timeout(BODY_TIME, to_bytes(body, server.bounds.line)).await;
    let body = read.map_err(|_late| late().into_response())?.map_err(|_long| too_large(server).into_response())?;
    if body.len() > server.bounds.values && values(&body) > server.bounds.values {
        return Err(too_many(server).into_response());
    }
    Ok((Request::from_parts(parts, Body::from(body)), permits))
}

/// Returns what a request holds until it is answered. `may_begin` tells whether it may begin a session.
async fn permitted(server: &Server, principal: &Principal, may_begin: bool) -> Result<Permits, Refusal> {
    if server.is_ending.load(Ordering::Relaxed) {
        return Err(ending());
    }
    let share = Share::of(&server.shares, principal).ok_or_else(too_many_of_one)?;
    let permit = Arc::clone(&server.requests).try_acquire_owned();
    let permit = permit.map_err(|_none| busy(format!("{MOST_REQUESTS} requests are being processed")))?;
    if may_begin && server.session_count().await >= MOST_SESSIONS {
        return Err(busy(format!("{MOST_SESSIONS} sessions are open")));
    }
    Ok((permit, share))
}

/// Returns the response to a request whose body nobody needs, after reading it. If a connection is closed while data
/// arrives, the system discards the response that the client has not read yet.
async fn unread(response: Response, request: Request) -> Response {
    let _read = timeout(UNREAD_TIME, to_bytes(request.into_body(), UNREAD)).await;
    response
}

/// Returns the refusal of a server that is about to end.
pub(super) fn ending() -> Refusal {
    let help = "try again with the server that replaces it";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "ending", "the server is about to end", help)
}

fn busy(why: String) -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why, "try again in a second")
}

fn too_many_of_one() -> Refusal {
    let message = format!("{MOST_OF_ONE} requests of this token are being processed");
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message, "wait for the answers of some")
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

fn later(refusal: Refusal) -> Response {
    let mut response = refusal.into_response();
    response.headers_mut().insert(RETRY_AFTER, RETRY_SECONDS);
    response
}

/// What a pending request holds.
type Permits = (OwnedSemaphorePermit, Share);

/// The number of pending requests by the name of their sender. One client must not keep out all others.
pub(super) type Shares = Arc<Mutex<BTreeMap<Arc<str>, usize>>>;

/// A pending request of a sender. Requests of senders that are not told apart are counted together, elsewhere.
struct Share(Option<(Shares, Arc<str>)>);

impl Share {
    /// Returns `None` if the sender has too many pending requests.
    fn of(shares: &Shares, principal: &Principal) -> Option<Share> {
        let Some(name) = &principal.name else { return Some(Share(None)) };
        let mut counts = shares.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(Arc::clone(name)).or_default();
        if *count >= MOST_OF_ONE {
            return None;
        }
        *count += 1;
        Some(Share(Some((Arc::clone(shares), Arc::clone(name)))))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Some((shares, name)) = &self.0 else { return };
        let mut counts = shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                counts.remove(name);
            }
        }
    }
}

/// Keeps `permits` until the body of the response is sent or dropped: a call is pending for as long.
fn held(response: Response, permits: Permits) -> Response {
    let (mut parts, body) = response.into_parts();
    // A stream has no known length, and would be sent in chunks.
    if let Some(length) = body.size_hint().exact() {
        parts.headers.insert(CONTENT_LENGTH, length.into());
    }
    Response::from_parts(parts, Body::from_stream(Held { body: body.into_data_stream(), _permits: permits }))
}

struct Held {
    body: BodyDataStream,
    _permits: Permits,
}

impl Stream for Held {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
