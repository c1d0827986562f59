//! The checks of a project, as `.portolan/checks.yaml` has them: which command a name stands for, whether a person allowed
//! it, and what it says of the files as they are.

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

/// The longest file, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// The text of the checks; nothing where the project has written none down.
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

/// The checks of a project; none where it has written none down.
///
/// # Errors
/// The file cannot be read, or has faults: what nobody understands is not nothing.
pub fn load(project: &Path) -> Result<ProjectChecks, ServiceError> {
    let Some(source) = source(project)? else { return Ok(ProjectChecks::new()) };
    let (checks, faults) = read(&source);
    let help = "correct it; `portolan checks list` shows each fault in its place";
    match project_folder::faulty(&source, &faults, "checks_invalid", help) {
        Some(error) => Err(error),
        None => Ok(checks),
    }
}

/// What somebody has to allow: the commands, and that there is none, for that lets steps pass as well.
pub fn commands(checks: &ProjectChecks) -> Vec<TrustedCommand> {
    let command = |(name, check): (&String, &ProjectCheck)| {
        let (argv, timeout_seconds) = match check {
            ProjectCheck::Run { argv, timeout_seconds } => (argv.clone(), *timeout_seconds),
            // A command has at least a second, so that none is taken for this.
            ProjectCheck::Absent => (vec!["none".to_owned()], 0),
        };
        let (flow, node) = (FILE.to_owned(), "check".to_owned());
        TrustedCommand { flow, node, check: name.clone(), argv, timeout_seconds }
    };
    checks.iter().map(command).collect()
}

/// The digest of them; nothing where there are none.
pub fn digest(checks: &ProjectChecks) -> Option<Digest> {
    let commands = commands(checks);
    (!commands.is_empty()).then(|| trust::digest_of(&commands))
}

/// Whether a person allowed the commands.
///
/// # Errors
/// The record of trust cannot be read.
pub fn is_trusted(checks: &ProjectChecks, trust: &Trust) -> Result<bool, ServiceError> {
    let Some(digest) = digest(checks) else { return Ok(true) };
    trust.is_trusted(&digest).map_err(|error| ServiceError::failed(error.code(), error.message, error.help))
}

/// The latest verdict on a check for the files as they are; nothing where there is none.
pub async fn known(name: &str, checks: &ProjectChecks, project: &Path) -> Option<typecheck::Verdict> {
    let (checker, _) = checker(name, checks)?;
    Typechecks::of(project).latest(&checker).await
}

/// Writes the file as a whole or not at all.
///
/// # Errors
/// It cannot be written.
pub fn write(project: &Path, text: &str) -> Result<(), ServiceError> {
    let path = project.join(FILE);
    let written = project_folder::make(disk::folder_of(&path))
        .and_then(|()| Fresh::beside(&path, text.as_bytes())?.replace(&path));
    written.map_err(|error| project_folder::unwritable(&path, &error))
}

/// Performs a check of the project, in the environment of this process. With `again`, what held is run all the same.
pub async fn perform(name: &str, project: &Path, again: bool, listener: Listener) -> Verdict {
    find(name, project, &Typechecks::of(project).heard_by(listener), again).await
}

/// The commands of a check, none where the project has no such check, and the time that it has.
fn checker(name: &str, checks: &ProjectChecks) -> Option<(Checker, u64)> {
    let (commands, seconds) = match checks.get(name)? {
        ProjectCheck::Run { argv, timeout_seconds } => (vec![argv.clone()], *timeout_seconds),
        ProjectCheck::Absent => (Vec::new(), 0),
    };
    Some((Checker { commands, origin: CheckerOrigin::Project(digest(checks)?) }, seconds))
}

/// What a check of the project comes to for the files as they are. What held for the same content is not run again.
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
            Ok(()) => Verdict::Shown { reason: format!("this project has no `{name}`, as `{FILE}` says"), sets: None },
            Err(_) => {
                unknown(format!("nobody has trusted what `{FILE}` says yet; a person runs `portolan trust {FILE}`"))
            }
        };
    }
    let ran = match again {
        true => typechecks.judge(&checker, seconds).await,
        false => typechecks.held(&checker, seconds).await,
    };
    told(&checker, seconds, ran)
}

/// What is said of a check that the project says nothing of.
pub fn missing(name: &str) -> String {
    format!(
        "the project does not say how `{name}` is checked; a person writes it into `{FILE}`, \
         or `{name}: none` where there is no such check"
    )
}

fn told(checker: &Checker, seconds: u64, ran: Result<TypecheckRun, FactError>) -> Verdict {
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
