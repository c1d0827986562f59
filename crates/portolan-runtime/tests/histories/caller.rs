//! A process with callers of a store.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use portolan_runtime::store::{Lease, Record, RunId, Store, StoreError};

use super::REPORTED;
use super::history::{self, Call, Log};
use super::sample::Sample;

const CALLERS: u64 = 2;

/// Makes calls on the runs of the folder until this process is killed, and writes them down.
pub(crate) fn call_until_killed(store: &Arc<dyn Store>, folder: &Path) {
    let ids = Arc::new(history::ids(folder));
    let log = Arc::new(Log::of_process(folder));
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime").block_on(
        async {
            let callers = (0..CALLERS).map(|number| {
                let caller =
                    Caller { store: Arc::clone(store), ids: Arc::clone(&ids), log: Arc::clone(&log), number, made: 0 };
                tokio::spawn(caller.calls())
            });
            for caller in callers.collect::<Vec<_>>() {
                caller.await.expect("nobody panics");
            }
        },
    );
}

struct Caller {
    store: Arc<dyn Store>,
    ids: Arc<Vec<RunId>>,
    log: Arc<Log>,
    number: u64,
    made: u64,
}

impl Caller {
    async fn calls(mut self) {
        let mut known: BTreeMap<usize, u64> = BTreeMap::new();
        let mut held: Option<(usize, u64, Box<dyn Lease>)> = None;
        loop {
            // The run that it drives, often; then others move it as well.
            let driven = held.as_ref().map(|(run, ..)| *run).filter(|_| fastrand::bool());
            let run = driven.unwrap_or_else(|| fastrand::usize(..self.ids.len()));
            let expected = known.get(&run).copied().unwrap_or(1);
            let lease = held.as_ref().filter(|(driven, ..)| *driven == run).map(|(_, lease, _)| *lease);
            let call = match fastrand::u8(..10) {
                0 | 1 => self.loads(run).await,
                2 if lease.is_none() => {
                    if let Some((run, lease, guard)) = held.take() {
                        self.releases(run, lease, guard);
                    }
                    let (call, guard) = self.leases(run).await;
                    if let (Call::Leased { lease }, Some(guard)) = (&call, guard) {
                        held = Some((run, *lease, guard));
                    }
                    call
                }
                _ => self.appends(run, expected, lease).await,
            };
            match call {
                Call::Appended { expected, .. } => drop(known.insert(run, expected + 1)),
                Call::Conflicted { actual, .. } => drop(known.insert(run, actual)),
                Call::Loaded { seq, .. } => drop(known.insert(run, seq)),
                Call::Lost { .. } => held = None,
                _ => {}
            }
        }
    }

    /// Returns a number that no other call has.
    fn next(&mut self) -> u64 {
        self.made += 1;
        if (self.made as usize).is_multiple_of(REPORTED) {
            let mut out = std::io::stdout();
            writeln!(out, "{REPORTED} more calls by {}", history::now()).expect("the parent listens");
            out.flush().expect("the parent listens");
        }
        (u64::from(std::process::id()) << 32) | (self.number << 28) | self.made
    }

    async fn appends(&mut self, run: usize, expected: u64, lease: Option<u64>) -> Call {
        let mark = self.next();
        let call = self.log.begins(run, Call::Unknown { expected, mark, lease });
        let done = append(&*self.store, &self.ids[run], (expected, mark), lease).await;
        self.log.ends(call, done)
    }

    async fn loads(&mut self, run: usize) -> Call {
        self.next();
        let call = self.log.begins(run, Call::Failed);
        let done = load(&*self.store, &self.ids[run]).await;
        self.log.ends(call, done)
    }

    async fn leases(&mut self, run: usize) -> (Call, Option<Box<dyn Lease>>) {
        let lease = self.next();
        let call = self.log.begins(run, Call::Failed);
        match self.store.lease(&self.ids[run]).await {
            Ok(guard) => (self.log.ends(call, Call::Leased { lease }), Some(guard)),
            Err(_) => (self.log.ends(call, Call::Failed), None),
        }
    }

    /// The lease ends some time after this.
    fn releases(&self, run: usize, lease: u64, guard: Box<dyn Lease>) {
        self.log.begins(run, Call::Released { lease });
        drop(guard);
    }
}

/// Loads a run, and returns what was found.
pub(crate) async fn load(store: &dyn Store, id: &RunId) -> Call {
    match store.load(id).await {
        Ok(stored) => Call::Loaded { seq: stored.seq, mark: history::mark(&stored.run) },
        Err(_) => Call::Failed,
    }
}

/// Appends a record with a mark, and returns what became of it.
pub(crate) async fn append(store: &dyn Store, id: &RunId, (expected, mark): (u64, u64), lease: Option<u64>) -> Call {
    let sample = Sample::opened("mend the door").moved("agent", &format!("m{mark}"));
    let record = Record { seq: expected + 1, event: sample.event, changes: sample.changes };
    match store.append(id, expected, &record, &sample.run).await {
        Ok(()) => Call::Appended { expected, mark, lease },
        Err(StoreError::Conflict { actual_seq }) => Call::Conflicted { expected, actual: actual_seq },
        // Where another caller of this process drives the run, the fence was that of its lease.
        Err(StoreError::Failed { code: "lease_lost", .. }) => lease.map_or(Call::Failed, |lease| Call::Lost { lease }),
        Err(_) => Call::Unknown { expected, mark, lease },
    }
}
