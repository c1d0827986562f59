//! YAML 1.2 with its core schema, limited to what JSON can represent, and with the merge keys of YAML 1.1.
//!
//! Builds the tree from the events of `saphyr-parser` rather than with a loader, because a loader drops repeated keys,
//! the order of faults, and the spans of aliased values.

mod fault;
mod places;
mod scalar;

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use self::places::Places;
use super::{Entry, Source, Span, Spanned, Tree, TreeKind, too_large};
use crate::diagnostic::{Diagnostic, clip};

/// The maximum nesting of values, aliases included.
const MAX_DEPTH: usize = 512;
/// The maximum size that the aliases of a file may add: a node weighs eight bytes plus its text.
const MAX_COPIED: usize = super::MAX_SOURCE_BYTES;
const NODE_WEIGHT: usize = 8;

/// Parses YAML into a tree and resolves aliases and merge keys.
///
/// Without a tree there is one diagnostic: the first syntax error, nesting or aliases over the limit, a second
/// document, or a text over [`MAX_SOURCE_BYTES`](super::MAX_SOURCE_BYTES). With a tree there may be several: tags, keys
/// and numbers that JSON cannot represent.
pub fn parse_yaml(source: &Source) -> (Option<Tree>, Vec<Diagnostic>) {
    parse_yaml_within(source, &mut 0)
}

/// Parses one of several texts, whose aliases together must not exceed the limit of one text.
pub(super) fn parse_yaml_within(source: &Source, copied: &mut usize) -> (Option<Tree>, Vec<Diagnostic>) {
    if let Some(fault) = too_large(source).or_else(|| fault::unprintable(&source.text)) {
        return (None, vec![fault]);
    }
    let mut reader = Reader { copied: *copied, ..Reader::of(&source.text) };
    let read = reader.read();
    *copied = reader.copied;
    match read {
        Ok(Some(tree)) => (Some(tree), reader.faults),
        Ok(None) => (None, vec![Diagnostic::error("syntax", "the file is empty")]),
        Err(fault) => (None, vec![fault]),
    }
}

struct Reader<'s> {
    text: &'s str,
    places: Places<'s>,
    open: Vec<OpenCollection>,
    anchors: BTreeMap<usize, Node>,
    copied: usize,
    faults: Vec<Diagnostic>,
    /// The end of the last event: the header of a block scalar is searched from there.
    last: usize,
    root: Option<Tree>,
}

/// A value and the cost of copying it.
#[derive(Clone)]
struct Node {
    tree: Tree,
    height: usize,
    weight: usize,
    /// Whether it was written without quotes: only then `<<` is a merge key, and an empty text is no key.
    plain: bool,
}

/// A collection whose end event has not arrived yet.
struct OpenCollection {
    start: usize,
    end: usize,
    anchor: usize,
    height: usize,
    weight: usize,
    items: Items,
}

enum Items {
    Array(Vec<Tree>),
    Object { entries: Vec<Entry>, key: Key, merges: Vec<Merge> },
}

/// The state of an object before its next value.
enum Key {
    /// The next value is a key.
    Awaited,
    Read(Spanned<String>),
    Merge(Span),
    /// An invalid key, whose value is dropped.
    Refused,
}

/// The entries of a `<<`, and the index of the entry that it precedes.
struct Merge {
    before: usize,
    entries: Vec<Entry>,
}

impl<'s> Reader<'s> {
    fn of(text: &'s str) -> Reader<'s> {
        Reader {
            text,
            places: Places::of(text),
            open: Vec::new(),
            anchors: BTreeMap::new(),
            copied: 0,
            faults: Vec::new(),
            last: 0,
            root: None,
        }
    }

    fn read(&mut self) -> Result<Option<Tree>, Diagnostic> {
        let mut documents = 0;
        for event in Parser::new_from_str(self.text) {
            let (event, span) =
                event.map_err(|error| fault::syntax(self.text, &self.places, &error, self.unclosed()))?;
            let span = self.places.span(&span);
            match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(fault::second_document(span));
                    }
                }
                Event::Scalar(value, style, anchor, tag) => self.scalar(&value, style, anchor, tag.as_deref(), span)?,
                Event::Alias(anchor) => self.alias(anchor, span)?,
                Event::SequenceStart(anchor, tag) => {
                    self.begin(Items::Array(Vec::new()), anchor, tag.as_deref(), "seq", span)?;
                }
                Event::MappingStart(anchor, tag) => {
                    let items = Items::Object { entries: Vec::new(), key: Key::Awaited, merges: Vec::new() };
                    self.begin(items, anchor, tag.as_deref(), "map", span)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.end(span)?,
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            }
            self.last = self.last.max(span.end);
        }
        Ok(self.root.take())
    }

    /// Returns the start of the innermost unclosed brace or bracket.
    fn unclosed(&self) -> Option<usize> {
        let starts = self.open.iter().rev().map(|open| open.start);
        starts.into_iter().find(|start| self.text[*start..].starts_with(['{', '[']))
    }

    fn scalar(
        &mut self,
        value: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<(), Diagnostic> {
        let from = span.start;
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let span = if is_block {
            places::block_scalar(self.text, self.last, span)
        } else {
            Span { start: places::past_properties(self.text, span), end: span.end }
        };
        let plain = style == ScalarStyle::Plain;
        let is_key =
            matches!(self.open.last(), Some(OpenCollection { items: Items::Object { key: Key::Awaited, .. }, .. }));
        let kind = if is_key && tag.is_none() {
            TreeKind::String(value.to_owned())
        } else {
            let tag_and_span = tag.map(|tag| (tag, places::word(self.text, from)));
            scalar::kind(value, plain, tag_and_span, span, &mut self.faults)
        };
        // The parser gives an empty scalar the span of whatever comes next.
        let span = if plain && value.is_empty() { Span { start: span.start, end: span.start } } else { span };
        let weight = NODE_WEIGHT + value.len();
        self.place(Node { tree: Tree { kind, span }, height: 0, weight, plain }, anchor)
    }

    fn begin(
        &mut self,
        items: Items,
        anchor: usize,
        tag: Option<&Tag>,
        core: &str,
        span: Span,
    ) -> Result<(), Diagnostic> {
        if self.open.len() >= MAX_DEPTH {
            return Err(fault::too_deep(span));
        }
        if let Some(tag) = tag
            && !(tag.is_yaml_core_schema() && tag.suffix == core)
        {
            self.faults.push(fault::unknown_tag(&written(tag), places::word(self.text, span.start)));
        }
        let start = places::past_properties(self.text, span);
        self.open.push(OpenCollection { start, end: start, anchor, height: 0, weight: NODE_WEIGHT, items });
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), Diagnostic> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let closed = span.end > span.start && self.text[..span.end].ends_with(['}', ']']);
        let end = if closed { span.end } else { open.end };
        let kind = match open.items {
            Items::Array(items) => TreeKind::Array(items),
            Items::Object { entries, merges, .. } => TreeKind::Object(merged(entries, merges)),
        };
        let tree = Tree { kind, span: Span { start: open.start, end: end.max(open.start) } };
        self.place(Node { tree, height: open.height + 1, weight: open.weight, plain: false }, open.anchor)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Diagnostic> {
        let name = &self.text[span.start..span.end];
        let Some(node) = self.anchors.get(&anchor) else { return Err(fault::recursive(name, span)) };
        self.copied += node.weight;
        if self.copied > MAX_COPIED {
            return Err(fault::alias_bomb(span));
        }
        if self.open.len() + node.height > MAX_DEPTH {
            return Err(fault::too_deep(span));
        }
        let node = node.clone();
        self.place(node, 0)
    }

    /// Adds a complete value to its parent collection.
    fn place(&mut self, node: Node, anchor: usize) -> Result<(), Diagnostic> {
        if anchor > 0 {
            // The value kept for aliases is a copy as well: anchors can nest.
            self.copied += node.weight;
            if self.copied > MAX_COPIED {
                return Err(fault::alias_bomb(node.tree.span));
            }
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node.tree);
            return Ok(());
        };
        open.height = open.height.max(node.height);
        open.weight += node.weight;
        // The span of an alias's copy may lie before the collection, whose end must follow its own text only.
        if node.tree.span.start >= open.start {
            open.end = open.end.max(node.tree.span.end);
        }
        match &mut open.items {
            Items::Array(items) => items.push(node.tree),
            Items::Object { entries, key, merges } => match std::mem::replace(key, Key::Awaited) {
                Key::Awaited => *key = read_key(node, &mut self.faults),
                Key::Read(key) => entries.push(Entry { key, value: node.tree }),
                Key::Refused => {}
                Key::Merge(span) => {
                    let before = entries.len();
                    merge(node.tree, span, before, merges, &mut self.faults);
                }
            },
        }
        Ok(())
    }
}

fn read_key(node: Node, faults: &mut Vec<Diagnostic>) -> Key {
    let span = node.tree.span;
    match node.tree.kind {
        TreeKind::String(text) if text == "<<" && node.plain => Key::Merge(span),
        TreeKind::String(text) if !(text.is_empty() && node.plain) => Key::Read(Spanned { value: text, span }),
        // An alias of a number or a boolean becomes a text, like a key that is written out.
        TreeKind::Number(text) => Key::Read(Spanned { value: text, span }),
        TreeKind::Bool(value) => Key::Read(Spanned { value: value.to_string(), span }),
        _ => {
            faults.push(fault::no_key(span));
            Key::Refused
        }
    }
}

fn merge(tree: Tree, span: Span, before: usize, merges: &mut Vec<Merge>, faults: &mut Vec<Diagnostic>) {
    let sources = match tree.kind {
        TreeKind::Array(items) => items,
        kind => vec![Tree { kind, span: tree.span }],
    };
    for source in sources {
        match source.kind {
            TreeKind::Object(entries) => merges.push(Merge { before, entries }),
            _ => faults.push(fault::no_merge(span)),
        }
    }
}

/// Returns the entries of an object including those of its merge keys. Written entries take precedence over merged
/// ones, and earlier merges over later ones.
fn merged(entries: Vec<Entry>, merges: Vec<Merge>) -> Vec<Entry> {
    if merges.is_empty() {
        return entries;
    }
    let mut keys: std::collections::BTreeSet<String> = entries.iter().map(|entry| entry.key.value.clone()).collect();
    let mut brought: Vec<(usize, Entry)> = Vec::new();
    for merge in merges {
        for entry in merge.entries {
            if keys.insert(entry.key.value.clone()) {
                brought.push((merge.before, entry));
            }
        }
    }
    let mut brought = brought.into_iter().peekable();
    let mut all = Vec::new();
    for (at, entry) in entries.into_iter().enumerate() {
        while let Some((_, entry)) = brought.next_if(|(before, _)| *before <= at) {
            all.push(entry);
        }
        all.push(entry);
    }
    all.extend(brought.map(|(_, entry)| entry));
    all
}

/// Formats the tag as its author wrote it, for messages.
fn written(tag: &Tag) -> String {
    let text = if tag.is_yaml_core_schema() { format!("!!{}", tag.suffix) } else { tag.to_string() };
    clip(&text)
}

#[cfg(test)]
mod tests;
