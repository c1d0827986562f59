//! A store that this crate does not know: what two machines reach of one database, played by a map. It keeps what every
//! store promises, and services on both machines work with it.

#[path = "common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;
#[path = "common/seen.rs"]
mod seen;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use calls::{Calls, FunctionCall};
use portolan_core::run::{Actor, Opening, Run};
use portolan_core::value::Timestamp;
use portolan_runtime::drive::{self, Control, Phase};
use portolan_runtime::graphs::Graphs;
use portolan_runtime::servers::PoolOptions;
use portolan_runtime::service::{
    Act, Caller, How, InterruptionPolicy, Open, Options, Report, Request, RunCarrier, Service, States, StoreAt,
};
use portolan_runtime::store::{
    Digest, Entry, Lease, ListFilter, LossFuture, NewRun, PageRequest, Record, Reply, RunId, Store, StoreError,
    StoredRun, Summary, contract,
};
use seen::Seen;
use serde_json::json;

/// How long a lease lasts where it is not renewed.
const EXPIRY: Duration = Duration::from_millis(300);

/// The database.
#[derive(Default)]
struct Tables {
    runs: BTreeMap<RunId, Row>,
    definitions: BTreeMap<Digest, Arc<str>>,
    leases: BTreeMap<RunId, LeaseRow>,
}

struct Row {
    number: usize,
    definition: Digest,
    cover: Opening,
    is_sealed: bool,
    run: Run,
    records: Vec<Record>,
    due: Option<Timestamp>,
}

struct LeaseRow {
    machine: String,
    /// Which of all that were ever taken it is.
    token: usize,
    until: Instant,
}

/// A connection to it, from one machine.
#[derive(Clone)]
struct Remote {
    machine: String,
    tables: Arc<Mutex<Tables>>,
    taken: Arc<AtomicUsize>,
}

impl Remote {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().expect("nobody panics in here")
    }

    /// The same database, from elsewhere.
    fn from(&self, machine: &str) -> Remote {
        Remote { machine: machine.to_owned(), ..self.clone() }
    }

    /// Has a lease expire, as if its machine could not renew it.
    fn take_away(&self, id: &RunId) {
        self.tables().leases.remove(id);
    }
}

fn database() -> Remote {
    Remote { machine: "the first machine".to_owned(), tables: Arc::default(), taken: Arc::default() }
}

fn reply<'a, T: Send + 'a>(answer: impl FnOnce() -> Result<T, StoreError> + Send + 'a) -> Reply<'a, T> {
    Box::pin(async move { answer() })
}

impl Row {
    fn seq(&self) -> u64 {
        self.records.len() as u64
    }

    fn summary(&self, id: &RunId) -> Summary {
        let updated_at = self.records[self.records.len() - 1].event.at;
        Summary::of(id, &self.cover, &self.run, (updated_at, self.seq()))
    }
}

impl Store for Remote {
    fn create(&self, new: NewRun) -> Reply<'_, ()> {
        reply(move || {
            let mut tables = self.tables();
            if tables.runs.contains_key(&new.id) {
                return Err(StoreError::Taken);
            }
            tables.definitions.entry(new.definition.clone()).or_insert(new.definition_text);
            let (number, definition, records) = (tables.runs.len(), new.definition, new.records);
            let is_sealed = new.cover.is_some();
            let cover = new.cover.unwrap_or_else(|| new.run.opening.clone());
            let row = Row { number, definition, cover, is_sealed, run: new.run, records, due: None };
            tables.runs.insert(new.id, row);
            Ok(())
        })
    }

    fn append<'a>(&'a self, id: &'a RunId, expected_seq: u64, record: &'a Record, run_after: &'a Run) -> Reply<'a, ()> {
        reply(move || {
            let mut tables = self.tables();
            let row = tables.runs.get_mut(id).ok_or_else(|| StoreError::no_run(id))?;
            if row.seq() != expected_seq {
                return Err(StoreError::Conflict { actual_seq: row.seq() });
            }
            row.due = record.due(run_after);
            row.records.push(record.clone());
            row.run = run_after.clone();
            Ok(())
        })
    }

    fn load<'a>(&'a self, id: &'a RunId) -> Reply<'a, StoredRun> {
        reply(move || {
            let tables = self.tables();
            let row = tables.runs.get(id).ok_or_else(|| StoreError::no_run(id))?;
            let at = |record: usize| row.records[record].event.at;
            let (opened_at, updated_at) = (at(0), at(row.records.len() - 1));
            let (run, definition) = (row.run.clone(), row.definition.clone());
            Ok(StoredRun { id: id.clone(), seq: row.seq(), run, definition, opened_at, updated_at })
        })
    }

    fn records<'a>(&'a self, id: &'a RunId, after_seq: u64, limit: usize) -> Reply<'a, Vec<Record>> {
        reply(move || {
            let tables = self.tables();
            let row = tables.runs.get(id).ok_or_else(|| StoreError::no_run(id))?;
            Ok(row.records.iter().filter(|record| record.seq > after_seq).take(limit).cloned().collect())
        })
    }

    fn list(&self, filter: ListFilter) -> Reply<'_, Vec<Summary>> {
        reply(move || {
            let tables = self.tables();
            let mut rows: Vec<_> =
                tables.runs.iter().filter(|(_, row)| !(filter.open_only && row.run.is_over())).collect();
            rows.sort_by_key(|(id, row)| std::cmp::Reverse((row.summary(id).updated_at, row.number)));
            Ok(rows.into_iter().take(filter.limit).map(|(id, row)| row.summary(id)).collect())
        })
    }

    fn lease<'a>(&'a self, id: &'a RunId) -> Reply<'a, Box<dyn Lease>> {
        reply(move || {
            let mut tables = self.tables();
            if !tables.runs.contains_key(id) {
                return Err(StoreError::no_run(id));
            }
            if let Some(row) = tables.leases.get(id).filter(|row| row.until > Instant::now()) {
                let holder = (row.machine != self.machine).then(|| row.machine.clone());
                return Err(StoreError::UnderWay { run: id.clone(), holder });
            }
            let token = self.taken.fetch_add(1, Ordering::SeqCst);
            let row = LeaseRow { machine: self.machine.clone(), token, until: Instant::now() + EXPIRY };
            tables.leases.insert(id.clone(), row);
            Ok(Box::new(Renewed::begin(self.clone(), id.clone(), token)) as Box<dyn Lease>)
        })
    }

    fn claim(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<(RunId, Box<dyn Lease>)>> {
        Box::pin(async move {
            let due = |row: &Row| row.due.is_some_and(|due| due.0 <= now.0);
            let mut ids: Vec<_> = {
                let tables = self.tables();
                let due = tables.runs.iter().filter(|(_, row)| due(row));
                due.map(|(id, row)| (row.due.map(|due| due.0), id.clone())).collect()
            };
            ids.sort();
            let mut claimed = Vec::new();
            for (_, id) in ids {
                if claimed.len() < limit
                    && let Ok(lease) = self.lease(&id).await
                    // Whoever had the lease until now may have put the run off.
                    && self.tables().runs.get(&id).is_some_and(due)
                {
                    claimed.push((id, lease));
                }
            }
            Ok(claimed)
        })
    }

    fn defer<'a>(&'a self, id: &'a RunId, until: Option<Timestamp>) -> Reply<'a, ()> {
        reply(move || {
            self.tables().runs.get_mut(id).ok_or_else(|| StoreError::no_run(id))?.due = until;
            Ok(())
        })
    }

    fn keep_definition<'a>(&'a self, digest: &'a Digest, text: &'a Arc<str>) -> Reply<'a, ()> {
        reply(move || {
            self.tables().definitions.insert(digest.clone(), Arc::clone(text));
            Ok(())
        })
    }

    fn definition<'a>(&'a self, digest: &'a Digest) -> Reply<'a, Arc<str>> {
        reply(move || self.tables().definitions.get(digest).cloned().ok_or_else(|| StoreError::no_definition(digest)))
    }

    fn definition_like<'a>(&'a self, beginning: &'a str) -> Reply<'a, Option<Digest>> {
        reply(move || {
            let tables = self.tables();
            Ok(tables.definitions.keys().find(|digest| digest.as_str().starts_with(beginning)).cloned())
        })
    }

    fn page<'a>(&'a self, request: &'a PageRequest) -> Reply<'a, Vec<Entry>> {
        reply(move || {
            let tables = self.tables();
            let later = tables.runs.iter().filter(|(id, _)| id.as_str() > request.after.as_str());
            let wanted = later.filter(|(id, row)| {
                request.ended_before.is_none_or(|before| row.run.is_over() && row.summary(id).updated_at < before)
            });
            let entry = |(id, row): (&RunId, &Row)| Entry {
                handle: id.to_string(),
                is_sealed: row.is_sealed,
                summary: Ok(row.summary(id)),
            };
            Ok(wanted.take(request.limit).map(entry).collect())
        })
    }

    fn remove<'a>(&'a self, id: &'a RunId, expected_seq: u64) -> Reply<'a, ()> {
        Box::pin(async move {
            let _lease = self.lease(id).await?;
            let mut tables = self.tables();
            let row = tables.runs.get(id).ok_or_else(|| StoreError::no_run(id))?;
            if row.seq() != expected_seq {
                return Err(StoreError::Conflict { actual_seq: row.seq() });
            }
            if !row.run.is_over() {
                let (message, help) = (format!("the run `{id}` is not over"), "wait until it is".to_owned());
                return Err(StoreError::Failed { code: "run_open", message, help });
            }
            tables.runs.remove(id);
            Ok(())
        })
    }
}

/// A lease that a task renews, for as long as it is held.
struct Renewed {
    store: Remote,
    id: RunId,
    token: usize,
    lost: tokio::sync::watch::Receiver<bool>,
    renewing: tokio::task::JoinHandle<()>,
}

impl Renewed {
    fn begin(store: Remote, id: RunId, token: usize) -> Renewed {
        let (tell, lost) = tokio::sync::watch::channel(false);
        let (remote, run) = (store.clone(), id.clone());
        let renewing = tokio::spawn(async move {
            loop {
                tokio::time::sleep(EXPIRY / 10).await;
                match remote.tables().leases.get_mut(&run).filter(|row| row.token == token) {
                    Some(row) => row.until = Instant::now() + EXPIRY,
                    None => break,
                }
            }
            let _nobody_asks = tell.send(true);
        });
        Renewed { store, id, token, lost, renewing }
    }
}

impl Lease for Renewed {
    fn lost(&self) -> LossFuture<'_> {
        let mut lost = self.lost.clone();
        Box::pin(async move {
            if lost.wait_for(|lost| *lost).await.is_err() {
                std::future::pending().await
            }
        })
    }
}

impl Drop for Renewed {
    fn drop(&mut self) {
        self.renewing.abort();
        let mut tables = self.store.tables();
        if tables.leases.get(&self.id).is_some_and(|row| row.token == self.token) {
            tables.leases.remove(&self.id);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_what_a_store_promises() {
    contract::check(async || {
        let (one, other) = (database(), AtomicUsize::new(0));
        let database = one.clone();
        let machines = move || {
            let machine = format!("machine {}", other.fetch_add(1, Ordering::SeqCst));
            Arc::new(one.from(&machine)) as Arc<dyn Store>
        };
        contract::Subject::new(machines, ()).expiring(EXPIRY, move |id| database.take_away(id))
    })
    .await;
}

/// A machine with a project of its own, and its connection to the database.
struct Machine {
    folder: tempfile::TempDir,
    service: Service,
}

const WORKFLOW: &str = "id: change\nversion: 1.0.0\ntitle: A change\nactivities:\n  - id: work\n    name: Work\n    steps:\n\
    \x20     - { id: plan, kind: step, name: Plan }\n      - { id: build, kind: step, name: Build }\n";

fn machine(store: &Remote, name: &str, states: States, keys: Option<&Path>) -> Machine {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("project");
    std::fs::create_dir_all(project.join(".flow/workflows")).expect("a project");
    std::fs::write(project.join(".flow/workflows/change.yaml"), WORKFLOW).expect("there is room");
    let trust = Some(keys.map_or_else(|| folder.path().join("data"), Path::to_owned));
    let store = StoreAt::Custom(Arc::new(store.from(name)));
    let service = Service::new(Options { store, trust, states, ..Options::of(&project) }).expect("a service");
    Machine { folder, service }
}

impl Machine {
    fn has_nothing_of_its_own(&self) -> bool {
        !self.folder.path().join("project/.portolan").exists()
    }
}

#[tokio::test]
async fn a_run_begins_on_one_machine_and_ends_on_another() {
    let database = database();
    let [one, other] = ["machine one", "machine two"].map(|name| machine(&database, name, States::Handles, None));
    let me = Caller::agent("me");
    let wanted = Open { workflow: Some("execute".into()), ..Open::default() };
    let view = one.service.open(&wanted, &me).await.expect("it begins");
    let view = one.service.act(&Request::at(&view), &Act::Begin, &me).await.expect("it starts");
    let result = json!({ "result": { "done": "the sum is right", "check": "true", "exit_status": 0 } });
    let done = Act::Report(Report { outputs: Some(Arc::new(result)), ..Report::of("passed") });
    let here = Request::at(&view);
    assert_eq!(other.service.act(&here, &done, &me).await.expect("it is there too").terminal, Some("success"));
    assert_eq!(one.service.act(&here, &done, &me).await.expect_err("it moved on meanwhile").code, "stale");
    assert!(one.has_nothing_of_its_own() && other.has_nothing_of_its_own());
}

#[tokio::test]
async fn a_token_finds_the_definition_that_it_began_with_on_another_machine() {
    let (database, keys) = (database(), tempfile::tempdir().expect("a folder"));
    let [one, other] =
        ["machine one", "machine two"].map(|name| machine(&database, name, States::Tokens, Some(keys.path())));
    let me = Caller::agent("me");
    let wanted = Open { workflow: Some("change".into()), carrier: RunCarrier::State, ..Open::default() };
    let begun = one.service.open(&wanted, &me).await.expect("it begins");
    let changed = WORKFLOW.replace("Plan", "Plan anew").replace("1.0.0", "2.0.0");
    std::fs::write(other.folder.path().join("project/.flow/workflows/change.yaml"), changed).expect("there is room");
    let there = other.service.view(&Request::led(begun.state.clone()), &me).await.expect("it is there too");
    assert_eq!(there.state, begun.state);
    assert!(one.has_nothing_of_its_own() && other.has_nothing_of_its_own());
}

const GRAPH: &str = r#"
version: "1.0"
server: {name: numbers, version: "1"}
tools:
  - name: double
    description: Doubles a number
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: twice}
      - {id: twice, type: transform, transform: {expr: '{"twice": 2 * $.entry.n}'}, next: exit}
      - {id: exit, type: exit}
"#;

#[test]
fn a_function_is_driven_on_one_machine_at_a_time_and_only_while_the_lease_lasts() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let seen = Seen::during(|| runtime.block_on(a_lease_that_is_lost()));
    assert!(seen.contains("INFO call refused run=… code=under_way\n"), "{seen}");
    assert!(seen.contains("WARN lease lost run=…\n"), "{seen}");
}

async fn a_lease_that_is_lost() {
    let database = database();
    let [one, other] = ["machine one", "machine two"].map(|name| machine(&database, name, States::Handles, None));
    let file = one.service.project().join("double.yaml");
    std::fs::write(&file, GRAPH).expect("there is room");
    let opened = Graphs::open(vec![file], None, one.service.library(), PoolOptions::default());
    let loaded = opened.map_err(|_| "faults").expect("it is sound").current(one.service.library());
    let definition = loaded.functions.called(Some("double")).expect("it is there").clone();
    let control = Control::new(true, []);
    let how = How { control: Some(control.clone()), ..How::default() };
    let call = FunctionCall { definition, input: json!({"n": 21}), by: Actor::Engine, how, kept: true };
    let interfered = async {
        assert_eq!(control.paused().await, Phase::Paused);
        let run = database.list(ListFilter::default()).await.expect("it lists")[0].id.clone();
        let refused = other.service.resume_function(&run, InterruptionPolicy::Ask, How::default()).await;
        let refused = refused.expect_err("it is driven");
        assert_eq!(refused.code, "under_way");
        assert_eq!(refused.message, format!("the run `{run}` is running in machine one"));
        database.take_away(&run);
        run
    };
    let (driven, run) = tokio::join!(one.service.call_function(call), interfered);
    assert_eq!(driven.expect_err("it may drive no longer").code, "lease_lost");
    let resumed =
        other.service.resume_function(&run, InterruptionPolicy::Ask, How::default()).await.expect("it goes on");
    assert_eq!(resumed.outcome, drive::Outcome::Done(Some(Arc::new(json!({"twice": 42})))));
}
