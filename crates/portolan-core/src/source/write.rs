//! Conversion between JSON and YAML. Values keep their order; numbers and unknown fields stay as written. Comments,
//! anchors and quoting styles belong to one format and are not converted.

use super::{Source, Tree, TreeKind, parse, parse_json, parse_yaml};
use crate::diagnostic::{Diagnostic, is_unseen};

/// The text format of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Strict JSON, indented by two blanks.
    Json,
    /// YAML 1.2 in block style, indented by two blanks.
    Yaml,
}

/// Converts a document to a format. The result is parsed again and compared with the input, value for value.
///
/// ```
/// use portolan_core::source::{Source, Format, convert};
/// let yaml = convert(&Source::new("a.json", r#"{"b": 1.50, "a": ["x: y", null]}"#), Format::Yaml);
/// assert_eq!(yaml.as_deref(), Ok("b: 1.50\na:\n  - \"x: y\"\n  - null\n"));
/// ```
///
/// # Errors
/// All faults of the text, if it cannot be parsed. A single one, if the other format cannot represent the content, such
/// as a key of more than a thousand characters in YAML.
pub fn convert(source: &Source, spelling: Format) -> Result<String, Vec<Diagnostic>> {
    let (tree, faults) = parse(source);
    let Some(tree) = tree.filter(|_| !faults.iter().any(Diagnostic::is_error)) else { return Err(faults) };
    let mut text = String::new();
    let read = match spelling {
        Format::Json => {
            json(&tree, 0, &mut text);
            text.push('\n');
            parse_json(&Source::new("converted.json", &text)).ok()
        }
        Format::Yaml => {
            yaml(&tree, ValuePosition::First, 0, &mut text);
            let (tree, faults) = parse_yaml(&Source::new("converted.yaml", &text));
            tree.filter(|_| faults.is_empty())
        }
    };
    match read.is_some_and(|read| same(&read, &tree)) {
        true => Ok(text),
        false => Err(vec![cannot_say(&tree)]),
    }
}

fn cannot_say(tree: &Tree) -> Diagnostic {
    Diagnostic::error("bad-spelling", "the other spelling cannot represent what is written here")
        .at(tree.head())
        .help("check for very long keys and very deep nesting")
}

/// Returns whether two trees have the same value, ignoring spans.
fn same(one: &Tree, other: &Tree) -> bool {
    match (&one.kind, &other.kind) {
        (TreeKind::Null, TreeKind::Null) => true,
        (TreeKind::Bool(one), TreeKind::Bool(other)) => one == other,
        (TreeKind::Number(one), TreeKind::Number(other)) | (TreeKind::String(one), TreeKind::String(other)) => {
            one == other
        }
        (TreeKind::Array(one), TreeKind::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (TreeKind::Object(one), TreeKind::Object(other)) => {
            let members = || one.iter().zip(other);
            one.len() == other.len()
                && members().all(|(one, other)| one.key.value == other.key.value && same(&one.value, &other.value))
        }
        _ => false,
    }
}

fn json(tree: &Tree, depth: usize, out: &mut String) {
    match &tree.kind {
        TreeKind::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                next(at, depth + 1, out);
                json(item, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        TreeKind::Object(entries) if !entries.is_empty() => {
            out.push('{');
            for (at, entry) in entries.iter().enumerate() {
                next(at, depth + 1, out);
                out.push_str(&quoted(&entry.key.value));
                out.push_str(": ");
                json(&entry.value, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        _ => out.push_str(&plain(tree)),
    }
}

fn next(at: usize, depth: usize, out: &mut String) {
    if at > 0 {
        out.push(',');
    }
    line(depth, out);
}

fn line(depth: usize, out: &mut String) {
    out.push('\n');
    indent(depth, out);
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Formats a scalar or an empty collection as JSON.
fn plain(tree: &Tree) -> String {
    match &tree.kind {
        TreeKind::Null => "null".to_owned(),
        TreeKind::Bool(value) => value.to_string(),
        TreeKind::Number(text) => text.clone(),
        TreeKind::String(text) => quoted(text),
        TreeKind::Array(_) => "[]".to_owned(),
        TreeKind::Object(_) => "{}".to_owned(),
    }
}

/// Formats a text in double quotes, which JSON and YAML read alike.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || is_unseen(c) || u32::from(c) >= 0xfffe => escaped(c, &mut out),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Escapes an invisible character as both formats do. YAML has no surrogate pairs, so characters beyond 16 bits are
/// written as they are.
fn escaped(c: char, out: &mut String) {
    match u32::from(c) {
        code @ 0..=0xffff => out.push_str(&format!("\\u{code:04x}")),
        _ => out.push(c),
    }
}

/// The position of a value in YAML.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValuePosition {
    /// At the beginning of a line that is indented already.
    First,
    /// After a key.
    AfterKey,
}

fn yaml(tree: &Tree, stands: ValuePosition, depth: usize, out: &mut String) {
    let begin = |at: usize, out: &mut String| {
        if at > 0 || stands == ValuePosition::AfterKey {
            line(depth, out);
        }
    };
    match &tree.kind {
        TreeKind::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                begin(at, out);
                out.push_str("- ");
                yaml(item, ValuePosition::First, depth + 1, out);
            }
        }
        TreeKind::Object(entries) if !entries.is_empty() => {
            for (at, entry) in entries.iter().enumerate() {
                begin(at, out);
                out.push_str(&word(&entry.key.value));
                out.push(':');
                yaml(&entry.value, ValuePosition::AfterKey, depth + 1, out);
            }
        }
        _ => {
            if stands == ValuePosition::AfterKey {
                out.push(' ');
            }
            scalar(tree, depth, out);
        }
    }
    if depth == 0 {
        out.push('\n');
    }
}

fn scalar(tree: &Tree, depth: usize, out: &mut String) {
    match &tree.kind {
        TreeKind::String(text) if is_block(text) && depth > 0 => block(text, depth, out),
        TreeKind::String(text) => out.push_str(&word(text)),
        _ => out.push_str(&plain(tree)),
    }
}

/// Formats a text of several lines as a literal block.
fn block(text: &str, depth: usize, out: &mut String) {
    let (lines, chomping) = text.strip_suffix('\n').map_or((text, "|-"), |lines| (lines, "|"));
    out.push_str(chomping);
    for text in lines.split('\n') {
        out.push('\n');
        if !text.is_empty() {
            indent(depth, out);
            out.push_str(text);
        }
    }
}

/// Returns whether a text survives as a block: its edges must not change the indentation or the chomping.
fn is_block(text: &str) -> bool {
    let lines = text.strip_suffix('\n').unwrap_or(text);
    let sound = |c: char| c == '\n' || !c.is_control() && !is_unseen(c) && u32::from(c) < 0xfffe;
    lines.contains('\n')
        && !lines.ends_with('\n')
        && !lines.starts_with([' ', '\n'])
        && lines.chars().all(sound)
        && lines.split('\n').all(|line| line.is_empty() || !line.trim().is_empty())
}

/// Formats a text of one line, without quotes if it cannot be read as anything else.
fn word(text: &str) -> String {
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let last = text.chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric() || ".)!?".contains(c));
    let inside = text.chars().all(|c| c.is_ascii_alphanumeric() || " _-./()!?,;'+=".contains(c));
    if first && last && inside && !is_taken(text) && text.len() <= 200 { text.to_owned() } else { quoted(text) }
}

/// Returns whether a word means something other than a text in some version of YAML.
fn is_taken(text: &str) -> bool {
    ["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;
