//! Writes, with many appends in one transaction.

use std::sync::Arc;

use deadpool_postgres::Object;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_postgres::types::ToSql;

use super::fault::Trouble;
use super::skew::Skew;
use super::{SharedState, listen};
use crate::store::jobs::Jobs;
use crate::store::rows::{NewRows, Row, Texts, json};
use crate::store::{Digest, RunId, StoreError};

/// A record to append, and the channel for the result.
pub(super) struct Append {
    pub(super) row: Row,
    /// That of the lease which this process had when the append was requested. While it waits, the lease may be given back
    /// and taken by another driver.
    pub(super) fence: Option<i64>,
    pub(super) reply: oneshot::Sender<Result<(), StoreError>>,
}

/// Enough for all waiting callers, and a bound on the wait of the first one.
const MOST_TOGETHER: usize = 256;

const CREATE: &str = "SELECT create_run($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
/// The records are appended in their order: all writers lock runs in one, so that none waits for another that waits for it.
const APPEND: &str = "SELECT new.place, done.outcome, done.actual FROM
    unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
        $10::text[], $11::boolean[], $12::bigint[], $13::bigint[]) WITH ORDINALITY
        AS new (id, seq, stamp, at, status, result, step, event, changes, snapshot, sealed, fence, due, place),
    append_record(id, seq, stamp, at, status, result, step, event, changes, snapshot, sealed, fence, due) AS done";

pub(super) async fn create(
    shared: Arc<SharedState>,
    digest: Digest,
    definition: Arc<str>,
    rows: NewRows,
) -> Result<(), StoreError> {
    let last = &rows.last;
    let sealed = rows.cover.is_some().then(|| shared.keyring.sealer(&last.id).and_then(|sealer| rows.sealed(&sealer)));
    let sealed = sealed.transpose()?;
    let (opening, texts) = match &sealed {
        Some((opening, texts)) => (opening, texts.iter().collect::<Vec<_>>()),
        None => (&rows.opening, rows.rows().map(|row| &row.texts).collect()),
    };
    let events: Vec<&str> = texts.iter().map(|texts| texts.event.as_str()).collect();
    let changes: Vec<&str> = texts.iter().map(|texts| texts.changes.as_str()).collect();
    let snapshot = texts.last().and_then(|texts| texts.snapshot.as_deref());
    let (step, result) = (json::write(&last.step), last.status.result().map(json::write));
    let stamp = stamp();
    let is_new = async |client: &mut Object, _| -> Result<bool, Trouble> {
        let statement = client.prepare_cached(CREATE).await?;
        let given: [&(dyn ToSql + Sync); 14] = [
            &last.id.as_str(),
            &digest.as_str(),
            &definition.as_bytes(),
            &rows.first().at,
            opening,
            &rows.cover,
            &stamp,
            &events,
            &changes,
            &last.at,
            &last.status.word(),
            &result,
            &step,
            &snapshot,
        ];
        Ok(client.query_one(&statement, &given).await?.get(0))
    };
    if !shared.database.with(is_new).await? {
        return Err(StoreError::Taken);
    }
    shared.note_sealed(&last.id, sealed.is_some());
    Ok(())
}

pub(super) async fn keep_definition(
    shared: Arc<SharedState>,
    digest: Digest,
    text: Arc<str>,
) -> Result<(), StoreError> {
    let keep = async |client: &mut Object, _| {
        let statement = client.prepare_cached("INSERT INTO definitions VALUES ($1, $2) ON CONFLICT DO NOTHING").await?;
        client.execute(&statement, &[&digest.as_str(), &text.as_bytes()]).await?;
        Ok(())
    };
    shared.database.with(keep).await
}

pub(super) async fn defer(shared: Arc<SharedState>, id: RunId, until: Option<i64>) -> Result<(), StoreError> {
    let set = async |client: &mut Object, _| {
        let until = until.map(|until| shared.database.skew().there(until));
        let sql = "UPDATE positions p SET due = $2 FROM runs r WHERE r.id = $1 AND r.number = p.run";
        let statement = client.prepare_cached(sql).await?;
        match client.execute(&statement, &[&id.as_str(), &until]).await? {
            0 => Err(StoreError::no_run(&id).into()),
            _ => Ok(()),
        }
    };
    shared.database.with(set).await
}

/// Appends until the queue ends. Each time it takes all that wait.
pub(super) async fn serve(shared: Arc<SharedState>, queue: Arc<Mutex<mpsc::UnboundedReceiver<Append>>>, jobs: Jobs) {
    loop {
        let mut batch = Vec::new();
        if queue.lock().await.recv_many(&mut batch, MOST_TOGETHER).await == 0 {
            return;
        }
        let split = batch.into_iter().map(|Append { row, fence, reply }| ((row, fence), reply));
        let ((rows, fences), replies): ((Vec<_>, Vec<_>), Vec<_>) = split.unzip();
        let answers = append(&shared, &rows, &fences).await.unwrap_or_else(|error| vec![Err(error); rows.len()]);
        let is_news = answers.iter().any(Result::is_ok);
        for (reply, answer) in replies.into_iter().zip(answers) {
            // The caller may be gone; its request has been carried out nevertheless.
            let _ = reply.send(answer);
        }
        if is_news {
            listen::announce(&shared, &jobs);
        }
    }
}

/// The columns of a batch.
#[derive(Default)]
struct Columns<'r> {
    /// The place of each in the batch.
    places: Vec<usize>,
    ids: Vec<&'r str>,
    seqs: Vec<i64>,
    stamps: Vec<i64>,
    ats: Vec<i64>,
    statuses: Vec<&'static str>,
    results: Vec<Option<String>>,
    steps: Vec<String>,
    events: Vec<&'r str>,
    changes: Vec<&'r str>,
    snapshots: Vec<Option<&'r str>>,
    sealed: Vec<bool>,
    fences: Vec<Option<i64>>,
    dues: Vec<Option<i64>>,
}

impl<'r> Columns<'r> {
    fn push(&mut self, place: usize, row: &'r Row, texts: &'r Texts, is_sealed: bool, fence: Option<i64>) {
        self.places.push(place);
        self.ids.push(row.id.as_str());
        self.seqs.push(row.seq);
        self.stamps.push(stamp());
        self.ats.push(row.at);
        self.statuses.push(row.status.word());
        self.results.push(row.status.result().map(json::write));
        self.steps.push(json::write(&row.step));
        self.events.push(&texts.event);
        self.changes.push(&texts.changes);
        self.snapshots.push(texts.snapshot.as_deref());
        self.sealed.push(is_sealed);
        self.fences.push(fence);
        self.dues.push(row.due);
    }

    /// Returns the columns, with the times of the server's clock at which runs are due.
    fn all<'c>(&'c self, dues: &'c Vec<Option<i64>>) -> [&'c (dyn ToSql + Sync); 13] {
        let Columns { ids, seqs, stamps, ats, statuses, results, .. } = self;
        let Columns { steps, events, changes, snapshots, sealed, fences, .. } = self;
        [ids, seqs, stamps, ats, statuses, results, steps, events, changes, snapshots, sealed, fences, dues]
    }
}

/// Returns the result of each append after all of them are on disk. On an error nothing is.
async fn append(
    shared: &SharedState,
    rows: &[Row],
    fences: &[Option<i64>],
) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    let mut answers: Vec<Result<(), StoreError>> = rows.iter().map(|_| Ok(())).collect();
    let mut sealed = Vec::with_capacity(rows.len());
    for (row, answer) in rows.iter().zip(&mut answers) {
        sealed.push(match is_sealed(shared, &row.id).await {
            Ok(false) => None,
            Ok(true) => shared
                .keyring
                .sealer(&row.id)
                .and_then(|sealer| row.sealed(&sealer))
                .map_err(|error| *answer = Err(error))
                .ok(),
            Err(error) => {
                *answer = Err(error);
                None
            }
        });
    }
    let mut columns = Columns::default();
    let mut sendable: Vec<_> =
        rows.iter().zip(&sealed).enumerate().filter(|(place, _)| answers[*place].is_ok()).collect();
    // All writers lock runs in one order. The records of one run stay in theirs.
    sendable.sort_by_key(|(_, (row, _))| row.id.as_str());
    for (place, (row, sealed)) in sendable {
        let texts = sealed.as_ref().unwrap_or(&row.texts);
        columns.push(place, row, texts, sealed.is_some(), fences[place]);
    }
    if columns.places.is_empty() {
        return Ok(answers);
    }
    for (place, answer) in
        shared.database.with(async |client, _| outcomes(client, shared.database.skew(), &columns, rows).await).await?
    {
        answers[place] = answer;
    }
    Ok(answers)
}

/// Returns the place of each append of a batch, with its outcome.
async fn outcomes(
    client: &mut Object,
    skew: &Skew,
    columns: &Columns<'_>,
    rows: &[Row],
) -> Result<Vec<(usize, Result<(), StoreError>)>, Trouble> {
    let dues: Vec<Option<i64>> = columns.dues.iter().map(|due| due.map(|due| skew.there(due))).collect();
    let statement = client.prepare_cached(APPEND).await?;
    let answers = client.query(&statement, &columns.all(&dues)).await?.into_iter().map(|found| {
        let (number, outcome, actual): (i64, &str, Option<i64>) = (found.get(0), found.get(1), found.get(2));
        let place = columns.places[usize::try_from(number - 1).expect("places are counted from 1")];
        let id = &rows[place].id;
        let answer = match outcome {
            "done" => Ok(()),
            "unknown" => Err(StoreError::no_run(id)),
            "conflict" => Err(StoreError::Conflict { actual_seq: actual.unwrap_or_default().unsigned_abs() }),
            "fenced" => Err(StoreError::lease_lost(id)),
            _ => Err(StoreError::other_seal(id)),
        };
        (place, answer)
    });
    Ok(answers.collect())
}

async fn is_sealed(shared: &SharedState, id: &RunId) -> Result<bool, StoreError> {
    if let Some(known) = shared.is_sealed(id) {
        return Ok(known);
    }
    let look = async |client: &mut Object, _| {
        let statement = client.prepare_cached("SELECT cover IS NOT NULL FROM runs WHERE id = $1").await?;
        let found = client.query_opt(&statement, &[&id.as_str()]).await?;
        Ok(found.ok_or_else(|| StoreError::no_run(id))?.get(0))
    };
    let found = shared.database.with(look).await?;
    shared.note_sealed(id, found);
    Ok(found)
}

/// Returns a random number that no other request has.
fn stamp() -> i64 {
    fastrand::i64(..)
}
