//! Calls that come at the same time.

use serde_json::{Value, json};

use crate::support::{Project, Wire, offered};

#[test]
fn tasks_are_led_side_by_side() {
    let project = Project::new();
    project.believe("execute");
    let mut wire = project.client(&[]);
    let tasks: Vec<Value> = (0..12).map(|nth| json!({ "taskFilePath": project.task(&format!("t{nth}")) })).collect();
    let mut asked = Vec::new();
    for task in &tasks {
        let mut init = task.clone();
        init["workflowType"] = json!("execute");
        asked.push((wire.ask_tool("Init", &init), "Init"));
    }
    for (id, tool) in asked {
        assert!(!wire.answer(id, tool).expect("an answer").is_error);
    }
    for tool in ["Start", "Next", "Next"] {
        let ids: Vec<u64> = tasks
            .iter()
            .map(|task| {
                let mut call = task.clone();
                if tool == "Next" {
                    call["result"] = json!("passed");
                }
                wire.ask_tool(tool, &call)
            })
            .collect();
        let steps: Vec<Value> =
            ids.into_iter().map(|id| wire.answer(id, tool).expect("an answer").value["currentStep"].clone()).collect();
        assert!(steps.iter().all(|step| *step == steps[0] && step.is_string()), "{tool}: {steps:?}");
    }
}

/// How many of the same call, made at once through these clients, were accepted; all others must be stale.
fn winners(wires: &mut [Wire], arguments: &Value) -> usize {
    let ids: Vec<Vec<u64>> =
        wires.iter_mut().map(|wire| (0..6).map(|_| wire.ask_tool("Next", arguments)).collect()).collect();
    let mut accepted = 0;
    for (wire, ids) in wires.iter_mut().zip(ids) {
        for id in ids {
            let answer = wire.answer(id, "Next").expect("an answer");
            if answer.is_error {
                assert_eq!(answer.code(), "stale", "{:#}", answer.value);
                assert!(answer.value["situation"]["position"]["revision"].is_u64());
            } else {
                accepted += 1;
            }
        }
    }
    accepted
}

#[test]
fn of_the_same_move_made_at_once_exactly_one_wins() {
    let project = Project::new();
    project.believe("feature-development");
    let mut wires = [project.client(&[]), project.client(&[])];
    for init in [
        json!({ "workflowType": "feature-development" }),
        json!({ "workflowType": "feature-development", "taskFilePath": project.task("1") }),
    ] {
        let opened = wires[0].done("Init", &init);
        let mut now = wires[0].take(&offered(&opened)[0]);
        for _ in 0..3 {
            let action = offered(&now)[0].clone();
            assert_eq!(winners(&mut wires, &action["arguments"]), 1, "{action}");
            let mut address = action["arguments"].clone();
            let named = address.as_object_mut().expect("arguments");
            named.retain(|name, _| name == "run" || name == "taskFilePath");
            let then = wires[1].done("Current", &address);
            assert_ne!(then["currentStep"], now["currentStep"], "one move was made, not none");
            now = then;
        }
    }
}
