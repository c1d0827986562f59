//! Collections in braces and brackets: JSON, and YAML in flow style.

use std::collections::BTreeSet;

use crate::source::{Entry, Span, Tree, TreeKind};
use serde_json::{Map, Value};

use super::align::{aligned, ordered};
use super::{Patch, SpliceError, Splicer};

/// A member as written.
struct Part<'p> {
    span: Span,
    value: &'p Tree,
}

impl Splicer<'_> {
    pub(super) fn flow_object(
        &self,
        tree: &Tree,
        entries: &[Entry],
        wanted: &Map<String, Value>,
    ) -> Result<Patch, SpliceError> {
        let mut parts: Vec<(&str, Part<'_>)> = Vec::new();
        let mut names = BTreeSet::new();
        let whole = self.text.written(tree);
        let mut floor = whole.start;
        for entry in entries {
            if entry.key.span.start < floor || entry.key.span.end > whole.end {
                let name = &entry.key.value;
                return Err(SpliceError::because(format!(
                    "`{name}` comes from a merge key and cannot be changed here"
                )));
            }
            if !names.insert(entry.key.value.as_str()) {
                return Err(SpliceError::because(format!("`{}` is written twice in one object", entry.key.value)));
            }
            let end = self.flow_end(entry, whole)?;
            floor = end;
            let span = Span { start: entry.key.span.start, end };
            parts.push((&entry.key.value, Part { span, value: &entry.value }));
        }
        let margin = self.margin(tree, parts.first().map_or(tree.span.start, |(_, part)| part.span.start));
        let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
        let mut members = Vec::new();
        for (at, name, value) in ordered(&names, wanted, &BTreeSet::new()) {
            let text = match at {
                Some(at) => self.flow_part(&parts[at].1, value, margin.as_deref())?,
                None => {
                    let margin =
                        margin.as_deref().filter(|_| !self.on_one_line(entries.iter().map(|entry| &entry.value)));
                    format!("{}: {}", self.style.name(name), self.style.braces(value, margin))
                }
            };
            members.push((at, text));
        }
        let parts: Vec<Span> = parts.iter().map(|(_, part)| part.span).collect();
        Ok(self.flowed(tree, &parts, members, margin.as_deref()))
    }

    pub(super) fn flow_array(&self, tree: &Tree, items: &[Tree], wanted: &[Value]) -> Result<Patch, SpliceError> {
        let Span { start: mut floor, end } = self.text.written(tree);
        for item in items {
            let written = self.text.written(item);
            if written.start < floor || written.end > end || written.end == written.start {
                return Err(SpliceError::because("a list in brackets has an alias or an empty item"));
            }
            floor = written.end;
        }
        let margin = self.margin(tree, items.first().map_or(tree.span.start, |item| item.span.start));
        let present: Vec<Value> = items.iter().map(Tree::value).collect();
        let mut members = Vec::new();
        for (place, value) in aligned(&present, wanted).into_iter().zip(wanted) {
            let text = match place {
                Some(at) => {
                    let part = Part { span: self.text.written(&items[at]), value: &items[at] };
                    self.flow_part(&part, value, margin.as_deref())?
                }
                None => self.style.braces(value, margin.as_deref().filter(|_| !self.on_one_line(items.iter()))),
            };
            members.push((place, text));
        }
        let parts: Vec<Span> = items.iter().map(|item| self.text.written(item)).collect();
        Ok(self.flowed(tree, &parts, members, margin.as_deref()))
    }

    /// Returns the indentation of the members, if they are on lines of their own.
    fn margin(&self, tree: &Tree, first: usize) -> Option<String> {
        let opened = &self.text.0[tree.span.start..first];
        opened.contains('\n').then(|| self.text.indentation(first).to_owned())
    }

    /// Returns whether the values include collections and each is on one line: then a new one is written the same way.
    fn on_one_line<'t>(&self, values: impl Iterator<Item = &'t Tree>) -> bool {
        let is_collection = |tree: &&Tree| matches!(tree.kind, TreeKind::Object(_) | TreeKind::Array(_));
        let mut collections = values.filter(is_collection).peekable();
        collections.peek().is_some() && collections.all(|tree| !self.text.of(self.text.written(tree)).contains('\n'))
    }

    /// Returns the end of an entry.
    fn flow_end(&self, entry: &Entry, tree: Span) -> Result<usize, SpliceError> {
        let (key, value) = (entry.key.span, self.text.written(&entry.value));
        if value.start >= key.end && value.end > value.start && value.end <= tree.end {
            return Ok(value.end);
        }
        let rest = &self.text.0[key.end..tree.end];
        let word = rest.trim_start_matches([' ', '\t', ':']);
        let at = key.end + rest.len() - word.len();
        match word.chars().next() {
            Some('*') => Ok(at + word.find([' ', '\t', '\r', '\n', ',', '}', ']']).unwrap_or(0)),
            Some(',' | '}' | '\r' | '\n') => Ok(key.end + rest.find([',', '}', '\r', '\n']).unwrap_or(0)),
            _ => Err(SpliceError::because(format!("`{}` is written in a form that cannot be edited", entry.key.value))),
        }
    }

    fn flow_part(&self, part: &Part<'_>, wanted: &Value, margin: Option<&str>) -> Result<String, SpliceError> {
        let written = self.text.of(part.span);
        if part.value.value() == *wanted {
            return Ok(written.to_owned());
        }
        let value = self.text.written(part.value);
        if value.start < part.span.start || value.end > part.span.end || value.end == value.start {
            // An alias or an empty value.
            let key = written.find(':').map_or(written, |colon| &written[..colon]);
            return Ok(format!("{}: {}", key.trim_end(), self.style.braces(wanted, margin)));
        }
        let patch = self.patch(part.value, wanted, value)?;
        let patch = patch.unwrap_or_else(|| Patch { span: value, text: self.style.braces(wanted, margin) });
        Ok(patch.applied(self.text.0, part.span))
    }

    fn flowed(
        &self,
        tree: &Tree,
        parts: &[Span],
        members: Vec<(Option<usize>, String)>,
        margin: Option<&str>,
    ) -> Patch {
        let newline = self.style.newline;
        let usual = margin.map_or_else(|| ", ".to_owned(), |margin| format!(",{newline}{margin}"));
        let between = |at: usize| parts.get(at + 1).map(|next| self.text.0[parts[at].end..next.start].to_owned());
        let whole = self.text.written(tree);
        let start = parts.first().map_or(whole.end, |part| part.start);
        let (last, end) = (parts.len().saturating_sub(1), parts.last().map_or(whole.end, |part| part.end));
        let mut close = self.text.0[end..whole.end].to_owned();
        let mut text = self.text.0[whole.start..start].to_owned();
        let count = members.len();
        for (nth, (at, member)) in members.into_iter().enumerate() {
            text.push_str(&member);
            if nth + 1 == count {
                break;
            }
            match at {
                Some(at) if at == last => {
                    let (joint, rest) = joint(&close, &usual, margin, newline);
                    text.push_str(&joint);
                    close = rest;
                }
                Some(at) => text.push_str(&between(at).unwrap_or_else(|| usual.clone())),
                None => text.push_str(&usual),
            }
        }
        text.push_str(&close);
        Patch { span: whole, text }
    }
}

/// Returns the text between the last present member and a new one after it, and the text left before the bracket. A
/// comment after the member stays on its line.
fn joint(close: &str, usual: &str, margin: Option<&str>, newline: &str) -> (String, String) {
    let line = close.find('\n').map_or(close, |end| &close[..end]);
    match (margin, line.contains('#')) {
        (Some(margin), true) => {
            let line = line.trim_end();
            let comma = if line.trim_start().starts_with(',') { "" } else { "," };
            (format!("{comma}{line}{newline}{margin}"), close[close.find('\n').unwrap_or(0)..].to_owned())
        }
        _ => {
            let rest = close.trim_start_matches([' ', '\t']).strip_prefix(',').unwrap_or(close);
            (usual.to_owned(), rest.to_owned())
        }
    }
}
