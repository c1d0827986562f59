//! The lists that all machines share: each is an object.

use std::sync::Arc;

use portolan_restate_api::{EntriesAfter, Entry, SHARED};

use super::SharedState;
use crate::store::shared::check;
use crate::store::{MOST_SHARED_PER_PAGE, SharedEntry, SharedList, SharedRequest, StoreError};

/// Appends entries. A request is repeated until it is answered, and leaves out what is stored.
pub(super) async fn append(
    shared: Arc<SharedState>,
    list: SharedList,
    entries: Vec<SharedEntry>,
) -> Result<(), StoreError> {
    check(&entries)?;
    let entry = |SharedEntry { id, key, text }| Entry { id, key, text };
    let entries: Vec<Entry> = entries.into_iter().map(entry).collect();
    shared.ingress.call(SHARED, list.name(), "append", &entries).await
}

pub(super) async fn read(
    shared: Arc<SharedState>,
    request: SharedRequest,
) -> Result<Vec<(u64, SharedEntry)>, StoreError> {
    let limit = u64::try_from(request.limit.min(MOST_SHARED_PER_PAGE)).unwrap_or(u64::MAX);
    let wanted = EntriesAfter { key: request.key, after: request.after, limit };
    let found: Vec<(u64, Entry)> = shared.ingress.call(SHARED, request.list.name(), "entries", &wanted).await?;
    Ok(found.into_iter().map(|(number, Entry { id, key, text })| (number, SharedEntry { id, key, text })).collect())
}
