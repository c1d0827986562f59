//! The files of a log: the full ones, numbered from 1, and the current one, which is written.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::AuditError;
use super::{place, turn};
use crate::disk;

/// One file of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The number of a full file, or `None` for the current one.
    pub number: Option<u64>,
    /// Its path.
    pub path: PathBuf,
}

/// The files of a log at one moment. Lines appended later are not visible through it.
#[derive(Debug)]
pub(super) struct Segments {
    /// The path of the current file.
    pub(super) path: PathBuf,
    /// The numbers of the full files, in order.
    pub(super) full: Vec<u64>,
    /// The current file, up to its length at that moment.
    pub(super) current: Option<OpenSegment>,
}

/// A file, and the length that is read of it.
#[derive(Debug)]
pub(super) struct OpenSegment {
    pub(super) segment: Segment,
    pub(super) file: File,
    pub(super) len: u64,
}

impl Segments {
    /// Returns the files of the log.
    pub(super) fn of(path: &Path) -> Result<Segments, AuditError> {
        let _turn = turn::to_read(path);
        Segments::unlocked(path)
    }

    /// Like `of`, for a caller that holds the lock.
    pub(super) fn unlocked(path: &Path) -> Result<Segments, AuditError> {
        let full = full(path)?;
        let current = opened(Segment { number: None, path: path.to_owned() })?;
        Ok(Segments { path: path.to_owned(), full, current })
    }

    /// Opens a full file. Returns `None` if it was removed.
    pub(super) fn open(&self, number: u64) -> Result<Option<OpenSegment>, AuditError> {
        opened(Segment { number: Some(number), path: numbered(&self.path, number) })
    }
}

fn opened(segment: Segment) -> Result<Option<OpenSegment>, AuditError> {
    let Some(file) = place::open_to_read(&segment.path)? else { return Ok(None) };
    let len = file.metadata().map_err(|error| AuditError::unreadable(&segment.path, &error))?.len();
    Ok(Some(OpenSegment { segment, file, len }))
}

/// Returns the numbers of the full files, in order.
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

/// Returns the path of a full file: `flow-events.jsonl` becomes `flow-events.1.jsonl`.
pub(super) fn numbered(path: &Path, number: u64) -> PathBuf {
    let (before, after) = around(path);
    path.with_file_name(format!("{before}{number}{after}"))
}

/// Returns the parts of the file name before and after the number.
fn around(path: &Path) -> (String, String) {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    (format!("{stem}."), ending)
}
