//! Leases in a store that several machines use: they expire unless their holder renews them, and each has a number, the
//! fence, that the holder's writes quote.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{sleep, timeout};

use super::lease::ProcessLease;
use super::{Lease, LossFuture, RunId, StoreError};

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

    /// Returns the error for a run whose lease this holder has.
    pub(super) fn under_way(&self, id: &RunId, holder: Option<&str>) -> StoreError {
        let place = holder.and_then(|holder| holder.rsplit_once(' ')).map_or("?", |(host, _)| host);
        let holder = match (self.of(id), place == host()) {
            (Some(_), _) => None,
            (None, true) => Some("another process".to_owned()),
            (None, false) => Some(format!("a process on `{place}`")),
        };
        StoreError::UnderWay { run: id.clone(), holder }
    }
}

/// A lease of this process, which is renewed three times in its term.
pub(super) struct HeldLease {
    id: RunId,
    fences: Arc<Fences>,
    lost: watch::Receiver<bool>,
    renewal: AbortHandle,
    release: Option<Box<dyn FnOnce() + Send + Sync>>,
    _driving: ProcessLease,
}

/// The term of a lease and the time when it was requested.
#[derive(Clone, Copy)]
pub(super) struct Term {
    pub(super) term: Duration,
    pub(super) taken: Instant,
}

impl HeldLease {
    /// Returns a lease that was taken. `renew` renews it and returns whether it is still this one; it runs as a task of
    /// the present thread. `release` gives it back.
    pub(super) fn taken<F>(
        (id, fence, fences): (RunId, i64, &Arc<Fences>),
        term: Term,
        driving: ProcessLease,
        renew: impl Fn() -> F + 'static,
        release: impl FnOnce() + Send + Sync + 'static,
    ) -> HeldLease
    where
        F: Future<Output = Result<bool, StoreError>>,
    {
        fences.held().insert(id.clone(), fence);
        let (says, lost) = watch::channel(false);
        let renewal = spawn_local(async move {
            renew_until_lost(term, renew).await;
            let _ = says.send(true);
        });
        let (fences, renewal) = (Arc::clone(fences), renewal.abort_handle());
        HeldLease { id, fences, lost, renewal, release: Some(Box::new(release)), _driving: driving }
    }
}

async fn renew_until_lost<F>(Term { term, taken: mut renewed }: Term, renew: impl Fn() -> F)
where
    F: Future<Output = Result<bool, StoreError>>,
{
    loop {
        sleep(term / 3).await;
        let began = Instant::now();
        match timeout(term / 3, renew()).await {
            Ok(Ok(false)) => return,
            Ok(Ok(true)) => renewed = began,
            Ok(Err(_)) | Err(_) if renewed.elapsed() < term => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

impl Lease for HeldLease {
    fn lost(&self) -> LossFuture<'_> {
        let mut lost = self.lost.clone();
        Box::pin(async move {
            // The sender lives as long as the lease is renewed.
            let _ = lost.wait_for(|lost| *lost).await;
        })
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.renewal.abort();
        self.fences.held().remove(&self.id);
        if let Some(release) = self.release.take() {
            release();
        }
    }
}

/// Returns a name of this holder that no other has.
pub(super) fn holder() -> String {
    format!("{} {:016x}", host(), fastrand::u64(..))
}

/// Returns the name of this machine.
pub(crate) fn host() -> String {
    #[cfg(unix)]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    return std::env::var("COMPUTERNAME").unwrap_or_else(|_| "another machine".to_owned());
}
