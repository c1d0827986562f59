//! Leases: rows that expire by the server's clock unless their holder renews them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::Object;
use tokio::sync::watch;
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{sleep, timeout};

use super::SharedState;
use super::fault::Trouble;
use super::work::Jobs;
use crate::store::lease::ProcessLease;
use crate::store::{Lease, LossFuture, RunId, StoreError};

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

/// The fences of the leases that this process holds. Its appends to these runs quote them.
#[derive(Default)]
pub(super) struct Fences(Mutex<BTreeMap<RunId, i64>>);

impl Fences {
    pub(super) fn of(&self, id: &RunId) -> Option<i64> {
        self.held().get(id).copied()
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<RunId, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lease of this process.
pub(super) struct PostgresLease {
    shared: Arc<SharedState>,
    id: RunId,
    fence: i64,
    lost: watch::Receiver<bool>,
    renewal: AbortHandle,
    jobs: Jobs,
    _driving: ProcessLease,
}

/// Takes the lease of a run, unless this process has one. It may have lost that one without having noticed it; late
/// writes with it would quote the fence of the new one.
pub(super) async fn take(
    shared: Arc<SharedState>,
    id: RunId,
    term: Duration,
    jobs: Jobs,
) -> Result<PostgresLease, StoreError> {
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
        Ok(Err(under_way(&shared, &id, row.get(0))))
    };
    let fence = shared.database.with(fence).await??;
    Ok(PostgresLease::taken(shared, id, fence, (term, taken), (jobs, driving)))
}

/// Takes the leases of up to `limit` runs that continue by themselves at `now`. Leases that a broken connection took
/// expire.
pub(super) async fn claim(
    shared: Arc<SharedState>,
    (now, limit): (i64, i64),
    term: Duration,
    jobs: Jobs,
) -> Result<Vec<(RunId, PostgresLease)>, StoreError> {
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
                leases.push((id.clone(), PostgresLease::taken(shared, id, fence, (term, taken), of_thread)));
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

/// Returns a name of this holder that no other has.
fn holder() -> String {
    format!("{} {:016x}", host(), fastrand::u64(..))
}

fn millis(term: Duration) -> f64 {
    f64::from(i32::try_from(term.as_millis()).unwrap_or(i32::MAX))
}

impl PostgresLease {
    /// Returns a lease that was taken, and renews it.
    fn taken(
        shared: Arc<SharedState>,
        id: RunId,
        fence: i64,
        (term, taken): (Duration, Instant),
        (jobs, driving): (Jobs, ProcessLease),
    ) -> PostgresLease {
        shared.fences.held().insert(id.clone(), fence);
        let (says, lost) = watch::channel(false);
        let renewal = spawn_local(renew(Arc::clone(&shared), id.clone(), fence, term, taken, says)).abort_handle();
        PostgresLease { shared, id, fence, lost, renewal, jobs, _driving: driving }
    }
}

/// Returns the error for a run whose lease this holder has.
pub(super) fn under_way(shared: &SharedState, id: &RunId, holder: Option<&str>) -> StoreError {
    let place = holder.and_then(|holder| holder.rsplit_once(' ')).map_or("?", |(host, _)| host);
    let holder = match (shared.fences.of(id), place == host()) {
        (Some(_), _) => None,
        (None, true) => Some("another process".to_owned()),
        (None, false) => Some(format!("a process on `{place}`")),
    };
    StoreError::UnderWay { run: id.clone(), holder }
}

/// Renews a lease until it is lost.
async fn renew(
    shared: Arc<SharedState>,
    id: RunId,
    fence: i64,
    term: Duration,
    mut renewed: Instant,
    says: watch::Sender<bool>,
) {
    let millis = millis(term);
    let again = async |client: &mut Object, _| {
        let statement = client.prepare_cached(RENEW).await?;
        Ok(client.execute(&statement, &[&id.as_str(), &fence, &millis]).await?)
    };
    loop {
        sleep(term / 3).await;
        let began = Instant::now();
        match timeout(term / 3, shared.database.with(again)).await {
            Ok(Ok(0)) => break,
            Ok(Ok(_)) => renewed = began,
            Ok(Err(_)) | Err(_) if renewed.elapsed() < term => {}
            Ok(Err(_)) | Err(_) => break,
        }
    }
    let _ = says.send(true);
}

impl Lease for PostgresLease {
    fn lost(&self) -> LossFuture<'_> {
        let mut lost = self.lost.clone();
        Box::pin(async move {
            // The sender lives as long as the lease is renewed.
            let _ = lost.wait_for(|lost| *lost).await;
        })
    }
}

impl Drop for PostgresLease {
    fn drop(&mut self) {
        self.renewal.abort();
        self.shared.fences.held().remove(&self.id);
        release(&self.jobs, Arc::clone(&self.shared), self.id.clone(), self.fence);
    }
}

/// Returns the name of this machine.
fn host() -> String {
    #[cfg(unix)]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    return std::env::var("COMPUTERNAME").unwrap_or_else(|_| "another machine".to_owned());
}
