//! Functions as the service drives them: with written answers, kept in the store, taken up again after a crash at
//! every event.

#[path = "common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;

use calls::{Calls, FunctionCall};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use portolan_core::run::{Actor, Change, EffectResult, EventKind};
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::Clock;
use portolan_runtime::definition::Definition;
use portolan_runtime::drive::{Control, ExecutionObserver, Outcome, Phase};
use portolan_runtime::graphs::Graphs;
use portolan_runtime::servers::PoolOptions;
use portolan_runtime::service::{Caller, Fork, FunctionResult, How, InterruptionPolicy, Options, Service, StoreAt};
use portolan_runtime::store::{NewRun, Record, RunId};
use portolan_runtime::tools::{RecordedAnswers, ScriptedAnswer, Tools};
use serde_json::{Value, json};

const GRAPH: &str = r#"
version: "1.0"
server: {name: t, version: "1"}
tools:
  - name: outer
    description: calls one after the other, then both at once, then for each
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: first}
      - {id: first, type: mcp, server: echo, tool: echo, args: {v: {expr: $.entry.v}}, next: split}
      - {id: split, type: parallel, branches: [left, right], join: meet}
      - {id: left, type: mcp, server: echo, tool: echo, args: {side: left}, next: meet}
      - {id: right, type: mcp, server: echo, tool: echo, args: {side: right}, next: meet}
      - {id: meet, type: join, next: each}
      - {id: each, type: forEach, items: {expr: "[1..3]"}, tool: one, args: {n: {expr: $item}}, concurrency: 2, next: result}
      - {id: result, type: transform, transform: {expr: '{"v": $.first.v, "sides": $.meet, "each": $.each.n}'}, next: exit}
      - {id: exit, type: exit}
  - name: one
    description: one item
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: call}
      - {id: call, type: mcp, server: echo, tool: echo, args: {n: {expr: $.entry.n * 10}}, next: exit}
      - {id: exit, type: exit}
"#;

struct World {
    folder: tempfile::TempDir,
    service: Service,
}

fn world(store: StoreAt) -> World {
    world_at(store, Clock::System)
}

fn world_at(store: StoreAt, clock: Clock) -> World {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("project");
    std::fs::create_dir_all(&project).expect("a project");
    let options = Options { store, clock, trust: Some(folder.path().join("data")), ..Options::of(&project) };
    World { service: Service::new(options).expect("a service"), folder }
}

impl World {
    fn project(&self) -> &Path {
        self.service.project()
    }

    fn definition(&self, text: &str, tool: &str) -> Arc<Definition> {
        let file = self.project().join("graph.yaml");
        std::fs::write(&file, text).expect("a graph");
        let opened = Graphs::open(vec![file], None, self.service.library(), PoolOptions::default());
        let graphs = opened.unwrap_or_else(|error| panic!("{:#?}", error));
        let loaded = graphs.current(self.service.library());
        loaded.functions.called(Some(tool)).expect("it is there").clone()
    }

    async fn call(&self, definition: &Arc<Definition>, input: Value, how: How, kept: bool) -> FunctionResult {
        let call = FunctionCall { definition: definition.clone(), input, by: Actor::Engine, how, kept };
        self.service.call_function(call).await.expect("it is driven")
    }
}

/// Answers with the arguments, as the echo does, and counts.
fn answers() -> BTreeMap<String, Vec<ScriptedAnswer>> {
    let node =
        |name: &str, values: &[Value]| (name.to_owned(), values.iter().cloned().map(ScriptedAnswer::Output).collect());
    BTreeMap::from([
        node("outer.first", &[json!({"v": 1})]),
        node("outer.left", &[json!({"side": "left"})]),
        node("outer.right", &[json!({"side": "right"})]),
        node("one.call", &[json!({"n": 10}), json!({"n": 20}), json!({"n": 30})]),
    ])
}

fn written() -> Arc<Tools> {
    Arc::new(Tools::written(Arc::new(RecordedAnswers::new(answers()))))
}

fn expected() -> Outcome {
    let value = json!({
        "v": 1,
        "sides": {"left": {"side": "left"}, "right": {"side": "right"}},
        "each": [10, 20, 30],
    });
    Outcome::Done(Some(Arc::new(value)))
}

#[tokio::test]
async fn a_function_comes_to_its_end() {
    let world = world(StoreAt::Memory);
    let definition = world.definition(GRAPH, "outer");
    let finished = world.call(&definition, json!({"v": 1}), How::with(written()), false).await;
    assert_eq!(finished.outcome, expected());
    assert_eq!(finished.run, None);
    // Nine nodes of its own, and three of each item.
    assert_eq!(finished.executed, 9 + 3 * 3);
}

/// What a run would be had the process ended after its first `kept` records.
async fn cut(world: &World, definition: &Definition, records: &[Record], kept: usize) -> RunId {
    let id = RunId::random();
    let fold = |upto: usize| {
        let changes = records[..upto].iter().flat_map(|record| &record.changes);
        portolan_core::run::Run::fold(changes).expect("a journal begins with `Opened`")
    };
    let new = NewRun {
        id: id.clone(),
        definition: definition.digest.clone(),
        definition_text: definition.text.clone(),
        cover: None,
        run: fold(1),
        records: vec![records[0].clone()],
    };
    world.service.store().create(new).await.expect("it is kept");
    for (at, record) in records[..kept].iter().enumerate().skip(1) {
        world.service.store().append(&id, record.seq - 1, record, &fold(at + 1)).await.expect("it is kept");
    }
    id
}

#[tokio::test]
async fn after_a_crash_at_any_event_the_run_goes_on_and_no_settled_call_is_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = world(StoreAt::File(folder.path().join("runs.db")));
    let definition = world.definition(GRAPH, "outer");
    let finished = world.call(&definition, json!({"v": 1}), How::with(written()), true).await;
    assert_eq!(finished.outcome, expected());
    let run = finished.run.expect("it is kept");
    let records = world.service.records(&Address::Stored(run)).await.expect("its journal");
    for kept in 1..records.len() {
        let settled =
            |record: &&Record| matches!(record.event.what, EventKind::Settled { result: EffectResult::Reply(_), .. });
        let before = records[..kept].iter().filter(settled).count();
        let id = cut(&world, &definition, &records, kept).await;
        let calls = Arc::new(Mutex::new(0_usize));
        let counter = calls.clone();
        let watch = ExecutionObserver::new(
            move |began| *counter.lock().expect("no panic") += usize::from(began.kind == "mcp"),
            |_| {},
        );
        // What was answered is gone with the old process: the answers of the items that are left are the last ones.
        let tools = remaining(&records[..kept]);
        let how = How { watch: Some(watch), ..How::with(tools) };
        let finished = world.service.resume_function(&id, InterruptionPolicy::Repeat, how).await.expect("it goes on");
        assert_eq!(finished.outcome, expected(), "after {kept} records");
        assert_eq!(*calls.lock().expect("no panic"), 6 - before, "after {kept} records");
    }
}

#[tokio::test]
async fn why_a_run_ended_at_its_limits_is_told() {
    let world = world_at(StoreAt::Memory, Clock::stepping(0));
    let limits = "executionLimits: {maxExecutionTimeMs: 500}\ntools:";
    let definition = world.definition(&GRAPH.replace("tools:", limits), "outer");
    let finished = world.call(&definition, json!({"v": 1}), How::with(written()), true).await;
    assert!(matches!(&finished.outcome, Outcome::Failed(fault) if fault.code == "limit-time"), "{finished:?}");
    let address = Address::Stored(finished.run.expect("it is kept"));
    let halt =
        world.service.halt(&address, None, &Caller::agent("agent")).await.expect("it is read").expect("it failed");
    let told = halt.failed.iter().map(|failure| failure.reason.as_str()).collect::<Vec<_>>();
    assert!(matches!(told[..], [reason] if reason.contains("maxExecutionTimeMs")), "{told:?}");
}

#[tokio::test]
async fn a_fork_has_the_time_that_its_past_has_left() {
    let time = Arc::new(AtomicI64::new(1_700_000_000_000));
    let world = world_at(StoreAt::Memory, Clock::Stepping(time.clone()));
    let definition = world.definition(GRAPH, "outer");
    let finished = world.call(&definition, json!({"v": 1}), How::with(written()), true).await;
    assert_eq!(finished.outcome, expected());
    let address = Address::Stored(finished.run.expect("it is kept"));
    let records = world.service.records(&address).await.expect("its journal");
    let caller = Caller::agent("agent");
    // An hour later: the function may take five minutes.
    time.fetch_add(3_600_000, Ordering::Relaxed);
    for kept in 1..records.len() {
        let fork = world.service.fork(&address, Fork::at(kept as u64), &caller).await.expect("it is forked");
        let Address::Stored(id) = fork.address else { panic!("it is in the store") };
        let how = How::with(remaining(&records[..kept]));
        let finished = world.service.resume_function(&id, InterruptionPolicy::Repeat, how).await.expect("it goes on");
        assert_eq!(finished.outcome, expected(), "after {kept} records");
    }
}

/// The answers that were not given yet.
fn remaining(records: &[Record]) -> Arc<Tools> {
    let mut answers = answers();
    let given = records.iter().flat_map(|record| &record.changes).filter(|change| {
        matches!(change, Change::Executed { frame, node, .. } if node.as_str() == "call" && frame.0.len() == 2)
            || matches!(change, Change::Executed { frame, node, .. } if node.as_str() == "call" && frame.0.len() == 1)
    });
    let done: Vec<String> = given
        .filter_map(|change| match change {
            Change::Executed { output: Some(output), .. } => Some(output.to_string()),
            _ => None,
        })
        .collect();
    if let Some(items) = answers.get_mut("one.call") {
        items.retain(|answer| match answer {
            ScriptedAnswer::Output(output) => !done.contains(&output.to_string()),
            ScriptedAnswer::Failure { .. } => true,
        });
    }
    Arc::new(Tools::written(Arc::new(RecordedAnswers::new(answers))))
}

#[tokio::test]
async fn an_interrupted_call_is_a_question_unless_repeating_does_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = world(StoreAt::File(folder.path().join("runs.db")));
    let definition = world.definition(GRAPH, "outer");
    let finished = world.call(&definition, json!({"v": 1}), How::with(written()), true).await;
    let run = finished.run.expect("it is kept");
    let records = world.service.records(&Address::Stored(run)).await.expect("its journal");
    // Opened, the entry executed, and the first call on its way.
    let id = cut(&world, &definition, &records, 3).await;
    let how = || How::with(written());
    let refused = world.service.resume_function(&id, InterruptionPolicy::Ask, how()).await.expect_err("it asks");
    assert_eq!(refused.code, "interrupted");
    let failed = world.service.resume_function(&id, InterruptionPolicy::Fail, how()).await.expect("it goes on");
    let Outcome::Failed(fault) = failed.outcome else { panic!("{:?}", failed.outcome) };
    assert_eq!((fault.node.as_str(), fault.code.as_str()), ("first", "interrupted"));
    let harmless = GRAPH.replace("args: {v: {expr: $.entry.v}}", "args: {v: {expr: $.entry.v}}, idempotent: true");
    let definition = world.definition(&harmless, "outer");
    let id = cut(&world, &definition, &records, 3).await;
    let finished = world.service.resume_function(&id, InterruptionPolicy::Ask, how()).await.expect("it goes on");
    assert_eq!(finished.outcome, expected());
}

#[tokio::test]
async fn a_run_is_paused_stepped_and_stopped() {
    let world = world(StoreAt::Memory);
    let definition = world.definition(GRAPH, "outer");
    let control = Control::new(true, []);
    let how = How { control: Some(control.clone()), ..How::with(written()) };
    let call =
        FunctionCall { definition: definition.clone(), input: json!({"v": 1}), by: Actor::Engine, how, kept: false };
    let driven = world.service.call_function(call);
    let controlled = async {
        assert_eq!(control.paused().await, Phase::Paused);
        assert_eq!(control.waits_before().as_deref(), Some("entry"));
        assert_eq!(world.service.live().len(), 1);
        control.step().expect("it is paused");
        assert_eq!(control.paused().await, Phase::Paused);
        assert_eq!(control.waits_before().as_deref(), Some("first"));
        control.set_breakpoints(["result".into()]);
        control.resume().expect("it is paused");
        assert_eq!(control.paused().await, Phase::Paused);
        assert_eq!(control.waits_before().as_deref(), Some("result"));
        let context = control.context().expect("it is paused");
        let data = context.root.data.as_ref().expect("a function has data");
        assert_eq!(
            data.outputs.latest("each").map(|each| each.to_string()).as_deref(),
            Some(r#"[{"n":10},{"n":20},{"n":30}]"#)
        );
        control.stop().expect("it is paused");
        assert_eq!(control.pause().expect_err("it is stopped").code, "out_of_place");
    };
    let (finished, ()) = tokio::join!(driven, controlled);
    assert_eq!(finished.expect("it is driven").outcome, Outcome::Cancelled);
    assert!(world.service.live().is_empty());
}

#[tokio::test]
async fn a_changed_file_is_taken_and_a_faulty_one_is_not() {
    let world = world(StoreAt::Memory);
    let file = world.project().join("graph.yaml");
    std::fs::write(&file, GRAPH).expect("a graph");
    let library = world.service.library();
    let Ok(graphs) = Graphs::open(vec![file.clone()], None, library, PoolOptions::default()) else {
        panic!("it is sound")
    };
    assert_eq!(graphs.current(library).functions.definitions.len(), 2);
    std::fs::write(
        &file,
        GRAPH.replace(
            "next: exit}\n      - {id: exit, type: exit}\n  - name: one",
            "next: nowhere}\n      - {id: exit, type: exit}\n  - name: one",
        ),
    )
    .expect("written");
    assert_eq!(graphs.current(library).functions.definitions.len(), 2);
    let faulty = graphs.faulty().expect("it is faulty");
    assert!(faulty.findings.iter().any(|(_, fault)| fault.message.contains("`nowhere`")), "{:#?}", faulty.findings);
    let renamed = GRAPH.replace("name: outer", "name: renamed");
    std::fs::write(&file, renamed).expect("written");
    assert!(graphs.current(library).functions.definitions.contains_key("renamed"));
    assert!(graphs.faulty().is_none());
    drop(world.folder);
}

#[tokio::test]
async fn a_change_shows_in_what_is_served_whatever_it_looks_like_and_wherever_it_is() {
    let world = world(StoreAt::Memory);
    let (file, inner) = (world.project().join("graph.yaml"), world.project().join(".flow/workflows/inner.yaml"));
    let graph = |name: &str, node: &str| {
        format!(
            r#"
version: "1.0"
server: {{name: numbers, version: "1"}}
tools:
  - name: {name}
    description: d
    inputSchema: {{type: object}}
    outputSchema: {{type: object}}
    nodes:
      - {{id: entry, type: entry, next: work}}
      - {{id: work, next: exit, {node}}}
      - {{id: exit, type: exit}}
"#
        )
    };
    let says = |text: &str| format!(r#"type: transform, transform: {{expr: '{{"says": "{text}"}}'}}"#);
    std::fs::write(&file, graph("outer", &says("000"))).expect("a graph");
    let library = world.service.library();
    let opened = Graphs::open(vec![file.clone()], None, library, PoolOptions::default());
    let graphs = opened.unwrap_or_else(|error| panic!("{error}"));
    let digest = || graphs.current(library).functions.called(Some("outer")).expect("it is there").digest.clone();
    let (mut before, time) = (digest(), file.metadata().and_then(|metadata| metadata.modified()).expect("a time"));
    for nth in 1..20 {
        std::fs::write(&file, graph("outer", &says(&format!("{nth:03}")))).expect("written");
        let opened = std::fs::File::options().write(true).open(&file).expect("it opens");
        opened.set_modified(time).expect("it is set");
        let now = digest();
        assert_ne!(now, before, "a text of the same size with the same time: {nth}");
        before = now;
    }
    std::fs::write(&file, graph("outer", "type: call, workflow: inner")).expect("written");
    assert_eq!(digest(), before, "`inner` is not known");
    assert!(graphs.faulty().expect("it is faulty").to_string().contains("unknown-subflow"));
    std::fs::create_dir_all(inner.parent().expect("a folder")).expect("a folder");
    for text in ["first", "other"] {
        std::fs::write(&inner, graph("inner", &says(text))).expect("written");
        let now = digest();
        assert_ne!(now, before, "what it runs came, or changed: {text}");
        assert!(graphs.faulty().is_none());
        before = now;
    }
    let served = graphs.loaded();
    assert!(Arc::ptr_eq(&served, &graphs.current(library)), "what has not changed is not read again");
    drop(world.folder);
}
