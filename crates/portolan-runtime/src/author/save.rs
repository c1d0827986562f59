//! The files of a definition are written as a person wants them, and never over what somebody else has written meanwhile.

use std::path::{Path, PathBuf};

use portolan_core::source::{MAX_SOURCE_BYTES, Source};

use super::file::Locked;
use crate::digest::Digest;
use crate::error::ServiceError;
use crate::library::{Library, Origin, read_definition};

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

/// Writes the texts of a definition's files, where these are still what `revision` names: only those that are others. A
/// text may have faults; whoever wants it has seen them.
///
/// # Errors
/// It is not known, may not be written, or has other files than there are texts: then none is written. Where the disk
/// refuses in the middle, each file is whole, as it was or as it is wanted.
pub async fn save(library: &Library, id: &str, revision: &str, texts: &[String]) -> Result<Saved, ServiceError> {
    let before = OnDisk::of(library, id)?;
    write(before, revision, texts).await
}

/// The same for the definition in a file, whether or not it is one of the library's.
pub(super) async fn save_at(file: &Path, revision: &str, texts: &[String]) -> Result<Saved, ServiceError> {
    write(OnDisk::at(file)?, revision, texts).await
}

async fn write(before: OnDisk, revision: &str, texts: &[String]) -> Result<Saved, ServiceError> {
    if before.revision.as_str() != revision {
        return Ok(Saved::Changed(before));
    }
    let file = PathBuf::from(&before.files[0].0);
    if before.files.len() != texts.len() {
        let message = format!("`{}` has {} files, and {} texts came", file.display(), before.files.len(), texts.len());
        return Err(ServiceError::refused("other_files", message, "load it again: its files are others by now"));
    }
    let mut named = before.files.iter().zip(texts);
    if let Some(((name, _), _)) = named.find(|(_, text)| text.len() > MAX_SOURCE_BYTES) {
        let message = format!("`{name}` would have more than {MAX_SOURCE_BYTES} bytes, and could not be read again");
        return Err(ServiceError::refused("too_large", message, "move parts of it into another definition"));
    }
    // All of them are held and looked at before any is written.
    let (mut held, mut wanted) = (Vec::new(), Vec::new());
    for ((name, known), text) in before.files.iter().zip(texts).filter(|((_, known), text)| known != *text) {
        let locked = Locked::among(&held, Path::new(name)).await?;
        let raw = locked.read()?.unwrap_or_default();
        if raw.strip_prefix(MARK).unwrap_or(&raw) != known {
            return Ok(Saved::Changed(OnDisk::at(&file)?));
        }
        locked.may_be_written()?;
        wanted.push((marked(&raw, text), raw));
        held.push(locked);
    }
    for (locked, (text, raw)) in held.iter_mut().zip(&wanted) {
        if !locked.replace(Some(raw), text)? {
            return Ok(Saved::Changed(OnDisk::at(&file)?));
        }
    }
    Ok(Saved::Written(OnDisk::at(&file)?))
}

/// What a text may begin with that no reader counts.
pub(crate) const MARK: &str = "\u{feff}";

fn marked(before: &str, text: &str) -> String {
    if before.starts_with(MARK) { [MARK, text].concat() } else { text.to_owned() }
}
