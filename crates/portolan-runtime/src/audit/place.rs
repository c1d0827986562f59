//! The path of a project's log, and its checks: a regular file, reached through no symlink, inside of the project.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::error::AuditError;
use crate::disk;
use crate::pins::Pins;
use crate::project_folder;

/// The variables that name another file, in order of precedence. The second is the name that other programs use.
const VARIABLES: [&str; 2] = ["FLOW_EVENTS_PATH", "XCODER_EVENTS_PATH"];

/// The path of a log.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// The folder that the path must not leave, or `None` if the user named the file.
    root: Option<PathBuf>,
}

/// Returns the path of a project's log: the one pinned when hooks were installed, or else the value of
/// `FLOW_EVENTS_PATH`, or else of `XCODER_EVENTS_PATH`, or else `.portolan/flow-events.jsonl`. A relative path in a
/// variable starts at the project. An empty one is ignored.
pub fn project_log(project: &Path) -> PathBuf {
    pinned(project).ok().flatten().unwrap_or_else(|| log_of(project, |name| std::env::var_os(name)))
}

/// Returns the path that was pinned when hooks were installed.
fn pinned(project: &Path) -> Result<Option<PathBuf>, String> {
    let log = Pins::around(project)?.and_then(|(_, pins)| pins.log);
    Ok(log.map(|log| project.join(log)))
}

/// Returns the error of a project whose log cannot be resolved, for instance because the environment names another file
/// than the pinned one. Returns `None` if there is none.
pub fn led_away(project: &Path) -> Option<AuditError> {
    Place::of_project(project, |name| std::env::var_os(name)).err()
}

/// Returns the path of the log of a project without hooks, given these variables.
pub fn log_of(project: &Path, variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    match named(variable) {
        Some(path) => project.join(path),
        None => default(project),
    }
}

fn named(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    VARIABLES.iter().find_map(|name| variable(name).filter(|path| !path.is_empty())).map(PathBuf::from)
}

/// Checks whether two paths name one file, which need not exist.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        folder.zip(path.file_name()).map(|(folder, name)| folder.join(name))
    };
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}

fn default(project: &Path) -> PathBuf {
    project.join(".portolan").join("flow-events.jsonl")
}

impl Place {
    /// Returns the place of a file that the user named. Its folder may be anywhere.
    pub(super) fn named(path: PathBuf) -> Place {
        Place { path, root: None }
    }

    /// Returns the place of a project's log. If it is pinned, a variable that names another file is an error, because
    /// events appended there would not be found again.
    pub(super) fn of_project(project: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Result<Place, AuditError> {
        let pinned = pinned(project).map_err(|why| AuditError::unpinned(&default(project), &why))?;
        let named = named(variable).map(|path| project.join(path));
        let path = match (pinned, named) {
            (Some(pinned), Some(named)) if !is_same(&pinned, &named) => {
                return Err(AuditError::led_away(&named, &pinned));
            }
            (Some(pinned), _) => pinned,
            (None, Some(named)) => return Ok(Place::named(named)),
            (None, None) => default(project),
        };
        let root = path.starts_with(project).then(|| project.to_owned());
        Ok(Place { path, root })
    }

    /// Returns the folder of the log.
    pub(super) fn folder(&self) -> &Path {
        disk::folder_of(&self.path)
    }

    /// Checks whether the log is in a folder that lies directly in the project.
    pub(super) fn is_in_folder_of_project(&self) -> bool {
        self.root.is_some() && self.folder().parent() == self.root.as_deref()
    }

    /// Refuses a path that cannot be a log. A missing file passes.
    pub(super) fn check(&self) -> Result<(), AuditError> {
        if self.path.file_name().is_none() {
            return Err(AuditError::foreign(&self.path, "it does not name a file"));
        }
        if let Some(root) = &self.root
            && let Ok(folder) = self.folder().canonicalize()
        {
            let root = root.canonicalize().map_err(|error| AuditError::unreadable(&self.path, &error))?;
            if !folder.starts_with(root) {
                return Err(AuditError::foreign(&self.path, "its folder is a symlink to a place outside the project"));
            }
        }
        match fs::symlink_metadata(&self.path) {
            Ok(meta) if meta.is_symlink() => Err(AuditError::foreign(&self.path, "it is a symlink")),
            Ok(meta) if !meta.is_file() => Err(AuditError::foreign(&self.path, "it is not a regular file")),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(AuditError::unreadable(&self.path, &error)),
        }
    }

    /// Creates the folder if it is missing, and has git ignore its contents.
    pub(super) fn make_folder(&self) -> io::Result<()> {
        let folder = self.folder();
        if folder.is_dir() {
            return Ok(());
        }
        project_folder::make(folder)
    }
}

/// Opens a file of the log: a new one for the owner alone, through no symlink, and without blocking on a pipe.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> Result<File, io::Error> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Opens a file of the log for reading. Returns `None` if it does not exist.
pub(super) fn open_to_read(path: &Path) -> Result<Option<File>, AuditError> {
    match open(path, OpenOptions::new().read(true)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(AuditError::unreadable(path, &error)),
    }
}
