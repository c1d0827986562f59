//! Runners find out what a check asks: each takes one effect, with everything it needs, and comes back with a
//! verdict. They know nothing of runs, of stores, or of whether a command is trusted: whoever calls them has asked.

#[cfg(unix)]
mod command;
mod file;
mod gate;
#[cfg(all(test, unix))]
mod tests;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

pub use gate::{Ground, Other, REMOVALS};
use portolan_core::engine::CheckRequest;
use portolan_core::graph::CheckBy;
use portolan_core::run::Verdict;

use crate::process::Environment;

/// Performs `work` in the project of `ground`.
///
/// It always comes to a verdict: what cannot be found out is [`Verdict::Unknown`], with what to do about it. Dropping
/// the future stops a command with everything that it started. It needs a runtime with I/O and time enabled.
///
/// A process that leaves the command's process group (a daemon that calls `setsid`) is beyond reach: it is not waited
/// for, and it is not stopped.
pub async fn perform(request: &CheckRequest, ground: &Ground) -> Verdict {
    match &request.check {
        CheckBy::Run { argv, timeout_seconds } => run(argv, *timeout_seconds, ground.project()).await,
        CheckBy::File { path } => file::look(path, ground.project()),
        CheckBy::Gate { name } => ground.look(name, &request.claims).await,
    }
}

#[cfg(unix)]
async fn run(argv: &[String], seconds: u64, project: &Path) -> Verdict {
    command(argv, seconds, project, &Environment::inherited()).await
}

/// Runs a command in an environment, as [`perform`] does.
#[cfg(unix)]
pub(crate) async fn command(argv: &[String], seconds: u64, project: &Path, environment: &Environment) -> Verdict {
    let limits = command::Limits { seconds, ..command::Limits::default() };
    command::run(argv, limits, project, environment).await
}

/// Without process groups nothing could promise that a stopped command is really gone.
#[cfg(not(unix))]
async fn run(_argv: &[String], _seconds: u64, _project: &Path) -> Verdict {
    unknown("commands are only run on Unix; judge this step on a Unix machine")
}

#[cfg(not(unix))]
pub(crate) async fn command(argv: &[String], seconds: u64, project: &Path, _environment: &Environment) -> Verdict {
    run(argv, seconds, project).await
}

fn broken(reason: impl Into<String>) -> Verdict {
    Verdict::Broken { reason: reason.into(), output: String::new() }
}

fn unknown(reason: impl Into<String>) -> Verdict {
    Verdict::Unknown { reason: reason.into() }
}

/// Why a path of the project leads to nothing that may be used.
enum Astray {
    Missing,
    Outside,
    Unknown(io::Error),
}

/// Where `path` leads from `project`, every symlink followed; it must end inside the project.
fn inside(project: &Path, path: &str) -> Result<PathBuf, Astray> {
    let project = project.canonicalize().map_err(Astray::Unknown)?;
    match project.join(path).canonicalize() {
        Ok(found) if found.starts_with(&project) => Ok(found),
        Ok(_) => Err(Astray::Outside),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Err(Astray::Missing),
        Err(error) => Err(Astray::Unknown(error)),
    }
}
