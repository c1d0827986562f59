//! `portolan builtin`: a client's first words, and what cannot be served.

use std::io::Write;
use std::process::Stdio;

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::Project;

/// The answers to `requests`, after the handshake.
fn answers(project: &Project, words: &[&str], requests: &[Value]) -> Vec<Value> {
    let mut server = project.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    lines.extend_from_slice(requests);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    server.stdin.take().expect("it is piped").write_all(text.as_bytes()).expect("it reads");
    let output = server.wait_with_output().expect("it ends with its input");
    assert!(output.status.success(), "{}", project.output_text(&output));
    let answers = String::from_utf8(output.stdout).expect("text");
    answers.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn the_filesystem_is_served_to_any_client() {
    let project = Project::new();
    project.write("notes/a.txt", "hello");
    let answers =
        answers(&project, &["builtin", "filesystem", "notes"], &[call("list_directory", json!({"path": "."}))]);
    assert_eq!(answers[0]["result"]["structuredContent"], json!({"content": "[FILE] a.txt"}));
}

#[test]
fn echo_is_served_to_any_client() {
    let project = Project::new();
    let answers = answers(&project, &["builtin", "echo"], &[call("add", json!({"a": 1, "b": 2}))]);
    assert_eq!(answers[0]["result"]["structuredContent"], json!({"sum": 3}));
}

#[test]
fn a_folder_that_is_not_there_cannot_be_served() {
    expect![[r#"
        stderr: error: `gone` cannot be served: no such file or directory
        stderr: help: name a folder that exists
        exit: 1
    "#]]
    .assert_eq(&Project::new().says("builtin filesystem gone"));
}
