//! Servers over the HTTP transport of 2024-11-05.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use indexmap::IndexMap;
use portolan_core::graph::Transport;
use portolan_runtime::servers::{CallErrorKind, PoolOptions};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{block_on, error_text, nothing};
use crate::web::{Answer, Request, Web, event, reply, result, tool};

fn sse(url: String) -> Transport {
    let headers = IndexMap::from([("X-Team".to_owned(), "maps".to_owned())]);
    Transport::Sse { url, headers }
}

fn either(url: String) -> Transport {
    Transport::Http { url, headers: IndexMap::new(), either: true }
}

/// A server of the old kind. Its streams are closed when a tool named `close` is called.
fn old(endpoint: &'static str) -> impl Fn(&Request) -> Answer + Send + Sync {
    let stream: Arc<Mutex<Option<mpsc::UnboundedSender<String>>>> = Arc::default();
    move |request| {
        let mut stream = stream.lock().expect("nobody panicked");
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/mcp") => {
                let (send, events) = mpsc::unbounded_channel();
                send.send(format!(": hello\n\nevent: endpoint\ndata: {endpoint}\n\n")).expect("it is open");
                *stream = Some(send);
                Answer::Events(events)
            }
            ("POST", "/messages?session=1") => {
                let say = |message: &Value| {
                    if let Some(stream) = &*stream {
                        let _closed = stream.send(event(message));
                    }
                };
                match (tool(request), result(request)) {
                    ("close", _) => *stream = None,
                    ("slow", _) | (_, None) => {}
                    ("huge", _) => say(&reply(request, json!({"x": "x".repeat(20_000_000)}))),
                    ("change", Some(result)) => {
                        say(&json!({"method": "notifications/tools/list_changed"}));
                        say(&json!("no message"));
                        say(&result);
                    }
                    ("refused", _) => return Answer::status(500),
                    (_, Some(result)) => say(&result),
                }
                Answer::status(202)
            }
            _ => Answer::status(405),
        }
    }
}

#[test]
fn calls_are_posted_and_answered_over_the_stream() {
    block_on(async {
        let mut web = Web::new(old("/messages?session=1")).await;
        let world = web.world(sse);
        let reply = world.call("echo", json!({"a": 1})).await.expect("a reply");
        assert_eq!(reply["structuredContent"]["arguments"], json!({"a": 1}));
        assert_eq!(reply["structuredContent"]["headers"]["x-team"], "maps");
        let stream = web.sees(|request| request.method == "GET").await;
        assert_eq!(stream.headers["accept"], "text/event-stream");
        assert_eq!(stream.headers["x-team"], "maps");

        let list = world.servers.tools("s").await.expect("a list");
        world.call("change", nothing()).await.expect("a reply");
        let again = world.servers.tools("s").await.expect("a list");
        assert!(!Arc::ptr_eq(&list, &again));
        assert!(world.hears("s: portolan: ").await.contains("it sent an invalid message"));
    });
}

#[test]
fn an_entry_that_leaves_it_open_reaches_a_server_of_the_old_kind() {
    block_on(async {
        let web = Web::new(old("/messages?session=1")).await;
        let reply = web.world(either).call("echo", json!({"a": 1})).await.expect("a reply");
        assert_eq!(reply["structuredContent"]["arguments"], json!({"a": 1}));

        let strict = |url| Transport::Http { url, headers: IndexMap::new(), either: false };
        let error = web.world(strict).call("echo", nothing()).await.expect_err("the other transport");
        assert!(error.message.contains("405"), "{}", error_text(&error));

        let web = Web::new(|_| Answer::status(404)).await;
        let error = web.world(either).call("echo", nothing()).await.expect_err("neither of them");
        assert!(error.message.contains("404"), "{}", error_text(&error));
    });
}

#[test]
fn a_stream_that_ends_loses_the_calls_and_is_opened_again() {
    block_on(async {
        let web = Web::new(old("/messages?session=1")).await;
        let world = web.world(sse);
        let error = world.call("close", nothing()).await.expect_err("it hung up");
        assert_eq!(error.kind, CallErrorKind::Lost);
        assert_eq!(error.message, "server `s` closed the connection during tool `close`");
        world.call("echo", nothing()).await.expect("it is reached again");
        let error = world.call("refused", nothing()).await.expect_err("not accepted");
        assert_eq!(error.kind, CallErrorKind::Lost);
        assert!(error.message.contains("HTTP 500"), "{}", error_text(&error));
        world.call("echo", nothing()).await.expect("it is reached again");
    });
}

#[test]
fn bounds_and_cancellation_hold() {
    block_on(async {
        let mut web = Web::new(old("/messages?session=1")).await;
        let world = web.world(sse);
        let error = world.call("huge", nothing()).await.expect_err("too much");
        assert_eq!(error.kind, CallErrorKind::TooLarge, "{}", error_text(&error));
        let error = world.call_for("slow", nothing(), Duration::from_millis(300)).await.expect_err("slow");
        assert_eq!(error.kind, CallErrorKind::Timeout);
        web.sees(|request| request.body["method"] == "notifications/cancelled").await;
        world.call("echo", nothing()).await.expect("the connection stands");
    });
}

#[test]
fn an_endpoint_elsewhere_is_refused() {
    block_on(async {
        for endpoint in ["http://example.invalid/messages", "//example.invalid/messages", "https://127.0.0.1/messages"]
        {
            let web = Web::new(old(endpoint)).await;
            let error = web.world(sse).call("echo", nothing()).await.expect_err("led away");
            assert!(error.message.contains("it wants messages to be sent to another server"), "{}", error_text(&error));
        }
    });
}

#[test]
fn streams_that_are_none_are_refused() {
    block_on(async {
        // Beside other work an answer may take its time. Silence is waited for as long as it may be.
        let options = |why: &str| {
            let millis = if why.ends_with("in time") { 500 } else { 60_000 };
            PoolOptions { handshake_timeout: Duration::from_millis(millis), ..PoolOptions::default() }
        };
        type Handler = fn(&Request) -> Answer;
        let handlers: [(Handler, &str); 5] = [
            (|_| Answer::status(503), "HTTP 503"),
            (|_| Answer::Whole(200, "text/html", b"<h1>hello</h1>".to_vec()), "it sends `text/html`"),
            (|_| Answer::events(&[]), "its stream ended at once"),
            (|_| Answer::Silence, "it did not send the address for messages in time"),
            (|_| Answer::Whole(200, "text/event-stream", vec![b'x'; 10_000_000]), "its stream ended at once"),
        ];
        for (handler, why) in handlers {
            let web = Web::new(handler).await;
            let error = web.world_with(sse, options(why)).call("echo", nothing()).await.expect_err("no stream");
            assert!(error.message.contains(why), "{}", error_text(&error));
        }
    });
}
