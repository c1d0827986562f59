//! Runs are led over the wire: what is offered is sent back as it stands.

use serde_json::{Value, json};

use super::{asking, go_on, headline, send, serving};
use crate::support::Wire;

fn start(wire: &mut Wire) -> Value {
    wire.done("start_workflow", &json!({ "workflow_id": "asking", "description": "two parts" }))
}

#[test]
fn a_run_is_led_to_its_end_by_handles_and_by_tokens() {
    for (more, is_state) in [
        (&[][..], (|state: &str| state.len() <= 12) as fn(&str) -> bool),
        (&["--stateless"], |state| state.starts_with("v1.gzB64.")),
        (&["--stateless", "--ledger"], |state| state.starts_with("v1.gzB64.")),
    ] {
        let project = asking();
        let mut wire = serving(&project, more);
        let mut now = start(&mut wire);
        let mut told = Vec::new();
        while now["complete"] != json!(true) {
            told.push(headline(&now).to_owned());
            assert!(is_state(now["state"].as_str().expect("a state")), "{now:#}");
            assert!(now["message"].as_str().is_some_and(|text| text.contains("Wanted: two parts")), "{now:#}");
            assert!(now.to_string().len() < 3_000);
            now = go_on(&mut wire, &now, &json!({ "option_id": "github" }));
            // Each call may be made by a server that was started a moment ago.
            wire = serving(&project, more);
        }
        assert_eq!(told, ["Plan · step 1: Split the work", "Plan", "Done · step 1: Tell the user"]);
    }
}

#[test]
fn outputs_decide_what_comes_next() {
    let project = asking();
    let mut wire = serving(&project, &[]);
    let now = start(&mut wire);
    let now = go_on(&mut wire, &now, &json!({ "outputs": { "parts": ["a door", "a roof"] } }));
    let now = go_on(&mut wire, &now, &json!({ "option_id": "github" }));
    assert_eq!(headline(&now), "Build · step 1: Make a door in GitHub · Parts, pass 1 of 2, a door");
    assert_eq!(
        now["position"]["loop"],
        json!({ "id": "each", "name": "Parts", "iteration": 1, "total": 2, "item": "a door" })
    );
    let now = go_on(&mut wire, &now, &json!({}));
    assert_eq!(headline(&now), "Build · step 1: Make a roof in GitHub · Parts, pass 2 of 2, a roof");
}

#[test]
fn a_refusal_changes_nothing_and_shows_where_the_run_is() {
    let project = asking();
    let mut wire = serving(&project, &[]);
    let now = start(&mut wire);
    let (state, id) = (now["state"].clone(), "asking");
    let calls = [
        ("complete_step", json!({ "step_id": "make" }), "step_mismatch"),
        ("complete_step", json!({ "step_id": "split", "result": "skipped" }), "unknown_result"),
        ("complete_step", json!({ "step_id": "split", "outputs": { "parts": "one" } }), "bad_outputs"),
        ("complete_step", json!({ "step": "split" }), "invalid_arguments"),
        ("complete_step", json!({ "step_id": "split", "summary": "x".repeat(9_000) }), "too_large"),
        ("respond_to_checkpoint", json!({ "checkpoint_id": "where", "option_id": "github" }), "checkpoint_mismatch"),
        ("raise_checkpoint", json!({ "question": "one way?", "options": ["yes"] }), "bad_input"),
        ("end_workflow", json!({}), "invalid_arguments"),
        ("get_position", json!({ "definition": "newest" }), "invalid_arguments"),
        ("get_position", json!({ "definition": "migrate" }), "bad_input"),
    ];
    for (tool, mut arguments, code) in calls {
        arguments["workflow_id"] = json!(id);
        arguments["state"] = state.clone();
        let refused = wire.call(tool, &arguments);
        assert!(refused.is_error);
        assert_eq!(refused.value["error"]["code"], code, "{tool} {arguments}: {}", refused.value);
        for part in ["position", "availableActions", "state"] {
            assert_eq!(refused.value[part], now[part], "{tool} {arguments}");
        }
        assert!(refused.value["message"].as_str().is_some_and(|text| text.starts_with("Refused: ")));
    }
    assert_eq!(wire.done("get_position", &json!({ "workflow_id": id, "state": state })), now);
}

#[test]
fn steps_that_need_what_an_agent_lacks_are_to_be_delegated() {
    let project = asking();
    project.write(
        ".flow/workflows/asking.yaml",
        &super::ASKING.replace("name: Tell the user", "name: Tell the user, effectivities: [mail, 'code-review']"),
    );
    let mut wire = serving(&project, &[]);
    let able = json!({ "workflow_id": "asking", "effectivities": ["mail"] });
    let mut now = wire.done("start_workflow", &able);
    while headline(&now) != "Done · step 1: Tell the user" {
        now = go_on(&mut wire, &now, &json!({ "option_id": "nowhere" }));
    }
    let action = &now["availableActions"]["required"][0];
    assert_eq!(action["delegate"], json!(["code-review"]));
    assert!(now["message"].as_str().is_some_and(|text| text.contains("This needs code-review")), "{now:#}");
    let both = json!({ "workflow_id": "asking", "state": now["state"], "effectivities": ["mail", "code-review"] });
    let other = wire.done("get_position", &both);
    assert_eq!(other["availableActions"]["required"][0].get("delegate"), None);
    assert_eq!(send(&mut wire, action, &json!({}))["complete"], true);
}
