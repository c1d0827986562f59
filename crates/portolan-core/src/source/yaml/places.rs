//! Spans: the parser counts characters and spans count bytes; and the parser's spans begin at anchors and tags.

use saphyr_parser::{Marker, Span as MarkerSpan};

use crate::source::Span;

/// The distance in characters between stored byte offsets, which bounds the walk of a lookup.
const STRIDE: usize = 64;

/// Maps character indices of a text to bytes.
pub(super) struct Places<'s> {
    text: &'s str,
    /// The byte offset of every [`STRIDE`]th character; empty if each character is one byte.
    characters: Vec<usize>,
}

impl<'s> Places<'s> {
    pub(super) fn of(text: &'s str) -> Places<'s> {
        let characters =
            if text.is_ascii() { Vec::new() } else { text.char_indices().map(|(at, _)| at).step_by(STRIDE).collect() };
        Places { text, characters }
    }

    /// Returns the byte offset of a marker; a marker past the end gives the end.
    pub(super) fn byte(&self, marker: &Marker) -> usize {
        let index = marker.index();
        if self.characters.is_empty() {
            return index.min(self.text.len());
        }
        let Some(near) = self.characters.get(index / STRIDE) else { return self.text.len() };
        let rest = &self.text[*near..];
        rest.char_indices().nth(index % STRIDE).map_or(self.text.len(), |(at, _)| near + at)
    }

    pub(super) fn span(&self, span: &MarkerSpan) -> Span {
        let start = self.byte(&span.start);
        Span { start, end: self.byte(&span.end).max(start) }
    }
}

/// Returns the start of the value itself, after its anchor and its tag.
pub(super) fn past_properties(text: &str, span: Span) -> usize {
    let mut at = span.start;
    while text[at..span.end].starts_with(['&', '!']) {
        let word = text[at..span.end].find([' ', '\t', '\r', '\n']);
        at = word.map_or(span.end, |word| past_blanks(text, at + word, span.end));
    }
    at
}

/// Returns the span of the anchor or tag that begins at `at`.
pub(super) fn word(text: &str, at: usize) -> Span {
    let length = text[at..].find([' ', '\t', '\r', '\n']).unwrap_or(text.len() - at);
    Span { start: at, end: at + length }
}

fn past_blanks(text: &str, from: usize, to: usize) -> usize {
    let mut at = from;
    loop {
        at = to - text[at..to].trim_start().len();
        if !text[at..to].starts_with('#') {
            return at;
        }
        at = text[at..to].find('\n').map_or(to, |line| at + line);
    }
}

/// Returns the span of a block scalar from its `|` or `>` to its last word: the parser's span covers only the lines,
/// with the blank ones after them.
pub(super) fn block_scalar(text: &str, after: usize, span: Span) -> Span {
    let mut at = after.min(span.end);
    loop {
        at = past_blanks(text, at, span.end);
        let rest = &text[at..span.end];
        if rest.starts_with(['|', '>']) {
            break;
        }
        if rest.starts_with(['&', '!']) {
            at = past_properties(text, Span { start: at, end: span.end });
        } else if rest.starts_with([':', '-', '?']) {
            at += 1;
        } else {
            return span;
        }
    }
    let shown = text[at..span.end].trim_end().len();
    Span { start: at, end: at + shown }
}
