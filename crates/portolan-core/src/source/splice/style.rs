//! The layout of a file, so that new text looks like its neighbours.

use crate::source::{Tree, TreeKind};

use super::lines::Lines;

/// The layout of a file, taken from the first place that shows it.
#[derive(Clone, Debug)]
pub(super) struct Style {
    /// The line ending.
    pub(super) newline: &'static str,
    /// Whether the file is JSON, judged by its first brace.
    pub(super) json: bool,
    /// One step of indentation inside braces.
    pub(super) unit: String,
    /// The text between a brace and its content on one line.
    pub(super) gap: &'static str,
    /// The indentation of an object relative to its key.
    pub(super) step: usize,
    /// The indentation of a list relative to its key.
    pub(super) dash: usize,
    /// The distance of an item from its dash.
    pub(super) width: usize,
}

/// The layout found so far.
#[derive(Default)]
struct LayoutSample {
    step: Option<usize>,
    dash: Option<usize>,
    width: Option<usize>,
}

/// The maximum number of values that are examined.
const MAX_LOOKED_AT: usize = 10_000;

impl Style {
    /// Returns the default layout.
    pub(super) fn new(newline: &'static str) -> Style {
        Style { newline, json: false, unit: "  ".to_owned(), gap: " ", step: 2, dash: 2, width: 2 }
    }

    pub(super) fn of(text: &str, tree: &Tree) -> Style {
        let lines = Lines(text);
        let mut found = LayoutSample::default();
        let mut left = MAX_LOOKED_AT;
        found.look(lines, tree, &mut left);
        let first = tree.entries().and_then(|entries| entries.first()).map(|entry| entry.key.span.start);
        let unit = first.map(|at| lines.indentation(at)).filter(|unit| !unit.is_empty()).unwrap_or("  ");
        let json = lines.is_flow(tree);
        Style {
            newline: newline(text),
            json,
            unit: unit.to_owned(),
            // The more frequent spelling wins; braces inside texts are rare enough to count as well.
            gap: if json && text.matches("{\"").count() >= text.matches("{ \"").count() { "" } else { " " },
            step: found.step.unwrap_or(2),
            dash: found.dash.unwrap_or(2),
            width: found.width.unwrap_or(2),
        }
    }
}

/// Returns the line ending of the first line of a text.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

impl LayoutSample {
    fn look(&mut self, lines: Lines<'_>, tree: &Tree, left: &mut usize) {
        let complete = self.step.is_some() && self.dash.is_some() && self.width.is_some();
        if complete || *left == 0 || lines.is_flow(tree) {
            return;
        }
        *left -= 1;
        let start = tree.span.start;
        match &tree.kind {
            TreeKind::Object(entries) => {
                for entry in entries.iter().filter(|entry| entry.value.span.start > entry.key.span.end) {
                    let from = lines.column(entry.key.span.start);
                    let at = match &entry.value.kind {
                        TreeKind::Array(items) => lines.first_dash(&entry.value, items),
                        _ => None,
                    };
                    let at = at.unwrap_or(entry.value.span.start);
                    let deeper = lines.column(at).checked_sub(from).filter(|_| lines.begins_line(at));
                    match entry.value.kind {
                        TreeKind::Object(_) => self.step = self.step.or(deeper.filter(|step| *step > 0)),
                        TreeKind::Array(_) => self.dash = self.dash.or(deeper),
                        _ => {}
                    }
                    self.look(lines, &entry.value, left);
                }
            }
            TreeKind::Array(items) => {
                let dash = lines.first_dash(tree, items).unwrap_or(start);
                for item in items.iter().filter(|item| item.span.start > dash) {
                    if matches!(item.kind, TreeKind::Object(_)) && !lines.begins_line(item.span.start) {
                        let width = lines.column(item.span.start).checked_sub(lines.column(dash));
                        self.width = self.width.or(width.filter(|width| (2..=8).contains(width)));
                    }
                    self.look(lines, item, left);
                }
            }
            _ => {}
        }
    }
}
