//! The guarantees for pages of all runs, and for the removal of runs.

use std::collections::BTreeSet;

use portolan_core::graph::EndResult;
use portolan_core::run::Place;
use portolan_core::value::Timestamp;

use super::sample::Sample;
use super::{DEFINITION, Subject, all_records, append, create, new_run};
use crate::store::{Digest, ListFilter, NewRun, PageRequest, RunId, Store, StoreError};

/// Creates a run that is over since `at`.
async fn ended(store: &dyn Store, at: i64) -> RunId {
    let sample = Sample::opened("mend the door");
    let id = create(store, &sample).await;
    let mut over = sample.placed("agent", Place::Ended { node: "done".into(), result: EndResult::Success });
    over.event.at = Timestamp(at);
    append(store, &id, 1, &over).await.expect("it is the next one");
    id
}

/// Returns all handles, page by page.
async fn paged(store: &dyn Store, ended_before: Option<Timestamp>, limit: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    loop {
        let after = found.last().cloned().unwrap_or_default();
        let page = store.page(&PageRequest { after, ended_before, limit }).await.expect("it can be read");
        assert!(page.len() <= limit, "no page is longer than it may be");
        if page.is_empty() {
            return found;
        }
        found.extend(page.into_iter().map(|entry| entry.handle));
    }
}

fn sorted(ids: &[RunId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect::<BTreeSet<_>>().into_iter().collect()
}

pub(super) async fn pages_contain_each_run_once(subject: &Subject) {
    let store = subject.store();
    assert_eq!(paged(&*store, None, 7).await, Vec::<String>::new());
    let (mut open, mut over) = (Vec::new(), Vec::new());
    for at in 0..25 {
        open.push(create(&*store, &Sample::opened("mend the door")).await);
        over.push(ended(&*store, at).await);
    }
    let both = sorted(&[&open[..], &over].concat());
    for limit in [1, 7, 50, 1_000] {
        assert_eq!(paged(&*subject.store(), None, limit).await, both);
    }
    for before in [0, 1, 20, 25] {
        let older = &over[..usize::try_from(before).expect("it is small")];
        assert_eq!(paged(&*store, Some(Timestamp(before)), 3).await, sorted(older));
    }
    let first = store.page(&PageRequest::first(3)).await.expect("it can be read");
    let moving = open.iter().find(|id| *id.as_str() > *first[2].handle).expect("most runs are on later pages");
    append(&*store, moving, 1, &Sample::opened("mend the door").moved("agent", "a")).await.expect("it is the next one");
    let after = first[2].handle.clone();
    let rest = store.page(&PageRequest { after, ..PageRequest::first(100) }).await.expect("it can be read");
    assert_eq!(rest.len(), both.len() - 3, "a run that moves keeps its place");
}

pub(super) async fn a_page_says_how_each_run_stands(subject: &Subject) {
    let store = subject.store();
    let sample = Sample::opened("mend the door");
    let open = create(&*store, &sample).await;
    let sealed = RunId::random();
    let cover = Some(sample.run.opening.clone());
    store.create(NewRun { cover, ..new_run(&sealed, &sample) }).await.expect("a new run is kept");
    let listed = store.list(ListFilter::default()).await.expect("a list can always be had");
    for entry in subject.store().page(&PageRequest::first(10)).await.expect("it can be read") {
        assert_eq!(entry.is_sealed, entry.handle == sealed.as_str());
        let line = listed.iter().find(|line| line.id.as_str() == entry.handle).expect("lists have the same runs");
        assert_eq!(entry.summary.as_ref(), Ok(line));
    }
    assert_eq!(paged(&*store, None, 10).await, sorted(&[open, sealed]));
}

pub(super) async fn a_run_that_is_over_can_be_removed(subject: &Subject) {
    let store = subject.store();
    let (gone, stays) = (ended(&*store, 5).await, ended(&*store, 5).await);
    store.remove(&gone, 2).await.expect("it is over");
    let unknown = StoreError::no_run(&gone);
    for handle in [&store, &subject.store()] {
        assert_eq!(handle.load(&gone).await, Err(unknown.clone()));
        assert_eq!(handle.records(&gone, 0, 10).await, Err(unknown.clone()));
        assert_eq!(handle.remove(&gone, 2).await, Err(unknown.clone()));
        assert_eq!(handle.lease(&gone).await.map(drop), Err(unknown.clone()));
        assert_eq!(append(&**handle, &gone, 2, &Sample::opened("late")).await, Err(unknown.clone()));
        assert_eq!(paged(&**handle, None, 10).await, [stays.to_string()]);
        assert_eq!(handle.list(ListFilter::default()).await.expect("a list can always be had").len(), 1);
        handle.definition(&Digest::of(DEFINITION)).await.expect("the other run is pinned to it");
    }
    assert_eq!(all_records(&*store, &stays).await.len(), 2);
    store.create(new_run(&gone, &Sample::opened("another"))).await.expect("the handle is free");
    assert_eq!(all_records(&*store, &gone).await.len(), 1);
}

pub(super) async fn an_open_run_is_not_removed(subject: &Subject) {
    let store = subject.store();
    let id = create(&*store, &Sample::opened("mend the door")).await;
    let refused = store.remove(&id, 1).await.expect_err("it is open");
    assert!(matches!(refused, StoreError::Failed { code: "run_open", .. }), "{refused:?}");
    let over = ended(&*store, 5).await;
    for expected_seq in [0, 1, 3, u64::MAX] {
        assert_eq!(store.remove(&over, expected_seq).await, Err(StoreError::Conflict { actual_seq: 2 }));
    }
    for (id, seq) in [(id, 1), (over, 2)] {
        assert_eq!(subject.store().load(&id).await.expect("it is still there").seq, seq);
    }
}

pub(super) async fn a_run_that_is_driven_is_not_removed(subject: &Subject) {
    let store = subject.store();
    let id = ended(&*store, 5).await;
    let lease = store.lease(&id).await.expect("nobody drives it");
    for handle in [&store, &subject.store()] {
        let refused = handle.remove(&id, 2).await;
        assert!(matches!(&refused, Err(StoreError::UnderWay { run, .. }) if *run == id), "{refused:?}");
    }
    assert_eq!(all_records(&*store, &id).await.len(), 2);
    drop(lease);
    drop(super::leases::free_again(&*store, &id).await);
    while let Err(error) = store.remove(&id, 2).await {
        assert!(matches!(error, StoreError::UnderWay { .. }), "{error:?}");
    }
    assert_eq!(store.load(&id).await, Err(StoreError::no_run(&id)));
}

/// A store that removes none returns 0.
pub(super) async fn only_definitions_without_a_run_are_removed(subject: &Subject) {
    let store = subject.store();
    let (unused, alone): (&str, std::sync::Arc<str>) = ("{\"a\": 1}", "{\"b\": 2}".into());
    let sample = Sample::opened("mend the door");
    let new = new_run(&RunId::random(), &sample);
    let gone = new.id.clone();
    let definition = Digest::of(unused);
    store.create(NewRun { definition: definition.clone(), definition_text: unused.into(), ..new }).await.expect("kept");
    let over = sample.placed("agent", Place::Ended { node: "done".into(), result: EndResult::Success });
    append(&*store, &gone, 1, &over).await.expect("it is the next one");
    create(&*store, &Sample::opened("mend the door")).await;
    store.keep_definition(&Digest::of(&*alone), &alone).await.expect("it is kept");
    assert_eq!(store.remove_unused_definitions().await, Ok(0), "each has a run, or was stored by itself");
    store.remove(&gone, 2).await.expect("it is over");
    let removed = store.remove_unused_definitions().await.expect("it can be written");
    let left = subject.store().definition(&definition).await;
    assert_eq!(removed, u64::from(left.is_err()), "{left:?}");
    store.definition(&Digest::of(DEFINITION)).await.expect("a run is pinned to it");
    store.definition(&Digest::of(&*alone)).await.expect("it was stored by itself");
}

pub(super) async fn a_status_counts_runs_and_records(subject: &Subject) {
    let store = subject.store();
    create(&*store, &Sample::opened("mend the door")).await;
    for at in 0..3 {
        ended(&*store, at).await;
    }
    let id = create(&*store, &Sample::opened("mend the door")).await;
    let lease = store.lease(&id).await.expect("nobody drives it");
    let status = subject.store().status().await.expect("it can be read");
    assert_eq!((status.exists, status.unwritable), (true, None));
    assert_eq!((status.open, status.ended, status.records), (2, 3, 8));
    assert!(status.definitions.is_none_or(|count| count == 1), "{:?}", status.definitions);
    assert!(status.driven.is_none_or(|driven| driven == [id]), "only that one is driven");
    assert!(status.schema.is_none_or(|schema| schema.found == schema.known), "{:?}", status.schema);
    drop(lease);
}
