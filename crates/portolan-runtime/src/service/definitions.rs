//! The definitions of runs, by digest: in memory while they are used, and in the store. A run in the store is created
//! with its definition. Definitions that task files and tokens name are stored first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Service;
use crate::carrier::token::Fingerprint;
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::store::{Digest, StoreError, store_error};

/// The definitions in memory.
#[derive(Default)]
pub(super) struct PinnedDefinitions {
    known: Mutex<BTreeMap<Digest, Arc<Definition>>>,
}

/// The maximum number of definitions in memory. Beyond that, the cache is cleared.
const MAX_KNOWN: usize = 256;

impl PinnedDefinitions {
    pub(super) fn remember(&self, definition: Arc<Definition>) {
        let mut known = self.known();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(definition.digest.clone(), definition);
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Digest, Arc<Definition>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Returns the definition with this digest. `None` if it is not stored.
    pub(super) async fn pinned(&self, digest: &Digest) -> Result<Option<Arc<Definition>>, ServiceError> {
        if let Some(definition) = self.pinned.known().get(digest) {
            return Ok(Some(definition.clone()));
        }
        match self.store().definition(digest).await {
            Ok(text) => self.take_up_definition(digest, &text).map(Some),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(store_error(error)),
        }
    }

    /// Returns the definition that a token names by half of its digest.
    pub(super) async fn pinned_like(&self, wanted: &Fingerprint) -> Result<Option<Arc<Definition>>, ServiceError> {
        let is_wanted = |(digest, _): &(&Digest, &Arc<Definition>)| Fingerprint::of(digest) == *wanted;
        let known = self.pinned.known().iter().find(is_wanted).map(|(_, definition)| definition.clone());
        if known.is_some() {
            return Ok(known);
        }
        match self.store().definition_like(&wanted.to_string()).await.map_err(store_error)? {
            Some(digest) => self.pinned(&digest).await,
            None => Ok(None),
        }
    }

    /// Stores the definition of a run outside the store, before the run names it.
    pub(super) async fn pin(&self, definition: &Arc<Definition>) -> Result<(), ServiceError> {
        self.store().keep_definition(&definition.digest, &definition.text).await.map_err(store_error)?;
        self.pinned.remember(definition.clone());
        Ok(())
    }

    /// Checks a stored text, and caches its definition.
    fn take_up_definition(&self, digest: &Digest, text: &str) -> Result<Arc<Definition>, ServiceError> {
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
        self.pinned.remember(definition.clone());
        Ok(definition)
    }
}
