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
use crate::store::{Digest, Keyring, NewRun, Record, RunId, StoreError};

/// A write and the channel for its result.
pub(super) struct Request {
    pub(super) write: Write,
    pub(super) reply: oneshot::Sender<Result<(), StoreError>>,
}

/// A write, as text already: callers do the serialization, and the writer only writes.
pub(super) enum Write {
    /// A new run and its definition.
    Create { definition: Digest, definition_text: Arc<str>, rows: NewRows },
    /// The next record of a run.
    Append(Row),
    /// The time from which workers may drive a run.
    Defer { id: RunId, due: Option<i64> },
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
        }
    }

    fn id(&self) -> &RunId {
        match self {
            Write::Create { rows: NewRows { last: row, .. }, .. } | Write::Append(row) => &row.id,
            Write::Defer { id, .. } => id,
        }
    }
}

/// Serves requests until all senders are gone. Requests that have queued up meanwhile share the next transaction.
pub(super) fn serve(requests: &Receiver<Request>, mut link: Link, keyring: &Keyring) {
    while let Ok(first) = requests.recv() {
        let batch: Vec<Request> = iter::once(first).chain(requests.try_iter()).take(MOST_TOGETHER).collect();
        let creates = batch.iter().any(|request| matches!(request.write, Write::Create { .. }));
        let absent = if creates { Absent::Create } else { Absent::Leave };
        let outcome = link.with(absent, |db| commit(db, keyring, &batch));
        let answers = outcome.unwrap_or_else(|error| vec![Err(error); batch.len()]);
        for (request, answer) in batch.into_iter().zip(answers) {
            // The caller may be gone; its request has been carried out nevertheless.
            let _ = request.reply.send(answer);
        }
    }
}

/// Returns the result of each request after all of them are on disk. On an error nothing of the batch is.
fn commit(
    db: Option<&mut Connection>,
    keyring: &Keyring,
    batch: &[Request],
) -> Result<Vec<Result<(), StoreError>>, Trouble> {
    let Some(db) = db else {
        return Ok(batch.iter().map(|request| Err(StoreError::no_run(request.write.id()))).collect());
    };
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    known_version(&transaction)?;
    let mut answers = Vec::with_capacity(batch.len());
    for request in batch {
        answers.push(perform(&transaction, keyring, &request.write)?);
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
            let Some(Known { number, seq, is_sealed }) = known(db, &row.id)? else {
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
            let Some(Known { number, .. }) = known(db, id)? else { return Ok(Err(StoreError::no_run(id))) };
            db.prepare_cached("UPDATE positions SET due = ?2 WHERE run = ?1")?.execute(params![number, due])?;
        }
    }
    Ok(Ok(()))
}

/// An existing run.
struct Known {
    /// The number of the run in the file.
    number: i64,
    /// The number of its last record.
    seq: i64,
    /// Whether it was created sealed: later records are sealed then, too.
    is_sealed: bool,
}

fn known(db: &Connection, id: &RunId) -> rusqlite::Result<Option<Known>> {
    let sql = "SELECT number, seq, cover IS NOT NULL FROM runs JOIN positions ON run = number WHERE id = ?1";
    let known = |row: &rusqlite::Row<'_>| Ok(Known { number: row.get(0)?, seq: row.get(1)?, is_sealed: row.get(2)? });
    db.prepare_cached(sql)?.query_one([id.as_str()], known).optional()
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
