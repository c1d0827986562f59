//! Reading from the end, to find the latest lines without reading the rest.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::error::AuditError;
use super::filter::Filter;
use super::line::{Line, MAX_LINE_BYTES};
use super::segments::{OpenSegment, Segments};

const BLOCK: u64 = 32 * 1024;

/// The lines of a file, the last one first. Buffers about one line.
#[derive(Debug)]
pub(super) struct Backwards {
    file: File,
    /// The offset of `carry` in the file.
    at: u64,
    /// Bytes that were read and not returned. They end before the newline of the last returned line.
    carry: Vec<u8>,
    /// Whether the line that `carry` is a part of exceeds the maximum length.
    overlong: bool,
    ended: bool,
    /// Whether the file does not end with a newline, so that its first piece is half a line.
    pub(super) torn: bool,
}

/// The bytes between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The offset in the file.
    pub(super) at: u64,
    /// The bytes, or `None` if they are too long for a line.
    pub(super) bytes: Option<Vec<u8>>,
}

impl Backwards {
    /// Reads the lines of the first `len` bytes.
    pub(super) fn of(file: File, len: u64) -> io::Result<Backwards> {
        let mut back = Backwards { file, at: len, carry: Vec::new(), overlong: false, ended: len == 0, torn: false };
        if len > 0 {
            back.load()?;
            back.torn = back.carry.last() != Some(&b'\n');
            if !back.torn {
                back.carry.pop();
            }
        }
        Ok(back)
    }

    /// Returns the preceding piece, or `None` at the beginning of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        if self.ended {
            return Ok(None);
        }
        loop {
            if let Some(end) = self.carry.iter().rposition(|byte| *byte == b'\n') {
                let bytes = self.carry.split_off(end + 1);
                self.carry.pop();
                return Ok(Some(self.piece(self.at + end as u64 + 1, bytes)));
            }
            if self.at == 0 {
                self.ended = true;
                let bytes = std::mem::take(&mut self.carry);
                return Ok(Some(self.piece(0, bytes)));
            }
            if self.carry.len() > MAX_LINE_BYTES {
                self.overlong = true;
                self.carry.clear();
            }
            self.load()?;
        }
    }

    fn piece(&mut self, at: u64, bytes: Vec<u8>) -> Piece {
        let overlong = std::mem::take(&mut self.overlong) || bytes.len() >= MAX_LINE_BYTES;
        Piece { at, bytes: (!overlong).then_some(bytes) }
    }

    /// Reads the preceding block.
    fn load(&mut self) -> io::Result<()> {
        let size = self.at.min(BLOCK);
        self.file.seek(SeekFrom::Start(self.at - size))?;
        let mut block = Vec::new();
        (&self.file).take(size).read_to_end(&mut block)?;
        if block.len() as u64 != size {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was being read"));
        }
        block.append(&mut self.carry);
        self.carry = block;
        self.at -= size;
        Ok(())
    }
}

/// The lines of a log, the newest first.
pub(super) struct Newest {
    segments: Segments,
    back: Option<Backwards>,
    /// The number of lines that are no events.
    pub(super) skipped: u64,
}

impl Newest {
    pub(super) fn of(path: &Path) -> Result<Newest, AuditError> {
        Newest::through(Segments::of(path)?)
    }

    /// Like `of`, for a caller that holds the write lock.
    fn in_turn(path: &Path) -> Result<Newest, AuditError> {
        Newest::through(Segments::unlocked(path)?)
    }

    fn through(mut segments: Segments) -> Result<Newest, AuditError> {
        let back = segments.current.take().map(backwards).transpose()?;
        Ok(Newest { segments, back, skipped: 0 })
    }

    /// Returns the lines of the full files up to this number.
    pub(super) fn of_full(path: &Path, number: u64) -> Result<Newest, AuditError> {
        let mut segments = Segments::unlocked(path)?;
        segments.full.retain(|full| *full <= number);
        Ok(Newest { segments, back: None, skipped: 0 })
    }

    pub(super) fn next(&mut self) -> Result<Option<Line>, AuditError> {
        loop {
            let Some(back) = &mut self.back else {
                let Some(number) = self.segments.full.pop() else { return Ok(None) };
                self.back = self.segments.open(number)?.map(backwards).transpose()?;
                continue;
            };
            let is_torn = std::mem::take(&mut back.torn);
            match back.next().map_err(|error| AuditError::unreadable(&self.segments.path, &error))? {
                None => self.back = None,
                // Half a line was never acknowledged.
                Some(_) if is_torn => {}
                Some(piece) => match piece.bytes.as_deref().and_then(Line::parse) {
                    Some(line) => return Ok(Some(line)),
                    None => self.skipped += 1,
                },
            }
        }
    }
}

fn backwards(open: OpenSegment) -> Result<Backwards, AuditError> {
    Backwards::of(open.file, open.len).map_err(|error| AuditError::unreadable(&open.segment.path, &error))
}

/// Returns the last `count` lines, in order.
///
/// # Errors
/// The log cannot be read.
pub fn tail(path: &Path, count: usize) -> Result<Vec<Line>, AuditError> {
    newest(path, &Filter { limit: Some(count), ..Filter::default() }).map(|(lines, _)| lines)
}

/// Returns the newest wanted line. Reads backwards from the end, and no further than that line.
///
/// # Errors
/// The log cannot be read.
pub fn latest(path: &Path, is_wanted: impl FnMut(&Line) -> bool) -> Result<Option<Line>, AuditError> {
    first_wanted(Newest::of(path)?, is_wanted)
}

/// Like [`latest`], for a caller that holds the write lock.
pub(super) fn latest_in_turn(path: &Path, is_wanted: impl FnMut(&Line) -> bool) -> Result<Option<Line>, AuditError> {
    first_wanted(Newest::in_turn(path)?, is_wanted)
}

fn first_wanted(mut newest: Newest, mut is_wanted: impl FnMut(&Line) -> bool) -> Result<Option<Line>, AuditError> {
    while let Some(line) = newest.next()? {
        if is_wanted(&line) {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Returns the newest lines that match a filter, up to its limit and in order, and the number of lines that are no
/// events.
pub(super) fn newest(path: &Path, filter: &Filter) -> Result<(Vec<Line>, u64), AuditError> {
    let limit = filter.limit.unwrap_or(usize::MAX);
    let mut newest = Newest::of(path)?;
    let mut lines = Vec::new();
    while lines.len() < limit
        && let Some(line) = newest.next()?
    {
        if filter.lets(&line) {
            lines.push(line);
        }
    }
    lines.reverse();
    Ok((lines, newest.skipped))
}
