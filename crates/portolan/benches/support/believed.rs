//! A workflow without checks, for benchmarks of the engine and its faces.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::command;

/// Copies a workflow of the catalogue into a project, without its checks: what is measured is the engine and its faces.
pub(crate) fn believed(program: &str, project: &Path, workflow: &str) {
    let words = [program, "catalog", "copy", workflow].map(str::to_owned);
    let copied = command(&words, project).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
    assert!(copied.success(), "`{workflow}` is copied");
    let file = project.join(".flow/workflows").join(workflow).join("workflow.json");
    let mut definition: Value = serde_json::from_slice(&fs::read(&file).expect("a file")).expect("JSON");
    for node in definition["nodes"].as_object_mut().expect("nodes").values_mut() {
        let node = node.as_object_mut().expect("a node");
        node.shift_remove("accept");
        node.shift_remove("deny");
    }
    fs::write(&file, definition.to_string()).expect("written");
}
