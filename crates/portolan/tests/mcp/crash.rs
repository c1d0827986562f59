//! The server is killed at moments that nobody chose. What it acknowledged has happened, and nothing is half done.

use serde_json::{Value, json};

use crate::support::{Chance, Project, Wire, offered};

const STEPS: usize = 60;

/// A workflow of many steps in a row.
fn long(project: &Project) {
    let mut nodes = json!({ "s": { "type": "start" }, "e": { "type": "end", "result": "success" } });
    let mut edges = vec![json!({ "from": "s", "to": "t0" })];
    for nth in 0..STEPS {
        nodes[format!("t{nth}")] = json!({ "type": "task" });
        let to = if nth + 1 == STEPS { "e".to_owned() } else { format!("t{}", nth + 1) };
        edges.push(json!({ "from": format!("t{nth}"), "to": to }));
    }
    project.workflow("long", &nodes, &json!(edges));
}

/// Makes moves until the server dies in the midst of one; returns the last situation that was acknowledged.
fn until_it_dies(wire: &mut Wire, mut now: Value, chance: &mut Chance) -> Value {
    for _ in 0..chance.below(5) {
        if now["state"] == "ended" {
            break;
        }
        now = wire.take(&offered(&now)[0]);
    }
    if now["state"] != "ended" {
        let id = wire.ask_tool("Next", &offered(&now)[0]["arguments"]);
        for _ in 0..chance.below(60_000) {
            std::hint::spin_loop();
        }
        wire.kill();
        if let Some(answer) = wire.answer(id, "Next") {
            return answer.value;
        }
    }
    now
}

fn survives(init: &Value, seed: u64) {
    let project = Project::new();
    long(&project);
    let mut chance = Chance::of(seed);
    let mut wire = project.client(&[]);
    let opened = wire.done("Init", init);
    let (run, address) = match &init["taskFilePath"] {
        Value::String(path) => (path.clone(), json!({ "taskFilePath": path })),
        _ => (opened["run"].as_str().expect("a handle").to_owned(), json!({ "run": opened["run"] })),
    };
    let mut known = wire.take(&offered(&opened)[0]);
    let mut deaths = 0;
    while known["state"] != "ended" {
        known = until_it_dies(&mut wire, known, &mut chance);
        deaths += 1;
        wire = project.client(&[]);
        let found = wire.done("Current", &address);
        let steps = place(&found) - place(&known);
        assert!(steps == 0 || steps == 1, "acknowledged {known:#}, found {found:#}");
        known = found;
    }
    assert!(deaths > 8, "{deaths}");
    assert_eq!(known["terminal"], "success");
    is_told_once(&project.records(&run));
}

fn place(situation: &Value) -> i64 {
    match situation["currentStep"].as_str() {
        Some("e") => STEPS as i64,
        Some(step) => step.trim_start_matches('t').parse().expect("a step of the row"),
        None => panic!("no step in {situation:#}"),
    }
}

/// The journal has every move once and in order.
fn is_told_once(records: &[Value]) {
    for (nth, record) in records.iter().enumerate() {
        assert_eq!(record["seq"], nth + 1, "{record}");
    }
    let reports = records.iter().filter(|record| record["event"]["what"].get("reported").is_some());
    assert_eq!(reports.count(), STEPS);
}

#[test]
fn a_stored_run_survives_the_server() {
    survives(&json!({ "workflowType": "long" }), 11);
}

#[test]
fn a_task_file_survives_the_server() {
    let tasks = Project::new();
    survives(&json!({ "workflowType": "long", "taskFilePath": tasks.task("1") }), 12);
}
