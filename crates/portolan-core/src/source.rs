//! Text with places in it: a named source, byte spans, and a JSON tree that remembers where each value stands.
//!
//! Knows nothing of workflows. Dialects read the tree; faces draw the spans.

use std::sync::Arc;

use jsonc_parser::{ParseOptions, ast, common::Ranged};
use serde::Serialize;

use crate::diagnostic::Diagnostic;

/// The largest definition that is read, in bytes. A workflow of a thousand nodes is about half a megabyte.
pub const MAX_SOURCE_BYTES: usize = 4 << 20;

/// A stretch of a source, in bytes: `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// What was written.
    pub value: T,
    /// Where.
    pub span: Span,
}

/// A line and column as editors count them: both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// A named text. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Source {
    /// How the user knows it: usually a path.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
}

impl Source {
    /// A source called `name`. A byte order mark at the beginning is dropped.
    pub fn new(name: impl Into<Arc<str>>, text: impl AsRef<str>) -> Source {
        let text = text.as_ref();
        Source { name: name.into(), text: text.strip_prefix('\u{feff}').unwrap_or(text).into() }
    }

    /// The file stem of the name: `feature` for `flows/feature.json`.
    ///
    /// A file called `workflow.json` takes the name of its directory, as `.flow/workflows/<id>/workflow.json` does.
    pub fn stem(&self) -> Option<&str> {
        let mut parts = self.name.rsplit(['/', '\\']);
        let file = parts.next()?;
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let stem = if stem == "workflow" { parts.next()? } else { stem };
        (!["", ".", ".."].contains(&stem) && !stem.starts_with('<')).then_some(stem)
    }

    /// Line and column of a byte offset; an offset past the end is the end.
    pub fn location(&self, offset: usize) -> Location {
        let offset = (0..=offset.min(self.text.len())).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0);
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Location { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

/// A JSON value with its span.
#[derive(Clone, Debug)]
pub struct Tree {
    /// What it is.
    pub kind: TreeKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of JSON value.
#[derive(Clone, Debug)]
pub enum TreeKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A string with its escapes resolved.
    String(String),
    /// `[…]`
    Array(Vec<Tree>),
    /// `{…}`, in the order written; keys may repeat.
    Object(Vec<Entry>),
}

/// One `key: value` of an object.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key and where it stands.
    pub key: Spanned<String>,
    /// The value.
    pub value: Tree,
}

impl Tree {
    /// What kind of value this is, for messages: `a string`, `an object` …
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            TreeKind::Null => "null",
            TreeKind::Bool(_) => "a boolean",
            TreeKind::Number(_) => "a number",
            TreeKind::String(_) => "a string",
            TreeKind::Array(_) => "an array",
            TreeKind::Object(_) => "an object",
        }
    }

    /// The string, when it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            TreeKind::String(text) => Some(text),
            _ => None,
        }
    }

    /// The entries, when it is an object.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            TreeKind::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value under `key`, when it is an object that has one: the last of several, as most readers of JSON have it.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        let entry = self.entries()?.iter().rfind(|entry| entry.key.value == key)?;
        Some(&entry.value)
    }
}

/// Reads strict JSON (RFC 8259) into a tree.
///
/// # Errors
/// One diagnostic: the first syntax error, nesting beyond 512 levels, or a text over [`MAX_SOURCE_BYTES`].
pub fn parse_json(source: &Source) -> Result<Tree, Diagnostic> {
    if source.text.len() > MAX_SOURCE_BYTES {
        return Err(Diagnostic::error(
            "too-large",
            format!("the file has {} bytes, more than the {MAX_SOURCE_BYTES} that are read", source.text.len()),
        )
        .help("split it: a subflow can stand in a file of its own"));
    }
    let options = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = jsonc_parser::parse_to_ast(&source.text, &Default::default(), &options).map_err(|error| {
        let range = error.range();
        Diagnostic::error("syntax", format!("not valid JSON: {}", lower_first(&error.kind().to_string())))
            .at(Span { start: range.start, end: range.end })
    })?;
    if let Some((at, found)) = beyond_json(&source.text) {
        let message = format!("not valid JSON: the character `{}` cannot stand here", found.escape_debug());
        return Err(Diagnostic::error("syntax", message).at(Span { start: at, end: at + found.len_utf8() }).help(
            "in a string write `\\n` for a line break and `\\t` for a tab; between values only plain blanks may stand",
        ));
    }
    parsed.value.as_ref().map(tree).ok_or_else(|| Diagnostic::error("syntax", "the file is empty".to_owned()))
}

/// What the parser lets pass although RFC 8259 does not: control characters in strings, and other blanks than its
/// four between values. The text is otherwise valid.
fn beyond_json(text: &str) -> Option<(usize, char)> {
    let (mut inside, mut escaped) = (false, false);
    text.char_indices().find(|&(_, c)| {
        let allowed = if inside { c >= ' ' } else { c.is_ascii_graphic() || [' ', '\t', '\n', '\r'].contains(&c) };
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = inside,
            '"' => inside = !inside,
            _ => {}
        }
        !allowed
    })
}

fn tree(value: &ast::Value<'_>) -> Tree {
    let range = value.range();
    let kind = match value {
        ast::Value::NullKeyword(_) => TreeKind::Null,
        ast::Value::BooleanLit(literal) => TreeKind::Bool(literal.value),
        ast::Value::NumberLit(literal) => TreeKind::Number(literal.value.to_owned()),
        ast::Value::StringLit(literal) => TreeKind::String(literal.value.to_string()),
        ast::Value::Array(array) => TreeKind::Array(array.elements.iter().map(tree).collect()),
        ast::Value::Object(object) => TreeKind::Object(object.properties.iter().map(entry).collect()),
    };
    Tree { kind, span: Span { start: range.start, end: range.end } }
}

fn entry(property: &ast::ObjectProp<'_>) -> Entry {
    let range = property.name.range();
    Entry {
        key: Spanned { value: property.name.as_str().to_owned(), span: Span { start: range.start, end: range.end } },
        value: tree(&property.value),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_counts_characters_not_bytes() {
        let source = Source::new("a.json", "é\n→→x");
        assert_eq!(source.location(9), Location { line: 2, column: 3 });
        assert_eq!(source.location(4), Location { line: 2, column: 1 });
        assert_eq!(source.location(999), Location { line: 2, column: 4 });
    }

    #[test]
    fn the_stem_of_a_workflow_json_is_its_directory() {
        assert_eq!(Source::new("x/quick-task.json", "").stem(), Some("quick-task"));
        assert_eq!(Source::new(".flow/workflows/mine/workflow.json", "").stem(), Some("mine"));
        assert_eq!(Source::new("<stdin>", "").stem(), None);
        assert_eq!(Source::new("./workflow.json", "").stem(), None);
        assert_eq!(Source::new("../workflow.json", "").stem(), None);
    }

    #[test]
    fn what_is_not_strict_json_is_refused() {
        for text in [
            "{a:1}",
            "{\"a\":1,}",
            "{'a':1}",
            "// x\n1",
            "[01]",
            "[1 2]",
            "[+1]",
            "[.5]",
            "[NaN]",
            "",
            "{} {}",
            "[\"a\nb\"]",
            "{\"\t\":1}",
            "[\u{a0}1]",
            "[\u{c}1]",
            "[\u{b}1]",
        ] {
            assert!(parse_json(&Source::new("t", text)).is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_crash() {
        let text = "[".repeat(10_000);
        let fault = parse_json(&Source::new("t", &text)).expect_err("too deep");
        assert_eq!(fault.message, "not valid JSON: maximum nesting depth exceeded");
    }
}
