//! The checks of a project, as `.portolan/checks.yaml` has them: which command a name stands for, whether a person allowed
//! it, and what it says of the files as they are.

mod detect;

use std::path::Path;

use portolan_core::gates::facts::Unknown;
use portolan_core::gates::project::{ProjectCheck, ProjectChecks, read};
use portolan_core::run::Verdict;
use portolan_core::source::Source;

use crate::error::{ErrorKind, ServiceError};
use crate::project_folder;
use crate::runner::{broken, unknown};
use crate::trust::{self, Command, Digest, Trust};
use crate::typecheck::{self, Checker, Origin, Ran, Typechecks};

pub use detect::{Found, detect, hints};
pub use portolan_core::gates::project::FILE;

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
    let told = faults.iter().filter(|fault| fault.is_error()).map(|fault| {
        let place = fault.span.map_or_else(String::new, |span| format!("line {}: ", source.location(span.start).line));
        format!("{place}{}", fault.message)
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return Ok(checks);
    }
    let message = format!("`{FILE}` has faults: {}", told.join("; "));
    let help = "correct it; `portolan checks list` shows each fault in its place";
    Err(ServiceError::of(ErrorKind::InvalidDefinition, "checks_invalid", message, help))
}

/// The commands that somebody has to allow.
pub fn commands(checks: &ProjectChecks) -> Vec<Command> {
    let commands = checks.iter().filter_map(|(name, check)| match check {
        ProjectCheck::Run { argv, timeout_seconds } => Some(Command {
            flow: FILE.to_owned(),
            node: "check".to_owned(),
            check: name.clone(),
            argv: argv.clone(),
            timeout_seconds: *timeout_seconds,
        }),
        ProjectCheck::Absent => None,
    });
    commands.collect()
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

/// Performs a check of the project, in the environment of this process. With `again`, what held is run all the same.
pub async fn perform(name: &str, project: &Path, again: bool) -> Verdict {
    let typechecks = Typechecks::of(project);
    match load(project).map(|checks| checker(name, &checks)) {
        Ok(Some((checker, seconds))) if again => told(&checker, seconds, typechecks.judge(&checker, seconds).await),
        _ => look(name, project, &typechecks).await,
    }
}

fn checker(name: &str, checks: &ProjectChecks) -> Option<(Checker, u64)> {
    let Some(ProjectCheck::Run { argv, timeout_seconds }) = checks.get(name) else { return None };
    let origin = Origin::Project(digest(checks)?);
    Some((Checker { commands: vec![argv.clone()], origin }, *timeout_seconds))
}

/// What a check of the project comes to for the files as they are. What held for the same content is not run again.
pub(crate) async fn look(name: &str, project: &Path, typechecks: &Typechecks) -> Verdict {
    let checks = match load(project) {
        Ok(checks) => checks,
        Err(error) => return unknown(format!("{}; {}", error.message, error.help)),
    };
    match checks.get(name) {
        None => Verdict::ForPerson { reason: missing(name) },
        Some(ProjectCheck::Absent) => {
            Verdict::Shown { reason: format!("this project has no `{name}`, as `{FILE}` says"), sets: None }
        }
        Some(ProjectCheck::Run { .. }) => match checker(name, &checks) {
            Some((checker, seconds)) => told(&checker, seconds, typechecks.held(&checker, seconds).await),
            None => unknown("there is no command"),
        },
    }
}

/// What is said of a check that the project says nothing of.
pub fn missing(name: &str) -> String {
    format!(
        "the project does not say how `{name}` is checked; a person writes it into `{FILE}`, \
         or `{name}: none` where there is no such check"
    )
}

fn told(checker: &Checker, seconds: u64, ran: Result<Ran, Unknown>) -> Verdict {
    match ran {
        Ok(Ran::Judged { verdict, .. }) if verdict.ok => Verdict::Held,
        Ok(Ran::Judged { verdict, output, .. }) => {
            let reason = format!("`{}` did not pass: {}", checker.shown(), verdict.summary);
            Verdict::Broken { reason, output }
        }
        Ok(Ran::TooLong) => broken(format!("`{}` ran longer than {seconds} s and was stopped", checker.shown())),
        Ok(Ran::NotConfigured) => unknown("there is no command"),
        Err(why) => unknown(why.why),
    }
}
