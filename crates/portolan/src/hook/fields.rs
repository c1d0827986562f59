//! The arguments of a tool, independent of their spelling: `commandLine`, `command_line` and `CommandLine` are one
//! name.

use serde_json::{Map, Value};

pub(crate) type Input = Map<String, Value>;

/// How deep lists and objects are searched.
const MAX_DEPTH: usize = 4;
const MAX_TEXTS: usize = 256;
/// The longest path, in bytes.
const MAX_PATH: usize = 4096;

/// Normalizes a name, so that its spellings are equal.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_lowercase()).collect()
}

/// Returns the value of a name.
pub(super) fn get<'v>(input: &'v Input, key: &str) -> Option<&'v Value> {
    input.get(key).or_else(|| {
        let key = plain(key);
        input.iter().find(|(name, _)| plain(name) == key).map(|(_, value)| value)
    })
}

/// Returns the first of `keys` with a text or a number.
pub(super) fn text(input: &Input, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| match get(input, key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// Returns the words of the first of `keys` that is present.
pub(super) fn words(input: &Input, keys: &[&str]) -> Vec<String> {
    let list = |value: &Value| match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    keys.iter().find_map(|key| get(input, key).map(list)).unwrap_or_default()
}

pub(super) fn is_on(input: &Input, keys: &[&str]) -> bool {
    keys.iter().any(|key| get(input, key) == Some(&Value::Bool(true)))
}

/// Returns all texts with their names, except those under the names `but`.
pub(super) fn texts<'v>(input: &'v Input, but: &[&str]) -> Vec<(&'v str, &'v str)> {
    let mut found = Vec::new();
    let mut waiting: Vec<(&str, &Value, usize)> =
        input.iter().rev().map(|(name, value)| (name.as_str(), value, 0)).collect();
    while let Some((name, value, depth)) = waiting.pop() {
        let known = plain(name);
        if but.contains(&known.as_str()) || found.len() >= MAX_TEXTS {
            continue;
        }
        match value {
            Value::String(text) if !text.is_empty() => found.push((name, text.as_str())),
            Value::Array(items) if depth < MAX_DEPTH => {
                waiting.extend(items.iter().rev().map(|item| (name, item, depth + 1)));
            }
            Value::Object(inner) if depth < MAX_DEPTH => {
                waiting.extend(inner.iter().rev().map(|(name, value)| (name.as_str(), value, depth + 1)));
            }
            _ => {}
        }
    }
    found
}

/// Returns all possible paths of written files: every text except contents, and a name joined with its folder.
pub(super) fn paths(input: &Input) -> Vec<String> {
    const CONTENTS: [&str; 34] = [
        "content",
        "contents",
        "text",
        "filetext",
        "newstring",
        "oldstring",
        "newstr",
        "oldstr",
        "newtext",
        "oldtext",
        "search",
        "replace",
        "replacement",
        "pattern",
        "needle",
        "repl",
        "body",
        "code",
        "diff",
        "patch",
        "edits",
        "encoding",
        "mode",
        "instructions",
        "instruction",
        "explanation",
        "command",
        "operation",
        "action",
        "type",
        "kind",
        "language",
        "description",
        "message",
    ];
    let is_path = |text: &str| {
        let address = text.contains("://") && !text.starts_with("file://");
        text.len() <= MAX_PATH && !text.contains('\n') && !address
    };
    let mut found: Vec<String> = Vec::new();
    let folder = text(input, &["dir", "directory", "folder", "parent", "base_path", "root"]);
    let name = text(input, &["name", "file_name", "base_name"]);
    if let (Some(folder), Some(name)) = (folder, name) {
        found.push(format!("{}/{name}", folder.trim_end_matches('/')));
    }
    let named = texts(input, &CONTENTS).into_iter().map(|(_, text)| text).filter(|text| is_path(text));
    found.extend(named.map(|text| text.strip_prefix("file://").unwrap_or(text).to_owned()));
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(value: Value) -> Input {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn a_name_is_one_however_it_is_spelt() {
        for name in ["command_line", "commandLine", "CommandLine", "command-line"] {
            assert_eq!(text(&input(json!({ name: "ls" })), &["command_line"]).as_deref(), Some("ls"), "{name}");
        }
    }

    #[test]
    fn what_is_written_is_no_path_and_all_else_may_be() {
        let given = input(json!({ "args": { "target": "a" }, "content": "b", "x": ["c", { "y": "file:///d" }],
            "dir": "e/", "name": "f", "note": "two\nlines" }));
        let mut found = paths(&given);
        found.sort();
        assert_eq!(found, ["/d", "a", "c", "e/", "e/f", "f"]);
    }

    #[test]
    fn what_is_deep_or_much_ends() {
        let mut deep = json!("x");
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert!(texts(&input(json!({ "a": deep })), &[]).is_empty());
        assert_eq!(texts(&input(json!({ "a": vec!["x"; 1000] })), &[]).len(), MAX_TEXTS);
    }
}
