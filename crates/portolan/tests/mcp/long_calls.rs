//! Calls that take long: a client that takes tasks gets one, and asks for the result later, even of another server.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Fifo, Project, Wire, offered, within};

/// A run whose check waits for us.
struct Slow {
    project: Project,
    alive: Fifo,
    gate: Fifo,
}

impl Slow {
    fn set() -> Slow {
        let project = Project::new();
        let command = json!(["sh", "-c", "echo halfway; exec cat gate > alive"]);
        let nodes = json!({
            "s": { "type": "start" },
            "t": { "type": "task", "accept": [{ "id": "waits", "run": command }] },
            "e": { "type": "end", "result": "success" },
        });
        project.workflow("slow", &nodes, &json!([{ "from": "s", "to": "t" }, { "from": "t", "to": "e" }]));
        project.run(&["trust", ".flow/workflows/slow.json"]);
        let (alive, gate) = (Fifo::at(&project.path().join("alive")), Fifo::at(&project.path().join("gate")));
        Slow { project, alive, gate }
    }

    fn client(&self, toolset: &str) -> Wire {
        let mut wire = self.project.server(&["--toolset", toolset]);
        wire.without_session(&json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
        wire
    }

    /// Reports the step as done, and waits for its check to begin. The file ends when the check does.
    fn report(&self, wire: &mut Wire) -> (Value, u64, File) {
        let opened = wire.done("Init", &json!({ "workflowType": "slow" }));
        let working = wire.take(&offered(&opened)[0]);
        let action = offered(&working)[0].clone();
        let id = wire.ask_tool("Next", &action["arguments"]);
        (opened["run"].clone(), id, self.alive.opened())
    }

    /// The same, as a task.
    fn task(&self, wire: &mut Wire) -> (Value, Value, File) {
        let (run, id, alive) = self.report(wire);
        let task = wire.response(id).expect("an answer")["result"].clone();
        assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task:#}");
        assert_eq!((&task["ttlMs"], &task["pollIntervalMs"]), (&json!(3_600_000), &json!(2_000)));
        (run, task["taskId"].clone(), alive)
    }
}

fn get(wire: &mut Wire, task: &Value) -> Value {
    wire.request("tasks/get", json!({ "taskId": task }))
}

/// Asks until a task is over.
fn over(wire: &mut Wire, task: &Value) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let state = get(wire, task)["result"].clone();
        assert_eq!(state["resultType"], "complete", "{state:#}");
        if state["status"] != "working" {
            return state;
        }
        assert!(Instant::now() < until, "it does not end: {state:#}");
    }
}

fn has_ended(mut alive: File) {
    within("the check ends", move || alive.read_to_end(&mut Vec::new()).expect("a pipe"));
}

#[test]
fn a_long_call_becomes_a_task_with_the_result_of_the_call() {
    let slow = Slow::set();
    let mut wire = slow.client("tasks");
    let (run, task, alive) = slow.task(&mut wire);
    let status = get(&mut wire, &task)["result"]["statusMessage"].clone();
    assert!(status.as_str().is_some_and(|line| line.ends_with(": halfway")), "{status}");
    assert_eq!(wire.done("Current", &json!({ "run": run }))["state"], "checking", "others see the run meanwhile");
    slow.gate.release();
    let state = over(&mut wire, &task);
    assert_eq!(state["status"], "completed", "{state:#}");
    let answer = wire.read("Next", &state);
    assert_eq!((answer.is_error, &answer.value["terminal"]), (false, &json!("success")), "{state:#}");
    has_ended(alive);
    // It is still known, and calling it off changes nothing.
    assert_eq!(wire.request("tasks/cancel", json!({ "taskId": task }))["result"]["resultType"], "complete");
    assert_eq!(get(&mut wire, &task)["result"], state);
    // No progress was told, which tasks have none of.
    assert_eq!(wire.next_without_waiting(), None);
}

#[test]
fn progress_ends_when_a_call_becomes_a_task() {
    let slow = Slow::set();
    let mut wire = slow.client("tasks");
    let opened = wire.done("Init", &json!({ "workflowType": "slow" }));
    let working = wire.take(&offered(&opened)[0]);
    let (told, task) = wire.watched("Next", offered(&working)[0]["arguments"].clone());
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(task["resultType"], "task", "{task:#}");
    let _alive = slow.alive.opened();
    slow.gate.release();
    over(&mut wire, &task["taskId"]);
    assert_eq!(wire.next_without_waiting(), None);
}

#[test]
fn clients_that_take_no_tasks_wait_as_before() {
    let slow = Slow::set();
    let with_session = |wire: &mut Wire| {
        let answer = wire.shake_hands("2025-11-25", &json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
        assert_eq!(answer["capabilities"]["extensions"], Value::Null, "{answer:#}");
    };
    for begin in [with_session, |wire: &mut Wire| wire.without_session(&json!({}))] {
        let mut wire = slow.project.server(&[]);
        begin(&mut wire);
        let (_, id, alive) = slow.report(&mut wire);
        // A call that began later has become a task by now.
        let later = Slow::set();
        later.task(&mut later.client("tasks"));
        assert_eq!(wire.next_without_waiting(), None);
        slow.gate.release();
        assert_eq!(wire.answer(id, "Next").expect("an answer").value["terminal"], "success");
        has_ended(alive);
        let refused = wire.request("tasks/get", json!({ "taskId": "x" }));
        assert!([-32_601, -32_021].contains(&refused["error"]["code"].as_i64().unwrap_or_default()), "{refused}");
    }
}

#[test]
fn a_task_that_is_called_off_ends_its_check() {
    let slow = Slow::set();
    let mut wire = slow.client("tasks");
    let (run, task, alive) = slow.task(&mut wire);
    assert_eq!(wire.request("tasks/cancel", json!({ "taskId": task }))["result"]["resultType"], "complete");
    has_ended(alive);
    assert_eq!(get(&mut wire, &task)["result"]["status"], "cancelled");
    assert_eq!(wire.done("Current", &json!({ "run": run }))["state"], "checking", "its checks are still to be done");
}

#[test]
fn another_server_answers_for_a_task_whose_check_was_cut_off() {
    let slow = Slow::set();
    let mut wire = slow.client("tasks");
    let (_, task, alive) = slow.task(&mut wire);
    wire.kill();
    let mut next = slow.client("tasks");
    let state = get(&mut next, &task)["result"].clone();
    assert_eq!(state["status"], "completed", "{state:#}");
    let answer = next.read("Next", &state);
    assert_eq!(answer.code(), "interrupted", "{state:#}");
    // What the run waits for is offered, and done.
    let action = answer.value["situation"]["actions"]["required"][0].clone();
    slow.gate.release();
    has_ended(alive);
    let id = next.ask_tool("Next", &action["arguments"]);
    let alive = slow.alive.opened();
    slow.gate.release();
    assert_eq!(next.answer(id, "Next").expect("an answer").value["terminal"], "success");
    has_ended(alive);
    let state = get(&mut next, &task)["result"].clone();
    let answer = next.read("Next", &state);
    assert_eq!((answer.is_error, &answer.value["terminal"]), (false, &json!("success")), "{state:#}");
    assert!(answer.value["notes"][0].as_str().is_some_and(|note| note.contains("started again")), "{state:#}");
}

#[test]
fn a_led_run_is_recalled_by_its_handle() {
    let slow = Slow::set();
    let mut wire = slow.client("navigate");
    let begun = wire.done("start_workflow", &json!({ "workflow_id": "slow" }));
    let action = begun["availableActions"]["required"][0].clone();
    let id = wire.ask_tool("complete_step", &action["arguments"]);
    let alive = slow.alive.opened();
    let task = wire.response(id).expect("an answer")["result"]["taskId"].clone();
    wire.kill();
    let mut next = slow.client("navigate");
    let state = get(&mut next, &task)["result"].clone();
    assert_eq!(state["result"]["structuredContent"]["error"]["code"], "interrupted", "{state:#}");
    let action = state["result"]["structuredContent"]["availableActions"]["required"][0].clone();
    slow.gate.release();
    has_ended(alive);
    let id = next.ask_tool(action["tool"].as_str().expect("a tool"), &action["arguments"]);
    let again = slow.alive.opened();
    slow.gate.release();
    next.response(id).expect("an answer");
    has_ended(again);
    let state = get(&mut next, &task)["result"].clone();
    assert_eq!(state["result"]["structuredContent"]["complete"], true, "{state:#}");
}

#[test]
fn only_its_own_project_knows_a_task() {
    let slow = Slow::set();
    let mut wire = slow.client("tasks");
    let (_, task, _alive) = slow.task(&mut wire);
    let mut other = Slow::set().client("tasks");
    let text = task.as_str().expect("an id");
    for id in [text, "", "x", "pt1.1.2.3", &format!("{text}x"), &text.replace("pt1", "pt2")] {
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let asked = json!({ "taskId": id, "inputResponses": {} });
            assert_eq!(other.request(method, asked)["error"]["code"], -32_602, "{method} {id}");
        }
    }
    assert_eq!(get(&mut wire, &task)["result"]["status"], "working");
}
