//! A list that all machines of a project share. It only grows.

use portolan_restate_api::{EntriesAfter, Entry};
use restate_sdk::prelude::*;

pub(crate) struct PortolanShared;

/// The number of the last entry.
const LAST: &str = "last";
/// The maximum number of entries of an answer, whatever the request says.
const MOST_ENTRIES: u64 = 256;
/// The number of bytes after which an answer has no further entry.
const MOST_BYTES: usize = 4 << 20;

fn entry_key(number: u64) -> String {
    format!("entry.{number}")
}

/// The key of the numbers of the entries with a key.
fn numbers_key(key: &str) -> String {
    format!("key.{key}")
}

#[object(
    journal_retention = "0s",
    lazy_state,
    client_visibility = "pub(crate)",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s", max_attempts = 1000000)
)]
impl PortolanShared {
    /// Appends entries, but those whose identity the list has.
    #[handler]
    async fn append(&self, ctx: ObjectContext<'_>, entries: Json<Vec<Entry>>) -> Result<(), HandlerError> {
        let mut last = ctx.get::<u64>(LAST).await?.unwrap_or(0);
        for entry in entries.into_inner() {
            let id = format!("id.{}", entry.id);
            if ctx.get::<u64>(&id).await?.is_some() {
                continue;
            }
            last += 1;
            ctx.set(&id, last);
            if !entry.key.is_empty() {
                let key = numbers_key(&entry.key);
                let mut numbers = ctx.get::<Json<Vec<u64>>>(&key).await?.map(Json::into_inner).unwrap_or_default();
                numbers.push(last);
                ctx.set(&key, Json(numbers));
            }
            ctx.set(&entry_key(last), Json(entry));
        }
        ctx.set(LAST, last);
        Ok(())
    }

    /// Returns entries with their numbers. It waits for the append before it, so that it returns what was acknowledged.
    #[handler]
    async fn entries(
        &self,
        ctx: ObjectContext<'_>,
        wanted: Json<EntriesAfter>,
    ) -> Result<Json<Vec<(u64, Entry)>>, HandlerError> {
        let EntriesAfter { key, after, limit } = wanted.into_inner();
        let limit = limit.min(MOST_ENTRIES);
        let numbers: Vec<u64> = match key {
            None => {
                let last = ctx.get::<u64>(LAST).await?.unwrap_or(0);
                (after.saturating_add(1)..=last.min(after.saturating_add(limit))).collect()
            }
            Some(key) => {
                let numbers = ctx.get::<Json<Vec<u64>>>(&numbers_key(&key)).await?.map(Json::into_inner);
                let later = numbers.unwrap_or_default().into_iter().filter(|number| *number > after);
                later.take(usize::try_from(limit).unwrap_or(usize::MAX)).collect()
            }
        };
        let (mut found, mut bytes) = (Vec::new(), 0);
        for number in numbers {
            let entry = ctx.get::<Json<Entry>>(&entry_key(number)).await?.map(Json::into_inner);
            let entry = entry.ok_or_else(|| TerminalError::new(format!("entry {number} of the list is missing")))?;
            bytes += entry.text.len();
            found.push((number, entry));
            if bytes > MOST_BYTES {
                break;
            }
        }
        Ok(Json(found))
    }
}
