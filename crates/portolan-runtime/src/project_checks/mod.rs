//! The checks of a project in `.portolan/checks.yaml`: the command of each name, whether a person allowed it, and its
//! verdict on the present files.

mod detect;

use std::path::Path;

use portolan_core::run::Verdict;
use portolan_core::source::Source;
use portolan_gates::facts::FactError;
use portolan_gates::project::{ProjectCheck, ProjectChecks, read};

use crate::disk::{self, Fresh};
use crate::error::ServiceError;
use crate::project_folder;
use crate::runner::{Listener, broken, unknown};
use crate::trust::{self, Digest, Trust, TrustedCommand};
use crate::typecheck::{self, Checker, CheckerOrigin, TypecheckRun, Typechecks};

pub use detect::{DetectedCheck, detect, hints};
pub use portolan_gates::project::FILE;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// Returns the text of the checks, or `None` if the project has none.
///
/// # Errors
/// The file cannot be read, or is too long.
pub fn source(project: &Path) -> Result<Option<Source>, ServiceError> {
    let text = project_folder::text(project, FILE, MAX_BYTES).map_err(|why| {
        let help = "make it a readable text file, or delete it";
        ServiceError::failed("checks_unreadable", format!("`{FILE}` cannot be read: {why}"), help)
    })?;
    Ok(text.map(|text| Source::new(FILE, text)))
}

/// Returns the checks of a project. Empty if it has none.
///
/// # Errors
/// The file cannot be read, or has faults. A faulty file must not count as an empty one.
pub fn load(project: &Path) -> Result<ProjectChecks, ServiceError> {
    let Some(source) = source(project)? else { return Ok(ProjectChecks::new()) };
    let (checks, faults) = read(&source);
    let help = "correct it; `portolan checks list` shows each fault in its place";
    match project_folder::faulty(&source, &faults, "checks_invalid", help) {
        Some(error) => Err(error),
        None => Ok(checks),
    }
}

/// Returns what a person has to allow: the commands, and that a check is absent, because that lets steps pass too.
pub fn commands(checks: &ProjectChecks) -> Vec<TrustedCommand> {
    let command = |(name, check): (&String, &ProjectCheck)| {
        let (argv, timeout_seconds) = match check {
            ProjectCheck::Run { argv, timeout_seconds } => (argv.clone(), *timeout_seconds),
            // A command has a timeout of at least a second, so none has the same digest as this.
            ProjectCheck::Absent => (vec!["none".to_owned()], 0),
        };
        let (flow, node) = (FILE.to_owned(), "check".to_owned());
        TrustedCommand { flow, node, check: name.clone(), argv, timeout_seconds }
    };
    checks.iter().map(command).collect()
}

/// Returns the digest of what a person has to allow, or `None` if there are no checks.
pub fn digest(checks: &ProjectChecks) -> Option<Digest> {
    let commands = commands(checks);
    (!commands.is_empty()).then(|| trust::digest_of(&commands))
}

/// Checks whether a person allowed the commands on this machine. They are a part of its checks, as the type check is, and
/// are not shared.
///
/// # Errors
/// The record of trust cannot be read.
pub fn is_trusted(checks: &ProjectChecks, trust: &Trust) -> Result<bool, ServiceError> {
    let Some(digest) = digest(checks) else { return Ok(true) };
    trust.is_trusted_here(&digest).map_err(|error| ServiceError::failed(error.code(), error.message, error.help))
}

/// Returns the latest verdict of a check on the present files, or `None` if there is none.
pub async fn known(name: &str, checks: &ProjectChecks, project: &Path) -> Option<typecheck::Verdict> {
    let (checker, _) = checker(name, checks)?;
    Typechecks::of(project).latest(&checker).await
}

/// Writes the file atomically.
///
/// # Errors
/// The file cannot be written.
pub fn write(project: &Path, text: &str) -> Result<(), ServiceError> {
    let path = project.join(FILE);
    let written = project_folder::make(disk::folder_of(&path))
        .and_then(|()| Fresh::beside(&path, text.as_bytes())?.replace(&path));
    written.map_err(|error| project_folder::unwritable(&path, &error))
}

/// Performs a check of the project, in the environment of this process. With `again`, a check that passed runs again.
pub async fn perform(name: &str, project: &Path, again: bool, listener: Listener) -> Verdict {
    find(name, project, &Typechecks::of(project).with_listener(listener), again).await
}

/// Returns the commands of a check and its timeout. The commands are empty if the file says that there is no such
/// check.
fn checker(name: &str, checks: &ProjectChecks) -> Option<(Checker, u64)> {
    let (commands, seconds) = match checks.get(name)? {
        ProjectCheck::Run { argv, timeout_seconds } => (vec![argv.clone()], *timeout_seconds),
        ProjectCheck::Absent => (Vec::new(), 0),
    };
    Some((Checker { commands, origin: CheckerOrigin::Project(digest(checks)?) }, seconds))
}

/// Returns the verdict of a check of the project on the present files. A check that passed on the same content is not
/// run again.
pub(crate) async fn look(name: &str, project: &Path, typechecks: &Typechecks) -> Verdict {
    find(name, project, typechecks, false).await
}

async fn find(name: &str, project: &Path, typechecks: &Typechecks, again: bool) -> Verdict {
    let checks = match load(project) {
        Ok(checks) => checks,
        Err(error) => return unknown(format!("{}; {}", error.message, error.help)),
    };
    let Some((checker, seconds)) = checker(name, &checks) else {
        return Verdict::ForPerson { reason: missing(name) };
    };
    if checker.commands.is_empty() {
        return match typechecks.allowed(&checker) {
            Ok(()) => {
                Verdict::Shown { reason: format!("this project has no `{name}`, according to `{FILE}`"), sets: None }
            }
            Err(_) => unknown(format!(
                "what `{FILE}` says has not been trusted yet; a person must run `portolan trust {FILE}`"
            )),
        };
    }
    let ran = match again {
        true => typechecks.judge(&checker, seconds).await,
        false => typechecks.held(&checker, seconds).await,
    };
    verdict(&checker, seconds, ran)
}

/// Returns the message about a check that the project does not configure.
pub fn missing(name: &str) -> String {
    format!(
        "the project does not say how `{name}` is checked; a person must add it to `{FILE}`, or `{name}: none` \
        if there is no such check"
    )
}

fn verdict(checker: &Checker, seconds: u64, ran: Result<TypecheckRun, FactError>) -> Verdict {
    match ran {
        Ok(TypecheckRun::Judged { verdict, .. }) if verdict.ok => Verdict::Held,
        Ok(TypecheckRun::Judged { verdict, output, .. }) => {
            let reason = format!("`{}` did not pass: {}", checker.shown(), verdict.summary);
            Verdict::Broken { reason, output }
        }
        Ok(TypecheckRun::TooLong) => {
            broken(format!("`{}` ran longer than {seconds} s and was stopped", checker.shown()))
        }
        Ok(TypecheckRun::NotConfigured) => unknown("there is no command"),
        Err(why) => unknown(why.why),
    }
}
