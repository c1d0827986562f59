//! Task files: one JSON object per task, which the agent's client and other programs also write. This module never
//! overwrites a file that is no task, keeps foreign keys, replaces files as a whole, and locks them for writing. It
//! does not know what Portolan stores in a task.

mod error;
mod lock;
mod merge;
mod siblings;
#[cfg(test)]
mod tests;
mod write;

use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::disk;

pub use crate::disk::LOCK_FILE;
pub use error::{TaskFileError, TaskFileFault};
pub use lock::LockedTaskFile;
pub use siblings::{MAX_SIBLINGS, Siblings};
pub use write::WriteDurability;
pub(crate) use write::{exchange, exchange_known, sync_folder, write_new};

/// The maximum size of a task file that is read or written.
pub const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A task has at least one of these keys.
const TASK_KEYS: [&str; 4] = ["metadata", "subject", "status", "activeForm"];

/// The content of a task file, in the order of the file.
pub type Task = serde_json::Map<String, Value>;

/// The path of a task file, which need not exist yet.
///
/// ```no_run
/// # async fn example() -> Result<(), portolan_runtime::carrier::task_file::TaskFileError> {
/// use portolan_runtime::carrier::task_file::{Task, TaskFile, WriteDurability};
///
/// let file = TaskFile::open("~/.claude/tasks/site/7.json")?;
/// let mut locked = file.lock().await?;
/// let mut changes = Task::new();
/// changes.insert("status".into(), "in_progress".into());
/// locked.write(changes, WriteDurability::Rename)?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFile {
    /// As the caller wrote it, for messages.
    given: String,
    /// The absolute path: it gives the task's name and its neighbours.
    path: PathBuf,
    /// The real path if the name is a symlink.
    target: PathBuf,
}

impl TaskFile {
    /// Resolves `path`: a leading `~/` is the home folder, any other path is relative to the working directory. The
    /// folder must exist, and whatever exists at the path must be a file.
    pub fn open(path: &str) -> Result<TaskFile, TaskFileError> {
        let named = absolute(path)?;
        let path = path.to_owned();
        match fs::symlink_metadata(&named) {
            Ok(meta) if meta.is_file() => Ok(TaskFile { given: path, target: named.clone(), path: named }),
            Ok(meta) if meta.is_symlink() => {
                let target = fs::canonicalize(&named).map_err(|error| TaskFileError::symlink(&path, error))?;
                let meta = fs::metadata(&target).map_err(|error| TaskFileError::unreadable(&path, error))?;
                match meta.is_file() {
                    true => Ok(TaskFile { given: path, target, path: named }),
                    false => Err(TaskFileError::not_a_file(&path, &meta)),
                }
            }
            Ok(meta) => Err(TaskFileError::not_a_file(&path, &meta)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                match named.parent().is_some_and(Path::is_dir) {
                    true => Ok(TaskFile { given: path, target: named.clone(), path: named }),
                    false => Err(TaskFileError::no_folder(&path, named.parent())),
                }
            }
            Err(error) => Err(TaskFileError::unreadable(&path, error)),
        }
    }

    /// Returns the task's identifier: the file's name without `.json`.
    pub fn id(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).expect("`open` takes only text that ends in a file name")
    }

    /// Returns the absolute path of the file, with the name as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the content of the file. `None` if it does not exist. Takes no lock: a file is only ever replaced as a
    /// whole.
    pub fn read(&self) -> Result<Option<Task>, TaskFileError> {
        Ok(load(&self.target, &self.given)?.map(|(task, _)| task))
    }

    /// Waits for the lock and reads. Until the returned value is dropped, no other holder of the lock can write a task
    /// of the same folder, so do nothing slow meanwhile.
    ///
    /// # Errors
    /// As for [`TaskFile::read`], and if the file is read-only or the lock is not free within ten seconds.
    pub async fn lock(&self) -> Result<LockedTaskFile, TaskFileError> {
        LockedTaskFile::wait(self, disk::WAIT).await
    }

    /// Checks whether the file, and what it links to, is in a folder, whose path is canonical.
    pub fn is_within(&self, folder: &Path) -> bool {
        let is_inside = |path: &Path| {
            let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
            parent.is_some_and(|parent| parent.starts_with(folder))
        };
        is_inside(&self.path) && is_inside(&self.target)
    }

    /// Returns the other tasks of the folder, in order of their names.
    pub fn siblings(&self) -> Siblings {
        Siblings::of(&self.path)
    }

    /// Returns the real folder of the file, which contains its lock.
    fn folder(&self) -> &Path {
        self.target.parent().expect("a file has a folder")
    }
}

fn absolute(path: &str) -> Result<PathBuf, TaskFileError> {
    let expanded = match path.strip_prefix("~/") {
        Some(rest) => std::env::home_dir().ok_or_else(|| TaskFileError::no_home(path))?.join(rest),
        None => PathBuf::from(path),
    };
    let is_json = path.ends_with(".json") && expanded.extension().is_some_and(|extension| extension == "json");
    if !is_json || path.contains('\0') {
        return Err(TaskFileError::name(path));
    }
    std::path::absolute(expanded).map_err(|error| TaskFileError::unreadable(path, error))
}

/// Returns the task at `path` and the metadata of its file. `None` if it does not exist.
fn load(path: &Path, given: &str) -> Result<Option<(Task, Metadata)>, TaskFileError> {
    let unreadable = |error| TaskFileError::unreadable(given, error);
    let mut file = match disk::open_itself(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(TaskFileError::not_a_file(given, &meta));
    }
    if meta.len() > MAX_BYTES {
        return Err(TaskFileError::too_large(given));
    }
    // Room for more bytes than the file has, so that one read finds its end.
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 64);
    Read::by_ref(&mut file).take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(TaskFileError::too_large(given));
    }
    Ok(Some((parse(&bytes, given)?, meta)))
}

fn parse(bytes: &[u8], given: &str) -> Result<Task, TaskFileError> {
    let value = crate::nesting::read(bytes).map_err(|why| TaskFileError::not_json(given, &why))?;
    let Value::Object(task) = value else { return Err(TaskFileError::not_an_object(given)) };
    if !task.is_empty() && !TASK_KEYS.iter().any(|key| task.contains_key(*key)) {
        return Err(TaskFileError::not_a_task(given));
    }
    match task.get("metadata") {
        None | Some(Value::Null | Value::Object(_)) => Ok(task),
        Some(_) => Err(TaskFileError::metadata(given)),
    }
}
