//! States of agents: what each costs beside what its model does, and whether a long run stays as fast as it began.
//!
//! ```sh
//! cargo bench -p portolan --bench states
//! python3 -m venv peer && peer/bin/pip install 'fsm-agent-flow[openai]==0.3.5'
//! PORTOLAN_PEER_PYTHON=peer/bin/python cargo bench -p portolan --bench states
//! ```
//! With the second, the program whose format this is does the same beside it, in the same minutes. What a model takes is
//! no part of it: a server on this machine answers at once, and what it costs to ask it without any engine is the floor.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../../portolan-runtime/tests/common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;
#[path = "../../portolan-runtime/tests/common/provider.rs"]
#[expect(dead_code, reason = "the tests of models use more of it")]
mod provider;

use calls::{Calls, FunctionCall};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portolan_core::chat::{Finish, Message, ModelAnswer, ModelSettings, Request, Role, Usage};
use portolan_core::dialect::Strictness;
use portolan_core::run::Actor;
use portolan_core::source::Source;
use portolan_runtime::definition::{Bundle, Definition, ParsedText};
use portolan_runtime::drive::Outcome;
use portolan_runtime::models::{AnswerFuture, Model, ModelQuestion, ModelSetup, Sink, open};
use portolan_runtime::service::{How, Options, Service, StoreAt};
use portolan_runtime::states::{ModelBindings, Workers};
use serde_json::{Value, json};

use provider::{FakeProvider, Said, Turn};

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let testing = std::env::args().any(|argument| argument == "--test");
    let scale = |number: u64| if testing { number / 1_000 + 2 } else { number };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    println!("{:<52}{:>12}{:>14}", "", "seconds", "µs for each");
    for states in [10_000, 100_000, 1_000_000].map(scale) {
        let took = runtime.block_on(no_op(states, StoreAt::Memory, false, ""));
        row(&format!("{states} states that do nothing, in memory"), took, states);
    }
    for states in [10_000, 50_000].map(scale) {
        let took = runtime.block_on(no_op(states, StoreAt::Memory, false, LOOKS_BACK));
        row(&format!("{states} states with their history, in memory"), took, states);
    }
    for states in [5_000, 50_000].map(scale) {
        let took = durable(&runtime, states);
        row(&format!("{states} states with their history, each on disk"), took, states);
    }
    for kept in [false, true] {
        in_process(&runtime, scale(20_000), kept);
    }
    models(&runtime, scale(2_000));
    start(if testing { 1 } else { 31 });
    peer();
}

fn row(name: &str, took: Duration, each: u64) {
    let seconds = took.as_secs_f64();
    println!("{name:<52}{seconds:>12.3}{:>14.2}", seconds * 1e6 / each as f64);
}

/// A key result that sees the history, and so has it kept: of a state that is never reached.
const LOOKS_BACK: &str = r#", "key_results": [{"name": "n", "description": "d", "check": "len(history) > 0"}]"#;

/// Ten states in a ring, left at the limit of the steps.
async fn no_op(states: u64, store: StoreAt, kept: bool, last: &str) -> Duration {
    let ring: Vec<String> = (0..10).map(|at| format!(r#""s{at}": {{"execute": "none"}}"#)).collect();
    let ways: Vec<String> = (0..9).map(|at| format!(r#""s{at}": "s{}""#, at + 1)).collect();
    let text = format!(
        r#"{{"objective": "o", "limits": {{"steps": {states}}}, "states": {{{}, "end": {{"execute": "none", "is_final": true{last}}}}},
        "transitions": {{{}, "s9": {{"end": "end", "default": "s0"}}}}}}"#,
        ring.join(", "),
        ways.join(", ")
    );
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::new(Options { store, ..Options::of(folder.path()) }).expect("a service");
    let (definition, input) = (definition(&text), json!("x"));
    let call = FunctionCall { definition, input, by: Actor::Engine, how: How::default(), kept };
    let began = Instant::now();
    let finished = service.call_function(call).await.expect("it runs");
    let took = began.elapsed();
    assert!(matches!(finished.outcome, Outcome::Waiting { .. }), "{:?}", finished.outcome);
    assert!(finished.executed >= states, "{} of {states}", finished.executed);
    took
}

fn durable(runtime: &tokio::runtime::Runtime, states: u64) -> Duration {
    let folder = tempfile::tempdir().expect("a folder");
    runtime.block_on(no_op(states, StoreAt::File(folder.path().join("runs.db")), true, LOOKS_BACK))
}

fn definition(text: &str) -> Arc<Definition> {
    let parsed = ParsedText::read(&Source::new("w.json", text), "w", Strictness::Lenient).expect("it can be read");
    let (workflow, faults) = parsed.check(&|_| None, Strictness::Lenient);
    let workflow = workflow.unwrap_or_else(|| panic!("{faults:?}"));
    Arc::new(Definition::new(Bundle::of(&parsed, &|_| None), workflow))
}

/// A model that answers at once, in this process: all that is left is the engine.
struct Instantly;

impl Model for Instantly {
    fn name(&self) -> &str {
        "instantly"
    }

    fn ask<'a>(&'a self, _: ModelQuestion<'a>, _: Option<&'a dyn Sink>) -> AnswerFuture<'a> {
        let usage = Usage { input: Some(3), output: Some(2), ..Usage::default() };
        let message = Message::text(Role::Assistant, "fine");
        Box::pin(async move {
            Ok(ModelAnswer { message, finish: Finish::Stop, usage, model: None, cost_microdollars: None })
        })
    }
}

/// What a request costs besides the model: a state begun, its model asked, a check of what it said, the way on.
fn in_process(runtime: &tokio::runtime::Runtime, calls: u64, kept: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = if kept { StoreAt::File(folder.path().join("runs.db")) } else { StoreAt::Memory };
    let service = Service::new(Options { store, ..Options::of(folder.path()) }).expect("a service");
    let mut took = Vec::new();
    for _ in 0..5 {
        let cast =
            ModelBindings::default().usually(Some("instantly".to_owned())).with("instantly", Arc::new(Instantly));
        let how = How { workers: Workers { cast, ..Workers::default() }, ..How::default() };
        let call = FunctionCall { definition: asking(calls), input: json!("x"), by: Actor::Engine, how, kept };
        let began = Instant::now();
        let finished = runtime.block_on(service.call_function(call)).expect("it runs");
        took.push(began.elapsed());
        assert!(matches!(finished.outcome, Outcome::Waiting { .. }), "{:?}", finished.outcome);
    }
    took.sort();
    let place = if kept { "on disk" } else { "in memory" };
    row(&format!("{calls} instant models with a check, {place}, median of 5"), took[2], calls);
}

/// One state that is begun again and again, until its model has been asked as often.
fn asking(calls: u64) -> Arc<Definition> {
    definition(&format!(
        r#"{{"objective": "o", "limits": {{"model_calls": {calls}, "steps": 10000000}}, "states": {{"a": {{"objective": "a", "key_results":
        [{{"name": "n", "description": "d", "check": "len(output) > 1"}}]}}}}, "transitions": {{"a": {{"end": null, "default": "a"}}}}}}"#
    ))
}

/// What the engine adds to each request: the same requests to the same server, with states and without, in turns.
fn models(runtime: &tokio::runtime::Runtime, calls: u64) {
    let provider = FakeProvider::new([Turn::Says(Said::text("fine"))]);
    let name = format!("openai:m@{}/v1", provider.origin);
    let definition = asking(calls);
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::new(Options { store: StoreAt::Memory, ..Options::of(folder.path()) }).expect("a service");
    let model = open(&name, &ModelSetup::of(folder.path())).expect("a model");
    let messages = [Message::text(Role::System, "You work."), Message::text(Role::User, "fine")];
    let messages = Arc::new(messages.map(Arc::new).to_vec());
    let request = Request {
        model: None,
        messages,
        tools: Arc::default(),
        settings: ModelSettings::default(),
        answer_schema: None,
    };
    let mut added = Vec::new();
    let (mut with, mut without) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..5 {
        let began = Instant::now();
        runtime.block_on(async {
            for _ in 0..calls {
                let (model, request) = (model.clone(), request.clone());
                // In a task of its own, as the engine's are.
                let asked = tokio::spawn(async move {
                    model.ask(ModelQuestion { request: &request, tools: &[], asker: None }, None).await
                });
                asked.await.expect("no panic").expect("it answers");
            }
        });
        without = began.elapsed();
        let cast = ModelBindings::of(ModelSetup::of(folder.path())).usually(Some(name.clone()));
        let how = How { workers: Workers { cast, ..Workers::default() }, ..How::default() };
        let call =
            FunctionCall { definition: definition.clone(), input: json!("x"), by: Actor::Engine, how, kept: false };
        let began = Instant::now();
        runtime.block_on(service.call_function(call)).expect("it runs");
        with = began.elapsed();
        added.push((with.as_secs_f64() - without.as_secs_f64()) * 1e6 / calls as f64);
    }
    added.sort_by(f64::total_cmp);
    row(&format!("{calls} requests, without an engine"), without, calls);
    row(&format!("{calls} states with a model and a check"), with, calls);
    println!("{:<52}{:>26.2}", "the engine for each request, median of 5 pairs", added[added.len() / 2]);
}

/// From the start of the process until its first request is there.
fn start(times: usize) {
    let provider = FakeProvider::new([Turn::Says(Said::text("fine"))]);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("w.yaml"), "objective: o\nstates: {a: {objective: a, is_final: true}}\n")
        .expect("there is room");
    let model = format!("openai:m@{}/v1", provider.origin);
    let mut took = Vec::new();
    for nth in 0..times {
        let began = Instant::now();
        let mut process = Command::new(env!("CARGO_BIN_EXE_portolan"))
            .args(["run", "w.yaml", "topic=x", "--model", &model])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        while provider.requests().len() <= nth {
            std::thread::yield_now();
        }
        took.push(began.elapsed());
        assert!(process.wait().expect("it ends").success());
    }
    took.sort();
    row(&format!("start to the first request, median of {times}"), took[times / 2], 1);
}

/// The same by the original, where it is at hand.
fn peer() {
    let Some(python) = std::env::var_os("PORTOLAN_PEER_PYTHON") else {
        println!("fsm-agent-flow is not measured: set PORTOLAN_PEER_PYTHON to a Python that has it");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/states_peer.py");
    let provider = FakeProvider::new([Turn::Says(Said::text("fine"))]);
    let began = Command::new(python).arg(script).arg(format!("{}/v1", provider.origin)).output().expect("it starts");
    assert!(began.status.success(), "{}", String::from_utf8_lossy(&began.stderr));
    for line in String::from_utf8_lossy(&began.stdout).lines() {
        let told: Value = serde_json::from_str(line).expect("JSON");
        let seconds = Duration::from_secs_f64(told["seconds"].as_f64().expect("a number"));
        row(told["name"].as_str().expect("a name"), seconds, told["each"].as_u64().expect("a number"));
    }
}
