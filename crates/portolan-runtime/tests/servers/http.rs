//! Servers over streamable HTTP.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use indexmap::IndexMap;
use portolan_core::graph::Transport;
use portolan_runtime::servers::{CallErrorKind, PoolOptions};
use serde_json::json;

use crate::support::{World, block_on, error_text, nothing, server};
use crate::web::{Answer, Request, Web, reply, result, tool};

fn http(url: String) -> Transport {
    let headers = IndexMap::from([
        ("Authorization".to_owned(), "Bearer of ${CARGO_PKG_NAME}".to_owned()),
        ("X-Team".to_owned(), "maps".to_owned()),
    ]);
    Transport::Http { url, headers, either: false }
}

/// A server that does what it should, but for some tools.
fn usual(request: &Request) -> Answer {
    if request.method != "POST" {
        return Answer::status(405);
    }
    let Some(result) = result(request) else { return Answer::status(202) };
    let progress =
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}});
    let text = |size| json!({"content": [{"type": "text", "text": "x".repeat(size)}]});
    match tool(request) {
        "events" => Answer::events(&[progress, result]),
        "huge" => Answer::json(&reply(request, text(20_000_000))),
        "huge_events" => Answer::events(&[reply(request, text(20_000_000))]),
        "huge_after_others" => Answer::events(&[progress, reply(request, text(20_000_000))]),
        "slow" => Answer::Silence,
        "broken" => Answer::status(500),
        "refused" => Answer::json(&json!({
            "jsonrpc": "2.0", "id": request.body["id"], "error": {"code": -32602, "message": "no"},
        })),
        _ => Answer::json(&result),
    }
}

#[test]
fn replies_come_as_json_and_as_events() {
    block_on(async {
        let web = Web::new(usual).await;
        let world = web.world(http);
        for tool in ["echo", "events"] {
            let reply = world.call(tool, json!({"a": 1})).await.expect("a reply");
            let seen = &reply["structuredContent"];
            assert_eq!(seen["arguments"], json!({"a": 1}));
            assert_eq!(seen["headers"]["authorization"], "Bearer of portolan-runtime");
            assert_eq!(seen["headers"]["x-team"], "maps");
            assert_eq!(seen["headers"]["mcp-session-id"], "one");
            assert_eq!(seen["headers"]["user-agent"], concat!("portolan/", env!("CARGO_PKG_VERSION")));
        }
        assert_eq!(world.servers.tools("s").await.expect("a list")[0].name, "echo");
        assert_eq!(world.servers.about("s").await.expect("an introduction").name, "web");
        world.servers.close().await;
    });
}

#[test]
fn errors_of_the_protocol_and_of_the_server_are_told_apart() {
    block_on(async {
        let web = Web::new(usual).await;
        let world = web.world(http);
        let error = world.call("refused", nothing()).await.expect_err("refused");
        assert_eq!(error.kind, CallErrorKind::Protocol { code: -32602 });
        let error = world.call("broken", nothing()).await.expect_err("broken");
        assert_eq!(error.kind, CallErrorKind::Lost);
        assert!(error.message.contains("500"), "{}", error_text(&error));
        world.call("echo", nothing()).await.expect("it is reached again");
    });
}

#[test]
fn what_is_too_large_is_left_out() {
    block_on(async {
        let mut web = Web::new(usual).await;
        let world = web.world(http);
        for tool in ["huge", "huge_events", "huge_after_others"] {
            let (huge, other) = tokio::join!(world.call(tool, nothing()), world.call("events", nothing()));
            let error = huge.expect_err("too much");
            assert_eq!(error.kind, CallErrorKind::TooLarge, "{tool}: {}", error_text(&error));
            other.expect("one call is left out, and not those beside it");
            world.call("echo", nothing()).await.expect("the connection stands");
        }
        let greetings = web.requests().iter().filter(|request| request.body["method"] == "initialize").count();
        assert_eq!(greetings, 1);
    });
}

#[test]
fn a_call_that_takes_too_long_is_cancelled() {
    block_on(async {
        let mut web = Web::new(usual).await;
        let world = web.world(http);
        let error = world.call_for("slow", nothing(), Duration::from_millis(300)).await.expect_err("slow");
        assert_eq!(error.kind, CallErrorKind::Timeout);
        let slow = web.sees(|request| tool(request) == "slow").await;
        let cancelled = web.sees(|request| request.body["method"] == "notifications/cancelled").await;
        assert_eq!(cancelled.body["params"]["requestId"], slow.body["id"]);
        world.call("echo", nothing()).await.expect("the connection stands");
    });
}

#[test]
fn a_session_that_is_over_is_begun_again() {
    block_on(async {
        let calls = AtomicUsize::new(0);
        let web = Web::new(move |request| {
            let is_second = tool(request) == "echo" && calls.fetch_add(1, Ordering::Relaxed) == 1;
            if is_second { Answer::status(404) } else { usual(request) }
        });
        let mut web = web.await;
        let world = web.world(http);
        world.call("echo", nothing()).await.expect("a reply");
        world.call("echo", nothing()).await.expect("a reply after all");
        let greetings = web.requests().iter().filter(|request| request.body["method"] == "initialize").count();
        assert_eq!(greetings, 2);
    });
}

#[test]
fn redirects_stay_within_the_server() {
    block_on(async {
        let web = Web::new(|request| match request.path.as_str() {
            "/mcp" => Answer::Moved("/elsewhere".to_owned()),
            _ => usual(request),
        });
        let reply = web.await.world(http).call("echo", nothing()).await.expect("a reply");
        assert_eq!(reply["structuredContent"]["headers"]["x-team"], "maps");

        let mut other = Web::new(usual).await;
        let elsewhere = format!("{}/mcp", other.origin);
        let web = Web::new(move |_| Answer::Moved(elsewhere.clone())).await;
        for transport in [http, |url| Transport::Sse { url, headers: IndexMap::new() }] {
            let error = web.world(transport).call("echo", nothing()).await.expect_err("led away");
            assert!(error.message.contains("it redirects to another server"), "{}", error_text(&error));
        }
        assert!(other.requests().is_empty());

        let web = Web::new(|_| Answer::Moved("/mcp".to_owned())).await;
        let error = web.world(http).call("echo", nothing()).await.expect_err("a circle");
        assert!(error.message.contains("it redirects too often"), "{}", error_text(&error));
    });
}

#[test]
fn servers_that_cannot_be_reached_are_told_without_their_secrets() {
    block_on(async {
        let web = Web::new(|_| Answer::Whole(401, "text/plain", b"who is Bearer of portolan-runtime?".to_vec())).await;
        let error = web.world(http).call("echo", nothing()).await.expect_err("not allowed");
        assert_eq!(error.kind, CallErrorKind::Start);
        assert!(error.message.contains("401"), "{}", error_text(&error));
        assert!(error.message.contains("who is [redacted]?"), "{}", error_text(&error));

        let free =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
        for url in
            [format!("http://{free}/mcp?key=abcdef"), format!("{}/mcp?key=abcdef", web.origin.replace("http", "https"))]
        {
            let headers = IndexMap::new();
            let transport = Transport::Http { url, headers, either: false };
            let world = World::new(|_| vec![server("s", transport)], PoolOptions::default());
            let error = world.call("echo", nothing()).await.expect_err("not there");
            assert_eq!(error.kind, CallErrorKind::Start);
            assert!(error.message.contains("cannot be reached ("), "{}", error_text(&error));
            assert!(!error.message.contains("abcdef"), "{}", error_text(&error));
        }
    });
}

#[test]
fn entries_that_cannot_be_used_are_told() {
    block_on(async {
        for (url, header, why) in [
            ("not a url", "X-A", "its `url` is not a valid URL (relative URL without a base)"),
            ("ftp://host/", "X-A", "its `url` begins with `ftp:`"),
            ("http://host/", "X A", "its header `X A` cannot be sent"),
            ("http://127.0.0.1:1/", "Mcp-Session-Id", "mcp-session-id"),
        ] {
            let headers = IndexMap::from([(header.to_owned(), "value".to_owned())]);
            let transport = Transport::Http { url: url.to_owned(), headers, either: true };
            let world = World::new(|_| vec![server("s", transport)], PoolOptions::default());
            let error = world.call("echo", nothing()).await.expect_err("it cannot be used");
            assert!(error.message.contains(why), "{}", error_text(&error));
        }
    });
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    block_on(async {
        let web = Web::new(|_| Answer::Silence).await;
        let options = PoolOptions { handshake_timeout: Duration::from_millis(500), ..PoolOptions::default() };
        let error = web.world_with(http, options).call("echo", nothing()).await.expect_err("silence");
        assert_eq!(error.message, "server `s` did not complete the handshake within 500 ms");
    });
}

#[test]
fn a_server_that_never_answers_the_newest_greeting_is_reached_by_the_older_one() {
    block_on(async {
        let web = Web::new(|request| match request.body["method"].as_str() {
            Some("server/discover") => Answer::Silence,
            _ => usual(request),
        })
        .await;
        let options = PoolOptions { handshake_timeout: Duration::from_secs(5), ..PoolOptions::default() };
        let world = web.world_with(http, options);
        world.call("echo", nothing()).await.expect("it answers");
    });
}

#[test]
fn of_a_server_without_a_handshake_the_answer_to_its_own_greeting_is_told() {
    block_on(async {
        let web = Web::new(|request| {
            let (code, message) = match request.body["method"].as_str() {
                Some("server/discover") => (-32021, "elicitation is wanted"),
                _ => (-32601, "no such method"),
            };
            let error = json!({"code": code, "message": message});
            Answer::json(&json!({"jsonrpc": "2.0", "id": request.body["id"], "error": error}))
        })
        .await;
        let error = web.world(http).call("echo", nothing()).await.expect_err("it wants more");
        assert_eq!(error.message, "server `s` refused the handshake: elicitation is wanted (-32021)");
    });
}
