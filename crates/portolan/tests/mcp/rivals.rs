//! Calls that come at the same time.

use std::process::Command;

use serde_json::{Value, json};

use crate::pair::{Pair, SCRIPT};
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

/// A repository with a check of the project, and a workflow whose one step ends with it.
fn checked() -> (Project, Pair) {
    let project = Project::new();
    let nodes = json!({
        "s": { "type": "start" },
        "t": { "type": "task", "accept": [{ "check": "tests" }] },
        "e": { "type": "end", "result": "success" },
    });
    project.workflow("checked", &nodes, &json!([{ "from": "s", "to": "t" }, { "from": "t", "to": "e" }]));
    project.write("check.sh", SCRIPT);
    project.write(".portolan/checks.yaml", "checks:\n  tests: {run: [sh, check.sh]}\n");
    let git = Command::new("git").args(["init", "-q"]).current_dir(project.path()).status();
    assert!(git.expect("git is there").success());
    project.run(&["trust", ".portolan/checks.yaml"]);
    let pair = Pair::beside(&project.path());
    (project, pair)
}

#[test]
fn two_servers_perform_the_same_check_of_the_project_at_once() {
    for (in_tasks, lines) in
        [(false, ["exit 0", "exit 0"]), (true, ["exit 0", "exit 0"]), (false, ["exit 1", "exit 0"])]
    {
        let (project, pair) = checked();
        let mut wires = [project.client(&[]), project.client(&[])];
        let mut init = json!({ "workflowType": "checked" });
        let mut asked = Vec::new();
        for (nth, wire) in wires.iter_mut().enumerate() {
            if in_tasks {
                init["taskFilePath"] = json!(project.task(&nth.to_string()));
            }
            let opened = wire.done("Init", &init);
            let working = wire.take(&offered(&opened)[0]);
            let action = offered(&working)[0].clone();
            asked.push(wire.ask_tool("Next", &action["arguments"]));
            pair.begun(nth + 1);
        }
        pair.go(2, lines[1]);
        let second = wires[1].answer(asked[1], "Next").expect("an answer");
        pair.go(1, lines[0]);
        let first = wires[0].answer(asked[0], "Next").expect("an answer");
        for (answer, line) in [(first, lines[0]), (second, lines[1])] {
            assert_eq!(answer.value["terminal"] == "success", line == "exit 0", "{line}: {:#}", answer.value);
        }
        assert_eq!(pair.ran(), 2);
    }
}
