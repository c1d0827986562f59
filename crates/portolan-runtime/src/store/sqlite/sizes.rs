//! When a run is written whole. Written with each record, a run that remembers much costs the square of its length; so it is
//! written when what was appended since outweighs it, and whoever loads it reads at most about as much of its journal.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::RunId;

/// What is known of the runs that this process writes, in bytes of JSON. Of all others the next record writes the whole.
#[derive(Default)]
pub(super) struct Sizes(Mutex<HashMap<RunId, Size>>);

/// How much of a run was written.
#[derive(Clone, Copy)]
struct Size {
    /// When it was last written whole.
    whole: usize,
    /// Since then, in records.
    since: usize,
}

impl Sizes {
    /// Whether a record of so many bytes is written without the whole run.
    pub(super) fn suffices(&self, id: &RunId, bytes: usize) -> bool {
        let mut sizes = self.lock();
        let Some(size) = sizes.get_mut(id) else { return false };
        size.since = size.since.saturating_add(bytes);
        size.since < size.whole
    }

    /// It is written whole.
    pub(super) fn written(&self, id: &RunId, whole: usize) {
        let mut sizes = self.lock();
        if sizes.len() >= MOST {
            sizes.clear();
        }
        sizes.insert(id.clone(), Size { whole, since: 0 });
    }

    /// It was not written after all, or is over.
    pub(super) fn forget(&self, id: &RunId) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Size>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of so many runs sizes are known at a time.
const MOST: usize = 4096;
