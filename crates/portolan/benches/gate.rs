//! What `portolan gate` costs between a client and a server: each call directly and through the gate, in turn.
//!
//! The server is the same program on both ways: the built-in `echo`, or another one whose tool `echo` takes a `message`. The
//! gate judges every call and writes two lines of its log for it.
//!
//! ```sh
//! cargo bench -p portolan --bench gate
//! PORTOLAN_BENCH_CALLS=5000 cargo bench -p portolan --bench gate
//! PORTOLAN_BENCH_SERVER="node dist/index.js stdio" cargo bench -p portolan --bench gate
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use more of it")]
mod support;

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};
use support::{Processor, Server, row, timed};

/// Calls that are in flight at once.
const IN_FLIGHT: usize = 64;

/// A step that allows the call.
const WORKFLOW: &str = r#"{ "nodes": { "start": { "type": "start" },
  "look": { "type": "task", "instructions": "Look.", "deny": ["mcp:echo/fail"] },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "look" }, { "from": "look", "to": "done" }] }
"#;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let testing = std::env::args().any(|argument| argument == "--test");
    let given = std::env::var("PORTOLAN_BENCH_CALLS").ok().and_then(|given| given.parse().ok());
    let calls = if testing { 2 } else { given.unwrap_or(2_000) };
    let project = tempfile::tempdir().expect("a scratch folder");
    let portolan = env!("CARGO_BIN_EXE_portolan");
    let other = std::env::var("PORTOLAN_BENCH_SERVER").ok();
    let echo: Vec<String> = match &other {
        Some(command) => command.split_whitespace().map(str::to_owned).collect(),
        None => [portolan, "builtin", "echo"].map(str::to_owned).into(),
    };
    // Outside of the project, so that nobody has to trust it.
    let own = tempfile::tempdir().expect("a folder");
    let file = own.path().join("servers.json");
    let servers = json!({ "mcpServers": { "echo": { "command": echo[0], "args": echo[1..] } } });
    fs::write(&file, servers.to_string()).expect("a file of servers");
    fs::create_dir_all(project.path().join(".flow/workflows")).expect("a folder");
    fs::write(project.path().join(".flow/workflows/steps.json"), WORKFLOW).expect("a workflow");
    let gate = [portolan, "gate", "--mcp", &file.to_string_lossy()].map(str::to_owned);

    let mut direct = Server::start(&echo, project.path());
    let mut gated = Server::start(&gate, project.path());
    pairs("no run", calls, &mut direct, &mut gated);
    begin(&mut gated);
    pairs("a run that allows it", calls, &mut direct, &mut gated);
    for (name, server) in [("direct", &mut direct), ("gate", &mut gated)] {
        let mut processor = Processor::default();
        let rate = processor.count(server, |server| (calls, throughput(server, calls)));
        println!("{name:<8} {IN_FLIGHT} in flight: {rate:>9.0} calls a second");
        processor.row(&format!("{name}: {IN_FLIGHT} in flight"));
    }
    let before = gated.resident();
    throughput(&mut gated, calls * 5);
    println!("gate: {before} KiB resident, {} KiB after {} more calls", gated.resident(), calls * 5);
}

fn pairs(name: &str, calls: usize, direct: &mut Server, gated: &mut Server) {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..calls {
        without.push(timed(|| call(direct)).0);
        with.push(timed(|| call(gated)).0);
    }
    row(&format!("direct: {name}"), without);
    row(&format!("gate: {name}"), with);
}

fn call(server: &mut Server) {
    let answer = server.request("tools/call", arguments());
    assert_ne!(answer["result"]["isError"], true, "{answer}");
}

fn arguments() -> Value {
    json!({ "name": "echo", "arguments": { "message": "mend the door" } })
}

/// Has the client bound by a run.
fn begin(gated: &mut Server) {
    let init = json!({ "name": "Init", "arguments": { "workflowType": "steps" } });
    let run = gated.request("tools/call", init)["result"]["structuredContent"]["run"].clone();
    let start = gated.request("tools/call", json!({ "name": "Start", "arguments": { "run": run } }));
    assert_eq!(start["result"]["structuredContent"]["position"]["step"], "look", "{start}");
}

/// Calls that a server answers in a second while several are under way.
fn throughput(server: &mut Server, calls: usize) -> f64 {
    let line = |id: usize| {
        json!({ "jsonrpc": "2.0", "id": 1_000_000 + id, "method": "tools/call", "params": arguments() }).to_string()
    };
    let begun = Instant::now();
    let (mut sent, mut answered) = (0, 0);
    while answered < calls {
        while sent < calls && sent - answered < IN_FLIGHT {
            server.pipe.send(&line(sent));
            sent += 1;
        }
        let answer = server.pipe.receive();
        // Notifications that nobody waits for come in between.
        if answer.contains(r#""method":"#) {
            continue;
        }
        assert!(answer.contains("mend the door"), "{answer}");
        answered += 1;
    }
    calls as f64 / begun.elapsed().as_secs_f64()
}
