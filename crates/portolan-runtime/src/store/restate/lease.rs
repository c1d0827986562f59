//! Leases: a part of a run's object, which ends them by a message to itself unless their holder renews them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portolan_restate_api::{Listed, Query, RUN, Renew, SHARDS, Take, Taken};

use super::{SharedState, lists};
use crate::store::held::{HeldLease, Term, holder};
use crate::store::jobs::Jobs;
use crate::store::lease::ProcessLease;
use crate::store::{RunId, StoreError};

/// Takes the lease of a run, unless this process has one. It may have lost that one without having noticed it; late
/// writes with it would quote the fence of the new one.
pub(super) async fn take(
    shared: Arc<SharedState>,
    id: RunId,
    term: Duration,
    jobs: Jobs,
) -> Result<HeldLease, StoreError> {
    let driving = shared.driven.take(&id)?;
    match request(&shared, &id, term, None).await? {
        (Taken::Lease { fence }, term) => Ok(held(shared, id, fence, term, (jobs, driving))),
        (Taken::UnderWay { holder }, _) => Err(shared.fences.under_way(&id, Some(&holder))),
        (Taken::NotDue | Taken::NoRun, _) => Err(StoreError::no_run(&id)),
    }
}

/// Takes the leases of up to `limit` runs that continue by themselves at `now`.
pub(super) async fn claim(
    shared: Arc<SharedState>,
    (now, limit): (i64, usize),
    term: Duration,
    jobs: Jobs,
) -> Result<Vec<(RunId, HeldLease)>, StoreError> {
    let mut leases = Vec::new();
    // Others may have the first ones, so more of them are looked at.
    let query = Query::Due { now, limit: u64::try_from(limit.saturating_mul(4)).unwrap_or(u64::MAX) };
    let shards = (0..SHARDS).map(|shard| lists::shard::<Vec<Listed>>(&shared, shard, "lines", Some(query.clone())));
    let mut due: Vec<Listed> = lists::all(shards).await?.into_iter().flatten().collect();
    due.sort_by_key(|listed| (listed.line.due, listed.birth.born));
    for id in due.iter().filter_map(|listed| RunId::parse(&listed.handle)) {
        if leases.len() >= limit {
            break;
        }
        // One that this process drives is nothing to claim.
        let Ok(driving) = shared.driven.take(&id) else { continue };
        // The object knows better: lists may be behind.
        if let (Taken::Lease { fence }, term) = request(&shared, &id, term, Some(now)).await? {
            leases.push((id.clone(), held(Arc::clone(&shared), id, fence, term, (jobs.clone(), driving))));
        }
    }
    Ok(leases)
}

async fn request(
    shared: &SharedState,
    id: &RunId,
    term: Duration,
    due_by: Option<i64>,
) -> Result<(Taken, Term), StoreError> {
    let taken = Instant::now();
    let wanted = Take { holder: holder(), term: millis(term), due_by };
    Ok((shared.ingress.call(RUN, id.as_str(), "take", &wanted).await?, Term { term, taken }))
}

/// Returns a lease that was taken.
fn held(
    shared: Arc<SharedState>,
    id: RunId,
    fence: i64,
    term: Term,
    (jobs, driving): (Jobs, ProcessLease),
) -> HeldLease {
    let (fences, term_millis) = (Arc::clone(&shared.fences), millis(term.term));
    let (renews, renewed) = (Arc::clone(&shared), id.clone());
    let renew = move || {
        let (shared, id) = (Arc::clone(&renews), renewed.clone());
        async move { shared.ingress.call(RUN, id.as_str(), "renew", &Renew { fence, term: term_millis }).await }
    };
    let released = id.clone();
    let release = move || {
        jobs.run(async move || {
            // If Restate cannot be reached, the lease expires.
            let _ = shared.ingress.call::<()>(RUN, released.as_str(), "release", &fence).await;
        });
    };
    HeldLease::taken((id, fence, &fences), term, driving, renew, release)
}

fn millis(term: Duration) -> u64 {
    u64::try_from(term.as_millis()).unwrap_or(u64::MAX)
}
