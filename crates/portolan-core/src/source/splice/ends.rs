//! The ends of values. The ends in the tree may include trailing blanks and comments.

use crate::source::{Span, Tree, TreeKind};

use super::lines::Lines;

impl Lines<'_> {
    /// Returns the span of a value as written, up to its closing quote or bracket.
    pub(super) fn written(&self, tree: &Tree) -> Span {
        let dash = match &tree.kind {
            TreeKind::Array(items) if !self.is_flow(tree) => self.first_dash(tree, items),
            _ => None,
        };
        Span { start: dash.unwrap_or(tree.span.start), end: self.end(tree) }
    }

    /// Returns whether a value is a collection in braces or brackets.
    pub(super) fn is_flow(&self, tree: &Tree) -> bool {
        let rest = &self.0[tree.span.start..];
        match &tree.kind {
            TreeKind::Object(_) => rest.starts_with('{'),
            // A block list may begin at the same byte as its first item, a list in brackets.
            TreeKind::Array(items) => {
                rest.starts_with('[') && items.first().is_none_or(|item| item.span.start != tree.span.start)
            }
            _ => false,
        }
    }

    fn end(&self, tree: &Tree) -> usize {
        let Span { start, end } = tree.span;
        match self.0[start..].chars().next() {
            Some('\'' | '"') if matches!(tree.kind, TreeKind::String(_)) => self.end_of_quoted(start).unwrap_or(end),
            Some('{' | '[') if self.is_flow(tree) => {
                self.closing(self.last_inside(tree).unwrap_or(start + 1)).unwrap_or(end)
            }
            _ => self.end_of_lines(tree).unwrap_or(end),
        }
    }

    /// Returns the end of a block collection.
    fn end_of_lines(&self, tree: &Tree) -> Option<usize> {
        let TreeKind::Array(items) = &tree.kind else { return self.last_inside(tree) };
        // The last items may be nothing but their dashes.
        let placed = self.first_dash(tree, items).and_then(|first| self.placed(first, items, self.0.len()));
        match placed {
            Some(placed) => placed.last().map(|(_, end)| *end),
            None => self.last_inside(tree),
        }
    }

    /// Returns the offset after a quoted text that begins at `start`.
    pub(super) fn end_of_quoted(&self, start: usize) -> Option<usize> {
        let quote = self.0[start..].chars().next()?;
        let mut chars = self.0[start + 1..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' if quote == '"' => skip(&mut chars),
                // Two single quotes within single quotes stand for one.
                c if c == quote && quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote) => {
                    skip(&mut chars)
                }
                c if c == quote => return Some(start + 1 + at + 1),
                _ => {}
            }
        }
        None
    }

    /// Returns the first dash of a block list. If a list is not indented below its key, its span in the tree begins
    /// after the dash.
    pub(super) fn first_dash(&self, tree: &Tree, items: &[Tree]) -> Option<usize> {
        let start = tree.span.start;
        let rest = &self.0[start..];
        let is_dash = rest.starts_with('-') && rest[1..].starts_with([' ', '\t', '\r', '\n']);
        if is_dash && items.first().is_some_and(|item| item.span.start != start) {
            return Some(start);
        }
        let dash = self.start(start) + self.indentation(start).len();
        let behind = self.0.get(dash..start)?.strip_prefix('-')?.trim();
        (behind.is_empty() || behind.starts_with('#')).then_some(dash)
    }

    /// Returns the dash of each item of a list, with the end of the item's text.
    pub(super) fn placed(&self, first: usize, items: &[Tree], limit: usize) -> Option<Vec<(usize, usize)>> {
        let column = self.column(first);
        let (mut placed, mut look) = (Vec::new(), first);
        for item in items {
            let dash = self.dash(look, column, limit)?;
            let end = if self.is_filled(item, dash + 1) { self.end(item) } else { dash + 1 };
            placed.push((dash, end));
            look = self.next(end);
        }
        Some(placed)
    }

    /// Returns the next dash in a column: at `from` itself, or on a line below that is no comment.
    fn dash(&self, from: usize, column: usize, limit: usize) -> Option<usize> {
        let is_dash = |at: usize| {
            let rest = &self.0[at..];
            rest.starts_with('-') && rest[1..].starts_with([' ', '\t', '\r', '\n'])
        };
        if self.column(from) == column && is_dash(from) {
            return Some(from);
        }
        let mut line = if self.column(from) == 0 { from } else { self.next(from) };
        while line < limit {
            let at = line + column;
            if at < limit
                && self.0.is_char_boundary(at)
                && self.begins_line(at)
                && self.start(at) == line
                && is_dash(at)
            {
                return Some(at);
            }
            line = self.next(line);
        }
        None
    }

    /// Returns the end of the last member that is written inside a collection; aliased values are written elsewhere.
    fn last_inside(&self, tree: &Tree) -> Option<usize> {
        let start = tree.span.start;
        match &tree.kind {
            TreeKind::Object(entries) => {
                let keys = entries.iter().map(|entry| self.end_of_word(entry.key.span));
                let values = entries.iter().filter(|entry| self.is_filled(&entry.value, entry.key.span.end));
                let ends = keys.chain(values.map(|entry| self.end(&entry.value)));
                ends.filter(|end| *end > start).max()
            }
            TreeKind::Array(items) => {
                items.iter().filter(|item| self.is_filled(item, start)).map(|item| self.end(item)).max()
            }
            _ => None,
        }
    }

    /// Returns whether a value is written here, after `after`.
    fn is_filled(&self, tree: &Tree, after: usize) -> bool {
        tree.span.start >= after && !(tree.span.end == tree.span.start && matches!(tree.kind, TreeKind::Null))
    }

    fn end_of_word(&self, span: Span) -> usize {
        match self.0[span.start..].starts_with(['\'', '"']) {
            true => self.end_of_quoted(span.start).unwrap_or(span.end),
            false => span.end,
        }
    }

    /// Returns the offset after the next closing bracket. Only commas, aliases and comments may precede it.
    fn closing(&self, from: usize) -> Option<usize> {
        let mut comment = false;
        let mut before = ' ';
        for (at, c) in self.0[from..].char_indices() {
            match c {
                '\n' => comment = false,
                '#' if before.is_whitespace() => comment = true,
                '}' | ']' if !comment => return Some(from + at + 1),
                _ => {}
            }
            before = c;
        }
        None
    }
}

/// Skips a character that has no meaning of its own.
fn skip(chars: &mut impl Iterator) {
    let _passed = chars.next();
}
