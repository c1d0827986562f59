//! The `author` toolset: an agent writes the graphs of a file.

mod clients;
mod pieces;
mod safety;
mod trying;
mod writing;

use serde_json::{Value, json};

use crate::support::{Project, Wire};

const MISBEHAVING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../portolan-runtime/tests/fixtures/misbehaving.py");

const FILE: &str = r#"# Our tools
version: "1.0"
server: { name: toolbox, version: "1.2.3", instructions: Use it with care. }   # for clients

tools:
  # Adds
  - name: adds
    description: Adds two numbers   # both are needed
    inputSchema: { type: object, properties: { a: { type: number } }, required: [a] }
    outputSchema: { type: object }
    nodes:
      - { id: entry, type: entry, next: add }
      - id: add
        type: mcp
        server: echo
        tool: add
        args:
          a: { expr: $.entry.a }   # the first
          b: 2
        next: exit
      - { id: exit, type: exit }
# the end
"#;

/// A definition of a tool that says something.
fn says(name: &str, words: &str) -> Value {
    json!({
        "name": name,
        "description": format!("Says {words}"),
        "inputSchema": { "type": "object" },
        "outputSchema": { "type": "object" },
        "nodes": [
            { "id": "entry", "type": "entry", "next": "say" },
            { "id": "say", "type": "transform", "transform": { "expr": format!("{{\"said\": \"{words}\"}}") }, "next": "exit" },
            { "id": "exit", "type": "exit" },
        ],
    })
}

fn project() -> Project {
    let project = Project::new();
    project.write("g.yaml", FILE);
    project
}

fn client(project: &Project) -> Wire {
    project.client(&["g.yaml", "--toolset", "author"])
}

fn text(project: &Project) -> String {
    std::fs::read_to_string(project.path().join("g.yaml")).expect("the file is there")
}

/// The error of a call that is refused.
fn refused(wire: &mut Wire, tool: &str, arguments: &Value, code: &str) -> Value {
    let answer = wire.call(tool, arguments);
    assert!(answer.is_error, "{tool} {arguments}: {:#}", answer.value);
    let error = answer.value["error"].clone();
    assert_eq!(error["code"], code, "{error:#}");
    assert!(error["message"].is_string() && error["help"].as_str().is_some_and(|help| !help.is_empty()), "{error:#}");
    error
}
