//! Writes the files of a definition for a person, and never overwrites changes that were made meanwhile.

use std::path::{Path, PathBuf};

use portolan_core::source::{MAX_SOURCE_BYTES, NamedText, Source};

use super::file::LockedFile;
use crate::digest::Digest;
use crate::error::ServiceError;
use crate::library::{Library, Origin, read_definition, rewritten};

/// A definition on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnDisk {
    /// The revision of its texts: it changes with every byte of them.
    pub revision: Digest,
    /// Its files, each with its name and its text.
    pub files: Vec<(String, String)>,
}

/// The result of a save.
#[derive(Debug)]
pub enum SaveResult {
    /// The files are written.
    Written(OnDisk),
    /// The files have been changed meanwhile. They are returned, and were not overwritten.
    Changed(OnDisk),
}

impl OnDisk {
    /// Returns a definition as it is now.
    ///
    /// # Errors
    /// It is unknown, is in no file that may be written, or cannot be read.
    pub fn of(library: &Library, id: &str) -> Result<OnDisk, ServiceError> {
        let (known, origin) = library.text(id)?;
        if origin == Origin::Catalog {
            let message = format!("`{id}` comes with Portolan, and cannot be changed");
            let help = format!("copy it into the project first: `portolan catalog copy {id}`");
            return Err(ServiceError::refused("not_yours", message, help));
        }
        OnDisk::at(Path::new(&*known.name))
    }

    /// Reads the definition in a file: a cached text may be outdated.
    pub(super) fn at(file: &Path) -> Result<OnDisk, ServiceError> {
        Ok(OnDisk::read(&read_definition(file)?))
    }

    /// Returns the files of a source.
    pub fn read(source: &Source) -> OnDisk {
        OnDisk { revision: Digest::of(&*source.text), files: source.texts() }
    }
}

/// Writes the changed files of a definition, if it still has this revision. An activity file is created if there was
/// none, and removed if it has no text. A text may have faults: the caller has seen them.
///
/// # Errors
/// It is unknown, may not be written, or these cannot be its files: then none is written. If the disk fails in the
/// middle, each file is intact, with its old or its new text.
pub async fn save(
    library: &Library,
    id: &str,
    revision: &str,
    files: Vec<NamedText>,
) -> Result<SaveResult, ServiceError> {
    let before = OnDisk::of(library, id)?;
    let file = PathBuf::from(&before.files[0].0);
    save_at(&file, revision, files).await
}

/// Does the same for the definition in a file, which need not belong to the library.
pub(super) async fn save_at(file: &Path, revision: &str, files: Vec<NamedText>) -> Result<SaveResult, ServiceError> {
    let source = read_definition(file)?;
    let before = OnDisk::read(&source);
    if before.revision.as_str() != revision {
        return Ok(SaveResult::Changed(before));
    }
    if let Some((name, _)) = files.iter().find(|(_, text)| text.as_ref().is_some_and(|it| it.len() > MAX_SOURCE_BYTES))
    {
        let message = format!("`{name}` would have more than {MAX_SOURCE_BYTES} bytes, and could not be read again");
        return Err(ServiceError::refused("too_large", message, "move parts of it into another definition"));
    }
    rewritten(&source, files.clone())?;
    // All of them are locked and checked before any is written.
    let (mut held, mut changes) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let known = before.files.iter().find(|(known, _)| *known == name).map(|(_, text)| text);
        if known == text.as_ref() {
            continue;
        }
        let locked = LockedFile::among(&held, Path::new(&name)).await?;
        let raw = locked.read()?;
        if raw.as_ref().map(|raw| raw.strip_prefix(MARK).unwrap_or(raw)) != known.map(String::as_str) {
            return changed(file, &name);
        }
        locked.may_be_written()?;
        changes.push(Change { nth: held.len(), name, text: text.map(|text| marked(raw.as_deref(), text)), raw });
        held.push(locked);
    }
    // New files are written first and removed files last, so that no file refers to a missing activity at any time.
    changes.sort_by_key(|change| (change.raw.is_some(), change.text.is_none()));
    for Change { nth, name, raw, text } in &changes {
        let is_done = match (text, raw) {
            (Some(text), raw) => held[*nth].replace(raw.as_deref(), text)?,
            (None, Some(raw)) => held[*nth].remove(raw)?,
            (None, None) => true,
        };
        if !is_done {
            return changed(file, name);
        }
    }
    Ok(SaveResult::Written(OnDisk::at(file)?))
}

/// A file to write: its old and its new text.
struct Change {
    nth: usize,
    name: String,
    raw: Option<String>,
    text: Option<String>,
}

/// Returns the result if the file called `name` has been changed meanwhile. A file that is not read as a part of the
/// definition is an error, because reading the definition again would not show it.
fn changed(file: &Path, name: &str) -> Result<SaveResult, ServiceError> {
    let now = OnDisk::at(file)?;
    let is_in_the_way = now.files.iter().all(|(known, _)| known != name) && Path::new(name).symlink_metadata().is_ok();
    if is_in_the_way {
        let message = format!("`{name}` already exists and cannot be read as an activity; it was not overwritten");
        return Err(ServiceError::refused(
            "file_exists",
            message,
            "move it away, or fix it and load the definition again",
        ));
    }
    Ok(SaveResult::Changed(now))
}

/// The byte order mark, which a text may begin with.
pub(crate) const MARK: &str = "\u{feff}";

fn marked(before: Option<&str>, text: String) -> String {
    if before.is_some_and(|before| before.starts_with(MARK)) { [MARK, &text].concat() } else { text }
}
