//! Verifies a store: the journal of each run against everything that was stored beside it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::fold::{Fold, FoldedRun};
use super::summary::step;
use super::{Digest, Entry, PageRequest, RunId, RunStatus, Store, StoreError, StoredRun, Summary};
use crate::clock::rfc3339;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The number of runs that were verified.
    pub runs: u64,
    /// The number of their records.
    pub records: u64,
    /// The number of runs that are sealed with a key that this user does not have. Nothing is known of them.
    pub sealed: u64,
    /// The faults, at most [`MOST_FAULTS`](Verification::MOST_FAULTS) of them.
    pub faults: Vec<StoreFault>,
    /// The number of all faults.
    pub fault_count: u64,
}

/// A fault of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreFault {
    /// The handle of the run. `None` for a fault of the whole store.
    pub run: Option<String>,
    /// The stable code for programs.
    pub code: &'static str,
    /// The fault, in one sentence.
    pub message: String,
}

/// The number of runs that are read at once.
const RUNS: usize = 200;
/// The number of records that are read at once.
const RECORDS: usize = 100;
/// The number of digests of intact definitions that are remembered.
const MOST_DIGESTS: usize = 10_000;
/// How often a run is read again because it moved meanwhile.
const ATTEMPTS: usize = 5;

impl Verification {
    /// The maximum number of faults that are returned.
    pub const MOST_FAULTS: usize = 10_000;

    fn add(&mut self, run: Option<&str>, code: &'static str, message: String) {
        self.fault_count += 1;
        if self.faults.len() < Verification::MOST_FAULTS {
            self.faults.push(StoreFault { run: run.map(str::to_owned), code, message });
        }
    }
}

/// Verifies all runs, page by page.
pub(crate) async fn verify(store: &dyn Store) -> Result<Verification, StoreError> {
    let mut verifier = Verifier { store, found: Verification::default(), intact: BTreeSet::new() };
    match store.integrity().await {
        Ok(faults) => faults.into_iter().for_each(|fault| verifier.found.add(None, "store_damaged", fault)),
        Err(StoreError::Corrupt(fault)) => verifier.found.add(None, "store_damaged", fault),
        Err(error) => return Err(error),
    }
    let mut request = PageRequest::first(RUNS);
    loop {
        let page = match store.page(&request).await {
            Ok(page) => page,
            Err(StoreError::Corrupt(fault)) => {
                verifier.found.add(None, "store_damaged", fault);
                return Ok(verifier.found);
            }
            Err(error) => return Err(error),
        };
        let Some(last) = page.last() else { return Ok(verifier.found) };
        request.after.clone_from(&last.handle);
        for entry in page {
            verifier.run(entry).await?;
        }
    }
}

struct Verifier<'s> {
    store: &'s dyn Store,
    found: Verification,
    /// Definitions that were read and have their digest.
    intact: BTreeSet<Digest>,
}

/// What is wrong with a run: codes and messages.
type Faults = Vec<(&'static str, String)>;

/// The result of reading a run.
enum ReadResult {
    Read {
        records: u64,
        faults: Faults,
    },
    /// It cannot be opened without its key.
    Sealed,
    /// It was removed meanwhile.
    Gone,
}

impl Verifier<'_> {
    async fn run(&mut self, mut entry: Entry) -> Result<(), StoreError> {
        let Some(id) = RunId::parse(&entry.handle) else {
            let message = format!("the handle `{}` is not valid", entry.handle);
            self.found.add(Some(&entry.handle), "handle_invalid", message);
            return Ok(());
        };
        for attempt in 1.. {
            let reading = self.read(&id, &entry).await?;
            // A run that moves while it is read differs from what was read before.
            if attempt < ATTEMPTS && matches!(&reading, ReadResult::Read { faults, .. } if !faults.is_empty()) {
                match self.entry(&id).await? {
                    None => return Ok(()),
                    Some(now) if now != entry => {
                        entry = now;
                        continue;
                    }
                    Some(_) => {}
                }
            }
            self.count(&id, reading);
            return Ok(());
        }
        Ok(())
    }

    fn count(&mut self, id: &RunId, reading: ReadResult) {
        match reading {
            ReadResult::Read { records, faults } => {
                self.found.runs += 1;
                self.found.records += records;
                for (code, message) in faults {
                    self.found.add(Some(id.as_str()), code, message);
                }
            }
            ReadResult::Sealed => self.found.sealed += 1,
            ReadResult::Gone => {}
        }
    }

    async fn entry(&self, id: &RunId) -> Result<Option<Entry>, StoreError> {
        let page = self.store.page(&PageRequest::only(id)).await?;
        Ok(page.into_iter().find(|entry| entry.handle == id.as_str()))
    }

    async fn read(&mut self, id: &RunId, entry: &Entry) -> Result<ReadResult, StoreError> {
        let mut faults = Faults::new();
        if let Err(error) = &entry.summary {
            faults.push(("list_unreadable", error.to_string()));
        }
        let (stored, unreadable) = match self.store.load(id).await {
            Ok(stored) => (Some(stored), None),
            // Of a sealed run, this is a missing key. If it is the connection, the next request reports it.
            Err(StoreError::Unavailable(_)) if entry.is_sealed => return Ok(ReadResult::Sealed),
            Err(StoreError::NotFound { .. }) if self.entry(id).await?.is_none() => return Ok(ReadResult::Gone),
            Err(error @ (StoreError::Corrupt(_) | StoreError::NotFound { .. })) => (None, Some(error.to_string())),
            Err(error) => return Err(error),
        };
        let seq = stored.as_ref().map_or(u64::MAX, |stored| stored.seq);
        let (folded, is_whole) = self.fold(id, seq, &mut faults).await?;
        // Without a record that its snapshot lacks, a run cannot be loaded. That is one fault.
        if let Some(why) = unreadable
            && faults.iter().all(|(_, told)| *told != why)
        {
            faults.push(("snapshot_unreadable", why));
        }
        let records = folded.as_ref().map_or(0, |folded| folded.seq);
        if let (Some(stored), Some(folded), true) = (&stored, &folded, is_whole) {
            compare(stored, folded, &mut faults);
        }
        if let (Ok(line), Some(folded), true) = (&entry.summary, &folded, is_whole) {
            compare_line(line, folded, entry.is_sealed, &mut faults);
        }
        if let Some(stored) = &stored {
            self.definition(&stored.definition, &mut faults).await?;
        }
        Ok(ReadResult::Read { records, faults })
    }

    /// Folds the records up to `seq`. Returns whether these are all records of the run.
    async fn fold(&self, id: &RunId, seq: u64, faults: &mut Faults) -> Result<(Option<FoldedRun>, bool), StoreError> {
        let mut fold = Fold::default();
        let mut is_whole = true;
        while is_whole && fold.seq() < seq {
            let limit = usize::try_from(seq - fold.seq()).unwrap_or(usize::MAX).min(RECORDS);
            let page = match self.store.records(id, fold.seq(), limit).await {
                Ok(page) => page,
                Err(error @ (StoreError::Corrupt(_) | StoreError::NotFound { .. })) => {
                    faults.push(("record_unreadable", error.to_string()));
                    is_whole = false;
                    break;
                }
                Err(error) => return Err(error),
            };
            if page.is_empty() {
                break;
            }
            if let Some(why) = page.iter().find_map(|record| fold.add(record).err()) {
                faults.push(("journal_broken", format!("its records are not a journal: {why}")));
                is_whole = false;
            }
        }
        if is_whole && seq != u64::MAX && fold.seq() != seq {
            faults
                .push(("records_missing", format!("it is at record {seq}, and record {} is the last one", fold.seq())));
            is_whole = false;
        }
        if is_whole && matches!(self.store.records(id, fold.seq(), 1).await, Ok(later) if !later.is_empty()) {
            faults.push(("records_left", format!("it is at record {seq}, and there are records after it")));
            is_whole = false;
        }
        Ok((fold.finish(), is_whole))
    }

    async fn definition(&mut self, digest: &Digest, faults: &mut Faults) -> Result<(), StoreError> {
        if self.intact.contains(digest) {
            return Ok(());
        }
        match self.store.definition(digest).await {
            Ok(text) if Digest::of(&*text) == *digest => {
                if self.intact.len() >= MOST_DIGESTS {
                    self.intact.clear();
                }
                self.intact.insert(digest.clone());
            }
            Ok(_) => faults.push(("definition_changed", format!("the text of its definition `{digest}` was changed"))),
            Err(StoreError::NotFound { .. }) => {
                faults.push(("definition_missing", format!("its definition `{digest}` is missing")));
            }
            Err(error @ (StoreError::Corrupt(_) | StoreError::Failed { .. })) => {
                faults.push(("definition_changed", error.to_string()));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn compare(stored: &StoredRun, folded: &FoldedRun, faults: &mut Faults) {
    if stored.run != folded.run {
        faults.push(("snapshot_differs", "its snapshot is not the fold of its records".to_owned()));
    }
    if stored.opened_at != folded.opened_at {
        let (stored, folded) = (rfc3339(stored.opened_at), rfc3339(folded.opened_at));
        faults.push(("time_differs", format!("it began at {stored} by the store, and at {folded} by its records")));
    }
}

/// Compares the run as lists show it. Of a sealed run lists show the cover.
fn compare_line(line: &Summary, folded: &FoldedRun, is_sealed: bool, faults: &mut Faults) {
    let run = &folded.run;
    let (status, at) = (RunStatus::of(run), step(run));
    let columns = [
        ("status", line.status.shown().to_owned(), status.shown().to_owned()),
        ("step", line.step.clone(), at),
        ("last record", line.seq.to_string(), folded.seq.to_string()),
        ("last event", rfc3339(line.updated_at), rfc3339(folded.updated_at)),
    ];
    let workflow = ("workflow", line.workflow.to_string(), run.opening.workflow.to_string());
    for (what, listed, folded) in columns.into_iter().chain((!is_sealed).then_some(workflow)) {
        if listed != folded {
            faults.push(("list_differs", format!("lists show the {what} `{listed}`, and its records have `{folded}`")));
        }
    }
}
