//! A question is answered at the shell.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::json;

use crate::stage::{Death, Said, Stage, counted, killed};
use crate::wire::Wire;

const ASKS: &str = r#"{ "id": "asks", "name": "asks",
  "nodes": { "s": { "type": "start" }, "work": { "type": "task" }, "verify": { "type": "gate", "maxRetries": 0 },
    "stuck": { "type": "end", "result": "blocked", "escalation": "hitl", "description": "What now?" },
    "e": { "type": "end", "result": "success" } },
  "edges": [{ "from": "s", "to": "work" }, { "from": "work", "to": "verify" },
    { "from": "verify", "to": "e", "on": "passed" }, { "from": "verify", "to": "work", "on": "failed" },
    { "from": "verify", "to": "stuck", "on": "failed" }, { "from": "stuck", "to": "work", "on": "passed" }] }"#;

/// A run that waits for a person; its handle.
fn asked(stage: &Stage) -> String {
    stage.put(".flow/workflows/asks.json", ASKS);
    let mut wire = Wire::to(stage, &[], Death::Never);
    let now = wire.done("Init", &json!({ "workflowType": "asks" }));
    let run = now["run"].as_str().expect("a handle").to_owned();
    let now = wire.go(&now);
    let mut now = wire.go(&now);
    for _ in 0..4 {
        if now["currentStep"] == "stuck" {
            return run;
        }
        let report = json!({ "run": run, "result": "failed", "revision": now["position"]["revision"] });
        let next = wire.done("Next", &report);
        now = if next["currentStep"] == "work" { wire.go(&next) } else { next };
    }
    panic!("it does not ask: {now:#}")
}

#[test]
fn answer() {
    let run: Rc<RefCell<String>> = Rc::default();
    let (prepared, answered) = (run.clone(), run.clone());
    let act = move |stage: &Stage, death| {
        let mut command = stage.command(&["runs", "answer", &answered.borrow(), "passed"], death);
        counted(&mut command);
        command.output().expect("it starts");
    };
    killed(
        "runs answer",
        move |stage| *prepared.borrow_mut() = asked(stage),
        act,
        |stage| {
            let run = run.borrow().clone();
            let place = |stage: &Stage| {
                Wire::to(stage, &[], Death::Never).done("Current", &json!({ "run": run }))["currentStep"].clone()
            };
            let before = place(stage);
            assert!(before == "stuck" || before == "work", "{before}");
            let said: Said = stage.says(&format!("runs answer {run} passed"));
            if before == "stuck" {
                assert!(said.is_done(), "{said:?}");
            } else {
                assert!(said.exit == Some(2) && said.err.contains("help: "), "{said:?}");
            }
            assert_eq!(place(stage), "work");
            stage.is_sound();
            if before == "stuck" { "asks" } else { "answered" }.to_owned()
        },
    );
}
