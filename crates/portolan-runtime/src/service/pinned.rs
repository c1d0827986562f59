//! The definitions that runs are held to, by digest: in memory while they are used, and for runs in task files also
//! under `.portolan/definitions`. Runs in the store have theirs there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::carrier::token::Fingerprint;
use crate::definition::Definition;
use crate::disk::Fresh;
use crate::error::{ServiceError, plain};
use crate::project_folder;
use crate::store::Digest;

pub(super) struct Pinned {
    folder: PathBuf,
    known: Mutex<BTreeMap<Digest, Arc<Definition>>>,
}

/// How many definitions are kept in memory: beyond that, the cache begins anew.
const MAX_KNOWN: usize = 256;

impl Pinned {
    pub(super) fn new(folder: PathBuf) -> Pinned {
        Pinned { folder, known: Mutex::default() }
    }

    pub(super) fn known(&self, digest: &Digest) -> Option<Arc<Definition>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    pub(super) fn remember(&self, definition: Arc<Definition>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(definition.digest.clone(), definition);
    }

    /// Takes up a stored text and remembers it.
    pub(super) fn take_up(&self, digest: &Digest, text: &str) -> Result<Arc<Definition>, ServiceError> {
        let damaged = |message: String| {
            ServiceError::failed(
                "definition_damaged",
                message,
                "restore the store or the `.portolan` folder from a backup",
            )
        };
        if Digest::of(text) != *digest {
            return Err(damaged(format!("the stored definition `{digest}` is not the one that the run began with")));
        }
        let definition = Arc::new(Definition::from_text(text).map_err(damaged)?);
        self.remember(definition.clone());
        Ok(definition)
    }

    /// The definition of a run in a task file.
    pub(super) fn read(&self, digest: &Digest) -> Result<Option<Arc<Definition>>, ServiceError> {
        if let Some(definition) = self.known(digest) {
            return Ok(Some(definition));
        }
        match std::fs::read_to_string(self.path(digest)) {
            Ok(text) => self.take_up(digest, &text).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(digest, &error)),
        }
    }

    /// The definition that a token names by half of its digest.
    pub(super) fn by_fingerprint(&self, wanted: &Fingerprint) -> Result<Option<Arc<Definition>>, ServiceError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, definition)) = known.iter().find(|(digest, _)| Fingerprint::of(digest) == *wanted) {
            return Ok(Some(definition.clone()));
        }
        drop(known);
        let beginning = wanted.to_string();
        // A folder that cannot be read holds nothing that could be gone on with.
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let digest = names
            .filter_map(|name| Digest::try_from(name.strip_suffix(".json")?.to_owned()).ok())
            .find(|digest| digest.as_str().starts_with(&beginning));
        digest.map_or(Ok(None), |digest| self.read(&digest))
    }

    /// Keeps the definition of a run in a task file, before the file names it.
    pub(super) fn keep(&self, definition: &Arc<Definition>) -> Result<(), ServiceError> {
        if self.path(&definition.digest).exists() {
            self.remember(definition.clone());
            return Ok(());
        }
        self.replace(definition)
    }

    /// Writes the definition, over a copy that is damaged.
    pub(super) fn replace(&self, definition: &Arc<Definition>) -> Result<(), ServiceError> {
        let path = self.path(&definition.digest);
        self.write(&path, &definition.text).map_err(|error| self.failed(&definition.digest, &error))?;
        self.remember(definition.clone());
        Ok(())
    }

    fn write(&self, path: &std::path::Path, text: &str) -> std::io::Result<()> {
        if let Some(outer) = self.folder.parent() {
            project_folder::make(outer)?;
        }
        std::fs::create_dir_all(&self.folder)?;
        Fresh::beside(path, text.as_bytes())?.replace(path)
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(format!("{digest}.json"))
    }

    fn failed(&self, digest: &Digest, error: &std::io::Error) -> ServiceError {
        let message = format!("`{}` cannot be used: {}", self.path(digest).display(), plain(error));
        ServiceError::failed(
            "definition_unavailable",
            message,
            "make the project's folder readable and writable, or free some space",
        )
    }
}
