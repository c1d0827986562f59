//! Functions that have an agent led through a workflow: once, or for each item of an array.

use crate::common::calls::{Calls, FunctionCall};
use std::sync::Arc;

use crate::common::words::tasks::instructions;
use crate::common::{World, agent, answer_text, wait};
use expect_test::{Expect, expect};
use portolan_core::run::Actor;
use portolan_runtime::carrier::Address;
use portolan_runtime::definition::Definition;
use portolan_runtime::drive::Outcome;
use portolan_runtime::library::FunctionFiles;
use portolan_runtime::service::{How, InterruptionPolicy};
use portolan_runtime::store::RunId;
use portolan_runtime::tools::{RecordedAnswers, Tools};
use serde_json::json;

fn graph(node: &str) -> String {
    format!(
        r#"
version: "1.0"
server: {{name: s, version: "1"}}
tools:
  - name: outer
    description: d
    inputSchema: {{type: object}}
    outputSchema: {{}}
    nodes:
      - {{id: entry, type: entry, next: led}}
      - {{id: led, {node}, next: result}}
      - {{id: result, type: transform, transform: {{expr: '{{"came": $.led, "count": $count($.led)}}'}}, next: exit}}
      - {{id: exit, type: exit}}
"#
    )
}

fn tools() -> Arc<Tools> {
    Arc::new(Tools::written(Arc::new(RecordedAnswers::new([]))))
}

fn definition(world: &World, text: &str) -> Arc<Definition> {
    world.write("graph.yaml", text);
    let service = world.service();
    let loaded = service.library().functions(FunctionFiles::unserved(&[world.path("graph.yaml")]));
    let loaded = loaded.unwrap_or_else(|error| panic!("{error:#?}"));
    loaded.called(Some("outer")).expect("it is there").clone()
}

/// Calls the function; its run is kept.
fn call(world: &World, node: &str) -> (Address, Outcome) {
    let definition = definition(world, &graph(node));
    let (input, how) = (json!({"xs": [1, 2, 3]}), How::with(tools()));
    let call = FunctionCall { definition, input, by: Actor::Engine, how, kept: true };
    let finished = wait(world.service().call_function(call)).expect("it is driven");
    (Address::Stored(finished.run.expect("it is kept")), finished.outcome)
}

/// What the run has come to: it is over.
#[track_caller]
/// The node at which a run waits.
fn waits(outcome: Outcome) -> String {
    match outcome {
        Outcome::Waiting { node, .. } => node,
        other => panic!("{other:?}"),
    }
}

fn ended(world: &World, run: &Address, expected: Expect) {
    let Address::Stored(id) = run else { panic!("it is in the store") };
    let load = wait(world.service().store().load(id)).expect("it is kept").run;
    assert!(load.is_over(), "{:?}", load.root.place);
    let data = load.root.data.map(Arc::unwrap_or_clone).expect("it is a function");
    let came = match data.fault {
        Some(fault) => json!({"node": fault.node, "message": fault.message}),
        None => data.output.map(Arc::unwrap_or_clone).unwrap_or_default(),
    };
    expected.assert_eq(&came.to_string());
}

fn resume(world: &World, run: &Address) -> Outcome {
    let id = RunId::parse(&run.to_string()).expect("a handle");
    wait(world.service().resume_function(&id, InterruptionPolicy::Ask, How::with(tools()))).expect("it goes on").outcome
}

const SMALL: &str = "start -> work; work -passed-> done; work -failed-> failed";

#[test]
fn an_agent_is_led_once() {
    let world = World::with("small", "start -> work; work -> done");
    let (run, outcome) = call(&world, "type: call, workflow: small");
    assert_eq!(waits(outcome), "work");
    expect![[r#"
        work working
          required Next(passed)
          optional Next(failed)
    "#]]
    .assert_eq(&answer_text(&world.current(&run)));
    expect![[r#"
        exit (success) ended
    "#]]
    .assert_eq(&answer_text(&world.next(&run, "passed")));
    ended(&world, &run, expect![[r#"{"came":{"outcome":"passed","result":"success"},"count":1}"#]]);
}

#[test]
fn items_are_led_one_after_the_other() {
    let world = World::with("small", "start -> work; work -> done");
    let (run, outcome) = call(&world, "type: forEach, items: {expr: $.entry.xs}, workflow: small");
    assert_eq!(waits(outcome), "work");
    expect![[r#"
        work working
          required Next(0, passed)
          optional Next(0, failed)
    "#]]
    .assert_eq(&answer_text(&world.current(&run)));
    expect![[r#"
        work working
          required Next(1, passed)
          optional Next(1, failed)
    "#]]
    .assert_eq(&answer_text(&world.next(&run, "passed")));
    assert_eq!(waits(resume(&world, &run)), "work");
    expect![[r#"
        work working
          required Next(2, passed)
          optional Next(2, failed)
    "#]]
    .assert_eq(&answer_text(&world.next(&run, "passed")));
    expect![[r#"
        exit (success) ended
    "#]]
    .assert_eq(&answer_text(&world.next(&run, "passed")));
    ended(
        &world,
        &run,
        expect![[
            r#"{"came":[{"outcome":"passed","result":"success"},{"outcome":"passed","result":"success"},{"outcome":"passed","result":"success"}],"count":3}"#
        ]],
    );
    expect![[r#"
        1 portolan opened `outer`
        2 portolan went on → executed `entry`, now at `led`
        3 portolan went on → 3 items of `led`, item 0 began
        4 portolan went on → now at `work` in `0`
        5 agent ann reported passed in `0` → now at `done` in `0`
        6 portolan went on → ended at `done`: success in `0`, item 0 done, item 1 began
        7 portolan went on → now at `work` in `1`
        8 agent ann reported passed in `1` → now at `done` in `1`
        9 portolan went on → ended at `done`: success in `1`, item 1 done, item 2 began
        10 portolan went on → now at `work` in `2`
        11 agent ann reported passed in `2` → now at `done` in `2`
        12 portolan went on → ended at `done`: success in `2`, item 2 done, executed `led`, now at `result`
        13 portolan went on → executed `result`, now at `exit`
        14 portolan went on → executed `exit`, ended at `exit`: success
    "#]]
    .assert_eq(&world.history(&run));
}

#[test]
fn items_are_led_at_once_and_addressed_by_their_number() {
    let world = World::with("small", "start -> work; work -> done");
    let (run, _) = call(&world, "type: forEach, items: {expr: $.entry.xs}, workflow: small, concurrency: 2");
    expect![[r#"
        led working
          required Next(0, passed)
          required Next(1, passed)
          optional Next(0, failed)
          optional Next(1, failed)
    "#]]
    .assert_eq(&answer_text(&world.current(&run)));
    expect![[r#"
        branches_open: the branches of `led` are running, but the call names none of them
          help: say which one with `branch`: `0` and `1`
          (at led)
    "#]]
    .assert_eq(&answer_text(&world.next(&run, "passed")));
    expect![[r#"
        led working
          required Next(0, passed)
          required Next(2, passed)
          optional Next(0, failed)
          optional Next(2, failed)
    "#]]
    .assert_eq(&answer_text(&world.next_in(&run, "1", "passed")));
    expect![[r#"
        unknown_branch: no branch `1` is in progress
          help: choose one of the current positions
          (at led)
    "#]]
    .assert_eq(&answer_text(&world.next_in(&run, "1", "passed")));
    expect![[r#"
        work working
          required Next(2, passed)
          optional Next(2, failed)
    "#]]
    .assert_eq(&answer_text(&wait(world.service().current(&run, Some("2"), &agent()))));
    expect![[r#"
        work working
          required Next(2, passed)
          optional Next(2, failed)
    "#]]
    .assert_eq(&answer_text(&world.next_in(&run, "0", "passed")));
    expect![[r#"
        exit (success) ended
    "#]]
    .assert_eq(&answer_text(&world.next_in(&run, "2", "passed")));
    ended(
        &world,
        &run,
        expect![[
            r#"{"came":[{"outcome":"passed","result":"success"},{"outcome":"passed","result":"success"},{"outcome":"passed","result":"success"}],"count":3}"#
        ]],
    );
}

#[test]
fn a_workflow_that_needs_nobody_is_over_at_once() {
    let world = World::with("small", "start -> done");
    let (run, _) = call(&world, "type: call, workflow: small");
    ended(&world, &run, expect![[r#"{"came":{"outcome":"passed","result":"success"},"count":1}"#]]);
    let each = "type: forEach, items: {expr: $.entry.xs}, workflow: small";
    let (run, _) = call(&world, each);
    ended(
        &world,
        &run,
        expect![[
            r#"{"came":[{"outcome":"passed","result":"success"},{"outcome":"passed","result":"success"},{"outcome":"passed","result":"success"}],"count":3}"#
        ]],
    );
    let (run, _) = call(&world, &format!("{each}, concurrency: 2"));
    ended(
        &world,
        &run,
        expect![[
            r#"{"came":[{"outcome":"passed","result":"success"},{"outcome":"passed","result":"success"},{"outcome":"passed","result":"success"}],"count":3}"#
        ]],
    );
    let world = World::with("small", "start -> failed");
    let (run, _) = call(&world, &format!("{each}, concurrency: 2"));
    ended(
        &world,
        &run,
        expect![[r#"{"node":"led/0/failed","message":"the workflow that `led` runs ended as failure"}"#]],
    );
    assert!(world.history(&run).contains("`failed` in `0`"), "{}", world.history(&run));
    assert!(
        !world.history(&run).contains("ended at `failed`: failure in `1`"),
        "nothing follows in what is called off"
    );
}

#[test]
fn an_agent_is_told_what_it_was_given_and_nothing_that_is_hidden() {
    let world = World::with("small", "start -> sub; sub: runs inner; sub -passed-> done; sub -failed-> failed");
    world.define(
        "inner",
        "start -> fork; fork -> a, b; a -> join; b -> join; join -passed-> done; join -failed-> ask
        ask -passed-> fork",
    );
    let args =
        r#"args: {of: {expr: $item}, token: {expr: '"hunter2-" & $item'}, note: {expr: '"x" & "hunter2-" & $item'}}"#;
    let each = format!("type: forEach, items: {{expr: $.entry.xs}}, workflow: small, {args}");
    let text = graph(&each).replace("tools:", "redact: [token]\ntools:");
    let definition = definition(&world, &text);
    let (input, how) = (json!({"xs": [7]}), How::with(tools()));
    let call = FunctionCall { definition, input, by: Actor::Engine, how, kept: true };
    let run = Address::Stored(wait(world.service().call_function(call)).expect("it waits").run.expect("it is kept"));
    let view = wait(world.service().current(&run, Some("0/sub/a"), &agent())).expect("it is there");
    expect![[r###"
        ## a

        Given: {"of":7,"token":"[redacted]","note":"x[redacted]"}

        → Call Next(passed|failed) when complete."###]]
    .assert_eq(&instructions(&view));
    world.next_in(&run, "0/sub/a", "passed").expect("it is done");
    // A node without a `failed` edge is tried again three times and then waits for a person.
    for _ in 0..4 {
        world.next_in(&run, "0/sub/b", "failed").expect("it is tried again");
    }
    let view = wait(world.service().current(&run, Some("0/sub/b"), &agent())).expect("it is there");
    expect![[r###"
        ## HITL

        Given: {"of":7,"token":"[redacted]","note":"x[redacted]"}

        `b` failed and its retries are spent.

        A person must decide. Stop, show them this, and relay their answer.
        → Call Next(passed|failed|cancelled) with what the person says."###]]
    .assert_eq(&instructions(&view));
}

#[test]
fn where_items_are_led_at_once_the_agent_is_told_to_name_one() {
    let world = World::with("small", "start -> work; work -> done");
    let (run, _) = call(&world, "type: forEach, items: {expr: $.entry.xs}, workflow: small, concurrency: 2");
    expect![[r#"
        ## led

        → Work on the items in progress, in parallel if you can; call Next(passed|failed) with the `branch` of each when it is complete."#]].assert_eq(&instructions(&world.current(&run).expect("it is there")));
    let branches = world.current(&run).expect("it is there").situation.position.branches;
    let branches: Vec<(&str, &str)> = branches.iter().map(|it| (it.branch.as_str(), it.state.as_str())).collect();
    assert_eq!(branches, [("0", "working"), ("1", "working")]);
}

#[test]
fn an_item_that_fails_fails_the_node_and_calls_the_others_off() {
    let world = World::with("small", SMALL);
    let each = "type: forEach, items: {expr: $.entry.xs}, workflow: small, concurrency: 3";
    let (run, _) = call(&world, each);
    expect![[r#"
        led (failure) ended
    "#]]
    .assert_eq(&answer_text(&world.next_in(&run, "1", "failed")));
    ended(
        &world,
        &run,
        expect![[r#"{"node":"led/1/failed","message":"the workflow that `led` runs ended as failure"}"#]],
    );
    let (run, _) = call(&world, &format!("{each}, onError: result"));
    world.next_in(&run, "0", "passed").expect("it is done");
    expect![[r#"
        exit (success) ended
    "#]]
    .assert_eq(&answer_text(&world.next_in(&run, "1", "failed")));
    ended(
        &world,
        &run,
        expect![[
            r#"{"came":{"error":{"node":"led/1/failed","code":"workflow-failed","message":"the workflow that `led` runs ended as failure"}},"count":1}"#
        ]],
    );
}

/// A file of two functions, of which the other one comes first; `second` calls it.
const TWO: &str = r#"{"version": "1.0", "server": {"name": "t", "version": "1"}, "tools": [
  {"name": "first", "description": "d", "inputSchema": {"type": "object"}, "outputSchema": {}, "nodes": [
    {"id": "entry", "type": "entry", "next": "say"},
    {"id": "say", "type": "transform", "transform": {"expr": "\"the first\""}, "next": "exit"},
    {"id": "exit", "type": "exit"}]},
  {"name": "second", "description": "d", "inputSchema": {"type": "object"}, "outputSchema": {}, "nodes": [
    {"id": "entry", "type": "entry", "next": "ask"},
    {"id": "ask", "type": "call", "tool": "first", "next": "say"},
    {"id": "say", "type": "transform", "transform": {"expr": "\"the second, after \" & $.ask"}, "next": "exit"},
    {"id": "exit", "type": "exit"}]}]}"#;

#[test]
fn a_function_of_several_in_a_file_is_the_one_that_is_named() {
    let world = World::new();
    world.write(".flow/workflows/second.json", TWO);
    let (run, _) = call(&world, "type: call, workflow: second");
    ended(&world, &run, expect![[r#"{"came":"the second, after the first","count":1}"#]]);
}

#[test]
fn an_agents_workflow_runs_the_function_that_it_names() {
    let world =
        World::with("led", "start -> get; get: runs second; get -passed-> work; get -failed-> failed; work -> done");
    world.write(".flow/workflows/second.json", TWO);
    let run = world.open("led");
    world.start(&run).expect("it starts");
    let history = world.history(&run);
    assert!(history.contains("executed `ask`, now at `say` in `get`"), "{history}");
    let (service, listed) = (world.service(), "second");
    let library = service.library();
    let one = library.definition(listed).expect("it is sound");
    assert_eq!(one.workflow.root().steps.len(), 4, "not the first of the file");
    assert!(Arc::ptr_eq(&one, &library.definition(listed).expect("it is sound")), "it is not read again for nothing");
    let line = library.list().into_iter().find(|line| line.id == listed).expect("it is listed");
    assert_eq!((line.name.as_str(), line.steps), ("second", 4));
    assert!(library.review(listed).expect("it is there").faults.is_empty());
}

#[test]
fn functions_of_one_name_in_two_files_are_not_mistaken_for_each_other() {
    let world = World::new();
    let third = TWO.replace("second", "third").replace("the first", "another first");
    let calls =
        |workflow: &str| format!(r#"    {{"id": "say", "type": "call", "workflow": "{workflow}", "next": "exit"}},"#);
    let say = r#"    {"id": "say", "type": "transform", "transform": {"expr": "\"the second, after \" & $.ask"}, "next": "exit"},"#;
    world.write(".flow/workflows/second.json", TWO.replace(say, &calls("third")));
    world.write(".flow/workflows/third.json", &third);
    let error = world.service().library().definition("second").map(drop).expect_err("`first` is both");
    let shown = error.to_string().replace(&world.project().display().to_string(), "project");
    expect!["`project/.flow/workflows/second.json` and `project/.flow/workflows/third.json` both define the tool `first`; rename one of them"].assert_eq(&shown);
    let own = graph("type: call, workflow: third").replace("name: outer", "name: first");
    world.write("graph.yaml", own);
    let opened = world.service().library().functions(FunctionFiles::unserved(&[world.path("graph.yaml")]));
    let Err(faulty) = opened else { panic!("`first` is both") };
    let told: Vec<&str> = faulty.findings.iter().map(|(_, fault)| fault.message.as_str()).collect();
    let told = told.join("\n").replace(&world.project().display().to_string(), "project");
    expect![[r#"
        `project/graph.yaml` and `project/.flow/workflows/third.json` both define the tool `first`
        `led` runs a workflow that runs itself: `first` → `third` → `first`"#]]
    .assert_eq(&told);
}
