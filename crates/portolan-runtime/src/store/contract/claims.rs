//! The guarantees for workers: which runs they take, and how they learn of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use portolan_core::run::Place;
use portolan_core::value::Timestamp;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::sample::Sample;
use super::{Subject, all, append, create};
use crate::store::{Lease, RunId, Store, StoreError};

/// The maximum time that a store may take to show what was stored, or that a lease is over.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time of all records of a sample.
const THEN: i64 = 1_700_000_000_000;

/// Returns a place from which a run continues by itself at `not_before`, or at once.
fn calling(not_before: Option<i64>) -> Place {
    let (node, arguments) = ("call".into(), Arc::new(Value::Null));
    Place::Calling { node, arguments, retries: 1, not_before: not_before.map(Timestamp) }
}

/// Returns a run that continues by itself at `not_before`, or at once.
async fn run_at(store: &dyn Store, not_before: Option<i64>) -> RunId {
    let sample = Sample::opened("mend the door");
    let id = create(store, &sample).await;
    append(store, &id, 1, &sample.placed("agent", calling(not_before))).await.expect("it is the next record");
    id
}

type RunLeases = Vec<(RunId, Box<dyn Lease>)>;

async fn claim(store: &dyn Store, now: i64, limit: usize) -> RunLeases {
    store.claim(Timestamp(now), limit).await.expect("it can be claimed")
}

fn ids(claimed: &RunLeases) -> Vec<&RunId> {
    claimed.iter().map(|(id, _)| id).collect()
}

/// Claims until there is something: a lease that was dropped may last a little longer.
async fn claim_again(store: &dyn Store, now: i64) -> RunLeases {
    let claimed = async {
        loop {
            let claimed = claim(store, now, 10).await;
            if !claimed.is_empty() {
                return claimed;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, claimed).await.expect("a run that nobody drives can be claimed")
}

pub(super) async fn a_run_is_claimed_when_its_time_has_come(subject: &Subject) {
    let (store, other) = (subject.store(), subject.store());
    let id = run_at(&*store, Some(THEN + 60_000)).await;
    assert_eq!(ids(&claim(&*other, THEN + 59_999, 10).await), Vec::<&RunId>::new(), "it is too early");
    let claimed = claim(&*other, THEN + 60_000, 10).await;
    assert_eq!(ids(&claimed), [&id]);
    for handle in [&store, &other] {
        assert_eq!(ids(&claim(&**handle, THEN + 90_000, 10).await), Vec::<&RunId>::new(), "it is driven");
        assert!(matches!(handle.lease(&id).await, Err(StoreError::UnderWay { .. })), "it is driven");
    }
    drop(claimed);
    assert_eq!(ids(&claim_again(&*store, THEN + 60_000).await), [&id]);
}

pub(super) async fn a_run_that_continues_at_once_is_left_to_its_writer_first(subject: &Subject) {
    let store = subject.store();
    let id = run_at(&*store, None).await;
    assert_eq!(ids(&claim(&*store, THEN + 1_999, 10).await), Vec::<&RunId>::new(), "its writer goes on");
    assert_eq!(ids(&claim(&*store, THEN + 2_000, 10).await), [&id]);
}

pub(super) async fn a_run_that_waits_for_somebody_is_not_claimed(subject: &Subject) {
    let (store, later) = (subject.store(), i64::MAX);
    let sample = Sample::opened("mend the door");
    let created = create(&*store, &sample).await;
    let moved = create(&*store, &sample).await;
    append(&*store, &moved, 1, &sample.clone().moved("agent", "work")).await.expect("it is the next record");
    let stopped = run_at(&*store, Some(THEN + 1)).await;
    append(&*store, &stopped, 2, &sample.moved("agent", "work")).await.expect("it is the next record");
    assert_eq!(ids(&claim(&*store, later, 10).await), Vec::<&RunId>::new());
    store.defer(&created, Some(Timestamp(5))).await.expect("a run can be handed over");
    assert_eq!(ids(&claim(&*store, 4, 10).await), Vec::<&RunId>::new());
    assert_eq!(ids(&claim(&*store, 5, 10).await), [&created]);
}

pub(super) async fn a_run_is_put_off_until_its_next_record(subject: &Subject) {
    let store = subject.store();
    let id = run_at(&*store, Some(THEN + 1)).await;
    store.defer(&id, None).await.expect("a run can be put off");
    assert_eq!(ids(&claim(&*store, i64::MAX, 10).await), Vec::<&RunId>::new());
    store.defer(&id, Some(Timestamp(THEN + 7))).await.expect("a run can be put off");
    assert_eq!(ids(&claim(&*store, THEN + 6, 10).await), Vec::<&RunId>::new());
    store.defer(&id, None).await.expect("a run can be put off");
    let again = Sample::opened("mend the door").placed("agent", calling(Some(THEN + 9)));
    append(&*store, &id, 2, &again).await.expect("it is the next record");
    assert_eq!(ids(&claim(&*store, THEN + 9, 10).await), [&id]);
    let unknown = store.defer(&RunId::random(), None).await;
    assert!(matches!(unknown, Err(StoreError::NotFound { .. })), "{unknown:?}");
}

pub(super) async fn the_run_that_has_waited_longest_is_claimed_first(subject: &Subject) {
    let store = subject.store();
    let (late, early, between) = (
        run_at(&*store, Some(THEN + 30)).await,
        run_at(&*store, Some(THEN + 10)).await,
        run_at(&*store, Some(THEN + 20)).await,
    );
    let first = claim(&*store, THEN + 100, 2).await;
    let mut two = ids(&first);
    two.sort();
    let mut expected = [&early, &between];
    expected.sort();
    assert_eq!(two, expected);
    assert_eq!(ids(&claim(&*store, THEN + 100, 2).await), [&late]);
}

/// Lets many workers claim until each finds nothing. Returns the runs that they took, with their leases. With `puts_off`,
/// each puts its runs off and ends the leases as soon as it has them.
async fn claimed_by_many(
    subject: &Subject,
    store: &Arc<dyn Store>,
    puts_off: bool,
) -> Vec<(RunId, Option<Box<dyn Lease>>)> {
    let workers = (0..8).map(|worker| {
        let store = if worker % 2 == 0 { Arc::clone(store) } else { subject.store() };
        tokio::spawn(async move {
            let mut taken = Vec::new();
            loop {
                let claimed = claim(&*store, THEN + 1, 3).await;
                if claimed.is_empty() {
                    return taken;
                }
                for (id, lease) in claimed {
                    if puts_off {
                        store.defer(&id, None).await.expect("it is stored");
                    }
                    taken.push((id, Some(lease).filter(|_| !puts_off)));
                }
            }
        })
    });
    all(workers.collect()).await.into_iter().flatten().collect()
}

pub(super) async fn of_many_workers_each_takes_other_runs(subject: &Subject) {
    let store = subject.store();
    let mut runs = BTreeMap::new();
    for _ in 0..40 {
        runs.insert(run_at(&*store, Some(THEN + 1)).await, 0);
    }
    let taken = claimed_by_many(subject, &store, false).await;
    taken.iter().for_each(|(id, _)| *runs.get_mut(id).expect("one of these") += 1);
    assert!(runs.values().all(|times| *times <= 1), "no run is driven by two");
    drop(taken);
    let mut left = 40 - runs.values().sum::<usize>();
    // One that a worker skipped while another looked at it is claimed by the next.
    while left > 0 {
        left -= claim_again(&*store, THEN + 1).await.len().min(left);
    }
}

pub(super) async fn what_a_worker_has_put_off_no_other_takes(subject: &Subject) {
    let store = subject.store();
    for _ in 0..40 {
        run_at(&*store, Some(THEN + 1)).await;
    }
    let taken = claimed_by_many(subject, &store, true).await;
    let different: BTreeSet<&RunId> = taken.iter().map(|(id, _)| id).collect();
    assert_eq!(different.len(), taken.len(), "a run is taken once");
}

pub(super) async fn a_change_is_noticed(subject: &Subject) {
    let (store, other) = (subject.store(), subject.store());
    let mut mark = None;
    store.changed(&mut mark).await.expect("at once");
    let sample = Sample::opened("mend the door");
    let written = tokio::spawn(async move { create(&*other, &sample).await });
    let seen = async {
        loop {
            store.changed(&mut mark).await.expect("it can be asked");
            if !store.list(Default::default()).await.expect("it can be listed").is_empty() {
                return;
            }
        }
    };
    timeout(PATIENCE, seen).await.expect("what another handle stored is noticed");
    written.await.expect("it was stored");
}
