//! What many callers in several processes see of one store, while processes are killed, the server crashes or is replaced
//! by its replica, the network is slow, a clock is wrong, and leases are taken away: a checker of another project looks for
//! an order of all calls that explains every answer.
//!
//! `PORTOLAN_HISTORY_CALLS=100000 cargo test -p portolan-runtime --test histories` makes the histories longer.
#![cfg(unix)]

mod caller;
mod clock;
mod history;
mod network;
#[path = "../common/postgres.rs"]
#[expect(dead_code, reason = "the tests of the store use more of it")]
mod postgres;
#[path = "../common/restate.rs"]
#[expect(dead_code, reason = "the benchmark uses more of it")]
mod restate;
#[path = "../../src/store/contract/sample.rs"]
mod sample;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use clock::WrongClock;
use history::{Call, History};
use network::Network;
use portolan_runtime::store::{
    Digest, Keyring, NewRun, PostgresAddress, PostgresStore, Record, RestateAddress, RestateStore, RunId, SqliteStore,
    Store,
};
use postgres::Server;
use restate::Restate;
use sample::Sample;

/// The number of runs that the callers share.
const RUNS: usize = 200;
const PROCESSES: usize = 4;
/// The number of calls after which a caller reports.
const REPORTED: usize = 5;
/// How often the server and what is around it are disturbed.
const ROUNDS: usize = 10;
/// The time that each direction takes while the network is slow, and the number of calls that are made then.
const DELAY: Duration = Duration::from_millis(100);
const SLOW_CALLS: usize = 100;
/// The term of leases in Restate.
const TERM: Duration = Duration::from_secs(2);
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
    if PostgresAddress::is_meant(at) {
        Arc::new(PostgresStore::at(at.parse().expect("an address"), keys))
    } else if RestateAddress::is_meant(at) {
        Arc::new(RestateStore::at(at.parse().expect("an address"), keys).lease_term(TERM))
    } else {
        Arc::new(SqliteStore::at(at, keys))
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
    clock::note(&folder);
    caller::call_until_killed(&store(&at), &folder);
}

async fn new_run(store: &dyn Store) -> RunId {
    let (id, sample) = (RunId::random(), Sample::opened("mend the door"));
    let records = vec![Record { seq: 1, event: sample.event, changes: sample.changes }];
    let (definition, definition_text) = (Digest::of("{}"), "{}".into());
    let (cover, run) = (None, sample.run);
    let new = NewRun { id: id.clone(), definition, definition_text, cover, run, records };
    store.create(new).await.expect("a new run is kept");
    id
}

/// The processes that make the calls, and the file in which each writes down what it does.
struct Callers<'h> {
    at: String,
    folder: &'h Path,
    processes: Vec<Child>,
    /// The times at which callers have reported.
    told: (Sender<u64>, Receiver<u64>),
}

impl Callers<'_> {
    fn start<'h>(at: &str, folder: &'h Path) -> Callers<'h> {
        let store = store(at);
        wait(async {
            let mut ids = String::new();
            for _ in 0..RUNS {
                ids += &format!("{}\n", new_run(&*store).await);
            }
            std::fs::write(folder.join("runs"), ids).expect("there is room");
        });
        Callers { at: at.to_owned(), folder, processes: Vec::new(), told: channel() }
    }

    fn add(&mut self, clock: Option<&WrongClock>) {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["child", "--exact", "--nocapture"]).stdout(Stdio::piped()).stdin(Stdio::null());
        command.env("PORTOLAN_HISTORY_STORE", &self.at).env("PORTOLAN_HISTORY_FOLDER", self.folder);
        if let Some(clock) = clock {
            clock.of(&mut command);
        }
        let mut process = command.spawn().expect("it starts");
        let (lines, told) = (process.stdout.take().expect("it is piped"), self.told.0.clone());
        thread::spawn(move || {
            let lines = BufReader::new(lines).lines().map_while(Result::ok);
            let mut times = lines.filter_map(|line| line.rsplit_once("more calls by ")?.1.parse().ok());
            times.try_for_each(|time| told.send(time))
        });
        self.processes.push(process);
    }

    /// Waits until this many more calls were made.
    fn go_on(&self, calls: usize) {
        let (begun, mut made) = (history::now(), 0);
        while made < calls {
            if self.told.1.recv().expect("the callers are alive") > begun {
                made += REPORTED;
            }
        }
    }

    /// Kills a process, and starts another one.
    fn kill_one(&mut self) {
        let mut process = self.processes.remove(0);
        // Before it is killed: others may take its leases as soon as it is gone.
        history::note_killed(self.folder, process.id());
        process.kill().expect("it is there");
        process.wait().expect("it is gone");
        self.add(None);
    }

    /// Stops a process while the others go on, for at least this time.
    fn pause_one(&mut self, time: Duration) {
        let begun = Instant::now();
        let process = &self.processes[0];
        let signals = |signal| {
            let process = rustix::process::Pid::from_child(process);
            rustix::process::kill_process(process, signal).expect("it is there");
        };
        signals(rustix::process::Signal::STOP);
        while begun.elapsed() < time {
            self.go_on(REPORTED);
        }
        signals(rustix::process::Signal::CONT);
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

/// The leases of a file are locks of the operating system, which do not expire: no clock is wrong here.
#[test]
fn a_file_keeps_one_order_while_processes_are_killed() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("runs.db");
    let mut callers = Callers::start(&file.to_string_lossy(), home.path());
    (0..PROCESSES).for_each(|_| callers.add(None));
    for _ in 0..8 {
        callers.go_on(calls() / 8);
        callers.kill_one();
    }
    assert_explained(callers.end(), calls());
}

#[test]
fn a_database_keeps_one_order_whatever_is_lost_or_late() {
    let Some(mut server) = Server::start() else { return };
    let (home, network) = (tempfile::tempdir().expect("a folder"), Network::default());
    let mut callers = Callers::start(&network.address(&server.address("postgres")), home.path());
    let wrong_clock = WrongClock::found();
    (1..PROCESSES).for_each(|_| callers.add(None));
    // The last one is never killed.
    callers.add(wrong_clock.as_ref());
    for round in 0..ROUNDS {
        callers.go_on(calls() / ROUNDS);
        match round {
            0 | 5 => callers.kill_one(),
            1 | 6 => network.cut(),
            2 | 7 => {
                server.crash();
                server.go_on();
            }
            3 => server = replaced(server, &network, &callers),
            8 => slow(std::slice::from_ref(&network), &callers),
            _ => history::noting_lost_leases(home.path(), || {
                server.sql(TAKE_AWAY);
            }),
        }
    }
    callers.go_on(calls() / ROUNDS);
    let histories = callers.end();
    assert!(histories.iter().any(|history| history.has("Lost")), "no driver wrote after its lease was lost");
    assert_eq!(clock::wrong_ones(home.path()), usize::from(wrong_clock.is_some()));
    assert_explained(histories, calls());
}

/// Kills a server after calls that its replica has, and returns the replica, which takes over.
fn replaced(mut server: Server, network: &Network, callers: &Callers<'_>) -> Server {
    let replica = server.replica();
    callers.go_on(calls() / ROUNDS / 2);
    server.crash();
    replica.promote();
    // Not before: a replica that is not promoted yet may answer with what was true earlier.
    network.leads_to(&replica.address("postgres"));
    replica
}

/// Makes the networks slow, and cuts their connections when many calls are under way.
fn slow(networks: &[Network], callers: &Callers<'_>) {
    let begun = Instant::now();
    networks.iter().for_each(|network| network.delays(DELAY));
    callers.go_on(SLOW_CALLS);
    assert!(begun.elapsed() > 5 * (2 * DELAY), "the network was not slow");
    for network in networks {
        network.cut();
        network.delays(Duration::ZERO);
    }
}

/// A cluster of three servers that keeps everything twice. Leases end by its own timers, which may come late, and which may
/// come before a renewal that waits for a server to be replaced.
#[test]
fn a_cluster_keeps_one_order_while_its_servers_are_killed_in_turn() {
    let Some(mut cluster) = Restate::cluster(3) else { return };
    let home = tempfile::tempdir().expect("a folder");
    let networks: [Network; 3] = Default::default();
    let mut free = networks.iter();
    let before = |server: SocketAddr| free.next().expect("a network for each server").before(&server.to_string());
    let mut callers = Callers::start(&cluster.address_behind("shop", before), home.path());
    let wrong_clock = WrongClock::found();
    (1..PROCESSES).for_each(|_| callers.add(None));
    callers.add(wrong_clock.as_ref());
    let calls = calls() / 8;
    for round in 0..ROUNDS {
        callers.go_on(calls / ROUNDS);
        if !matches!(round, 0 | 5) {
            history::note_leases_that_may_end(home.path());
        }
        match round {
            0 | 5 => callers.kill_one(),
            1 | 4 | 7 => {
                let place = round / 3;
                cluster.crash(place);
                // The others go on: nothing that was acknowledged is on one server only.
                callers.go_on(calls / ROUNDS / 2);
                cluster.go_on(place);
            }
            2 | 8 => {
                cluster.crash_objects();
                cluster.serve_objects();
            }
            3 => callers.pause_one(3 * TERM / 2),
            6 => networks.iter().for_each(Network::cut),
            _ => slow(&networks, &callers),
        }
    }
    callers.go_on(calls / ROUNDS);
    let histories = callers.end();
    assert_eq!(clock::wrong_ones(home.path()), usize::from(wrong_clock.is_some()));
    assert_explained(histories, calls);
}

/// The control: without fencing, the same checker finds the fault.
#[test]
fn a_driver_that_writes_without_its_lease_is_found() {
    let Some(server) = Server::start() else { return };
    // A handle quotes the fences of its own leases. Another handle of the same process quotes none: this is fencing
    // switched off.
    for is_fenced in [true, false] {
        let (one, other) = (store(&server.address("postgres")), store(&server.address("postgres")));
        let writes = if is_fenced { Arc::clone(&one) } else { store(&server.address("postgres")) };
        let mut history = History::default();
        wait(async {
            let id = new_run(&*one).await;
            let _lost = one.lease(&id).await.expect("nobody drives it");
            history.add(Call::Leased { lease: 1 });
            server.sql(TAKE_AWAY);
            history.add(Call::TakenAway);
            let _held = other.lease(&id).await.expect("it was taken away");
            history.add(Call::Leased { lease: 2 });
            history.add(caller::append(&*writes, &id, (1, u64::MAX), Some(1)).await);
        });
        assert_eq!(history.is_linearizable(), is_fenced);
    }
}

/// The control: if the server does not wait for its replica, the same checker finds what is lost.
#[test]
fn an_acknowledged_call_that_the_replica_does_not_have_is_found() {
    let Some(mut server) = Server::start() else { return };
    let mut replica = server.replica();
    let (mut kept, mut lost) = (History::default(), History::default());
    let ids = wait(async {
        let store = store(&server.address("postgres"));
        let ids = (new_run(&*store).await, new_run(&*store).await);
        kept.add(caller::append(&*store, &ids.0, (1, 1), None).await);
        // The server may have begun only now to wait for it.
        while server.sql("SELECT flush_lsn = pg_current_wal_lsn() FROM pg_stat_replication") != "t" {}
        replica.crash();
        server.sql("ALTER SYSTEM RESET synchronous_standby_names");
        server.sql("SELECT pg_reload_conf()");
        lost.add(caller::append(&*store, &ids.1, (1, 2), None).await);
        ids
    });
    assert!(kept.has("Appended") && lost.has("Appended"), "both were acknowledged");
    server.crash();
    replica.go_on();
    replica.promote();
    wait(async {
        let store = store(&replica.address("postgres"));
        kept.add(caller::load(&*store, &ids.0).await);
        lost.add(caller::load(&*store, &ids.1).await);
    });
    assert!(kept.is_linearizable(), "{kept}");
    assert!(!lost.is_linearizable(), "{lost}");
}
