//! Decides when a run is written whole. Writing it with each record would cost the square of its length for a run with
//! much data. It is written when the records since the last time outweigh it, so a load reads at most about as much of
//! the journal, or a few records of a small run.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::RunId;

/// The sizes of the runs that this process writes, in bytes of JSON. For any other run, the next record writes the
/// whole.
#[derive(Default)]
pub(in crate::store) struct Sizes(Mutex<HashMap<RunId, Size>>);

/// The amount of a run that was written.
#[derive(Clone, Copy)]
struct Size {
    /// The size of the last whole write.
    whole: usize,
    /// The size of the records since then.
    since: usize,
}

impl Sizes {
    /// Checks whether a record of this size can be written without the whole run.
    pub(in crate::store) fn suffices(&self, id: &RunId, bytes: usize) -> bool {
        let mut sizes = self.lock();
        let Some(size) = sizes.get_mut(id) else { return false };
        size.since = size.since.saturating_add(bytes);
        size.since < size.whole.max(SMALL)
    }

    /// Notes that the run was written whole.
    pub(in crate::store) fn written(&self, id: &RunId, whole: usize) {
        let mut sizes = self.lock();
        if sizes.len() >= MOST {
            sizes.clear();
        }
        sizes.insert(id.clone(), Size { whole, since: 0 });
    }

    /// Forgets a run that was not written or is over.
    pub(in crate::store) fn forget(&self, id: &RunId) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Size>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The maximum number of runs with known sizes.
const MOST: usize = 4096;
/// The size of records, in bytes, that are read faster than a run is written.
const SMALL: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_written_whole_when_its_records_outweigh_it_and_two_kibibytes() {
        for (whole, expected) in [(100, 3), (2048, 3), (5000, 8)] {
            let (sizes, id) = (Sizes::default(), RunId::random());
            assert!(!sizes.suffices(&id, 600), "nothing is known of the run");
            sizes.written(&id, whole);
            assert_eq!((1..).take_while(|_| sizes.suffices(&id, 600)).count(), expected, "{whole}");
            sizes.forget(&id);
            assert!(!sizes.suffices(&id, 1), "another may write it meanwhile");
        }
    }
}
