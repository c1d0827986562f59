//! Writes, with many requests in one transaction.

use std::iter;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use portolan_core::run::Run;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::connect::{Absent, Link, known_version};
use super::fault::Trouble;
use crate::store::rows::{NewRows, Row, Sizes, Texts};
use crate::store::{Digest, Keyring, NewRun, Record, RunId, StoreError, still_open};

/// A request and the channel for its result.
pub(super) enum Request {
    /// A write, which shares its transaction with others.
    Write { write: Box<Write>, reply: oneshot::Sender<Result<(), StoreError>> },
    /// The removal of the definitions that no run is pinned to.
    Tidy(oneshot::Sender<Result<u64, StoreError>>),
}

/// A write, as text already: callers do the serialization, and the writer only writes.
pub(super) enum Write {
    /// A new run and its definition.
    Create { definition: Digest, definition_text: Arc<str>, rows: NewRows },
    /// The next record of a run.
    Append(Row),
    /// The time from which workers may drive a run.
    Defer { id: RunId, due: Option<i64> },
    /// The removal of a run that is over.
    Remove { id: RunId, expected_seq: u64 },
}

impl Write {
    pub(super) fn create(new: &NewRun, sizes: &Sizes) -> Write {
        let (definition, definition_text) = (new.definition.clone(), Arc::clone(&new.definition_text));
        Write::Create { definition, definition_text, rows: NewRows::of(new, sizes) }
    }

    pub(super) fn append(id: &RunId, record: &Record, run_after: &Run, sizes: &Sizes) -> Write {
        Write::Append(Row::of(id, record, run_after, sizes))
    }

    /// Checks whether the run is over after this write.
    pub(super) fn is_last(&self) -> bool {
        match self {
            Write::Create { rows: NewRows { last: row, .. }, .. } | Write::Append(row) => row.status.is_ended(),
            Write::Defer { .. } => false,
            Write::Remove { .. } => true,
        }
    }

    fn id(&self) -> &RunId {
        match self {
            Write::Create { rows: NewRows { last: row, .. }, .. } | Write::Append(row) => &row.id,
            Write::Defer { id, .. } => id,
            Write::Remove { id, .. } => id,
        }
    }
}

/// Serves requests until all senders are gone. Requests that have queued up meanwhile share the next transaction.
pub(super) fn serve(requests: &Receiver<Request>, mut link: Link, keyring: &Keyring) {
    while let Ok(first) = requests.recv() {
        let (mut batch, mut replies, mut tidy) = (Vec::new(), Vec::new(), Vec::new());
        for request in iter::once(first).chain(requests.try_iter()).take(MOST_TOGETHER) {
            match request {
                Request::Write { write, reply } => {
                    batch.push(*write);
                    replies.push(reply);
                }
                Request::Tidy(reply) => tidy.push(reply),
            }
        }
        for (reply, answer) in replies.into_iter().zip(written(&batch, &mut link, keyring)) {
            // The caller may be gone; its request has been carried out nevertheless.
            let _ = reply.send(answer);
        }
        for reply in tidy {
            let _ = reply.send(link.with(Absent::Leave, |db| db.map_or(Ok(0), remove_unused_definitions)));
        }
    }
}

fn written(batch: &[Write], link: &mut Link, keyring: &Keyring) -> Vec<Result<(), StoreError>> {
    if batch.is_empty() {
        return Vec::new();
    }
    let creates = batch.iter().any(|write| matches!(write, Write::Create { .. }));
    let absent = if creates { Absent::Create } else { Absent::Leave };
    let outcome = link.with(absent, |db| commit(db, keyring, batch));
    outcome.unwrap_or_else(|error| vec![Err(error); batch.len()])
}

/// Returns the result of each request after all of them are on disk. On an error nothing of the batch is.
fn commit(
    db: Option<&mut Connection>,
    keyring: &Keyring,
    batch: &[Write],
) -> Result<Vec<Result<(), StoreError>>, Trouble> {
    let Some(db) = db else {
        return Ok(batch.iter().map(|write| Err(StoreError::no_run(write.id()))).collect());
    };
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    known_version(&transaction)?;
    let mut answers = Vec::with_capacity(batch.len());
    for write in batch {
        answers.push(perform(&transaction, keyring, write)?);
    }
    transaction.commit()?;
    Ok(answers)
}

/// Performs a write, or refuses it and changes nothing.
fn perform(db: &Connection, keyring: &Keyring, write: &Write) -> rusqlite::Result<Result<(), StoreError>> {
    match write {
        Write::Create { definition, definition_text, rows } => {
            let last = &rows.last;
            if known(db, &last.id)?.is_some() {
                return Ok(Err(StoreError::Taken));
            }
            let sealed = rows
                .cover
                .is_some()
                .then(|| keyring.sealer(&last.id).and_then(|sealer| rows.sealed(&sealer)))
                .transpose();
            let (opening, texts) = match &sealed {
                Ok(Some((opening, texts))) => (opening, texts.iter().collect::<Vec<_>>()),
                Ok(None) => (&rows.opening, rows.rows().map(|row| &row.texts).collect()),
                Err(error) => return Ok(Err(error.clone())),
            };
            keep_definition(db, definition, definition_text)?;
            let number = open_run(db, (definition, opening, rows.cover.as_deref()), rows.first())?;
            for (row, texts) in rows.rows().zip(&texts) {
                add_record(db, number, row, texts)?;
            }
            set_position(db, number, last)?;
            if let Some(texts) = texts.last() {
                set_snapshot(db, number, last, texts)?;
            }
        }
        Write::Append(row) => {
            let Some(ExistingRun { number, seq, is_sealed }) = known(db, &row.id)? else {
                return Ok(Err(StoreError::no_run(&row.id)));
            };
            if row.seq != seq + 1 {
                return Ok(Err(StoreError::Conflict { actual_seq: seq.unsigned_abs() }));
            }
            let sealed = is_sealed.then(|| keyring.sealer(&row.id).and_then(|sealer| row.sealed(&sealer))).transpose();
            let texts = match &sealed {
                Ok(sealed) => sealed.as_ref().unwrap_or(&row.texts),
                Err(error) => return Ok(Err(error.clone())),
            };
            add_record(db, number, row, texts)?;
            set_position(db, number, row)?;
            set_snapshot(db, number, row, texts)?;
        }
        Write::Defer { id, due } => {
            let Some(ExistingRun { number, .. }) = known(db, id)? else { return Ok(Err(StoreError::no_run(id))) };
            db.prepare_cached("UPDATE positions SET due = ?2 WHERE run = ?1")?.execute(params![number, due])?;
        }
        Write::Remove { id, expected_seq } => return remove(db, id, *expected_seq),
    }
    Ok(Ok(()))
}

fn remove(db: &Connection, id: &RunId, expected_seq: u64) -> rusqlite::Result<Result<(), StoreError>> {
    let sql = "SELECT number, seq, status FROM runs JOIN positions ON run = number WHERE id = ?1";
    let known = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let known: Option<(i64, i64, String)> = db.prepare_cached(sql)?.query_one([id.as_str()], known).optional()?;
    let Some((number, seq, status)) = known else { return Ok(Err(StoreError::no_run(id))) };
    if seq.unsigned_abs() != expected_seq {
        return Ok(Err(StoreError::Conflict { actual_seq: seq.unsigned_abs() }));
    }
    if status != "ended" {
        return Ok(Err(still_open(id)));
    }
    for sql in [
        "DELETE FROM records WHERE run = ?1",
        "DELETE FROM snapshots WHERE run = ?1",
        "DELETE FROM positions WHERE run = ?1",
        "DELETE FROM runs WHERE number = ?1",
    ] {
        db.prepare_cached(sql)?.execute([number])?;
    }
    Ok(Ok(()))
}

/// Those that were stored by themselves are files beside the database. Removes few at a time, so that other writers do
/// not wait for long.
fn remove_unused_definitions(db: &mut Connection) -> Result<u64, Trouble> {
    let sql = "DELETE FROM definitions WHERE digest IN
               (SELECT digest FROM definitions WHERE digest NOT IN (SELECT definition FROM runs) LIMIT ?1)";
    let mut removed = 0;
    loop {
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        known_version(&transaction)?;
        let count = transaction.execute(sql, [MOST_DEFINITIONS])?;
        transaction.commit()?;
        removed += count as u64;
        if count < MOST_DEFINITIONS as usize {
            return Ok(removed);
        }
    }
}

/// An existing run.
struct ExistingRun {
    /// The number of the run in the file.
    number: i64,
    /// The number of its last record.
    seq: i64,
    /// Whether it was created sealed: later records are sealed then, too.
    is_sealed: bool,
}

pub(super) const KNOWN: &str =
    "SELECT number, seq, cover IS NOT NULL FROM runs JOIN positions ON run = number WHERE id = ?1";

fn known(db: &Connection, id: &RunId) -> rusqlite::Result<Option<ExistingRun>> {
    let known =
        |row: &rusqlite::Row<'_>| Ok(ExistingRun { number: row.get(0)?, seq: row.get(1)?, is_sealed: row.get(2)? });
    db.prepare_cached(KNOWN)?.query_one([id.as_str()], known).optional()
}

fn keep_definition(db: &Connection, digest: &Digest, text: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO definitions (digest, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    db.prepare_cached(sql)?.execute([digest.as_str(), text])?;
    Ok(())
}

fn open_run(
    db: &Connection,
    (definition, opening, cover): (&Digest, &str, Option<&str>),
    row: &Row,
) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO runs (id, definition, opened_at, opening, cover) VALUES (?1, ?2, ?3, ?4, ?5)";
    db.prepare_cached(sql)?.insert(params![row.id.as_str(), definition.as_str(), row.at, opening, cover])
}

fn add_record(db: &Connection, run: i64, row: &Row, texts: &Texts) -> rusqlite::Result<()> {
    let sql = "INSERT INTO records (run, seq, event, changes) VALUES (?1, ?2, ?3, ?4)";
    db.prepare_cached(sql)?.execute(params![run, row.seq, texts.event, texts.changes])?;
    Ok(())
}

fn set_position(db: &Connection, run: i64, row: &Row) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO positions (run, seq, updated_at, status, result, step, due) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
               ON CONFLICT DO UPDATE SET seq = ?2, updated_at = ?3, status = ?4, result = ?5, step = ?6, due = ?7";
    let (status, result) = (row.status.word(), row.status.result());
    db.prepare_cached(sql)?.execute(params![run, row.seq, row.at, status, result, row.step, row.due])?;
    Ok(())
}

fn set_snapshot(db: &Connection, run: i64, row: &Row, texts: &Texts) -> rusqlite::Result<()> {
    let Some(text) = &texts.snapshot else { return Ok(()) };
    let sql = "INSERT INTO snapshots (run, seq, text) VALUES (?1, ?2, ?3)
               ON CONFLICT DO UPDATE SET seq = ?2, text = ?3";
    db.prepare_cached(sql)?.execute(params![run, row.seq, text])?;
    Ok(())
}

/// Enough for all waiting callers, and a bound on the wait of the first one.
const MOST_TOGETHER: usize = 256;
/// The maximum number of definitions that one transaction removes.
const MOST_DEFINITIONS: u32 = 64;
