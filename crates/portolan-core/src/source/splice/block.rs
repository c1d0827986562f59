//! YAML blocks: objects and lists whose members are on lines of their own.
//!
//! A member owns its lines, the comments directly above it in its own column, and deeper ones below it. Text between
//! members (blank lines, other comments) belongs to the member before it.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Entry, Span, Tree};
use serde_json::{Map, Value};

use super::align::{aligned, ordered};
use super::{Patch, SpliceError, Splicer};

/// A member of the result: whole lines, and the text between it and the next member.
struct Piece {
    /// The index of the present member it comes from.
    at: Option<usize>,
    text: String,
    gap: String,
}

/// A place for a value, after the colon or dash of a member in `column`.
struct Slot<'s> {
    chunk: Span,
    after: usize,
    column: usize,
    value: &'s Tree,
    is_item: bool,
}

impl Splicer<'_> {
    pub(super) fn object(
        &self,
        tree: &Tree,
        entries: &[Entry],
        wanted: &Map<String, Value>,
        region: Span,
    ) -> Result<Patch, SpliceError> {
        let start = tree.span.start;
        let column = self.text.column(start);
        let (own, brought): (Vec<&Entry>, Vec<&Entry>) =
            entries.iter().partition(|entry| self.is_own(entry, tree, column));
        distinct(&own)?;
        if let Some(entry) = brought.iter().find(|entry| !wanted.contains_key(&entry.key.value)) {
            let name = &entry.key.value;
            return Err(SpliceError::because(format!("`{name}` comes from a merge key and cannot be removed here")));
        }
        let chunks = self.entry_chunks(start, column, &own, region.end)?;
        let same = |entry: &&Entry| wanted.get(&entry.key.value) == Some(&entry.value.value());
        let brought: BTreeSet<&str> = brought.into_iter().filter(same).map(|entry| entry.key.value.as_str()).collect();
        let names: Vec<&str> = own.iter().map(|entry| entry.key.value.as_str()).collect();
        let mut pieces = Vec::new();
        for (at, name, value) in ordered(&names, wanted, &brought) {
            let text = match at {
                Some(at) => self.entry_text(own[at], chunks[at], column, value)?,
                None => self.style.entry(name, value, column),
            };
            pieces.push((at, text));
        }
        self.assembled(&chunks, pieces, column)
    }

    pub(super) fn array(
        &self,
        tree: &Tree,
        items: &[Tree],
        wanted: &[Value],
        region: Span,
    ) -> Result<Patch, SpliceError> {
        let first = self.text.first_dash(tree, items).ok_or_else(odd_list)?;
        let column = self.text.column(first);
        let (chunks, dashes) = self.item_chunks(first, items, column, region)?;
        let present: Vec<Value> = items.iter().map(Tree::value).collect();
        let mut pieces = Vec::new();
        for (place, value) in aligned(&present, wanted).into_iter().zip(wanted) {
            let text = match place {
                Some(at) if present[at] == *value => self.lines_of(chunks[at]),
                Some(at) => {
                    let (chunk, after) = (chunks[at], dashes[at] + 1);
                    self.revalued(&Slot { chunk, after, column, value: &items[at], is_item: true }, value)?
                }
                None => format!("{}-{}", " ".repeat(column), self.style.after_dash(value, column)),
            };
            pieces.push((place, text));
        }
        self.assembled(&chunks, pieces, column)
    }

    /// Returns whether an entry is written here rather than added by a merge key.
    fn is_own(&self, entry: &Entry, tree: &Tree, column: usize) -> bool {
        let at = entry.key.span.start;
        let inside = tree.span.start <= at && at < tree.span.end;
        inside && (at == tree.span.start || self.text.begins_line(at) && self.text.column(at) == column)
    }

    fn entry_text(&self, entry: &Entry, chunk: Span, column: usize, value: &Value) -> Result<String, SpliceError> {
        if entry.value.value() == *value {
            return Ok(self.lines_of(chunk));
        }
        let after = self.colon(entry)?;
        self.revalued(&Slot { chunk, after, column, value: &entry.value, is_item: false }, value)
    }

    /// Returns the offset after the colon of an entry.
    fn colon(&self, entry: &Entry) -> Result<usize, SpliceError> {
        let rest = &self.text.0[entry.key.span.end..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        match rest[blanks..].starts_with(':') {
            true => Ok(entry.key.span.end + blanks + 1),
            false => {
                Err(SpliceError::because(format!("`{}` is written in a form that cannot be edited", entry.key.value)))
            }
        }
    }

    fn entry_chunks(
        &self,
        start: usize,
        column: usize,
        own: &[&Entry],
        limit: usize,
    ) -> Result<Vec<Span>, SpliceError> {
        let mut chunks: Vec<Span> = Vec::new();
        for (at, entry) in own.iter().enumerate() {
            let key = entry.key.span.start;
            let floor = chunks.last().map_or(start, |chunk| chunk.end);
            let begin =
                if key == start { start } else { self.text.comments_above(self.text.start(key), column, floor) };
            let after = self.colon(entry)?;
            let limit = own.get(at + 1).map_or(limit, |next| self.text.start(next.key.span.start));
            let end = self.end_of(&entry.value, after, column, limit);
            chunks.push(Span { start: begin, end });
        }
        Ok(chunks)
    }

    /// Returns the chunks of the items, and their dashes.
    fn item_chunks(
        &self,
        first: usize,
        items: &[Tree],
        column: usize,
        region: Span,
    ) -> Result<(Vec<Span>, Vec<usize>), SpliceError> {
        let placed = self.text.placed(first, items, region.end).ok_or_else(odd_list)?;
        let dashes: Vec<usize> = placed.into_iter().map(|(dash, _)| dash).collect();
        let mut chunks: Vec<Span> = Vec::new();
        for (at, (item, dash)) in items.iter().zip(&dashes).enumerate() {
            let line = self.text.start(*dash);
            let begin = match chunks.last() {
                None if !self.text.begins_line(*dash) => *dash,
                None => self.text.comments_above(line, column, self.first_whole_line(region.start)),
                Some(before) => self.text.comments_above(line, column, before.end),
            };
            let limit = dashes.get(at + 1).map_or(region.end, |next| self.text.start(*next));
            chunks.push(Span { start: begin, end: self.end_of(item, dash + 1, column, limit) });
        }
        Ok((chunks, dashes))
    }

    fn first_whole_line(&self, at: usize) -> usize {
        if self.text.column(at) == 0 { at } else { self.text.next(at) }
    }

    /// Returns the end of a value's lines, including the deeper comments below it.
    fn end_of(&self, value: &Tree, after: usize, column: usize, limit: usize) -> usize {
        let written = self.text.written(value);
        let own = written.end > written.start && written.start >= after && written.end <= limit;
        let line = self.text.next(if own { written.end } else { after }).min(limit);
        // Blank lines at the end belong to a block scalar that keeps them.
        let line = if own && keeps_blanks(self.text.of(written)) { self.text.blank_lines(line, limit) } else { line };
        self.text.deeper_comments(line, column, limit)
    }

    /// Returns the lines of a chunk, the first with its indentation.
    fn lines_of(&self, chunk: Span) -> String {
        [&" ".repeat(self.text.column(chunk.start)), self.text.of(chunk)].concat()
    }

    /// Returns the lines of a member with a new value.
    fn revalued(&self, slot: &Slot<'_>, wanted: &Value) -> Result<String, SpliceError> {
        let margin = " ".repeat(self.text.column(slot.chunk.start));
        let present = self.present(slot)?;
        if present == self.text.written(slot.value) && present.end > present.start {
            let region = Span { start: slot.after, end: slot.chunk.end };
            if let Some(patch) = self.patch(slot.value, wanted, region)? {
                return Ok(margin + &patch.applied(self.text.0, slot.chunk));
            }
        }
        Ok(margin + &self.replaced(slot, present, wanted))
    }

    /// Returns the span of a slot's value as written: the alias itself for an aliased value, an empty span for an empty
    /// value.
    fn present(&self, slot: &Slot<'_>) -> Result<Span, SpliceError> {
        let span = self.text.written(slot.value);
        if span.start >= slot.after && span.end <= slot.chunk.end && span.end > span.start {
            return Ok(span);
        }
        let rest = &self.text.0[slot.after..slot.chunk.end];
        let start = slot.after + rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let rest = &self.text.0[start..slot.chunk.end];
        match rest.chars().next() {
            None | Some('\r' | '\n' | '#') => Ok(Span { start: slot.after, end: slot.after }),
            Some('*') => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                Ok(Span { start, end: start + end })
            }
            Some(_) => Err(SpliceError::because("a value is written in a form that cannot be edited")),
        }
    }

    fn replaced(&self, slot: &Slot<'_>, present: Span, wanted: &Value) -> String {
        let (chunk, style, newline) = (slot.chunk, &self.style, self.style.newline);
        let before = &self.text.0[chunk.start..present.start];
        let line_end = self.text.next(present.end).min(chunk.end);
        let below = &self.text.0[line_end..chunk.end];
        let child = match slot.is_item {
            true => slot.column + style.width,
            false => style.below_key(wanted, slot.column),
        };
        let literal = style.literal(wanted, child).filter(|_| below.trim().is_empty());
        let (head, body) = match (literal, style.inline(wanted)) {
            (Some((head, body)), _) => (head, body),
            (None, Some(inline)) => {
                // A list may be no deeper than its key; its inline replacement goes on the line of the key.
                let shallow = self.text.begins_line(present.start) && self.text.column(present.start) <= slot.column;
                let before = if shallow { before.trim_end() } else { before };
                let blank = if before.ends_with([':', '-']) { " " } else { "" };
                return [before, blank, &inline, &self.text.0[present.end..chunk.end]].concat();
            }
            (None, None) => ("", style.block(wanted, child)),
        };
        // A comment after the value stays on its line: within the new lines it would be part of a text.
        let is_block = self.text.of(present).starts_with(['|', '>']);
        let rest = self.text.0[present.end..line_end].trim_end();
        let comment = if is_block { "" } else { rest };
        let own_line = present.start > self.text.next(slot.after) && self.text.begins_line(present.start);
        if own_line {
            // Text between the key and its value stays there.
            let between = &self.text.0[chunk.start..self.text.start(present.start)];
            let first = match (head, comment) {
                ("", "") => String::new(),
                ("", comment) => format!("{}{}{newline}", " ".repeat(child), comment.trim_start()),
                (head, comment) => format!("{}{head}{comment}{newline}", " ".repeat(child)),
            };
            return [between, &first, &body, below].concat();
        }
        let before = before.trim_end_matches([' ', '\t', '\r', '\n']);
        if slot.is_item && head.is_empty() && comment.is_empty() {
            return [before, &body[slot.column + 1..], below].concat();
        }
        let head = if head.is_empty() { String::new() } else { format!(" {head}") };
        [before, &head, comment, newline, &body, below].concat()
    }

    /// Joins the members and replaces the whole range of the present ones.
    fn assembled(
        &self,
        chunks: &[Span],
        members: Vec<(Option<usize>, String)>,
        column: usize,
    ) -> Result<Patch, SpliceError> {
        let (Some(first), Some(last)) = (chunks.first(), chunks.last()) else {
            return Err(SpliceError::because("a collection is laid out in a form that cannot be edited"));
        };
        let gap = |at: usize| match chunks.get(at + 1) {
            Some(next) => self.text.0[chunks[at].end..next.start].to_owned(),
            None => String::new(),
        };
        let spaced =
            chunks.len() > 1 && (0..chunks.len() - 1).all(|at| gap(at).lines().any(|line| line.trim().is_empty()));
        let usual = if spaced { self.style.newline } else { "" };
        let mut pieces: Vec<Piece> = Vec::new();
        for (at, text) in members {
            let mut gap = at.filter(|at| at + 1 < chunks.len()).map_or_else(|| usual.to_owned(), gap);
            if let (None, Some(before)) = (at, pieces.last_mut()) {
                // A new member directly follows its predecessor and takes over the gap after that one.
                gap = std::mem::replace(&mut before.gap, usual.to_owned());
            }
            pieces.push(Piece { at, text, gap });
        }
        let lead = keep_comments(chunks.len(), &gap, &mut pieces);
        if let Some(piece) = pieces.last_mut().filter(|piece| piece.gap.trim().is_empty()) {
            piece.gap.clear();
        }
        let lead = if self.text.column(first.start) > 0 { self.indented(&lead, column) } else { lead };
        let pieces: String = pieces.into_iter().flat_map(|piece| [piece.text, piece.gap]).collect();
        let text = lead + &pieces;
        // The region excludes the indentation if the first member follows a dash or begins within its line.
        let skipped = self.text.column(first.start).min(column);
        let span = Span { start: first.start, end: last.end };
        Ok(Patch { span, text: text.get(skipped..).unwrap_or_default().to_owned() })
    }

    /// Indents comments at the beginning of a member to its column.
    fn indented(&self, lead: &str, column: usize) -> String {
        let rest = lead.trim_start();
        if rest.is_empty() { String::new() } else { format!("{}{rest}", " ".repeat(column)) }
    }
}

/// Keeps the comments after removed members: appends them to the previous kept member, and returns those before all
/// kept members.
fn keep_comments(count: usize, gap: &dyn Fn(usize) -> String, pieces: &mut [Piece]) -> String {
    let kept: BTreeMap<usize, usize> =
        pieces.iter().enumerate().filter_map(|(nth, piece)| Some((piece.at?, nth))).collect();
    let mut lead = String::new();
    let mut before = None;
    for at in 0..count {
        if let Some(nth) = kept.get(&at) {
            before = Some(*nth);
            continue;
        }
        let left = gap(at);
        match before {
            _ if left.trim().is_empty() => {}
            Some(nth) => pieces[nth].gap.push_str(&left),
            None => lead.push_str(left.trim_start_matches(['\r', '\n'])),
        }
    }
    lead
}

fn odd_list() -> SpliceError {
    SpliceError::because("a list is laid out in a form that cannot be edited")
}

fn keeps_blanks(written: &str) -> bool {
    // The block scalar that keeps blank lines may be the last text inside the value.
    let header = |line: &str| {
        let words = line.split(" #").next().unwrap_or_default().trim_end();
        let mark = words.rsplit(' ').next().unwrap_or_default();
        mark.starts_with(['|', '>']) && mark.contains('+')
    };
    written.lines().any(header)
}

fn distinct(entries: &[&Entry]) -> Result<(), SpliceError> {
    let mut keys = BTreeSet::new();
    match entries.iter().find(|entry| !keys.insert(&entry.key.value)) {
        Some(entry) => Err(SpliceError::because(format!("`{}` is written twice in one object", entry.key.value))),
        None => Ok(()),
    }
}
