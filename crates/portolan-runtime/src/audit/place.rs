//! Where a project's log is, and what may be one: a regular file, through no symlink, inside of the project.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::error::AuditError;
use crate::disk;
use crate::pins::Pins;
use crate::project_folder;

/// The variables that name another file, the one that counts first. The second is what other programs call it.
const VARIABLES: [&str; 2] = ["FLOW_EVENTS_PATH", "XCODER_EVENTS_PATH"];

/// A log's file.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// The folder that it must not leave; nothing where a person named the file.
    root: Option<PathBuf>,
}

/// Where the log of a project is: where it was when hooks were installed, or else `.portolan/flow-events.jsonl`, or what
/// `FLOW_EVENTS_PATH` names, or else `XCODER_EVENTS_PATH`. A relative path in them starts at the project; an empty one is
/// none.
pub fn project_log(project: &Path) -> PathBuf {
    pinned(project).ok().flatten().unwrap_or_else(|| log_of(project, |name| std::env::var_os(name)))
}

/// Where the log was when hooks were installed.
fn pinned(project: &Path) -> Result<Option<PathBuf>, String> {
    let log = Pins::around(project)?.and_then(|(_, pins)| pins.log);
    Ok(log.map(|log| project.join(log)))
}

/// Why the environment leads the log away from where it is pinned; nothing where it does not.
pub fn led_away(project: &Path) -> Option<AuditError> {
    Place::of_project(project, |name| std::env::var_os(name)).err()
}

/// Where the log of a project without hooks is, among these variables.
pub fn log_of(project: &Path, variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    match named(variable) {
        Some(path) => project.join(path),
        None => default(project),
    }
}

fn named(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    VARIABLES.iter().find_map(|name| variable(name).filter(|path| !path.is_empty())).map(PathBuf::from)
}

/// Whether two paths are of one file, which need not be there.
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
    /// A file that was named: its folder may be anywhere.
    pub(super) fn named(path: PathBuf) -> Place {
        Place { path, root: None }
    }

    /// The log of a project. Where it is pinned no variable leads it elsewhere: what was put on record there would not
    /// be found again.
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

    /// The folder that the log lies in.
    pub(super) fn folder(&self) -> &Path {
        disk::folder_of(&self.path)
    }

    /// Refuses what cannot be a log, as far as it is there.
    pub(super) fn check(&self) -> Result<(), AuditError> {
        if self.path.file_name().is_none() {
            return Err(AuditError::foreign(&self.path, "it names no file"));
        }
        if let Some(root) = &self.root
            && let Ok(folder) = self.folder().canonicalize()
        {
            let root = root.canonicalize().map_err(|error| AuditError::unreadable(&self.path, &error))?;
            if !folder.starts_with(root) {
                return Err(AuditError::foreign(&self.path, "its folder is a symlink that leads out of the project"));
            }
        }
        match fs::symlink_metadata(&self.path) {
            Ok(meta) if meta.is_symlink() => Err(AuditError::foreign(&self.path, "it is a symlink")),
            Ok(meta) if !meta.is_file() => Err(AuditError::foreign(&self.path, "it is no regular file")),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(AuditError::unreadable(&self.path, &error)),
        }
    }

    /// Makes the folder where it is missing, so that git leaves alone what is kept in it.
    pub(super) fn make_folder(&self) -> io::Result<()> {
        let folder = self.folder();
        if folder.is_dir() {
            return Ok(());
        }
        project_folder::make(folder)
    }
}

/// Opens a file of the log: the owner's alone where it is made, through no symlink, without waiting for a pipe.
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
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// Opens a file of the log for reading; nothing when there is none.
pub(super) fn open_to_read(path: &Path) -> Result<Option<File>, AuditError> {
    match open(path, OpenOptions::new().read(true)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(AuditError::unreadable(path, &error)),
    }
}
