//! The definitions of runs outside the store, in task files and tokens: a folder beside the runs with a file for each
//! definition, named by its digest. The folder can be copied to another machine together with such runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Digest, StoreError};
use crate::disk::Fresh;
use crate::error::plain;
use crate::project_folder;

/// A folder of definitions, which need not exist.
#[derive(Clone, Debug)]
pub(super) struct Definitions {
    folder: PathBuf,
}

impl Definitions {
    pub(super) fn in_folder(folder: PathBuf) -> Definitions {
        Definitions { folder }
    }

    /// Returns the definition from this folder if it is intact, or else the one that `other` has.
    pub(super) async fn or_else(
        &self,
        digest: &Digest,
        other: impl Future<Output = Result<Arc<str>, StoreError>>,
    ) -> Result<Arc<str>, StoreError> {
        let here = self.read(digest);
        if matches!(&here, Ok(Some(text)) if Digest::of(&**text) == *digest) {
            return here.map(|text| text.expect("it was just read"));
        }
        match other.await {
            // A damaged copy is returned as it is: the caller's check reports the damage.
            Err(error @ StoreError::NotFound { .. }) => here?.ok_or(error),
            found => found,
        }
    }

    fn read(&self, digest: &Digest) -> Result<Option<Arc<str>>, StoreError> {
        match std::fs::read_to_string(self.path(digest)) {
            Ok(text) => Ok(Some(text.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(digest, &error)),
        }
    }

    /// Returns the digest of a definition here that begins like this.
    pub(super) fn beginning_with(&self, beginning: &str) -> Option<Digest> {
        // A folder that cannot be read has no usable definition.
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut digests = names.filter_map(|name| Digest::try_from(name.strip_suffix(".json")?.to_owned()).ok());
        digests.find(|digest| digest.as_str().starts_with(beginning))
    }

    /// Writes a definition. Replaces a damaged copy.
    pub(super) fn keep(&self, digest: &Digest, text: &str) -> Result<(), StoreError> {
        let path = self.path(digest);
        if std::fs::read(&path).is_ok_and(|kept| kept == text.as_bytes()) {
            return Ok(());
        }
        self.write(&path, text).map_err(|error| self.failed(digest, &error))
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        if let Some(outer) = self.folder.parent() {
            project_folder::make(outer)?;
        }
        std::fs::create_dir_all(&self.folder)?;
        Fresh::beside(path, text.as_bytes())?.replace(path)
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(format!("{digest}.json"))
    }

    fn failed(&self, digest: &Digest, error: &io::Error) -> StoreError {
        StoreError::Failed {
            code: "definition_unavailable",
            message: format!("`{}` cannot be used: {}", self.path(digest).display(), plain(error)),
            help: "make the project's folder readable and writable, or free some space".to_owned(),
        }
    }
}
