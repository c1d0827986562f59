//! Two machines with one store in PostgreSQL or Restate: each has its own folder, its own user, and processes of its own.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::calls::Calls;
use portolan_runtime::service::{Caller, Open, Options, Service, StoreAt};
use portolan_runtime::store::PostgresAddress;

use crate::postgres::Server;
use crate::restate::Restate;
use crate::support::{Project, SUM, reported};
use crate::worker::{SERVER as SLOW_SERVER, SLOW};

/// A server that keeps the runs of several machines.
pub(crate) enum Shared {
    Postgres(Server),
    Restate(Restate),
}

impl Shared {
    /// Returns those that this machine has.
    pub(crate) fn all() -> Vec<Shared> {
        let (postgres, restate) = (Server::start().map(Shared::Postgres), Restate::start().map(Shared::Restate));
        postgres.into_iter().chain(restate).collect()
    }

    /// Returns the address of a store there.
    pub(crate) fn address(&self, name: &str) -> String {
        match self {
            Shared::Postgres(server) => server.address(&format!("postgres?schema={name}")),
            Shared::Restate(server) => server.address(name),
        }
    }

    pub(crate) fn machines(&self) -> (Machine, Machine) {
        (Machine::new(&self.address("shop")), Machine::new(&self.address("shop")))
    }
}

/// A machine that shares a store.
pub(crate) struct Machine {
    pub(crate) project: Project,
    store: String,
}

impl Machine {
    pub(crate) fn new(store: &str) -> Machine {
        Machine { project: Project::small(), store: store.to_owned() }
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut command = self.project.command(&words);
        command.env("PORTOLAN_STORE", &self.store);
        command
    }

    pub(crate) fn says(&self, line: &str) -> String {
        self.project.output_text(&self.command(line).output().expect("the binary starts"))
    }

    /// Returns the service that an agent of this machine calls.
    pub(crate) fn service(&self) -> Service {
        let store = match PostgresAddress::is_meant(&self.store) {
            true => StoreAt::Postgres(Box::new(self.store.parse().expect("an address"))),
            false => StoreAt::Restate(self.store.parse().expect("an address")),
        };
        let options = Options { store, trust: Some(self.project.person()), ..Options::of(self.project.path()) };
        Service::new(options).expect("a service")
    }

    /// Begins a run as an agent of this machine would, and reports its first work.
    fn begins(&self) -> String {
        let service = self.service();
        block_on(async {
            let me = Caller::agent("tester");
            let open = Open {
                workflow: Some("small".to_owned()),
                description: Some("make it so".to_owned()),
                ..Open::default()
            };
            let view = service.open(&open, &me).await.expect("it begins");
            let view = service.start(&view.address, None, &me).await.expect("it starts");
            let view = service.next(&reported(&view, "passed"), &me).await.expect("it moves");
            view.address.to_string()
        })
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

#[test]
fn a_run_of_one_machine_is_seen_and_ended_on_another() {
    for server in Shared::all() {
        let (here, there) = server.machines();
        let run = here.begins();
        let begun = Instant::now();
        let is_shown = |listed: &str| listed.contains(&run) && listed.contains("working  small  verify");
        let mut listed = there.says("runs list");
        // Restate's lists follow the moves of others within a second.
        while !is_shown(&listed) && begun.elapsed() < Duration::from_secs(30) {
            listed = there.says("runs list");
        }
        assert!(is_shown(&listed), "{listed}");
        let shown = there.says(&format!("runs show {run}"));
        assert!(shown.contains("Is it right?"), "{shown}");
        let cancelled = there.says(&format!("runs cancel {run} --reason done"));
        assert!(cancelled.contains("exit: 0"), "{cancelled}");
        let events = here.says(&format!("runs events {run}"));
        assert!(
            events.contains("agent tester reported passed → now at `verify`") && events.contains("cancelled"),
            "{events}"
        );
        assert!(!here.project.path().join(".portolan/runs.db").exists(), "nothing is stored beside it");
    }
}

#[test]
fn a_run_whose_driver_was_killed_goes_on_elsewhere_when_its_lease_has_expired() {
    for server in Shared::all() {
        let (here, there) = server.machines();
        // A run with secrets is sealed with the key of one user, and goes on only where that key is.
        here.project.write("sum.yaml", SUM.replace(", key: {type: string, writeOnly: true}", ""));
        let mut command = here.command("run sum.yaml --durable a=1 b=2 --break large");
        let mut driver = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut said = BufReader::new(driver.stderr.take().expect("it is piped"));
        let mut line = String::new();
        while !line.starts_with("paused") {
            line.clear();
            assert!(said.read_line(&mut line).expect("text") > 0, "it pauses");
        }
        let listed = there.says("runs list");
        let run = listed.split_whitespace().next().expect("a run").to_owned();
        let refused = there.says(&format!("runs resume {run}"));
        assert!(refused.contains("under_way") || refused.contains("is running in another process"), "{refused}");
        driver.kill().expect("it is there");
        driver.wait().expect("it is gone");
        let begun = Instant::now();
        let done = loop {
            let said = there.says(&format!("runs resume {run}"));
            if !said.contains("is running in another process") || begun.elapsed() > Duration::from_secs(60) {
                break said;
            }
        };
        assert_eq!(done, "{\"sum\":3,\"size\":\"small\"}\nexit: 0\n");
        // The answer of the tool is that of the first machine: nothing is called twice.
        let trace = here.says(&format!("runs show --trace {run}"));
        assert_eq!(trace.matches(" add ").count(), 1, "{trace}");
    }
}

#[test]
fn workers_of_two_machines_share_the_runs() {
    for server in Shared::all() {
        let (here, there) = server.machines();
        here.project.write("sum.yaml", SUM.replace(", key: {type: string, writeOnly: true}", ""));
        let runs: Vec<String> = (0..12)
            .map(|a| {
                here.says(&format!("run sum.yaml --detach a={a} b=1")).lines().next().expect("a handle").to_owned()
            })
            .collect();
        let workers = [&here, &there].map(|machine| {
            machine.command("worker --once --jobs 2").stdout(Stdio::piped()).spawn().expect("the binary starts")
        });
        let told = workers.map(|worker| worker.wait_with_output().expect("it ends").stdout);
        let told: Vec<String> = told.into_iter().map(|told| String::from_utf8(told).expect("text")).collect();
        for run in &runs {
            let done = format!("{run} sum done\n");
            assert_eq!(told.iter().filter(|told| told.contains(&done)).count(), 1, "{told:?}");
            let trace = there.says(&format!("runs show --trace {run}"));
            assert_eq!(trace.matches(" add ").count(), 1, "{trace}");
        }
    }
}

#[test]
fn a_run_whose_worker_was_killed_goes_on_with_another() {
    for server in Shared::all() {
        let (here, there) = server.machines();
        here.project.write("server.py", SLOW_SERVER);
        let slow = here.project.path().join("server.py");
        let slow = SLOW.replace("SERVER", &slow.to_string_lossy()).replace("IDEMPOTENT", "idempotent: true");
        for machine in [&here, &there] {
            machine.project.write("slow.yaml", &slow);
            machine.says("trust slow.yaml");
        }
        let run = here.says("run slow.yaml --detach").lines().next().expect("a handle").to_owned();
        let mut killed = here.command("worker").spawn().expect("the binary starts");
        let calls = here.project.path().join("calls");
        while !calls.exists() {
            std::thread::yield_now();
        }
        killed.kill().expect("it is there");
        killed.wait().expect("it is gone");
        here.project.write("go", "");
        let mut worker = there.command("worker").stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut told = String::new();
        BufReader::new(worker.stdout.take().expect("it is piped")).read_line(&mut told).expect("text");
        assert_eq!(told, format!("{run} slow done\n"));
        worker.kill().expect("it is there");
        worker.wait().expect("it is gone");
        // The call was made twice, as its definition allows, and settled once.
        assert_eq!(std::fs::read_to_string(calls).expect("it is there"), "wait\nwait\n");
        let events = there.says(&format!("runs show --trace {run}"));
        assert_eq!(events.matches(" call ").count(), 1, "{events}");
    }
}

#[test]
fn what_is_wrong_with_an_address_is_said() {
    let project = Project::new();
    let says = |store: &str| project.says_to(&["runs", "list", "--store", store]);
    let said = says("postgres://ann:hush@localhost");
    assert!(said.starts_with("stderr: error: the address of the run store names no database\n"), "{said}");
    assert!(said.contains("exit: 2"), "{said}");
    let said = says("restate://ann:hush@localhost/shop");
    assert!(said.starts_with("stderr: error: the address of the run store is not understood"), "{said}");
    assert!(said.contains("exit: 2"), "{said}");
    let said = says("postgres://ann:hush@127.0.0.1:1/runs");
    assert!(said.contains("`postgres://ann@127.0.0.1:1/runs` cannot be reached") && !said.contains("hush"), "{said}");
}

/// Both ways: what leaves one kind of store is the same in the other.
#[test]
fn runs_move_between_a_file_and_a_server() {
    for server in Shared::all() {
        let (address, other) = (server.address("shop"), server.address("other"));
        let mut project = Project::small();
        project.run("small", "passed passed");
        let run = project.run("small", "passed");
        let events = project.says(&format!("runs events {run} --format json"));
        assert!(project.says("store export runs.jsonl").ends_with("exit: 0\n"));
        let moved = "imported 2 runs with 8 records\nexit: 0\n";
        assert_eq!(project.says(&format!("store import runs.jsonl --store {address}")), moved);
        assert_eq!(project.says(&format!("runs events {run} --format json --store {address}")), events);
        assert_eq!(
            project.says(&format!("store verify --store {address}")),
            "2 runs with 8 records verified, no faults\nexit: 0\n"
        );
        assert!(project.says(&format!("store export back.jsonl --store {address}")).ends_with("exit: 0\n"));
        for store in ["back.db", &other] {
            assert_eq!(project.says(&format!("store import back.jsonl --store {store}")), moved);
            assert_eq!(project.says(&format!("runs events {run} --format json --store {store}")), events);
        }
        let pruned = project.says(&format!("runs prune --older-than 90d --archive old.jsonl --store {address}"));
        assert_eq!(pruned, "deleted 1 run with 5 records after archiving them in `old.jsonl`\nexit: 0\n");
        assert_eq!(
            project.says(&format!("store import old.jsonl --store {address}")),
            "imported 1 run with 5 records\nexit: 0\n"
        );
    }
}

#[test]
fn a_server_says_what_is_stored_there() {
    let Some(server) = Server::start() else { return };
    let there = Machine::new(&server.address("postgres"));
    let folder = crate::support::repository().join("crates/portolan-runtime/src/store/postgres/schema");
    let newest = std::fs::read_dir(folder).expect("the folder").count();
    let place = |said: String| {
        let said = said.replace(&server.address(""), "SERVER/");
        said.replace(&format!("version {newest}"), "version <newest>")
            .replace(&format!("  {newest}, that"), "  <newest>, that")
    };
    let without_size =
        |said: &str| said.lines().filter(|line| !line.starts_with("size")).collect::<Vec<_>>().join("\n");
    let before = place(there.says("store status"));
    let created = place(there.says("store migrate"));
    let again = place(there.says("store migrate"));
    there.begins();
    let after = without_size(&place(there.says("store status")));
    server.sql("ALTER ROLE ann SET default_transaction_read_only = on");
    let replica = without_size(&place(there.says("store status")));
    server.sql("SET transaction_read_only = off; ALTER ROLE ann RESET default_transaction_read_only");
    server.sql("UPDATE portolan.positions SET step = '\"nowhere\"'; DELETE FROM portolan.records WHERE seq = 1");
    let damaged = there.says("store verify");
    let damaged: Vec<&str> =
        damaged.lines().map(|line| line.split_once(": ").map_or(line, |(_, fault)| fault)).collect();
    let codes: Vec<&str> = damaged.iter().filter_map(|line| line.rsplit_once('(').map(|(_, code)| code)).collect();
    expect_test::expect![[r#"
        store    SERVER/postgres (PostgreSQL)
        state    it does not exist yet: the first run creates it
        runs     0 open, 0 ended
        records  0
        exit: 0
        created the tables of version <newest> in `SERVER/postgres`
        exit: 0
        `SERVER/postgres` has version <newest>, that of this release: nothing is to be done
        exit: 0
        store        SERVER/postgres (PostgreSQL)
        version      <newest>, that of this release
        access       it can be read and written
        runs         1 open, 0 ended
        records      3
        definitions  1
        driven now   none
        exit: 0
        store        SERVER/postgres (PostgreSQL)
        version      <newest>, that of this release
        access       it can only be read: `SERVER/postgres` can only be read, like a replica; name the primary server in the address of the store
        runs         1 open, 0 ended
        records      3
        definitions  1
        driven now   none
        exit: 1
        ["record_unreadable)"]"#]].assert_eq(&format!("{before}{created}{again}{after}\n{replica}\n{codes:?}"));
}
