//! A log that one process appends to often. Its files stay open, and its end is known as long as no other process
//! writes, so that an append is a lock and a write.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::append::{Batch, Durability, Log, write};
use super::error::AuditError;
use super::line::{Link, LogEntry};
use super::repair::end_of;
use super::turn;

/// A log whose files stay open between appends.
#[derive(Debug)]
pub struct OpenLog {
    log: Log,
    held: Mutex<Option<OpenFiles>>,
}

/// The open files, with the identities by which a replaced file is noticed.
#[derive(Debug)]
struct OpenFiles {
    lock: File,
    lock_path: PathBuf,
    lock_id: FileId,
    file: File,
    file_id: FileId,
    folder_id: FileId,
    /// The length of the file after the last append, and the last line.
    len: u64,
    link: Link,
}

/// The identity of a file, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId(u64, u64);

/// The result of an append that does not wait.
pub enum AtOnce {
    /// The entries are in the log.
    Appended,
    /// Another process writes, or the files must be opened again: [`OpenLog::append`] waits.
    Later,
}

impl OpenLog {
    pub fn new(log: Log) -> OpenLog {
        OpenLog { log, held: Mutex::default() }
    }

    /// Appends entries if that takes no waiting.
    ///
    /// # Errors
    /// As for [`Log::append`].
    pub fn append_at_once(&self, entries: &[LogEntry]) -> Result<AtOnce, AuditError> {
        let Ok(mut held) = self.held.try_lock() else { return Ok(AtOnce::Later) };
        let appended = match held.as_mut() {
            Some(files) => files.append(&self.log, entries),
            None => return Ok(AtOnce::Later),
        };
        match appended {
            Ok(true) => Ok(AtOnce::Appended),
            Ok(false) => {
                *held = None;
                Ok(AtOnce::Later)
            }
            Err(error) => {
                *held = None;
                Err(AuditError::unwritable(self.log.path(), &error))
            }
        }
    }

    /// Appends entries, and opens the files for the next append.
    ///
    /// # Errors
    /// As for [`Log::append`].
    pub fn append(&self, entries: &[LogEntry], durability: Durability) -> Result<(), AuditError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        self.log.append(entries, durability)?;
        if held.is_none() {
            // What cannot be held is opened again each time.
            *held = OpenFiles::of(&self.log).ok().flatten();
        }
        Ok(())
    }
}

impl OpenFiles {
    /// Opens the files of a log that was just written, and thus checked. `None` if the log is not directly in a folder
    /// of the project, where more than the folder would have to be checked at each append.
    fn of(log: &Log) -> io::Result<Option<OpenFiles>> {
        if !log.is_in_folder_of_project() {
            return Ok(None);
        }
        let _turn = turn::to_write(log.path()).map_err(|error| io::Error::other(error.message))?;
        let (lock, lock_path) = turn::opened(log.path())?;
        let file = log.current()?;
        let (Some(lock_id), Some((file_id, len)), Some(folder_id)) =
            (id(&lock_path).map(|(id, _)| id), id(log.path()), id(log.folder()).map(|(id, _)| id))
        else {
            return Ok(None);
        };
        let end = end_of(&file, log.path()).map_err(|error| io::Error::other(error.message))?;
        Ok(end.intact().map(|link| OpenFiles { lock, lock_path, lock_id, file, file_id, folder_id, len, link }))
    }

    /// Appends entries. Returns `false` if that cannot be done with these files, or not now.
    fn append(&mut self, log: &Log, entries: &[LogEntry]) -> io::Result<bool> {
        match self.lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let appended = self.append_in_turn(log, entries);
        self.lock.unlock()?;
        appended
    }

    fn append_in_turn(&mut self, log: &Log, entries: &[LogEntry]) -> io::Result<bool> {
        let is_same = id(&self.lock_path).is_some_and(|(now, _)| now == self.lock_id)
            && id(log.folder()).is_some_and(|(now, _)| now == self.folder_id)
            && id(log.path()) == Some((self.file_id, self.len));
        if !is_same {
            return Ok(false);
        }
        let batch = Batch::of(&self.link, entries.iter(), log.now());
        let after = self.len + batch.text.len() as u64;
        if after > log.rotate_at() {
            return Ok(false);
        }
        write(&self.file, batch.text.as_bytes())?;
        self.len = after;
        self.link = batch.lines.last().map_or_else(|| self.link.clone(), Link::after);
        Ok(true)
    }
}

/// Returns the identity of what is at a path, without following a symlink, and its length.
#[cfg(unix)]
fn id(path: &Path) -> Option<(FileId, u64)> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::symlink_metadata(path).ok()?;
    Some((FileId(meta.dev(), meta.ino()), meta.len()))
}

/// Other systems have no such identity, so that nothing is held.
#[cfg(not(unix))]
fn id(_path: &Path) -> Option<(FileId, u64)> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::audit::{Kind, Line, tail, verify};

    fn entry(word: &str) -> LogEntry {
        LogEntry::of(Kind::Boot, json!({ "word": word }))
    }

    fn words(path: &Path) -> Vec<String> {
        let word = |line: Line| line.data["word"].as_str().map(str::to_owned);
        tail(path, 100).expect("it can be read").into_iter().filter_map(word).collect()
    }

    /// Appends as the gateway does. Returns whether that took no waiting.
    fn append(open: &OpenLog, word: &str) -> bool {
        if matches!(open.append_at_once(&[entry(word)]).expect("appended"), AtOnce::Appended) {
            return true;
        }
        open.append(&[entry(word)], Durability::Written).expect("appended");
        false
    }

    fn project() -> (tempfile::TempDir, OpenLog) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(".portolan")).expect("a folder");
        let open = OpenLog::new(Log::of_project(folder.path()).expect("a log"));
        (folder, open)
    }

    #[test]
    fn lines_of_several_writers_are_one_chain() {
        let (folder, open) = project();
        let other = Log::of_project(folder.path()).expect("a log");
        assert!(!append(&open, "a") && append(&open, "b"));
        other.append(&[entry("c")], Durability::Written).expect("appended");
        assert!(!append(&open, "d") && append(&open, "e"));
        assert_eq!(words(other.path()), ["a", "b", "c", "d", "e"]);
        assert_eq!(verify(other.path()).expect("it can be read").first_fault, None);
    }

    #[test]
    fn a_log_that_was_taken_away_is_begun_again() {
        let (folder, open) = project();
        let path = open.log.path().to_owned();
        append(&open, "a");
        append(&open, "b");
        std::fs::rename(&path, folder.path().join("aside")).expect("it is there");
        assert!(!append(&open, "c") && append(&open, "d"));
        assert_eq!(words(&path), ["c", "d"]);
        std::fs::remove_file(folder.path().join(".portolan/flow-events.jsonl.lock")).expect("it is there");
        assert!(!append(&open, "e") && append(&open, "f"));
        assert_eq!(words(&path), ["c", "d", "e", "f"]);
    }

    #[test]
    fn a_folder_that_leads_out_of_the_project_gets_no_line() {
        let (folder, open) = project();
        append(&open, "a");
        append(&open, "b");
        let outside = tempfile::tempdir().expect("a folder");
        let (here, there) = (folder.path().join(".portolan"), outside.path().join("there"));
        std::fs::rename(&here, &there).expect("moved");
        std::os::unix::fs::symlink(&there, &here).expect("a link");
        assert!(matches!(open.append_at_once(&[entry("c")]), Ok(AtOnce::Later)));
        let refused = open.append(&[entry("c")], Durability::Written).expect_err("it leads away");
        assert_eq!(refused.code, "log_refused");
        assert_eq!(words(&there.join("flow-events.jsonl")), ["a", "b"]);
    }

    #[test]
    fn a_full_file_is_followed_by_another() {
        let (folder, open) = project();
        let open = OpenLog::new(open.log.rotating_at(600));
        for word in ["a", "b", "c", "d", "e", "f"] {
            append(&open, word);
        }
        let path = folder.path().join(".portolan/flow-events.jsonl");
        assert!(folder.path().join(".portolan/flow-events.1.jsonl").exists());
        assert_eq!(words(&path), ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(verify(&path).expect("it can be read").first_fault, None);
    }
}
