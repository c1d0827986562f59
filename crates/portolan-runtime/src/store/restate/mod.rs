//! Runs in Restate, shared by any number of machines: each run is a virtual object there. Knows HTTP and nothing of
//! workflows.
//!
//! `portolan-restate` is the other side: it serves the objects. Restate calls one handler of an object at a time and
//! keeps its state in a replicated log, so a record is compared and stored by one invocation. Lists come from other
//! objects, which learn of a write soon after it was acknowledged; this process waits until they show its own writes.

mod address;
mod ingress;
mod lease;
mod lists;
mod read;
mod shared;
#[cfg(test)]
mod tests;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use portolan_core::run::Run;
use portolan_core::value::Timestamp;

use super::held::Fences;
use super::jobs::{Jobs, Thread, ended};
use super::lease::DrivenRuns;
use super::rows::{NewRows, Row, Sizes};
use super::{
    Digest, Entry, Keyring, Lease, ListFilter, NewRun, PageRequest, Record, Reply, RunId, SharedEntry, SharedList,
    SharedRequest, Store, StoreError, StoreStatus, StoredRun, Summary,
};
pub use address::RestateAddress;
use ingress::Ingress;
use tokio::sync::watch;

/// A store in Restate.
///
/// Dropping the store waits for the requested writes.
pub struct RestateStore {
    shared: Arc<SharedState>,
    /// The number of changes that this process has noticed, once somebody waits for them. It is dropped before the thread,
    /// which would otherwise wait for the task that looks for changes.
    news: OnceLock<watch::Receiver<u64>>,
    /// Started by the first request.
    thread: OnceLock<Result<Thread, StoreError>>,
    term: Duration,
}

/// What the tasks of a store share.
struct SharedState {
    ingress: Ingress,
    keyring: Keyring,
    sizes: Sizes,
    driven: DrivenRuns,
    fences: Arc<Fences>,
    /// Whether runs are sealed, for those that this process has read or created.
    sealed: Mutex<BTreeMap<RunId, bool>>,
    /// The definitions that are known to be stored.
    definitions: Mutex<BTreeSet<Digest>>,
    /// The runs of whose last change lists may not show, with the time of the change.
    expected: Mutex<BTreeMap<RunId, Instant>>,
}

/// The time for which a lease lasts unless it is renewed.
const TERM: Duration = Duration::from_secs(10);
/// The maximum number of runs or definitions of which the store remembers something.
const MOST_REMEMBERED: usize = 4096;

impl RestateStore {
    /// Returns the store at `address`. Runs with secrets are sealed with the newest key of `keyring`.
    ///
    /// Nothing is asked yet, so this cannot fail. The first request reports any fault of the connection.
    pub fn at(address: RestateAddress, keyring: Keyring) -> RestateStore {
        let shared = SharedState {
            ingress: Ingress::at(address),
            keyring,
            sizes: Sizes::default(),
            driven: DrivenRuns::default(),
            fences: Arc::default(),
            sealed: Mutex::default(),
            definitions: Mutex::default(),
            expected: Mutex::default(),
        };
        RestateStore { shared: Arc::new(shared), thread: OnceLock::new(), news: OnceLock::new(), term: TERM }
    }

    /// Returns the store with leases that last for `term` unless they are renewed. The holder renews them three times in
    /// that time.
    #[must_use]
    pub fn lease_term(self, term: Duration) -> RestateStore {
        RestateStore { term, ..self }
    }

    /// Completes when lists show everything that this store has written, or after two seconds if Restate is far behind.
    ///
    /// [`list`](Store::list), [`page`](Store::page) and [`status`](Store::status) wait for it by themselves. It is for
    /// those who look with another store.
    ///
    /// # Errors
    /// Restate does not answer.
    pub async fn settled(&self) -> Result<(), StoreError> {
        self.on_thread(|shared| async move { lists::settled(&shared).await }).await
    }

    fn jobs(&self) -> Result<&Jobs, StoreError> {
        let thread = self.thread.get_or_init(|| Thread::start("store-restate"));
        thread.as_ref().map(|thread| &thread.jobs).map_err(StoreError::clone)
    }

    /// Reads something on the store's thread.
    async fn read<T, F>(&self, work: impl FnOnce(Arc<SharedState>) -> F + Send + 'static) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + 'static,
    {
        let shared = Arc::clone(&self.shared);
        self.jobs()?.read(move || work(shared)).await
    }

    /// Does some work on the store's thread.
    async fn on_thread<T, F>(&self, work: impl FnOnce(Arc<SharedState>) -> F + Send + 'static) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + 'static,
    {
        let shared = Arc::clone(&self.shared);
        self.jobs()?.result_of(move || work(shared)).await
    }

    /// Does a write, and forgets the size of a run that was not written or is over.
    async fn write<F>(
        &self,
        (id, is_last): (RunId, bool),
        work: impl FnOnce(Arc<SharedState>) -> F + Send + 'static,
    ) -> Result<(), StoreError>
    where
        F: Future<Output = Result<(), StoreError>> + 'static,
    {
        let answer = self.on_thread(work).await;
        if is_last || answer.is_err() {
            self.shared.sizes.forget(&id);
        }
        answer
    }
}

impl SharedState {
    /// Notes whether a run is sealed, which never changes.
    fn note_sealed(&self, id: &RunId, is_sealed: bool) {
        let mut sealed = lock(&self.sealed);
        if sealed.len() >= MOST_REMEMBERED {
            sealed.clear();
        }
        sealed.insert(id.clone(), is_sealed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store for RestateStore {
    fn create(&self, new: NewRun) -> Reply<'_, ()> {
        super::assert_begins(&new);
        Box::pin(async move {
            let rows = NewRows::of(&new, &self.shared.sizes);
            let (digest, text) = (new.definition, new.definition_text);
            let of = (new.id, rows.last.status.is_ended());
            self.write(of, move |shared| write::create(shared, digest, text, rows)).await
        })
    }

    fn append<'a>(&'a self, id: &'a RunId, expected_seq: u64, record: &'a Record, run_after: &'a Run) -> Reply<'a, ()> {
        super::assert_follows(record, expected_seq);
        Box::pin(async move {
            let row = Row::of(id, record, run_after, &self.shared.sizes);
            // While the append waits, the lease may be given back and taken by another driver.
            let fence = self.shared.fences.of(id);
            let of = (id.clone(), row.status.is_ended());
            self.write(of, move |shared| write::append(shared, row, fence)).await
        })
    }

    fn load<'a>(&'a self, id: &'a RunId) -> Reply<'a, StoredRun> {
        let id = id.clone();
        Box::pin(self.read(move |shared| read::load(shared, id)))
    }

    fn records<'a>(&'a self, id: &'a RunId, after_seq: u64, limit: usize) -> Reply<'a, Vec<Record>> {
        let id = id.clone();
        Box::pin(self.read(move |shared| read::records(shared, id, after_seq, limit)))
    }

    fn list(&self, filter: ListFilter) -> Reply<'_, Vec<Summary>> {
        Box::pin(self.read(move |shared| lists::list(shared, filter)))
    }

    fn version(&self) -> Reply<'_, Option<u64>> {
        Box::pin(self.read(|shared| async move { lists::version(&shared).await.map(Some) }))
    }

    fn lease<'a>(&'a self, id: &'a RunId) -> Reply<'a, Box<dyn Lease>> {
        let (id, term) = (id.clone(), self.term);
        Box::pin(async move {
            let jobs = self.jobs()?.clone();
            let held = self.on_thread(move |shared| lease::take(shared, id, term, jobs)).await?;
            Ok(Box::new(held) as Box<dyn Lease>)
        })
    }

    fn claim(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<(RunId, Box<dyn Lease>)>> {
        let term = self.term;
        Box::pin(async move {
            let jobs = self.jobs()?.clone();
            let claimed = self.on_thread(move |shared| lease::claim(shared, (now.0, limit), term, jobs)).await?;
            Ok(claimed.into_iter().map(|(id, held)| (id, Box::new(held) as Box<dyn Lease>)).collect())
        })
    }

    fn defer<'a>(&'a self, id: &'a RunId, until: Option<Timestamp>) -> Reply<'a, ()> {
        let (id, until) = (id.clone(), until.map(|until| until.0));
        Box::pin(self.on_thread(move |shared| write::defer(shared, id, until)))
    }

    fn changed<'a>(&'a self, mark: &'a mut Option<u64>) -> Reply<'a, ()> {
        Box::pin(async move {
            let jobs = self.jobs()?;
            let watch = || {
                let (sender, receiver) = watch::channel(0);
                let shared = Arc::clone(&self.shared);
                jobs.run(async move || lists::watch(shared, sender).await);
                receiver
            };
            let mut news = self.news.get_or_init(watch).clone();
            let known = *mark;
            let count = news.wait_for(|count| Some(*count) != known).await.map_err(|_| ended())?;
            *mark = Some(*count);
            Ok(())
        })
    }

    fn keep_definition<'a>(&'a self, digest: &'a Digest, text: &'a Arc<str>) -> Reply<'a, ()> {
        let (digest, text) = (digest.clone(), Arc::clone(text));
        Box::pin(self.on_thread(move |shared| async move { write::keep_definition(&shared, &digest, &text).await }))
    }

    fn definition<'a>(&'a self, digest: &'a Digest) -> Reply<'a, Arc<str>> {
        let digest = digest.clone();
        Box::pin(self.read(move |shared| read::definition(shared, digest)))
    }

    fn definition_like<'a>(&'a self, beginning: &'a str) -> Reply<'a, Option<Digest>> {
        let beginning = beginning.to_owned();
        Box::pin(self.read(move |shared| read::definition_like(shared, beginning)))
    }

    fn page<'a>(&'a self, request: &'a PageRequest) -> Reply<'a, Vec<Entry>> {
        let request = request.clone();
        Box::pin(self.read(move |shared| lists::page(shared, request)))
    }

    fn remove<'a>(&'a self, id: &'a RunId, expected_seq: u64) -> Reply<'a, ()> {
        let removed = id.clone();
        Box::pin(self.write((id.clone(), true), move |shared| write::remove(shared, removed, expected_seq)))
    }

    fn shared_address(&self) -> Option<String> {
        Some(self.shared.ingress.address().to_string())
    }

    fn append_shared<'a>(&'a self, list: SharedList, entries: &'a [SharedEntry]) -> Reply<'a, ()> {
        let entries = entries.to_vec();
        Box::pin(self.on_thread(move |shared| shared::append(shared, list, entries)))
    }

    fn shared<'a>(&'a self, request: &'a SharedRequest) -> Reply<'a, Vec<(u64, SharedEntry)>> {
        let request = request.clone();
        Box::pin(self.read(move |shared| shared::read(shared, request)))
    }

    fn status(&self) -> Reply<'_, StoreStatus> {
        Box::pin(self.read(lists::status))
    }
}
