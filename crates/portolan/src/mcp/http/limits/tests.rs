//! What is refused before a toolset sees it, where a test over a socket would have to wait.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use portolan_runtime::service::{Options, StoreAt};

use super::super::*;
use super::{Pending, held, limited, permitted};
use crate::http::{Holders, Principal};

/// A body of which nothing arrives.
struct Silent;

impl Stream for Silent {
    type Item = Result<Bytes, io::Error>;

    fn poll_next(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Pending
    }
}

async fn server(folder: &std::path::Path) -> Arc<Server> {
    let trust = Some(folder.with_extension("person"));
    let options = Options { store: StoreAt::Memory, trust, ..Options::of(folder.to_owned()) };
    let service = Arc::new(Service::new(options).expect("a service"));
    let (_end, ending) = watch::channel(false);
    let tools = crate::mcp::tasks(Arc::clone(&service), true);
    let access = Access::new("http", 7420, Holders::Everyone);
    let sets = vec![NamedTools { name: "tasks", tools }];
    router(Content::Project(service, sets), access, config(), ending, Metrics::new()).await.expect("a router").1
}

async fn refused(server: &Server, body: Body) -> (StatusCode, bool) {
    let request = Request::post("/mcp").body(body).expect("a request");
    let refused = limited(server, request, &Principal::shared()).await;
    let Err(response) = refused else { return (StatusCode::OK, false) };
    (response.status(), response.headers().contains_key("retry-after"))
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path()).await;
    assert_eq!(refused(&server, Body::from_stream(Silent)).await, (StatusCode::REQUEST_TIMEOUT, false));
    assert_eq!(server.requests.available_permits(), MOST_REQUESTS, "it takes up no place any more");
    assert_eq!(refused(&server, Body::from("{}")).await.0, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_limit_are_asked_to_come_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path()).await;
    let pending = server.requests.acquire_many(u32::try_from(MOST_REQUESTS).expect("a small number")).await;
    // The body of a refused request is read, but not for long.
    assert_eq!(refused(&server, Body::from_stream(Silent)).await, (StatusCode::SERVICE_UNAVAILABLE, true));
    drop(pending);
    assert_eq!(refused(&server, Body::from("{}")).await.0, StatusCode::OK);
    server.is_ending.store(true, Ordering::Relaxed);
    assert_eq!(refused(&server, Body::from("{}")).await, (StatusCode::SERVICE_UNAVAILABLE, true));
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_its_token_is_no_longer_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path()).await;
    let permits = permitted(&server, &Principal::shared(), Pending::Stream).await.expect("there is room");
    assert_eq!(server.streams.available_permits(), MOST_STREAMS - 1);
    assert_eq!(server.requests.available_permits(), MOST_REQUESTS, "a stream is no call");
    let checks = std::sync::atomic::AtomicUsize::new(0);
    let is_still = Box::new(move || checks.fetch_add(1, Ordering::Relaxed) < 3);
    let response = held(Response::new(Body::from_stream(Silent)), permits, Some(is_still));
    let begun = tokio::time::Instant::now();
    let text = to_bytes(response.into_body(), 1_000).await.expect("it ends well");
    assert_eq!((text.len(), begun.elapsed().as_secs()), (0, 60), "four checks, fifteen seconds apart");
    assert_eq!(server.streams.available_permits(), MOST_STREAMS);
}

#[test]
fn only_what_the_protocol_checks_counts_as_a_stream() {
    let of = |pairs: &[(&'static str, &'static str)]| {
        let pairs =
            pairs.iter().map(|(name, value)| ((*name).parse().expect("a name"), HeaderValue::from_static(value)));
        Pending::of(&pairs.collect::<HeaderMap>())
    };
    let (newest, listens) = (("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen"));
    assert_eq!(of(&[newest, listens]), Pending::Stream);
    assert_eq!(of(&[listens]), Pending::Beginning);
    assert_eq!(of(&[("mcp-protocol-version", "2025-11-25"), listens, ("mcp-session-id", "x")]), Pending::Call);
}

#[tokio::test(start_paused = true)]
async fn a_holder_has_a_share_of_the_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path()).await;
    let [ada, bob] = ["ada", "bob"].map(|name| Principal { name: Some(name.into()), ..Principal::shared() });
    let table = server.projects.table("/mcp").expect("it is served");
    for number in 0..2_000 {
        let mut headers = HeaderMap::new();
        headers.insert("mcp-session-id", HeaderValue::from(number));
        server.sessions.bind(&mut headers, &ada);
        table.add_suspended(&number.to_string());
    }
    let begins = async |holder: &Principal| permitted(&server, holder, Pending::Beginning).await.map(drop);
    let refused = begins(&ada).await.expect_err("all are open").into_response();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    begins(&bob).await.expect("it is another's share");
    tokio::time::advance(IDLE).await;
    server.free_idle().await;
    begins(&ada).await.expect("none is open any more");
    assert_eq!(server.sessions.of(&ada), 0);
}
