//! Following a log: returns the lines appended since the last poll. The caller decides when to poll.

use std::path::{Path, PathBuf};

use super::back::Backwards;
use super::error::AuditError;
use super::filter::Filter;
use super::line::Line;
use super::read::{Forwards, Piece};
use super::segments::{OpenSegment, Segments};
use super::turn;

/// A reader that polls a log.
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    filter: Filter,
    /// The number of the last file that was full at the last poll.
    full: u64,
    /// The number of bytes read of the file after it.
    read: u64,
}

/// Follows a log from its current end. The file need not exist yet.
///
/// # Errors
/// The log cannot be read.
pub fn follow(path: &Path, filter: &Filter) -> Result<Follow, AuditError> {
    let segments = Segments::of(path)?;
    let full = segments.full.last().copied().unwrap_or(0);
    let read = segments.current.map(whole).transpose()?.unwrap_or(0);
    Ok(Follow { path: path.to_owned(), filter: filter.clone(), full, read })
}

/// Returns the length of a file up to its last newline. The rest may yet become a line.
fn whole(open: OpenSegment) -> Result<u64, AuditError> {
    let failed = |error| AuditError::unreadable(&open.segment.path, &error);
    let mut back = Backwards::of(open.file, open.len).map_err(failed)?;
    let torn = if back.torn { back.next().map_err(failed)? } else { None };
    Ok(torn.map_or(open.len, |piece| piece.at))
}

impl Follow {
    /// Returns the matching lines that were appended since the last poll. Leaves half a line for the next poll.
    ///
    /// # Errors
    /// The log cannot be read. The next poll begins where this one did.
    pub fn look(&mut self) -> Result<Vec<Line>, AuditError> {
        let (full, files) = self.files()?;
        let mut lines = Vec::new();
        let (mut begin, mut read) = (self.read, 0);
        for open in files {
            let is_current = open.segment.number.is_none();
            let end = self.rest(open, begin, &mut lines)?;
            read = if is_current { end } else { 0 };
            begin = 0;
        }
        (self.full, self.read) = (full, read);
        Ok(lines)
    }

    /// Returns the files that may have new lines. The first one is the partially read file.
    fn files(&self) -> Result<(u64, Vec<OpenSegment>), AuditError> {
        let _turn = turn::to_read(&self.path);
        let mut segments = Segments::unlocked(&self.path)?;
        let full = segments.full.last().copied().unwrap_or(0);
        let mut files = Vec::new();
        for number in self.full + 1..=full {
            files.extend(segments.open(number)?);
        }
        files.extend(segments.current.take());
        Ok((full, files))
    }

    /// Reads a file from `begin` on, and returns the offset after its last whole line.
    fn rest(&self, open: OpenSegment, begin: u64, lines: &mut Vec<Line>) -> Result<u64, AuditError> {
        // A file that became shorter was rewritten.
        let begin = if open.len < begin { 0 } else { begin };
        let mut forwards = Forwards::from(open, begin)?;
        while let Some(piece) = forwards.next()? {
            if let Piece::Whole(bytes) = piece {
                lines.extend(Line::parse(&bytes).filter(|line| self.filter.lets(line)));
            }
        }
        Ok(forwards.end)
    }
}
