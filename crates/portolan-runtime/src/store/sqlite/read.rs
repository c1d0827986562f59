//! Reads. A missing file is an empty store, not an error.

use std::ops::Range;
use std::sync::Arc;

use portolan_core::run::Run;
use portolan_core::value::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::connect::Place;
use super::fault::Trouble;
use crate::store::rows::{Reader, complete, intact, missing, no_position, summary};
use crate::store::{Digest, Entry, Keyring, ListFilter, PageRequest, Record, RunId, StoreError, StoredRun, Summary};

pub(super) fn load(db: Option<&Connection>, keyring: &Keyring, id: &RunId) -> Result<StoredRun, Trouble> {
    let unknown = || Trouble::from(StoreError::no_run(id));
    // One transaction for all reads: they stay consistent during concurrent writes.
    let db = db.ok_or_else(unknown)?.unchecked_transaction()?;
    let sql = "SELECT positions.seq, updated_at, snapshots.seq, text, opening, definition, opened_at, number
               FROM runs JOIN positions ON positions.run = number JOIN snapshots ON snapshots.run = number WHERE id = ?1";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([id.as_str()])?;
    let row = rows.next()?.ok_or_else(unknown)?;
    let (seq, whole_at, reader) = (number(row, 0)?, number(row, 2)?, Reader { keyring, id });
    let mut run = reader.run(whole_at, text(row, 3)?, text(row, 4)?)?;
    follow(&db, &reader, row.get(7)?, whole_at..seq, &mut run)?;
    Ok(StoredRun {
        id: id.clone(),
        seq,
        run,
        definition: Digest::stored(text(row, 5)?),
        opened_at: Timestamp(row.get(6)?),
        updated_at: Timestamp(row.get(1)?),
    })
}

/// Applies the changes of the records after a snapshot.
fn follow(
    db: &Connection,
    reader: &Reader<'_>,
    run_number: i64,
    records: Range<u64>,
    run: &mut Run,
) -> Result<(), Trouble> {
    let mut statement = db.prepare_cached(RECORDS)?;
    let last = usize::try_from(records.end.saturating_sub(records.start)).unwrap_or(usize::MAX);
    let mut rows = statement.query(params![run_number, bounded(records.start), bounded(last)])?;
    let mut next = records.start;
    while let Some(row) = rows.next()? {
        reader.follow(run, next, number(row, 0)?, text(row, 2)?)?;
        next += 1;
    }
    // A snapshot that is ahead of its run was not written with it.
    if next == records.end { Ok(()) } else { Err(missing(reader.id, next.min(records.end) + 1).into()) }
}

/// Returns the number of a run in the file.
pub(super) fn number_of<'d>(db: Option<&'d Connection>, id: &RunId) -> Result<(&'d Connection, i64), Trouble> {
    let unknown = || Trouble::from(StoreError::no_run(id));
    let db = db.ok_or_else(unknown)?;
    let mut statement = db.prepare_cached("SELECT number FROM runs WHERE id = ?1")?;
    let number = statement.query_one([id.as_str()], |row| row.get(0)).optional()?.ok_or_else(unknown)?;
    Ok((db, number))
}

pub(super) fn records(
    db: Option<&Connection>,
    keyring: &Keyring,
    id: &RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<Record>, Trouble> {
    let (db, run) = number_of(db, id)?;
    let mut statement = db.prepare_cached(RECORDS)?;
    let mut rows = statement.query(params![run, bounded(after), bounded(limit)])?;
    let (reader, mut found) = (Reader { keyring, id }, Vec::new());
    while let Some(row) = rows.next()? {
        found.push(reader.record(number(row, 0)?, text(row, 1)?, text(row, 2)?)?);
    }
    complete(&found, id, after)?;
    Ok(found)
}

/// Some records of a run, in order.
const RECORDS: &str = "SELECT seq, event, changes FROM records WHERE run = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";

/// SQLite's counter changes when another connection commits, and all writes use another connection.
pub(super) fn version(db: Option<&Connection>) -> Result<u64, Trouble> {
    let Some(db) = db else { return Ok(0) };
    let mut statement = db.prepare_cached("PRAGMA data_version")?;
    Ok(statement.query_one([], |row| number(row, 0))?)
}

pub(super) fn list(db: Option<&Connection>, filter: ListFilter) -> Result<Vec<Summary>, Trouble> {
    let Some(db) = db else { return Ok(Vec::new()) };
    let mut statement = db.prepare_cached(&list_sql(filter))?;
    let mut rows = statement.query([bounded(filter.limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(line(row)?);
    }
    Ok(found)
}

/// Returns the runs that workers may drive, the one that has waited longest first.
pub(super) fn due(db: Option<&Connection>, now: Timestamp) -> Result<Vec<RunId>, Trouble> {
    let Some(db) = db else { return Ok(Vec::new()) };
    let sql = "SELECT id FROM positions JOIN runs ON number = run WHERE due <= ?1 ORDER BY due LIMIT ?2";
    let mut statement = db.prepare_cached(sql)?;
    let found = statement.query_map(params![now.0, MOST_DUE], |row| row.get::<_, String>(0))?;
    // Handles that are none are reported where runs are listed.
    found.filter_map(|id| id.map(|id| RunId::parse(&id)).map_err(Trouble::from).transpose()).collect()
}

/// More runs than one project has workers, since those that are driven are among them.
const MOST_DUE: i64 = 1_000;

/// Returns the run of a row of a list.
fn line(row: &Row<'_>) -> Result<Summary, Trouble> {
    let (status, last) = ((text(row, 2)?, row.get(3)?), (row.get(5)?, number(row, 6)?));
    Ok(summary(text(row, 0)?, text(row, 1)?, status, row.get(4)?, last)?)
}

pub(super) fn list_sql(filter: ListFilter) -> String {
    // Lists need no key: a sealed run has a cover. The condition is written as in the schema, because only then its
    // index is used.
    let open = if filter.open_only { "WHERE status <> 'ended'" } else { "" };
    format!(
        "SELECT id, coalesce(cover, opening), status, result, step, updated_at, seq FROM positions JOIN runs ON number = run
         {open} ORDER BY updated_at DESC, run DESC LIMIT ?1"
    )
}

pub(super) fn page(db: Option<&Connection>, place: &Place, request: &PageRequest) -> Result<Vec<Entry>, Trouble> {
    let Some(db) = db else { return Ok(Vec::new()) };
    let mut statement = db.prepare_cached(PAGE)?;
    let before = request.ended_before.map(|before| before.0);
    let mut rows = statement.query(params![request.after, before, bounded(request.limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let handle: String = row.get(0)?;
        let has_position = row.get_ref(2)? != rusqlite::types::ValueRef::Null;
        let summary = match if has_position { line(row) } else { Err(no_position(&handle).into()) } {
            Err(error @ Trouble::Database(_)) => return Err(error),
            Err(unread) => Err(unread.into_error(place)),
            Ok(summary) => Ok(summary),
        };
        found.push(Entry { handle, is_sealed: row.get(7)?, summary });
    }
    Ok(found)
}

/// Runs by their handles, also those that have lost their position.
pub(super) const PAGE: &str =
    "SELECT id, coalesce(cover, opening), status, result, step, updated_at, seq, cover IS NOT NULL
     FROM runs LEFT JOIN positions ON run = number
     WHERE id > ?1 AND (?2 IS NULL OR (status = 'ended' AND updated_at < ?2)) ORDER BY id LIMIT ?3";

pub(super) fn definition(db: Option<&Connection>, digest: &Digest) -> Result<Arc<str>, Trouble> {
    let unknown = || Trouble::from(StoreError::no_definition(digest));
    let mut statement = db.ok_or_else(unknown)?.prepare_cached("SELECT text FROM definitions WHERE digest = ?1")?;
    let found: Option<Arc<str>> = statement.query_one([digest.as_str()], |row| row.get(0)).optional()?;
    let found = found.ok_or_else(unknown)?;
    Ok(intact(digest, found)?)
}

/// Returns the faults of the file, and of rows that name others.
pub(super) fn integrity(db: Option<&Connection>) -> Result<Vec<String>, Trouble> {
    let Some(db) = db else { return Ok(Vec::new()) };
    let path = db.path().unwrap_or("the file").to_owned();
    let mut faults = Vec::new();
    let mut statement = db.prepare("PRAGMA integrity_check")?;
    for fault in statement.query_map([], |row| row.get::<_, String>(0))? {
        faults.extend(Some(fault?).filter(|fault| fault != "ok").map(|fault| format!("`{path}` is damaged: {fault}")));
    }
    let sql = "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2";
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (table, parent, count): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        faults.push(format!("`{path}` has {count} rows in `{table}` that name a missing row of `{parent}`"));
    }
    Ok(faults)
}

/// Returns a text without a copy, for texts that are only parsed.
fn text<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r str> {
    Ok(row.get_ref(column)?.as_str()?)
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

/// Converts a bound to SQLite's type: no number exceeds its largest integer.
fn bounded(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
