//! An agent edits the definition that holds it, with nothing but a token to go by.

use serde_json::{Value, json};

use super::serving;
use crate::support::Project;

const GATED: &str = "id: gated\nversion: 1.0.0\ntitle: Gated\nactivities:\n  - id: all\n    name: All\n    steps:\n      \
                     - { id: work, kind: step, name: Work }\n      - { id: prove, kind: step, name: Prove it, accept: [{ id: proof, file: proof.md }] }\n      \
                     - { id: ship, kind: step, name: Ship it }\n";

const FILE: &str = ".flow/workflows/gated.yaml";

/// Everything that an agent can send at the gate, with its token.
fn attempts(state: &Value) -> Vec<(&'static str, Value)> {
    let call = |tool, more: Value| {
        let mut arguments = json!({ "workflow_id": "gated", "state": state });
        arguments.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        (tool, arguments)
    };
    vec![
        call("get_position", json!({ "definition": "migrate" })),
        call("get_position", json!({ "definition": "pinned" })),
        call("get_position", json!({})),
        call("complete_step", json!({ "step_id": "prove" })),
        call("complete_step", json!({ "step_id": "prove", "result": "skipped" })),
        call("complete_step", json!({ "step_id": "ship" })),
        call("respond_to_checkpoint", json!({ "checkpoint_id": "prove", "option_id": "passed" })),
    ]
}

#[test]
fn a_gate_that_is_edited_away_still_holds() {
    for more in [&["--stateless"][..], &["--stateless", "--human", "verified"]] {
        for edited in [
            GATED.replace(", accept: [{ id: proof, file: proof.md }]", ""),
            GATED.replace("proof.md", ".flow/workflows/gated.yaml"),
            GATED.replace("kind: step, name: Prove it", "kind: step, required: false, name: Prove it"),
            String::new(),
        ] {
            let project = Project::new();
            project.write(FILE, GATED);
            let mut wire = serving(&project, more);
            let now = wire.done("start_workflow", &json!({ "workflow_id": "gated" }));
            let arguments = json!({ "workflow_id": "gated", "state": now["state"], "step_id": "work" });
            let gate = wire.done("complete_step", &arguments);
            project.write(FILE, &edited);
            let mut states = vec![gate["state"].clone()];
            for _ in 0..3 {
                for (tool, arguments) in states.clone().iter().flat_map(attempts) {
                    // Each call may be made by a server that was started a moment ago.
                    let answer = serving(&project, more).call(tool, &arguments).value;
                    assert_eq!(answer["position"]["step"]["id"], "prove", "{tool} {arguments}: {answer:#}");
                    let offered = answer["availableActions"].to_string();
                    assert!(!offered.contains("migrate"), "{offered}");
                    states.extend(answer["state"].as_str().map(Value::from).filter(|state| !states.contains(state)));
                }
                states.truncate(4);
            }
            project.write("proof.md", "it is so");
            let arguments = json!({ "workflow_id": "gated", "state": states[0], "step_id": "prove" });
            let after = serving(&project, more).done("complete_step", &arguments);
            assert_eq!(after["position"]["step"]["id"], "ship", "{after:#}");
        }
    }
}

#[test]
fn a_person_carries_a_run_over_at_the_shell() {
    let project = Project::new();
    project.write(FILE, GATED);
    let mut wire = serving(&project, &["--stateless"]);
    let now = wire.done("start_workflow", &json!({ "workflow_id": "gated" }));
    let state = now["state"].as_str().expect("a token");
    project.write(FILE, &GATED.replace("Ship it", "Ship it tomorrow"));
    let migrated = project.run(&["runs", "migrate", state]);
    let token = migrated["state"].as_str().expect("a token");
    assert_ne!(token, state);
    let look =
        serving(&project, &["--stateless"]).done("get_position", &json!({ "workflow_id": "gated", "state": token }));
    assert!(!look["message"].as_str().is_some_and(|text| text.contains("has changed since")), "{look:#}");
    let said = |arguments: &[&str]| {
        let output = project.command(arguments).output().expect("the command runs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said(&["runs", "migrate", "k7m2qx4p"]).contains("only the run of a token can be migrated"));
    project.write(FILE, &GATED.replace("name: Work", "name: Work, accept: [{ id: more, file: more.md }]"));
    let refused = said(&["runs", "migrate", state]);
    assert!(refused.contains("`all.work` now has the check `more`"), "{refused}");
    let output =
        project.command(&["runs", "migrate", state]).env("CLAUDECODE", "1").output().expect("the command runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("only a person may migrate a run"));
}
