//! Processes that are killed in the middle of a move, in the store and in task files.
//!
//! The processes are this program again, as the test [`child`]. What was acknowledged they tell on their standard
//! output, a line for each move; the parent acts on what it has read, never on time.

#![cfg(unix)]

mod common;

use common::calls::Calls;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{World, agent, step, wait};
use portolan_core::run::Run;
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Open, Options, RunCarrier, Service};
use portolan_runtime::store::{Record, RunId};
use serde_json::Value;

const ROUNDS: usize = 30;
/// So long that most moves go round, and that a write is more than one page.
const LONG: &str = "start -> work; work: outputs again passed; work -again-> check; check: gate retries 2
    check -passed-> work; check -failed-> work; check -failed-> ask; ask -passed-> work; work -passed-> done";

#[test]
fn kill_at_any_moment_loses_no_acknowledged_move_of_a_task_file() {
    killed_again_and_again(true);
}

#[test]
fn kill_at_any_moment_loses_no_acknowledged_move_of_a_stored_run() {
    killed_again_and_again(false);
}

#[test]
fn kill_while_a_task_begins_leaves_no_half_of_it() {
    for round in 0..20 {
        let world = World::with("long", LONG);
        let told = Writer::start(&world, &Address::Task(world.task("1"))).kill_after(round % 2);
        if world.path("tasks/1.json").exists() {
            let told = told.last().map_or(0, |line| revision(line));
            assert_whole(&world, &Address::Task(world.task("1")), told);
        } else {
            assert!(told.is_empty(), "what was acknowledged is there");
        }
        // Whatever was left, the next one gets on.
        let task = world.init(&world.task_init("1", "long")).expect("it is begun or shown").address;
        world.start(&task).expect("it goes on");
        world
            .next(&task, if world.current(&task).expect("there").current_step == "work" { "again" } else { "passed" })
            .expect("it goes on");
    }
}

fn killed_again_and_again(in_a_file: bool) {
    let world = World::with("long", LONG);
    let description = Some("mend the door ".repeat(300));
    let wanted = Open { description, workflow: Some("long".to_owned()), ..Open::default() };
    let carrier = if in_a_file { RunCarrier::Task(world.task("1")) } else { RunCarrier::Store };
    let run = world.init(&Open { carrier, ..wanted }).expect("it begins").address;
    world.start(&run).expect("it starts");
    let mut told = world.current(&run).expect("it is there").situation.position.revision;
    for round in 0..ROUNDS {
        let lines = Writer::start(&world, &run).kill_after(1 + (round * 7) % 40);
        told = lines.last().map_or(told, |line| revision(line)).max(told);
        assert_whole(&world, &run, told);
    }
}

/// Nothing acknowledged is missing, and the snapshot is the fold of its records, of which at most one did not happen.
fn assert_whole(world: &World, run: &Address, told: u64) {
    let records = wait(world.service().records(run)).expect("the run is there");
    let fold = Run::fold(records.iter().flat_map(|record| &record.changes)).expect("the first one opens it");
    assert!(fold.revision >= told, "revision {told} was told of, {} is there", fold.revision);
    let view = world.current(run).expect("it can be looked at");
    assert_eq!(view.situation.position.revision, fold.root.since);
    assert_eq!(view.current_step, fold.root.place.node().as_str());
    if let Address::Task(_) = run {
        let state = world.read_task("1")["metadata"]["portolan"].clone();
        assert_eq!(serde_json::to_value(&fold).expect("JSON"), state["run"]);
        let last = last_record(world).seq;
        let seq = state["seq"].as_u64().expect("a number");
        assert!(last == seq || last == seq + 1, "the journal ends at {last}, the file at {seq}");
    }
}

/// The last record that the journal holds, whether it counts or not.
fn last_record(world: &World) -> Record {
    let text = std::fs::read_to_string(world.path(".portolan/tasks.jsonl")).expect("the journal is there");
    let whole = text.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok()).expect("a record");
    let mut record = whole.as_object().expect("an object").clone();
    record.remove("task");
    serde_json::from_value(Value::Object(record)).expect("a record")
}

fn revision(line: &str) -> u64 {
    line.parse().expect("a revision")
}

/// A process that moves a run on until it is killed.
struct Writer {
    process: std::process::Child,
    says: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Writer {
    fn start(world: &World, run: &Address) -> Writer {
        let program = std::env::current_exe().expect("this program is a file");
        let mut process = Command::new(program)
            .args(["child", "--exact", "--nocapture", "--test-threads=1"])
            .env("PORTOLAN_TEST_PROJECT", world.project())
            .env("PORTOLAN_TEST_RUN", run.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started");
        let says = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let mut started = Writer { process, says };
        assert_eq!(started.line().as_deref(), Some("ready"));
        started
    }

    fn line(&mut self) -> Option<String> {
        // The test harness says things of its own on the same pipe.
        self.says.find_map(|line| line.expect("it is text").strip_prefix("told: ").map(str::to_owned))
    }

    /// Kills it when it has told of so many moves; returns all that it had told of by then.
    fn kill_after(mut self, moves: usize) -> Vec<String> {
        let mut told: Vec<String> = (0..moves).map(|_| self.line().expect("it moves until it is killed")).collect();
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it is ours");
        told.extend(std::iter::from_fn(|| self.line()));
        told
    }
}

/// Not a test of its own: what the processes do that the others start.
#[test]
fn child() {
    let Some(project) = std::env::var_os("PORTOLAN_TEST_PROJECT") else { return };
    let run = std::env::var("PORTOLAN_TEST_RUN").expect("the parent sets both");
    tell("ready");
    wait(move_on(&service(Path::new(&project)), &run));
}

fn service(project: &Path) -> Service {
    let data: PathBuf = project.with_file_name("data");
    let options = Options { trust: Some(data), ..Options::of(project) };
    Service::new(options).expect("the project can be served")
}

async fn move_on(service: &Service, run: &str) {
    let me = agent();
    let address = match RunId::parse(run) {
        Some(id) => Address::Stored(id),
        None => {
            let wanted =
                Open { carrier: RunCarrier::Task(run.to_owned()), workflow: Some("long".into()), ..Open::default() };
            service.open(&wanted, &me).await.expect("it is begun or shown").address
        }
    };
    let mut view = service.start(&address, None, &me).await.expect("it is begun or shown");
    for nth in 0_u64.. {
        let outcome = match view.current_step.as_str() {
            "work" => "again",
            "check" if nth % 3 == 0 => "failed",
            _ => "passed",
        };
        view = service.next(&step(&view, outcome), &me).await.expect("nobody else moves it");
        tell(&view.situation.position.revision.to_string());
    }
}

/// Tells the parent, in one write, which a pipe takes whole or not at all.
fn tell(what: &str) {
    let line = format!("\ntold: {what}\n");
    std::io::stdout().write_all(line.as_bytes()).expect("the parent listens");
}
