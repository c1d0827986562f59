//! Where runs outlive the process: the [`Store`] and what goes in and out of it.
//!
//! A store keeps, for each run, its journal (the events and what they made true) and a snapshot, the fold of that
//! journal. Besides it says who drives a run, and keeps definitions: what two machines need to work on one run. It decides nothing about workflows: it knows neither the engine nor what a definition bundle says.
//!
//! An append carries the sequence number that the caller decided on, and is refused when the run has moved on since:
//! that is the whole of the concurrency control, between threads, processes and machines.

mod at;
pub mod contract;
mod definitions;
mod error;
mod lease;
mod memory;
mod seal;
mod sqlite;
mod summary;

use std::pin::Pin;
use std::sync::Arc;

use portolan_core::run::{Change, Event, Opening, Run};
use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};

pub use crate::address::RunId;
pub use crate::digest::Digest;
pub use at::StoreAt;
pub use error::StoreError;
pub(crate) use error::store_error;
pub use lease::{Lease, Lost};
pub use memory::MemoryStore;
pub use seal::{Keyring, Part, Sealer, Unopened};
pub use sqlite::SqliteStore;
pub use summary::{RunStatus, Summary};

/// What a store answers, later.
///
/// A request that was polled once is carried out even when the answer is no longer awaited.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A keeper of runs.
///
/// [`contract::check`] holds a store to what is promised here.
///
/// What was acknowledged is there afterwards, whatever happens to the process. A refusal ([`StoreError::NotFound`],
/// [`StoreError::Taken`], [`StoreError::Conflict`]) has changed nothing; after any other error of a write, load the run
/// to see whether the record is there.
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
    /// Keeps a new run, what has happened to it so far, and its definition unless that is kept already: all of it or
    /// nothing.
    ///
    /// # Panics
    /// When there is no record, or they are not numbered from 1.
    fn create(&self, new: NewRun) -> Reply<'_, ()>;

    /// Keeps the next record of a run together with the run that it leads to, when the last one is `expected_seq`.
    ///
    /// # Panics
    /// When the record is not number `expected_seq + 1`.
    fn append<'a>(&'a self, id: &'a RunId, expected_seq: u64, record: &'a Record, run_after: &'a Run) -> Reply<'a, ()>;

    /// The run as its last record left it.
    fn load<'a>(&'a self, id: &'a RunId) -> Reply<'a, StoredRun>;

    /// Up to `limit` records of a run, in order, from the one after `after_seq` (0: from the first).
    fn records<'a>(&'a self, id: &'a RunId, after_seq: u64, limit: usize) -> Reply<'a, Vec<Record>>;

    /// What there is, the run that moved last first.
    fn list(&self, filter: ListFilter) -> Reply<'_, Vec<Summary>>;

    /// A number that is another one once somebody, by whichever handle, has kept something: whoever looks on need not read
    /// before. It says nothing else. Nothing where the store cannot tell.
    fn version(&self) -> Reply<'_, Option<u64>> {
        Box::pin(async { Ok(None) })
    }

    /// Takes the right to drive a run: one caller has it at a time, on whichever machine, until the lease is dropped. It
    /// ends also with a holder that dies: it is bound to that one's process, or it has an expiry and the store renews it.
    ///
    /// Refused with [`StoreError::UnderWay`] while somebody has it.
    fn lease<'a>(&'a self, id: &'a RunId) -> Reply<'a, Box<dyn Lease>>;

    /// Keeps a definition bundle by itself, for a run that does not live in the store. One that is there already stays.
    fn keep_definition<'a>(&'a self, digest: &'a Digest, text: &'a Arc<str>) -> Reply<'a, ()>;

    /// The text of a definition bundle, kept with a run or by itself.
    fn definition<'a>(&'a self, digest: &'a Digest) -> Reply<'a, Arc<str>>;

    /// The digest of a definition bundle that is kept by itself and whose digest begins like this, where there is one.
    fn definition_like<'a>(&'a self, beginning: &'a str) -> Reply<'a, Option<Digest>>;
}

/// A run to keep.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Its handle. On [`StoreError::Taken`], try another.
    pub id: RunId,
    /// The digest of `definition_text`.
    pub definition: Digest,
    /// The definition bundle: the workflow and everything that its subflows name.
    pub definition_text: Arc<str>,
    /// What of its opening may stand readable, where the run has secrets. Nothing else of such a run can be read where it
    /// is kept, that which is appended later included.
    pub cover: Option<Opening>,
    /// The run, as the last of `records` leaves it.
    pub run: Run,
    /// Its records, from the first.
    pub records: Vec<Record>,
}

/// One entry of a run's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its number in the run, from 1, without gaps.
    pub seq: u64,
    /// What happened.
    pub event: Event,
    /// What it made true.
    pub changes: Vec<Change>,
}

/// A run as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRun {
    /// Its handle.
    pub id: RunId,
    /// The number of its last record, which an append must quote.
    pub seq: u64,
    /// The fold of its records.
    pub run: Run,
    /// The definition that it is pinned to.
    pub definition: Digest,
    /// When its first event happened.
    pub opened_at: Timestamp,
    /// When its last event happened.
    pub updated_at: Timestamp,
}

/// Which runs to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListFilter {
    /// Whether runs that are over are left out.
    pub open_only: bool,
    /// At most how many.
    pub limit: usize,
}

impl Default for ListFilter {
    fn default() -> ListFilter {
        ListFilter { open_only: false, limit: 100 }
    }
}

/// A caller that breaks this keeps a run whose journal does not lead to it.
fn assert_begins(new: &NewRun) {
    assert!(!new.records.is_empty(), "a run begins with a record");
    new.records.iter().zip(0..).for_each(|(record, before)| assert_follows(record, before));
}

/// A caller that breaks this has decided on a run that it does not hold.
fn assert_follows(record: &Record, expected_seq: u64) {
    assert_eq!(record.seq, expected_seq + 1, "a record is numbered after the one that it was decided on");
}
