//! Text with locations: a named source, byte spans, and a tree of values in which each value has its span.
//!
//! JSON and YAML give the same tree. Knows nothing of workflows. Dialects read the tree; user interfaces render the
//! spans.

mod codes;
mod edit;
pub mod fields;
mod files;
mod json;
mod place;
mod splice;
mod write;
mod yaml;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, clip};

pub(crate) use codes::CODES;
pub(crate) use edit::found;
pub use edit::{Edit, PathStep, edited};
pub use files::{NamedText, Piece};
pub(crate) use files::{parse_part, placed};
pub use json::parse_json;
pub use place::offset_in;
pub use splice::{SpliceError, appended, spliced};
pub use write::{Format, convert};
pub use yaml::parse_yaml;

/// The maximum size of a definition, in bytes. A workflow of a thousand nodes is about half a megabyte.
pub const MAX_SOURCE_BYTES: usize = 4 << 20;

/// A range of bytes in a source: `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

/// A value and its span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The span of the value in the source.
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

/// A named text, possibly of several files. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name that the user knows, usually a path; the name of the first file if there are several.
    pub name: Arc<str>,
    /// The whole text, of all files.
    pub text: Arc<str>,
    files: Option<Arc<files::Files>>,
    beside: Arc<[Beside]>,
}

/// Another definition, from which a definition imports parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The id by which the importing definition refers to it.
    pub id: String,
    /// The name of its file that the user knows.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
}

impl Source {
    /// Creates a source called `name`. Drops a byte order mark at the beginning.
    pub fn new(name: impl Into<Arc<str>>, text: impl AsRef<str>) -> Source {
        let text = text.as_ref();
        Source {
            name: name.into(),
            text: text.strip_prefix('\u{feff}').unwrap_or(text).into(),
            files: None,
            beside: Arc::default(),
        }
    }

    /// Sets the definitions from which this one imports parts.
    #[must_use]
    pub fn with_beside(self, beside: Vec<Beside>) -> Source {
        Source { beside: beside.into(), ..self }
    }

    /// Returns the definitions from which this one imports parts.
    pub fn beside(&self) -> &[Beside] {
        &self.beside
    }

    /// Returns the file stem of the name: `feature` for `flows/feature.json`.
    ///
    /// A file called `workflow.json` takes the name of its directory, as `.flow/workflows/<id>/workflow.json` does.
    pub fn stem(&self) -> Option<&str> {
        let mut parts = self.name.rsplit(['/', '\\']);
        let file = parts.next()?;
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let stem = if stem == "workflow" { parts.next()? } else { stem };
        (!["", ".", ".."].contains(&stem) && !stem.starts_with('<')).then_some(stem)
    }

    /// Returns the extension of the name, in lower case: `yaml` for `flows/feature.YAML`.
    fn extension(&self) -> Option<String> {
        let file = self.name.rsplit(['/', '\\']).next()?;
        file.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase())
    }

    /// Returns line and column of a byte offset in its file; an offset past the end counts as the end.
    pub fn location(&self, offset: usize) -> Location {
        let offset = (0..=offset.min(self.text.len())).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0);
        let before = &self.text[self.file_at(offset).1.start..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Location { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

/// A value with its span.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The kind with its content.
    pub kind: TreeKind,
    /// The span in the source.
    pub span: Span,
}

/// The kinds of value.
#[derive(Clone, Debug)]
pub enum TreeKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number in JSON notation.
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
    /// The key and its span.
    pub key: Spanned<String>,
    /// The value.
    pub value: Tree,
}

impl Tree {
    /// Returns the kind of this value for messages: `a string`, `an object` …
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

    /// Returns the span for diagnostics about the whole value: the opening brace or bracket, or the first key or item
    /// if there is none. The span of the whole value could be a page of text.
    pub fn head(&self) -> Span {
        let start = self.span.start;
        let brace = Span { start, end: self.span.end.min(start + 1) };
        match &self.kind {
            TreeKind::Array(items) => {
                let first = items.first().map(Tree::head);
                first.filter(|span| span.start == start).unwrap_or(brace)
            }
            TreeKind::Object(entries) => {
                let first = entries.first().map(|entry| entry.key.span);
                first.filter(|span| span.start == start).unwrap_or(brace)
            }
            _ => self.span,
        }
    }

    /// Returns the string, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            TreeKind::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the entries, if this is an object.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            TreeKind::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the value without spans. Of a repeated key, the last value counts.
    pub fn value(&self) -> Value {
        match &self.kind {
            TreeKind::Null => Value::Null,
            TreeKind::Bool(value) => Value::Bool(*value),
            TreeKind::Number(text) => serde_json::from_str(text).map_or(Value::Null, Value::Number),
            TreeKind::String(text) => Value::String(text.clone()),
            TreeKind::Array(items) => Value::Array(items.iter().map(Tree::value).collect()),
            TreeKind::Object(entries) => {
                let members = entries.iter().map(|entry| (entry.key.value.clone(), entry.value.value()));
                Value::Object(members.collect::<Map<String, Value>>())
            }
        }
    }

    /// Returns the value under `key`, if this is an object that has it. Of a repeated key, the last value counts, as in
    /// most JSON readers.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        let entry = self.entries()?.iter().rfind(|entry| entry.key.value == key)?;
        Some(&entry.value)
    }
}

/// Parses a text as JSON or as YAML, by the extension of its name, or else by its first character.
///
/// A file called `.json` must be strict JSON. Any other text that begins like JSON is parsed as JSON first: JSON is
/// YAML except for surrogate-pair escapes and for deep nesting.
///
/// Of several files, only the first is parsed.
pub fn parse(source: &Source) -> (Option<Tree>, Vec<Diagnostic>) {
    parse_with(&source.main(), &mut |source| parse_yaml(source))
}

type ReadYaml<'r> = &'r mut dyn FnMut(&Source) -> (Option<Tree>, Vec<Diagnostic>);

fn parse_with(source: &Source, parse_yaml: ReadYaml<'_>) -> (Option<Tree>, Vec<Diagnostic>) {
    let extension = source.extension();
    let is_yaml = matches!(extension.as_deref(), Some("yaml" | "yml"));
    let is_json = extension.as_deref() == Some("json");
    if !is_json && !source.text.trim_start().starts_with(['{', '[']) {
        return parse_yaml(source);
    }
    match parse_json(source) {
        Ok(tree) => (Some(tree), Vec::new()),
        Err(fault) if is_json || fault.code != "syntax" => (None, vec![fault]),
        Err(fault) => match parse_yaml(source) {
            (None, _) if !is_yaml => (None, vec![fault]),
            read => read,
        },
    }
}

/// Returns the diagnostic for a text over [`MAX_SOURCE_BYTES`].
fn too_large(source: &Source) -> Option<Diagnostic> {
    let size = source.text.len();
    (size > MAX_SOURCE_BYTES).then(|| {
        Diagnostic::error("too-large", format!("the file has {size} bytes, more than the {MAX_SOURCE_BYTES} allowed"))
            .help("split it: a subflow can be in a file of its own")
    })
}

/// Returns the diagnostic for a number outside the range that can be computed with: readers would disagree about it.
fn beyond_numbers(text: &str, span: Span) -> Option<Diagnostic> {
    let sound = serde_json::from_str::<serde_json::Number>(text).is_ok();
    (!sound).then(|| {
        Diagnostic::error("syntax", format!("the number `{}` is too large to compute with", clip(text)))
            .at(span)
            .help("write it as a string, in double quotes")
    })
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
}
