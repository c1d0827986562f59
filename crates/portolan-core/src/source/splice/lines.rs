//! Lines of a text, and the comments on them.

use crate::source::Span;

/// A text whose last line ends with a line break.
#[derive(Clone, Copy)]
pub(super) struct Lines<'t>(pub(super) &'t str);

impl<'t> Lines<'t> {
    pub(super) fn of(&self, span: Span) -> &'t str {
        &self.0[span.start..span.end]
    }

    /// Returns the start of the line of `at`.
    pub(super) fn start(&self, at: usize) -> usize {
        self.0[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    /// Returns the start of the line after that of `at`.
    pub(super) fn next(&self, at: usize) -> usize {
        self.0[at..].find('\n').map_or(self.0.len(), |end| at + end + 1)
    }

    /// Returns the number of bytes before `at` in its line.
    pub(super) fn column(&self, at: usize) -> usize {
        at - self.start(at)
    }

    /// Returns whether only blanks precede `at` in its line.
    pub(super) fn begins_line(&self, at: usize) -> bool {
        self.0[self.start(at)..at].chars().all(|c| c == ' ')
    }

    /// Returns the blanks that begin the line of `at`.
    pub(super) fn indentation(&self, at: usize) -> &'t str {
        let line = &self.0[self.start(at)..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Returns the start of the comments directly above the line at `at`, in `column`, not above `floor`.
    pub(super) fn comments_above(&self, at: usize, column: usize, floor: usize) -> usize {
        let mut first = at;
        while first > floor {
            let above = self.start(first - 1);
            if above < floor || comment_column(&self.0[above..first]) != Some(column) {
                break;
            }
            first = above;
        }
        first
    }

    /// Returns the end of the comments below that are deeper than `column`: they belong to the member above them.
    pub(super) fn deeper_comments(&self, at: usize, column: usize, limit: usize) -> usize {
        let (mut end, mut look) = (at, at);
        while look < limit {
            let next = self.next(look);
            let line = &self.0[look..next];
            match comment_column(line) {
                Some(found) if found > column => end = next,
                None if line.trim().is_empty() => {}
                _ => break,
            }
            look = next;
        }
        end.min(limit.max(at))
    }

    /// Returns the end of the blank lines that begin at `at`.
    pub(super) fn blank_lines(&self, at: usize, limit: usize) -> usize {
        let mut end = at;
        while end < limit && self.0[end..self.next(end)].trim().is_empty() {
            end = self.next(end);
        }
        end
    }
}

/// Returns the column of a line that is a comment. A comment indented with tabs is in no column.
fn comment_column(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches(' ');
    rest.starts_with('#').then(|| line.len() - rest.len())
}
