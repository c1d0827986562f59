//! States at work, driven: models that answer as they are told, tools in Rust, and a run that is left and taken up again.

#[path = "../common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;
mod library;

use calls::{Calls, FunctionCall};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::chat::{Arguments, Finish, Message, ModelAnswer, ModelError, Role, ToolSpec, ToolUse, Usage};
use portolan_core::dialect::Strictness;
use portolan_core::expr::{Expr, Jsonata};
use portolan_core::graph::{
    Bounds, Edge, EndResult, ExhaustionPolicy, Graph, Interface, Judge, KeyResult, KeyResultCheck, Kind, Node,
    RetryContext, RunLimits, State, Trigger, Worker,
};
use portolan_core::run::{Actor, Change, ModelStateChange, ToolCallResult};
use portolan_core::source::{Span, Spanned};
use portolan_core::validate;
use portolan_core::value::NodeId;
use portolan_runtime::definition::{Bundle, Definition};
use portolan_runtime::drive::Outcome;
use portolan_runtime::models::{AnswerFuture, Model, ModelQuestion, ModelSetup, Sink};
use portolan_runtime::servers::{PoolOptions, Servers};
use portolan_runtime::service::{How, Options, Service, StoreAt};
use portolan_runtime::states::{FunctionError, FunctionOutput, Functions, ModelBindings, Workers};
use portolan_runtime::tools::Tools;
use serde_json::{Value, json};

/// A model that says these things, one after the other, and keeps what it was asked.
#[derive(Default)]
struct Says {
    lines: Mutex<Vec<&'static str>>,
    asked: Mutex<Vec<String>>,
}

impl Says {
    fn of(lines: &[&'static str]) -> Arc<Says> {
        Arc::new(Says { lines: Mutex::new(lines.iter().rev().copied().collect()), ..Says::default() })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for Says {
    fn name(&self) -> &str {
        "says"
    }

    fn ask<'a>(&'a self, question: ModelQuestion<'a>, _: Option<&'a dyn Sink>) -> AnswerFuture<'a> {
        let last = question.request.messages.last().and_then(|message| message.content.clone()).unwrap_or_default();
        let tools: Vec<&str> = question.tools.iter().map(|tool| tool.name.as_str()).collect();
        let first = last.lines().next().unwrap_or_default();
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{first} {tools:?}"));
        let line = self.lines.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Box::pin(async move {
            let line = line.ok_or_else(|| ModelError::new("bad-answer", "nothing is left to say"))?;
            if let Some(code) = line.strip_prefix('!') {
                return Err(ModelError::new(code, "it does not answer"));
            }
            let tool_calls = match line.strip_prefix("> ").and_then(|line| line.split_once(' ')) {
                Some((name, arguments)) => {
                    let arguments = Arguments::read(arguments);
                    vec![ToolUse { id: "x".to_owned(), name: name.to_owned(), arguments, extra: None }]
                }
                None => Vec::new(),
            };
            let message = Message { tool_calls, ..Message::text(Role::Assistant, line) };
            let usage = Usage { input: Some(3), output: Some(2), ..Usage::default() };
            Ok(ModelAnswer { message, finish: Finish::Stop, usage, model: None, cost_microdollars: None })
        })
    }
}

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned { value, span: Span::default() }
}

/// One state between a start and an end: its output must not be longer than five characters.
fn definition(change: impl FnOnce(&mut State)) -> Arc<Definition> {
    let check = Expr::Jsonata(Jsonata::parse("$length($string(output)) <= 5").expect("it can be read"));
    let mut state = State {
        objective: "be short".to_owned(),
        purpose: String::new(),
        key_results: vec![KeyResult {
            name: spanned("short".to_owned()),
            description: "at most five characters".to_owned(),
            by: KeyResultCheck::Expr(check),
            advisory: false,
            attached: false,
        }],
        work: Worker::Model(Box::default()),
        tools: Vec::new(),
        breaking: Vec::new(),
        waiting: Vec::new(),
        max_retries: 2,
        again: RetryContext::Continue,
        exhausted: ExhaustionPolicy::Fail,
        judge: Judge::default(),
        sets: Vec::new(),
        limits: Bounds::default(),
        way: None,
    };
    change(&mut state);
    let node = |id: &str, kind| Node::new(id, Span::default(), kind);
    let edge = |from: &str, to: &str| Edge {
        from: spanned(NodeId::from(from)),
        to: spanned(NodeId::from(to)),
        on: Trigger::Done,
        label: None,
        span: Span::default(),
    };
    let end = Kind::End { result: EndResult::Success, escalation: None };
    let limits = RunLimits { max_nodes: 100, max_ms: u64::MAX >> 1 };
    let graph = Graph {
        nodes: vec![node("start", Kind::Start), node("work", Kind::State(Box::new(state))), node("end", end)],
        edges: vec![edge("start", "work"), edge("work", "end")],
        interface: Some(Arc::new(Interface { limits, waits_at_limits: true, ..Interface::default() })),
        ..Graph::new(spanned("w".to_owned()))
    };
    let (workflow, faults) = validate::validate(&graph, &validate::no_library, Strictness::Strict);
    let workflow = workflow.unwrap_or_else(|| panic!("{faults:?}"));
    let bundle = Bundle {
        root: "w".to_owned(),
        workflows: BTreeMap::new(),
        activities: BTreeMap::new(),
        beside: BTreeMap::new(),
        attached: Vec::new(),
    };
    Arc::new(Definition::new(bundle, workflow))
}

fn tool(name: &str) -> Spanned<String> {
    spanned(name.to_owned())
}

fn how(model: &Arc<Says>, functions: Functions) -> How {
    let cast = ModelBindings::of(ModelSetup::of(".")).usually(Some("says".to_owned())).with("says", model.clone());
    let tools = Tools::of(Arc::new(Servers::new(Vec::new(), PoolOptions::default())));
    How { workers: Workers { cast, functions, ground: None }, ..How::with(Arc::new(tools)) }
}

/// What a run comes to that nobody keeps.
async fn ran(definition: &Arc<Definition>, how: How) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { store: StoreAt::Memory, ..Options::of(folder.path()) };
    let service = Service::new(options).expect("a service");
    let call = FunctionCall { definition: definition.clone(), input: json!({}), by: Actor::Engine, how, kept: false };
    service.call_function(call).await.expect("it runs").outcome
}

/// The node at which a run waits.
pub(crate) fn waits(outcome: Outcome) -> String {
    match outcome {
        Outcome::Waiting { node, .. } => node,
        other => panic!("{other:?}"),
    }
}

fn done(value: Value) -> Outcome {
    Outcome::Done(Some(Arc::new(value)))
}

/// A tool in Rust that doubles a number.
fn doubling() -> Functions {
    let parameters = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
    let spec = ToolSpec { name: "double".to_owned(), description: "doubles".to_owned(), parameters };
    let double = |arguments: Value| async move {
        let n = arguments["n"].as_i64().unwrap_or_default();
        if n == 13 {
            panic!("unlucky");
        }
        Ok(ToolCallResult::Output(Arc::new(json!(n * 2))))
    };
    Functions::default().tool(spec, double).expect("a schema")
}

#[tokio::test]
async fn a_model_is_asked_again_with_the_reasons_until_the_key_results_are_met() {
    let model = Says::of(&["far too long", "still too long", "ok"]);
    assert_eq!(ran(&definition(|_| {}), how(&model, Functions::default())).await, done(json!("ok")));
    let asked = model.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert_eq!(asked[0], "be short []");
    assert!(asked[1].starts_with("The result was not accepted (attempt 1 of 3)"), "{asked:?}");
}

#[tokio::test]
async fn tools_in_rust_are_held_to_their_schemas_and_a_panic_is_a_failure() {
    let model = Says::of(&["> double {\"n\": 4}", "> double {\"n\": \"four\"}", "> double {\"n\": 13}", "8"]);
    let definition = definition(|state| state.tools = vec![tool("double")]);
    assert_eq!(ran(&definition, how(&model, doubling())).await, done(json!("8")));
    let asked = model.asked();
    assert_eq!(asked[0], "be short [\"double\"]");
    assert_eq!(asked[1], "8 [\"double\"]");
    assert!(asked[2].starts_with("Error: the arguments are not valid for `double`"), "{asked:?}");
    assert!(asked[3].starts_with("Error: the function panicked"), "{asked:?}");
}

#[tokio::test]
async fn a_function_works_on_a_state_and_is_told_what_was_lacking() {
    let works = |work: portolan_core::engine::FunctionUse| async move {
        let lacking = work.last.map_or(0, |last| last.found.iter().filter(|found| !found.met).count());
        match lacking {
            0 => Ok(FunctionOutput::from(json!("far too long"))),
            _ => Ok(FunctionOutput {
                output: json!("ok"),
                writes: json!({ "seen": true }).as_object().cloned().unwrap_or_default(),
            }),
        }
    };
    let functions = Functions::default().working("f", works);
    let by = |name: &'static str| definition(move |state| state.work = Worker::Function(tool(name)));
    assert_eq!(ran(&by("f"), how(&Says::of(&[]), functions.clone())).await, done(json!("ok")));
    // One that nobody has registered, and one that fails for good, wait for a person.
    assert_eq!(waits(ran(&by("g"), how(&Says::of(&[]), functions)).await), "work");
    let fails = Functions::default().working("f", |_| async { Err(FunctionError::new("it cannot")) });
    assert_eq!(waits(ran(&by("f"), how(&Says::of(&[]), fails)).await), "work");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_overloaded_is_asked_again_later_and_one_that_refuses_the_key_is_not() {
    let model = Says::of(&["!overloaded", "!overloaded", "ok"]);
    let began = tokio::time::Instant::now();
    assert_eq!(ran(&definition(|_| {}), how(&model, Functions::default())).await, done(json!("ok")));
    assert!(began.elapsed().as_secs() >= 2, "{:?}", began.elapsed());
    let model = Says::of(&["!refused-key", "ok"]);
    let outcome = ran(&definition(|_| {}), how(&model, Functions::default())).await;
    assert_eq!(waits(outcome), "work");
}

#[tokio::test]
async fn a_run_that_waits_is_kept_with_its_conversation() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = || Options { trust: Some(folder.path().join("data")), ..Options::of(folder.path().join("project")) };
    std::fs::create_dir(folder.path().join("project")).expect("a folder");
    let limited = definition(|state| state.limits.model_calls = Some(1));
    let model = Says::of(&["far too long", "ok"]);
    let call = FunctionCall {
        definition: limited,
        input: json!({}),
        by: Actor::Engine,
        how: how(&model, Functions::default()),
        kept: true,
    };
    let finished = Service::new(options()).expect("a service").call_function(call).await.expect("it runs");
    assert_eq!(waits(finished.outcome), "work");
    let run = finished.run.expect("it is kept");
    // Nothing that was said is lost with the process.
    let kept = Service::new(options()).expect("a service").store().records(&run, 0, 100).await;
    let kept = kept.expect("its records");
    let said = kept.iter().flat_map(|record| &record.changes).filter_map(|change| match change {
        Change::Talked { said: ModelStateChange::Message(message), .. } => message.content.as_deref(),
        _ => None,
    });
    assert_eq!(said.take(1).collect::<Vec<_>>(), ["far too long"]);
    assert_eq!(model.asked().len(), 1);
}
