//! What a store says about itself: its version, its size, and what it contains.

use serde::Serialize;

use super::{PageRequest, RunId, Store, StoreError};

/// The state of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// Whether there is a store. The first run creates one.
    pub exists: bool,
    /// The version of its tables. `None` if it has no versions.
    pub schema: Option<SchemaVersion>,
    /// The reason why it cannot be written, if it can only be read.
    pub unwritable: Option<StoreError>,
    /// The number of runs that are not over.
    pub open: u64,
    /// The number of runs that are over.
    pub ended: u64,
    /// The number of records of all runs.
    pub records: u64,
    /// The number of definitions in it. `None` if it cannot tell.
    pub definitions: Option<u64>,
    /// Its size in bytes. `None` if it cannot tell.
    pub bytes: Option<u64>,
    /// The runs whose lease somebody has now. `None` if it cannot tell.
    pub driven: Option<Vec<RunId>>,
}

/// The version of a store's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SchemaVersion {
    /// The version of the tables; 0 if there are none.
    pub found: usize,
    /// The version of this release. The tables get it before they are used.
    pub known: usize,
}

/// The number of runs that are read at once.
const PAGE: usize = 500;

/// Counts the runs of a store page by page.
pub(super) async fn counted(store: &(impl Store + ?Sized)) -> Result<StoreStatus, StoreError> {
    let mut status = StoreStatus { exists: true, ..StoreStatus::default() };
    let mut request = PageRequest::first(PAGE);
    loop {
        let page = store.page(&request).await?;
        let Some(last) = page.last() else { return Ok(status) };
        request.after.clone_from(&last.handle);
        for run in page.iter().filter_map(|entry| entry.summary.as_ref().ok()) {
            status.records += run.seq;
            match run.status.is_ended() {
                true => status.ended += 1,
                false => status.open += 1,
            }
        }
    }
}
