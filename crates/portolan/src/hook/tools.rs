//! Determines the effect of a host's tool, from its name and its arguments.

use portolan_gates::Tool;
use portolan_gates::pattern::spelt;
use portolan_gates::shell::patches;
use serde_json::{Map, Value};

use super::mcp_tools;

/// The known tools of a host.
pub(super) struct Names {
    pub(super) shell: &'static [&'static str],
    pub(super) edit: &'static [&'static str],
    pub(super) reads: &'static [&'static str],
    /// Tools of the host that are none of these, and not of a server.
    pub(super) other: &'static [&'static str],
    /// Splits a tool's name into the server and its tool.
    pub(super) mcp: fn(name: &str) -> Option<(&str, &str)>,
}

/// Parses `mcp__server__tool`.
pub(super) fn two_underscores(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix("mcp__")?;
    Some(rest.split_once("__").unwrap_or((rest, "")))
}

/// Returns the effect of a call. An unknown tool is judged by its arguments: a renamed tool must not escape the gates.
pub(super) fn tool(
    names: &Names,
    name: &str,
    input: &Map<String, Value>,
    announcement: &Map<String, Value>,
) -> Result<Tool, String> {
    let is = |known: &[&str]| known.iter().any(|known| known.eq_ignore_ascii_case(name));
    if is(names.shell) {
        let command = command(input).ok_or_else(|| format!("the tool `{name}` was called without its command"))?;
        return Ok(Tool::Shell { command });
    }
    if is(names.edit) {
        let paths = edited(input);
        let unnamed = || format!("the tool `{name}` was called without the path of its file");
        return if paths.is_empty() { Err(unnamed()) } else { Ok(Tool::Edit { paths }) };
    }
    if is(names.reads) {
        return Ok(Tool::Reads);
    }
    if is(names.other) {
        return Ok(Tool::Other);
    }
    if let Some((server, tool)) = server_and_tool(announcement).or_else(|| owned((names.mcp)(name)?)) {
        let does = mcp_tools::deed(&server, &tool, input).map(Box::new);
        return Ok(Tool::Mcp { server, tool, does });
    }
    Ok(by_arguments(input))
}

fn owned((server, tool): (&str, &str)) -> Option<(String, String)> {
    Some((server.to_owned(), tool.to_owned()))
}

/// Returns the server and its tool if the host states them separately: a tool's name may be split in several ways.
fn server_and_tool(announcement: &Map<String, Value>) -> Option<(String, String)> {
    if let Some(context) = announcement.get("mcp_context") {
        return Some((context["server_name"].as_str()?.to_owned(), context["tool_name"].as_str()?.to_owned()));
    }
    let server = announcement.get("mcp_server")?["name"].as_str()?;
    let name = announcement.get("tool_name")?.as_str()?;
    let rest = name.strip_prefix("mcp__")?;
    // A host may spell the server's name differently there, since its names of tools take few characters.
    let rest = rest.strip_prefix(server).or_else(|| rest.strip_prefix(&*spelt(server)))?;
    Some((server.to_owned(), rest.strip_prefix("__")?.to_owned()))
}

fn by_arguments(input: &Map<String, Value>) -> Tool {
    const WRITTEN: [&str; 12] = [
        "content",
        "contents",
        "new_string",
        "newString",
        "new_str",
        "file_text",
        "edits",
        "replacements",
        "patch",
        "input",
        "diff",
        "patchText",
    ];
    if let Some(command) = command(input) {
        return Tool::Shell { command };
    }
    // A program in a language that is not parsed.
    if let Some(code) = input.get("code").and_then(Value::as_str) {
        return Tool::Shell { command: format!("python3 -c {}", quoted(code)) };
    }
    let paths = edited(input);
    if !paths.is_empty() && WRITTEN.iter().any(|key| input.contains_key(*key)) {
        return Tool::Edit { paths };
    }
    Tool::Other
}

/// Returns the shell command. Words are quoted so that the shell's grammar yields the same words.
fn command(input: &Map<String, Value>) -> Option<String> {
    match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(quoted)).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    }
}

/// Quotes a word for a POSIX shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns the files that a call writes: those that its arguments name, and those of a patch.
pub(super) fn edited(input: &Map<String, Value>) -> Vec<String> {
    const PATCHES: [&str; 6] = ["command", "input", "patch", "patchText", "patch_text", "diff"];
    let mut paths = named(input, 0);
    for key in PATCHES {
        if let Some(patch) = input.get(key).and_then(Value::as_str) {
            paths.extend(patched(patch));
        }
    }
    let mut distinct = std::collections::BTreeSet::new();
    paths.retain(|path| !path.is_empty() && distinct.insert(path.clone()));
    paths
}

/// How deep lists of edits are searched.
const MAX_DEPTH: usize = 4;

fn named(input: &Map<String, Value>, depth: usize) -> Vec<String> {
    const PATHS: [&str; 12] = [
        "file_path",
        "filePath",
        "path",
        "notebook_path",
        "target_file",
        "target_notebook",
        "filename",
        "old_path",
        "new_path",
        "oldPath",
        "newPath",
        "destination",
    ];
    const LISTS: [&str; 5] = ["edits", "replacements", "files", "paths", "changes"];
    let mut paths: Vec<String> = PATHS.iter().filter_map(|key| input.get(*key)?.as_str()).map(str::to_owned).collect();
    for item in LISTS.iter().filter_map(|key| input.get(*key)?.as_array()).flatten() {
        match item {
            Value::String(path) => paths.push(path.clone()),
            Value::Object(inner) if depth < MAX_DEPTH => paths.extend(named(inner, depth + 1)),
            _ => {}
        }
    }
    paths
}

/// Returns the files of a patch, in the format of `apply_patch` or of `diff`.
fn patched(patch: &str) -> impl Iterator<Item = String> {
    // A removed line in one format may look like a header of the other.
    let of_diffs = !patch.contains("*** Begin Patch");
    let diffs = patch.lines().filter(move |_| of_diffs).filter_map(|line| of_diff(line.trim()));
    patches::files(patch).map(str::to_owned).chain(diffs)
}

/// Returns the file of a line such as `+++ b/src/a.rs`. A tab separates it from a time.
fn of_diff(line: &str) -> Option<String> {
    let path = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- "))?.split('\t').next()?.trim();
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    (path != "/dev/null" && !path.is_empty()).then(|| path.to_owned())
}
