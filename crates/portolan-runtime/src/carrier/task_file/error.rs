//! The faults of task files. Each fault leaves the file as it is.

use std::error::Error;
use std::fmt;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The reason why a task file could not be used. Nothing was written.
#[derive(Debug)]
pub struct TaskFileError {
    /// The kind of the fault.
    pub fault: TaskFileFault,
    /// The fault, in one lower-case sentence.
    pub message: String,
    /// What to do.
    pub help: String,
    source: Option<io::Error>,
}

/// The kinds of fault. Each has a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFileFault {
    /// The path cannot be that of a task file.
    Name,
    /// The folder does not exist.
    NoFolder,
    /// It is a folder, a pipe or a device.
    NotAFile,
    /// It is a dangling symlink.
    Dangling,
    /// It is larger than the limit.
    TooLarge,
    /// It is not valid JSON.
    NotJson,
    /// It is JSON, but not an object.
    NotAnObject,
    /// It is an object, but no task.
    NotATask,
    /// It cannot be read.
    Unreadable,
    /// It, or its folder, may not be written.
    ReadOnly,
    /// There is no room to write it.
    Full,
    /// It could not be written for another reason.
    Unwritable,
    /// Another writer holds the lock.
    Busy,
    /// A writer without the lock moved the task between read and write.
    Changed,
    /// The folder has more task files than are read.
    TooMany,
}

impl TaskFileFault {
    /// Returns the stable code for programs.
    pub fn code(self) -> &'static str {
        match self {
            TaskFileFault::Name => "task_file_name",
            TaskFileFault::NoFolder => "task_file_no_folder",
            TaskFileFault::NotAFile => "task_file_not_a_file",
            TaskFileFault::Dangling => "task_file_dangling",
            TaskFileFault::TooLarge => "task_file_too_large",
            TaskFileFault::NotJson => "task_file_not_json",
            TaskFileFault::NotAnObject => "task_file_not_an_object",
            TaskFileFault::NotATask => "task_file_not_a_task",
            TaskFileFault::Unreadable => "task_file_unreadable",
            TaskFileFault::ReadOnly => "task_file_read_only",
            TaskFileFault::Full => "task_file_full",
            TaskFileFault::Unwritable => "task_file_unwritable",
            TaskFileFault::Busy => "task_file_busy",
            TaskFileFault::Changed => "task_file_changed",
            TaskFileFault::TooMany => "task_file_too_many",
        }
    }
}

impl TaskFileError {
    /// Returns the stable code for programs.
    pub fn code(&self) -> &'static str {
        self.fault.code()
    }

    pub(super) fn name(path: &str) -> TaskFileError {
        let message = format!("`{}` does not name a task file", path.escape_debug());
        new(TaskFileFault::Name, message, "give the path of a file whose name ends in `.json`")
    }

    pub(super) fn no_home(path: &str) -> TaskFileError {
        let message = format!("`{path}` begins with the home folder, but there is none");
        new(TaskFileFault::Name, message, "give an absolute path, or set `HOME`")
    }

    pub(super) fn no_folder(path: &str, folder: Option<&Path>) -> TaskFileError {
        let folder = folder.unwrap_or(Path::new("/")).display();
        new(
            TaskFileFault::NoFolder,
            format!("the folder of `{path}` does not exist"),
            format!("create `{folder}` first"),
        )
    }

    pub(super) fn not_a_file(path: &str, meta: &Metadata) -> TaskFileError {
        let what = if meta.is_dir() { "a folder" } else { "a pipe or a device" };
        new(
            TaskFileFault::NotAFile,
            format!("`{path}` is {what}, not a file"),
            "give the path of the task's own `.json` file",
        )
    }

    pub(super) fn symlink(path: &str, error: io::Error) -> TaskFileError {
        if error.kind() == ErrorKind::PermissionDenied {
            return TaskFileError::unreadable(path, error);
        }
        let message = format!("`{path}` is a symlink whose target does not exist");
        new(TaskFileFault::Dangling, message, "remove it, or create its target").caused_by(error)
    }

    pub(super) fn too_large(path: &str) -> TaskFileError {
        let message = format!("`{path}` holds more than {} MB", super::MAX_BYTES / (1024 * 1024));
        new(TaskFileFault::TooLarge, message, "check that it is a task file, and shorten it")
    }

    pub(super) fn not_json(path: &str, why: &str) -> TaskFileError {
        new(
            TaskFileFault::NotJson,
            format!("`{path}` is not valid JSON: {why}"),
            "repair it or move it away; it was left as it is",
        )
    }

    pub(super) fn not_an_object(path: &str) -> TaskFileError {
        let message = format!("`{path}` holds JSON that is not an object");
        new(TaskFileFault::NotAnObject, message, "give another path; it was left as it is")
    }

    pub(super) fn not_a_task(path: &str) -> TaskFileError {
        let message =
            format!("`{path}` is not a task: it has none of `metadata`, `subject`, `status` and `activeForm`");
        new(TaskFileFault::NotATask, message, "give another path; it was left as it is")
    }

    pub(super) fn metadata(path: &str) -> TaskFileError {
        let message = format!("the `metadata` of `{path}` is not an object");
        new(TaskFileFault::NotATask, message, "make it an object or remove it; the file was left as it is")
    }

    pub(super) fn unreadable(path: &str, error: io::Error) -> TaskFileError {
        new(TaskFileFault::Unreadable, format!("`{path}` cannot be read: {error}"), "make it readable").caused_by(error)
    }

    pub(super) fn read_only(path: &str) -> TaskFileError {
        new(
            TaskFileFault::ReadOnly,
            format!("`{path}` is read-only"),
            "make it writable (`chmod u+w`), or give another path",
        )
    }

    /// Returns the error for a failure while writing a new file: the lock, the temporary file, the exchange.
    pub(super) fn unwritable(path: &str, error: io::Error) -> TaskFileError {
        let untouched = "the file was left as it is";
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                let message = format!("the folder of `{path}` is not writable: {error}");
                new(TaskFileFault::ReadOnly, message, format!("make it writable, or give another path; {untouched}"))
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                let message = format!("there is no room to write `{path}`: {error}");
                new(TaskFileFault::Full, message, format!("free some space and repeat the call; {untouched}"))
            }
            _ => {
                let message = format!("`{path}` cannot be written: {error}");
                new(TaskFileFault::Unwritable, message, format!("remove the cause and repeat the call; {untouched}"))
            }
        }
        .caused_by(error)
    }

    pub(super) fn busy(path: &str, lock: &Path) -> TaskFileError {
        let message = format!("another process has held the lock on the folder of `{path}` for too long");
        new(
            TaskFileFault::Busy,
            message,
            format!("end the process that holds `{}`, then repeat the call", lock.display()),
        )
    }

    pub(super) fn changed(path: &str) -> TaskFileError {
        let message = format!("the task in `{path}` was moved by another caller in the meantime");
        new(TaskFileFault::Changed, message, "check the current situation and decide again")
    }

    pub(super) fn too_many(folder: &Path) -> TaskFileError {
        let message = format!("`{}` holds more than {} task files", folder.display(), super::MAX_SIBLINGS);
        new(TaskFileFault::TooMany, message, "move old tasks away: those beyond the limit are not read")
    }

    fn caused_by(mut self, error: io::Error) -> TaskFileError {
        self.source = Some(error);
        self
    }
}

fn new(fault: TaskFileFault, message: String, help: impl Into<String>) -> TaskFileError {
    TaskFileError { fault, message, help: help.into(), source: None }
}

impl fmt::Display for TaskFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl Error for TaskFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}
