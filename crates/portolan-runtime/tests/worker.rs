//! Workers: which runs they take, how far they drive them, and what becomes of a run that they cannot drive.

#[path = "common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;

use calls::Calls;
use portolan_core::run::{Actor, EventKind};
use portolan_core::value::Timestamp;
use portolan_runtime::clock::Clock;
use portolan_runtime::definition::Definition;
use portolan_runtime::drive::{Breakpoint, Control, Outcome, Phase};
use portolan_runtime::graphs::Graphs;
use portolan_runtime::servers::PoolOptions;
use portolan_runtime::service::{
    Caller, DrivenRun, Function, FunctionRun, How, Open, Options, Service, ServiceError, View, Worker, WorkerOptions,
};
use portolan_runtime::store::{Digest, RunId};
use portolan_runtime::trust::TrustEntry;
use serde_json::json;

/// A call of a server that is not there, with one retry after an hour.
const CALLS: &str = r#"
version: "1.0"
server: {name: t, version: "1"}
executionLimits: {maxExecutionTimeMs: 86400000}
mcpServers:
  away: {url: "http://127.0.0.1:1/mcp"}
tools:
  - name: calls
    description: calls a server that is not there
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: call}
      - {id: call, type: mcp, server: away, tool: t, args: {}, retry: {max: 1, backoff: 1h, maxDelay: 1h}, next: exit, onError: broken}
      - {id: broken, type: transform, transform: {expr: '{"attempts": 2}'}, next: exit}
      - {id: exit, type: exit}
"#;

/// A function that needs no server.
const COUNTS: &str = r#"
version: "1.0"
server: {name: t, version: "1"}
tools:
  - name: counts
    description: counts
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: one}
      - {id: one, type: transform, transform: {expr: '{"n": 1}'}, next: exit}
      - {id: exit, type: exit}
"#;

/// A question that answers itself after a second.
const ASKS: &str = include_str!("fixtures/asks.yaml");

const NOW: i64 = 1_700_000_000_000;
const HOUR: i64 = 3_600_000;

/// A project with its store on disk, at any time.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("project/.flow")).expect("a project");
        World { folder }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn at(&self, now: i64) -> Arc<Service> {
        let (clock, trust) = (Clock::Still(Timestamp(now)), Some(self.folder.path().join("data")));
        Arc::new(Service::new(Options { clock, trust, ..Options::of(self.project()) }).expect("a service"))
    }

    fn definition(&self, service: &Service, text: &str, tool: &str) -> Arc<Definition> {
        let file = self.project().join(format!("{tool}.yaml"));
        std::fs::write(&file, text).expect("a graph");
        let graphs = Graphs::open(vec![file], None, service.library(), PoolOptions::default()).expect("it is valid");
        graphs.current(service.library()).functions.called(Some(tool)).expect("it is there").clone()
    }

    /// Stores a run and lets workers drive it.
    async fn hands_over(&self, service: &Service, definition: &Arc<Definition>) -> RunId {
        let function = Some(Function { definition: definition.clone(), remembered: None, folder: None });
        let wanted = Open { function, input: Some(Arc::new(json!({}))), ..Open::default() };
        let view = service.open(&wanted, &Caller { by: Actor::Engine, can_ask: false }).await.expect("it begins");
        let run = view.address.handle().expect("it is in the store").clone();
        service.hand_over(&run).await.expect("it is stored");
        run
    }

    /// Returns the stored time from which workers may drive the only run.
    fn due(&self) -> Option<i64> {
        let db = rusqlite::Connection::open(self.project().join(".portolan/runs.db")).expect("a store");
        db.query_row("SELECT due FROM positions", [], |row| row.get(0)).expect("one run")
    }

    /// Drives what continues at `now`, and returns what became of it.
    async fn works(&self, now: i64) -> Vec<String> {
        let mut told = Vec::new();
        let mut tell = |driven: Result<DrivenRun, ServiceError>| told.push(outcome_text(driven));
        worker(self.at(now)).run(true, pending(), &mut tell).await.expect("the store can be read");
        told.sort();
        told
    }
}

fn worker(service: Arc<Service>) -> Arc<Worker> {
    let options = WorkerOptions { at_once: 4, model: None, mcp: None, folder: service.project().to_owned() };
    Arc::new(Worker::new(service, options).expect("it needs no model"))
}

fn outcome_text(driven: Result<DrivenRun, ServiceError>) -> String {
    let driven = driven.expect("the store can be read");
    let workflow = driven.workflow.expect("it could be read");
    match driven.outcome {
        Ok(outcome) => format!("{workflow}: {outcome:?}"),
        Err(error) => format!("{workflow}: {}", error.code),
    }
}

#[tokio::test]
async fn a_run_that_was_handed_over_is_driven_once() {
    let world = World::new();
    let service = world.at(NOW);
    let definition = world.definition(&service, COUNTS, "counts");
    for _ in 0..6 {
        world.hands_over(&service, &definition).await;
    }
    assert_eq!(world.works(NOW).await, vec![r#"counts: Done(Some(Object {"n": Number(1)}))"#; 6]);
    assert_eq!(world.works(NOW + HOUR).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_long_wait_is_left_until_its_time_has_come() {
    let world = World::new();
    let service = world.at(NOW);
    let definition = world.definition(&service, CALLS, "calls");
    let (commands, path) = (definition.commands.clone().expect("it contacts a server"), "calls.yaml".to_owned());
    let (project, file) = (world.project(), Digest::of(b""));
    let entry = TrustEntry { project, commands, file, path, at: Timestamp(NOW), runs: Vec::new() };
    service.trust().record(entry).expect("trust is recorded");
    world.hands_over(&service, &definition).await;
    assert_eq!(world.works(NOW).await, [r#"calls: Waiting { node: "call", why: None }"#]);
    assert_eq!(world.works(NOW + HOUR - 1).await, Vec::<String>::new());
    // The call failed, so it may be made again although its definition does not say that a repetition does no harm.
    assert_eq!(world.works(NOW + HOUR).await, [r#"calls: Done(Some(Object {"attempts": Number(2)}))"#]);
}

#[tokio::test]
async fn a_run_that_cannot_be_driven_is_put_off() {
    let world = World::new();
    let service = world.at(NOW);
    let definition = world.definition(&service, CALLS, "calls");
    let run = world.hands_over(&service, &definition).await;
    assert_eq!(world.works(NOW).await, ["calls: not_trusted"]);
    assert_eq!(world.works(NOW + 59_999).await, Vec::<String>::new());
    assert_eq!(world.works(NOW + 60_000).await, ["calls: not_trusted"]);
    assert_eq!(service.store().load(&run).await.expect("it is stored").seq, 1, "nothing was done");
}

#[tokio::test]
async fn a_run_that_somebody_left_is_not_taken() {
    let world = World::new();
    let service = world.at(NOW);
    let definition = world.definition(&service, COUNTS, "counts");
    let run = world.hands_over(&service, &definition).await;
    service.leave(&run).await.expect("it is stored");
    assert_eq!(world.works(NOW + HOUR).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_run_that_was_paused_is_left_to_whoever_paused_it() {
    let world = World::new();
    let service = world.at(NOW);
    let definition = world.definition(&service, COUNTS, "counts");
    let run = world.hands_over(&service, &definition).await;
    let control = Control::new(false, [Breakpoint::from("one")]);
    let how = How { control: Some(control.clone()), ..How::default() };
    let (driver, paused) = (Arc::clone(&service), run.clone());
    let driven = tokio::spawn(async move { driver.drive(FunctionRun::kept(paused), how).await });
    assert_eq!(control.paused().await, Phase::Paused);
    // It is stored after the control says so.
    while world.due().is_some() {
        tokio::task::yield_now().await;
    }
    driven.abort();
    assert!(driven.await.expect_err("its process is gone").is_cancelled());
    assert_eq!(world.works(NOW + HOUR).await, Vec::<String>::new());
    let resumed = service.drive(FunctionRun::kept(run), How::default()).await.expect("it is resumed");
    assert!(matches!(resumed.outcome, Outcome::Done(Some(_))), "{resumed:?}");
}

#[tokio::test]
async fn a_worker_that_is_asked_to_end_leaves_its_runs_to_others() {
    let world = World::new();
    let service = world.at(NOW);
    let many = COUNTS.replace("{\"n\": 1}'}, next: exit", "{\"n\": 1}'}, next: again}\n      - {id: again, type: switch, conditions: [{rule: {\">\": [1, 2]}, next: exit}], next: one");
    let definition = world.definition(&service, &many, "counts");
    let run = world.hands_over(&service, &definition).await;
    let store = world.at(NOW);
    let begun = async {
        while store.store().load(&run).await.expect("it is stored").seq < 20 {
            tokio::task::yield_now().await;
        }
    };
    let mut told = 0;
    worker(service).run(false, begun, &mut |_| told += 1).await.expect("it ends");
    let before = store.store().load(&run).await.expect("it is stored").seq;
    assert_eq!(told, 1, "it is told where the run was left");
    let claimed = store.store().claim(Timestamp(NOW + 2_000), 1).await.expect("it can be claimed");
    assert!(matches!(claimed.as_slice(), [(id, _)] if *id == run), "it is left to others");
    assert_eq!(store.store().load(&run).await.expect("it is stored").seq, before, "nobody drives it");
}

/// A run of this definition that an agent began, that waits at its question, and that a worker has looked at.
async fn asking(definition: &str) -> (World, View) {
    let world = World::new();
    std::fs::create_dir_all(world.project().join(".flow/workflows")).expect("a folder");
    std::fs::write(world.project().join(".flow/workflows/asks.yaml"), definition).expect("a definition");
    let service = world.at(NOW);
    let me = Caller::agent("tester");
    let open = Open { workflow: Some("asks".to_owned()), description: Some("go".to_owned()), ..Open::default() };
    let view = service.open(&open, &me).await.expect("it begins");
    let view = service.start(&view.address, None, &me).await.expect("it starts");
    service.hand_over(view.address.handle().expect("it is stored")).await.expect("it is stored");
    assert_eq!(world.works(NOW).await, [r#"asks: Waiting { node: "work.ask", why: None }"#]);
    (world, view)
}

#[tokio::test]
async fn a_run_that_waits_for_somebody_is_not_tried_again() {
    let asks = ASKS.replace("        autoAdvanceMs: 1000\n        defaultOption: yes\n", "");
    let (world, _run) = asking(&asks).await;
    assert_eq!(world.due(), None, "an answer continues it, not a time");
}

#[tokio::test]
async fn a_question_of_an_agents_run_times_out() {
    let (world, view) = asking(ASKS).await;
    assert_eq!(world.due(), Some(NOW + 1_000), "it is tried again when its time comes");
    assert_eq!(world.works(NOW + 999).await, Vec::<String>::new());
    assert_eq!(world.works(NOW + 1_000).await, ["asks: Done(None)"]);
    let records = world.at(NOW).records(&view.address).await.expect("it is stored");
    assert!(matches!(records[2].event.what, EventKind::Settled { .. }), "{records:?}");
}
