//! Runs in a PostgreSQL database, shared by any number of machines. Knows SQL and nothing of workflows.
//!
//! All requests run on a thread of the store's own: a request that was made is carried out even if its caller is gone.
//! Appends queue up, and each connection that is free takes all that wait, decides each one's conflict in one
//! transaction, and replies when that transaction is on disk.

mod address;
mod connect;
mod fault;
mod lease;
mod listen;
#[cfg(test)]
mod outages;
mod read;
mod remove;
mod shared;
mod skew;
mod status;
#[cfg(test)]
mod tests;
mod work;
mod write;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use portolan_core::run::Run;
use portolan_core::value::Timestamp;
use tokio::sync::oneshot;

use super::held::Fences;
use super::jobs::ended;
use super::lease::DrivenRuns;
use super::rows::{NewRows, Row, Sizes};
use super::{
    Digest, Entry, Keyring, Lease, ListFilter, NewRun, PageRequest, Record, Reply, RunId, SchemaVersion, SharedEntry,
    SharedList, SharedRequest, Store, StoreError, StoreStatus, StoredRun, Summary,
};
use crate::clock::Clock;
pub use address::PostgresAddress;
use connect::Database;
use listen::Announcements;
use work::Work;
use write::Append;

/// A store in a PostgreSQL database.
///
/// The tables are created by the first request. Dropping the store waits for the requested writes.
pub struct PostgresStore {
    shared: Arc<SharedState>,
    /// Started by the first request.
    work: OnceLock<Result<Work, StoreError>>,
    term: Duration,
}

/// What the tasks of a store share.
struct SharedState {
    database: Database,
    keyring: Keyring,
    sizes: Sizes,
    /// The runs that are driven through this store.
    driven: DrivenRuns,
    fences: Arc<Fences>,
    announcements: Announcements,
    /// Whether runs are sealed, for those that this process has read or created.
    sealed: Mutex<BTreeMap<RunId, bool>>,
}

/// The time for which a lease lasts unless it is renewed.
const TERM: Duration = Duration::from_secs(10);
/// The maximum number of runs of which the store remembers whether they are sealed.
const MOST_REMEMBERED: usize = 4096;

impl PostgresStore {
    /// Returns the store at `address`. Runs with secrets are sealed with the newest key of `keyring`.
    ///
    /// Nothing is opened yet, so this cannot fail. The first request reports any fault of the connection.
    pub fn at(address: PostgresAddress, keyring: Keyring) -> PostgresStore {
        PostgresStore::with_clock(address, keyring, Clock::System)
    }

    /// Returns the store at `address` on a machine with this clock.
    fn with_clock(address: PostgresAddress, keyring: Keyring, clock: Clock) -> PostgresStore {
        let database = Database::at(address, clock);
        let shared = SharedState {
            database,
            keyring,
            sizes: Sizes::default(),
            driven: DrivenRuns::default(),
            fences: Arc::default(),
            announcements: Announcements::default(),
            sealed: Mutex::default(),
        };
        PostgresStore { shared: Arc::new(shared), work: OnceLock::new(), term: TERM }
    }

    /// Returns the store with leases that last for `term` unless they are renewed. The holder renews them three times in
    /// that time.
    #[must_use]
    pub fn lease_term(self, term: Duration) -> PostgresStore {
        PostgresStore { term, ..self }
    }

    fn work(&self) -> Result<&Work, StoreError> {
        self.work.get_or_init(|| Work::start(&self.shared)).as_ref().map_err(StoreError::clone)
    }

    /// Reads something on the store's thread.
    async fn read<T, F>(&self, work: impl FnOnce(Arc<SharedState>) -> F + Send + 'static) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + 'static,
    {
        let shared = Arc::clone(&self.shared);
        self.work()?.jobs().read(move || work(shared)).await
    }

    /// Does some work on the store's thread.
    async fn on_thread<T, F>(&self, work: impl FnOnce(Arc<SharedState>) -> F + Send + 'static) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + 'static,
    {
        let shared = Arc::clone(&self.shared);
        self.work()?.jobs().result_of(move || work(shared)).await
    }

    async fn append_row(&self, row: Row) -> Result<(), StoreError> {
        let (id, is_last) = (row.id.clone(), row.status.is_ended());
        let (reply, answer) = oneshot::channel();
        let fence = self.shared.fences.of(&id);
        self.work()?.appends.send(Append { row, fence, reply }).map_err(|_| ended())?;
        let answer = answer.await.unwrap_or_else(|_| Err(ended()));
        if is_last || answer.is_err() {
            self.shared.sizes.forget(&id);
        }
        answer
    }
}

impl SharedState {
    /// Notes whether a run is sealed, which never changes.
    fn note_sealed(&self, id: &RunId, is_sealed: bool) {
        let mut sealed = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        if sealed.len() >= MOST_REMEMBERED {
            sealed.clear();
        }
        sealed.insert(id.clone(), is_sealed);
    }

    fn is_sealed(&self, id: &RunId) -> Option<bool> {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied()
    }
}

impl Store for PostgresStore {
    fn create(&self, new: NewRun) -> Reply<'_, ()> {
        super::assert_begins(&new);
        Box::pin(async move {
            let (id, rows) = (new.id.clone(), NewRows::of(&new, &self.shared.sizes));
            let is_last = rows.last.status.is_ended();
            let (digest, text) = (new.definition, new.definition_text);
            let answer = self.on_thread(move |shared| write::create(shared, digest, text, rows)).await;
            if is_last || answer.is_err() {
                self.shared.sizes.forget(&id);
            }
            if answer.is_ok() {
                listen::announce(&self.shared, self.work()?.jobs());
            }
            answer
        })
    }

    fn append<'a>(&'a self, id: &'a RunId, expected_seq: u64, record: &'a Record, run_after: &'a Run) -> Reply<'a, ()> {
        super::assert_follows(record, expected_seq);
        Box::pin(async move { self.append_row(Row::of(id, record, run_after, &self.shared.sizes)).await })
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
        Box::pin(self.read(move |shared| read::list(shared, filter)))
    }

    fn version(&self) -> Reply<'_, Option<u64>> {
        Box::pin(self.read(read::version))
    }

    fn lease<'a>(&'a self, id: &'a RunId) -> Reply<'a, Box<dyn Lease>> {
        let (id, term) = (id.clone(), self.term);
        Box::pin(async move {
            let jobs = self.work()?.jobs().clone();
            let held = self.on_thread(move |shared| lease::take(shared, id, term, jobs)).await?;
            Ok(Box::new(held) as Box<dyn Lease>)
        })
    }

    fn claim(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<(RunId, Box<dyn Lease>)>> {
        let term = self.term;
        Box::pin(async move {
            let jobs = self.work()?.jobs().clone();
            let due = (now.0, i64::try_from(limit).unwrap_or(i64::MAX));
            let claimed = self.on_thread(move |shared| lease::claim(shared, due, term, jobs)).await?;
            Ok(claimed.into_iter().map(|(id, held)| (id, Box::new(held) as Box<dyn Lease>)).collect())
        })
    }

    fn defer<'a>(&'a self, id: &'a RunId, until: Option<Timestamp>) -> Reply<'a, ()> {
        let (id, until) = (id.clone(), until.map(|until| until.0));
        Box::pin(self.on_thread(move |shared| write::defer(shared, id, until)))
    }

    fn changed<'a>(&'a self, mark: &'a mut Option<u64>) -> Reply<'a, ()> {
        Box::pin(async move {
            let mut news = self.work()?.news(&self.shared);
            let known = *mark;
            let count = news.wait_for(|count| Some(*count) != known).await.map_err(|_| ended())?;
            *mark = Some(*count);
            Ok(())
        })
    }

    fn keep_definition<'a>(&'a self, digest: &'a Digest, text: &'a Arc<str>) -> Reply<'a, ()> {
        let (digest, text) = (digest.clone(), Arc::clone(text));
        Box::pin(self.on_thread(move |shared| write::keep_definition(shared, digest, text)))
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
        Box::pin(self.read(move |shared| read::page(shared, request)))
    }

    fn remove<'a>(&'a self, id: &'a RunId, expected_seq: u64) -> Reply<'a, ()> {
        Box::pin(async move {
            let wanted = id.clone();
            let answer = self.on_thread(move |shared| remove::remove(shared, wanted, expected_seq)).await;
            self.shared.sizes.forget(id);
            answer
        })
    }

    fn shared_address(&self) -> Option<String> {
        Some(self.shared.database.address().of_lists())
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
        Box::pin(self.read(status::status))
    }

    fn migrate(&self) -> Reply<'_, Option<SchemaVersion>> {
        Box::pin(self.on_thread(|shared| async move {
            let found = shared.database.look(async |_, version| Ok(version)).await?;
            shared.database.with(async |_, _| Ok(())).await?;
            Ok(Some(SchemaVersion { found, known: connect::newest() }))
        }))
    }
}
