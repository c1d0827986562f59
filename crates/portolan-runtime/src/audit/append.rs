//! Appending: under one lock, reads the last line and writes new ones in one call.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use portolan_core::value::Timestamp;

use super::back::latest_in_turn;
use super::error::AuditError;
use super::line::{Line, Link, LogEntry};
use super::place::{self, Place};
use super::repair::end_of;
use super::segments::{full, numbered};
use super::turn;
use crate::clock::Clock;

/// The default size, in bytes, at which a file is full.
pub const ROTATE_AT: u64 = 16 * 1024 * 1024;

/// The failures that an append survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The crash of any process.
    #[default]
    Written,
    /// Also a power failure: the append waits for the disk.
    Synced,
}

/// The event log of a project, for writing.
#[derive(Clone, Debug)]
pub struct Log {
    place: Place,
    rotate_at: u64,
    clock: Clock,
}

impl Log {
    /// Opens the log in this file. Creates nothing until an entry is appended.
    ///
    /// # Errors
    /// The path cannot be a log.
    pub fn open(path: impl Into<PathBuf>) -> Result<Log, AuditError> {
        Log::at(Place::named(path.into()))
    }

    /// Opens the log of a project; see [`project_log`](super::project_log).
    ///
    /// # Errors
    /// The path cannot be a log, or is outside of the project without having been named; or a variable names another
    /// file than the pinned one.
    pub fn of_project(project: &Path) -> Result<Log, AuditError> {
        Log::at(Place::of_project(project, |name| std::env::var_os(name))?)
    }

    pub(super) fn at(place: Place) -> Result<Log, AuditError> {
        place.check()?;
        Ok(Log { place, rotate_at: ROTATE_AT, clock: Clock::System })
    }

    /// Sets the size, in bytes, at which a file is full. The last append may exceed it.
    #[must_use]
    pub fn rotating_at(self, bytes: u64) -> Log {
        Log { rotate_at: bytes, ..self }
    }

    /// Sets the clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Log {
        Log { clock, ..self }
    }

    /// Returns the file that is written.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Appends these entries as consecutive lines, and returns the lines.
    ///
    /// If the process is killed meanwhile, some of the first lines and half of another may remain; the next append
    /// repairs that. All returned lines are in the log.
    ///
    /// # Errors
    /// Nothing was appended, unless the code is `log_unsynced`.
    pub fn append(&self, entries: &[LogEntry], durability: Durability) -> Result<Vec<Line>, AuditError> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        self.in_turn(durability, || Ok(entries.to_vec()))
    }

    /// Appends the entries that are missing, judged by the newest wanted line. No other process writes between the read
    /// and the write, so several processes with the same entries append them once.
    ///
    /// # Errors
    /// As for [`append`](Log::append); or the log cannot be read.
    pub fn append_missing(
        &self,
        entries: &[LogEntry],
        durability: Durability,
        is_wanted: impl FnMut(&Line) -> bool,
        is_missing: impl Fn(&LogEntry, Option<&Line>) -> bool,
    ) -> Result<Vec<Line>, AuditError> {
        self.in_turn(durability, || {
            let newest = latest_in_turn(self.path(), is_wanted)?;
            Ok(entries.iter().filter(|entry| is_missing(entry, newest.as_ref())).cloned().collect())
        })
    }

    /// Checks whether an entry could be appended now. Writes no line, but creates a missing log.
    ///
    /// # Errors
    /// As for [`append`](Log::append).
    pub fn is_ready(&self) -> Result<(), AuditError> {
        let unwritable = |error: io::Error| AuditError::unwritable(self.path(), &error);
        self.place.make_folder().map_err(unwritable)?;
        self.place.check()?;
        let _turn = turn::to_write(self.path())?;
        end_of(&self.current().map_err(unwritable)?, self.path()).map(|_| ())
    }

    fn in_turn(
        &self,
        durability: Durability,
        entries: impl FnOnce() -> Result<Vec<LogEntry>, AuditError>,
    ) -> Result<Vec<Line>, AuditError> {
        let unwritable = |error: io::Error| AuditError::unwritable(self.path(), &error);
        self.place.make_folder().map_err(unwritable)?;
        self.place.check()?;
        let _turn = turn::to_write(self.path())?;
        let entries = entries()?;
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut file = self.current().map_err(unwritable)?;
        let mut end = end_of(&file, self.path())?;
        let mended = end.mend(&file).map_err(unwritable)?;
        let batch = Batch::of(&end.link, mended.iter().chain(&entries), self.clock.now());
        let before = file.metadata().map_err(unwritable)?.len();
        if before > 0 && before + batch.text.len() as u64 > self.rotate_at {
            file = self.rotate(&file).map_err(unwritable)?;
        }
        write(&file, batch.text.as_bytes()).map_err(unwritable)?;
        if durability == Durability::Synced {
            self.sync(&file).map_err(|error| AuditError::unsynced(self.path(), &error))?;
        }
        Ok(batch.lines.into_iter().skip(usize::from(mended.is_some())).collect())
    }

    pub(super) fn folder(&self) -> &Path {
        self.place.folder()
    }

    pub(super) fn is_in_folder_of_project(&self) -> bool {
        self.place.is_in_folder_of_project()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn rotate_at(&self) -> u64 {
        self.rotate_at
    }

    pub(super) fn current(&self) -> io::Result<File> {
        place::open(self.path(), OpenOptions::new().read(true).append(true).create(true))
    }

    /// Renames the current file to its number among the full ones, and creates another.
    fn rotate(&self, full_one: &File) -> io::Result<File> {
        // Otherwise a power failure could lose this file and keep the next.
        full_one.sync_all()?;
        let last = full(self.path()).map_err(|error| io::Error::other(error.message))?.pop().unwrap_or(0);
        fs::rename(self.path(), numbered(self.path(), last + 1))?;
        self.current()
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()?;
        // The file may be new, and the folder holds its name.
        #[cfg(unix)]
        File::open(self.place.folder())?.sync_all()?;
        Ok(())
    }
}

/// The lines of one write.
pub(super) struct Batch {
    pub(super) lines: Vec<Line>,
    pub(super) text: String,
}

impl Batch {
    /// Returns the lines of entries after the line at `end`.
    pub(super) fn of<'e>(end: &Link, entries: impl Iterator<Item = &'e LogEntry>, at: Timestamp) -> Batch {
        let mut link = end.clone();
        let mut batch = Batch { lines: Vec::new(), text: String::new() };
        for entry in entries {
            let line = link.next(entry, at);
            link = Link::after(&line);
            batch.text.push_str(&line.text);
            batch.text.push('\n');
            batch.lines.push(line);
        }
        batch
    }
}

/// Writes all of the text in one call, or nothing.
pub(super) fn write(mut file: &File, text: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    let written = loop {
        match file.write(text) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            written => break written,
        }
    };
    let fault = match written {
        Ok(length) if length == text.len() => return Ok(()),
        Ok(_) => io::Error::from(io::ErrorKind::StorageFull),
        Err(error) => error,
    };
    // If this fails too, the next append repairs the end.
    let _torn = file.set_len(before);
    Err(fault)
}
