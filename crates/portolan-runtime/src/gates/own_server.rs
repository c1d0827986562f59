//! Checks whether an MCP server that a coding agent's host names is this program. The name alone proves nothing. What
//! counts is the command that the host's own settings give for it; guards keep agents from changing those.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use portolan_gates::pattern::spelt;
use serde_json::Value;

use crate::disk;
use crate::pins::{self, Pins};

/// The settings files in a project in which hosts configure their servers, and the key of the entries.
const IN_PROJECT: [(&str, &str); 6] = [
    (".mcp.json", "mcpServers"),
    (".cursor/mcp.json", "mcpServers"),
    (".gemini/settings.json", "mcpServers"),
    (".vscode/mcp.json", "servers"),
    ("opencode.json", "mcp"),
    ("opencode.jsonc", "mcp"),
];

/// The same in the user's home.
const AT_HOME: [(&str, &str); 4] = [
    (".claude.json", "mcpServers"),
    (".cursor/mcp.json", "mcpServers"),
    (".gemini/settings.json", "mcpServers"),
    (".config/opencode/opencode.json", "mcp"),
];

/// The settings file of Codex, in a project and at home.
const OF_CODEX: &str = ".codex/config.toml";

/// The largest file that is read, in bytes. Claude Code stores its state of all projects in one of these.
const MAX_BYTES: u64 = 64 << 20;

/// The command that a host starts.
#[derive(Debug, PartialEq, Eq)]
struct ServerCommand {
    command: String,
    arguments: Vec<String>,
}

/// Checks whether the host of an agent in `folder` starts this program as the server `name`. If there are several
/// entries of that name, all must, because it is not known which one the host used.
pub fn is_ours(folder: &Path, name: &str) -> bool {
    let started = started(folder, name);
    let ours = programs(folder);
    !started.is_empty() && started.iter().all(|started| is_served_by(started, &ours))
}

fn is_served_by(started: &ServerCommand, ours: &BTreeSet<PathBuf>) -> bool {
    let path = Path::new(&started.command);
    let path = if path.is_absolute() { Some(path.to_owned()) } else { pins::on_path(&started.command) };
    let program = path.and_then(|path| path.canonicalize().ok());
    program.is_some_and(|program| ours.contains(&program))
        && started.arguments.first().is_some_and(|first| first == "serve" || first == "gate")
}

/// Returns this program, and the one with which hooks were installed.
fn programs(folder: &Path) -> BTreeSet<PathBuf> {
    let pinned = Pins::around(folder).ok().flatten().and_then(|(_, pins)| pins.programs.get("portolan").cloned());
    let all = std::env::current_exe().into_iter().chain(pinned);
    all.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Returns the commands for a name in all settings.
fn started(folder: &Path, name: &str) -> Vec<ServerCommand> {
    let mut found = Vec::new();
    for project in folder.ancestors() {
        for (file, key) in IN_PROJECT {
            found.extend(json(&project.join(file)).and_then(|settings| entry(&settings[key], name)));
        }
        found.extend(text(&project.join(OF_CODEX)).and_then(|settings| in_toml(&settings, name)));
    }
    if let Some(home) = std::env::home_dir() {
        for (file, key) in AT_HOME {
            let Some(settings) = json(&home.join(file)) else { continue };
            found.extend(entry(&settings[key], name));
            let of_projects = folder.ancestors().filter_map(|project| settings["projects"].get(project.to_str()?));
            found.extend(of_projects.filter_map(|project| entry(&project[key], name)));
        }
        found.extend(text(&home.join(OF_CODEX)).and_then(|settings| in_toml(&settings, name)));
    }
    // A plug-in of Claude Code brings its own servers. The host sets this variable for the plug-in's hooks.
    if let Some(root) = std::env::var_os("CLAUDE_PLUGIN_ROOT").map(PathBuf::from) {
        let settings = json(&root.join(".mcp.json")).unwrap_or_default();
        let short = name.strip_prefix("plugin_").and_then(|rest| rest.rsplit_once('_')).map(|(_, last)| last);
        found.extend(short.and_then(|short| entry(&settings["mcpServers"], short)));
    }
    found
}

/// Returns the entry of a name. Hosts replace characters that tool names may not have with `_`.
fn entry(servers: &Value, name: &str) -> Option<ServerCommand> {
    let (_, server) = servers.as_object()?.iter().find(|(known, _)| spelt(known) == spelt(name))?;
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    if let Value::Array(_) = &server["command"] {
        let mut words = words(&server["command"]);
        let command = if words.is_empty() { String::new() } else { words.remove(0) };
        return Some(ServerCommand { command, arguments: words });
    }
    let command = server["command"].as_str().unwrap_or_default().to_owned();
    Some(ServerCommand { command, arguments: words(&server["args"]) })
}

/// Returns the entry of a name in the settings of Codex: `command` and `args` below `[mcp_servers.NAME]`, each on its
/// own line. Any other notation yields an empty command, which is not this program.
fn in_toml(settings: &str, name: &str) -> Option<ServerCommand> {
    let mut started: Option<ServerCommand> = None;
    let mut inside = false;
    for line in settings.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let table = header.trim_end_matches(']').trim().strip_prefix("mcp_servers.");
            inside = table.is_some_and(|table| spelt(table.trim_matches('"')) == spelt(name));
            if inside {
                started.get_or_insert_with(|| ServerCommand { command: String::new(), arguments: Vec::new() });
            }
        } else if let (true, Some(started), Some((key, value))) = (inside, &mut started, line.split_once('=')) {
            match key.trim() {
                "command" => started.command = serde_json::from_str(value.trim()).unwrap_or_default(),
                "args" => started.arguments = serde_json::from_str(value.trim()).unwrap_or_default(),
                _ => {}
            }
        }
    }
    started
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_str(&text(path)?).ok()
}

fn text(path: &Path) -> Option<String> {
    disk::text(path, MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn project(file: &str, text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("it is written");
        folder
    }

    #[test]
    fn a_server_is_ours_by_what_is_started() {
        let own = std::env::current_exe().expect("a program");
        let own = own.to_str().expect("UTF-8");
        let claude =
            |command: Value, args: Value| json!({ "mcpServers": { "a b": { "command": command, "args": args } } });
        for (file, settings, expected) in [
            (".mcp.json", claude(json!(own), json!(["serve"])), true),
            (".mcp.json", claude(json!(own), json!(["serve", "--toolset", "navigate"])), true),
            (".mcp.json", claude(json!(own), json!(["run", "x.yaml"])), false),
            (".mcp.json", claude(json!("/bin/sh"), json!(["serve"])), false),
            (".mcp.json", claude(json!("portolan-of-nobody"), json!(["serve"])), false),
            (".mcp.json", json!({ "mcpServers": { "a b": { "url": "http://127.0.0.1" } } }), false),
            (".mcp.json", json!({ "mcpServers": [] }), false),
            (".vscode/mcp.json", json!({ "servers": { "a b": { "command": own, "args": ["serve"] } } }), true),
            ("opencode.json", json!({ "mcp": { "a b": { "command": [own, "serve"] } } }), true),
            ("opencode.json", json!({ "mcp": { "a b": { "command": [] } } }), false),
        ] {
            let folder = project(file, &settings.to_string());
            assert_eq!(is_ours(folder.path(), "a_b"), expected, "{file} {settings}");
            assert!(!is_ours(folder.path(), "another"), "{file} {settings}");
        }
    }

    #[test]
    fn the_settings_of_codex_are_read() {
        let own = std::env::current_exe().expect("a program");
        let text = format!(
            "model = \"x\"\n[mcp_servers.mine]\ncommand = {own:?}\nargs = [\"serve\"]\n[mcp_servers.other]\ncommand = \"sh\"\n"
        );
        let folder = project(OF_CODEX, &text);
        assert!(is_ours(folder.path(), "mine"));
        assert!(!is_ours(folder.path(), "other"));
    }

    #[test]
    fn where_entries_disagree_nothing_is_ours() {
        let own = std::env::current_exe().expect("a program");
        let folder =
            project(".mcp.json", &json!({ "mcpServers": { "p": { "command": own, "args": ["serve"] } } }).to_string());
        assert!(is_ours(folder.path(), "p"));
        fs::write(
            folder.path().join("opencode.json"),
            json!({ "mcp": { "p": { "command": ["sh", "serve"] } } }).to_string(),
        )
        .expect("it is written");
        assert!(!is_ours(folder.path(), "p"));
    }
}
