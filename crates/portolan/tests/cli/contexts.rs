//! What one run remembers is what another one begins with, also where fsm-agent-flow has saved it.

use serde_json::{Value, json};

use crate::states::newest;
use crate::support::Project;

const STATES: &str = r#"
objective: An article
states:
  plan: { objective: What it is about, set: { plan: { expr: output } } }
  check:
    objective: Is it sound?
    max_retries: 0
    on_failure: ask
    key_results: [{ name: yes, description: says yes, check: "output == 'yes'" }]
  write:
    execute: none
    is_final: true
    key_results: [{ name: whole, description: d, check: { expr: "$count(history) = 2 and history[0].state_name = 'plan'" } }]
    set: { told: { expr: "$join(history.output, ', ')" } }
transitions: { plan: check, check: write }
"#;

fn context(project: &Project) -> Value {
    let run = newest(project);
    let shown = project.says(&format!("--format json runs show {run}"));
    let text = shown.rsplit_once("exit:").map_or(&*shown, |(text, _)| text);
    let shown: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {shown}"));
    shown["context"].clone()
}

#[test]
fn a_run_is_shown_as_the_original_saves_one_and_goes_on_elsewhere() {
    let project = Project::new();
    project.write("w.yaml", STATES);
    project.write("answers.yaml", "- text: maps\n- text: no\n");
    assert!(project.says("run w.yaml --model scripted:answers.yaml").ends_with("exit: 4\n"));
    let saved = context(&project);
    let came = json!({ "state_name": "plan", "output": "maps", "key_results_met": {} });
    assert_eq!(
        saved,
        json!({ "objective": "An article", "shared": { "plan": "maps" }, "history": [came], "state": "check" })
    );

    let other = Project::new();
    other.write("w.yaml", STATES);
    other.write("saved.json", saved.to_string());
    other.write("answers.yaml", "- {for: check, text: 'yes'}\n");
    let said = other.says("run w.yaml --context saved.json --model scripted:answers.yaml");
    assert!(said.starts_with("\"yes\"\n"), "{said}");
    let saved = context(&other);
    // For people none of it is told.
    assert!(!other.says(&format!("runs show {}", newest(&other))).contains("key_results_met"));
    assert_eq!((&saved["shared"], &saved["state"]), (&json!({ "plan": "maps", "told": "maps, yes" }), &json!(null)));
    let met: Vec<&Value> =
        saved["history"].as_array().expect("a list").iter().map(|came| &came["key_results_met"]).collect();
    assert_eq!(met, [&json!({}), &json!({ "yes": true }), &json!({ "whole": true })]);
}

#[test]
fn what_the_original_has_saved_is_read_and_what_is_none_of_it_is_refused() {
    let project = Project::new();
    project.write("w.yaml", "objective: o\nstates:\n  a: { transform: \"shared.n + $count($.a)\", is_final: true }\n");
    // As it writes one; it begins at the initial state, for where it was is not in it.
    project.write("saved.json", r#"{"objective": "o", "shared": {"n": 41}, "history": [{"state_name": "a", "output": 1, "key_results_met": {}}]}"#);
    let said = project.says("run w.yaml --context saved.json");
    assert!(said.starts_with("42\n"), "{said}");
    project.write("saved.json", r#"{"history": [{"output": 1}]}"#);
    let said = project.says("run w.yaml --context saved.json");
    assert!(said.contains("`saved.json` is not a saved context") && said.ends_with("exit: 2\n"), "{said}");
    project.write("saved.json", r#"{"state": "nowhere"}"#);
    let said = project.says("run w.yaml --context saved.json");
    assert!(said.contains("`nowhere` is not a step of the workflow `w`") && said.ends_with("exit: 2\n"), "{said}");
    assert!(project.says("run w.yaml --context none.json").ends_with("exit: 1\n"));
}
