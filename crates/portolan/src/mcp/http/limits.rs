//! What is refused before rmcp sees it: requests of others, requests beyond the limits, and requests at the end.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, RETRY_AFTER};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::{MOST_REQUESTS, MOST_SESSIONS, Server};
use crate::http::Refusal;
use crate::mcp::transport::values;

/// How long the body of a request can take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// The seconds after which a refused client should try again.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Admits requests of clients that may use the server. `/healthz` and `/readyz` need no token, and show nothing.
pub(super) async fn admit(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    match admitted(&server, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn admitted(server: &Server, request: &Request) -> Result<(), Refusal> {
    let access = &server.access;
    access.host(request)?;
    access.same_site(request.headers())?;
    if matches!(request.uri().path(), "/healthz" | "/readyz") { Ok(()) } else { access.token(request.headers()) }
}

/// Admits requests within the limits, and counts each until its response is complete.
pub(super) async fn limit(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        let ends = request.method() == Method::DELETE;
        let mut response = next.run(request).await;
        // Some clients treat 202 as a failure to end the session.
        if ends && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        return response;
    }
    match limited(&server, request).await {
        Ok((request, permit)) => held(next.run(request).await, permit),
        Err(refusal) => refusal,
    }
}

async fn limited(server: &Server, request: Request) -> Result<(Request, OwnedSemaphorePermit), Response> {
    if server.is_ending.load(Ordering::Relaxed) {
        return Err(later(ending()));
    }
    let Ok(permit) = Arc::clone(&server.requests).try_acquire_owned() else {
        return Err(later(busy(format!("{MOST_REQUESTS} requests are being processed"))));
    };
    // A request without a session may begin one.
    if !request.headers().contains_key("mcp-session-id") && server.session_count().await >= MOST_SESSIONS {
        return Err(later(busy(format!("{MOST_SESSIONS} sessions are open"))));
    }
    let (parts, body) = request.into_parts();
    let read = timeout(BODY_TIME, to_bytes(body, server.bounds.line)).await;
    let body = read.map_err(|_late| late().into_response())?.map_err(|_long| too_large(server).into_response())?;
    if body.len() > server.bounds.values && values(&body) > server.bounds.values {
        return Err(too_many(server).into_response());
    }
    Ok((Request::from_parts(parts, Body::from(body)), permit))
}

/// Returns the refusal of a server that is about to end.
pub(super) fn ending() -> Refusal {
    let help = "try again with the server that replaces it";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "ending", "the server is about to end", help)
}

fn busy(why: String) -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why, "try again in a second")
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

/// Keeps `permit` until the body of the response is sent or dropped: a call is pending for as long.
fn held(response: Response, permit: OwnedSemaphorePermit) -> Response {
    let (mut parts, body) = response.into_parts();
    // A stream has no known length, and would be sent in chunks.
    if let Some(length) = body.size_hint().exact() {
        parts.headers.insert(CONTENT_LENGTH, length.into());
    }
    Response::from_parts(parts, Body::from_stream(Held { body: body.into_data_stream(), _permit: permit }))
}

struct Held {
    body: BodyDataStream,
    _permit: OwnedSemaphorePermit,
}

impl Stream for Held {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
