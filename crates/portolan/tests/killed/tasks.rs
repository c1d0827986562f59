//! Runs that agents are led through: in task files and in the store.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::stage::{Death, Stage, killed};
use crate::wire::{Wire, offered};

/// Three steps, the second of which is held to a rule.
const STEPS: &str = r#"{ "id": "steps", "name": "steps",
  "nodes": { "s": { "type": "start" }, "a": { "type": "task" },
    "b": { "type": "task", "accept": [{ "id": "ready", "file": "ready", "invariant": "X-1" }] },
    "e": { "type": "end", "result": "success" } },
  "edges": [{ "from": "s", "to": "a" }, { "from": "a", "to": "b" }, { "from": "b", "to": "e" }] }"#;

fn project(stage: &Stage) {
    stage.put(".flow/workflows/steps.json", STEPS);
    stage.put("ready", "there");
}

/// What was acknowledged last before the server died.
type Told = Rc<RefCell<Option<Value>>>;

fn step(situation: &Value) -> usize {
    match situation["currentStep"].as_str() {
        Some("s") => 0,
        Some("a") => 1,
        Some("b") => 2,
        Some("e") => 3,
        _ => panic!("{situation:#}"),
    }
}

/// Leads a run to its end, and looks at its journal: each record once, each step reported once.
fn led_to_its_end(stage: &Stage, address: &Value, run: &str) {
    let mut wire = Wire::to(stage, &[], Death::Never);
    let mut now = wire.done("Current", address);
    for _ in 0..5 {
        if now["state"] == "ended" {
            break;
        }
        now = wire.go(&now);
    }
    assert_eq!(now["terminal"], "success", "{now:#}");
    drop(wire);
    let told = stage.does(&format!("runs events {run} --format json")).json();
    let records = told["records"].as_array().expect("records");
    for (record, seq) in records.iter().zip(1..) {
        assert_eq!(record["seq"], seq, "{told:#}");
    }
    let reports = records.iter().filter(|record| record["event"]["what"].get("reported").is_some());
    assert_eq!(reports.count(), 2, "{told:#}");
}

#[test]
fn init_of_a_task_file() {
    let told: Told = Rc::default();
    let says = told.clone();
    let act = move |stage: &Stage, death| {
        let init = json!({ "workflowType": "steps", "taskFilePath": stage.task() });
        *says.borrow_mut() = Wire::to(stage, &[], death).call("Init", &init);
    };
    killed("Init of a task file", project, act, |stage| {
        let address = json!({ "taskFilePath": stage.task() });
        let there = std::path::Path::new(&stage.task()).exists();
        assert!(there || told.borrow().is_none(), "what was acknowledged is there");
        let init = json!({ "workflowType": "steps", "taskFilePath": stage.task() });
        assert_eq!(step(&Wire::to(stage, &[], Death::Never).done("Init", &init)), 0);
        led_to_its_end(stage, &address, &stage.task());
        if there { "the task" } else { "no task" }.to_owned()
    });
}

#[test]
fn init_in_the_store() {
    let told: Told = Rc::default();
    let says = told.clone();
    let act = move |stage: &Stage, death| {
        *says.borrow_mut() = Wire::to(stage, &[], death).call("Init", &json!({ "workflowType": "steps" }));
    };
    killed("Init in the store", project, act, |stage| {
        let kept = stage.does("runs list --all").out.lines().filter(|line| line.contains("steps")).count();
        if let Some(told) = &*told.borrow() {
            led_to_its_end(stage, &json!({ "run": told["run"] }), told["run"].as_str().expect("a handle"));
        }
        let again = Wire::to(stage, &[], Death::Never).done("Init", &json!({ "workflowType": "steps" }));
        led_to_its_end(stage, &json!({ "run": again["run"] }), again["run"].as_str().expect("a handle"));
        stage.is_sound();
        if kept == 0 { "no run" } else { "a run" }.to_owned()
    });
}

/// The address of a run at a step, prepared before the deaths.
fn at(stage: &Stage, in_a_file: bool, step: usize) -> Value {
    project(stage);
    let mut wire = Wire::to(stage, &[], Death::Never);
    let (path, mut init) = (stage.task(), json!({ "workflowType": "steps" }));
    if in_a_file {
        init["taskFilePath"] = json!(path);
    }
    let mut now = wire.done("Init", &init);
    let address = if in_a_file { json!({ "taskFilePath": path }) } else { json!({ "run": now["run"] }) };
    for _ in 0..step {
        now = wire.go(&now);
    }
    address
}

/// `Start` and each `Next`: the run is where it was or one step on, and goes on from there.
fn moves(in_a_file: bool, step_before: usize) {
    let (told, address): (Told, Rc<RefCell<Value>>) = Default::default();
    let (says, of) = (told.clone(), address.clone());
    let act = move |stage: &Stage, death| {
        // The situation is looked at by another server, so that the one that dies does nothing else.
        let now = Wire::to(stage, &[], Death::Never).done("Current", &of.borrow());
        let action = offered(&now);
        let tool = action["tool"].as_str().expect("a tool").to_owned();
        *says.borrow_mut() = Wire::to(stage, &[], death).call(&tool, &action["arguments"]);
    };
    let place = if in_a_file { "a task file" } else { "the store" };
    let tool = if step_before == 0 { "Start".to_owned() } else { format!("Next {step_before}") };
    let prepared = address.clone();
    let prepare = move |stage: &Stage| *prepared.borrow_mut() = at(stage, in_a_file, step_before);
    killed(&format!("{tool} in {place}"), prepare, act, |stage| {
        let address = address.borrow().clone();
        let now = step(&Wire::to(stage, &[], Death::Never).done("Current", &address));
        assert!(now == step_before || now == step_before + 1, "{now}");
        if let Some(told) = &*told.borrow() {
            assert_eq!(step(told), now, "what was acknowledged has happened");
        }
        let run = address["run"].as_str().map_or_else(|| stage.task(), str::to_owned);
        led_to_its_end(stage, &address, &run);
        stage.is_sound();
        if !in_a_file {
            let passed = stage.log().iter().filter(|line| line.starts_with("flow.acceptance.passed")).count();
            assert_eq!(passed, 1, "{:#?}", stage.log());
        }
        if now == step_before { "before" } else { "after" }.to_owned()
    });
}

#[test]
fn moves_in_a_task_file() {
    (0..3).for_each(|step| moves(true, step));
}

#[test]
fn moves_in_the_store() {
    (0..3).for_each(|step| moves(false, step));
}
