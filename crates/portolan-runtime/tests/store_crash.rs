//! Processes that are killed in the middle of writing, and processes that write the same run at the same time.
//!
//! The processes are this program again, as the test [`child`] with a role in its environment. What they did they tell
//! on their standard output, a line for each acknowledged write; the parent acts on what it has read, never on time.

#[path = "../src/store/contract/sample.rs"]
mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use portolan_core::run::{Actor, Run};
use portolan_runtime::store::{Digest, Keyring, ListFilter, NewRun, Record, RunId, SqliteStore, Store, StoreError};
use sample::Sample;
use tempfile::TempDir;

const RUNS: usize = 4;
const LAST_SEQ: u64 = 300;

#[test]
fn kill_at_any_moment_loses_no_acknowledged_move() {
    let home = Home::new();
    // What was acknowledged of each run, by all processes so far.
    let mut told: BTreeMap<String, u64> = BTreeMap::new();
    for _ in 0..24 {
        let mut writer = Process::start("write", &home.file());
        let acknowledged = 1 + random(60);
        for line in writer.kill_after(acknowledged) {
            let (id, seq) = line.split_once(' ').expect("a line is a run and a number");
            told.insert(id.to_owned(), seq.parse().expect("it is a number"));
        }
        assert_whole(&home.file(), &mut told);
    }
    assert_eq!(told.len(), RUNS);
}

#[test]
fn kill_while_the_file_is_made_leaves_one_that_can_be_used() {
    for round in 0..20 {
        let home = Home::new();
        let mut writer = Process::start("write", &home.file());
        let told = writer.kill_after(if round % 2 == 0 { 0 } else { 1 });
        let told = told.iter().map(|line| line.split_once(' ').expect("a line is a run and a number"));
        let told = told.map(|(id, seq)| (id.to_owned(), seq.parse().expect("it is a number"))).collect();
        assert_whole(&home.file(), &mut { told });
        let store = self::store(&home.file());
        wait(store.create(new_run(&RunId::random(), &Sample::opened("mend the door")))).expect("it can be used");
    }
}

#[test]
fn of_two_processes_on_one_run_one_wins_each_move() {
    let home = Home::new();
    let id = RunId::random();
    wait(store(&home.file()).create(new_run(&id, &Sample::opened("mend the door")))).expect("it is kept");
    let mut racers = ["ann", "bob"].map(|name| Process::start(name, &home.file()));
    for racer in &mut racers {
        racer.go();
    }
    let mut winners: BTreeMap<u64, &str> = BTreeMap::new();
    for (name, racer) in ["ann", "bob"].into_iter().zip(racers) {
        for seq in racer.finish() {
            let twice = winners.insert(seq.parse().expect("it is a number"), name);
            assert_eq!(twice, None, "both won record {seq}");
        }
    }
    assert!(winners.keys().copied().eq(2..=LAST_SEQ), "each record was won by somebody");
    for record in wait(store(&home.file()).records(&id, 1, usize::MAX)).expect("the run is known") {
        assert_eq!(record.event.by, Actor::Agent(winners[&record.seq].to_owned()), "record {}", record.seq);
    }
    assert_whole(&home.file(), &mut BTreeMap::from([(id.to_string(), LAST_SEQ)]));
}

/// Not a test of its own: what the processes do that the others start.
#[test]
fn child() {
    let Some(file) = std::env::var_os("PORTOLAN_STORE_FILE") else { return };
    let store: Arc<dyn Store> = Arc::new(store(Path::new(&file)));
    match std::env::var("PORTOLAN_STORE_ROLE").expect("the parent sets both").as_str() {
        "write" => write_until_killed(&store),
        name => race(&*store, name),
    }
}

/// Appends to several runs at once, for ever, making them first where there are none.
fn write_until_killed(store: &Arc<dyn Store>) {
    tell("ready");
    wait(async {
        let known = store.list(ListFilter::default()).await.expect("it can be read");
        let mut ids: Vec<Option<RunId>> = known.into_iter().map(|line| Some(line.id)).collect();
        ids.resize(RUNS, None);
        let writers: Vec<_> = ids.into_iter().map(|id| tokio::spawn(keep_writing(Arc::clone(store), id))).collect();
        for writer in writers {
            writer.await.expect("nobody panics");
        }
    });
}

async fn keep_writing(store: Arc<dyn Store>, id: Option<RunId>) {
    let id = match id {
        Some(id) => id,
        None => {
            let id = RunId::random();
            store.create(new_run(&id, &Sample::opened("mend the door"))).await.expect("it is kept");
            tell(&format!("{id} 1"));
            id
        }
    };
    loop {
        let (seq, next) = next(&*store, &id, "writer").await;
        store.append(&id, seq, &record(seq + 1, &next), &next.run).await.expect("nobody else writes this run");
        tell(&format!("{id} {}", seq + 1));
    }
}

/// Appends to the one run until it is long enough, whoever does it.
fn race(store: &dyn Store, name: &str) {
    tell("ready");
    std::io::stdin().read_line(&mut String::new()).expect("the parent says when");
    let runs = wait(store.list(ListFilter::default())).expect("it can be read");
    let id = &runs.first().expect("the parent made it").id;
    loop {
        let (seq, next) = wait(next(store, id, name));
        if seq >= LAST_SEQ {
            return;
        }
        match wait(store.append(id, seq, &record(seq + 1, &next), &next.run)) {
            Ok(()) => tell(&(seq + 1).to_string()),
            Err(StoreError::Conflict { actual_seq }) => assert!(actual_seq > seq, "only what is newer is in the way"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The number of a run's last record, and the run one move on.
async fn next(store: &dyn Store, id: &RunId, agent: &str) -> (u64, Sample) {
    let stored = store.load(id).await.expect("it was created");
    let last = store.records(id, stored.seq - 1, 1).await.expect("it was created").remove(0);
    let sample = Sample { run: stored.run, event: last.event, changes: last.changes };
    // Some records are longer than a page, so that being half-written is possible at all.
    let node = format!("step-{}", "long-".repeat(usize::try_from(stored.seq % 7).expect("it is small") * 300));
    (stored.seq, sample.moved(agent, &node))
}

/// Nothing acknowledged is missing, nothing is half there, and each snapshot is the fold of its records.
fn assert_whole(file: &Path, told: &mut BTreeMap<String, u64>) {
    let store = self::store(file);
    let runs = wait(store.list(ListFilter::default())).expect("it can be read");
    let there: BTreeSet<&str> = runs.iter().map(|line| line.id.as_str()).collect();
    assert!(told.keys().all(|id| there.contains(id.as_str())), "{told:?} are all in {there:?}");
    for line in &runs {
        let stored = wait(store.load(&line.id)).expect("it is listed");
        // One more may have been written and not told; the next process begins after that one.
        let told = told.insert(line.id.to_string(), stored.seq).unwrap_or(0);
        assert!((told..=told + 1).contains(&stored.seq), "{told} records were told of, {} are there", stored.seq);
        let records = wait(store.records(&line.id, 0, usize::MAX)).expect("it is listed");
        assert_eq!(records.len() as u64, stored.seq);
        let fold = Run::fold(records.iter().flat_map(|record| &record.changes)).expect("it begins with `Opened`");
        assert_eq!(fold, stored.run);
    }
    drop(store);
    if let Ok(file) = file.canonicalize() {
        let db = rusqlite::Connection::open(file).expect("it can be opened");
        let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it can be checked");
        assert_eq!(whole, "ok");
        let orphans = db.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get::<_, i64>(0));
        assert_eq!(orphans, Ok(0));
    }
}

struct Process {
    process: Child,
    says: Lines<BufReader<ChildStdout>>,
    hears: ChildStdin,
}

impl Process {
    /// Starts a process in a role, and waits until it is at work.
    fn start(role: &str, file: &Path) -> Process {
        let program = std::env::current_exe().expect("this program is a file");
        let mut process = Command::new(program)
            .args(["child", "--exact", "--nocapture", "--test-threads=1"])
            .env("PORTOLAN_STORE_FILE", file)
            .env("PORTOLAN_STORE_ROLE", role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started");
        let says = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let hears = process.stdin.take().expect("it is piped");
        let mut started = Process { process, says, hears };
        assert_eq!(started.line().as_deref(), Some("ready"));
        started
    }

    /// What it told next; nothing when it has ended.
    fn line(&mut self) -> Option<String> {
        // The test harness says things of its own on the same pipe.
        self.says.find_map(|line| line.expect("it is text").strip_prefix("told: ").map(str::to_owned))
    }

    fn go(&mut self) {
        self.hears.write_all(b"\n").expect("it listens");
    }

    /// Kills it when it has told of so many writes; returns all that it had told of by then.
    fn kill_after(&mut self, writes: usize) -> Vec<String> {
        let mut told: Vec<String> = (0..writes).map(|_| self.line().expect("it writes until it is killed")).collect();
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it is ours");
        told.extend(std::iter::from_fn(|| self.line()));
        told
    }

    /// Waits until it has ended well; returns all that it told.
    fn finish(mut self) -> Vec<String> {
        let told: Vec<String> = std::iter::from_fn(|| self.line()).collect();
        assert!(self.process.wait().expect("it is ours").success());
        told
    }
}

/// Tells the parent, in one write, which a pipe takes whole or not at all.
fn tell(what: &str) {
    let line = format!("\ntold: {what}\n");
    std::io::stdout().write_all(line.as_bytes()).expect("the parent listens");
}

fn record(seq: u64, sample: &Sample) -> Record {
    Record { seq, event: sample.event.clone(), changes: sample.changes.clone() }
}

fn new_run(id: &RunId, sample: &Sample) -> NewRun {
    let (definition, definition_text) = (Digest::of("{}"), "{}".into());
    let (cover, run) = (None, sample.run.clone());
    NewRun { id: id.clone(), definition, definition_text, cover, run, records: vec![record(1, sample)] }
}

fn store(file: &Path) -> SqliteStore {
    SqliteStore::at(file, Keyring::in_folder(file.parent().expect("a file has a folder")))
}

struct Home(TempDir);

impl Home {
    fn new() -> Home {
        Home(TempDir::new().expect("there is room for a directory"))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join(".portolan/runs.db")
    }
}

fn random(below: usize) -> usize {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    usize::try_from(u32::from_le_bytes(bytes)).expect("it fits") % below
}

fn wait<T>(answer: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime needs nothing").block_on(answer)
}
