//! Too much of everything.

use std::time::Duration;

use portolan_runtime::servers::{CallErrorKind, PoolOptions};
use serde_json::{Value, json};

use crate::support::{block_on, error_text, not_checked, nothing, world, world_with};

/// The most memory that this process has had, in bytes; nothing where the system does not say.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[test]
fn a_reply_of_a_hundred_megabytes_is_an_error_and_no_memory() {
    block_on(async {
        let world = world("normal");
        world.call("echo", nothing()).await.expect("a reply");
        for shape in [json!({}), json!({"id_last": true})] {
            let mut arguments = shape.clone();
            arguments["bytes"] = json!(100_000_000);
            let error = world.call("huge", arguments).await.expect_err("too much");
            assert_eq!(error.kind, CallErrorKind::TooLarge, "{shape}: {}", error_text(&error));
            assert_eq!(
                error.message,
                "the reply of tool `huge` of server `s` was discarded: it is larger than 16777216 bytes"
            );
        }
        world.call("echo", nothing()).await.expect("the connection stands");
        match peak() {
            // Other tests run in this process too, and take what they are allowed to.
            Some(peak) => assert!(peak < 100_000_000 + (200 << 20), "{peak}"),
            None => not_checked("this system does not say how much memory a process takes"),
        }
    });
}

#[test]
fn a_huge_message_that_answers_nothing_is_passed_over() {
    block_on(async {
        let world = world("normal");
        let error = world.call_for("huge", json!({"bytes": 20_000_000, "no_id": true}), Duration::from_secs(2)).await;
        let error = error.expect_err("no answer");
        assert_eq!(error.kind, CallErrorKind::Timeout);
        // Beside other work the message may arrive after the time limit, but before the next answer.
        world.call("echo", nothing()).await.expect("the connection stands");
        let error = world.call("die", nothing()).await.expect_err("it died");
        assert!(error.stderr.contains("one of its messages was discarded"), "{}", error_text(&error));
    });
}

#[test]
fn the_bound_is_an_option_and_what_is_below_it_comes_through() {
    block_on(async {
        let world = world_with("normal", PoolOptions { max_message: 100_000, ..PoolOptions::default() });
        assert_eq!(world.text("huge", json!({"bytes": 99_000})).await.len(), 99_000);
        let error = world.call("huge", json!({"bytes": 101_000})).await.expect_err("too much");
        assert_eq!(error.kind, CallErrorKind::TooLarge);
    });
}

#[test]
fn floods_of_notifications_pass() {
    block_on(async {
        let world = world("normal");
        assert_eq!(world.text("flood_notifications", json!({"count": 20_000})).await, "flooded");
    });
}

#[test]
fn floods_of_questions_pass() {
    block_on(async {
        let world = world("normal");
        assert_eq!(world.text("flood_requests", json!({"count": 2_000})).await, "flooded");
    });
}

#[test]
fn floods_of_standard_error_are_bounded_and_handed_on() {
    block_on(async {
        let world = world("normal");
        assert_eq!(world.text("flood_stderr", json!({"lines": 20_000})).await, "flooded");
        world.hears("s: line 19999 ").await;
        let error = world.call("die", nothing()).await.expect_err("it died");
        assert!(error.stderr.len() <= 9 * 1024, "{}", error.stderr.len());
        assert!(error.stderr.starts_with("[earlier output left out]\nline "), "{:.100}", error.stderr);
        assert!(error.stderr.ends_with("these are my last words"));
    });
}

#[test]
fn malformed_messages_are_told_and_too_many_of_them_end_it() {
    block_on(async {
        let world = world("normal");
        assert_eq!(world.text("malformed", json!({"count": 600})).await, "malformed");
        assert_eq!(world.text("malformed", json!({"count": 600})).await, "malformed");
        let error = world.call("malformed", json!({"count": 5_000})).await.expect_err("given up");
        assert_eq!(error.kind, CallErrorKind::Lost, "{}", error_text(&error));
        assert!(
            error.stderr.contains("giving up on the server: it sent too many invalid messages"),
            "{}",
            error_text(&error)
        );
        world.call("echo", nothing()).await.expect("it was started again");
    });
}

#[test]
fn a_nest_of_values_is_no_stack() {
    block_on(async {
        let world = world("normal");
        let line = format!(r#"{{"id": ID, "result": {}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let error = world.call("raw", json!({ "line": line })).await.expect_err("no reply");
        assert_eq!(error.kind, CallErrorKind::Unreadable);
        let reply = world.call("echo", nothing()).await.expect("the connection stands");
        assert!(matches!(reply, Value::Object(_)));
    });
}
