//! What goes wrong in the middle: servers die, do not answer, or answer nonsense.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use portolan_core::reply::{Prefer, output};
use portolan_runtime::servers::{CallErrorKind, PoolOptions};
use serde_json::{Value, json};

use crate::support::{PATIENCE, block_on, call, error_text, nothing, world, world_with};

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn calls_under_way_are_lost_with_their_server() {
    block_on(async {
        let world = world("normal");
        let servers = Arc::clone(&world.servers);
        let other = tokio::spawn(async move { servers.call(call("s", "slow", json!({}), PATIENCE)).await });
        world.hears("s: call slow").await;
        let error = world.call("die", nothing()).await.expect_err("it died");
        assert_eq!(error.kind, CallErrorKind::Lost);
        assert_eq!(error.message, "server `s` exited with status 3 during tool `die`");
        assert!(error.stderr.ends_with("these are my last words"), "{}", error_text(&error));
        let error = other.await.expect("no panic").expect_err("it died");
        assert_eq!(error.message, "server `s` exited with status 3 during tool `slow`");

        world.call("echo", nothing()).await.expect("it was started again");
        assert_eq!(world.starts(), 2);
    });
}

#[test]
fn a_server_that_leaves_is_started_again_at_once_for_as_long_as_it_works() {
    block_on(async {
        let world = world_with("normal", PoolOptions { backoff_first: PATIENCE, ..PoolOptions::default() });
        for start in 1..=5 {
            world.call("echo", nothing()).await.expect("a reply");
            world.call("die", nothing()).await.expect_err("it died");
            assert_eq!(world.starts(), start);
        }
    });
}

#[test]
fn a_server_that_leaves_before_it_was_of_use_counts_as_failed() {
    block_on(async {
        let world =
            world_with("die_after_initialize", PoolOptions { backoff_first: PATIENCE, ..PoolOptions::default() });
        let mut errors = Vec::new();
        for _ in 0..10 {
            errors.push(world.call("echo", nothing()).await.expect_err("it is gone"));
        }
        let last = errors.last().expect("ten");
        assert!(last.message.contains("failed 2 times in a row and is not started for now"), "{}", error_text(last));
        assert_eq!(world.starts(), 2);
    });
}

#[test]
fn a_server_that_closes_its_output_is_lost_and_ended() {
    block_on(async {
        let world = world_with("ignores_eof", PoolOptions { grace: SHORT, ..PoolOptions::default() });
        let error = world.call("hang_up", nothing()).await.expect_err("it hung up");
        assert_eq!(error.kind, CallErrorKind::Lost, "{}", error_text(&error));
        assert!(error.message.contains("was ended by signal 15 during tool `hang_up`"), "{}", error_text(&error));
    });
}

#[test]
fn a_call_that_takes_too_long_is_cancelled() {
    block_on(async {
        let world = world("normal");
        world.call("echo", nothing()).await.expect("a reply");
        for tool in ["slow", "progress", "late"] {
            let error = world.call_for(tool, nothing(), SHORT).await.expect_err("it takes too long");
            assert_eq!(error.kind, CallErrorKind::Timeout);
            assert_eq!(error.message, format!("tool `{tool}` of server `s` did not answer within 300 ms"));
            world.hears("s: cancelled").await;
        }
        world.hears("s: answered late").await;
        let reply = world.call("echo", json!({"still": "here"})).await.expect("the connection stands");
        assert_eq!(reply["structuredContent"]["arguments"], json!({"still": "here"}));
        assert_eq!(world.starts(), 1);
    });
}

#[test]
fn a_call_that_is_dropped_is_cancelled() {
    block_on(async {
        let world = world("normal");
        tokio::select! {
            _ = world.call("slow", nothing()) => panic!("it never answers"),
            _ = world.hears("s: call slow") => {}
        }
        world.hears("s: cancelled").await;
    });
}

#[test]
fn a_protocol_error_keeps_its_code() {
    block_on(async {
        let world = world("normal");
        let error = world.call("nope", nothing()).await.expect_err("refused");
        assert_eq!(error.kind, CallErrorKind::Protocol { code: -32602 });
        assert_eq!(error.message, "server `s` refused tool `nope`: Unknown tool: nope (-32602)");
        let error = world.call("raw", json!({"line": r#"{"id": ID, "error": "boom"}"#})).await.expect_err("refused");
        assert_eq!(error.kind, CallErrorKind::Protocol { code: -32603 });
    });
}

/// Whoever waits for it is told at once, and not when the time of the call is up.
#[test]
fn a_reply_that_cannot_be_read_fails_its_call_and_no_other() {
    block_on(async {
        let world = world("normal");
        let latin =
            json!({"line": r#"{"jsonrpc": "2.0", "id": ID, "result": {"content": "é"}}"#, "encoding": "latin-1"});
        let (error, other) = tokio::join!(world.call("raw", latin), world.call("echo", nothing()));
        expect![[r#"
            unreadable-reply: the reply of tool `raw` of server `s` cannot be read: invalid unicode code point at line 1 column 52
            help: report this to the author of the server: a reply must be one line of JSON in UTF-8, nested at most 128 levels deep"#]]
        .assert_eq(error_text(&error.expect_err("it cannot be read")).split("\n---").next().expect("a text"));
        assert!(other.is_ok());
        let cut = json!({"line": r#"{"jsonrpc": "2.0", "id": ID, "result": {"content": ["#});
        assert_eq!(world.call("raw", cut).await.expect_err("it is cut off").kind, CallErrorKind::Unreadable);
        let empty = json!({"line": r#"{"jsonrpc": "2.0", "id": ID}"#});
        assert_eq!(world.call("raw", empty).await.expect_err("it says nothing").kind, CallErrorKind::Unreadable);
    });
}

/// Each is passed on as it is, and is judged where a value is made of it.
#[test]
fn odd_replies_are_no_trouble() {
    block_on(async {
        let world = world("normal");
        for (result, expected) in [
            ("{}", "nothing"),
            ("7", "error: the reply is not an object"),
            ("null", "error: the reply is not an object"),
            (r#"{"content": "hello"}"#, "error: the `content` of the reply is not a list"),
            (r#"{"content": [7, {"type": "text"}]}"#, r#"[7,{"type":"text"}]"#),
            (r#"{"tools": [], "content": []}"#, "nothing"),
            (r#"{"protocolVersion": "1", "structuredContent": {"a": 1}}"#, r#"{"a":1}"#),
            (r#"{"isError": true, "content": [{"type": "text", "text": "no"}]}"#, "error: no"),
        ] {
            let line = format!(r#"{{"jsonrpc": "2.0", "id": ID, "result": {result}}}"#);
            let reply = world.call("raw", json!({ "line": line })).await.expect("a reply");
            assert_eq!(reply, serde_json::from_str::<Value>(result).expect("JSON"));
            let told = match output(&reply, Prefer::Structured) {
                Ok(value) => value.map_or("nothing".to_owned(), |value| value.to_string()),
                Err(error) => format!("error: {}", error.message),
            };
            assert_eq!(told, expected, "{result}");
        }
    });
}

#[test]
fn a_reply_that_asks_for_more_is_refused() {
    block_on(async {
        let world = world("normal");
        let line = r#"{"id": ID, "result": {"resultType": "input_required", "inputRequests": {}}}"#;
        let error = world.call("raw", json!({ "line": line })).await.expect_err("refused");
        assert_eq!(error.kind, CallErrorKind::Unusable);
        assert!(
            error.message.contains("did not complete in a single call (`input_required`)"),
            "{}",
            error_text(&error)
        );
    });
}

#[test]
fn what_a_server_asks_is_answered() {
    block_on(async {
        let world = world("normal");
        for (method, answer) in [("ping", "{}"), ("sampling/createMessage", "-326"), ("who/knows", "-32601")] {
            let text = world.text("ask", json!({"method": method, "params": {"messages": [], "maxTokens": 1}})).await;
            assert!(text.contains(answer), "{method}: {text}");
        }
    });
}
