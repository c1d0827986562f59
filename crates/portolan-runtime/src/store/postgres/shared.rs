//! The lists that all machines share.

use std::sync::Arc;

use deadpool_postgres::Object;

use super::SharedState;
use crate::store::shared::check;
use crate::store::{MOST_SHARED_PER_PAGE, SharedEntry, SharedList, SharedRequest, StoreError};

const APPEND: &str = "SELECT append_shared($1, $2, $3, $4)";
const READ: &str = "SELECT number, id, key, text FROM shared_entries
    WHERE list = $1 AND number > $2 ORDER BY number LIMIT $3";
const READ_KEY: &str = "SELECT number, id, key, text FROM shared_entries
    WHERE list = $1 AND number > $2 AND key = $4 ORDER BY number LIMIT $3";

/// Appends entries. If the connection breaks the append is repeated, and leaves out what is stored.
pub(super) async fn append(
    shared: Arc<SharedState>,
    list: SharedList,
    entries: Vec<SharedEntry>,
) -> Result<(), StoreError> {
    check(&entries)?;
    let column = |of: fn(&SharedEntry) -> &str| entries.iter().map(of).collect::<Vec<_>>();
    let (ids, keys, texts) = (column(|entry| &entry.id), column(|entry| &entry.key), column(|entry| &entry.text));
    let append = async |client: &mut Object, _| {
        let statement = client.prepare_cached(APPEND).await?;
        client.execute(&statement, &[&list.name(), &ids, &keys, &texts]).await?;
        Ok(())
    };
    shared.database.with(append).await
}

pub(super) async fn read(
    shared: Arc<SharedState>,
    request: SharedRequest,
) -> Result<Vec<(u64, SharedEntry)>, StoreError> {
    let after = i64::try_from(request.after).unwrap_or(i64::MAX);
    let limit = i64::try_from(request.limit.min(MOST_SHARED_PER_PAGE)).unwrap_or(i64::MAX);
    let list = request.list.name();
    let read = async |client: &mut Object, _| {
        let rows = match &request.key {
            None => client.query(&client.prepare_cached(READ).await?, &[&list, &after, &limit]).await?,
            Some(key) => client.query(&client.prepare_cached(READ_KEY).await?, &[&list, &after, &limit, key]).await?,
        };
        let entry = |row: &tokio_postgres::Row| {
            let entry = SharedEntry { id: row.get(1), key: row.get(2), text: row.get(3) };
            (row.get::<_, i64>(0).unsigned_abs(), entry)
        };
        Ok(rows.iter().map(entry).collect())
    };
    shared.database.with(read).await
}
