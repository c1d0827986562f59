//! What a person decides in a terminal is in the inbox: bypasses that agents ask for, and budgets that are used up.

use serde_json::{Value, json};

use super::Studio;
use crate::support::Project;

const PHASES: &str = "id: ship\ntitle: Ship\nphases:\n  - { id: plan, prompt: Plan it. }\n  - { id: build, prompt: Build it. }\n  - { id: test, prompt: Test it. }\n";

fn requests(studio: &Studio) -> Vec<Value> {
    let inbox = studio.get("/inbox").json();
    let requests = inbox["requests"].as_array().expect("a list").clone();
    let waiting = inbox["questions"].as_array().expect("a list").len() + requests.len();
    assert_eq!(studio.get("/project").json()["inbox"], waiting);
    requests
}

fn at_work() -> Project {
    let project = Project::small();
    project.write(".flow/workflows/ship.yaml", PHASES);
    let said = project.says("flow start spring --workflow ship");
    assert!(said.ends_with("exit: 0\n"), "{said}");
    project.says("flow tick");
    project
}

fn asks(project: &Project, rule: &str) {
    let said = project.says(&format!("flow override {rule} --reason tired"));
    assert!(said.ends_with("exit: 2\n"), "{said}");
}

#[test]
fn a_bypass_that_an_agent_asks_for_stands_until_it_is_granted_or_the_phase_is_left() {
    let project = at_work();
    let studio = Studio::of(&project, &[]);
    assert_eq!(requests(&studio), [Value::Null; 0]);
    asks(&project, "I-3");
    asks(&project, "I-3");
    asks(&project, "I-5");
    let told = requests(&studio);
    let shown: Vec<(&Value, &Value, &Value)> =
        told.iter().map(|request| (&request["rule"], &request["phase"], &request["task"])).collect();
    let (build, spring) = (json!("build"), json!("spring"));
    assert_eq!(shown, [(&json!("I-5"), &build, &spring), (&json!("I-3"), &build, &spring)]);
    assert_eq!((&told[1]["reason"], &told[1]["by"]), (&json!("tired"), &json!("portolan flow")));
    let command = told[1]["command"].as_str().expect("a command");
    assert!(command.starts_with("portolan flow override I-3 --reason REASON --project /"), "{command}");
    // What is granted stands no longer, and what is asked for afterwards does.
    project.write(".portolan/guidelines.yaml", "bypass: agent\n");
    assert!(project.says("flow override I-3 --reason tired").ends_with("exit: 0\n"));
    assert_eq!(requests(&studio).len(), 1);
    project.write(".portolan/guidelines.yaml", "bypass: human-only\n");
    asks(&project, "I-3");
    assert_eq!(requests(&studio).len(), 2);
    assert!(project.says("flow tick").ends_with("exit: 0\n"));
    assert_eq!(requests(&studio), [Value::Null; 0]);
}

#[test]
fn a_request_for_no_rule_or_without_a_task_is_none() {
    let project = at_work();
    let studio = Studio::of(&project, &[]);
    asks(&project, "I-99");
    assert_eq!(requests(&studio), [Value::Null; 0]);
    project.says("flow abort --as escalated --reason enough");
    asks(&project, "I-3");
    assert_eq!(requests(&studio), [Value::Null; 0]);
}

#[test]
fn a_budget_that_is_used_up_waits_for_a_person_to_raise_it() {
    let project = at_work();
    project.write(".portolan/plugins.yaml", "budgets: {day: {turns: 10}}\n");
    let studio = Studio::of(&project, &[]);
    project.says("supervisor usage --turns 9");
    assert_eq!(requests(&studio), [Value::Null; 0]);
    project.says("supervisor usage --turns 3");
    let told = requests(&studio);
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["is"], &told[0]["scope"], &told[0]["cap"]), (&json!("budget"), &json!("day"), &json!(10)));
    let command = told[0]["command"].as_str().expect("a command");
    let expected = "portolan supervisor budget raise day turns --to AMOUNT --reason REASON --project /";
    assert!(command.starts_with(expected), "{command}");
}
