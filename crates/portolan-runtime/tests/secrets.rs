//! Secrets at rest: what a kept run was given and answered in confidence is in no file of the store, whenever the
//! process ended, and the run goes on with it all the same.
//!
//! The process that is killed is this program again, as the test [`child`].

#![cfg(unix)]

#[path = "common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;

use calls::{Calls, FunctionCall};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use portolan_core::run::Actor;
use portolan_runtime::carrier::Address;
use portolan_runtime::definition::Definition;
use portolan_runtime::drive::{ExecutionObserver, Outcome};
use portolan_runtime::library::FunctionFiles;
use portolan_runtime::service::{Caller, FunctionResult, How, InterruptionPolicy, Open, Options, Service};
use portolan_runtime::store::RunId;
use portolan_runtime::tools::{RecordedAnswers, ScriptedAnswer, Tools};
use serde_json::{Value, json};
use tempfile::TempDir;

/// `password` is marked by the schema, `token` and the field of the answer by `redact`.
const LOGIN: &str = r#"
version: "1.0"
server: {name: t, version: "1"}
redact: [token, /session/key]
tools:
  - name: login
    description: logs in and looks
    inputSchema: {type: object, properties: {password: {type: string, writeOnly: true}}}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: open}
      - {id: open, type: mcp, server: web, tool: open, args: {p: {expr: $.entry.password}, t: {expr: $.entry.token}}, next: look}
      - {id: look, type: mcp, server: web, tool: look, args: {key: {expr: $.open.session.key}}, next: result}
      - {id: result, type: transform, transform: {expr: '{"of": $.entry.password & "/" & $.entry.token, "key": $.open.session.key, "seen": $.look}'}, next: exit}
      - {id: exit, type: exit}
"#;

const SECRETS: [&str; 3] = ["hunter2-of-the-input", "tok-5f3a-of-the-input", "key-77aa-of-an-answer"];

fn input() -> Value {
    json!({"password": SECRETS[0], "token": SECRETS[1]})
}

fn answers() -> Arc<Tools> {
    let open = ScriptedAnswer::Output(json!({"session": {"key": SECRETS[2]}, "echo": SECRETS[0]}));
    let look = ScriptedAnswer::Output(json!({"told": format!("seen with {}", SECRETS[2])}));
    let nodes = BTreeMap::from([("login.open".to_owned(), vec![open]), ("login.look".to_owned(), vec![look])]);
    Arc::new(Tools::written(Arc::new(RecordedAnswers::new(nodes))))
}

fn expected() -> Outcome {
    let of = format!("{}/{}", SECRETS[0], SECRETS[1]);
    Outcome::Done(Some(Arc::new(
        json!({"of": of, "key": SECRETS[2], "seen": {"told": format!("seen with {}", SECRETS[2])}}),
    )))
}

struct World {
    home: TempDir,
}

impl World {
    fn new(graph: &str) -> World {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(home.path().join("project")).expect("a project");
        std::fs::write(home.path().join("project/graph.yaml"), graph).expect("a graph");
        World { home }
    }

    fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    fn service(&self) -> Service {
        service(&self.project())
    }

    fn key_file(&self) -> PathBuf {
        self.home.path().join("data/run.keys")
    }

    /// Every byte of every file in the store's folder.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut folders = vec![self.project().join(".portolan")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("the folder is there") {
                let path = entry.expect("an entry").path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => bytes.extend(std::fs::read(path).expect("a file")),
                }
            }
        }
        bytes
    }

    fn holds(&self, text: &str) -> bool {
        self.bytes().windows(text.len()).any(|found| found == text.as_bytes())
    }

    #[track_caller]
    fn assert_sealed(&self) {
        assert!(self.holds("sealed:"), "something is there");
        for secret in SECRETS {
            assert!(!self.holds(secret), "`{secret}` is readable");
        }
    }
}

fn service(project: &Path) -> Service {
    let trust = Some(project.with_file_name("data"));
    Service::new(Options { trust, ..Options::of(project) }).expect("a service")
}

fn definition(service: &Service, tool: &str) -> Arc<Definition> {
    let loaded = service.library().functions(FunctionFiles::unserved(&[service.project().join("graph.yaml")]));
    let loaded = loaded.unwrap_or_else(|error| panic!("{error:#?}"));
    loaded.called(Some(tool)).expect("it is there").clone()
}

async fn call(service: &Service, tool: &str, input: Value, how: How) -> FunctionResult {
    let definition = definition(service, tool);
    let call = FunctionCall { definition, input, by: Actor::Engine, how, kept: true };
    service.call_function(call).await.expect("it is driven")
}

#[tokio::test]
async fn what_is_marked_is_in_no_file_and_in_the_history_all_the_same() {
    let world = World::new(LOGIN);
    let service = world.service();
    let finished = call(&service, "login", input(), How::with(answers())).await;
    assert_eq!(finished.outcome, expected());
    world.assert_sealed();
    let run = Address::Stored(finished.run.expect("it is kept"));
    let records = service.records(&run).await.expect("its journal");
    let told = serde_json::to_string(&records).expect("JSON");
    assert!(SECRETS.iter().all(|secret| told.contains(secret)), "whoever has the key has it all: {told}");
    drop(service);
    world.assert_sealed();
    assert_eq!(world.service().records(&run).await.expect("its journal"), records);
}

#[tokio::test]
async fn a_run_that_hides_nothing_stands_as_it_is_and_needs_no_key() {
    let world = World::new(&LOGIN.replace("redact: [token, /session/key]\n", "").replace(", writeOnly: true", ""));
    let finished = call(&world.service(), "login", input(), How::with(answers())).await;
    assert_eq!(finished.outcome, expected());
    assert!(SECRETS.iter().all(|text| world.holds(text)) && !world.holds("sealed:"));
    assert!(!world.key_file().exists());
}

#[tokio::test]
async fn servers_that_are_told_something_make_a_run_a_secret_too() {
    for header in ["Bearer s3cr3t-token", "${NOBODY_SET_THIS}"] {
        let servers =
            format!("mcpServers: {{web: {{url: 'http://localhost:1/', headers: {{Authorization: '{header}'}}}}}}");
        let graph = LOGIN.replace("redact: [token, /session/key]", &servers).replace(", writeOnly: true", "");
        let world = World::new(&graph);
        call(&world.service(), "login", input(), How::with(answers())).await;
        world.assert_sealed();
    }
}

#[tokio::test]
async fn after_a_kill_in_the_middle_nothing_is_readable_and_the_run_goes_on() {
    for at in ["open", "look"] {
        let world = World::new(LOGIN);
        killed(&world, at);
        world.assert_sealed();
        let service = world.service();
        let [line] = &service.list(true, 10).await.expect("it lists")[..] else { panic!("there is one run") };
        assert_eq!((line.step.as_str(), line.workflow.as_str()), (at, "login"));
        let id = RunId::parse(&line.run).expect("a handle");
        let resumed = service.resume_function(&id, InterruptionPolicy::Repeat, How::with(answers())).await;
        assert_eq!(resumed.expect("it goes on").outcome, expected());
        world.assert_sealed();
    }
}

#[tokio::test]
async fn without_the_key_a_run_is_listed_and_what_is_missing_is_said() {
    let world = World::new(LOGIN);
    killed(&world, "look");
    let (service, away) = (world.service(), world.home.path().join("away"));
    std::fs::rename(world.key_file(), &away).expect("it is there");
    let line = service.list(true, 10).await.expect("it lists without a key").remove(0);
    let id = RunId::parse(&line.run).expect("a handle");
    let refused = service.resume_function(&id, InterruptionPolicy::Repeat, How::with(answers())).await;
    let error = refused.expect_err("its key is not there");
    let told = error.to_string().replace(&world.home.path().display().to_string(), "HOME").replace(id.as_str(), "ID");
    assert_eq!(error.code, "store_unavailable");
    assert_eq!(
        told,
        "run `ID` is sealed and the key file `HOME/data/run.keys` is missing; restore it, or set `PORTOLAN_DATA_DIR` to \
         the folder that it is in"
    );
    // Another run makes another key, which opens nothing of the first one.
    call(&service, "login", input(), How::with(answers())).await;
    let refused = service.resume_function(&id, InterruptionPolicy::Repeat, How::with(answers())).await;
    let error = refused.expect_err("another key is there");
    assert!(error.message.contains("is sealed with a key that the key file"), "{error}");
    std::fs::rename(away, world.key_file()).expect("it is put back");
    let resumed = service.resume_function(&id, InterruptionPolicy::Repeat, How::with(answers())).await;
    assert_eq!(resumed.expect("it goes on").outcome, expected());
}

/// A function that an agent's workflow runs; what it hides is put together where it runs, and stands in no definition.
const TOKEN: &str = r#"{"version": "1.0", "server": {"name": "t", "version": "1"}, "redact": ["token"], "tools": [{
    "name": "fetch", "description": "fetches a token", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"},
    "nodes": [
      {"id": "entry", "type": "entry", "next": "make"},
      {"id": "make", "type": "transform", "transform": {"expr": "{\"token\": $join([\"hunter2\", \"of\", \"the\", \"input\"], \"-\")}"}, "next": "keep"},
      {"id": "keep", "type": "mcp", "server": "echo", "tool": "echo", "args": {"token": {"expr": "$.make.token"}}, "next": "exit"},
      {"id": "exit", "type": "exit"}]}]}"#;
const LED: &str = r#"{"id": "led", "name": "led", "description": "led", "nodes": {
    "start": {"type": "start", "name": "Start"}, "get": {"type": "subflow", "name": "Get", "workflow": "fetch"},
    "work": {"type": "task", "name": "Work"}, "done": {"type": "end", "name": "Done", "result": "success"},
    "lost": {"type": "end", "name": "Lost", "result": "failure"}},
  "edges": [{"from": "start", "to": "get"}, {"from": "get", "to": "work", "on": "passed"},
    {"from": "get", "to": "lost", "on": "failed"}, {"from": "work", "to": "done"}]}"#;

#[tokio::test]
async fn a_function_in_an_agents_run_seals_it() {
    let world = World::new(LOGIN);
    let folder = world.project().join(".flow/workflows");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("fetch.json"), TOKEN).expect("a graph");
    std::fs::write(folder.join("led.json"), LED).expect("a workflow");
    let service = world.service();
    let description = Some("log in, token: tok-5f3a-of-the-input".to_owned());
    let wanted = Open { workflow: Some("led".to_owned()), description, ..Open::default() };
    let address = service.open(&wanted, &Caller::agent("ann")).await.expect("it begins").address;
    let view = service.start(&address, None, &Caller::agent("ann")).await.expect("it starts");
    assert_eq!((view.current_step.as_str(), view.notes), ("work", vec![]));
    world.assert_sealed();
    let line = service.list(true, 1).await.expect("it lists").remove(0);
    assert_eq!(line.description.as_deref(), Some("log in, token: [redacted]"));
    let records = service.records(&address).await.expect("its journal");
    assert!(serde_json::to_string(&records).expect("JSON").contains(SECRETS[0]), "the function did come to it");
}

/// Has a process begin the run and kills it while the call at `node` is under way.
fn killed(world: &World, node: &str) {
    let mut process = Command::new(std::env::current_exe().expect("this program is a file"))
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .env("PORTOLAN_TEST_PROJECT", world.project())
        .env("PORTOLAN_TEST_NODE", node)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program can be started");
    let mut said = BufReader::new(process.stdout.take().expect("it is piped")).lines();
    said.find(|line| line.as_ref().is_ok_and(|line| line == "told: under way")).expect("it comes to the call").ok();
    process.kill().expect("it is ours");
    process.wait().expect("it is ours");
}

/// Not a test of its own: what the process does that the others kill.
#[tokio::test]
async fn child() {
    let Some(project) = std::env::var_os("PORTOLAN_TEST_PROJECT") else { return };
    let node = std::env::var("PORTOLAN_TEST_NODE").expect("the parent sets both");
    let stop = move |began: &portolan_runtime::drive::Began<'_>| {
        if began.node.as_str() == node {
            std::io::stdout().write_all(b"\ntold: under way\n").expect("the parent listens");
            loop {
                std::thread::park();
            }
        }
    };
    let how = How { watch: Some(ExecutionObserver::new(stop, |_| {})), ..How::with(answers()) };
    call(&service(Path::new(&project)), "login", input(), how).await;
}
