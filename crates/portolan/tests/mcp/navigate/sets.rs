//! Which tools are served, and to whom.

use expect_test::expect_file;
use serde_json::{Value, json};

use super::{asking, serving};
use crate::support::{Project, Wire};

/// Every client pays for this list in every conversation.
const MOST_BYTES: usize = 18_000;

fn names(wire: &mut Wire) -> Vec<String> {
    let listed = wire.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

/// `UPDATE_EXPECT=1 cargo test` writes the list anew.
#[test]
fn the_list_is_stable_and_short() {
    let project = Project::new();
    let mut wire = serving(&project, &[]);
    let listed = wire.request("tools/list", json!({}))["result"].clone();
    assert!(listed.to_string().len() < MOST_BYTES, "{} bytes", listed.to_string().len());
    let tools = serde_json::to_string_pretty(&listed["tools"]).expect("JSON");
    expect_file!["tools.json"].assert_eq(&(tools + "\n"));
}

#[test]
fn what_a_file_holds_says_which_tools_lead_through_it() {
    let project = asking();
    let mut wire = project.client(&[".flow/workflows/asking.yaml"]);
    assert_eq!(names(&mut wire).len(), 7);
    assert!(names(&mut wire).contains(&"start_workflow".to_owned()));
    assert!(names(&mut project.client(&[])).contains(&"Init".to_owned()), "without a file, Navigator's");
}

#[test]
fn sets_are_served_together_and_nothing_shows_a_definition_unless_that_is_asked_for() {
    let project = asking();
    let both = names(&mut project.client(&["--toolset", "navigate,tasks"]));
    assert_eq!(both.len(), 7 + 10, "{both:?}");
    assert!(!both.contains(&"Diagram".to_owned()));
    let mut author = project.client(&["--toolset", "navigate,tasks", "--profile", "author"]);
    let all = names(&mut author);
    assert_eq!(all.len(), 8 + 11, "{all:?}");
    let read = author.done("get_workflow", &json!({ "workflow_id": "asking" }));
    assert_eq!(read["definition"], super::ASKING);
    let refused =
        project.client(&["--toolset", "navigate,tasks"]).call("Diagram", &json!({ "workflowType": "asking" }));
    assert_eq!(refused.value["error"]["code"], "unknown_tool");
    let refused = serving(&project, &[]).call("get_workflow", &json!({ "workflow_id": "asking" }));
    assert_eq!(refused.value["error"]["code"], "unknown_tool");
}

#[test]
fn graphs_and_workflows_are_served_by_one_server() {
    let project = asking();
    project.write(
        "tools.yaml",
        "version: '1.0'\nserver: { name: t, version: 1.0.0 }\ntools:\n  - name: double\n    description: twice\n    \
         inputSchema: { type: object, properties: { n: { type: number } } }\n    outputSchema: { type: object }\n    nodes:\n      \
         - { id: in, type: entry, next: twice }\n      \
         - { id: twice, type: transform, transform: { expr: '{ \"n\": $.in.n * 2 }' }, next: out }\n      \
         - { id: out, type: exit }\n",
    );
    let mut wire = project.client(&["tools.yaml", ".flow/workflows/asking.yaml", "--toolset", "navigate,graph"]);
    assert!(names(&mut wire).contains(&"double".to_owned()));
    let answer = wire.request("tools/call", json!({ "name": "double", "arguments": { "n": 4 } }));
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 8 }), "{answer}");
    let now = wire.done("start_workflow", &json!({ "workflow_id": "asking" }));
    assert_eq!(super::headline(&now), "Plan · step 1: Split the work");
}

#[test]
fn what_is_broken_is_listed_with_its_reason() {
    let project = asking();
    project.write(".flow/workflows/broken.yaml", &super::ASKING.replace("to: build", "to: nowhere"));
    project.write(".flow/workflows/garbled.yaml", "id: [");
    let mut wire = serving(&project, &[]);
    let listed = wire.done("list_workflows", &json!({}));
    let line = |id: &str| {
        let lines = listed["workflows"].as_array().expect("lines");
        lines.iter().find(|line| line["id"] == id).unwrap_or_else(|| panic!("no `{id}` in {listed:#}")).clone()
    };
    assert_eq!(line("asking").get("broken"), None);
    let reason = |id: &str| line(id)["broken"].as_str().expect("a reason").to_owned();
    assert!(reason("broken").contains("names `nowhere`, which is not an activity"), "{}", reason("broken"));
    assert!(reason("garbled").contains("garbled.yaml:1"), "{}", reason("garbled"));
    let refused = wire.call("start_workflow", &json!({ "workflow_id": "broken" }));
    assert_eq!(refused.value["error"]["code"], "invalid_definition");
    let near: Value = wire.call("start_workflow", &json!({ "workflow_id": "askin" })).value;
    assert_eq!(near["error"]["code"], "unknown_workflow");
    assert!(near["error"]["help"].as_str().is_some_and(|help| help.contains("did you mean `asking`?")), "{near}");
}
