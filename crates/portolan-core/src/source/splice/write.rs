//! Formats values as text: in YAML blocks, or in braces.

use crate::diagnostic::is_unseen;
use crate::source::{Source, TreeKind, parse_yaml};
use serde_json::Value;

use super::style::Style;

/// The context of a text: within braces, commas and brackets have a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextContext {
    Block,
    Braces,
}

/// Words that YAML 1.1 readers do not read as texts.
const OLD_WORDS: [&str; 8] = ["yes", "no", "on", "off", "y", "n", "~", "null"];

impl Style {
    /// Returns a value that fits on the line of its key; `None` for a non-empty collection.
    pub(super) fn inline(&self, value: &Value) -> Option<String> {
        match value {
            Value::Object(members) if !members.is_empty() => None,
            Value::Array(items) if !items.is_empty() => None,
            Value::String(text) => Some(word(text, TextContext::Block)),
            other => Some(other.to_string()),
        }
    }

    /// Returns the lines of a collection in `column`.
    pub(super) fn block(&self, value: &Value, column: usize) -> String {
        let mut lines = String::new();
        let margin = " ".repeat(column);
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    lines.push_str(&self.entry(name, member, column));
                }
            }
            Value::Array(items) => {
                for item in items {
                    lines.push_str(&format!("{margin}-{}", self.after_dash(item, column)));
                }
            }
            _ => {}
        }
        lines
    }

    /// Returns the lines of an object's member in `column`.
    pub(super) fn entry(&self, name: &str, value: &Value, column: usize) -> String {
        format!("{}{}:{}", " ".repeat(column), word(name, TextContext::Block), self.after_key(value, column))
    }

    /// Returns the text after the colon of a key in `column`, to the end of the last line.
    fn after_key(&self, value: &Value, column: usize) -> String {
        if let Some((header, lines)) = self.literal(value, column + self.step) {
            return format!(" {header}{}{lines}", self.newline);
        }
        match self.inline(value) {
            Some(inline) => format!(" {inline}{}", self.newline),
            None => format!("{}{}", self.newline, self.block(value, self.below_key(value, column))),
        }
    }

    /// Returns the text after a dash in `column`, to the end of the last line.
    pub(super) fn after_dash(&self, value: &Value, column: usize) -> String {
        if let Some((header, lines)) = self.literal(value, column + self.width) {
            return format!(" {header}{}{lines}", self.newline);
        }
        match self.inline(value) {
            Some(inline) => format!(" {inline}{}", self.newline),
            // Its first line continues the line of the dash.
            None => self.block(value, column + self.width)[column + 1..].to_owned(),
        }
    }

    /// Returns the column of a collection below a key.
    pub(super) fn below_key(&self, value: &Value, column: usize) -> usize {
        column + if value.is_array() { self.dash } else { self.step }
    }

    /// Returns a text of several lines as a block: its header and its lines. `None` if it needs quotes.
    pub(super) fn literal(&self, value: &Value, column: usize) -> Option<(&'static str, String)> {
        let text = value.as_str()?;
        let odd = |c: char| c != '\n' && is_unseen(c) || c == '\u{feff}';
        let first = text.chars().next()?;
        if !text.contains('\n') || text.contains(odd) || first.is_whitespace() {
            return None;
        }
        let body = text.trim_end_matches('\n');
        let header = match text.len() - body.len() {
            0 => "|-",
            1 => "|",
            _ => return None,
        };
        let margin = " ".repeat(column);
        let mut lines = String::new();
        for line in body.split('\n') {
            if line.ends_with([' ', '\t']) {
                return None;
            }
            if !line.is_empty() {
                lines.push_str(&margin);
                lines.push_str(line);
            }
            lines.push_str(self.newline);
        }
        Some((header, lines))
    }

    /// Returns a value in braces. JSON with a margin is spread over several indented lines.
    pub(super) fn braces(&self, value: &Value, margin: Option<&str>) -> String {
        let margin = margin.filter(|_| self.json);
        match value {
            Value::Object(members) if !members.is_empty() => {
                let inner = margin.map(|margin| format!("{margin}{}", self.unit));
                let member = |(name, value): (&String, &Value)| {
                    format!("{}: {}", self.name(name), self.braces(value, inner.as_deref()))
                };
                self.listed(members.iter().map(member).collect(), ["{", "}"], margin, self.gap)
            }
            Value::Array(items) if !items.is_empty() => {
                let inner = margin.map(|margin| format!("{margin}{}", self.unit));
                let items = items.iter().map(|item| self.braces(item, inner.as_deref())).collect();
                self.listed(items, ["[", "]"], margin, "")
            }
            Value::String(text) if !self.json => word(text, TextContext::Braces),
            other => other.to_string(),
        }
    }

    /// Returns a key in braces.
    pub(super) fn name(&self, name: &str) -> String {
        if self.json { Value::from(name).to_string() } else { word(name, TextContext::Braces) }
    }

    fn listed(&self, parts: Vec<String>, [open, close]: [&str; 2], margin: Option<&str>, gap: &str) -> String {
        match margin {
            None => format!("{open}{gap}{}{gap}{close}", parts.join(", ")),
            Some(margin) => {
                let (newline, unit) = (self.newline, &self.unit);
                let between = format!(",{newline}{margin}{unit}");
                format!("{open}{newline}{margin}{unit}{}{newline}{margin}{close}", parts.join(&between))
            }
        }
    }
}

/// Returns a text in one line, without quotes if it cannot be read as anything else.
fn word(text: &str, around: TextContext) -> String {
    if is_plain(text, around) {
        return text.to_owned();
    }
    let is_visible = !text.contains(|c: char| is_unseen(c) || c == '\u{feff}');
    if is_visible && text.contains(['"', '\\']) && !text.contains('\'') {
        return format!("'{text}'");
    }
    let mut quoted = Value::from(text).to_string();
    if !is_visible {
        // JSON leaves these characters as they are, and YAML must not contain them.
        quoted =
            quoted.chars().map(|c| if is_unseen(c) || c == '\u{feff}' { escaped(c) } else { c.to_string() }).collect();
    }
    quoted
}

fn escaped(c: char) -> String {
    format!("\\u{:04x}", u32::from(c))
}

fn is_plain(text: &str, around: TextContext) -> bool {
    let first = |c: char| c.is_alphabetic() || matches!(c, '$' | '_' | '/');
    let allowed = |c: char| !is_unseen(c) && c != '\u{feff}' && c != '"' && c != '\'';
    let inside = |c: char| around == TextContext::Braces && matches!(c, ',' | '[' | ']' | '{' | '}' | ':');
    let sound = text.starts_with(first)
        && text.chars().all(|c| allowed(c) && !inside(c))
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([' ', ':'])
        && !OLD_WORDS.contains(&text.to_ascii_lowercase().as_str());
    sound && text.len() <= 200 && reads_as_itself(text)
}

fn reads_as_itself(text: &str) -> bool {
    let (tree, faults) = parse_yaml(&Source::new("word", text));
    faults.is_empty() && tree.is_some_and(|tree| matches!(tree.kind, TreeKind::String(read) if read == text))
}
