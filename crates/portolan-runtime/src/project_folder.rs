//! `.portolan`, the folder for Portolan's files in a project. It is created for its owner alone, and git tracks only
//! the files in it that are meant to be shared.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use portolan_core::diagnostic::Diagnostic;
use portolan_core::source::Source;
use portolan_gates::OPEN;

use crate::disk::{NoTurn, WAIT, private_folder, turn};
use crate::error::{ErrorKind, ServiceError};

/// The `.gitignore` of the folder. It ignores everything but the shared files.
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

/// The text of earlier versions, with fewer shared files.
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

/// Creates the folder `folder` and its parents. Only one called `.portolan` gets a `.gitignore`.
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

/// Acquires the lock of a project's state, which is released when the file is dropped. Creates the folder if it is
/// missing.
pub(crate) async fn turn_in(project: &Path) -> Result<File, ServiceError> {
    let folder = project.join(".portolan");
    make(&folder).map_err(|error| unwritable(&folder, &error))?;
    turn(&folder, WAIT).await.map_err(|why| {
        let why = match why {
            NoTurn::Failed(error) => error.to_string(),
            NoTurn::Late(path) => format!("another process holds `{}`", path.display()),
        };
        let message = format!("`{}` cannot be locked: {why}", folder.display());
        ServiceError::failed("not_locked", message, "try again; keep the project on a disk whose files can be locked")
    })
}

/// Returns the text of a shared file of the project, of at most `most` bytes, or `None` if there is none.
///
/// # Errors
/// Why it cannot be read, in a few words.
pub(crate) fn text(project: &Path, file: &str, most: u64) -> Result<Option<String>, String> {
    let file = match File::open(project.join(file)) {
        Ok(file) => file,
        // A file in place of the folder contains nothing either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err("it is not a regular file".to_owned());
    }
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    match text.len() as u64 > most {
        true => Err(format!("it has more than {most} bytes")),
        false => Ok(Some(text)),
    }
}

/// Returns one error for all faults of such a file that are errors, or `None` if there are none.
pub(crate) fn faulty(source: &Source, faults: &[Diagnostic], code: &'static str, help: &str) -> Option<ServiceError> {
    let texts = faults.iter().filter(|fault| fault.is_error()).map(|fault| {
        let place = fault.span.map_or_else(String::new, |span| format!("line {}: ", source.location(span.start).line));
        format!("{place}{}", fault.message)
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        return None;
    }
    let message = format!("`{}` has faults: {}", source.name, texts.join("; "));
    Some(ServiceError::of(ErrorKind::InvalidDefinition, code, message, help))
}

/// Returns the error for a file of the folder that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> ServiceError {
    let message = format!("`{}` cannot be written: {error}", path.display());
    ServiceError::failed("read_only", message, "make the project writable, or work in a copy of it")
}

/// Removes the folder if it contains nothing but its `.gitignore`.
pub fn clear(folder: &Path) {
    // The sandbox creates these folders for agents. Folders with contents stay.
    for pattern in OPEN {
        let name = pattern.trim_start_matches(".portolan/").trim_end_matches("/**");
        let _ = fs::remove_dir(folder.join(name));
    }
    let ignored = folder.join(".gitignore");
    let alone = fs::read_dir(folder).is_ok_and(|entries| entries.count() == 1);
    if alone && fs::read_to_string(&ignored).is_ok_and(|text| text == IGNORED) {
        let _ = fs::remove_file(&ignored);
    }
    // It may contain runs and issues.
    let _ = fs::remove_dir(folder);
}

fn tell_git(path: &Path) -> io::Result<()> {
    match fs::read_to_string(path) {
        Ok(text) if !EARLIER.contains(&text.as_str()) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Ok(()),
        _ => fs::write(path, IGNORED),
    }
}
