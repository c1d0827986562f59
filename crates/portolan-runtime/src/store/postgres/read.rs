//! Reads.

use std::sync::Arc;

use deadpool_postgres::Object;
use portolan_core::value::Timestamp;
use tokio_postgres::Row;

use super::SharedState;
use super::fault::Trouble;
use crate::store::rows::{Reader, Unread, complete, intact, json, missing, no_position, summary};
use crate::store::{Digest, Entry, ListFilter, PageRequest, Record, RunId, StoreError, StoredRun, Summary};

/// A run, with the changes of the records after its snapshot. One statement sees one state of the database.
const LOAD: &str = "SELECT p.seq, p.updated_at, s.seq, s.text, r.opening, r.definition, r.opened_at, c.seq, c.changes,
    r.cover IS NOT NULL
    FROM runs r JOIN positions p ON p.run = r.number JOIN snapshots s ON s.run = r.number
    LEFT JOIN records c ON c.run = r.number AND c.seq > s.seq WHERE r.id = $1 ORDER BY c.seq";
/// Some records of a run, in order. A run always has a first record.
const RECORDS: &str = "SELECT c.seq, c.event, c.changes FROM runs r
    LEFT JOIN LATERAL (SELECT * FROM records WHERE run = r.number AND seq > $2 ORDER BY seq LIMIT $3) c ON TRUE
    WHERE r.id = $1 ORDER BY c.seq";
const LIST: &str = "SELECT r.id, coalesce(r.cover, r.opening), p.status, p.result, p.step, p.updated_at, p.seq
    FROM positions p JOIN runs r ON r.number = p.run ORDER BY p.updated_at DESC, p.run DESC LIMIT $1";
const LIST_OPEN: &str = "SELECT r.id, coalesce(r.cover, r.opening), p.status, p.result, p.step, p.updated_at, p.seq
    FROM positions p JOIN runs r ON r.number = p.run WHERE p.status <> 'ended'
    ORDER BY p.updated_at DESC, p.run DESC LIMIT $1";
/// Runs by their handles, also those that have lost their position.
const PAGE: &str = "SELECT r.id, coalesce(r.cover, r.opening), p.status, p.result, p.step, p.updated_at, p.seq,
    r.cover IS NOT NULL
    FROM runs r LEFT JOIN positions p ON p.run = r.number
    WHERE r.id > $1 AND ($2::BIGINT IS NULL OR (p.status = 'ended' AND p.updated_at < $2)) ORDER BY r.id LIMIT $3";
/// The transactions that are under way. This changes with every commit, also of other programs.
const VERSION: &str = "SELECT hashtextextended(pg_current_snapshot()::text, 0)";

pub(super) async fn load(shared: Arc<SharedState>, id: RunId) -> Result<StoredRun, StoreError> {
    let work = async |client: &mut Object, _| {
        let statement = client.prepare_cached(LOAD).await?;
        let rows = client.query(&statement, &[&id.as_str()]).await?;
        let first = rows.first().ok_or_else(|| StoreError::no_run(&id))?;
        let (seq, whole_at, reader) =
            (number(first, 0), number(first, 2), Reader { keyring: &shared.keyring, id: &id });
        shared.note_sealed(&id, first.get(9));
        let mut run = reader.run(whole_at, first.get(3), first.get(4))?;
        let mut at = whole_at;
        for row in rows.iter().filter(|row| row.get::<_, Option<i64>>(7).is_some()) {
            reader.follow(&mut run, at, number(row, 7), row.get(8))?;
            at += 1;
        }
        if at != seq {
            return Err(missing(&id, at.min(seq) + 1).into());
        }
        Ok(StoredRun {
            id: id.clone(),
            seq,
            run,
            definition: Digest::stored(first.get(5)),
            opened_at: Timestamp(first.get(6)),
            updated_at: Timestamp(first.get(1)),
        })
    };
    shared.database.with(work).await
}

pub(super) async fn records(
    shared: Arc<SharedState>,
    id: RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let work = async |client: &mut Object, _| {
        let statement = client.prepare_cached(RECORDS).await?;
        let rows = client.query(&statement, &[&id.as_str(), &bounded(after), &bounded(limit)]).await?;
        if rows.is_empty() {
            return Err(StoreError::no_run(&id).into());
        }
        let reader = Reader { keyring: &shared.keyring, id: &id };
        let rows = rows.iter().filter(|row| row.get::<_, Option<i64>>(0).is_some());
        let found =
            rows.map(|row| reader.record(number(row, 0), row.get(1), row.get(2))).collect::<Result<Vec<_>, _>>()?;
        complete(&found, &id, after)?;
        Ok(found)
    };
    shared.database.with(work).await
}

pub(super) async fn list(shared: Arc<SharedState>, filter: ListFilter) -> Result<Vec<Summary>, StoreError> {
    let work = async |client: &mut Object, _| {
        let statement = client.prepare_cached(if filter.open_only { LIST_OPEN } else { LIST }).await?;
        let rows = client.query(&statement, &[&bounded(filter.limit)]).await?;
        rows.iter().map(|row| Ok(line(row)?)).collect::<Result<Vec<_>, Trouble>>()
    };
    shared.database.with(work).await
}

/// Returns the run of a row of a list.
fn line(row: &Row) -> Result<Summary, Unread> {
    let what = || format!("the position of run `{}`", row.get::<_, &str>(0));
    let result = row.get::<_, Option<&str>>(3).map(|text| json::read(text, what)).transpose()?;
    let (status, last) = ((row.get(2), result), (row.get(5), number(row, 6)));
    summary(row.get(0), row.get(1), status, json::read(row.get(4), what)?, last)
}

pub(super) async fn page(shared: Arc<SharedState>, request: PageRequest) -> Result<Vec<Entry>, StoreError> {
    let before = request.ended_before.map(|before| before.0);
    let work = async |client: &mut Object, _| {
        let statement = client.prepare_cached(PAGE).await?;
        Ok(client.query(&statement, &[&request.after, &before, &bounded(request.limit)]).await?)
    };
    let entry = |row: &Row| {
        let handle: String = row.get(0);
        let has_position = row.get::<_, Option<i64>>(6).is_some();
        let line = if has_position { line(row) } else { Err(no_position(&handle)) };
        let summary = line.map_err(|unread| shared.database.unread(unread));
        Entry { handle, is_sealed: row.get(7), summary }
    };
    Ok(shared.database.with(work).await?.iter().map(entry).collect())
}

pub(super) async fn version(shared: Arc<SharedState>) -> Result<Option<u64>, StoreError> {
    let work = async |client: &mut Object, _| {
        let statement = client.prepare_cached(VERSION).await?;
        Ok(Some(client.query_one(&statement, &[]).await?.get::<_, i64>(0).cast_unsigned()))
    };
    shared.database.with(work).await
}

pub(super) async fn definition(shared: Arc<SharedState>, digest: Digest) -> Result<Arc<str>, StoreError> {
    let work = async |client: &mut Object, _| {
        let statement = client.prepare_cached("SELECT text FROM definitions WHERE digest = $1").await?;
        let found = client.query_opt(&statement, &[&digest.as_str()]).await?;
        let found = found.ok_or_else(|| StoreError::no_definition(&digest))?;
        Ok(intact(&digest, String::from_utf8_lossy(found.get(0)).into())?)
    };
    shared.database.with(work).await
}

pub(super) async fn definition_like(shared: Arc<SharedState>, beginning: String) -> Result<Option<Digest>, StoreError> {
    let work = async |client: &mut Object, _| {
        let sql = "SELECT digest FROM definitions WHERE digest >= $1 AND digest < $1 || '~' ORDER BY digest LIMIT 1";
        let statement = client.prepare_cached(sql).await?;
        let found = client.query_opt(&statement, &[&beginning]).await?;
        Ok(found.map(|row| Digest::stored(row.get(0))))
    };
    shared.database.with(work).await
}

fn number(row: &Row, column: usize) -> u64 {
    row.get::<_, i64>(column).unsigned_abs()
}

/// Converts a bound to PostgreSQL's type: no number exceeds its largest integer.
fn bounded(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
