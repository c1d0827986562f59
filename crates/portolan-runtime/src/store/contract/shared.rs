//! The guarantees for the lists that all machines share. A store that says that it has none need not give the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Subject, all};
use crate::store::{
    MOST_SHARED_BYTES, MOST_SHARED_PER_PAGE, SharedEntry, SharedList, SharedRequest, Store, StoreError,
};

fn entry(id: &str, key: &str, text: &str) -> SharedEntry {
    SharedEntry { id: id.to_owned(), key: key.to_owned(), text: text.to_owned() }
}

/// Returns a handle of a store that has lists.
fn sharing(subject: &Subject) -> Option<Arc<dyn Store>> {
    Some(subject.store()).filter(|store| store.shared_address().is_some())
}

/// Returns the entries that a request selects, page by page.
async fn entries(store: &dyn Store, request: SharedRequest) -> Vec<(u64, SharedEntry)> {
    let (mut found, mut request) = (Vec::new(), request);
    loop {
        let page = store.shared(&request).await.expect("it can be read");
        let Some((last, _)) = page.last() else { return found };
        request.after = *last;
        found.extend(page);
    }
}

async fn texts(store: &dyn Store, request: SharedRequest) -> Vec<String> {
    entries(store, request).await.into_iter().map(|(_, entry)| entry.text).collect()
}

pub(super) async fn a_store_of_one_machine_has_no_lists(subject: &Subject) {
    let store = subject.store();
    let appended = store.append_shared(SharedList::Trust, &[entry("a", "k", "x")]).await;
    let read = store.shared(&SharedRequest::of(SharedList::Trust)).await;
    match store.shared_address() {
        Some(address) => {
            assert!(!address.is_empty() && appended.is_ok() && read.is_ok(), "{appended:?} {read:?}");
            assert_eq!(subject.store().shared_address(), Some(address), "all machines name it alike");
        }
        None => {
            assert!(matches!(appended, Err(StoreError::Failed { code: "not_shared", .. })), "{appended:?}");
            assert!(matches!(read, Err(StoreError::Failed { code: "not_shared", .. })), "{read:?}");
        }
    }
}

pub(super) async fn entries_are_seen_by_all_machines_in_their_order(subject: &Subject) {
    let Some(store) = sharing(subject) else { return };
    assert_eq!(texts(&*store, SharedRequest::of(SharedList::Budgets)).await, Vec::<String>::new());
    let said = ["{\"a\": \"日本 \\u0000\"}", "", "'); DROP TABLE runs; --"];
    for (text, id) in said.iter().zip(["a", "b", "c"]) {
        store.append_shared(SharedList::Budgets, &[entry(id, "", text)]).await.expect("it is stored");
        let there = entries(&*subject.store(), SharedRequest::of(SharedList::Budgets)).await;
        assert_eq!(there.last().map(|(_, last)| last), Some(&entry(id, "", text)), "the next read returns it");
    }
    let numbered = entries(&*subject.store(), SharedRequest::of(SharedList::Budgets)).await;
    assert_eq!(numbered.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3]);
    let later = SharedRequest { after: 2, ..SharedRequest::of(SharedList::Budgets) };
    assert_eq!(texts(&*store, later).await, [said[2]]);
    assert_eq!(texts(&*store, SharedRequest::of(SharedList::Trust)).await, Vec::<String>::new(), "another list");
}

pub(super) async fn an_entry_that_is_appended_again_counts_once(subject: &Subject) {
    let Some(store) = sharing(subject) else { return };
    let both = [entry("a", "k", "1"), entry("b", "k", "2")];
    store.append_shared(SharedList::Trust, &both[..1]).await.expect("it is stored");
    subject.store().append_shared(SharedList::Trust, &both).await.expect("the second is stored");
    store.append_shared(SharedList::Trust, &[entry("a", "other", "3"), both[1].clone()]).await.expect("nothing is");
    assert_eq!(texts(&*store, SharedRequest::of(SharedList::Trust)).await, ["1", "2"]);
    // The identity is that of one list.
    store.append_shared(SharedList::Budgets, &both[..1]).await.expect("it is stored");
    assert_eq!(texts(&*store, SharedRequest::of(SharedList::Budgets)).await, ["1"]);
}

pub(super) async fn of_many_machines_each_entry_is_counted_once(subject: &Subject) {
    if sharing(subject).is_none() {
        return;
    }
    let callers = (0..8).map(|caller| {
        let store = subject.store();
        tokio::spawn(async move {
            for nth in 0..4 {
                // Each entry comes from two callers.
                let id = format!("{}-{nth}", caller / 2);
                store.append_shared(SharedList::Budgets, &[entry(&id, "", &id)]).await.expect("it is stored");
            }
        })
    });
    all(callers.collect()).await;
    let found = entries(&*subject.store(), SharedRequest::of(SharedList::Budgets)).await;
    assert_eq!(found.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (1..=16).collect::<Vec<_>>());
    assert_eq!(found.into_iter().map(|(_, entry)| entry.text).collect::<BTreeSet<_>>().len(), 16);
}

pub(super) async fn entries_are_selected_by_their_key(subject: &Subject) {
    let Some(store) = sharing(subject) else { return };
    let said = [entry("a", "x", "1"), entry("b", "y", "2"), entry("c", "x", "3"), entry("d", "", "4")];
    store.append_shared(SharedList::Trust, &said).await.expect("they are stored");
    let of =
        |key: &str, after| SharedRequest { key: Some(key.to_owned()), after, ..SharedRequest::of(SharedList::Trust) };
    assert_eq!(texts(&*store, of("x", 0)).await, ["1", "3"]);
    assert_eq!(texts(&*store, of("x", 1)).await, ["3"]);
    assert_eq!(texts(&*store, of("z", 0)).await, Vec::<String>::new());
}

pub(super) async fn a_page_has_a_bounded_number_of_entries(subject: &Subject) {
    let Some(store) = sharing(subject) else { return };
    let many: Vec<_> =
        (0..MOST_SHARED_PER_PAGE + 1).map(|nth| entry(&format!("e{nth}"), "k", &nth.to_string())).collect();
    let refused = store.append_shared(SharedList::Trust, &many).await;
    assert!(matches!(refused, Err(StoreError::Failed { code: "too_large", .. })), "{refused:?}");
    let (page, rest) = many.split_at(MOST_SHARED_PER_PAGE);
    store.append_shared(SharedList::Trust, page).await.expect("they are stored");
    store.append_shared(SharedList::Trust, rest).await.expect("it is stored");
    for key in [None, Some("k".to_owned())] {
        let request = SharedRequest { key, limit: usize::MAX, ..SharedRequest::of(SharedList::Trust) };
        assert!(store.shared(&request).await.expect("it is read").len() <= MOST_SHARED_PER_PAGE);
        assert_eq!(entries(&*store, request.clone()).await.len(), MOST_SHARED_PER_PAGE + 1);
        assert_eq!(store.shared(&SharedRequest { limit: 2, ..request }).await.expect("it is read").len(), 2);
    }
}

pub(super) async fn what_is_too_large_is_not_shared(subject: &Subject) {
    let Some(store) = sharing(subject) else { return };
    let largest = "x".repeat(MOST_SHARED_BYTES);
    let good = entry("a", "k", &largest);
    for bad in [
        entry("b", "k", &format!("{largest}x")),
        entry("b", "k", "a\0b"),
        entry("", "k", ""),
        entry("b b", "k", ""),
        entry("b", "é", ""),
        entry(&"b".repeat(300), "k", ""),
    ] {
        let refused = store.append_shared(SharedList::Trust, &[good.clone(), bad]).await;
        assert!(matches!(refused, Err(StoreError::Failed { .. })), "{refused:?}");
    }
    assert_eq!(texts(&*store, SharedRequest::of(SharedList::Trust)).await, Vec::<String>::new(), "all or none");
    store.append_shared(SharedList::Trust, &[good]).await.expect("it is stored");
    assert_eq!(texts(&*store, SharedRequest::of(SharedList::Trust)).await, [largest]);
}

/// Otherwise a reader that continues after the last number that it has seen would miss an entry for ever.
pub(super) async fn whoever_has_read_an_entry_has_read_all_before_it(subject: &Subject) {
    if sharing(subject).is_none() {
        return;
    }
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let store = subject.store();
            tokio::spawn(async move {
                for nth in 0..10 {
                    let id = format!("{writer}-{nth}");
                    store.append_shared(SharedList::Budgets, &[entry(&id, "", &id)]).await.expect("it is stored");
                }
            })
        })
        .collect();
    let (store, mut request) = (subject.store(), SharedRequest::of(SharedList::Budgets));
    let mut seen = 0;
    while seen < 40 {
        for (number, _) in store.shared(&request).await.expect("it is read") {
            seen += 1;
            assert_eq!(number, seen, "an entry became visible after a later one");
            request.after = number;
        }
        tokio::task::yield_now().await;
    }
    all(writers).await;
}
