//! The files of a definition are written as a person wants them, and never over what somebody else has written meanwhile.

use std::path::{Path, PathBuf};

use portolan_core::source::{MAX_SOURCE_BYTES, NamedText, Source};

use super::file::Locked;
use crate::digest::Digest;
use crate::error::ServiceError;
use crate::library::{Library, Origin, read_definition, rewritten};

/// A definition on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnDisk {
    /// What its texts are known by: it changes with every byte of them.
    pub revision: Digest,
    /// Its files, each with its name and its text.
    pub files: Vec<(String, String)>,
}

/// What became of a wish to write.
#[derive(Debug)]
pub enum Saved {
    /// It is written.
    Written(OnDisk),
    /// Somebody else has written it meanwhile: it is like this now, and was left so.
    Changed(OnDisk),
}

impl OnDisk {
    /// A definition as it is now.
    ///
    /// # Errors
    /// It is not known, is none of a file that may be written, or cannot be read.
    pub fn of(library: &Library, id: &str) -> Result<OnDisk, ServiceError> {
        let (known, origin) = library.text(id)?;
        if origin == Origin::Catalog {
            let message = format!("`{id}` comes with Portolan, and is not changed");
            let help = format!("copy it into the project first: `portolan catalog copy {id}`");
            return Err(ServiceError::refused("not_yours", message, help));
        }
        OnDisk::at(Path::new(&*known.name))
    }

    /// The definition in a file as it is now: what is remembered of it may be older than what stands there.
    pub(super) fn at(file: &Path) -> Result<OnDisk, ServiceError> {
        Ok(OnDisk::read(&read_definition(file)?))
    }

    /// The files of a source that was read.
    pub fn read(source: &Source) -> OnDisk {
        OnDisk { revision: Digest::of(&*source.text), files: source.texts() }
    }
}

/// Writes the files of a definition, where these are still what `revision` names: only those that are others. An activity
/// that is a file of its own comes where there was none, and goes where it has no text any more. A text may have faults;
/// whoever wants it has seen them.
///
/// # Errors
/// It is not known, may not be written, or these cannot be its files: then none is written. Where the disk refuses in the
/// middle, each file is whole, as it was or as it is wanted.
pub async fn save(library: &Library, id: &str, revision: &str, files: Vec<NamedText>) -> Result<Saved, ServiceError> {
    let before = OnDisk::of(library, id)?;
    let file = PathBuf::from(&before.files[0].0);
    save_at(&file, revision, files).await
}

/// The same for the definition in a file, whether or not it is one of the library's.
pub(super) async fn save_at(file: &Path, revision: &str, files: Vec<NamedText>) -> Result<Saved, ServiceError> {
    let source = read_definition(file)?;
    let before = OnDisk::read(&source);
    if before.revision.as_str() != revision {
        return Ok(Saved::Changed(before));
    }
    if let Some((name, _)) = files.iter().find(|(_, text)| text.as_ref().is_some_and(|it| it.len() > MAX_SOURCE_BYTES))
    {
        let message = format!("`{name}` would have more than {MAX_SOURCE_BYTES} bytes, and could not be read again");
        return Err(ServiceError::refused("too_large", message, "move parts of it into another definition"));
    }
    rewritten(&source, files.clone())?;
    // All of them are held and looked at before any is written.
    let (mut held, mut changes) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let known = before.files.iter().find(|(known, _)| *known == name).map(|(_, text)| text);
        if known == text.as_ref() {
            continue;
        }
        let locked = Locked::among(&held, Path::new(&name)).await?;
        let raw = locked.read()?;
        if raw.as_ref().map(|raw| raw.strip_prefix(MARK).unwrap_or(raw)) != known.map(String::as_str) {
            return changed(file, &name);
        }
        locked.may_be_written()?;
        changes.push(Change { nth: held.len(), name, text: text.map(|text| marked(raw.as_deref(), text)), raw });
        held.push(locked);
    }
    // Nothing names an activity that is not there, whenever this ends: what comes is written first, and what goes is
    // taken away last.
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
    Ok(Saved::Written(OnDisk::at(file)?))
}

/// A file that is to be written: as it was read, and as it is wanted.
struct Change {
    nth: usize,
    name: String,
    raw: Option<String>,
    text: Option<String>,
}

/// Somebody else has written the file called `name`. One that is not read as a part of the definition is in the way: to look
/// at the definition again would not show it.
fn changed(file: &Path, name: &str) -> Result<Saved, ServiceError> {
    let now = OnDisk::at(file)?;
    let is_in_the_way = now.files.iter().all(|(known, _)| known != name) && Path::new(name).symlink_metadata().is_ok();
    if is_in_the_way {
        let message =
            format!("`{name}` is there already, and cannot be read as an activity; nothing was written over it");
        return Err(ServiceError::refused(
            "file_exists",
            message,
            "move it away, or mend it and load the definition again",
        ));
    }
    Ok(Saved::Changed(now))
}

/// What a text may begin with that no reader counts.
pub(crate) const MARK: &str = "\u{feff}";

fn marked(before: Option<&str>, text: String) -> String {
    if before.is_some_and(|before| before.starts_with(MARK)) { [MARK, &text].concat() } else { text }
}
