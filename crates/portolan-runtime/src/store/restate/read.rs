//! Reads of runs and definitions.

use std::sync::Arc;

use portolan_core::value::Timestamp;
use portolan_restate_api::{DEFINITION, DEFINITION_KEY, RUN, Records, RecordsAfter, StoredTexts};

use super::SharedState;
use crate::store::rows::{Reader, Unread, complete, intact, missing};
use crate::store::{Digest, Record, RunId, StoreError, StoredRun};

pub(super) async fn load(shared: Arc<SharedState>, id: RunId) -> Result<StoredRun, StoreError> {
    let stored = texts(&shared, &id).await?;
    folded(&shared, &id, stored).map_err(|unread| shared.unread(unread))
}

/// Returns the run as it is stored, and notes whether it is sealed.
pub(super) async fn texts(shared: &SharedState, id: &RunId) -> Result<StoredTexts, StoreError> {
    let stored: Option<StoredTexts> = shared.ingress.get(RUN, id.as_str(), "load").await?;
    let stored = stored.ok_or_else(|| StoreError::no_run(id))?;
    shared.note_sealed(id, stored.is_sealed);
    Ok(stored)
}

fn folded(shared: &SharedState, id: &RunId, stored: StoredTexts) -> Result<StoredRun, Unread> {
    let reader = Reader { keyring: &shared.keyring, id };
    let mut run = reader.run(stored.whole_at, &stored.snapshot, &stored.opening)?;
    let mut at = stored.whole_at;
    for (seq, changes) in &stored.changes {
        reader.follow(&mut run, at, *seq, changes)?;
        at += 1;
    }
    if at != stored.seq {
        return Err(missing(id, at.min(stored.seq) + 1));
    }
    Ok(StoredRun {
        id: id.clone(),
        seq: stored.seq,
        run,
        definition: Digest::stored(&stored.definition),
        opened_at: Timestamp(stored.opened_at),
        updated_at: Timestamp(stored.updated_at),
    })
}

pub(super) async fn records(
    shared: Arc<SharedState>,
    id: RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let reader = Reader { keyring: &shared.keyring, id: &id };
    let mut records: Vec<Record> = Vec::new();
    loop {
        let last = records.last().map_or(after, |record| record.seq);
        let wanted = RecordsAfter { after: last, limit: u64::try_from(limit - records.len()).unwrap_or(u64::MAX) };
        let found: Option<Records> = shared.ingress.call(RUN, id.as_str(), "records", &wanted).await?;
        let Records { found, is_all } = found.ok_or_else(|| StoreError::no_run(&id))?;
        let is_end = is_all || found.is_empty();
        for (seq, texts) in &found {
            let record = reader.record(*seq, &texts.event, &texts.changes);
            records.push(record.map_err(|unread| shared.unread(unread))?);
        }
        if is_end {
            complete(&records, &id, after).map_err(|unread| shared.unread(unread))?;
            return Ok(records);
        }
    }
}

pub(super) async fn definition(shared: Arc<SharedState>, digest: Digest) -> Result<Arc<str>, StoreError> {
    let key = &digest.as_str()[..DEFINITION_KEY];
    let text: Option<String> = shared.ingress.call(DEFINITION, key, "text", &digest.as_str()).await?;
    let text = text.ok_or_else(|| StoreError::no_definition(&digest))?;
    intact(&digest, text.into()).map_err(|unread| shared.unread(unread))
}

/// Returns the digest of a definition that begins like this, from the digits of an object's key on.
pub(super) async fn definition_like(shared: Arc<SharedState>, beginning: String) -> Result<Option<Digest>, StoreError> {
    let Some(key) = beginning.get(..DEFINITION_KEY) else { return Ok(None) };
    let digest: Option<String> = shared.ingress.call(DEFINITION, key, "like", &beginning).await?;
    Ok(digest.map(|digest| Digest::stored(&digest)))
}

impl SharedState {
    pub(super) fn unread(&self, unread: Unread) -> StoreError {
        unread.into_error(&format!("`{}`", self.ingress.address()), "a backup")
    }
}
