//! The guarantees for leases.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::sample::Sample;
use super::{Subject, all, append, create};
use crate::store::{Lease, RunId, Store, StoreError};

/// The maximum time that a store may take to see that a lease is over.
const PATIENCE: Duration = Duration::from_secs(30);

fn is_under_way(answer: &Result<Box<dyn Lease>, StoreError>, id: &RunId) -> bool {
    matches!(answer, Err(StoreError::UnderWay { run, .. }) if run == id)
}

/// Returns the lease of a run that was released or lost.
pub(in crate::store) async fn free_again(store: &dyn Store, id: &RunId) -> Box<dyn Lease> {
    let taken = async {
        loop {
            match store.lease(id).await {
                Ok(lease) => return lease,
                answer => assert!(is_under_way(&answer, id), "{:?}", answer.err()),
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, taken).await.expect("a lease that nobody holds can be taken")
}

pub(super) async fn one_caller_drives_a_run_at_a_time(subject: &Subject) {
    let (store, other) = (subject.store(), subject.store());
    let sample = Sample::opened("mend the door");
    let (id, another) = (create(&*store, &sample).await, create(&*store, &sample).await);
    let lease = store.lease(&id).await.expect("nobody drives it");
    for handle in [&store, &other] {
        assert!(is_under_way(&handle.lease(&id).await, &id), "it is driven");
    }
    assert!(other.lease(&another).await.is_ok(), "a lease is for one run only");
    append(&*other, &id, 1, &sample.moved("agent", "a")).await.expect("it says nothing of who writes");
    drop(lease);
    for handle in [&other, &store] {
        drop(free_again(&**handle, &id).await);
    }
}

pub(super) async fn of_many_callers_exactly_one_drives(subject: &Subject) {
    let store = subject.store();
    let id = create(&*store, &Sample::opened("mend the door")).await;
    let callers = (0..32).map(|caller| {
        let (store, id) = (if caller % 2 == 0 { Arc::clone(&store) } else { subject.store() }, id.clone());
        // A lease is held until all have asked.
        tokio::spawn(async move { store.lease(&id).await })
    });
    let answers = all(callers.collect()).await;
    let refused = answers.iter().filter(|answer| is_under_way(answer, &id)).count();
    assert_eq!((answers.iter().filter(|answer| answer.is_ok()).count(), refused), (1, 31));
}

pub(super) async fn a_lease_is_held_until_it_is_dropped(subject: &Subject) {
    let store = subject.store();
    let id = create(&*store, &Sample::opened("mend the door")).await;
    let lease = store.lease(&id).await.expect("nobody drives it");
    timeout(subject.expiry * 3, lease.lost()).await.expect_err("it is renewed for as long as it is held");
    assert!(is_under_way(&subject.store().lease(&id).await, &id), "it is driven");
}

/// For stores whose leases can be lost: the holder must be notified.
pub(super) async fn a_lease_that_is_lost_says_so(subject: &Subject) {
    let Some(take_away) = &subject.take_away else { return };
    let store = subject.store();
    let id = create(&*store, &Sample::opened("mend the door")).await;
    let lease = store.lease(&id).await.expect("nobody drives it");
    take_away(&id);
    timeout(PATIENCE, lease.lost()).await.expect("its holder learns of it");
    let next = free_again(&*subject.store(), &id).await;
    drop(lease);
    assert!(is_under_way(&store.lease(&id).await, &id), "a lost lease is not given back");
    drop(next);
}
