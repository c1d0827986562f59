//! How a server ends, and how a call is called off. Commands that checks run wait for named pipes, not for clocks.

use std::fs::File;
use std::io::Read;

use serde_json::{Value, json};

use crate::support::{Fifo, Project, Wire, offered, within};

#[test]
fn the_end_of_its_input_is_the_end_of_the_server() {
    let project = Project::new();
    assert!(project.server(&[]).leave().success(), "before a word was said");
    assert!(project.client(&[]).leave().success(), "after a handshake");
    let mut wire = project.server(&[]);
    wire.line(b"half a mess");
    assert!(wire.leave().success(), "after nonsense");
}

/// The last request is answered even if the client closes its side right after it, as a shell's pipe does.
#[test]
fn what_was_asked_before_the_end_is_answered() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    let id = wire.ask_tool("Init", &json!({ "workflowType": "quick-task" }));
    wire.close();
    assert_eq!(wire.answer(id, "Init").expect("an answer").value["currentStep"], "start");
    assert!(wire.ended().success());
}

#[test]
fn a_signal_ends_an_idle_server() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let project = Project::new();
        let mut silent = project.server(&[]);
        silent.notify("notifications/nothing", &json!({}));
        assert_eq!(silent.request("ping", json!({}))["result"], json!({}));
        silent.signal(signal);
        assert!(silent.ended().success(), "{signal} before the handshake");
        let mut wire = project.client(&[]);
        wire.signal(signal);
        assert!(wire.ended().success(), "{signal}");
    }
}

/// A run at a gate whose check waits for us.
struct Gate {
    project: Project,
    alive: Fifo,
    gate: Fifo,
}

impl Gate {
    fn set() -> Gate {
        let project = Project::new();
        let nodes = json!({
            "s": { "type": "start" },
            "t": { "type": "task", "accept": [{ "id": "waits", "run": ["sh", "-c", "exec cat gate > alive"] }] },
            "e": { "type": "end", "result": "success" },
        });
        project.workflow("slow", &nodes, &json!([{ "from": "s", "to": "t" }, { "from": "t", "to": "e" }]));
        project.run(&["trust", ".flow/workflows/slow.json"]);
        let alive = Fifo::at(&project.path().join("alive"));
        let gate = Fifo::at(&project.path().join("gate"));
        Gate { project, alive, gate }
    }

    /// Brings a run to the gate and has its check begin. The file ends when the command does.
    fn checking(&self, wire: &mut Wire) -> (Value, u64, File) {
        let opened = wire.done("Init", &json!({ "workflowType": "slow" }));
        let working = wire.take(&offered(&opened)[0]);
        let action = offered(&working)[0].clone();
        let id = wire.ask_tool("Next", &action["arguments"]);
        (opened["run"].clone(), id, self.alive.opened())
    }

    /// Takes the run up where it was left, and sees it through.
    fn resume(&self, wire: &mut Wire, run: &Value) {
        let checking = wire.done("Current", &json!({ "run": run }));
        assert_eq!(checking["state"], "checking", "{checking:#}");
        let action = offered(&checking)[0].clone();
        let id = wire.ask_tool("Next", &action["arguments"]);
        let alive = self.alive.opened();
        self.gate.release();
        let answer = wire.answer(id, "Next").expect("an answer");
        assert_eq!(answer.value["terminal"], "success", "{:#}", answer.value);
        has_ended(alive);
    }
}

fn has_ended(mut alive: File) {
    let said = within("the command ends", move || {
        let mut said = Vec::new();
        alive.read_to_end(&mut said).map(|_| said)
    });
    assert_eq!(said.expect("a pipe"), b"");
}

#[test]
fn a_signal_ends_the_commands_of_checks_with_the_server() {
    for signal in ["-TERM", "-INT"] {
        let gate = Gate::set();
        let mut wire = gate.project.client(&[]);
        let (run, _, alive) = gate.checking(&mut wire);
        wire.signal(signal);
        assert!(wire.ended().success(), "{signal}");
        has_ended(alive);
        gate.resume(&mut gate.project.client(&[]), &run);
    }
}

#[test]
fn a_cancelled_call_ends_its_command_and_the_run_goes_on() {
    let gate = Gate::set();
    let mut wire = gate.project.client(&[]);
    let (run, id, alive) = gate.checking(&mut wire);
    wire.notify("notifications/cancelled", &json!({ "requestId": id, "reason": "the user pressed escape" }));
    has_ended(alive);
    gate.resume(&mut wire, &run);
    assert_eq!(wire.next_without_waiting(), None, "a cancelled call is not answered");
}

/// While a check runs, others are served, and a second claim does not run it twice at the same time to two ends.
#[test]
fn a_running_check_keeps_nobody_waiting() {
    let gate = Gate::set();
    let mut wire = gate.project.client(&[]);
    let (run, id, alive) = gate.checking(&mut wire);
    assert_eq!(wire.done("Current", &json!({ "run": run }))["state"], "checking");
    let other = wire.done("Init", &json!({ "workflowType": "quick-task" }));
    assert_eq!(wire.take(&offered(&other)[0])["state"], "working");
    gate.gate.release();
    assert_eq!(wire.answer(id, "Next").expect("an answer").value["terminal"], "success");
    has_ended(alive);
}
