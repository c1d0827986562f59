//! Writes.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use portolan_restate_api::{Append, Create, DEFINITION, DEFINITION_KEY, Definition, Line, RUN, Texts, Written};

use super::lists::expect;
use super::{MOST_REMEMBERED, SharedState, lock, read};
use crate::store::rows::{self, NewRows, Row};
use crate::store::{Digest, RunId, StoreError, still_open};

pub(super) async fn create(
    shared: Arc<SharedState>,
    digest: Digest,
    definition: Arc<str>,
    rows: NewRows,
) -> Result<(), StoreError> {
    // A definition without a run harms nobody if the run is then not created.
    keep_definition(&shared, &digest, &definition).await?;
    let last = &rows.last;
    let id = &last.id;
    let sealed = rows.cover.is_some().then(|| shared.keyring.sealer(id).and_then(|sealer| rows.sealed(&sealer)));
    let sealed = sealed.transpose()?;
    let (opening, texts) = match &sealed {
        Some((opening, texts)) => (opening, texts.iter().collect::<Vec<_>>()),
        None => (&rows.opening, rows.rows().map(|row| &row.texts).collect()),
    };
    let snapshot = texts.last().and_then(|texts| texts.snapshot.clone());
    let new = Create {
        definition: digest.to_string(),
        opening: opening.clone(),
        cover: rows.cover.clone(),
        opened_at: rows.first().at,
        born: nanoseconds(),
        records: texts.iter().map(|texts| stamped(texts)).collect(),
        snapshot: snapshot.expect("a new run is written whole"),
        line: line(last),
    };
    let answer = shared.ingress.call(RUN, id.as_str(), "create", &new).await?;
    done(&shared, id, answer)?;
    shared.note_sealed(id, sealed.is_some());
    Ok(())
}

pub(super) async fn append(shared: Arc<SharedState>, row: Row, fence: Option<i64>) -> Result<(), StoreError> {
    let sealed = match is_sealed(&shared, &row.id).await? {
        true => Some(row.sealed(&shared.keyring.sealer(&row.id)?)?),
        false => None,
    };
    let texts = sealed.as_ref().unwrap_or(&row.texts);
    let next = Append {
        expected_seq: row.seq.unsigned_abs() - 1,
        fence,
        is_sealed: sealed.is_some(),
        texts: stamped(texts),
        snapshot: texts.snapshot.clone(),
        line: line(&row),
    };
    let answer = shared.ingress.call(RUN, row.id.as_str(), "append", &next).await?;
    done(&shared, &row.id, answer)
}

pub(super) async fn defer(shared: Arc<SharedState>, id: RunId, until: Option<i64>) -> Result<(), StoreError> {
    let answer = shared.ingress.call(RUN, id.as_str(), "defer", &until).await?;
    done(&shared, &id, answer)
}

pub(super) async fn remove(shared: Arc<SharedState>, id: RunId, expected_seq: u64) -> Result<(), StoreError> {
    let answer = shared.ingress.call(RUN, id.as_str(), "remove", &expected_seq).await?;
    done(&shared, &id, answer)
}

pub(super) async fn keep_definition(shared: &SharedState, digest: &Digest, text: &str) -> Result<(), StoreError> {
    if lock(&shared.definitions).contains(digest) {
        return Ok(());
    }
    let definition = Definition { digest: digest.to_string(), text: text.to_owned() };
    let key = &digest.as_str()[..DEFINITION_KEY];
    shared.ingress.call::<()>(DEFINITION, key, "keep", &definition).await?;
    let mut known = lock(&shared.definitions);
    if known.len() >= MOST_REMEMBERED {
        known.clear();
    }
    known.insert(digest.clone());
    Ok(())
}

/// Returns the result of a write. From now on lists have to show it.
fn done(shared: &SharedState, id: &RunId, answer: Written) -> Result<(), StoreError> {
    match answer {
        Written::Done => {
            expect(shared, id);
            Ok(())
        }
        Written::Taken => Err(StoreError::Taken),
        Written::NoRun => Err(StoreError::no_run(id)),
        Written::Conflict { actual_seq } => Err(StoreError::Conflict { actual_seq }),
        Written::LeaseLost => Err(StoreError::lease_lost(id)),
        Written::UnderWay { holder } => Err(shared.fences.under_way(id, Some(&holder))),
        Written::Open => Err(still_open(id)),
        Written::OtherSeal => {
            lock(&shared.sealed).remove(id);
            Err(StoreError::other_seal(id))
        }
    }
}

async fn is_sealed(shared: &Arc<SharedState>, id: &RunId) -> Result<bool, StoreError> {
    let known = lock(&shared.sealed).get(id).copied();
    match known {
        Some(known) => Ok(known),
        None => Ok(read::texts(shared, id).await?.is_sealed),
    }
}

fn stamped(texts: &rows::Texts) -> Texts {
    Texts { event: texts.event.clone(), changes: texts.changes.clone(), stamp: fastrand::u64(..) }
}

fn line(row: &Row) -> Line {
    Line {
        status: row.status.word().to_owned(),
        result: row.status.result().map(str::to_owned),
        step: row.step.clone(),
        updated_at: row.at,
        seq: row.seq.unsigned_abs(),
        due: row.due,
    }
}

/// Returns the machine's time, which orders runs that moved in the same millisecond.
fn nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
