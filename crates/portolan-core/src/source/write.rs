//! From one spelling to the other: the same values in the same order, numbers and unknown fields as they were written.
//! Comments, anchors and the ways of quoting belong to a spelling, and are not taken along.

use super::{Source, Tree, TreeKind, parse, parse_json, parse_yaml};
use crate::diagnostic::{Diagnostic, is_unseen};

/// How a definition is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Strict JSON, indented by two blanks.
    Json,
    /// YAML 1.2 in blocks, indented by two blanks.
    Yaml,
}

/// The same document in a spelling. What is written is read again, and says what was read, value for value.
///
/// ```
/// use portolan_core::source::{Source, Format, convert};
/// let yaml = convert(&Source::new("a.json", r#"{"b": 1.50, "a": ["x: y", null]}"#), Format::Yaml);
/// assert_eq!(yaml.as_deref(), Ok("b: 1.50\na:\n  - \"x: y\"\n  - null\n"));
/// ```
///
/// # Errors
/// The faults of the text, as many as there are, where it cannot be read; a single one where the other spelling cannot
/// say what stands there, such as a key of more than a thousand characters in YAML.
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
            yaml(&tree, Stands::First, 0, &mut text);
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
    Diagnostic::error("bad-spelling", "the other spelling cannot say what stands here")
        .at(tree.head())
        .help("look for very long keys, and for very deep nesting")
}

/// Whether two trees say the same, wherever it stands.
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

/// What needs no line of its own, in JSON.
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

/// A text in double quotes, which JSON and YAML read alike.
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

/// A character that nobody sees, as both spellings write it. YAML knows no escapes of two halves, and stands them bare.
fn escaped(c: char, out: &mut String) {
    match u32::from(c) {
        code @ 0..=0xffff => out.push_str(&format!("\\u{code:04x}")),
        _ => out.push(c),
    }
}

/// Where a value stands in YAML.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// At the beginning of a line that is indented already.
    First,
    /// After a key.
    AfterKey,
}

fn yaml(tree: &Tree, stands: Stands, depth: usize, out: &mut String) {
    let begin = |at: usize, out: &mut String| {
        if at > 0 || stands == Stands::AfterKey {
            line(depth, out);
        }
    };
    match &tree.kind {
        TreeKind::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                begin(at, out);
                out.push_str("- ");
                yaml(item, Stands::First, depth + 1, out);
            }
        }
        TreeKind::Object(entries) if !entries.is_empty() => {
            for (at, entry) in entries.iter().enumerate() {
                begin(at, out);
                out.push_str(&word(&entry.key.value));
                out.push(':');
                yaml(&entry.value, Stands::AfterKey, depth + 1, out);
            }
        }
        _ => {
            if stands == Stands::AfterKey {
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

/// A text of several lines, each on its own.
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

/// Whether a text can stand as a block and be read as it was: nothing at its edges says how it is indented or chomped.
fn is_block(text: &str) -> bool {
    let lines = text.strip_suffix('\n').unwrap_or(text);
    let sound = |c: char| c == '\n' || !c.is_control() && !is_unseen(c) && u32::from(c) < 0xfffe;
    lines.contains('\n')
        && !lines.ends_with('\n')
        && !lines.starts_with([' ', '\n'])
        && lines.chars().all(sound)
        && lines.split('\n').all(|line| line.is_empty() || !line.trim().is_empty())
}

/// A text of one line: without quotes where no reader can take it for anything else.
fn word(text: &str) -> String {
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let last = text.chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric() || ".)!?".contains(c));
    let inside = text.chars().all(|c| c.is_ascii_alphanumeric() || " _-./()!?,;'+=".contains(c));
    if first && last && inside && !is_taken(text) && text.len() <= 200 { text.to_owned() } else { quoted(text) }
}

/// Words that mean something else in YAML, of any version.
fn is_taken(text: &str) -> bool {
    ["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;
