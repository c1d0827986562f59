//! The contract of every store, as a test suite. Knows none of them.
//!
//! An implementation of [`Store`] calls [`check`] from a test, under a tokio runtime with time enabled. On a runtime
//! with several threads the callers run concurrently.
//!
//! ```
//! use std::sync::Arc;
//! use portolan_runtime::store::{MemoryStore, Store, contract};
//!
//! # let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
//! # rt.block_on(async {
//! contract::check(async || {
//!     let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
//!     contract::Subject::new(move || Arc::clone(&store), ())
//! })
//! .await;
//! # });
//! ```

mod claims;
mod definitions;
mod journal;
pub(super) mod leases;
mod removal;
pub(super) mod sample;
mod shared;

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use self::sample::Sample;
use super::{Digest, NewRun, Record, RunId, Store, StoreError};

/// The contents of one store, with any number of handles.
pub struct Subject {
    handle: Box<dyn Fn() -> Arc<dyn Store> + Send + Sync>,
    expiry: Duration,
    take_away: Option<TakeAway>,
    _alive: Box<dyn Any + Send + Sync>,
}

type TakeAway = Box<dyn Fn(&RunId) + Send + Sync>;

impl Subject {
    /// Returns a subject. `handle` gives another handle, as another process would have. `alive` is kept as long as the
    /// contents.
    pub fn new(handle: impl Fn() -> Arc<dyn Store> + Send + Sync + 'static, alive: impl Any + Send + Sync) -> Subject {
        let expiry = Duration::from_millis(10);
        Subject { handle: Box::new(handle), expiry, take_away: None, _alive: Box::new(alive) }
    }

    /// Returns the subject for a store whose leases expire after `expiry` unless they are renewed. `take_away` expires
    /// the lease of a run although it is held, as if its holder could not reach the store.
    #[must_use]
    pub fn expiring(self, expiry: Duration, take_away: impl Fn(&RunId) + Send + Sync + 'static) -> Subject {
        Subject { expiry, take_away: Some(Box::new(take_away)), ..self }
    }

    fn store(&self) -> Arc<dyn Store> {
        (self.handle)()
    }
}

type Promise = fn(Subject) -> Pin<Box<dyn Future<Output = ()> + Send>>;

macro_rules! promises {
    ($($module:ident: $($promise:ident)*;)*) => {
        &[$($((
            stringify!($promise),
            |subject| Box::pin(async move { $module::$promise(&subject).await }),
        ),)*)*]
    };
}

const PROMISES: &[(&str, Promise)] = promises! {
    journal: a_created_run_is_loaded a_run_begins_with_several_records appends_come_in_order a_conflict_leaves_nothing
        of_two_writers_exactly_one_wins of_many_callers_exactly_one_wins a_handle_is_taken_once
        the_run_that_moved_last_is_listed_first only_open_runs_are_listed_on_demand a_list_says_how_each_run_stands
        records_come_in_pages long_texts_are_kept any_text_is_kept unknown_names_are_not_found
        many_runs_are_kept_apart what_has_a_cover_is_kept_whole the_snapshot_is_the_fold_of_the_records
        what_was_kept_shows_by_the_version
        deep_runs_are_kept;
    definitions: runs_share_definitions definitions_are_kept_without_a_run definitions_are_found_by_their_beginning;
    leases: one_caller_drives_a_run_at_a_time of_many_callers_exactly_one_drives a_lease_is_held_until_it_is_dropped
        a_lease_that_is_lost_says_so;
    claims: a_run_is_claimed_when_its_time_has_come a_run_that_continues_at_once_is_left_to_its_writer_first
        a_run_that_waits_for_somebody_is_not_claimed a_run_is_put_off_until_its_next_record
        the_run_that_has_waited_longest_is_claimed_first of_many_workers_each_takes_other_runs
            what_a_worker_has_put_off_no_other_takes a_change_is_noticed;
    removal: pages_contain_each_run_once a_page_says_how_each_run_stands a_run_that_is_over_can_be_removed
        an_open_run_is_not_removed a_run_that_is_driven_is_not_removed only_definitions_without_a_run_are_removed
        a_status_counts_runs_and_records;
    shared: a_store_of_one_machine_has_no_lists entries_are_seen_by_all_machines_in_their_order
        an_entry_that_is_appended_again_counts_once of_many_machines_each_entry_is_counted_once
        entries_are_selected_by_their_key a_page_has_a_bounded_number_of_entries what_is_too_large_is_not_shared
        whoever_has_read_an_entry_has_read_all_before_it;
};

/// Checks that a store fulfils every guarantee. `make` creates an empty store for each of them.
///
/// # Panics
/// If a guarantee is broken: the message names it.
pub async fn check(make: impl AsyncFn() -> Subject) {
    for (name, promise) in PROMISES {
        if let Err(broken) = tokio::spawn(promise(make().await)).await {
            let why = broken.into_panic();
            let text = why.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| why.downcast_ref::<String>().cloned()).unwrap_or_default();
            panic!("the store breaks the promise `{name}`: {text}");
        }
    }
}

const DEFINITION: &str = r#"{"nodes": {}, "edges": []}"#;

fn record(seq: u64, sample: &Sample) -> Record {
    Record { seq, event: sample.event.clone(), changes: sample.changes.clone() }
}

pub(super) fn new_run(id: &RunId, sample: &Sample) -> NewRun {
    let (id, run, records) = (id.clone(), sample.run.clone(), vec![record(1, sample)]);
    NewRun { id, definition: Digest::of(DEFINITION), definition_text: DEFINITION.into(), cover: None, run, records }
}

pub(super) async fn create(store: &dyn Store, sample: &Sample) -> RunId {
    let id = RunId::random();
    store.create(new_run(&id, sample)).await.expect("a new run is kept");
    id
}

pub(super) async fn append(
    store: &dyn Store,
    id: &RunId,
    expected_seq: u64,
    sample: &Sample,
) -> Result<(), StoreError> {
    store.append(id, expected_seq, &record(expected_seq + 1, sample), &sample.run).await
}

async fn all_records(store: &dyn Store, id: &RunId) -> Vec<Record> {
    store.records(id, 0, usize::MAX).await.expect("the run is known")
}

/// Returns the results of concurrent callers.
async fn all<T>(callers: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut answers = Vec::new();
    for caller in callers {
        answers.push(caller.await.expect("no caller panics"));
    }
    answers
}
