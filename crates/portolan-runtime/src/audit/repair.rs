//! The end of a log, to which lines are appended; and its repair after a killed writer or a power failure.

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

/// How far back, in bytes, a whole line is searched.
const MAX_DAMAGE: u64 = 16 * 1024 * 1024;

/// The end of a file.
#[derive(Debug, Default)]
pub(super) struct End {
    /// Its last line.
    pub(super) link: Link,
    /// The repair of the bytes after that line, and the entry that records it.
    mending: Option<(Repair, LogEntry)>,
}

#[derive(Debug)]
enum Repair {
    /// Half a line, which was never acknowledged, is cut off at this offset.
    Cut(u64),
    /// A line that lacks only its newline gets one.
    Terminate,
    /// Whole lines that are no events stay in place, for a later investigation.
    PassOver,
}

/// The bytes after the last valid line.
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

/// Returns the end of the full files, which an empty current file continues.
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
        format!("the end of the event log `{}` is not an event, so nothing can be appended", path.display()),
        "check it with `portolan flow events --verify`, then move the log and its numbered files away",
    )
}

impl Debris {
    /// Chooses the repair.
    fn cleared(self, link: Link, len: u64) -> End {
        let Debris { torn, lines } = self;
        match torn {
            Some(piece) if lines == 0 => {
                let whole = piece.bytes.as_deref().and_then(Line::parse);
                match whole.filter(|line| line.seq == link.seq + 1 && line.prev == link.digest) {
                    Some(line) => {
                        End::mended(Link::after(&line), Repair::Terminate, repair_entry("terminated", &piece, len))
                    }
                    None => End::mended(link, Repair::Cut(piece.at), repair_entry("cut", &piece, len)),
                }
            }
            Some(piece) => End::mended(link, Repair::Cut(piece.at), repair_entry("cut", &piece, len)),
            None if lines > 0 => {
                let data = json!({ "done": "passed-over", "lines": lines });
                End::mended(link, Repair::PassOver, LogEntry::of(Kind::LogRepaired, data))
            }
            None => End { link, mending: None },
        }
    }
}

fn repair_entry(done: &str, piece: &Piece, len: u64) -> LogEntry {
    let digest = piece.bytes.as_ref().map(Digest::of);
    LogEntry::of(Kind::LogRepaired, json!({ "done": done, "bytes": len - piece.at, "digest": digest }))
}

impl End {
    fn mended(link: Link, mending: Repair, entry: LogEntry) -> End {
        End { link, mending: Some((mending, entry)) }
    }

    /// Returns the last line, unless the end must be repaired first.
    pub(super) fn intact(self) -> Option<Link> {
        self.mending.is_none().then_some(self.link)
    }

    /// Repairs the end. Returns the entry that records the repair, or `None` if none was needed.
    pub(super) fn mend(&mut self, mut file: &File) -> io::Result<Option<LogEntry>> {
        let Some((mending, entry)) = self.mending.take() else { return Ok(None) };
        match mending {
            Repair::Cut(at) => file.set_len(at)?,
            Repair::Terminate => file.write_all(b"\n")?,
            Repair::PassOver => {}
        }
        Ok(Some(entry))
    }
}
