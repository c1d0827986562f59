//! The definitions of runs that live elsewhere, in task files and tokens: a folder beside the runs, with a file for each,
//! named by its digest. Whoever carries such a run to another machine may carry the folder along.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Digest, StoreError};
use crate::disk::Fresh;
use crate::error::plain;
use crate::project_folder;

/// A folder of definitions, which need not be there.
#[derive(Clone, Debug)]
pub(super) struct Definitions {
    folder: PathBuf,
}

impl Definitions {
    pub(super) fn in_folder(folder: PathBuf) -> Definitions {
        Definitions { folder }
    }

    /// The definition from here, where it is whole; or else the one that `other` has, where that is kept.
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
            // A damaged copy is given as it is: whoever checks it says that it was there.
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

    /// The digest of a definition here that begins like this.
    pub(super) fn beginning_with(&self, beginning: &str) -> Option<Digest> {
        // A folder that cannot be read holds nothing that could be gone on with.
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut digests = names.filter_map(|name| Digest::try_from(name.strip_suffix(".json")?.to_owned()).ok());
        digests.find(|digest| digest.as_str().starts_with(beginning))
    }

    /// Writes a definition, over a copy that is damaged.
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
