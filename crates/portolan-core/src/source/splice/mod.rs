//! Gives a text another value and keeps all text that the value does not change: comments, layout, key order, quotes,
//! line ends.
//!
//! Compares both values; unchanged parts are copied, and only new or changed parts are written. In the end the text is
//! parsed again: if it does not have exactly the wanted value, the change is refused. Knows YAML and JSON, and no
//! graphs.

mod align;
mod block;
mod ends;
mod flow;
mod lines;
mod style;
mod write;

use crate::source::{self, Source, Span, Tree, TreeKind};
use serde_json::Value;

use lines::Lines;
use style::Style;

/// The reason why a text cannot be changed in place: one lower-case sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpliceError(pub String);

impl SpliceError {
    fn because(why: impl Into<String>) -> SpliceError {
        SpliceError(why.into())
    }
}

/// Returns the text of `source`, whose value is `tree`, changed to the value `wanted`.
///
/// # Errors
/// The text cannot be changed in place.
pub fn spliced(source: &Source, tree: &Tree, wanted: &Value) -> Result<String, SpliceError> {
    let text = &*source.text;
    if tree.value() == *wanted {
        return Ok(text.to_owned());
    }
    let style = Style::of(text, tree);
    // Everything below works on whole lines.
    let ends = text.ends_with('\n');
    let padded = if ends { text.to_owned() } else { format!("{text}{}", style.newline) };
    let newline = style.newline;
    let splicer = Splicer { text: Lines(&padded), style };
    let region = Span { start: 0, end: padded.len() };
    let patch = splicer.patch(tree, wanted, region)?;
    let patch = patch.ok_or_else(|| SpliceError::because(format!("the file is {}, not an object", tree.describe())))?;
    let whole = patch.applied(&padded, region);
    let bare = whole.strip_suffix(newline).filter(|_| !ends).map(str::to_owned);
    let sound = bare.into_iter().chain([whole]).find(|text| says(source, text, wanted));
    sound.ok_or_else(|| SpliceError::because(misread(tree, text)))
}

/// Appends a value to a text that has none yet, after its comments.
///
/// # Errors
/// The text has content to which nothing can be added.
pub fn appended(source: &Source, wanted: &Value) -> Result<String, SpliceError> {
    let text = &*source.text;
    let style = Style::new(style::newline(text));
    let is_json = source.name.to_ascii_lowercase().ends_with(".json");
    let value = match is_json {
        true => format!("{:#}{}", wanted, style.newline),
        false => style.block(wanted, 0),
    };
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { style.newline };
    let whole = [text, gap, &value].concat();
    match says(source, &whole, wanted) {
        true => Ok(whole),
        false => Err(SpliceError::because("it has content to which nothing can be added")),
    }
}

/// Returns whether a text has exactly this value.
fn says(source: &Source, text: &str, wanted: &Value) -> bool {
    let (tree, faults) = source::parse(&Source::new(&*source.name, text));
    let sound = !faults.iter().any(crate::diagnostic::Diagnostic::is_error);
    sound && tree.is_some_and(|tree| tree.value() == *wanted)
}

fn misread(tree: &Tree, text: &str) -> String {
    if has_anchors(tree, text) {
        return "the part to change is linked to other places by an anchor, an alias or a merge key".to_owned();
    }
    "the changed text would not have the intended value".to_owned()
}

/// Returns whether a value is, or may be, written elsewhere than it is used.
fn has_anchors(tree: &Tree, text: &str) -> bool {
    let marked =
        |at: usize| text[..at].trim_end().split([' ', '\t', '\n']).next_back().is_some_and(|w| w.starts_with('&'));
    let within = |child: &Tree| child.span.start < tree.span.start || child.span.end > tree.span.end;
    let check = |child: &Tree| within(child) || marked(child.span.start) || has_anchors(child, text);
    match &tree.kind {
        TreeKind::Object(entries) => entries.iter().any(|entry| check(&entry.value)),
        TreeKind::Array(items) => items.iter().any(check),
        _ => false,
    }
}

struct Splicer<'t> {
    text: Lines<'t>,
    style: Style,
}

/// A replacement of a range of the text.
struct Patch {
    span: Span,
    text: String,
}

impl Patch {
    /// Returns the text of `region` with the replacement.
    fn applied(&self, text: &str, region: Span) -> String {
        [&text[region.start..self.span.start], &self.text, &text[self.span.end..region.end]].concat()
    }
}

impl Splicer<'_> {
    /// Returns the change inside a collection that makes it `wanted`; `None` if it must be replaced as a whole. The
    /// lines and comments of `region` that belong to it may change with it.
    fn patch(&self, tree: &Tree, wanted: &Value, region: Span) -> Result<Option<Patch>, SpliceError> {
        let flow = self.text.is_flow(tree);
        Ok(Some(match (&tree.kind, wanted) {
            (TreeKind::Object(entries), Value::Object(wanted)) if !entries.is_empty() && !wanted.is_empty() => {
                if flow {
                    self.flow_object(tree, entries, wanted)?
                } else {
                    self.object(tree, entries, wanted, region)?
                }
            }
            (TreeKind::Array(items), Value::Array(wanted)) if !items.is_empty() && !wanted.is_empty() => {
                if flow {
                    self.flow_array(tree, items, wanted)?
                } else {
                    self.array(tree, items, wanted, region)?
                }
            }
            _ => return Ok(None),
        }))
    }
}
