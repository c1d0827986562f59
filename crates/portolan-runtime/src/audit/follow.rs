//! Following a log: what was appended since the last look. It is for the caller to say when to look again.

use std::path::{Path, PathBuf};

use super::back::Backwards;
use super::error::AuditError;
use super::filter::Filter;
use super::line::Line;
use super::read::{Forwards, Piece};
use super::segments::{Open, Segments};
use super::turn;

/// Somebody who looks at a log again and again.
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    filter: Filter,
    /// How many files were full at the last look.
    full: u64,
    /// How much was read of the file after those.
    read: u64,
}

/// Follows a log from where it ends now. There need not be a file yet.
///
/// # Errors
/// The log cannot be read.
pub fn follow(path: &Path, filter: &Filter) -> Result<Follow, AuditError> {
    let segments = Segments::of(path)?;
    let full = segments.full.last().copied().unwrap_or(0);
    let read = segments.current.map(whole).transpose()?.unwrap_or(0);
    Ok(Follow { path: path.to_owned(), filter: filter.clone(), full, read })
}

/// How much of a file is whole lines: the rest may yet become one.
fn whole(open: Open) -> Result<u64, AuditError> {
    let failed = |error| AuditError::unreadable(&open.segment.path, &error);
    let mut back = Backwards::of(open.file, open.len).map_err(failed)?;
    let torn = if back.torn { back.next().map_err(failed)? } else { None };
    Ok(torn.map_or(open.len, |piece| piece.at))
}

impl Follow {
    /// What was appended since the last look, as far as the filter lets it through; half a line is left for the next.
    ///
    /// # Errors
    /// The log cannot be read. The next look begins where this one did.
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

    /// The files that may have something new; the first is the one that was read in part.
    fn files(&self) -> Result<(u64, Vec<Open>), AuditError> {
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

    /// Reads a file from `begin` on, and says where its last whole line ends.
    fn rest(&self, open: Open, begin: u64, lines: &mut Vec<Line>) -> Result<u64, AuditError> {
        // A file that became shorter was written anew.
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
