//! The servers of a host's configuration that move behind `portolan gate`, and the file that the gate reads.

use std::path::Path;

use anyhow::ensure;
use portolan_core::diagnostic::{clip, list};
use portolan_core::dialect;
use portolan_core::source::Source;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::record::{InstalledFile, Record};
use super::splice::{self, Part};
use crate::hook::Host;

/// The file of servers that the gate reads, in the project.
pub(crate) const FILE: &str = ".portolan/gate.json";

/// The name of our own entry.
const OWN: &str = "portolan";

/// Fields that control the client which has read the servers so far.
const OF_CLIENTS: [&str; 6] = ["autoApprove", "alwaysAllow", "trust", "gallery", "dev", "enabled"];

/// What was moved out of a host's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MovedServers {
    /// The text of the file before, without our own parts.
    before: String,
    /// The servers, as the host's file had them.
    servers: Map<String, Value>,
}

/// A host's file without the servers that the gate offers instead.
pub(super) struct StrippedFile {
    pub(super) text: String,
    pub(super) moved: MovedServers,
    /// The servers in the form that the gate reads.
    servers: Map<String, Value>,
    /// Why the others stay.
    pub(super) notes: Vec<String>,
}

/// Returns the key of the servers in a host's settings. `None` if the installation does not change the file that has
/// them.
pub(super) fn key(host: Host) -> Option<&'static str> {
    match host {
        Host::ClaudeCode | Host::Cursor | Host::Gemini => Some("mcpServers"),
        Host::Copilot => Some("servers"),
        Host::OpenCode => Some("mcp"),
        Host::Codex => None,
    }
}

/// Checks whether the installation can move the servers of a host.
pub(crate) fn has_servers(host: Host) -> bool {
    key(host).is_some()
}

/// Checks whether the servers of a host are behind the gate.
pub(super) fn is_installed(record: &Record, host: Host) -> bool {
    record.of(host.name()).any(|file| file.moved.is_some())
}

/// Returns the arguments with which a host starts the gate.
pub(super) fn arguments(project: &Path) -> Vec<String> {
    vec!["gate".to_owned(), "--mcp".to_owned(), project.join(FILE).to_string_lossy().into_owned()]
}

/// Takes the servers out of a host's file. Those that the gate could not start stay.
pub(super) fn take(host: Host, key: &str, project: &Path, text: Option<&str>) -> anyhow::Result<StrippedFile> {
    let text = text.unwrap_or_default();
    let all = splice::parsed(text).map_err(anyhow::Error::msg)?[key].as_object().cloned().unwrap_or_default();
    ensure!(!all.contains_key(OWN), "it has your own entry `{OWN}`: rename or remove it first");
    let (mut originals, mut servers, mut notes) = (Map::new(), Map::new(), Vec::new());
    for (name, entry) in all {
        match converted(host, project, &name, &entry) {
            Ok(server) => {
                servers.insert(name.clone(), server);
                originals.insert(name, entry);
            }
            Err(why) => notes.push(format!("`{}` stays where it is: {why}.", clip(&name))),
        }
    }
    ensure!(
        !servers.is_empty(),
        "it has no server that could be moved behind the gate: add one first{}",
        format_notes(&notes)
    );
    let parts: Vec<Part> = originals.iter().map(|(name, value)| part(key, name, value)).collect();
    let rest = splice::cut(text, &parts, |_, _| true).map_err(anyhow::Error::msg)?;
    Ok(StrippedFile { text: rest, moved: MovedServers { before: text.to_owned(), servers: originals }, servers, notes })
}

fn format_notes(notes: &[String]) -> String {
    notes.iter().map(|note| format!("; {}", note.trim_end_matches('.'))).collect()
}

fn part(key: &str, name: &str, value: &Value) -> Part {
    Part { within: vec![key.to_owned()], key: Some(name.to_owned()), value: value.clone() }
}

impl StrippedFile {
    /// Returns the text of the file that the gate reads.
    pub(super) fn file(&self) -> String {
        format!("{:#}\n", json!({ "mcpServers": self.servers }))
    }
}

impl MovedServers {
    /// Returns the text of the host's file before, for a file that has not changed since.
    pub(super) fn before(&self) -> String {
        self.before.clone()
    }

    /// Puts the servers back into a text that has changed since. An entry that has the same name by now stays.
    pub(super) fn put_back(&self, host: Host, text: &str) -> Result<String, String> {
        let Some(key) = key(host) else { return Ok(text.to_owned()) };
        let parts: Vec<Part> = self.servers.iter().map(|(name, value)| part(key, name, value)).collect();
        splice::put(text, &parts).map(|spliced| spliced.text)
    }
}

/// Returns the servers in a host's file that are not behind the gate, although others are.
pub(super) fn beside(host: Host, installed: &InstalledFile, text: &str) -> Vec<String> {
    let (Some(key), Some(_)) = (key(host), &installed.moved) else { return Vec::new() };
    let settings = splice::parsed(text).unwrap_or_default();
    let names = settings[key].as_object().into_iter().flat_map(|servers| servers.keys());
    names.filter(|name| *name != OWN).cloned().collect()
}

/// Returns a server in the form that the gate reads.
fn converted(host: Host, project: &Path, name: &str, entry: &Value) -> Result<Value, String> {
    let Some(entry) = entry.as_object() else { return Err("it is not an object".to_owned()) };
    let mut server: Map<String, Value> = match host {
        Host::OpenCode => of_opencode(entry),
        Host::Gemini => of_gemini(entry),
        Host::ClaudeCode | Host::Cursor | Host::Copilot | Host::Codex => entry.clone(),
    };
    if entry.get("enabled") == Some(&json!(false)) {
        server.insert("disabled".to_owned(), json!(true));
    }
    OF_CLIENTS.iter().for_each(|field| drop(server.remove(*field)));
    server.values_mut().for_each(|value| spell(value, project));
    if server.contains_key("command") {
        // The gate's file is in another folder than the one in which the host starts servers.
        let folder =
            server.get("cwd").and_then(Value::as_str).map_or_else(|| project.to_owned(), |cwd| project.join(cwd));
        server.insert("cwd".to_owned(), json!(folder));
    }
    let source = Source::new(FILE, json!({ "mcpServers": { name: &server } }).to_string());
    let (read, faults) = dialect::servers(&source);
    match faults.first() {
        Some(fault) => Err(fault.message.clone()),
        None if read.is_empty() => Err("the gate cannot read it".to_owned()),
        None => Ok(Value::Object(server)),
    }
}

/// OpenCode has the command and its arguments in one list.
fn of_opencode(entry: &Map<String, Value>) -> Map<String, Value> {
    let mut server = entry.clone();
    server.remove("type");
    if let Some(Value::Array(words)) = server.remove("command") {
        let mut words = words.into_iter();
        server.extend(words.next().map(|command| ("command".to_owned(), command)));
        server.insert("args".to_owned(), Value::Array(words.collect()));
    }
    server.extend(entry.get("environment").map(|environment| ("env".to_owned(), environment.clone())));
    server.remove("environment");
    server
}

/// Gemini CLI names the two ways over HTTP by two fields.
fn of_gemini(entry: &Map<String, Value>) -> Map<String, Value> {
    let mut server = entry.clone();
    match server.remove("httpUrl") {
        Some(url) => {
            server.insert("url".to_owned(), url);
            server.insert("type".to_owned(), json!("http"));
        }
        None if server.contains_key("url") && !server.contains_key("type") => {
            server.insert("type".to_owned(), json!("sse"));
        }
        None => {}
    }
    server
}

/// Replaces the hosts' spellings of variables by those of the gate.
fn spell(value: &mut Value, project: &Path) {
    match value {
        Value::String(text) => {
            let folder = project.to_string_lossy();
            *text = text.replace("${workspaceFolder}", &folder).replace("${env:", "${");
            // OpenCode writes `{env:NAME}`.
            *text = text.replace("{env:", "${");
        }
        Value::Array(items) => items.iter_mut().for_each(|item| spell(item, project)),
        Value::Object(fields) => fields.values_mut().for_each(|field| spell(field, project)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the note for a person about what remains to be done.
pub(super) fn note(moved: &MovedServers) -> String {
    let names: Vec<&str> = moved.servers.keys().map(String::as_str).collect();
    format!(
        "{} {} behind the gate: run `portolan trust {FILE}`, since the gate starts no server of a file in the project \
         before a person has trusted it.",
        list(&names),
        if names.len() == 1 { "is" } else { "are" }
    )
}
