//! Lines of a text, and the comments on them.

use crate::source::Span;

/// A text whose last line is ended like the others.
#[derive(Clone, Copy)]
pub(super) struct Lines<'t>(pub(super) &'t str);

impl<'t> Lines<'t> {
    pub(super) fn of(&self, span: Span) -> &'t str {
        &self.0[span.start..span.end]
    }

    /// Where the line of `at` begins.
    pub(super) fn start(&self, at: usize) -> usize {
        self.0[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    /// Where the line after that of `at` begins.
    pub(super) fn next(&self, at: usize) -> usize {
        self.0[at..].find('\n').map_or(self.0.len(), |end| at + end + 1)
    }

    /// How many bytes stand before `at` in its line.
    pub(super) fn column(&self, at: usize) -> usize {
        at - self.start(at)
    }

    /// Whether only blanks stand before `at` in its line.
    pub(super) fn begins_line(&self, at: usize) -> bool {
        self.0[self.start(at)..at].chars().all(|c| c == ' ')
    }

    /// The blanks that the line of `at` begins with.
    pub(super) fn indentation(&self, at: usize) -> &'t str {
        let line = &self.0[self.start(at)..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Where the comments begin that stand right above the line at `at`, in `column`, not above `floor`.
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

    /// Where the comments end that stand below, deeper than `column`: they belong to what is above them.
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

    /// Where the blank lines end that begin at `at`.
    pub(super) fn blank_lines(&self, at: usize, limit: usize) -> usize {
        let mut end = at;
        while end < limit && self.0[end..self.next(end)].trim().is_empty() {
            end = self.next(end);
        }
        end
    }
}

/// The column of the comment that a line consists of. One that is indented with tabs is in no column.
fn comment_column(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches(' ');
    rest.starts_with('#').then(|| line.len() - rest.len())
}
