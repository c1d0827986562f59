//! Removals.

use std::sync::Arc;

use deadpool_postgres::Object;

use super::SharedState;
use super::fault::Trouble;
use crate::store::{RunId, StoreError, still_open};

/// The position comes first, as in an append: whoever has it locked decides the run's next record.
const POSITION: &str = "SELECT r.number, p.seq, p.status FROM runs r JOIN positions p ON p.run = r.number
    WHERE r.id = $1 FOR UPDATE OF p";
const HOLDER: &str = "SELECT holder FROM leases WHERE run = $1 AND until >= clock_timestamp() FOR UPDATE";
/// The rows of a run, those that name it first.
const REMOVE: [&str; 5] = [
    "DELETE FROM leases WHERE run = $1",
    "DELETE FROM records WHERE run = $1",
    "DELETE FROM snapshots WHERE run = $1",
    "DELETE FROM positions WHERE run = $1",
    "DELETE FROM runs WHERE number = $1",
];

pub(super) async fn remove(shared: Arc<SharedState>, id: RunId, expected_seq: u64) -> Result<(), StoreError> {
    let remove = async |client: &mut Object, attempt| -> Result<(), Trouble> {
        let transaction = client.transaction().await?;
        let statement = transaction.prepare_cached(POSITION).await?;
        let Some(row) = transaction.query_opt(&statement, &[&id.as_str()]).await? else {
            // The connection may have broken after an earlier attempt was carried out.
            return if attempt > 1 { Ok(()) } else { Err(StoreError::no_run(&id).into()) };
        };
        let (number, seq, status): (i64, i64, &str) = (row.get(0), row.get(1), row.get(2));
        if seq.unsigned_abs() != expected_seq {
            return Err(StoreError::Conflict { actual_seq: seq.unsigned_abs() }.into());
        }
        if status != "ended" {
            return Err(still_open(&id).into());
        }
        let statement = transaction.prepare_cached(HOLDER).await?;
        if let Some(row) = transaction.query_opt(&statement, &[&number]).await? {
            return Err(shared.fences.under_way(&id, row.get(0)).into());
        }
        for sql in REMOVE {
            let statement = transaction.prepare_cached(sql).await?;
            transaction.execute(&statement, &[&number]).await?;
        }
        Ok(transaction.commit().await?)
    };
    shared.database.with(remove).await
}
