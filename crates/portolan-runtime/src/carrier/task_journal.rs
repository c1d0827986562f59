//! The journal of runs in task files: `.portolan/tasks.jsonl` in the project, one line for each record.
//!
//! A record is appended before the task file is written, without a wait for the disk. It survives the process. In a
//! power cut it is as safe as the task file itself. The journal of a run in the store waits for the disk.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{ServiceError, plain};
use crate::nesting;
use crate::project_folder;
use crate::store::Record;

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The absolute path of the task file.
    pub task: String,
    /// The record.
    #[serde(flatten)]
    pub record: Record,
}

/// The journal of a project's task files.
pub struct TaskJournal {
    path: PathBuf,
    open: Mutex<Option<File>>,
}

impl TaskJournal {
    /// Returns the journal in a `.portolan` folder, which is created with the first record.
    pub fn new(folder: &Path) -> TaskJournal {
        TaskJournal { path: folder.join("tasks.jsonl"), open: Mutex::new(None) }
    }

    /// Returns the path of the journal.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a record.
    ///
    /// # Errors
    /// The file cannot be created or written. The record does not count then.
    pub fn append(&self, record: &TaskRecord) -> Result<(), ServiceError> {
        let mut line = serde_json::to_vec(record).expect("a record is JSON");
        line.push(b'\n');
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_none_or(is_gone) {
            *open = Some(self.create().map_err(|error| self.failed(&error))?);
        }
        let Some(file) = open.as_mut() else { unreachable!("it was opened above") };
        // One write for one line: other processes append to the same file.
        end_line(file).and_then(|()| file.write_all(&line)).map_err(|error| self.failed(&error))
    }

    fn create(&self) -> std::io::Result<File> {
        if let Some(folder) = self.path.parent() {
            project_folder::make(folder)?;
        }
        OpenOptions::new().create(true).append(true).read(true).open(&self.path)
    }

    fn failed(&self, error: &std::io::Error) -> ServiceError {
        let message = format!("the journal `{}` cannot be written: {}", self.path.display(), plain(error));
        ServiceError::failed(
            "journal_failed",
            message,
            "nothing was changed; make the project's folder writable, or free some space",
        )
    }

    fn unreadable(&self, error: &std::io::Error) -> ServiceError {
        let message = format!("the journal `{}` cannot be read: {}", self.path.display(), plain(error));
        ServiceError::failed("journal_failed", message, "make the project's folder readable")
    }

    /// Returns the records of a task file, in order. A later record with the same number supersedes one that a crash
    /// left unacknowledged.
    ///
    /// # Errors
    /// The file exists but cannot be read.
    pub fn records(&self, task: &str) -> Result<Vec<Record>, ServiceError> {
        let mut records: Vec<Record> = Vec::new();
        let (mut places, wanted) = (Places::default(), place(task));
        self.each(|found| {
            if *places.of(&found.task) == wanted {
                records.retain(|earlier| earlier.seq < found.record.seq);
                records.push(found.record);
            }
        })?;
        Ok(records)
    }

    /// Returns the last record of each task file, by its path.
    ///
    /// # Errors
    /// The file exists but cannot be read.
    pub fn tasks(&self) -> Result<Vec<(String, Record)>, ServiceError> {
        let mut places = Places::default();
        let mut last: BTreeMap<PathBuf, (String, Record)> = BTreeMap::new();
        self.each(|found| {
            last.insert(places.of(&found.task).to_owned(), (found.task, found.record));
        })?;
        Ok(last.into_values().collect())
    }

    fn each(&self, mut take: impl FnMut(TaskRecord)) -> Result<(), ServiceError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(self.unreadable(&error)),
        };
        // Bytes, not text: a truncated line may end within a character.
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(|error| self.unreadable(&error))?;
            // A line that a crash truncated was never acknowledged.
            if let Ok(found) = nesting::read(&line) {
                take(found);
            }
        }
        Ok(())
    }
}

/// The canonical paths of task files: the same file may have several names.
#[derive(Default)]
struct Places(BTreeMap<String, PathBuf>);

impl Places {
    fn of(&mut self, task: &str) -> &PathBuf {
        self.0.entry(task.to_owned()).or_insert_with_key(|task| place(task))
    }
}

/// Returns the path of a task file with the links of its folder resolved. A link at the file itself is kept: the task
/// has that name.
fn place(task: &str) -> PathBuf {
    let path = Path::new(task);
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Checks whether the file has been deleted: nothing written to it would be read.
#[cfg(unix)]
fn is_gone(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|meta| meta.nlink() == 0)
}

/// Elsewhere an open file cannot be deleted.
#[cfg(not(unix))]
fn is_gone(_file: &File) -> bool {
    false
}

/// Ends a line that a crash or a full disk has truncated, so that the next record does not become part of it.
fn end_line(file: &mut File) -> std::io::Result<()> {
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last == [b'\n'] { Ok(()) } else { file.write_all(b"\n") }
}
