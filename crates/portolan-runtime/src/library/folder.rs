//! Files of a folder of workflows: `<id>.json`, or `<id>/workflow.json`; where both are there, the flat one counts.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use portolan_core::source::{MAX_SOURCE_BYTES, Source};

use crate::service::ServiceError;

/// A file that holds a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The id that its name gives it.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
}

/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The workflows at a path: the file itself, or those of the folder, in alphabetical order.
///
/// # Errors
/// There is nothing at the path, or it cannot be read.
pub fn workflow_files(path: &Path) -> Result<Vec<Found>, ServiceError> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !metadata.is_dir() {
        return Ok(vec![Found { id: id_of(path), path: path.to_owned() }]);
    }
    let mut found: Vec<Found> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| unreadable(path, &error))?.take(MAX_ENTRIES) {
        let entry = entry.map_err(|error| unreadable(path, &error))?.path();
        let nested = entry.join("workflow.json");
        if entry.extension().is_some_and(|extension| extension == "json") && !entry.is_dir() {
            let id = id_of(&entry);
            found.retain(|other| other.id != id);
            found.push(Found { id, path: entry });
        } else if nested.is_file() {
            let id = id_of(&nested);
            if !found.iter().any(|other| other.id == id) {
                found.push(Found { id, path: nested });
            }
        }
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

fn id_of(path: &Path) -> String {
    Source::new(path.to_string_lossy().into_owned(), "").stem().unwrap_or("workflow").to_owned()
}

/// Reads a definition, but never more than may be read.
///
/// # Errors
/// It cannot be read, is too large, or is not UTF-8.
pub fn read_definition(path: &Path) -> Result<Source, ServiceError> {
    Ok(Source::new(path.to_string_lossy().into_owned(), read_text(path)?))
}

/// The whole text of a definition, a byte order mark included.
pub(crate) fn read_text(path: &Path) -> Result<String, ServiceError> {
    let file = open(path).map_err(|error| unreadable(path, &error))?;
    let is_file = file.metadata().map_err(|error| unreadable(path, &error))?.is_file();
    if !is_file {
        let message = format!("`{}` is not a file", path.display());
        return Err(ServiceError::failed("unreadable", message, "name a JSON file, or a folder of them"));
    }
    let mut bytes = Vec::new();
    let limit = MAX_SOURCE_BYTES as u64 + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() > MAX_SOURCE_BYTES {
        let message = format!("`{}` has more than {MAX_SOURCE_BYTES} bytes", path.display());
        return Err(ServiceError::failed("too_large", message, "split it: a subflow can stand in a file of its own"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("`{}` is not UTF-8: byte {at} begins no character", path.display());
        ServiceError::failed("not_utf8", message, "save it as UTF-8")
    })
}

/// Never waits: opening a pipe would wait for its writer.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

fn unreadable(path: &Path, error: &std::io::Error) -> ServiceError {
    let message = format!("`{}` cannot be read: {}", path.display(), plain(error));
    ServiceError::failed("unreadable", message, "check the path and its permissions")
}

/// The operating system's own words, without Rust's number for them.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
