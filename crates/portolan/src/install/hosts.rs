//! The files that each host receives: its hooks and the MCP server.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::shell::Shell;
use super::splice::Part;
use crate::hook::{Event, Host, Stage, quoted};

/// A file to install.
pub(super) struct HostFile {
    /// The path, relative to the project.
    pub(super) file: PathBuf,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// Parts among the user's own content.
    Parts(Vec<Part>),
    /// A file that is entirely ours.
    Whole(String),
    /// An executable file that is entirely ours.
    Program(String),
}

/// The plug-in that makes OpenCode ask the program.
const SHIM: &str = include_str!("templates/opencode.js");

/// Returns the files of a host, with hooks that run `program`, and its shell in a sandbox if one is given. `serves` are
/// the arguments with which the host starts `program` as its server.
pub(super) fn wanted(
    host: Host,
    project: &Path,
    program: &str,
    shell: Option<&Shell>,
    serves: &[String],
) -> Vec<HostFile> {
    let parts = |file: &str, parts: Vec<Part>| HostFile { file: PathBuf::from(file), content: Content::Parts(parts) };
    let whole = |file: &str, text: String| HostFile { file: PathBuf::from(file), content: Content::Whole(text) };
    let server = json!({ "command": program, "args": serves });
    match host {
        Host::ClaudeCode => {
            let mut all = hooks(host, program);
            all.extend(shell.map(|shell| entry(&["env"], "CLAUDE_CODE_SHELL", json!(project.join(shell.file())))));
            let mut files = vec![
                parts(".claude/settings.json", all),
                parts(".mcp.json", vec![entry(&["mcpServers"], "portolan", server)]),
            ];
            files.extend(shell.map(|shell| HostFile {
                file: shell.file(),
                content: Content::Program(shell.script(project, program)),
            }));
            files
        }
        Host::Codex => vec![parts(".codex/hooks.json", hooks(host, program))],
        Host::Cursor => {
            let mut all = vec![entry(&[], "version", json!(1))];
            all.extend(hooks(host, program));
            vec![
                parts(".cursor/hooks.json", all),
                parts(".cursor/mcp.json", vec![entry(&["mcpServers"], "portolan", server)]),
            ]
        }
        Host::Gemini => {
            let mut all = hooks(host, program);
            all.push(entry(&["mcpServers"], "portolan", server));
            vec![parts(".gemini/settings.json", all)]
        }
        Host::OpenCode => {
            let jsonc = project.join("opencode.jsonc").exists();
            let command: Vec<&str> = std::iter::once(program).chain(serves.iter().map(String::as_str)).collect();
            let local = json!({ "type": "local", "command": command, "enabled": true });
            vec![
                whole(".opencode/plugins/portolan.js", shim(program)),
                parts(if jsonc { "opencode.jsonc" } else { "opencode.json" }, vec![entry(&["mcp"], "portolan", local)]),
            ]
        }
        Host::Copilot => {
            let local = json!({ "type": "stdio", "command": program, "args": serves });
            vec![
                whole(".github/hooks/portolan.json", format!("{:#}\n", copilot(program))),
                parts(".vscode/mcp.json", vec![entry(&["servers"], "portolan", local)]),
            ]
        }
    }
}

/// Returns the remaining tasks of a person.
pub(super) fn notes(host: Host, program: &str) -> Vec<String> {
    let notes: &[&str] = match host {
        Host::ClaudeCode => &["Claude Code asks once whether the MCP server of this project may be used."],
        Host::Codex => &[
            "Codex silently skips these hooks until you have reviewed and trusted them: run `/hooks` in Codex.",
            "For the MCP server add to `.codex/config.toml`:",
        ],
        Host::Cursor => &["Restart Cursor, and check in its settings under Hooks that they are listed."],
        Host::Gemini => &["Gemini CLI runs hooks only in a folder that it trusts: say yes when it asks."],
        Host::OpenCode => &["Restart OpenCode: plug-ins are read when it starts."],
        Host::Copilot => {
            &["Copilot's cloud agent reads hooks on the default branch only, and needs `portolan` where it runs."]
        }
    };
    let mut notes: Vec<String> = notes.iter().map(|note| (*note).to_owned()).collect();
    if host == Host::Codex {
        let quoted = Value::from(program);
        notes.push(format!("  [mcp_servers.portolan]\n  command = {quoted}\n  args = [\"serve\"]"));
    }
    notes
}

fn entry(within: &[&str], key: &str, value: Value) -> Part {
    Part { within: within.iter().map(|&key| key.to_owned()).collect(), key: Some(key.to_owned()), value }
}

/// Returns the hooks of a host that has them in its settings.
pub(super) fn hooks(host: Host, program: &str) -> Vec<Part> {
    let events = host.events().iter().filter(|event| event.installed);
    events
        .map(|event| Part {
            within: vec!["hooks".to_owned(), event.name.to_owned()],
            key: None,
            value: hook(host, event, program),
        })
        .collect()
}

fn hook(host: Host, event: &Event, program: &str) -> Value {
    let seconds = event.stage.host_timeout().as_secs();
    let line = line(host, event, program);
    let gating = event.stage == Stage::BeforeTool;
    match host {
        // No shell: it would let calls pass if the program is missing or not executable.
        Host::ClaudeCode => {
            let args = json!(["hook", host.name(), event.name]);
            let mut handler = json!({ "type": "command", "command": program, "args": args, "timeout": seconds });
            if gating {
                handler["onFailure"] = "block".into();
            }
            json!({ "hooks": [handler] })
        }
        Host::Cursor if gating => json!({ "command": line, "timeout": seconds, "failClosed": true }),
        Host::Cursor => json!({ "command": line, "timeout": seconds }),
        Host::Gemini => {
            json!({ "hooks": [{ "type": "command", "name": "portolan", "command": line, "timeout": seconds * 1000 }] })
        }
        Host::Codex | Host::OpenCode | Host::Copilot => {
            json!({ "hooks": [{ "type": "command", "command": line, "timeout": seconds }] })
        }
    }
}

/// Returns the command line for a shell.
fn line(host: Host, event: &Event, program: &str) -> String {
    format!("{} hook {} {}", quoted(program), host.name(), event.name)
}

fn copilot(program: &str) -> Value {
    let host = Host::Copilot;
    let mut hooks = json!({});
    for event in host.events().iter().filter(|event| event.installed) {
        let quoted = program.replace('\'', "''");
        let powershell = format!("& '{quoted}' hook {} {}", host.name(), event.name);
        let bash = line(host, event, program);
        let seconds = event.stage.host_timeout().as_secs();
        hooks[event.name] =
            json!([{ "type": "command", "bash": bash, "powershell": powershell, "cwd": ".", "timeoutSec": seconds }]);
    }
    json!({ "version": 1, "hooks": hooks })
}

pub(super) fn shim(program: &str) -> String {
    SHIM.replace("\"@PROGRAM@\"", &Value::from(program).to_string())
}

/// Returns whether an entry of a list of hooks is ours, whichever program it names.
pub(super) fn is_ours(host: Host, value: &Value) -> bool {
    let mut words = Vec::new();
    collect(value, &mut words);
    let text = words.join(" ");
    text.contains("portolan") && text.contains(&format!("hook {} ", host.name()))
}

fn collect<'a>(value: &'a Value, words: &mut Vec<&'a str>) {
    match value {
        Value::String(word) => words.push(word),
        Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
        Value::Object(fields) => fields.values().for_each(|item| collect(item, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
