//! Where values end. The tree knows where they begin; its ends may lie beyond what was written, where blanks and comments
//! follow.

use portolan_core::source::{Span, Tree, TreeKind};

use super::lines::Lines;

impl Lines<'_> {
    /// What is written of a value: up to its closing quote or bracket.
    pub(super) fn written(&self, tree: &Tree) -> Span {
        Span { start: tree.span.start, end: self.end(tree) }
    }

    fn end(&self, tree: &Tree) -> usize {
        let Span { start, end } = tree.span;
        match self.0[start..].chars().next() {
            Some('\'' | '"') if matches!(tree.kind, TreeKind::String(_)) => self.end_of_quoted(start).unwrap_or(end),
            Some('{' | '[') if matches!(tree.kind, TreeKind::Object(_) | TreeKind::Array(_)) => {
                self.closing(self.last_inside(tree).unwrap_or(start + 1)).unwrap_or(end)
            }
            _ => self.last_inside(tree).unwrap_or(end),
        }
    }

    /// The byte behind a text in quotes that begins at `start`.
    pub(super) fn end_of_quoted(&self, start: usize) -> Option<usize> {
        let quote = self.0[start..].chars().next()?;
        let mut chars = self.0[start + 1..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' if quote == '"' => drop(chars.next()),
                // Within single quotes, two of them are one.
                c if c == quote && quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote) => {
                    drop(chars.next())
                }
                c if c == quote => return Some(start + 1 + at + 1),
                _ => {}
            }
        }
        None
    }

    /// Where the last member ends that is written inside of a collection; what an alias stands for is elsewhere.
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

    /// Whether a value is written here, behind `after`.
    fn is_filled(&self, tree: &Tree, after: usize) -> bool {
        tree.span.start >= after && !(tree.span.end == tree.span.start && matches!(tree.kind, TreeKind::Null))
    }

    fn end_of_word(&self, span: Span) -> usize {
        match self.0[span.start..].starts_with(['\'', '"']) {
            true => self.end_of_quoted(span.start).unwrap_or(span.end),
            false => span.end,
        }
    }

    /// The byte behind the next closing bracket: only commas, aliases and comments stand before it.
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
