//! How a call is called off, and what becomes of it when the client leaves.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{call_output, client, held, project, tool};
use crate::support::{Fifo, Project, Wire, within};

/// One tool, `hangs`, that waits for a server that never answers, and would then call it again.
fn hanging() -> (Project, Fifo) {
    let nodes = [
        "id: wait, type: mcp, server: bad, tool: slow, args: {}, next: again",
        "id: again, type: mcp, server: bad, tool: echo, args: {}, next: exit",
    ];
    let echo = ["id: ask, type: mcp, server: bad, tool: echo, args: { v: 1 }, next: exit"];
    let project = project(&[tool("hangs", "", &nodes), tool("echoes", "", &echo)]);
    let alive = Fifo::at(&held(&project));
    (project, alive)
}

/// Calls `hangs`, and waits until the server has the call. The file ends when the server does.
fn hang(wire: &mut Wire, alive: &Fifo) -> (u64, File) {
    let id = wire.ask("tools/call", json!({ "name": "hangs", "arguments": {} }));
    let alive = alive.opened();
    wire.hears("bad: call slow");
    (id, alive)
}

fn has_ended(mut alive: File) {
    let mut said = Vec::new();
    within("the server's process ends", move || alive.read_to_end(&mut said)).expect("a pipe");
}

#[test]
fn a_call_that_is_cancelled_is_dropped_and_its_server_told() {
    let (project, alive) = hanging();
    let mut wire = client(&project);
    let (id, _alive) = hang(&mut wire, &alive);
    wire.notify("notifications/cancelled", &json!({ "requestId": id, "reason": "enough" }));
    wire.hears("bad: cancelled");
    // The same server goes on for others, and the rest of the cancelled graph is not executed.
    call_output(&mut wire, "echoes", json!({}));
    assert_eq!(wire.hears("bad: call"), "bad: call echo");
    wire.close();
    assert!(wire.ended().success());
    let heard = wire.overheard();
    assert!(heard.iter().all(|line| !line.contains("call")), "{heard:?}");
    assert!(wire.next().is_none(), "a cancelled call is not answered");
}

#[test]
fn a_client_that_leaves_takes_calls_and_servers_with_it() {
    let (project, alive) = hanging();
    let mut wire = client(&project);
    let (_, alive) = hang(&mut wire, &alive);
    let left = Instant::now();
    wire.close();
    assert!(wire.ended().success());
    let took = left.elapsed();
    has_ended(alive);
    assert!(took < Duration::from_secs(3), "a second is meant, this machine may be slow: {took:?}");
}

#[test]
fn a_signal_does_the_same() {
    for signal in ["-TERM", "-INT"] {
        let (project, alive) = hanging();
        let mut wire = client(&project);
        let (_, alive) = hang(&mut wire, &alive);
        wire.signal(signal);
        assert!(wire.ended().success(), "{signal}");
        has_ended(alive);
    }
}

#[test]
fn what_was_asked_right_before_leaving_is_answered() {
    let project = project(&[tool("one", "", &[])]);
    let mut wire = client(&project);
    let id = wire.ask("tools/call", json!({ "name": "one", "arguments": { "v": 1 } }));
    wire.close();
    assert_eq!(wire.response(id).expect("an answer")["result"]["structuredContent"], json!({ "v": 1 }));
    assert!(wire.ended().success());
}
