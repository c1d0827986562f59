//! Writing, many requests to a transaction.

use std::iter;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use portolan_core::run::{Frame, Run};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde::Serialize;
use tokio::sync::oneshot;

use super::connect::{Absent, Link, known_version};
use super::fault::Trouble;
use super::json;
use crate::store::summary::step;
use crate::store::{Digest, NewRun, Record, RunId, Status, StoreError};

/// Something to write, and whom to tell.
pub(super) struct Request {
    pub(super) write: Write,
    pub(super) reply: oneshot::Sender<Result<(), StoreError>>,
}

/// Something to write, as text already: callers do that work, and the writer only writes.
pub(super) enum Write {
    /// A new run.
    Create { definition: Digest, definition_text: Arc<str>, opening: String, row: Row },
    /// The next record of a run.
    Append(Row),
}

/// A record and where it leaves its run.
pub(super) struct Row {
    id: RunId,
    seq: i64,
    at: i64,
    event: String,
    changes: String,
    status: Status,
    step: String,
    snapshot: String,
}

/// What of a run changes; what it was opened with is kept apart.
#[derive(Serialize)]
struct Snapshot<'r> {
    revision: u64,
    executed: u64,
    root: &'r Frame,
}

impl Write {
    pub(super) fn create(new: &NewRun) -> Write {
        Write::Create {
            definition: new.definition.clone(),
            definition_text: Arc::clone(&new.definition_text),
            opening: json::write(&new.run.opening),
            row: Row::of(&new.id, &new.record, &new.run),
        }
    }

    pub(super) fn append(id: &RunId, record: &Record, run_after: &Run) -> Write {
        Write::Append(Row::of(id, record, run_after))
    }

    fn row(&self) -> &Row {
        match self {
            Write::Create { row, .. } | Write::Append(row) => row,
        }
    }
}

impl Row {
    fn of(id: &RunId, record: &Record, run: &Run) -> Row {
        Row {
            id: id.clone(),
            seq: i64::try_from(record.seq).expect("no run has 2^63 records"),
            at: record.event.at.0,
            event: json::write(&record.event),
            changes: json::write(&record.changes),
            status: Status::of(run),
            step: step(run),
            snapshot: json::write(&Snapshot { revision: run.revision, executed: run.executed, root: &run.root }),
        }
    }
}

/// Serves requests until nobody can make any more. Whatever has queued up meanwhile shares the next transaction.
pub(super) fn serve(requests: &Receiver<Request>, mut link: Link) {
    while let Ok(first) = requests.recv() {
        let batch: Vec<Request> = iter::once(first).chain(requests.try_iter()).take(MOST_TOGETHER).collect();
        let creates = batch.iter().any(|request| matches!(request.write, Write::Create { .. }));
        let absent = if creates { Absent::Create } else { Absent::Leave };
        let outcome = link.with(absent, |db| commit(db, &batch));
        let answers = outcome.unwrap_or_else(|error| vec![Err(error); batch.len()]);
        for (request, answer) in batch.into_iter().zip(answers) {
            // Whoever asked may have gone; what was asked for is done all the same.
            let _ = request.reply.send(answer);
        }
    }
}

/// What became of each request, once all of it is on disk. On an error nothing of the batch is.
fn commit(db: Option<&mut Connection>, batch: &[Request]) -> Result<Vec<Result<(), StoreError>>, Trouble> {
    let Some(db) = db else {
        return Ok(batch.iter().map(|request| Err(StoreError::no_run(&request.write.row().id))).collect());
    };
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    known_version(&transaction)?;
    let mut answers = Vec::with_capacity(batch.len());
    for request in batch {
        answers.push(perform(&transaction, &request.write)?);
    }
    transaction.commit()?;
    Ok(answers)
}

fn perform(db: &Connection, write: &Write) -> rusqlite::Result<Result<(), StoreError>> {
    match write {
        Write::Create { definition, definition_text, opening, row } => {
            if number(db, &row.id)?.is_some() {
                return Ok(Err(StoreError::Taken));
            }
            keep_definition(db, definition, definition_text)?;
            let number = open_run(db, definition, opening, row)?;
            add_record(db, number, row)?;
            set_position(db, number, row)?;
        }
        Write::Append(row) => {
            let Some((number, seq)) = number(db, &row.id)? else { return Ok(Err(StoreError::no_run(&row.id))) };
            if row.seq != seq + 1 {
                return Ok(Err(StoreError::Conflict { actual_seq: seq.unsigned_abs() }));
            }
            add_record(db, number, row)?;
            set_position(db, number, row)?;
        }
    }
    Ok(Ok(()))
}

/// The number that the file knows a run by, and the number of its last record.
fn number(db: &Connection, id: &RunId) -> rusqlite::Result<Option<(i64, i64)>> {
    let sql = "SELECT number, seq FROM runs JOIN positions ON run = number WHERE id = ?1";
    db.prepare_cached(sql)?.query_one([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

fn keep_definition(db: &Connection, digest: &Digest, text: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO definitions (digest, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    db.prepare_cached(sql)?.execute([digest.as_str(), text])?;
    Ok(())
}

fn open_run(db: &Connection, definition: &Digest, opening: &str, row: &Row) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO runs (id, definition, opened_at, opening) VALUES (?1, ?2, ?3, ?4)";
    db.prepare_cached(sql)?.insert(params![row.id.as_str(), definition.as_str(), row.at, opening])
}

fn add_record(db: &Connection, run: i64, row: &Row) -> rusqlite::Result<()> {
    let sql = "INSERT INTO records (run, seq, event, changes) VALUES (?1, ?2, ?3, ?4)";
    db.prepare_cached(sql)?.execute(params![run, row.seq, row.event, row.changes])?;
    Ok(())
}

fn set_position(db: &Connection, run: i64, row: &Row) -> rusqlite::Result<()> {
    let sql = "INSERT INTO positions (run, seq, updated_at, status, result, step, snapshot)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
               ON CONFLICT DO UPDATE SET seq = ?2, updated_at = ?3, status = ?4, result = ?5, step = ?6, snapshot = ?7";
    let (status, result) = (row.status.word(), row.status.result());
    db.prepare_cached(sql)?.execute(params![run, row.seq, row.at, status, result, row.step, row.snapshot])?;
    Ok(())
}

/// Enough for everybody who waits, and a bound on how long the first of them does.
const MOST_TOGETHER: usize = 256;
