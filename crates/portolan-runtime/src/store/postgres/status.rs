//! What the database says about the store, without creating or updating its tables.

use std::sync::Arc;

use deadpool_postgres::Object;

use super::SharedState;
use super::connect::newest;
use super::fault::Trouble;
use crate::store::{RunId, SchemaVersion, StoreError, StoreStatus};

/// Journals have no gaps, so that the number of a run's last record is their count.
const COUNTS: &str = "SELECT count(*) FILTER (WHERE status <> 'ended'), count(*) FILTER (WHERE status = 'ended'),
    coalesce(sum(seq), 0)::BIGINT, (SELECT count(*) FROM definitions) FROM positions";
const BYTES: &str = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::BIGINT FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'";
const DRIVEN: &str = "SELECT r.id FROM leases l JOIN runs r ON r.number = l.run
    WHERE l.until >= clock_timestamp() ORDER BY r.id";
/// Whether the server can only be read, and whether the user may write the tables.
const ACCESS: &str =
    "SELECT current_setting('transaction_read_only') = 'on', has_table_privilege('positions', 'INSERT')
    AND has_table_privilege('positions', 'UPDATE') AND has_table_privilege('records', 'INSERT')";

pub(super) async fn status(shared: Arc<SharedState>) -> Result<StoreStatus, StoreError> {
    let look = async |client: &mut Object, version: usize| {
        let schema = Some(SchemaVersion { found: version, known: newest() });
        let status = StoreStatus { schema, ..StoreStatus::default() };
        if version == 0 { Ok(status) } else { filled(client, status, &shared.database.name()).await }
    };
    shared.database.look(look).await
}

async fn filled(client: &mut Object, status: StoreStatus, name: &str) -> Result<StoreStatus, Trouble> {
    let counts = client.query_one(COUNTS, &[]).await?;
    let count = |column| counts.get::<_, i64>(column).unsigned_abs();
    let bytes: i64 = client.query_one(BYTES, &[]).await?.get(0);
    let driven = client.query(DRIVEN, &[]).await?;
    let access = client.query_one(ACCESS, &[]).await?;
    Ok(StoreStatus {
        exists: true,
        unwritable: unwritable(name, access.get(0), access.get(1)),
        open: count(0),
        ended: count(1),
        records: count(2),
        definitions: Some(count(3)),
        bytes: Some(bytes.unsigned_abs()),
        driven: Some(driven.iter().filter_map(|row| RunId::parse(row.get(0))).collect()),
        ..status
    })
}

fn unwritable(name: &str, is_read_only: bool, may_write: bool) -> Option<StoreError> {
    let failed =
        |message: String, help: &str| Some(StoreError::Failed { code: "read_only", message, help: help.to_owned() });
    match (is_read_only, may_write) {
        (true, _) => failed(
            format!("`{name}` can only be read, like a replica"),
            "name the primary server in the address of the store",
        ),
        (false, false) => failed(
            format!("`{name}` does not allow writing to its user"),
            "grant INSERT, UPDATE and DELETE on its tables, or name another user",
        ),
        (false, true) => None,
    }
}
