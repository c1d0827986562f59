//! The end of a log, where its next line goes; and what a writer that was killed, or a disk that was switched off, left
//! there.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde_json::json;

use super::back::{Backwards, Piece};
use super::error::AuditError;
use super::kinds::Kind;
use super::line::{Line, Link, LogEntry};
use super::segments::full;
use crate::digest::Digest;

/// How far back a whole line is looked for.
const MAX_DAMAGE: u64 = 16 * 1024 * 1024;

/// The end of a file.
#[derive(Debug, Default)]
pub(super) struct End {
    /// Its last line.
    pub(super) link: Link,
    /// What is done with what does not belong there, and the entry that tells of it.
    mending: Option<(Mending, LogEntry)>,
}

#[derive(Debug)]
enum Mending {
    /// Half a line, which nobody was told is kept: it is cut off.
    Cut(u64),
    /// A line that lacks nothing but its end gets it.
    Terminate,
    /// Whole lines that are no events stay where they are, for whoever looks into it.
    PassOver,
}

/// What was found after the last whole line.
#[derive(Default)]
struct Debris {
    torn: Option<Piece>,
    lines: u64,
}

/// Finds the end of a file.
pub(super) fn end_of(file: &File, path: &Path) -> Result<End, AuditError> {
    let unreadable = |error: io::Error| AuditError::unreadable(path, &error);
    let len = file.metadata().map_err(unreadable)?.len();
    let mut back = Backwards::of(file.try_clone().map_err(unreadable)?, len).map_err(unreadable)?;
    let mut debris = Debris::default();
    if back.torn {
        debris.torn = back.next().map_err(unreadable)?;
    }
    let mut found = None;
    while found.is_none()
        && let Some(piece) = back.next().map_err(unreadable)?
    {
        found = piece.bytes.as_deref().and_then(Line::parse);
        debris.lines += u64::from(found.is_none());
        if len - piece.at > MAX_DAMAGE {
            return Err(damaged(path));
        }
    }
    let link = match &found {
        Some(line) => Link::after(line),
        None => before(path)?,
    };
    Ok(debris.cleared(link, len))
}

/// The end of the files that are full: what an empty one goes on from.
fn before(path: &Path) -> Result<Link, AuditError> {
    let Some(number) = full(path)?.pop() else { return Ok(Link::default()) };
    let mut back = super::back::Newest::of_full(path, number)?;
    match back.next()? {
        Some(line) => Ok(Link::after(&line)),
        None => Err(damaged(&super::segments::numbered(path, number))),
    }
}

fn damaged(path: &Path) -> AuditError {
    AuditError::of(
        "log_damaged",
        format!("the end of the event log `{}` is no event, so that nothing can be put after it", path.display()),
        "look at it with `portolan flow events --verify`, then move it and those with its number away",
    )
}

impl Debris {
    /// What is to be done about it.
    fn cleared(self, link: Link, len: u64) -> End {
        let Debris { torn, lines } = self;
        match torn {
            Some(piece) if lines == 0 => {
                let whole = piece.bytes.as_deref().and_then(Line::parse);
                match whole.filter(|line| line.seq == link.seq + 1 && line.prev == link.digest) {
                    Some(line) => End::mended(Link::after(&line), Mending::Terminate, told("terminated", &piece, len)),
                    None => End::mended(link, Mending::Cut(piece.at), told("cut", &piece, len)),
                }
            }
            Some(piece) => End::mended(link, Mending::Cut(piece.at), told("cut", &piece, len)),
            None if lines > 0 => {
                let data = json!({ "done": "passed-over", "lines": lines });
                End::mended(link, Mending::PassOver, LogEntry::of(Kind::LogRepaired, data))
            }
            None => End { link, mending: None },
        }
    }
}

fn told(done: &str, piece: &Piece, len: u64) -> LogEntry {
    let digest = piece.bytes.as_ref().map(Digest::of);
    LogEntry::of(Kind::LogRepaired, json!({ "done": done, "bytes": len - piece.at, "digest": digest }))
}

impl End {
    fn mended(link: Link, mending: Mending, entry: LogEntry) -> End {
        End { link, mending: Some((mending, entry)) }
    }

    /// Mends the end; the entry that tells of it, where there was something to mend.
    pub(super) fn mend(&mut self, mut file: &File) -> io::Result<Option<LogEntry>> {
        let Some((mending, entry)) = self.mending.take() else { return Ok(None) };
        match mending {
            Mending::Cut(at) => file.set_len(at)?,
            Mending::Terminate => file.write_all(b"\n")?,
            Mending::PassOver => {}
        }
        Ok(Some(entry))
    }
}
