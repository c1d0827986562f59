//! Verification of a log: every line is an event and follows the one before, and no file is missing.

use std::path::{Path, PathBuf};

use super::error::AuditError;
use super::line::{Line, Link};
use super::read::{Forwards, Piece};
use super::segments::{Segments, numbered};
use crate::digest::Digest;

/// The result of verifying a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The number of valid lines before the first fault.
    pub lines: u64,
    /// The digest of the last valid line. A copy kept elsewhere shows whether the log was cut or rewritten since.
    pub head: Option<Digest>,
    /// The first fault. Later lines were not checked.
    pub first_fault: Option<LogFault>,
}

/// A fault of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFault {
    /// The file.
    pub segment: PathBuf,
    /// The number of the line in the file, from 1.
    pub line: u64,
    /// The fault, in one lower-case sentence.
    pub what: String,
}

/// Verifies every line of a log.
///
/// # Errors
/// The log cannot be read.
pub fn verify(path: &Path) -> Result<Verification, AuditError> {
    let mut segments = Segments::of(path)?;
    let mut end = Link::default();
    let mut first_fault = None;
    for (before, number) in std::mem::take(&mut segments.full).into_iter().enumerate() {
        let expected = before as u64 + 1;
        let open = if number == expected { segments.open(number)? } else { None };
        first_fault = match open {
            Some(open) => walk(Forwards::of(open), &mut end)?,
            None => Some(missing(path, expected)),
        };
        if first_fault.is_some() {
            break;
        }
    }
    if first_fault.is_none()
        && let Some(current) = segments.current.take()
    {
        first_fault = walk(Forwards::of(current), &mut end)?;
    }
    Ok(Verification { lines: end.seq, head: end.digest, first_fault })
}

fn missing(path: &Path, number: u64) -> LogFault {
    LogFault { segment: numbered(path, number), line: 1, what: "the file is missing".to_owned() }
}

/// Verifies one file, and returns the first fault.
fn walk(mut forwards: Forwards, end: &mut Link) -> Result<Option<LogFault>, AuditError> {
    while let Some(piece) = forwards.next()? {
        let what = match piece {
            Piece::Torn => Some("it ends in the middle of a line".to_owned()),
            Piece::Overlong => Some("the line is longer than any event can be".to_owned()),
            Piece::Whole(bytes) => match Line::parse(&bytes) {
                None => Some("the line is not an event".to_owned()),
                Some(line) => wrong(&line, end).or_else(|| {
                    *end = Link::after(&line);
                    None
                }),
            },
        };
        if let Some(what) = what {
            return Ok(Some(LogFault { segment: forwards.segment.path, line: forwards.pieces, what }));
        }
    }
    Ok(None)
}

/// Returns the fault of a line that follows this end.
fn wrong(line: &Line, end: &Link) -> Option<String> {
    let expected = end.seq + 1;
    if line.seq != expected {
        return Some(format!("the line has the number {}, but {expected} is expected", line.seq));
    }
    if line.prev != end.digest {
        return Some("the preceding line is not the one that this line was written after".to_owned());
    }
    (!line.is_as_written()).then(|| "the line has been changed since it was written".to_owned())
}
