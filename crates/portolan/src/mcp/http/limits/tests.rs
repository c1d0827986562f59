//! What is refused before a toolset sees it, where a test over a socket would have to wait.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use futures_core::Stream;
use portolan_runtime::service::{Options, StoreAt};

use super::super::*;
use super::limited;
use crate::http::{Holders, Principal};

/// A body of which nothing arrives.
struct Silent;

impl Stream for Silent {
    type Item = Result<Bytes, io::Error>;

    fn poll_next(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Pending
    }
}

fn server(folder: &std::path::Path) -> Arc<Server> {
    let trust = Some(folder.with_extension("person"));
    let options = Options { store: StoreAt::Memory, trust, ..Options::of(folder.to_owned()) };
    let service = Arc::new(Service::new(options).expect("a service"));
    let (_end, ending) = watch::channel(false);
    let tools = crate::mcp::tasks(Arc::clone(&service), true);
    let access = Access::new("http", 7420, Holders::Everyone);
    let sets = vec![NamedTools { name: "tasks", tools }];
    router(service, sets, access, &config(), &ending).expect("a router").1
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
    let server = server(folder.path());
    assert_eq!(refused(&server, Body::from_stream(Silent)).await, (StatusCode::REQUEST_TIMEOUT, false));
    assert_eq!(server.requests.available_permits(), MOST_REQUESTS, "it takes up no place any more");
    assert_eq!(refused(&server, Body::from("{}")).await.0, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_limit_are_asked_to_come_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path());
    let pending = server.requests.acquire_many(u32::try_from(MOST_REQUESTS).expect("a small number")).await;
    // The body of a refused request is read for a while, but not waited for.
    assert_eq!(refused(&server, Body::from_stream(Silent)).await, (StatusCode::SERVICE_UNAVAILABLE, true));
    drop(pending);
    assert_eq!(refused(&server, Body::from("{}")).await.0, StatusCode::OK);
    server.is_ending.store(true, Ordering::Relaxed);
    assert_eq!(refused(&server, Body::from("{}")).await, (StatusCode::SERVICE_UNAVAILABLE, true));
}
