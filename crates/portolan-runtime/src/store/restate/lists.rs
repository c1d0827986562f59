//! Lists: the shards of the index, each an object.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portolan_restate_api::{Counts, INDEX, Listed, Query, RUN, SHARDS, select};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{MOST_REMEMBERED, SharedState, lock};
use crate::store::jobs::ended;
use crate::store::rows::{Unread, summary};
use crate::store::{Entry, ListFilter, PageRequest, RunId, StoreError, StoreStatus, Summary};

/// The time after which lists show a write without being asked to, with some to spare.
const TOLD_AFTER: Duration = Duration::from_secs(2);
/// The time for which a list waits for this process's writes.
const PATIENCE: Duration = Duration::from_secs(2);
/// The maximum number of runs that are asked to tell the index at once.
const MOST_ASKED: usize = 64;
/// The time between two looks at whether anything has changed.
const LOOK: Duration = Duration::from_millis(500);

/// Notes that lists have to show a run's last change.
pub(super) fn expect(shared: &SharedState, id: &RunId) {
    let mut expected = lock(&shared.expected);
    if expected.len() >= MOST_REMEMBERED {
        expected.retain(|_, since| since.elapsed() < TOLD_AFTER);
    }
    expected.insert(id.clone(), Instant::now());
}

/// Waits until lists show this process's writes, for at most two seconds. If it has written to very many runs, the last ones
/// take a second longer.
pub(super) async fn settled(shared: &Arc<SharedState>) -> Result<(), StoreError> {
    lock(&shared.expected).retain(|_, since| since.elapsed() < TOLD_AFTER);
    let pending: Vec<_> = lock(&shared.expected).iter().take(MOST_ASKED).map(|(id, at)| (id.clone(), *at)).collect();
    match timeout(PATIENCE, all(pending.iter().map(|(id, _)| publish(shared, id.clone())))).await {
        Ok(published) => drop(published?),
        // The index is behind by thousands of messages. A list that lags is better than none.
        Err(_) => return Ok(()),
    }
    let mut expected = lock(&shared.expected);
    for (id, at) in pending {
        // What was written meanwhile is expected still.
        if expected.get(&id) == Some(&at) {
            expected.remove(&id);
        }
    }
    Ok(())
}

fn publish(shared: &Arc<SharedState>, id: RunId) -> impl Future<Output = Result<(), StoreError>> + 'static {
    let shared = Arc::clone(shared);
    async move { shared.ingress.get(RUN, id.as_str(), "publish").await }
}

pub(super) async fn list(shared: Arc<SharedState>, filter: ListFilter) -> Result<Vec<Summary>, StoreError> {
    let limit = u64::try_from(filter.limit).unwrap_or(u64::MAX);
    let found = lines(&shared, Query::Latest { open_only: filter.open_only, limit }).await?;
    found.into_iter().map(|listed| line(listed).map_err(|unread| shared.unread(unread))).collect()
}

pub(super) async fn page(shared: Arc<SharedState>, request: PageRequest) -> Result<Vec<Entry>, StoreError> {
    let limit = u64::try_from(request.limit).unwrap_or(u64::MAX);
    let ended_before = request.ended_before.map(|before| before.0);
    let found = lines(&shared, Query::Page { after: request.after, ended_before, limit }).await?;
    let entry = |listed: Listed| {
        let (handle, is_sealed) = (listed.handle.clone(), listed.birth.is_sealed);
        Entry { handle, is_sealed, summary: line(listed).map_err(|unread| shared.unread(unread)) }
    };
    Ok(found.into_iter().map(entry).collect())
}

pub(super) async fn status(shared: Arc<SharedState>) -> Result<StoreStatus, StoreError> {
    settled(&shared).await?;
    let shards = (0..SHARDS).map(|number| shard::<Counts>(&shared, number, "counts", None::<()>));
    let mut status = StoreStatus { exists: true, ..StoreStatus::default() };
    for Counts { open, ended, records } in all(shards).await? {
        status.open += open;
        status.ended += ended;
        status.records += records;
    }
    Ok(status)
}

/// Returns a number that each write changes.
pub(super) async fn version(shared: &Arc<SharedState>) -> Result<u64, StoreError> {
    let shards = (0..SHARDS).map(|number| shard::<u64>(shared, number, "version", None::<()>));
    Ok(all(shards).await?.into_iter().fold(0, u64::wrapping_add))
}

/// Counts changes until nobody waits for them.
pub(super) async fn watch(shared: Arc<SharedState>, news: watch::Sender<u64>) {
    let looking = async {
        let mut last = None;
        loop {
            let now = version(&shared).await.ok();
            // Whoever reads then learns why Restate cannot be reached.
            if now.is_none() || now != last {
                news.send_modify(|count| *count += 1);
            }
            last = now;
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        () = looking => {}
        () = news.closed() => {}
    }
}

/// Returns the lines of all shards that a query wants.
async fn lines(shared: &Arc<SharedState>, query: Query) -> Result<Vec<Listed>, StoreError> {
    settled(shared).await?;
    let shards = (0..SHARDS).map(|number| shard::<Vec<Listed>>(shared, number, "lines", Some(query.clone())));
    Ok(select(all(shards).await?.into_iter().flatten().collect(), &query, Listed::columns))
}

fn line(listed: Listed) -> Result<Summary, Unread> {
    let Listed { handle, birth, line } = listed;
    summary(&handle, &birth.opening, (&line.status, line.result), line.step, (line.updated_at, line.seq))
}

/// Asks a shard.
pub(super) fn shard<T>(
    shared: &Arc<SharedState>,
    number: u32,
    handler: &'static str,
    input: Option<impl Serialize + 'static>,
) -> impl Future<Output = Result<T, StoreError>> + 'static
where
    T: DeserializeOwned + 'static,
{
    let shared = Arc::clone(shared);
    async move {
        let key = number.to_string();
        match input {
            Some(input) => shared.ingress.call(INDEX, &key, handler, &input).await,
            None => shared.ingress.get(INDEX, &key, handler).await,
        }
    }
}

/// Returns the results of requests that are made at the same time, in any order.
pub(super) async fn all<T: 'static>(
    requests: impl Iterator<Item = impl Future<Output = Result<T, StoreError>> + 'static>,
) -> Result<Vec<T>, StoreError> {
    let mut pending = JoinSet::new();
    requests.for_each(|request| drop(pending.spawn_local(request)));
    let mut results = Vec::new();
    while let Some(result) = pending.join_next().await {
        results.push(result.unwrap_or_else(|_| Err(ended()))?);
    }
    Ok(results)
}
