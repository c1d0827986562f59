//! `.portolan`, the folder of a project that Portolan keeps its own in: made where it is missing, for its owner alone, and
//! known to git as far as its contents belong to everybody.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use portolan_core::diagnostic::Diagnostic;
use portolan_core::source::Source;
use portolan_gates::OPEN;

use crate::disk::{NoTurn, WAIT, private_folder, turn};
use crate::error::{ErrorKind, ServiceError};

/// What git is told of the folder: nothing in it is for others but what a project writes down for everybody.
const IGNORED: &str = "\
# Runs, logs and verdicts belong to this checkout alone; rules and records belong to everybody.
*
!/guidelines.yaml
!/merge-policy.yaml
!/plugins.yaml
!/checks.yaml
!/verify.yaml
!/issues/
!/issues/*
!/reviews/
!/reviews/*
";

/// What was written there before there was all of that for everybody.
const EARLIER: [&str; 2] = [
    "*\n",
    "\
# Runs, logs and verdicts belong to this checkout alone; rules and records belong to everybody.
*
!/guidelines.yaml
!/merge-policy.yaml
!/plugins.yaml
!/checks.yaml
!/issues/
!/issues/*
!/reviews/
!/reviews/*
",
];

/// Makes the folder `folder`, with everything around it. Only one that is called `.portolan` is told to git.
///
/// # Errors
/// It cannot be written.
pub fn make(folder: &Path) -> io::Result<()> {
    if !folder.is_dir() {
        private_folder(folder)?;
    }
    if folder.file_name().is_some_and(|name| name == ".portolan") {
        tell_git(&folder.join(".gitignore"))?;
    }
    Ok(())
}

/// Waits for the turn to change what is kept of a project; it is over when the file is dropped. The folder is made where
/// it is missing.
pub(crate) async fn turn_in(project: &Path) -> Result<File, ServiceError> {
    let folder = project.join(".portolan");
    make(&folder).map_err(|error| unwritable(&folder, &error))?;
    turn(&folder, WAIT).await.map_err(|why| {
        let why = match why {
            NoTurn::Failed(error) => error.to_string(),
            NoTurn::Late(path) => format!("somebody else keeps `{}`", path.display()),
        };
        let message = format!("`{}` cannot be locked: {why}", folder.display());
        ServiceError::failed("not_locked", message, "try again; keep the project on a disk whose files can be locked")
    })
}

/// The text of a file that a project writes down for everybody, no longer than `most` bytes; nothing where there is none.
///
/// # Errors
/// Why it cannot be read, in a few words.
pub(crate) fn text(project: &Path, file: &str, most: u64) -> Result<Option<String>, String> {
    let file = match File::open(project.join(file)) {
        Ok(file) => file,
        // In a file where the folder should be there is nothing either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err("it is no regular file".to_owned());
    }
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    match text.len() as u64 > most {
        true => Err(format!("it has more than {most} bytes")),
        false => Ok(Some(text)),
    }
}

/// The errors among the faults of such a file in one refusal; nothing where there are none.
pub(crate) fn faulty(source: &Source, faults: &[Diagnostic], code: &'static str, help: &str) -> Option<ServiceError> {
    let told = faults.iter().filter(|fault| fault.is_error()).map(|fault| {
        let place = fault.span.map_or_else(String::new, |span| format!("line {}: ", source.location(span.start).line));
        format!("{place}{}", fault.message)
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return None;
    }
    let message = format!("`{}` has faults: {}", source.name, told.join("; "));
    Some(ServiceError::of(ErrorKind::InvalidDefinition, code, message, help))
}

/// What is said where something of the folder cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> ServiceError {
    let message = format!("`{}` cannot be written: {error}", path.display());
    ServiceError::failed("read_only", message, "make the project writable, or work in a copy of it")
}

/// Takes the folder away again where nothing is in it but what git is told of it.
pub fn clear(folder: &Path) {
    // The sandbox makes them for agents; what has something in it stays.
    for pattern in OPEN {
        let name = pattern.trim_start_matches(".portolan/").trim_end_matches("/**");
        let _ = fs::remove_dir(folder.join(name));
    }
    let ignored = folder.join(".gitignore");
    let alone = fs::read_dir(folder).is_ok_and(|entries| entries.count() == 1);
    if alone && fs::read_to_string(&ignored).is_ok_and(|text| text == IGNORED) {
        let _ = fs::remove_file(&ignored);
    }
    // Runs and issues may be in it.
    let _ = fs::remove_dir(folder);
}

fn tell_git(path: &Path) -> io::Result<()> {
    match fs::read_to_string(path) {
        Ok(text) if !EARLIER.contains(&text.as_str()) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Ok(()),
        _ => fs::write(path, IGNORED),
    }
}
