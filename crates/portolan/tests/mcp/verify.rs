//! What the project attaches to a workflow by `.portolan/verify.yaml`, as an agent meets it.

use serde_json::json;

use crate::support::Project;

const BELIEVED: &str = r#"{ "nodes": { "start": { "type": "start" },
  "plan": { "type": "task", "instructions": "Plan it." },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "plan" }, { "from": "plan", "to": "done" }] }
"#;

#[test]
fn an_agent_is_told_what_is_attached_and_held_to_it() {
    let project = Project::new();
    project.write(".flow/workflows/believed.json", BELIEVED);
    project.write(
        ".portolan/verify.yaml",
        "verify: [{ node: plan, accept: [{ id: written, file: plan.md }], deny: [edit] }]",
    );
    let mut wire = project.client(&[]);
    let opened = wire.done("Init", &json!({ "workflowType": "believed", "description": "a plan" }));
    let run = opened["run"].clone();
    let revision = |position: &serde_json::Value| position["position"]["revision"].clone();
    let begun = wire.done("Start", &json!({ "run": run }));
    for told in ["- written: the file `plan.md` exists and is not empty", "Not allowed at this step: `edit`."] {
        assert!(begun["instructions"].as_str().is_some_and(|text| text.contains(told)), "{begun:#}");
    }
    let stays = wire.done("Next", &json!({ "run": run, "result": "passed", "revision": revision(&begun) }));
    assert_eq!((&stays["currentStep"], &stays["state"]), (&json!("plan"), &json!("working")), "{stays:#}");
    project.write("plan.md", "First this, then that.");
    let done = wire.done("Next", &json!({ "run": run, "result": "passed", "revision": revision(&stays) }));
    assert_eq!(done["terminal"], "success", "{done:#}");
    assert!(wire.leave().success());
}
