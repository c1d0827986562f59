//! The files that a log consists of: those that are full, numbered upwards from 1, and the one that is written.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::AuditError;
use super::{place, turn};
use crate::disk;

/// One file of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number; nothing for the one that is written.
    pub number: Option<u64>,
    /// Where it is.
    pub path: PathBuf,
}

/// What a log consisted of at one moment. What is appended later is not seen through it.
#[derive(Debug)]
pub(super) struct Segments {
    /// The file that is written.
    pub(super) path: PathBuf,
    /// The numbers of those that are full, in order.
    pub(super) full: Vec<u64>,
    /// The one that is written, as far as it went then.
    pub(super) current: Option<Open>,
}

/// A file and how much of it counts.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) segment: Segment,
    pub(super) file: File,
    pub(super) len: u64,
}

impl Segments {
    /// What the log consists of.
    pub(super) fn of(path: &Path) -> Result<Segments, AuditError> {
        let _turn = turn::to_read(path);
        Segments::unlocked(path)
    }

    /// The same, for whoever has the turn.
    pub(super) fn unlocked(path: &Path) -> Result<Segments, AuditError> {
        let full = full(path)?;
        let current = opened(Segment { number: None, path: path.to_owned() })?;
        Ok(Segments { path: path.to_owned(), full, current })
    }

    /// Opens one that is full; nothing when it has gone.
    pub(super) fn open(&self, number: u64) -> Result<Option<Open>, AuditError> {
        opened(Segment { number: Some(number), path: numbered(&self.path, number) })
    }
}

fn opened(segment: Segment) -> Result<Option<Open>, AuditError> {
    let Some(file) = place::open_to_read(&segment.path)? else { return Ok(None) };
    let len = file.metadata().map_err(|error| AuditError::unreadable(&segment.path, &error))?.len();
    Ok(Some(Open { segment, file, len }))
}

/// The numbers of the files that are full, in order.
pub(super) fn full(path: &Path) -> Result<Vec<u64>, AuditError> {
    let folder = disk::folder_of(path);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(AuditError::unreadable(path, &error)),
    };
    let (before, after) = around(path);
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| AuditError::unreadable(path, &error))?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix(&before)?.strip_suffix(&after));
        numbers.extend(
            digits.filter(|digits| !digits.starts_with(['0', '+'])).and_then(|digits| digits.parse::<u64>().ok()),
        );
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The file that is full and has this number: `flow-events.jsonl` becomes `flow-events.1.jsonl`.
pub(super) fn numbered(path: &Path, number: u64) -> PathBuf {
    let (before, after) = around(path);
    path.with_file_name(format!("{before}{number}{after}"))
}

/// What stands before the number and after it.
fn around(path: &Path) -> (String, String) {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    (format!("{stem}."), ending)
}
