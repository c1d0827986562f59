//! A store in memory: for tests, and as the second implementation that keeps the trait independent of databases.

use std::collections::{BTreeMap, btree_map};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_core::run::{Opening, Run};
use portolan_core::value::Timestamp;

use super::definitions::Definitions;
use super::lease::DrivenRuns;
use super::{
    Digest, Entry, Lease, ListFilter, NewRun, PageRequest, Record, Reply, RunId, RunStatus, SharedEntry, SharedList,
    SharedRequest, Store, StoreError, StoredRun, Summary, shared, still_open,
};

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    shelf: Mutex<Shelf>,
    driven: DrivenRuns,
    /// The definitions of runs outside the store, which outlast it.
    outside: Option<Definitions>,
    /// The address of the lists, if several services share them.
    shared: Option<String>,
}

#[derive(Debug, Default)]
struct Shelf {
    runs: BTreeMap<RunId, Journal>,
    definitions: BTreeMap<Digest, Arc<str>>,
    lists: BTreeMap<SharedList, Vec<SharedEntry>>,
    /// The number of writes.
    version: u64,
    /// The number of runs that were ever created.
    created: usize,
}

#[derive(Debug)]
struct Journal {
    /// The number of earlier runs. It orders runs that moved in the same millisecond.
    number: usize,
    definition: Digest,
    /// The opening as lists show it, if that is not all of it.
    cover: Option<Opening>,
    run: Run,
    records: Vec<Record>,
    due: Option<Timestamp>,
}

impl Store for MemoryStore {
    fn create(&self, new: NewRun) -> Reply<'_, ()> {
        super::assert_begins(&new);
        Box::pin(async move { self.shelf().create(new) })
    }

    fn append<'a>(&'a self, id: &'a RunId, expected_seq: u64, record: &'a Record, run_after: &'a Run) -> Reply<'a, ()> {
        super::assert_follows(record, expected_seq);
        Box::pin(async move { self.shelf().append(id, record, run_after) })
    }

    fn load<'a>(&'a self, id: &'a RunId) -> Reply<'a, StoredRun> {
        Box::pin(async move { self.shelf().journal(id).map(|journal| journal.stored(id)) })
    }

    fn records<'a>(&'a self, id: &'a RunId, after_seq: u64, limit: usize) -> Reply<'a, Vec<Record>> {
        Box::pin(async move { self.shelf().journal(id).map(|journal| journal.page(after_seq, limit)) })
    }

    fn list(&self, filter: ListFilter) -> Reply<'_, Vec<Summary>> {
        Box::pin(async move { Ok(self.shelf().list(filter)) })
    }

    fn version(&self) -> Reply<'_, Option<u64>> {
        Box::pin(async move { Ok(Some(self.shelf().version)) })
    }

    fn definition<'a>(&'a self, digest: &'a Digest) -> Reply<'a, Arc<str>> {
        let kept = async move {
            let found = self.shelf().definitions.get(digest).cloned();
            found.ok_or_else(|| StoreError::no_definition(digest))
        };
        match &self.outside {
            Some(outside) => Box::pin(outside.or_else(digest, kept)),
            None => Box::pin(kept),
        }
    }

    fn definition_like<'a>(&'a self, beginning: &'a str) -> Reply<'a, Option<Digest>> {
        Box::pin(async move {
            let is_like = |digest: &&Digest| digest.as_str().starts_with(beginning);
            Ok(match &self.outside {
                Some(outside) => outside.beginning_with(beginning),
                None => self.shelf().definitions.keys().find(is_like).cloned(),
            })
        })
    }

    fn keep_definition<'a>(&'a self, digest: &'a Digest, text: &'a Arc<str>) -> Reply<'a, ()> {
        Box::pin(async move {
            match &self.outside {
                Some(outside) => outside.keep(digest, text),
                None => {
                    self.shelf().definitions.entry(digest.clone()).or_insert_with(|| Arc::clone(text));
                    Ok(())
                }
            }
        })
    }

    fn lease<'a>(&'a self, id: &'a RunId) -> Reply<'a, Box<dyn Lease>> {
        Box::pin(async move {
            self.shelf().journal(id)?;
            Ok(Box::new(self.driven.take(id)?) as Box<dyn Lease>)
        })
    }

    fn claim(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<(RunId, Box<dyn Lease>)>> {
        Box::pin(async move {
            // Nobody can put a run off and end the lease in between.
            let shelf = self.shelf();
            let leases = shelf.due(now).into_iter().filter_map(|id| self.driven.take(&id).ok().map(|held| (id, held)));
            Ok(leases.take(limit).map(|(id, held)| (id, Box::new(held) as Box<dyn Lease>)).collect())
        })
    }

    fn defer<'a>(&'a self, id: &'a RunId, until: Option<Timestamp>) -> Reply<'a, ()> {
        Box::pin(async move {
            let mut shelf = self.shelf();
            shelf.runs.get_mut(id).ok_or_else(|| StoreError::no_run(id))?.due = until;
            Ok(())
        })
    }

    fn page<'a>(&'a self, request: &'a PageRequest) -> Reply<'a, Vec<Entry>> {
        Box::pin(async move { Ok(self.shelf().entries(request)) })
    }

    fn remove<'a>(&'a self, id: &'a RunId, expected_seq: u64) -> Reply<'a, ()> {
        Box::pin(async move {
            self.shelf().journal(id)?;
            let _lease = self.driven.take(id)?;
            self.shelf().remove(id, expected_seq)
        })
    }

    fn remove_unused_definitions(&self) -> Reply<'_, u64> {
        // Without a folder, those that were stored by themselves are among them.
        Box::pin(async move { Ok(if self.outside.is_some() { self.shelf().remove_unused_definitions() } else { 0 }) })
    }

    fn shared_address(&self) -> Option<String> {
        self.shared.clone()
    }

    fn append_shared<'a>(&'a self, list: SharedList, entries: &'a [SharedEntry]) -> Reply<'a, ()> {
        Box::pin(async move {
            self.shared.as_ref().ok_or_else(shared::not_shared)?;
            shared::check(entries)?;
            self.shelf().append_shared(list, entries);
            Ok(())
        })
    }

    fn shared<'a>(&'a self, request: &'a SharedRequest) -> Reply<'a, Vec<(u64, SharedEntry)>> {
        Box::pin(async move {
            self.shared.as_ref().ok_or_else(shared::not_shared)?;
            Ok(self.shelf().shared(request))
        })
    }
}

impl MemoryStore {
    /// Returns the store with the definitions of runs outside it in `folder`: such runs outlast the store.
    #[must_use]
    pub fn definitions_in(mut self, folder: PathBuf) -> MemoryStore {
        self.outside = Some(Definitions::in_folder(folder));
        self
    }

    /// Returns the store with shared lists at this address. Each service that uses the store then counts as one machine.
    #[must_use]
    pub fn shared_at(mut self, address: &str) -> MemoryStore {
        self.shared = Some(address.to_owned());
        self
    }

    /// Locks the shelf. No change of it can panic halfway, so a poisoned lock still guards a consistent shelf.
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn create(&mut self, new: NewRun) -> Result<(), StoreError> {
        let number = self.created;
        let NewRun { id, definition, definition_text, cover, run, records } = new;
        let btree_map::Entry::Vacant(place) = self.runs.entry(id) else { return Err(StoreError::Taken) };
        self.definitions.entry(definition.clone()).or_insert(definition_text);
        place.insert(Journal { number, definition, cover, run, records, due: None });
        self.created += 1;
        self.version += 1;
        Ok(())
    }

    fn append(&mut self, id: &RunId, record: &Record, run_after: &Run) -> Result<(), StoreError> {
        let journal = self.runs.get_mut(id).ok_or_else(|| StoreError::no_run(id))?;
        if record.seq != journal.seq() + 1 {
            return Err(StoreError::Conflict { actual_seq: journal.seq() });
        }
        journal.records.push(record.clone());
        journal.run = run_after.clone();
        journal.due = record.due(run_after);
        self.version += 1;
        Ok(())
    }

    fn journal(&self, id: &RunId) -> Result<&Journal, StoreError> {
        self.runs.get(id).ok_or_else(|| StoreError::no_run(id))
    }

    fn due(&self, now: Timestamp) -> Vec<RunId> {
        let due = self.runs.iter().filter_map(|(id, journal)| Some((journal.due?, id)));
        let mut due: Vec<_> = due.filter(|(due, _)| due.0 <= now.0).collect();
        due.sort_by_key(|(due, _)| due.0);
        due.into_iter().map(|(_, id)| id.clone()).collect()
    }

    fn list(&self, filter: ListFilter) -> Vec<Summary> {
        let wanted = self.runs.iter().filter(|(_, journal)| !(filter.open_only && journal.run.is_over()));
        let mut found: Vec<_> = wanted.collect();
        found.sort_by_key(|(_, journal)| std::cmp::Reverse((journal.last().event.at, journal.number)));
        found.into_iter().take(filter.limit).map(|(id, journal)| journal.summary(id)).collect()
    }

    fn entries(&self, request: &PageRequest) -> Vec<Entry> {
        let later = self.runs.iter().filter(|(id, _)| id.as_str() > request.after.as_str());
        let entries = later.map(|(id, journal)| (journal.cover.is_some(), journal.summary(id)));
        let is_wanted =
            |run: &Summary| request.ended_before.is_none_or(|before| run.status.is_ended() && run.updated_at < before);
        let wanted = entries.filter(|(_, summary)| is_wanted(summary)).take(request.limit);
        let entry =
            |(is_sealed, run): (bool, Summary)| Entry { handle: run.id.to_string(), is_sealed, summary: Ok(run) };
        wanted.map(entry).collect()
    }

    fn remove(&mut self, id: &RunId, expected_seq: u64) -> Result<(), StoreError> {
        let journal = self.journal(id)?;
        if journal.seq() != expected_seq {
            return Err(StoreError::Conflict { actual_seq: journal.seq() });
        }
        if !RunStatus::of(&journal.run).is_ended() {
            return Err(still_open(id));
        }
        self.runs.remove(id);
        self.version += 1;
        Ok(())
    }

    fn append_shared(&mut self, list: SharedList, entries: &[SharedEntry]) {
        let list = self.lists.entry(list).or_default();
        for entry in entries {
            if list.iter().all(|known| known.id != entry.id) {
                list.push(entry.clone());
            }
        }
    }

    fn shared(&self, request: &SharedRequest) -> Vec<(u64, SharedEntry)> {
        let entries = (1..).zip(self.lists.get(&request.list).into_iter().flatten());
        let is_wanted = |(number, entry): &(u64, &SharedEntry)| {
            *number > request.after && request.key.as_ref().is_none_or(|key| entry.key == *key)
        };
        let wanted = entries.filter(is_wanted).take(request.limit.min(shared::MOST_SHARED_PER_PAGE));
        wanted.map(|(number, entry)| (number, entry.clone())).collect()
    }

    fn remove_unused_definitions(&mut self) -> u64 {
        let before = self.definitions.len();
        let runs = &self.runs;
        self.definitions.retain(|digest, _| runs.values().any(|journal| journal.definition == *digest));
        (before - self.definitions.len()) as u64
    }
}

impl Journal {
    fn first(&self) -> &Record {
        self.records.first().expect("a run is created with its first record")
    }

    fn last(&self) -> &Record {
        self.records.last().expect("a run is created with its first record")
    }

    fn seq(&self) -> u64 {
        self.last().seq
    }

    fn page(&self, after_seq: u64, limit: usize) -> Vec<Record> {
        self.records.iter().filter(|record| record.seq > after_seq).take(limit).cloned().collect()
    }

    fn stored(&self, id: &RunId) -> StoredRun {
        StoredRun {
            id: id.clone(),
            seq: self.seq(),
            run: self.run.clone(),
            definition: self.definition.clone(),
            opened_at: self.first().event.at,
            updated_at: self.last().event.at,
        }
    }

    fn summary(&self, id: &RunId) -> Summary {
        let shown = self.cover.as_ref().unwrap_or(&self.run.opening);
        Summary::of(id, shown, &self.run, (self.last().event.at, self.seq()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::{Subject, check};
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn it_keeps_what_a_store_promises() {
        check(async || {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
            Subject::new(move || Arc::clone(&store), ())
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn it_keeps_them_too_with_shared_lists() {
        check(async || {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::default().shared_at("memory"));
            Subject::new(move || Arc::clone(&store), ())
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn it_keeps_them_too_with_definitions_in_a_folder() {
        check(async || {
            let home = tempfile::tempdir().expect("there is room for a directory");
            let definitions = home.path().join(".portolan/definitions");
            let store: Arc<dyn Store> = Arc::new(MemoryStore::default().definitions_in(definitions));
            Subject::new(move || Arc::clone(&store), home)
        })
        .await;
    }
}
