//! The store of runs: the [`Store`], its requests and its results.
//!
//! A store keeps, for each run, its journal (the events and their changes) and a snapshot, the fold of that journal. It
//! also grants leases to drive a run, and keeps definitions: what two machines need to work on one run. It decides
//! nothing about workflows: it knows neither the engine nor the content of a definition bundle.
//!
//! An append names the sequence number that the caller decided on, and is refused if the run has moved on since. This
//! is the whole concurrency control, between threads, processes and machines.

mod archive;
mod at;
pub mod contract;
mod definitions;
mod error;
mod fold;
mod held;
mod jobs;
mod lease;
mod memory;
mod postgres;
mod restate;
mod rows;
mod seal;
mod shared;
mod sqlite;
mod status;
mod summary;
mod verify;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::run::{Change, Event, Opening, Run};
use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};

pub use crate::address::RunId;
pub use crate::digest::Digest;
pub(crate) use archive::{Archive, ArchiveWriter, ends_complete, export, import, new_run};
pub use archive::{ExportError, ExportResult, ImportResult, LeftOut, LeftOuts, Selection};
pub use at::{BadAddress, StoreAt};
pub use error::StoreError;
pub(crate) use error::store_error;
pub(crate) use held::host;
pub use lease::{Lease, LossFuture};
pub use memory::MemoryStore;
pub use postgres::{PostgresAddress, PostgresStore};
pub use restate::{RestateAddress, RestateStore};
pub use seal::{Keyring, Part, Sealer, UnsealError};
pub use shared::{MOST_SHARED_BYTES, MOST_SHARED_PER_PAGE, SharedEntry, SharedList, SharedRequest};
pub use sqlite::SqliteStore;
pub use status::{SchemaVersion, StoreStatus};
pub use summary::{RunStatus, Summary};
pub(crate) use verify::verify;
pub use verify::{StoreFault, Verification};

/// The future result of a store's method.
///
/// A write that was polled once is carried out even if its result is no longer awaited.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A store of runs.
///
/// [`contract::check`] tests a store for these guarantees.
///
/// An acknowledged write survives the process. A refusal ([`StoreError::NotFound`], [`StoreError::Taken`],
/// [`StoreError::Conflict`]) has changed nothing. After any other error of a write, load the run to see whether it has
/// the record.
///
/// ```
/// use portolan_core::run::{Actor, Change, Event, EventKind, Opening, Place, Run};
/// use portolan_core::value::Timestamp;
/// use portolan_runtime::store::{Digest, MemoryStore, NewRun, Record, RunId, Store};
///
/// let opening = Opening::of("fix");
/// let event = Event { at: Timestamp(0), by: Actor::Engine, what: EventKind::Opened(opening.clone()) };
/// let changes = vec![Change::Opened { opening, place: Place::Ready { node: "start".into() } }];
/// let run = Run::fold(&changes).unwrap();
/// let id = RunId::random();
///
/// let rt = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// let stored = rt.block_on(async {
///     let store = MemoryStore::default();
///     store.create(NewRun {
///         id: id.clone(),
///         definition: Digest::of("{}"),
///         definition_text: "{}".into(),
///         cover: None,
///         run,
///         records: vec![Record { seq: 1, event, changes }],
///     }).await?;
///     store.load(&id).await
/// }).unwrap();
/// assert_eq!((stored.id, stored.seq), (id, 1));
/// ```
pub trait Store: Send + Sync {
    /// Stores a new run, its records so far, and its definition unless the store has it already: all of it or nothing.
    ///
    /// # Panics
    /// If there is no record, or they are not numbered from 1.
    fn create(&self, new: NewRun) -> Reply<'_, ()>;

    /// Stores the next record of a run with the resulting run, if the last record is `expected_seq`.
    ///
    /// # Panics
    /// If the record is not number `expected_seq + 1`.
    fn append<'a>(&'a self, id: &'a RunId, expected_seq: u64, record: &'a Record, run_after: &'a Run) -> Reply<'a, ()>;

    /// Returns the run after its last record.
    fn load<'a>(&'a self, id: &'a RunId) -> Reply<'a, StoredRun>;

    /// Returns up to `limit` records of a run, in order, from the one after `after_seq` (0: from the first).
    fn records<'a>(&'a self, id: &'a RunId, after_seq: u64, limit: usize) -> Reply<'a, Vec<Record>>;

    /// Lists runs, the one that moved last first.
    ///
    /// It shows what was written through this store. What others have written may follow a moment later, as it may in
    /// [`claim`](Store::claim), [`page`](Store::page) and [`status`](Store::status): no decision may depend on it.
    fn list(&self, filter: ListFilter) -> Reply<'_, Vec<Summary>>;

    /// Returns a number that changes whenever anything is stored, by any handle, and may change once more soon after. A
    /// watcher needs no read before it changes. The number has no other meaning. `None` if the store has no such number.
    fn version(&self) -> Reply<'_, Option<u64>> {
        Box::pin(async { Ok(None) })
    }

    /// Acquires the lease to drive a run: one caller has it at a time, across machines, until the lease is dropped. It
    /// also ends if its holder dies: it is bound to the holder's process, or it expires and the store renews it.
    ///
    /// Refused with [`StoreError::UnderWay`] while another caller has it.
    fn lease<'a>(&'a self, id: &'a RunId) -> Reply<'a, Box<dyn Lease>>;

    /// Acquires the leases of up to `limit` runs that continue by themselves at `now` and that nobody drives, the one
    /// that has waited longest first. A run of another caller may be among them that has continued meanwhile.
    ///
    /// An appended record sets that time: see [`Record::due`]. A new run has none, because its creator drives it.
    fn claim(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<(RunId, Box<dyn Lease>)>>;

    /// Sets the time from which [`claim`](Store::claim) returns a run, until its next record; `None` for never.
    fn defer<'a>(&'a self, id: &'a RunId, until: Option<Timestamp>) -> Reply<'a, ()>;

    /// Completes when something has been stored since `mark` was set, by any handle, and sets `mark`. It may also
    /// complete without a reason, as it does for `None`.
    fn changed<'a>(&'a self, mark: &'a mut Option<u64>) -> Reply<'a, ()> {
        Box::pin(async move {
            loop {
                let version = self.version().await?;
                if version.is_some() && version != *mark {
                    *mark = version;
                    return Ok(());
                }
                tokio::time::sleep(LOOK).await;
                if version.is_none() {
                    return Ok(());
                }
            }
        })
    }

    /// Stores a definition bundle by itself, for a run outside the store. An existing one does not change.
    fn keep_definition<'a>(&'a self, digest: &'a Digest, text: &'a Arc<str>) -> Reply<'a, ()>;

    /// Returns the text of a definition bundle that was stored with a run or by itself.
    fn definition<'a>(&'a self, digest: &'a Digest) -> Reply<'a, Arc<str>>;

    /// Returns the digest of a definition bundle that was stored by itself and whose digest begins like this, if any.
    fn definition_like<'a>(&'a self, beginning: &'a str) -> Reply<'a, Option<Digest>>;

    /// Returns runs in the order of their handles. A run keeps its place when it moves, so pages that follow one another
    /// contain each run once.
    fn page<'a>(&'a self, request: &'a PageRequest) -> Reply<'a, Vec<Entry>>;

    /// Removes a run that is over, with its journal, if its last record is `expected_seq`.
    ///
    /// Refused with the code `run_open` if the run is not over, and with [`StoreError::UnderWay`] while a caller has its
    /// lease. The definition of the run stays.
    fn remove<'a>(&'a self, id: &'a RunId, expected_seq: u64) -> Reply<'a, ()>;

    /// Removes the definitions that no run is pinned to, and returns their number. A definition that was stored by itself
    /// stays, so a store that cannot distinguish the two removes none.
    fn remove_unused_definitions(&self) -> Reply<'_, u64> {
        Box::pin(async { Ok(0) })
    }

    /// Returns the address of the lists that all machines of a project share, without a password or token. `None` if the
    /// store belongs to one machine and has no lists.
    ///
    /// A machine that trusts what such a list says has bound this decision to the address: it contains all that decides
    /// which server is asked.
    fn shared_address(&self) -> Option<String> {
        None
    }

    /// Appends entries to a shared list: all of them or none. Those whose identity is in the list already are left out, so
    /// an append may be repeated.
    ///
    /// An acknowledged entry is returned by the next [`shared`](Store::shared), on all machines.
    fn append_shared<'a>(&'a self, list: SharedList, entries: &'a [SharedEntry]) -> Reply<'a, ()> {
        let _ = (list, entries);
        Box::pin(async { Err(shared::not_shared()) })
    }

    /// Returns entries of a shared list with their numbers, which grow from 1, in their order.
    fn shared<'a>(&'a self, request: &'a SharedRequest) -> Reply<'a, Vec<(u64, SharedEntry)>> {
        let _ = request;
        Box::pin(async { Err(shared::not_shared()) })
    }

    /// Returns the state of the store. It changes nothing: tables of an earlier version stay as they are.
    fn status(&self) -> Reply<'_, StoreStatus> {
        Box::pin(status::counted(self))
    }

    /// Brings the tables to the version of this release, as the first request does. Returns the version before, or
    /// `None` if there is no store yet or if it has no versions.
    fn migrate(&self) -> Reply<'_, Option<SchemaVersion>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns the faults that the store finds in its own files or tables, whatever they contain: a sentence for each.
    fn integrity(&self) -> Reply<'_, Vec<String>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// A run to store.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The handle. On [`StoreError::Taken`], try another.
    pub id: RunId,
    /// The digest of `definition_text`.
    pub definition: Digest,
    /// The definition bundle: the workflow and everything that its subflows name.
    pub definition_text: Arc<str>,
    /// The readable part of the opening, if the run has secrets. Nothing else of such a run is stored readable, later
    /// records included.
    pub cover: Option<Opening>,
    /// The run after the last of `records`.
    pub run: Run,
    /// The records, from the first.
    pub records: Vec<Record>,
}

/// One entry of a run's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The number in the run, from 1, without gaps.
    pub seq: u64,
    /// The event.
    pub event: Event,
    /// The changes of the event.
    pub changes: Vec<Change>,
}

/// A stored run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRun {
    /// The handle.
    pub id: RunId,
    /// The number of the last record, which an append must name.
    pub seq: u64,
    /// The fold of the records.
    pub run: Run,
    /// The definition to which the run is pinned.
    pub definition: Digest,
    /// The time of the first event.
    pub opened_at: Timestamp,
    /// The time of the last event.
    pub updated_at: Timestamp,
}

/// Which runs to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListFilter {
    /// Whether runs that are over are left out.
    pub open_only: bool,
    /// The maximum number of runs.
    pub limit: usize,
}

impl Default for ListFilter {
    fn default() -> ListFilter {
        ListFilter { open_only: false, limit: 100 }
    }
}

/// The time in milliseconds for which a run that continues at once is left to whoever stored its last record.
const GRACE: i64 = 2_000;
/// How often a store without notifications is asked for changes.
const LOOK: Duration = Duration::from_millis(50);

impl Record {
    /// Returns the time from which [`Store::claim`] returns the run after this record. `None` for never.
    ///
    /// This is when the run continues by itself: see [`Run::continues_at`]. A run that continues at once is left for two
    /// seconds to whoever stored the record.
    pub fn due(&self, run_after: &Run) -> Option<Timestamp> {
        let grace = Timestamp(self.event.at.0.saturating_add(GRACE));
        run_after.continues_at().map(|time| if time.0 <= self.event.at.0 { grace } else { time })
    }
}

/// Which runs a page contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The handle of the last run of the page before. Empty for the first page.
    pub after: String,
    /// Leaves out all runs but those that are over and whose last event was before this time.
    pub ended_before: Option<Timestamp>,
    /// The maximum number of runs.
    pub limit: usize,
}

impl PageRequest {
    /// Returns the first page of all runs.
    pub fn first(limit: usize) -> PageRequest {
        PageRequest { after: String::new(), ended_before: None, limit }
    }

    /// Returns the page that begins at a run and has one run, which is another one if there is no such run.
    pub fn only(id: &RunId) -> PageRequest {
        // All handles have one length, so none is between these two.
        let (beginning, last) = id.as_str().split_at(id.as_str().len() - 1);
        let before = last.bytes().map(|letter| char::from(letter - 1));
        PageRequest { after: beginning.chars().chain(before).collect(), ..PageRequest::first(1) }
    }
}

/// A run of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The handle as it is stored. It is not valid if the store is damaged.
    pub handle: String,
    /// Whether the run has secrets, so that only its cover may be written readable.
    pub is_sealed: bool,
    /// The run in one line, or the reason why it cannot be read.
    pub summary: Result<Summary, StoreError>,
}

/// Returns the error for the removal of a run that is not over.
fn still_open(id: &RunId) -> StoreError {
    StoreError::Failed {
        code: "run_open",
        message: format!("the run `{id}` is not over"),
        help: format!("cancel it with `portolan runs cancel {id}`, or wait until it has ended"),
    }
}

/// Panics unless the records begin a run: otherwise the stored run would not follow from its journal.
fn assert_begins(new: &NewRun) {
    assert!(!new.records.is_empty(), "a run begins with a record");
    new.records.iter().zip(0..).for_each(|(record, before)| assert_follows(record, before));
}

/// Panics unless the record is the next one: otherwise the caller has decided on a run that it does not hold.
fn assert_follows(record: &Record, expected_seq: u64) {
    assert_eq!(record.seq, expected_seq + 1, "the number of a record follows that of the record it was decided on");
}
