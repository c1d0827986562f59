//! Reading in order, through all files of a log. Buffers about one line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};
use std::path::Path;
use std::vec;

use super::back::newest;
use super::error::AuditError;
use super::filter::Filter;
use super::line::{Line, MAX_LINE_BYTES};
use super::segments::{OpenSegment, Segment, Segments};

/// The bytes between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// No longer than the maximum length of a line.
    Whole(Vec<u8>),
    /// Longer than the maximum.
    Overlong,
    /// The file ends before the line does.
    Torn,
}

/// The lines of one file.
pub(super) struct Forwards {
    pub(super) segment: Segment,
    /// The number of pieces read.
    pub(super) pieces: u64,
    /// The offset after the last whole piece.
    pub(super) end: u64,
    reader: BufReader<Take<File>>,
}

impl Forwards {
    pub(super) fn of(open: OpenSegment) -> Forwards {
        Forwards { segment: open.segment, pieces: 0, end: 0, reader: BufReader::new(open.file.take(open.len)) }
    }

    /// Reads the lines from the offset `begin`, at which a line begins.
    pub(super) fn from(mut open: OpenSegment, begin: u64) -> Result<Forwards, AuditError> {
        open.file.seek(SeekFrom::Start(begin)).map_err(|error| AuditError::unreadable(&open.segment.path, &error))?;
        let len = open.len - begin;
        Ok(Forwards { end: begin, ..Forwards::of(OpenSegment { len, ..open }) })
    }

    pub(super) fn next(&mut self) -> Result<Option<Piece>, AuditError> {
        let piece = self.piece().map_err(|error| AuditError::unreadable(&self.segment.path, &error))?;
        self.pieces += u64::from(piece.is_some());
        Ok(piece)
    }

    fn piece(&mut self) -> io::Result<Option<Piece>> {
        let mut bytes = Vec::new();
        (&mut self.reader).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut bytes)?;
        if bytes.pop_if(|last| *last == b'\n').is_some() {
            self.end += bytes.len() as u64 + 1;
            return Ok(Some(Piece::Whole(bytes)));
        }
        match bytes.len() {
            0 => Ok(None),
            MAX_LINE_BYTES => {
                self.end += MAX_LINE_BYTES as u64 + self.reader.skip_until(b'\n')? as u64;
                Ok(Some(Piece::Overlong))
            }
            _ => Ok(Some(Piece::Torn)),
        }
    }
}

/// The lines of a log, the oldest first. Lines that are no events are skipped; `verify` reports them.
pub struct Lines {
    filter: Filter,
    source: From,
    skipped: u64,
}

enum From {
    /// Lines that have been read already.
    Found(vec::IntoIter<Line>),
    /// Files that are read during iteration.
    Files(Box<Files>),
}

struct Files {
    segments: Segments,
    /// The numbers of the full files that are still to be read, the next one last.
    to_come: Vec<u64>,
    reading: Option<Forwards>,
}

/// Returns the lines of a log that match a filter, as of now. A missing file has no lines.
///
/// # Errors
/// The log cannot be read.
pub fn read(path: &Path, filter: &Filter) -> Result<Lines, AuditError> {
    if filter.limit.is_some() {
        let (lines, skipped) = newest(path, filter)?;
        return Ok(Lines { filter: filter.clone(), source: From::Found(lines.into_iter()), skipped });
    }
    let mut segments = Segments::of(path)?;
    let to_come = std::mem::take(&mut segments.full).into_iter().rev().collect();
    let source = From::Files(Box::new(Files { segments, to_come, reading: None }));
    Ok(Lines { filter: filter.clone(), source, skipped: 0 })
}

impl Lines {
    /// Returns the number of skipped lines that are no events.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn step(&mut self) -> Result<Option<Line>, AuditError> {
        let files = match &mut self.source {
            From::Found(lines) => return Ok(lines.next()),
            From::Files(files) => files,
        };
        loop {
            let Some(forwards) = &mut files.reading else {
                match files.following()? {
                    Some(forwards) => files.reading = Some(forwards),
                    None => return Ok(None),
                }
                continue;
            };
            match forwards.next()? {
                None => files.reading = None,
                Some(Piece::Torn) => {}
                Some(Piece::Overlong) => self.skipped += 1,
                Some(Piece::Whole(bytes)) => match Line::parse(&bytes) {
                    Some(line) if self.filter.lets(&line) => return Ok(Some(line)),
                    Some(_) => {}
                    None => self.skipped += 1,
                },
            }
        }
    }
}

impl Files {
    /// Returns the next file to read. Skips one that has been removed meanwhile.
    fn following(&mut self) -> Result<Option<Forwards>, AuditError> {
        while let Some(number) = self.to_come.pop() {
            if let Some(open) = self.segments.open(number)? {
                return Ok(Some(Forwards::of(open)));
            }
        }
        Ok(self.segments.current.take().map(Forwards::of))
    }
}

impl Iterator for Lines {
    type Item = Result<Line, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            // A failing disk would fail on every call.
            self.source = From::Found(Vec::new().into_iter());
        }
        step.transpose()
    }
}
