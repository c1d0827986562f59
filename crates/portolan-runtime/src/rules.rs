//! The rules of a project, from its files.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use portolan_core::diagnostic::Diagnostic;
use portolan_core::source::Source;
use portolan_gates::{Guidelines, guidelines};

use crate::disk;
use crate::error::{ErrorKind, ServiceError};
use crate::pins::{Pins, TrustedRules};
use crate::project_folder;

/// The file in which a project declares its rules.
pub const FILE: &str = ".portolan/guidelines.yaml";

/// The maximum number of faults in one error.
const MOST_TOLD: usize = 100;

/// Returns the rules of a project, or the default ones if it has none. If hooks are installed, the rules are those that
/// a person accepted, because a branch, or a changed index, may contain other files.
///
/// # Errors
/// They cannot be read, or have faults, which are all reported. Faulty rules must not count as the default ones.
pub fn rules(project: &Path) -> Result<Guidelines, ServiceError> {
    let Some(source) = source(project)? else { return Ok(Guidelines::default()) };
    let (rules, faults) = guidelines::read(&source);
    let errors: Vec<&Diagnostic> = faults.iter().filter(|fault| fault.is_error()).collect();
    if errors.is_empty() { Ok(rules) } else { Err(faulty(&source, &errors)) }
}

/// Returns the text of the rules that count, or `None` if there are none.
///
/// # Errors
/// It cannot be read, or is outside the project.
pub fn source(project: &Path) -> Result<Option<Source>, ServiceError> {
    match agreed(project)? {
        Some(agreed) => Ok(agreed.text.map(|text| Source::new(FILE, text))),
        None => written(project),
    }
}

/// Returns the rules that a person accepted, or `None` if no hooks are installed.
///
/// # Errors
/// The record of the installation cannot be read.
pub fn agreed(project: &Path) -> Result<Option<TrustedRules>, ServiceError> {
    let unreadable = |why| {
        let help = "ask a person to check it: `portolan doctor` shows what else is wrong";
        ServiceError::failed("pins_unreadable", format!("the rules that were agreed to are not known: {why}"), help)
    };
    Ok(Pins::around(project).map_err(unreadable)?.and_then(|(_, pins)| pins.rules))
}

/// Checks whether the file differs from the accepted rules.
pub fn is_departed(project: &Path) -> bool {
    let Ok(Some(agreed)) = agreed(project) else { return false };
    written(project).map_or(true, |written| written.map(|source| source.text.to_string()) != agreed.text)
}

/// Returns the text of a project's file of rules, or `None` if there is no file.
///
/// # Errors
/// It cannot be read, or is outside the project.
pub fn written(project: &Path) -> Result<Option<Source>, ServiceError> {
    let path = project.join(FILE);
    // A dangling symlink was meant to lead to rules, so it does not count as a missing file.
    match path.symlink_metadata() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(&format!("({error})"))),
        Ok(_) => {}
    }
    let within = |project: std::path::PathBuf| Ok(path.canonicalize()?.starts_with(project));
    match project.canonicalize().and_then(within) {
        Ok(true) => disk::source(&path).map(|text| Some(Source::new(FILE, text))),
        Ok(false) => Err(unreadable("because it is outside the project")),
        Err(error) => Err(unreadable(&format!("({error})"))),
    }
}

/// Creates the file of rules of a project that has none.
///
/// # Errors
/// There is one already, or it cannot be written.
pub fn begin(project: &Path, text: &str) -> Result<(), ServiceError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let help = "move it away first, or copy what is missing into it";
            ServiceError::refused("guidelines_exist", format!("`{FILE}` already exists"), help)
        }
        _ => {
            let message = format!("`{FILE}` cannot be written ({error})");
            ServiceError::failed("guidelines_unwritable", message, "check the permissions of the project")
        }
    };
    let path = project.join(FILE);
    path.parent().map_or(Ok(()), project_folder::make).map_err(failed)?;
    let mut file = File::options().write(true).create_new(true).open(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

fn unreadable(why: &str) -> ServiceError {
    let help = "make it a file inside the project, or delete it to use the default rules";
    ServiceError::failed("guidelines_unreadable", format!("`{FILE}` cannot be read {why}"), help)
}

fn faulty(source: &Source, faults: &[&Diagnostic]) -> ServiceError {
    let texts = faults.iter().take(MOST_TOLD).map(|fault| {
        let help = fault.help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
        format!("{}: {}{help}", source.place(fault.span.map_or(0, |span| span.start)), fault.message)
    });
    let more = match faults.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let message = format!("the rules of the project have faults: {}{more}", texts.collect::<Vec<_>>().join("; "));
    let help = format!("fix them; `portolan check {FILE}` shows where each one is");
    ServiceError::of(ErrorKind::InvalidDefinition, "guidelines_faulty", message, help)
}

#[cfg(test)]
mod tests {

    use std::fs;

    use super::*;

    fn project(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".portolan")).unwrap();
        fs::write(folder.path().join(FILE), text).unwrap();
        folder
    }

    #[test]
    fn rules_are_those_that_are_written_down_or_the_usual_ones() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(rules(empty.path()).unwrap(), Guidelines::default());
        let written = project("integration: trunk\n");
        assert_eq!(rules(written.path()).unwrap().integration, ["trunk"]);
    }

    #[test]
    fn rules_are_begun_once() {
        let folder = tempfile::tempdir().unwrap();
        begin(folder.path(), "strict: true\n").unwrap();
        assert!(rules(folder.path()).unwrap().strict);
        assert_eq!(begin(folder.path(), "").unwrap_err().code, "guidelines_exist");
        assert!(rules(folder.path()).unwrap().strict);
    }

    #[test]
    fn faults_are_told_all_at_once_and_are_never_the_usual_rules() {
        let error = rules(project("strikt: true\npolicies: {I-99: off}\n").path()).unwrap_err();
        assert_eq!((error.kind, error.code), (ErrorKind::InvalidDefinition, "guidelines_faulty"));
        for place in [".portolan/guidelines.yaml:1:1: ", ".portolan/guidelines.yaml:2:12: ", "did you mean `strict`?"] {
            assert!(error.message.contains(place), "{}", error.message);
        }
        let many: String = (0..200).map(|at| format!("x{at}: 1\n")).collect();
        assert!(rules(project(&many).path()).unwrap_err().message.ends_with("; and 100 more"));
    }

    #[cfg(unix)]
    #[test]
    fn rules_lie_in_the_project_and_are_a_file() {
        use std::os::unix::fs::symlink;
        let elsewhere = project("strict: true\n");
        for target in [elsewhere.path().join(FILE), "nowhere".into(), "/dev/zero".into()] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join(".portolan")).unwrap();
            symlink(&target, folder.path().join(FILE)).unwrap();
            assert_eq!(rules(folder.path()).unwrap_err().code, "guidelines_unreadable", "{}", target.display());
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(FILE)).unwrap();
        assert!(rules(folder.path()).is_err());
        // A symlink within the project is allowed.
        let folder = project("");
        fs::write(folder.path().join("rules.yaml"), "strict: true\n").unwrap();
        fs::remove_file(folder.path().join(FILE)).unwrap();
        symlink("../rules.yaml", folder.path().join(FILE)).unwrap();
        assert!(rules(folder.path()).unwrap().strict);
    }
}
