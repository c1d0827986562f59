//! Who reports a step is told of the checks while they run.

use serde_json::{Value, json};

use super::serving;
use crate::support::{Project, offered};

/// A workflow whose one step is checked by a command that prints.
fn checked() -> Project {
    let project = Project::new();
    let nodes = json!({
        "s": { "type": "start" },
        "t": { "type": "task", "accept": [{ "id": "prints", "run": ["git", "--version"] }] },
        "e": { "type": "end", "result": "success" },
    });
    project.workflow("checked", &nodes, &json!([{ "from": "s", "to": "t" }, { "from": "t", "to": "e" }]));
    project.run(&["trust", ".flow/workflows/checked.json"]);
    project
}

fn messages(told: &[Value]) -> Vec<&str> {
    let counts: Vec<f64> = told.iter().filter_map(|told| told["progress"].as_f64()).collect();
    assert!(counts.is_sorted_by(|one, next| one < next), "{counts:?}");
    told.iter().filter_map(|told| told["message"].as_str()).collect()
}

#[test]
fn checks_are_told_of_while_they_run() {
    let project = checked();
    let mut wire = serving(&project, &[]);
    let now = wire.done("start_workflow", &json!({ "workflow_id": "checked", "description": "a change" }));
    let action = &now["availableActions"]["required"][0];
    let mut arguments = action["arguments"].clone();
    for hole in action["fill"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        arguments[hole] = json!("done");
    }
    let (told, answer) = wire.watched(action["tool"].as_str().expect("a tool"), arguments);
    let said = messages(&told);
    assert_eq!(said[0], "checking: git --version");
    assert!(said[1].starts_with("git --version: git version "), "{said:?}");
    assert_eq!(answer["structuredContent"]["complete"], true, "{answer:#}");

    let mut wire = project.client(&[]);
    let opened = wire.done("Init", &json!({ "workflowType": "checked" }));
    let working = wire.take(&offered(&opened)[0]);
    let (told, answer) = wire.watched("Next", offered(&working)[0]["arguments"].clone());
    assert_eq!(messages(&told)[0], "checking: git --version");
    assert_eq!(answer["structuredContent"]["state"], "ended", "{answer:#}");
}
