//! Calls that go well, and what goes out with them.

use std::sync::Arc;
use std::time::Duration;

use portolan_runtime::servers::{PoolOptions, ToolCall};
use serde_json::{Value, json};

use crate::support::{PATIENCE, World, block_on, call, misbehaving, nothing, world};

#[test]
fn a_call_brings_the_reply_as_it_came() {
    block_on(async {
        let world = world("normal");
        let meta = json!({"traceparent": "00-11-22-01"}).as_object().cloned().expect("an object");
        let call = ToolCall { meta, ..call("s", "echo", json!({"a": [1, null]}), PATIENCE) };
        let reply = world.servers.call(call).await.expect("a reply");
        assert_eq!(reply["structuredContent"]["arguments"], json!({"a": [1, null]}));
        assert_eq!(reply["structuredContent"]["meta"]["traceparent"], "00-11-22-01");
        assert_eq!(reply["content"], json!([]));
    });
}

#[test]
fn nothing_is_started_before_it_is_needed_and_then_once() {
    block_on(async {
        let world = world("normal");
        assert_eq!(world.starts(), 0);
        let calls: Vec<_> = (0..64)
            .map(|number| {
                let servers = Arc::clone(&world.servers);
                tokio::spawn(async move { servers.call(call("s", "echo", json!({"number": number}), PATIENCE)).await })
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            let reply = call.await.expect("no panic").expect("a reply");
            assert_eq!(reply["structuredContent"]["arguments"]["number"], number);
        }
        assert_eq!(world.starts(), 1);
    });
}

#[test]
fn we_are_portolan_and_can_do_nothing() {
    block_on(async {
        let world = world("normal");
        world.call("echo", nothing()).await.expect("a reply");
        let line = world.hears("s: initialize ").await;
        let said: Value = serde_json::from_str(line.trim_start_matches("s: initialize ")).expect("JSON");
        assert_eq!(said["clientInfo"]["name"], "portolan");
        assert_eq!(said["clientInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(said["capabilities"], json!({}));
        assert_eq!(said["protocolVersion"], "2025-11-25");
    });
}

#[test]
fn servers_run_side_by_side() {
    block_on(async {
        let world = World::new(
            |folder| vec![misbehaving("s", "normal", folder), misbehaving("t", "normal", folder)],
            PoolOptions::default(),
        );
        let slow = world.servers.call(call("s", "slow", nothing(), PATIENCE));
        let quick = async {
            world.hears("s: call slow").await;
            world.servers.call(call("t", "echo", nothing(), PATIENCE)).await.expect("a reply");
            world.servers.call(call("s", "echo", nothing(), PATIENCE)).await.expect("a reply");
        };
        tokio::select! {
            _ = slow => panic!("it never answers"),
            () = quick => {}
        }
        assert_eq!(world.servers.names().collect::<Vec<_>>(), ["s", "t"]);
        assert_eq!(world.starts(), 2);
    });
}

#[test]
fn a_call_in_time_is_not_cancelled() {
    block_on(async {
        let world = world("normal");
        world.call_for("echo", nothing(), Duration::from_secs(30)).await.expect("a reply");
        world.servers.close().await;
        let mut lines = Vec::new();
        loop {
            let line = world.hears("s: ").await;
            if line == "s: end of input" {
                break;
            }
            lines.push(line);
        }
        assert!(!lines.iter().any(|line| line.contains("cancelled")), "{lines:?}");
    });
}
