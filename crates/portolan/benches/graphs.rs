//! What a caller of a graph waits for, over stdio: without a downstream call, with one, with a long text from one, in
//! loops, many at once; start and memory.
//!
//! Beside each figure stands the floor from the same run: a line through `cat`, and the downstream server called without
//! a graph. mcpGraph is measured in turn with Portolan, in bursts, when `PORTOLAN_BENCH_MCPGRAPH` holds its command
//! (words separated by spaces; `-g FILE` is added): the graph is written as both read it.
//!
//! ```sh
//! cargo bench -p portolan --bench graphs
//! npm install mcpgraph
//! PORTOLAN_BENCH_MCPGRAPH="node $PWD/node_modules/mcpgraph/dist/main.js" cargo bench -p portolan --bench graphs
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use support::{Processor, Server, command, echo, row, startup, timed};

/// A text of 20,000 lines, and what a graph makes of it.
const LINES: &str = "lines.txt";
const COUNT: &str = "{\"count\": $count($split($.read.content, \"\\n\"))}";

fn main() {
    let testing = std::env::args().any(|argument| argument == "--test");
    let calls = std::env::var("PORTOLAN_BENCH_CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(2_000);
    let calls: usize = if testing { 2 } else { calls };
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let folder = &scratch.path().join("project");
    fs::create_dir(folder).expect("a project");
    let graph = folder.join("graph.yaml");
    fs::write(&graph, text()).expect("a graph");
    let lines: Vec<String> = (0..20_000).map(|nth| format!("[FILE] file{nth:06}.txt")).collect();
    fs::write(folder.join(LINES), lines.join("\n")).expect("a text");
    let portolan = env!("CARGO_BIN_EXE_portolan").to_owned();
    trust(&portolan, folder);
    let file = graph.to_string_lossy().into_owned();
    let own: Vec<String> = [&portolan, "serve", &file, "--toolset", "graph"].map(str::to_owned).to_vec();
    let peer = std::env::var("PORTOLAN_BENCH_MCPGRAPH").ok().map(|line| {
        line.split_whitespace().map(str::to_owned).chain(["-g".to_owned(), file.clone()]).collect::<Vec<_>>()
    });

    println!("{calls} calls of each graph, one at a time unless said otherwise");
    row("floor: a line through cat", echo(calls));
    let direct = [&portolan, "builtin", "echo"].map(str::to_owned);
    let mut direct = Server::start(&direct, folder);
    row("floor: the downstream tool itself", times(&mut direct, "echo", &json!({ "v": 1 }), calls));
    drop(direct);
    let texts = calls.div_ceil(20);
    let mut direct = Server::start(&[&portolan, "builtin", "filesystem", "."].map(str::to_owned), folder);
    row("floor: the tool that has the text", times(&mut direct, "read_text_file", &json!({ "path": LINES }), texts));
    drop(direct);
    startup("portolan", &own, folder, if testing { 1 } else { 20 });
    if let Some(peer) = &peer {
        startup("mcpgraph", peer, folder, if testing { 1 } else { 5 });
    }

    // What was written just now is read at each call, for its next change might not show in its metadata.
    #[expect(clippy::disallowed_methods, reason = "it waits for the clock of the file system")]
    std::thread::sleep(if testing { Duration::ZERO } else { Duration::from_secs(3) });
    let mut ours = Server::start(&own, folder);
    let idle = ours.resident();
    let mut theirs = peer.as_ref().map(|peer| Server::start(peer, folder));
    for (tool, arguments) in [("plain", json!({ "v": 1 })), ("shape", json!({ "v": 1 })), ("relay", json!({ "v": 1 }))]
    {
        in_turn(&mut ours, theirs.as_mut(), tool, &arguments, calls);
    }
    in_turn(&mut ours, theirs.as_mut(), "lines", &json!({ "path": LINES }), texts);
    for (tool, passes) in [("loop", 100), ("loop", 400)] {
        in_turn(&mut ours, theirs.as_mut(), tool, &json!({ "n": passes }), calls.div_ceil(50));
    }
    at_once(&mut ours, if testing { 2 } else { 50 });
    println!("{:<40} {} KiB idle, {} KiB after", "portolan: resident memory", idle, ours.resident());
    if let Some(theirs) = &theirs {
        println!("{:<40} {} KiB after", "mcpgraph: resident memory", theirs.resident());
    }
    for passes in if testing { vec![10] } else { vec![1_000, 10_000, 100_000] } {
        let (time, answer) = timed(|| call(&mut ours, "long", &json!({ "n": passes })));
        assert_eq!(answer["structuredContent"]["i"], passes, "{answer}");
        let memory = ours.resident();
        println!(
            "{:<40} {:>9.1} ms, {memory} KiB afterwards",
            format!("portolan: {passes} passes"),
            time.as_secs_f64() * 1e3
        );
    }
}

/// The graphs, in the spelling that mcpGraph 0.1.23 and Portolan both read.
fn text() -> String {
    let schema = "inputSchema: {type: object}\n    outputSchema: {type: object}";
    let tool = |name: &str, nodes: &str| {
        format!("  - name: {name}\n    description: {name}\n    {schema}\n    nodes:\n{nodes}")
    };
    let entry = |next: &str| format!("      - {{id: entry, type: entry, next: {next}}}\n");
    let exit = "      - {id: exit, type: exit}\n";
    let transform = |id: &str, expr: &str, next: &str| {
        format!("      - {{id: {id}, type: transform, transform: {{expr: '{expr}'}}, next: {next}}}\n")
    };
    let counting = |name: &str| {
        let add = transform("add", "$executionCount(\"add\") = 0 ? {\"i\": 1} : {\"i\": $.add.i + 1}", "more");
        let more = "      - {id: more, type: switch, conditions: [{rule: {\"<\": [{var: $.add.i}, {var: $.entry.n}]}, target: add}, {target: done}]}\n";
        tool(name, &[&entry("add"), &add, more, &transform("done", "$.add", "exit"), exit].concat())
    };
    let relay = "      - {id: call, type: mcp, server: echo, tool: echo, args: {v: $.entry.v}, next: exit}\n";
    let read =
        "      - {id: read, type: mcp, server: files, tool: read_text_file, args: {path: $.entry.path}, next: count}\n";
    [
        "version: \"1.0\"\nserver: {name: bench, version: \"1.0.0\"}\nexecutionLimits: {maxNodeExecutions: 1000000}\n",
        &format!(
            "mcpServers:\n  echo: {{type: stdio, command: {program}, args: [builtin, echo]}}\n  \
             files: {{type: stdio, command: {program}, args: [builtin, filesystem, .]}}\n",
            program = env!("CARGO_BIN_EXE_portolan")
        ),
        "tools:\n",
        &tool("plain", &[&entry("exit"), exit].concat()),
        &tool("shape", &[&entry("shape"), &transform("shape", "{\"v\": $.entry.v + 1}", "exit"), exit].concat()),
        &tool("relay", &[&entry("call"), relay, exit].concat()),
        &tool("lines", &[&entry("read"), read, &transform("count", COUNT, "exit"), exit].concat()),
        &counting("loop"),
        &counting("long"),
    ]
    .concat()
}

/// The graph starts a program: that is trusted among this benchmark's own records.
fn trust(portolan: &str, folder: &Path) {
    let done = command(&[portolan, "trust", "graph.yaml"].map(str::to_owned), folder).output().expect("it starts");
    assert!(done.status.success(), "{done:?}");
}

fn call(server: &mut Server, tool: &str, arguments: &Value) -> Value {
    let answer = server.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert!(answer["result"]["structuredContent"].is_object(), "{tool}: {answer}");
    answer["result"].clone()
}

fn times(server: &mut Server, tool: &str, arguments: &Value, count: usize) -> Vec<Duration> {
    (0..count).map(|_| timed(|| drop(call(server, tool, arguments))).0).collect()
}

/// Burst by burst in turn, so that whatever else the machine does falls on both. Not call by call: what a server does in
/// the background after it has answered would then fall on the other one's next call.
fn in_turn(ours: &mut Server, theirs: Option<&mut Server>, tool: &str, arguments: &Value, count: usize) {
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    let (mut our_processor, mut their_processor) = (Processor::default(), Processor::default());
    let mut theirs = theirs;
    let burst = (count / 4).clamp(1, 50);
    let called = |server: &mut Server| (burst, times(server, tool, arguments, burst));
    while our_times.len() < count {
        our_times.extend(our_processor.count(ours, called));
        if let Some(theirs) = &mut theirs {
            their_times.extend(their_processor.count(theirs, called));
        }
    }
    row(&format!("portolan: {tool} {arguments}"), our_times);
    our_processor.row("");
    row(&format!("mcpgraph: {tool} {arguments}"), their_times);
    their_processor.row("");
}

/// 32 calls in flight: each must get its own answer.
fn at_once(server: &mut Server, rounds: usize) {
    let mut taken = Vec::new();
    for round in 0..rounds {
        let (time, ()) = timed(|| {
            for id in 0..32 {
                let params = json!({ "name": "relay", "arguments": { "v": round * 100 + id } });
                let line = json!({ "jsonrpc": "2.0", "id": 1_000_000 + id, "method": "tools/call", "params": params });
                server.pipe.send(&line.to_string());
            }
            let mut seen = BTreeSet::new();
            for _ in 0..32 {
                let answer: Value = serde_json::from_str(&server.pipe.receive()).expect("an answer");
                let id = answer["id"].as_u64().expect("an id") - 1_000_000;
                assert_eq!(answer["result"]["structuredContent"]["v"], round as u64 * 100 + id, "{answer}");
                assert!(seen.insert(id), "answered twice");
            }
        });
        taken.push(time);
    }
    row("portolan: 32 calls of relay in flight", taken);
}
