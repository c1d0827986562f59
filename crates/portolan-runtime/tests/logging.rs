//! What an embedder with a `tracing` subscriber sees of runs: each of its events, and no value of any run.

#![cfg(unix)]

mod common;
#[path = "common/seen.rs"]
mod seen;

use std::sync::Arc;

use common::calls::{Calls, FunctionCall, Move};
use common::{World, refusal, step, wait};
use expect_test::expect;
use portolan_core::run::Actor;
use portolan_runtime::drive::{Control, Phase};
use portolan_runtime::graphs::Graphs;
use portolan_runtime::servers::PoolOptions;
use portolan_runtime::service::{How, InterruptionPolicy, Open};
use portolan_runtime::tools::Tools;
use seen::Seen;
use serde_json::json;

/// What no event may hold: it is in inputs, outputs, notes and what commands print.
const SECRET: &str = "xyzzy";

#[test]
fn a_run_that_an_agent_is_led_through() {
    let world = World::with(
        "checked",
        &format!(
            r#"start -> fix; fix -> done
            fix: accept [{{"id": "fixed", "run": ["sh", "-c", "echo {SECRET}; test -e fixed"]}}]"#
        ),
    );
    world.trust("checked");
    let seen = Seen::during(|| {
        let init = Open { workflow: Some("checked".into()), description: Some(SECRET.into()), ..Open::default() };
        let opened = world.init(&init).expect("it begins");
        let at_work = world.start(&opened.address).expect("it starts");
        let claim = Move { note: Some(SECRET.into()), ..step(&at_work, "passed") };
        let broken = world.report(&claim).expect("it is checked");
        assert_eq!(refusal(world.report(&claim)).code, "stale");
        world.write("fixed", SECRET);
        world.report(&Move { note: None, ..step(&broken, "passed") }).expect("it holds");
    });
    assert!(!seen.contains(SECRET), "{seen}");
    expect![[r#"
        INFO run opened run=… workflow=checked event=opened
        DEBUG event decided run=… seq=2 event=begun changes=1
        DEBUG event decided run=… seq=3 event=reported changes=1
        DEBUG effect performed kind=check node=fix frame= took_ms=… result=broken in run=… workflow=checked
        DEBUG event decided run=… seq=4 event=settled changes=3 in run=… workflow=checked
        INFO call refused run=… code=stale
        DEBUG event decided run=… seq=5 event=reported changes=1
        DEBUG effect performed kind=check node=fix frame= took_ms=… result=held in run=… workflow=checked
        DEBUG event decided run=… seq=6 event=settled changes=3 in run=… workflow=checked
        DEBUG event decided run=… seq=7 event=settled changes=1
        INFO run ended run=… workflow=checked outcome=success took_ms=… model_calls=0 tool_calls=0
    "#]]
    .assert_eq(&seen);
}

const GRAPH: &str = r#"
version: "1.0"
server: {name: t, version: "1"}
mcpServers:
  echo: {builtin: echo}
tools:
  - name: twice
    description: calls twice
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: first}
      - {id: first, type: mcp, server: echo, tool: echo, args: {v: {expr: $.entry.v}}, next: second}
      - {id: second, type: mcp, server: echo, tool: nothing, args: {v: {expr: $.first.v}}, next: exit}
      - {id: exit, type: exit}
"#;

#[test]
fn a_function_and_its_servers() {
    let world = World::new();
    let service = world.service();
    let file = world.path("graph.yaml");
    std::fs::write(&file, GRAPH).expect("there is room");
    let opened = Graphs::open(vec![file], None, service.library(), PoolOptions::default());
    let graphs = opened.unwrap_or_else(|error| panic!("{:#?}", error));
    let loaded = graphs.current(service.library());
    let definition = loaded.functions.called(Some("twice")).expect("it is there").clone();
    let control = Control::new(true, []);
    let tools = Arc::new(Tools::of(loaded.servers.clone()));
    let how = How { control: Some(control.clone()), ..How::with(tools) };
    let call = FunctionCall { definition, input: json!({ "v": SECRET }), by: Actor::Engine, how, kept: true };
    let seen = Seen::during(|| {
        wait(async {
            let meanwhile = async {
                assert_eq!(control.paused().await, Phase::Paused);
                let run = service.live()[0].run.clone();
                let refused = service.resume_function(&run, InterruptionPolicy::Ask, How::default()).await;
                assert_eq!(refused.expect_err("it is driven").code, "under_way");
                control.resume().expect("it is paused");
            };
            let (finished, ()) = tokio::join!(service.call_function(call), meanwhile);
            finished.expect("it is driven");
        });
    });
    assert!(!seen.contains(SECRET), "{seen}");
    expect![[r#"
        INFO run opened run=… workflow=twice event=opened
        DEBUG lease taken run=…
        INFO call refused run=… code=under_way
        DEBUG event decided run=… seq=2 event=settled changes=2 in run=… workflow=twice
        DEBUG event decided run=… seq=3 event=settled changes=1 in run=… workflow=twice
        INFO server started server=echo took_ms=…
        DEBUG request answered server=echo method=tools/call tool=echo took_ms=… in run=… workflow=twice
        DEBUG effect performed kind=call node=first frame= took_ms=… result=output in run=… workflow=twice
        DEBUG event decided run=… seq=4 event=settled changes=2 in run=… workflow=twice
        DEBUG event decided run=… seq=5 event=settled changes=1 in run=… workflow=twice
        DEBUG request answered server=echo method=tools/call tool=nothing took_ms=… code=protocol-error in run=… workflow=twice
        DEBUG effect performed kind=call node=second frame= took_ms=… result=protocol-error in run=… workflow=twice
        DEBUG event decided run=… seq=6 event=settled changes=3 in run=… workflow=twice
        INFO run ended run=… workflow=twice outcome=protocol-error took_ms=… model_calls=0 tool_calls=2
    "#]]
    .assert_eq(&seen);
}
