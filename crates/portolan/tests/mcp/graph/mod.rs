//! The `graph` toolset: files of graphs as MCP tools.

mod answers;
mod called_off;
mod clients;
mod lists;
mod many;
mod progress;
mod reload;
mod servers;
mod states;

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Project, Wire};

const MISBEHAVING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../portolan-runtime/tests/fixtures/misbehaving.py");

const HEAD: &str = r#"
version: "1.0"
server: { name: toolbox, version: "1.2.3", title: Tool box, instructions: Use it with care. }
executionLimits: { maxNodeExecutions: 1000000 }
tools:
"#;

/// A tool of a graph file: `more` stands beside its name, `nodes` between its entry, which is called `entry` and leads
/// to the first of them, and its exit, which is called `exit`.
fn tool(name: &str, more: &str, nodes: &[&str]) -> String {
    let first = nodes.first().and_then(|node| node.split([':', ',']).nth(1)).unwrap_or("exit").trim();
    let mut text = format!("  - name: {name}\n    description: Does {name}\n");
    if !more.contains("inputSchema") {
        text.push_str("    inputSchema: { type: object }\n");
    }
    if !more.contains("outputSchema") {
        text.push_str("    outputSchema: { type: object }\n");
    }
    for line in more.lines() {
        text.push_str(&format!("    {line}\n"));
    }
    text.push_str(&format!("    nodes:\n      - {{ id: entry, type: entry, next: {first} }}\n"));
    for node in nodes {
        text.push_str(&format!("      - {{ {node} }}\n"));
    }
    text.push_str("      - { id: exit, type: exit }\n");
    text
}

/// A project with the graph file `g.yaml`, and a file of servers of the person's own: `echo`, which is built in, `apart`,
/// the same as a process, and `bad`, which does what it is told.
fn project(tools: &[String]) -> Project {
    let project = Project::new();
    write(&project, tools);
    let apart = json!({ "command": env!("CARGO_BIN_EXE_portolan"), "args": ["builtin", "echo"] });
    let bad = json!({ "command": "python3", "args": [MISBEHAVING, "normal", "--hold", held(&project)] });
    let servers = json!({ "mcpServers": { "echo": { "builtin": "echo" }, "apart": apart, "bad": bad } });
    project.write("mcp.json", &servers.to_string());
    project
}

fn write(project: &Project, tools: &[String]) {
    project.write("g.yaml", &[HEAD, &tools.concat()].concat());
}

/// The named pipe that the server `bad` holds open for as long as it lives.
fn held(project: &Project) -> std::path::PathBuf {
    project.path().join("held")
}

/// A client of the graphs that has shaken hands.
fn client(project: &Project) -> Wire {
    let mut wire = server(project);
    wire.shake_hands("2025-11-25", &json!({}));
    wire
}

fn server(project: &Project) -> Wire {
    if !Path::new(&held(project)).exists() {
        // Opened by nobody, it would keep its writer waiting: `bad` is only started where a test reads from it.
        std::fs::write(held(project), "").expect("a file in its place");
    }
    Wire::hearing(project.command(&["serve", "g.yaml", "--mcp", "mcp.json"]))
}

/// The result of a call.
fn call(wire: &mut Wire, tool: &str, arguments: Value) -> Value {
    let answer = wire.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// Text and structured content of a call that must not fail.
fn call_output(wire: &mut Wire, tool: &str, arguments: Value) -> (String, Value) {
    let result = call(wire, tool, arguments);
    assert_eq!(result.get("isError").unwrap_or(&json!(false)), &json!(false), "{result}");
    (result["content"][0]["text"].as_str().unwrap_or_default().to_owned(), result["structuredContent"].clone())
}
