//! The tools of the gates: a task is led through its phases by a client.

use serde_json::{Value, json};

use crate::support::{Project, Wire};

const SMALL: &str = "
id: small
iterationCap: 1
fields:
  branch: { type: string, until: begin }
phases:
  - { id: idle }
  - { id: begin, accept: [{ id: ready, file: ready, invariant: X-1 }] }
  - { id: work }
  - { id: test, back: work }
";

fn project() -> Project {
    let project = Project::new();
    project.write(".flow/workflows/small.yaml", SMALL);
    project
}

fn begun(project: &Project) -> Wire {
    let mut wire = project.client(&["--toolset", "gates"]);
    let state = wire.done("flow_start", &json!({ "task": "build-auth", "workflow_id": "small" }));
    assert_eq!(state["state"]["phase"], "idle", "{state:#}");
    wire
}

fn tick(wire: &mut Wire) -> Value {
    wire.done("flow_tick", &json!({}))["tick"].clone()
}

#[test]
fn a_task_is_led_through_its_phases() {
    let project = project();
    let mut wire = begun(&project);
    assert_eq!(tick(&mut wire)["to"], "begin");
    let stays = tick(&mut wire);
    assert_eq!((&stays["advanced"], &stays["failing"][0]["id"]), (&json!(false), &json!("ready")), "{stays:#}");
    let state = wire.done("flow_claim", &json!({ "values": { "branch": "feat/x" } }));
    assert_eq!((&state["state"]["branch"], &state["state"]["lastError"]), (&json!("feat/x"), &stays["reason"]));
    project.write("ready", "yes");
    assert_eq!(tick(&mut wire)["to"], "work");
    assert_eq!(tick(&mut wire)["to"], "test");
    let back = wire.done("flow_back", &json!({ "reason": "the tests fail" }));
    assert_eq!(back["tick"]["to"], "work", "{back:#}");
    assert_eq!(tick(&mut wire)["to"], "test");
    let done = tick(&mut wire);
    assert_eq!((&done["advanced"], &done["to"]), (&json!(true), &json!("idle")));
    assert_eq!(tick(&mut wire)["reason"], "No active task.");
}

#[test]
fn what_may_not_be_is_refused_with_a_code() {
    let project = project();
    let mut wire = begun(&project);
    for (tool, arguments, code) in [
        ("flow_start", json!({ "task": "other" }), "task_under_way"),
        ("flow_start", json!({}), "invalid_arguments"),
        ("flow_claim", json!({ "values": { "phase": "test" } }), "out_of_phase"),
        ("flow_claim", json!({ "values": { "nothing": 1 } }), "bad_outputs"),
        ("flow_claim", json!({ "values": 7 }), "invalid_arguments"),
        ("flow_back", json!({ "reason": "no" }), "no_way_back"),
        ("flow_override", json!({ "invariant": "*", "reason": "all" }), "bad_bypass"),
        ("flow_override", json!({ "invariant": "I-13", "reason": "quietly" }), "bad_bypass"),
        ("flow_override", json!({ "invariant": "X-1", "reason": " " }), "bad_input"),
        ("flow_abort", json!({ "outcome": "bored", "reason": "no" }), "invalid_arguments"),
        ("flow_tock", json!({}), "unknown_tool"),
    ] {
        let answer = wire.call(tool, &arguments);
        assert_eq!(answer.value["error"]["code"], code, "{tool} {arguments}: {:#}", answer.value);
        assert!(answer.is_error, "{tool} {arguments}");
    }
}

#[test]
fn a_rule_is_got_past_by_name_and_the_log_has_it() {
    let project = project();
    let mut wire = begun(&project);
    tick(&mut wire);
    let state = wire.done("flow_override", &json!({ "invariant": "X-1", "reason": "a spike" }));
    assert_eq!(state["state"]["bypasses"][0]["invariant"], "X-1", "{state:#}");
    assert_eq!(tick(&mut wire)["to"], "work");
    let events = project.run(&["flow", "events", "--type", "flow.bypass"]);
    let stages: Vec<&Value> =
        events["events"].as_array().into_iter().flatten().map(|event| &event["data"]["stage"]).collect();
    assert_eq!(stages, [&json!("recorded"), &json!("applied")], "{events:#}");
}
