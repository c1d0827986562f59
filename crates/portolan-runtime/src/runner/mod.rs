//! Runners evaluate checks of commands and files, and return a verdict. They know nothing of gates, runs or stores, nor
//! whether a command is trusted: the caller must have checked that.

#[cfg(unix)]
mod command;
mod file;
mod listener;
#[cfg(all(test, unix))]
mod tests;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use portolan_core::run::Verdict;

use crate::process::Environment;

pub(crate) use listener::LineSplitter;
pub use listener::{CheckOutput, Listener};

/// Checks a file of the project.
pub(crate) fn file(path: &str, project: &Path) -> Verdict {
    file::look(path, project)
}

/// Runs a command in the environment of this process.
#[cfg(unix)]
pub(crate) async fn run(argv: &[String], seconds: u64, project: &Path, listener: &Listener) -> Verdict {
    let printing = listener.begins(&argv.join(" "));
    command(argv, seconds, project, &Environment::inherited(), printing).await
}

/// Runs a command in the given environment.
#[cfg(unix)]
pub(crate) async fn command(
    argv: &[String],
    seconds: u64,
    project: &Path,
    environment: &Environment,
    printing: LineSplitter,
) -> Verdict {
    let limits = command::Limits { seconds, ..command::Limits::default() };
    command::run(argv, limits, project, environment, printing).await
}

/// Refuses to run a command: without process groups, it cannot be guaranteed that a stopped command has ended.
#[cfg(not(unix))]
pub(crate) async fn run(_argv: &[String], _seconds: u64, _project: &Path, _listener: &Listener) -> Verdict {
    unknown("commands run only on Unix; check this step on a Unix machine")
}

#[cfg(not(unix))]
pub(crate) async fn command(
    argv: &[String],
    seconds: u64,
    project: &Path,
    _environment: &Environment,
    _printing: LineSplitter,
) -> Verdict {
    run(argv, seconds, project, &Listener::default()).await
}

/// Returns the verdict that a check failed.
pub(crate) fn broken(reason: impl Into<String>) -> Verdict {
    Verdict::Broken { reason: reason.into(), output: String::new() }
}

/// Returns the verdict that the result cannot be determined.
pub(crate) fn unknown(reason: impl Into<String>) -> Verdict {
    Verdict::Unknown { reason: reason.into() }
}

/// Why a path of the project cannot be used.
enum PathError {
    Missing,
    Outside,
    Unknown(io::Error),
}

/// Resolves `path` from `project`, including symlinks. The result must be inside the project.
fn inside(project: &Path, path: &str) -> Result<PathBuf, PathError> {
    let project = project.canonicalize().map_err(PathError::Unknown)?;
    match project.join(path).canonicalize() {
        Ok(found) if found.starts_with(&project) => Ok(found),
        Ok(_) => Err(PathError::Outside),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Err(PathError::Missing),
        Err(error) => Err(PathError::Unknown(error)),
    }
}
