//! A scratch project, with the person's own records beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::Wire;

/// What hosts of agents give to their shells: the tests may have been started by one.
const MARKERS: [&str; 7] =
    ["CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "COPILOT_CLI", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE"];

pub(crate) struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new() -> Project {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("project")).expect("a project");
        Project { folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("project").canonicalize().expect("the project is there")
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
        std::fs::write(path, text).expect("a file is written");
    }

    /// Has `portolan gate` serve what a script in Python does under several names, as a person who trusts it. The script gets
    /// its name, and what follows it.
    pub(crate) fn serve_by_gate(&self, script: &str, servers: &[&[&str]]) {
        self.write("server.py", script);
        let entry = |words: &&[&str]| {
            let arguments = [&["server.py"], *words].concat();
            (words[0].to_owned(), serde_json::json!({ "command": "python3", "args": arguments }))
        };
        let servers: serde_json::Map<String, Value> = servers.iter().map(entry).collect();
        self.write("servers.json", &serde_json::json!({ "mcpServers": servers }).to_string());
        let trusted = self.command(&["trust", "servers.json"]).output().expect("it runs");
        assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stderr));
    }

    /// Adds a workflow from its nodes and edges.
    pub(crate) fn workflow(&self, id: &str, nodes: &Value, edges: &Value) {
        let definition = serde_json::json!({ "id": id, "name": id, "nodes": nodes, "edges": edges });
        self.write(&format!(".flow/workflows/{id}.json"), &definition.to_string());
    }

    /// Has the project's own version of a workflow of the catalogue, at which an agent's word is enough.
    pub(crate) fn believe(&self, id: &str) {
        let entries = portolan_runtime::catalog::WORKFLOWS;
        let entry = entries.iter().find(|entry| entry.id == id).expect("it is in the catalogue");
        let mut file: Value = serde_json::from_str(entry.text).expect("it is JSON");
        for node in file["nodes"].as_object_mut().expect("nodes").values_mut().filter_map(Value::as_object_mut) {
            node.retain(|field, _| field != "accept" && field != "deny");
        }
        self.write(&format!(".flow/workflows/{id}.json"), &file.to_string());
    }

    /// A path for a task file.
    pub(crate) fn task(&self, name: &str) -> String {
        let folder = self.folder.path().join("tasks");
        std::fs::create_dir_all(&folder).expect("a folder is made");
        folder.join(format!("{name}.json")).to_string_lossy().into_owned()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portolan"));
        command.args(arguments).current_dir(self.path()).env("PORTOLAN_DATA_DIR", self.person());
        for marker in MARKERS {
            command.env_remove(marker);
        }
        command
    }

    /// The person's own folder.
    pub(crate) fn person(&self) -> PathBuf {
        self.folder.path().join("person")
    }

    /// Runs a command of the command line as the person would, and takes what it prints as JSON.
    pub(crate) fn run(&self, arguments: &[&str]) -> Value {
        let done = self.command(arguments).args(["--format", "json"]).output().expect("the command runs");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).expect("JSON")
    }

    /// The records of a run, by its handle or task file.
    pub(crate) fn records(&self, run: &str) -> Vec<Value> {
        self.run(&["runs", "events", run])["records"].as_array().expect("records").clone()
    }

    /// A client that has shaken hands with a server.
    pub(crate) fn client(&self, arguments: &[&str]) -> Wire {
        let mut wire = self.server(arguments);
        wire.shake_hands("2025-11-25", &serde_json::json!({}));
        wire
    }

    /// A server that nobody has spoken to.
    pub(crate) fn server(&self, arguments: &[&str]) -> Wire {
        let mut all = vec!["serve"];
        all.extend(arguments);
        Wire::to(self.command(&all))
    }
}

pub(crate) fn bytes(path: &str) -> Option<Vec<u8>> {
    std::fs::read(Path::new(path)).ok()
}
