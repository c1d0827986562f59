//! Reads a host's announcement into our own types. Unknown fields are ignored, because hosts add fields. Missing fields
//! are errors, because a gate must not guess.

use portolan_gates::Intent;
use serde_json::{Map, Value};

use super::tools::{self, Names};
use super::unique::Unique;
use super::{Call, Host, MAX_INPUT, Stage, StopFacts, Unreadable};
use super::{claude_code, codex, copilot, cursor, gemini, opencode};

/// Reads the standard input of a hook that is registered with `host` for `event`.
///
/// An input of more than [`MAX_INPUT`] bytes, or nested deeper than JSON parsers allow, is unreadable.
pub(crate) fn read(host: Host, event: &str, stdin: &[u8]) -> Result<Call, Unreadable> {
    let stage = host.stage(event);
    let unreadable = |message: String| Unreadable { stage, message };
    let announcement = parsed(stdin).map_err(unreadable)?;
    let fields = Fields(&announcement);
    same_event(host, stage, &fields).map_err(unreadable)?;
    let folder = folder(&fields);
    let session = fields.text(&["session_id", "sessionId", "sessionID", "conversation_id"]);
    let (intent, input) = match stage {
        Stage::BeforeTool | Stage::AfterTool => {
            let (intent, input) = intent(host, event, &fields, session, folder).map_err(unreadable)?;
            (Some(intent), input)
        }
        _ => (None, String::new()),
    };
    let stop = matches!(stage, Stage::Stop | Stage::SubagentStop).then(|| StopFacts { again: again(&fields) });
    let task = (stage == Stage::TaskCompleted).then(|| fields.text(&["task_id", "taskId"])).flatten();
    Ok(Call {
        stage,
        event: host.event(event).map_or(event, |event| event.name).to_owned(),
        session: session.map(str::to_owned),
        folder: folder.map(str::to_owned),
        intent,
        input,
        stop,
        task: task.map(str::to_owned),
        source: fields.text(&["source"]).map(str::to_owned),
    })
}

fn parsed(stdin: &[u8]) -> Result<Map<String, Value>, String> {
    if stdin.len() > MAX_INPUT {
        return Err(format!("the host's message is longer than {} MiB", MAX_INPUT >> 20));
    }
    // PowerShell pipes a byte order mark first.
    let text = stdin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stdin);
    match serde_json::from_slice(text).map(Unique::into) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("the host's message is not a JSON object".to_owned()),
        Err(error) => Err(format!("the host's message is not valid JSON: {error}")),
    }
}

/// The fields of an announcement. Hosts name each field differently.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn value(&self, names: &[&str]) -> Option<&'a Value> {
        names.iter().find_map(|name| self.0.get(*name)).filter(|value| !value.is_null())
    }

    fn text(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| self.0.get(*name)?.as_str()).filter(|text| !text.is_empty())
    }
}

/// Refuses an announcement of another event than the registered one: hosts ignore an answer in the format of another
/// event, and the call would pass.
fn same_event(host: Host, stage: Stage, fields: &Fields<'_>) -> Result<(), String> {
    let Some(event_name) = fields.text(&["hook_event_name", "hookEventName"]) else { return Ok(()) };
    match host.event(event_name) {
        Some(event) if event.stage != stage => {
            Err(format!("the host reports `{event_name}`, but another event is expected"))
        }
        _ => Ok(()),
    }
}

fn folder<'a>(fields: &Fields<'a>) -> Option<&'a str> {
    let first_root = || fields.value(&["workspace_roots", "workspaceRoots"])?.get(0)?.as_str();
    fields.text(&["cwd"]).or_else(first_root)
}

fn again(fields: &Fields<'_>) -> bool {
    let flag = fields.value(&["stop_hook_active", "stopHookActive"]).and_then(Value::as_bool);
    let count = fields.value(&["loop_count", "loopCount"]).and_then(Value::as_u64);
    flag.unwrap_or_default() || count.unwrap_or_default() > 0
}

fn intent(
    host: Host,
    event: &str,
    fields: &Fields<'_>,
    session: Option<&str>,
    folder: Option<&str>,
) -> Result<(Intent, String), String> {
    let folder = folder.ok_or("the host does not say which folder the agent works in")?;
    if !is_absolute(folder) {
        return Err(format!("the agent's folder `{folder}` is not absolute"));
    }
    let (name, input) = call(host, event, fields)?;
    let tool = tools::tool(names(host), &name, &input, fields.0)?;
    let text = Value::Object(input.clone()).to_string();
    let intent = Intent {
        session: session.map(str::to_owned),
        call: fields.text(&["tool_use_id", "toolUseId", "toolCallId", "callID"]).map(str::to_owned),
        agent: fields.text(&["agent_id", "agentId", "subagent_id"]).map(str::to_owned),
        folder: workdir(folder, &input),
        name,
        tool,
        arguments: input.keys().cloned().collect(),
        branch: None,
    };
    Ok((intent, text))
}

fn names(host: Host) -> &'static Names {
    match host {
        Host::ClaudeCode => &claude_code::NAMES,
        Host::Codex => &codex::NAMES,
        Host::Cursor => &cursor::NAMES,
        Host::Gemini => &gemini::NAMES,
        Host::OpenCode => &opencode::NAMES,
        Host::Copilot => &copilot::NAMES,
    }
}

/// Returns the tool's name and its arguments.
fn call(host: Host, event: &str, fields: &Fields<'_>) -> Result<(String, Map<String, Value>), String> {
    if host == Host::Cursor
        && let Some((name, input)) = cursor::unnamed(event, fields.0)
    {
        return Ok((name.to_owned(), input));
    }
    let name = fields.text(&["tool_name", "toolName"]).ok_or("the host does not name the tool")?;
    let input = match fields.value(&["tool_input", "toolInput", "toolArgs", "tool_args"]) {
        Some(Value::Object(input)) => input.clone(),
        // Copilot and Cursor send the arguments as JSON in a string.
        Some(Value::String(text)) => match serde_json::from_str(text).map(Unique::into) {
            Ok(Value::Object(input)) => input,
            Ok(_) => return Err(format!("the arguments of `{name}` are not a JSON object")),
            Err(error) => return Err(format!("the arguments of `{name}` are not a JSON object: {error}")),
        },
        Some(_) => return Err(format!("the arguments of `{name}` are not a JSON object")),
        None => return Err(format!("the host does not give the arguments of `{name}`")),
    };
    Ok((name.to_owned(), input))
}

/// Returns the folder in which the tool runs, which its arguments may change.
fn workdir(folder: &str, input: &Map<String, Value>) -> String {
    let keys = ["working_directory", "workdir", "dir_path", "directory"];
    let runs = input.contains_key("command") || input.contains_key("cmd");
    match keys.iter().find_map(|key| input.get(*key)?.as_str()).filter(|inner| runs && !inner.is_empty()) {
        Some(inner) if is_absolute(inner) => inner.to_owned(),
        Some(inner) => format!("{}/{inner}", folder.trim_end_matches('/')),
        None => folder.to_owned(),
    }
}

fn is_absolute(folder: &str) -> bool {
    let drive = |bytes: &[u8]| bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    folder.starts_with(['/', '\\']) || drive(folder.as_bytes())
}
