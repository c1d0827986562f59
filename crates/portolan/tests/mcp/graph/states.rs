//! Files of states, and graphs with states, as tools.

use serde_json::json;

use super::{call, call_output};
use crate::support::{Project, Wire};

const GREETING: &str = "
objective: A greeting
input_schema: { type: object, properties: { name: { type: string } }, required: [name] }
states:
  greet:
    objective: Greet by name
    prompt: { expr: input.name }
    key_results: [{ name: named, description: has the name, check: \"input['name'] in output\" }]
    max_retries: 1
    is_final: true
";

fn client(project: &Project, more: &[&str]) -> Wire {
    let mut wire = Wire::hearing(project.command(&[&["serve", "greeting.yaml"], more].concat()));
    let hello = wire.shake_hands("2025-11-25", &json!({}));
    assert_eq!(hello["serverInfo"]["name"], "portolan", "{hello}");
    wire
}

#[test]
fn a_file_of_states_is_a_tool_that_a_model_works_on() {
    let project = Project::new();
    project.write("greeting.yaml", GREETING);
    project.write("answers.yaml", "- text: Hello\n- text: Hello, Ada\n- text: Hi\n- text: Ho\n");
    let mut wire = client(&project, &["--model", "scripted:answers.yaml"]);
    assert_eq!(call_output(&mut wire, "greeting", json!({ "name": "Ada" })).0, "\"Hello, Ada\"");
    let failed = call(&mut wire, "greeting", json!({ "name": "Ada" }));
    assert_eq!(failed["isError"], true);
    let text = failed["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("does not meet `named`"), "{text}");
}

#[test]
fn where_nobody_says_which_model_works_the_call_says_so() {
    let project = Project::new();
    project.write("greeting.yaml", GREETING);
    let mut wire = client(&project, &[]);
    let failed = call(&mut wire, "greeting", json!({ "name": "Ada" }));
    let text = failed["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("no model is set for `greet`; name one with `--model`"), "{text}");
    assert_eq!(failed["structuredContent"]["error"]["code"], "waiting");
}

#[test]
fn an_agent_that_comes_to_a_state_is_told_who_works_on_it() {
    let project = Project::new();
    project.write(
        ".flow/workflows/greeting.yaml",
        "objective: o\nstates: { greet: { objective: Greet, is_final: true } }\n",
    );
    let mut wire = Wire::hearing(project.command(&["serve", "--toolset", "tasks"]));
    wire.shake_hands("2025-11-25", &json!({}));
    let begun = call(&mut wire, "Init", json!({ "workflowType": "greeting", "description": "d" }));
    let run = begun["structuredContent"]["run"].clone();
    let now = call(&mut wire, "Start", json!({ "run": run }));
    let told = now["structuredContent"]["instructions"].as_str().expect("a text");
    assert!(told.starts_with("## greet") && told.contains("`portolan runs resume --model`"), "{told}");
}
