//! Leases: rows that expire by the server's clock unless their holder renews them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::Object;

use super::SharedState;
use super::fault::Trouble;
use crate::store::held::{HeldLease, Term, holder};
use crate::store::jobs::Jobs;
use crate::store::lease::ProcessLease;
use crate::store::{RunId, StoreError};

/// Takes the lease unless somebody has it. The fence grows each time.
const TAKE: &str = "INSERT INTO leases AS l (run, holder, until, fence)
    SELECT number, $2, clock_timestamp() + $3 * interval '1 millisecond', 1 FROM runs WHERE id = $1
    ON CONFLICT (run) DO UPDATE SET holder = excluded.holder, until = excluded.until, fence = l.fence + 1
        WHERE l.until < clock_timestamp() OR l.holder = excluded.holder
    RETURNING fence";
/// Takes the leases of runs that continue by themselves and that nobody drives. Other callers skip these rows.
const CLAIM: &str = "WITH due AS (
        SELECT p.run FROM positions p LEFT JOIN leases l ON l.run = p.run
        WHERE p.due <= $1 AND (l.until IS NULL OR l.until < clock_timestamp())
        ORDER BY p.due LIMIT $2 FOR UPDATE OF p SKIP LOCKED
    ), taken AS (
        INSERT INTO leases AS l (run, holder, until, fence)
        SELECT run, $3, clock_timestamp() + $4 * interval '1 millisecond', 1 FROM due
        ON CONFLICT (run) DO UPDATE SET holder = excluded.holder, until = excluded.until, fence = l.fence + 1
            WHERE l.until < clock_timestamp()
        RETURNING run, fence
    ) SELECT r.id, t.fence FROM taken t JOIN runs r ON r.number = t.run";
const HOLDER: &str = "SELECT l.holder FROM runs r LEFT JOIN leases l ON l.run = r.number WHERE r.id = $1";
const RENEW: &str = "UPDATE leases l SET until = clock_timestamp() + $3 * interval '1 millisecond'
    FROM runs r WHERE r.id = $1 AND l.run = r.number AND l.fence = $2";
const RELEASE: &str = "UPDATE leases l SET until = '-infinity'
    FROM runs r WHERE r.id = $1 AND l.run = r.number AND l.fence = $2";

/// Takes the lease of a run, unless this process has one. It may have lost that one without having noticed it; late
/// writes with it would quote the fence of the new one.
pub(super) async fn take(
    shared: Arc<SharedState>,
    id: RunId,
    term: Duration,
    jobs: Jobs,
) -> Result<HeldLease, StoreError> {
    let driving = shared.driven.take(&id)?;
    let (holder, millis, taken) = (holder(), millis(term), Instant::now());
    let fence = async |client: &mut Object, _| -> Result<Result<i64, StoreError>, Trouble> {
        let statement = client.prepare_cached(TAKE).await?;
        if let Some(row) = client.query_opt(&statement, &[&id.as_str(), &holder, &millis]).await? {
            return Ok(Ok(row.get(0)));
        }
        let statement = client.prepare_cached(HOLDER).await?;
        let Some(row) = client.query_opt(&statement, &[&id.as_str()]).await? else {
            return Ok(Err(StoreError::no_run(&id)));
        };
        Ok(Err(shared.fences.under_way(&id, row.get(0))))
    };
    let fence = shared.database.with(fence).await??;
    Ok(held(shared, id, fence, Term { term, taken }, (jobs, driving)))
}

/// Takes the leases of up to `limit` runs that continue by themselves at `now`. Leases that a broken connection took
/// expire.
pub(super) async fn claim(
    shared: Arc<SharedState>,
    (now, limit): (i64, i64),
    term: Duration,
    jobs: Jobs,
) -> Result<Vec<(RunId, HeldLease)>, StoreError> {
    let (millis, taken) = (millis(term), Instant::now());
    let claimed = async |client: &mut Object, _| -> Result<_, Trouble> {
        let skew = shared.database.skew();
        skew.measure(client).await?;
        let statement = client.prepare_cached(CLAIM).await?;
        Ok(client.query(&statement, &[&skew.there(now), &limit, &holder(), &millis]).await?)
    };
    let rows = shared.database.with(claimed).await?;
    let mut leases = Vec::new();
    for (id, fence) in rows.iter().filter_map(|row| Some((RunId::parse(row.get(0))?, row.get(1)))) {
        match shared.driven.take(&id) {
            Ok(driving) => {
                let (shared, of_thread) = (Arc::clone(&shared), (jobs.clone(), driving));
                leases.push((id.clone(), held(shared, id, fence, Term { term, taken }, of_thread)));
            }
            // It has lost another one without having noticed it: see `take`.
            Err(_) => release(&jobs, Arc::clone(&shared), id, fence),
        }
    }
    Ok(leases)
}

/// Gives a lease back. If the server cannot be reached, it expires.
fn release(jobs: &Jobs, shared: Arc<SharedState>, id: RunId, fence: i64) {
    jobs.run(async move || {
        let release = async |client: &mut Object, _| {
            let statement = client.prepare_cached(RELEASE).await?;
            Ok(client.execute(&statement, &[&id.as_str(), &fence]).await?)
        };
        let _ = shared.database.with(release).await;
    });
}

/// Returns a lease that was taken.
fn held(
    shared: Arc<SharedState>,
    id: RunId,
    fence: i64,
    term: Term,
    (jobs, driving): (Jobs, ProcessLease),
) -> HeldLease {
    let (fences, millis) = (Arc::clone(&shared.fences), millis(term.term));
    let (renews, renewed) = (Arc::clone(&shared), id.clone());
    let renew = move || {
        let (shared, id) = (Arc::clone(&renews), renewed.clone());
        async move {
            let again = async |client: &mut Object, _| {
                let statement = client.prepare_cached(RENEW).await?;
                Ok(client.execute(&statement, &[&id.as_str(), &fence, &millis]).await? > 0)
            };
            shared.database.with(again).await
        }
    };
    let released = id.clone();
    HeldLease::taken((id, fence, &fences), term, driving, renew, move || release(&jobs, shared, released, fence))
}

fn millis(term: Duration) -> f64 {
    f64::from(i32::try_from(term.as_millis()).unwrap_or(i32::MAX))
}
