//! A shard of the lists: the lines of some runs.
//!
//! What lists are sorted and counted by is in the keys of the state, so a list reads the values of those runs only that it
//! shows.

use portolan_restate_api::{Columns, Counts, Listed, Note, Query, select};
use restate_sdk::prelude::*;

pub(crate) struct PortolanIndex;

/// The number of notes so far.
const VERSION: &str = "version";

/// The key of a run: `run.HANDLE.o|e.UPDATED.BORN.SEQ.DUE`, with an empty last part for a run that is never due.
fn key(columns: &Columns<'_>) -> String {
    let Columns { handle, is_ended, updated_at, born, seq, due } = columns;
    let due = due.map(|due| due.to_string()).unwrap_or_default();
    format!("run.{handle}.{}.{updated_at}.{born}.{seq}.{due}", if *is_ended { 'e' } else { 'o' })
}

/// Returns the columns of a key. `None` for the key of something else.
fn columns(key: &str) -> Option<Columns<'_>> {
    let mut parts = key.strip_prefix("run.")?.split('.');
    let mut next = || parts.next();
    Some(Columns {
        handle: next()?,
        is_ended: next()? == "e",
        updated_at: next()?.parse().ok()?,
        born: next()?.parse().ok()?,
        seq: next()?.parse().ok()?,
        due: match next()? {
            "" => None,
            due => Some(due.parse().ok()?),
        },
    })
}

#[object(
    journal_retention = "0s",
    lazy_state,
    client_visibility = "pub(crate)",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s", max_attempts = 1000000)
)]
impl PortolanIndex {
    /// Takes note of a change of a run.
    #[handler(ingress_private)]
    async fn note(&self, ctx: ObjectContext<'_>, note: Json<Note>) -> Result<(), HandlerError> {
        let Note { handle, birth, before, after } = note.into_inner();
        let version = ctx.get::<u64>(VERSION).await?.unwrap_or(0);
        ctx.set(VERSION, version + 1);
        if let Some(before) = before {
            ctx.clear(&key(&Columns::of(&handle, &birth, &before)));
        }
        if let Some(line) = after {
            let key = key(&Columns::of(&handle, &birth, &line));
            ctx.set(&key, Json(Listed { handle, birth, line }));
        }
        Ok(())
    }

    /// Returns lines.
    #[handler]
    async fn lines(&self, ctx: SharedObjectContext<'_>, query: Json<Query>) -> Result<Json<Vec<Listed>>, HandlerError> {
        let keys = ctx.get_keys().await?;
        let found = keys.iter().filter_map(|key| Some((key, columns(key)?))).collect();
        let wanted = select(found, &query.into_inner(), |(_, columns)| *columns);
        // All are asked for before the first is waited for.
        let values: Vec<_> = wanted.into_iter().map(|(key, _)| ctx.get::<Json<Listed>>(key)).collect();
        let mut lines = Vec::with_capacity(values.len());
        for value in values {
            // Another note may have come since the keys were read.
            lines.extend(value.await?.map(Json::into_inner));
        }
        Ok(Json(lines))
    }

    /// Returns a number that each note changes.
    #[handler]
    async fn version(&self, ctx: SharedObjectContext<'_>) -> Result<u64, HandlerError> {
        Ok(ctx.get::<u64>(VERSION).await?.unwrap_or(0))
    }

    /// Returns the numbers of runs and records.
    #[handler]
    async fn counts(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Counts>, HandlerError> {
        let mut counts = Counts::default();
        for columns in ctx.get_keys().await?.iter().filter_map(|key| columns(key)) {
            counts.records += columns.seq;
            *(if columns.is_ended { &mut counts.ended } else { &mut counts.open }) += 1;
        }
        Ok(Json(counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_columns_of_a_run() {
        for due in [None, Some(i64::MIN), Some(i64::MAX)] {
            let of =
                Columns { handle: "k3mx8q2p", is_ended: due.is_none(), updated_at: -5, born: u64::MAX, seq: 7, due };
            assert_eq!(columns(&key(&of)), Some(of));
        }
        assert_eq!((columns(VERSION), columns("run.k3mx8q2p")), (None, None));
    }
}
