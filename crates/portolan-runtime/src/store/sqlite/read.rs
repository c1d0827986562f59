//! Reads. A missing file is an empty store, not an error.

use std::ops::Range;
use std::sync::Arc;

use portolan_core::run::{Change, Form, Frame, Opening, Run, Tallies};
use portolan_core::value::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::fault::Trouble;
use super::json;
use crate::store::seal::{Part, Unopened};
use crate::store::{Digest, Keyring, ListFilter, Record, RunId, RunStatus, StoreError, StoredRun, Summary};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    revision: u64,
    #[serde(default)]
    executed: u64,
    #[serde(default)]
    tallies: Option<Box<Tallies>>,
    root: Frame,
}

pub(super) fn load(db: Option<&Connection>, keyring: &Keyring, id: &RunId) -> Result<StoredRun, Trouble> {
    let unknown = || Trouble::Refused(StoreError::no_run(id));
    // One transaction for all reads: they stay consistent during concurrent writes.
    let db = db.ok_or_else(unknown)?.unchecked_transaction()?;
    let sql = "SELECT positions.seq, updated_at, snapshots.seq, text, opening, definition, opened_at, number
               FROM runs JOIN positions ON positions.run = number JOIN snapshots ON snapshots.run = number WHERE id = ?1";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([id.as_str()])?;
    let row = rows.next()?.ok_or_else(unknown)?;
    let (seq, whole_at, sealed) = (number(row, 0)?, number(row, 2)?, Sealed { keyring, id });
    let what = || format!("the snapshot of run `{id}`");
    let Snapshot { revision, executed, tallies, root } = sealed.read(whole_at, Part::Snapshot, text(row, 3)?, what)?;
    let opening = sealed.read(1, Part::Opening, text(row, 4)?, || format!("the opening of run `{id}`"))?;
    let mut run = Run { form: Form::One, revision, opening, executed, tallies, root };
    follow(&db, &sealed, row.get(7)?, whole_at..seq, &mut run)?;
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
    sealed: &Sealed<'_>,
    run_number: i64,
    records: Range<u64>,
    run: &mut Run,
) -> Result<(), Trouble> {
    let mut statement = db.prepare_cached(RECORDS)?;
    let last = usize::try_from(records.end.saturating_sub(records.start)).unwrap_or(usize::MAX);
    let mut rows = statement.query(params![run_number, bounded(records.start), bounded(last)])?;
    let mut next = records.start;
    while let Some(row) = rows.next()? {
        next += 1;
        let seq = number(row, 0)?;
        if seq != next {
            return Err(missing(sealed.id, next));
        }
        let what = || format!("record {seq} of run `{}`", sealed.id);
        let changes: Vec<Change> = sealed.read(seq, Part::Changes, text(row, 2)?, what)?;
        changes.iter().for_each(|change| run.apply(change));
    }
    // A snapshot that is ahead of its run was not written with it.
    if next == records.end { Ok(()) } else { Err(missing(sealed.id, next.min(records.end) + 1)) }
}

/// Reads the texts of a run, sealed or not.
struct Sealed<'s> {
    keyring: &'s Keyring,
    id: &'s RunId,
}

impl Sealed<'_> {
    fn read<T: DeserializeOwned>(
        &self,
        seq: u64,
        part: Part,
        text: &str,
        what: impl Fn() -> String,
    ) -> Result<T, Trouble> {
        match self.keyring.open(self.id, seq, part, text) {
            Ok(text) => json::read(&text, what),
            Err(Unopened::NoKey(error)) => Err(Trouble::Refused(error)),
            Err(Unopened::Damaged(why)) => Err(Trouble::Garbled { what: what(), why }),
        }
    }
}

/// Returns the number of a run in the file.
pub(super) fn number_of<'d>(db: Option<&'d Connection>, id: &RunId) -> Result<(&'d Connection, i64), Trouble> {
    let unknown = || Trouble::Refused(StoreError::no_run(id));
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
    let (db, number) = number_of(db, id)?;
    let mut statement = db.prepare_cached(RECORDS)?;
    let mut rows = statement.query(params![number, bounded(after), bounded(limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(record(row, &Sealed { keyring, id })?);
    }
    complete(&found, id, after)?;
    Ok(found)
}

fn record(row: &Row<'_>, sealed: &Sealed<'_>) -> Result<Record, Trouble> {
    let seq = number(row, 0)?;
    let what = || format!("record {seq} of run `{}`", sealed.id);
    let event = sealed.read(seq, Part::Event, text(row, 1)?, what)?;
    Ok(Record { seq, event, changes: sealed.read(seq, Part::Changes, text(row, 2)?, what)? })
}

fn complete(records: &[Record], id: &RunId, after: u64) -> Result<(), Trouble> {
    match records.iter().zip(after.saturating_add(1)..).find(|(record, seq)| record.seq != *seq) {
        None => Ok(()),
        Some((_, seq)) => Err(missing(id, seq)),
    }
}

fn missing(id: &RunId, seq: u64) -> Trouble {
    Trouble::Garbled { what: format!("record {seq} of run `{id}`"), why: "it is missing".to_owned() }
}

/// Some records of a run, in order.
const RECORDS: &str = "SELECT seq, event, changes FROM records WHERE run = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";

/// SQLite's counter changes when another connection commits, and all writes use another connection.
pub(super) fn version(db: Option<&Connection>) -> Result<Option<u64>, Trouble> {
    let Some(db) = db else { return Ok(Some(0)) };
    let mut statement = db.prepare_cached("PRAGMA data_version")?;
    Ok(Some(statement.query_one([], |row| number(row, 0))?))
}

pub(super) fn list(db: Option<&Connection>, filter: ListFilter) -> Result<Vec<Summary>, Trouble> {
    let Some(db) = db else { return Ok(Vec::new()) };
    let mut statement = db.prepare_cached(&list_sql(filter))?;
    let mut rows = statement.query([bounded(filter.limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(summary(row)?);
    }
    Ok(found)
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

fn summary(row: &Row<'_>) -> Result<Summary, Trouble> {
    let garbled = |what: String, why: &str| Trouble::Garbled { what, why: why.to_owned() };
    let id = text(row, 0)?;
    let id = RunId::parse(id).ok_or_else(|| garbled(format!("the handle `{id}`"), "it is not a valid handle"))?;
    let what = || format!("the opening of run `{id}`");
    let Opening { workflow, description, .. } = json::read(text(row, 1)?, what)?;
    let status = RunStatus::parse(text(row, 2)?, row.get(3)?)
        .ok_or_else(|| garbled(format!("the status of run `{id}`"), "there is no such status"))?;
    let updated_at = Timestamp(row.get(5)?);
    Ok(Summary { id, workflow, description, status, step: row.get(4)?, updated_at, seq: number(row, 6)? })
}

pub(super) fn definition(db: Option<&Connection>, digest: &Digest) -> Result<Arc<str>, Trouble> {
    let unknown = || Trouble::Refused(StoreError::no_definition(digest));
    let mut statement = db.ok_or_else(unknown)?.prepare_cached("SELECT text FROM definitions WHERE digest = ?1")?;
    let found: Option<Arc<str>> = statement.query_one([digest.as_str()], |row| row.get(0)).optional()?;
    let found = found.ok_or_else(unknown)?;
    // Checks name commands: a definition changed in the file is not the one that was trusted.
    if Digest::of(&*found) != *digest {
        let why = "its text has been changed".to_owned();
        return Err(Trouble::Garbled { what: format!("definition `{digest}`"), why });
    }
    Ok(found)
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
