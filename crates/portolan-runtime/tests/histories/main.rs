//! What many callers in several processes see of one store, while processes are killed, the server crashes and leases
//! are taken away: a checker of another project looks for an order of all calls that explains every answer.
//!
//! `PORTOLAN_HISTORY_CALLS=100000 cargo test -p portolan-runtime --test histories` makes the histories longer.
#![cfg(unix)]

mod caller;
mod history;
mod network;
#[path = "../common/postgres.rs"]
#[expect(dead_code, reason = "the tests of the store use more of it")]
mod postgres;
#[path = "../../src/store/contract/sample.rs"]
mod sample;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use history::{Call, History};
use network::Network;
use portolan_runtime::store::{Digest, Keyring, NewRun, PostgresStore, Record, RunId, SqliteStore, Store};
use postgres::Server;
use sample::Sample;

/// The number of runs that the callers share.
const RUNS: usize = 200;
const PROCESSES: usize = 4;
/// The number of calls after which a process reports.
const REPORTED: usize = 100;

/// Takes all leases away. It locks them in the order of the writers, which otherwise may wait for it while it waits for
/// them.
const TAKE_AWAY: &str = "WITH held AS (
        SELECT l.run FROM portolan.leases l JOIN portolan.runs r ON r.number = l.run ORDER BY r.id FOR UPDATE OF l
    ) UPDATE portolan.leases SET until = '-infinity', fence = fence + 1 WHERE run IN (SELECT run FROM held)";

fn calls() -> usize {
    let wanted = std::env::var("PORTOLAN_HISTORY_CALLS").ok();
    wanted.map_or(8_000, |calls| calls.parse().expect("a number of calls"))
}

fn store(at: &str) -> Arc<dyn Store> {
    let keys = Keyring::in_folder(&std::env::temp_dir());
    match at.parse() {
        Ok(address) => Arc::new(PostgresStore::at(address, keys)),
        Err(_) => Arc::new(SqliteStore::at(at, keys)),
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

/// Not a test of its own: what the processes do that the others start.
#[test]
fn child() {
    let Ok(at) = std::env::var("PORTOLAN_HISTORY_STORE") else { return };
    let folder = PathBuf::from(std::env::var_os("PORTOLAN_HISTORY_FOLDER").expect("the parent sets both"));
    caller::call_until_killed(&store(&at), &folder);
}

/// The processes that make the calls, and the file in which each writes down what it does.
struct Callers<'h> {
    at: String,
    folder: &'h Path,
    processes: Vec<Child>,
    told: (Sender<usize>, Receiver<usize>),
}

impl Callers<'_> {
    fn start<'h>(at: &str, folder: &'h Path) -> Callers<'h> {
        let store = store(at);
        wait(async {
            let mut ids = String::new();
            for _ in 0..RUNS {
                let (id, sample) = (RunId::random(), Sample::opened("mend the door"));
                let records = vec![Record { seq: 1, event: sample.event, changes: sample.changes }];
                let (definition, definition_text) = (Digest::of("{}"), "{}".into());
                let (cover, run) = (None, sample.run);
                let new = NewRun { id: id.clone(), definition, definition_text, cover, run, records };
                store.create(new).await.expect("a new run is kept");
                ids += &format!("{id}\n");
            }
            std::fs::write(folder.join("runs"), ids).expect("there is room");
        });
        let mut callers = Callers { at: at.to_owned(), folder, processes: Vec::new(), told: channel() };
        (0..PROCESSES).for_each(|_| callers.add());
        callers
    }

    fn add(&mut self) {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["child", "--exact", "--nocapture"]).stdout(Stdio::piped()).stdin(Stdio::null());
        command.env("PORTOLAN_HISTORY_STORE", &self.at).env("PORTOLAN_HISTORY_FOLDER", self.folder);
        let mut process = command.spawn().expect("it starts");
        let (lines, told) = (process.stdout.take().expect("it is piped"), self.told.0.clone());
        thread::spawn(move || {
            let lines = BufReader::new(lines).lines().map_while(Result::ok);
            lines.filter(|line| line.ends_with("more calls")).try_for_each(|_| told.send(REPORTED))
        });
        self.processes.push(process);
    }

    /// Waits until this many more calls were made.
    fn go_on(&self, calls: usize) {
        let mut made = 0;
        while made < calls {
            made += self.told.1.recv().expect("the callers are alive");
        }
    }

    /// Kills a process, and starts another one.
    fn kill_one(&mut self) {
        let mut process = self.processes.remove(0);
        // Before it is killed: others may take its leases as soon as it is gone.
        history::note_killed(self.folder, process.id());
        process.kill().expect("it is there");
        process.wait().expect("it is gone");
        self.add();
    }

    fn end(self) -> Vec<History> {
        let folder = self.folder;
        drop(self);
        history::read(folder)
    }
}

/// Also where the test fails.
impl Drop for Callers<'_> {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _killed = process.kill();
            let _gone = process.wait();
        }
    }
}

/// Checks each run by itself: if each has an order, so has the whole.
fn assert_explained(histories: Vec<History>, at_least: usize) {
    let made: usize = histories.iter().map(|history| history.count()).sum();
    assert!(made >= at_least, "{made} calls were made");
    for kind in ["Appended", "Conflicted", "Loaded", "Leased", "Released"] {
        assert!(histories.iter().any(|history| history.has(kind)), "no call ended as `{kind}`");
    }
    for history in histories {
        assert!(history.is_linearizable(), "no order explains this history:\n{history}");
    }
}

#[test]
fn a_file_keeps_one_order_while_processes_are_killed() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("runs.db");
    let mut callers = Callers::start(&file.to_string_lossy(), home.path());
    for _ in 0..8 {
        callers.go_on(calls() / 8);
        callers.kill_one();
    }
    assert_explained(callers.end(), calls());
}

#[test]
fn a_database_keeps_one_order_while_processes_connections_leases_and_the_server_are_lost() {
    let Some(mut server) = Server::start() else { return };
    let (home, network) = (tempfile::tempdir().expect("a folder"), Network::default());
    let mut callers = Callers::start(&network.address(&server.address("postgres")), home.path());
    for round in 0..8 {
        callers.go_on(calls() / 8);
        match round % 4 {
            0 => callers.kill_one(),
            1 => network.cut(),
            2 => history::noting_lost_leases(home.path(), || {
                server.sql(TAKE_AWAY);
            }),
            _ => {
                server.crash();
                server.go_on();
            }
        }
    }
    let histories = callers.end();
    assert!(histories.iter().any(|history| history.has("Lost")), "no driver wrote after its lease was lost");
    assert_explained(histories, calls());
}

/// The control: without fencing, the same checker finds the fault.
#[test]
fn a_driver_that_writes_without_its_lease_is_found() {
    let Some(server) = Server::start() else { return };
    let home = tempfile::tempdir().expect("a folder");
    let callers = Callers::start(&server.address("postgres"), home.path());
    let ids = history::ids(home.path());
    callers.end();
    // A handle quotes the fences of its own leases. Another handle of the same process quotes none: this is fencing
    // switched off.
    for (is_fenced, id) in [(true, &ids[0]), (false, &ids[1])] {
        let (one, other) = (store(&server.address("postgres")), store(&server.address("postgres")));
        let writes = if is_fenced { Arc::clone(&one) } else { store(&server.address("postgres")) };
        let mut history = History::default();
        wait(async {
            let stored = one.load(id).await.expect("it is there");
            history.begins_at(&stored);
            let _lost = one.lease(id).await.expect("nobody drives it");
            history.add(Call::Leased { lease: 1 });
            server.sql(TAKE_AWAY);
            history.add(Call::TakenAway);
            let _held = other.lease(id).await.expect("it was taken away");
            history.add(Call::Leased { lease: 2 });
            let (expected, mark) = (stored.seq, u64::MAX);
            history.add(caller::append(&*writes, id, (expected, mark), Some(1)).await);
        });
        assert_eq!(history.is_linearizable(), is_fenced);
    }
}
