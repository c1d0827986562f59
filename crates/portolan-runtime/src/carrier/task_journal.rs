//! The journal of runs that live in task files: `.portolan/tasks.jsonl` in the project, one line for each record.
//!
//! Appended before the task file is written, without waiting for the disk: it survives the process, and shares the
//! fate of the task file itself when the machine loses power. A run in the store has a journal that waits.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::service::ServiceError;
use crate::store::Record;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The task file, as an absolute path.
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
    /// The journal in a `.portolan` folder, which is made when the first record comes.
    pub fn new(folder: &Path) -> TaskJournal {
        TaskJournal { path: folder.join("tasks.jsonl"), open: Mutex::new(None) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The file cannot be made or written; nothing of the record counts then.
    pub fn append(&self, record: &TaskRecord) -> Result<(), ServiceError> {
        let mut line = serde_json::to_vec(record).expect("a record is JSON");
        line.push(b'\n');
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() {
            *open = Some(self.create().map_err(|error| self.failed(&error))?);
        }
        let Some(file) = open.as_mut() else { unreachable!("it was opened above") };
        // One write of one line: other processes append to the same file.
        file.write_all(&line).map_err(|error| self.failed(&error))
    }

    fn create(&self) -> std::io::Result<File> {
        if let Some(folder) = self.path.parent()
            && !folder.exists()
        {
            std::fs::create_dir_all(folder)?;
            std::fs::write(folder.join(".gitignore"), "*\n")?;
        }
        OpenOptions::new().create(true).append(true).open(&self.path)
    }

    fn failed(&self, error: &std::io::Error) -> ServiceError {
        let message =
            format!("the journal `{}` cannot be written: {}", self.path.display(), crate::library::plain(error));
        ServiceError::failed(
            "journal_failed",
            message,
            "nothing was changed; make the project's folder writable, or free some space",
        )
    }

    /// The records of a task file, in order. A record that a crash left unacknowledged is superseded by the one that
    /// took its number.
    ///
    /// # Errors
    /// The file is there but cannot be read.
    pub fn records(&self, task: &str) -> Result<Vec<Record>, ServiceError> {
        let mut records: Vec<Record> = Vec::new();
        self.each(|found| {
            if found.task == task {
                records.retain(|earlier| earlier.seq < found.record.seq);
                records.push(found.record);
            }
        })?;
        Ok(records)
    }

    /// The last record of each task file, by its path.
    ///
    /// # Errors
    /// The file is there but cannot be read.
    pub fn tasks(&self) -> Result<BTreeMap<String, Record>, ServiceError> {
        let mut tasks = BTreeMap::new();
        self.each(|found| {
            tasks.insert(found.task, found.record);
        })?;
        Ok(tasks)
    }

    fn each(&self, mut take: impl FnMut(TaskRecord)) -> Result<(), ServiceError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(self.failed(&error)),
        };
        for line in BufReader::new(file).lines() {
            let line = line.map_err(|error| self.failed(&error))?;
            // A line that was cut off by a crash was never acknowledged.
            if let Ok(found) = serde_json::from_str(&line) {
                take(found);
            }
        }
        Ok(())
    }
}
