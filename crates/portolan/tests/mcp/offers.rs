//! What a client offers its user of a project beside the tools: prompts, resources, and completions of their values.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{Project, Wire};

fn prompt(wire: &mut Wire, name: &str, arguments: &Value) -> String {
    let got = wire.request("prompts/get", json!({ "name": name, "arguments": arguments }));
    let text = got["result"]["messages"][0]["content"]["text"].as_str();
    text.unwrap_or_else(|| panic!("{got}")).to_owned()
}

fn read(wire: &mut Wire, uri: &str) -> Value {
    wire.request("resources/read", json!({ "uri": uri }))
}

fn uris(wire: &mut Wire) -> Vec<String> {
    let listed = wire.request("resources/list", json!({}));
    let listed = listed["result"]["resources"].as_array().unwrap_or_else(|| panic!("{listed}"));
    listed.iter().map(|resource| resource["uri"].as_str().expect("an address").to_owned()).collect()
}

#[test]
fn each_workflow_can_be_started_by_a_prompt() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    let listed = wire.request("prompts/list", json!({}));
    let names: Vec<&str> = listed["result"]["prompts"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|prompt| prompt["name"].as_str().expect("a name"))
        .collect();
    let workflows = wire.done("ListWorkflows", &json!({}));
    let workflows = workflows["workflows"].as_array().expect("a list");
    for workflow in workflows {
        let name = format!("start-{}", workflow["id"].as_str().expect("an id"));
        assert!(names.contains(&name.as_str()), "{name}");
        assert!(prompt(&mut wire, &name, &json!({})).contains("Call `Init` with"), "{name}");
    }
    assert_eq!(names.len(), workflows.len() + 2);
    expect![[r#"
        Work through Portolan's workflow `quick-task` (Does a small, well-understood job with one check and a commit; pick it when an hour's work needs no plan and no review).

        Call `Init` with `{"workflowType":"quick-task","description":"say \"hello\""}`. Then call `Start`, do what each answer says, and send one of its `actions` back, until the run has ended."#]]
    .assert_eq(&prompt(&mut wire, "start-quick-task", &json!({ "task": "say \"hello\"" })));
    for unknown in ["start-nothing", "nothing", ""] {
        let refused = wire.request("prompts/get", json!({ "name": unknown }));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
}

#[test]
fn the_call_of_a_prompt_is_one_that_is_accepted() {
    let project = Project::new();
    for (set, tool) in [("tasks", "Init"), ("navigate", "start_workflow")] {
        let mut wire = project.client(&["--toolset", set]);
        let text = prompt(&mut wire, "start-quick-task", &json!({ "task": "x" }));
        let call = text.split(&format!("`{tool}` with `")).nth(1).and_then(|rest| rest.split('`').next());
        let arguments: Value = serde_json::from_str(call.expect("a call")).expect("it is JSON");
        wire.done(tool, &arguments);
        let text = prompt(&mut wire, "where-was-i", &json!({}));
        let look = if set == "tasks" { "Current" } else { "get_position" };
        let call = text.split(&format!("`{look}` with `")).nth(1).and_then(|rest| rest.split('`').next());
        let arguments: Value = serde_json::from_str(call.expect("a call")).expect("it is JSON");
        wire.done(look, &arguments);
    }
}

#[test]
fn the_questions_of_a_person_are_a_prompt() {
    let project = Project::new();
    project.workflow(
        "asking",
        &json!({
            "start": { "type": "start" },
            "ask": { "type": "end", "result": "blocked", "escalation": "hitl", "description": "May it be published?" },
            "done": { "type": "end", "result": "success" },
        }),
        &json!([{ "from": "start", "to": "ask" }, { "from": "ask", "to": "done", "on": "passed" }]),
    );
    let mut wire = project.client(&[]);
    assert_eq!(prompt(&mut wire, "what-waits-for-me", &json!({})), "No question waits for me in this project. Say so.");
    let now = wire.done("Init", &json!({ "workflowType": "asking" }));
    let run = now["run"].as_str().expect("a run").to_owned();
    wire.done("Start", &json!({ "run": run }));
    let text = prompt(&mut wire, "what-waits-for-me", &json!({}));
    expect![[r#"
        These questions wait for me. Show them to me, and do not answer them yourself:

        * `RUN`: asking · ask: May it be published?
          I answer with `portolan runs answer RUN`."#]]
    .assert_eq(&text.replace(&run, "RUN"));
}

#[test]
fn workflows_and_runs_are_resources() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    let listed = uris(&mut wire);
    assert!(listed.contains(&"portolan://workflows/quick-task".to_owned()), "{listed:?}");
    for uri in &listed {
        let text = read(&mut wire, uri)["result"]["contents"][0]["text"].as_str().map(str::len);
        assert!(text.is_some_and(|length| length > 100), "{uri}");
    }
    let run = wire.done("Init", &json!({ "workflowType": "quick-task" }))["run"].as_str().expect("a run").to_owned();
    let situation = read(&mut wire, &format!("portolan://runs/{run}"));
    let text = situation["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{situation}"));
    let situation: Value = serde_json::from_str(text).expect("it is JSON");
    assert_eq!((&situation["workflow"], &situation["position"]["step"]), (&json!("quick-task"), &json!("start")));
    let history = read(&mut wire, &format!("portolan://runs/{run}/history"));
    let text = history["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{history}"));
    assert!(text.contains("opened `quick-task`"), "{text}");
    for value in ["", &run[..3]] {
        let reference = json!({ "type": "ref/resource", "uri": "portolan://runs/{run}" });
        let argument = json!({ "name": "run", "value": value });
        let completed = wire.request("completion/complete", json!({ "ref": reference, "argument": argument }));
        assert_eq!(completed["result"]["completion"]["values"], json!([run]), "{completed}");
    }
    let reference = json!({ "type": "ref/resource", "uri": "portolan://workflows/{id}" });
    let argument = json!({ "name": "id", "value": "quick" });
    let completed = wire.request("completion/complete", json!({ "ref": reference, "argument": argument }));
    assert_eq!(completed["result"]["completion"]["values"], json!(["quick-task"]));
}

#[test]
fn no_address_leads_out_of_the_store_and_the_library() {
    let project = Project::new();
    project.write("task.json", "{}");
    project.write("secret.yaml", "secret: 1");
    let mut wire = project.client(&[]);
    for uri in [
        "portolan://runs/",
        "portolan://runs/nothing",
        "portolan://runs/task.json",
        "portolan://runs/.%2Ftask.json",
        "portolan://runs/%2Fetc%2Fpasswd",
        "portolan://runs/%ff",
        "portolan://workflows/",
        "portolan://workflows/../secret",
        "portolan://workflows/..%2Fsecret",
        "portolan://workflows/%2Fetc%2Fpasswd/diagram",
        "portolan://else",
        "file:///etc/passwd",
    ] {
        let refused = read(&mut wire, uri);
        assert_eq!(refused["error"]["code"], -32002, "{uri}: {refused}");
    }
}

#[test]
fn an_agent_that_is_led_reads_no_definition() {
    let project = Project::new();
    for arguments in [vec!["--toolset", "navigate"], vec!["--toolset", "navigate,tasks"]] {
        let mut wire = project.client(&arguments);
        assert_eq!(uris(&mut wire), [""; 0]);
        for uri in ["portolan://workflows/quick-task", "portolan://workflows/quick-task/diagram"] {
            assert_eq!(read(&mut wire, uri)["error"]["code"], -32002, "{uri}");
        }
        let templates = wire.request("resources/templates/list", json!({}));
        assert_eq!(templates["result"]["resourceTemplates"].as_array().map(Vec::len), Some(2), "{templates}");
    }
    let mut wire = project.client(&["--toolset", "navigate", "--profile", "author"]);
    assert!(uris(&mut wire).contains(&"portolan://workflows/quick-task".to_owned()));
}

#[test]
fn who_follows_a_run_hears_of_every_move_whoever_makes_it() {
    let project = Project::new();
    let mut other = project.client(&[]);
    let run = other.done("Init", &json!({ "workflowType": "quick-task" }))["run"].as_str().expect("a run").to_owned();
    let uri = format!("portolan://runs/{run}");
    for set in ["tasks", "navigate", "tasks,gates"] {
        let mut wire = project.client(&["--toolset", set]);
        assert_eq!(wire.request("resources/subscribe", json!({ "uri": uri }))["result"], json!({}), "{set}");
        // A run that begins elsewhere is none of its business.
        other.done("Init", &json!({ "workflowType": "quick-task" }));
        let revision = json!({ "run": run });
        let now = other.done(if set == "tasks" { "Start" } else { "Current" }, &revision);
        if set != "tasks" {
            let action = now["actions"]["required"][0].clone();
            let mut arguments = action["arguments"].clone();
            arguments["result"] = json!("failed");
            other.done("Next", &arguments);
        }
        let told = wire.next().expect("a notification");
        assert_eq!(told["method"], "notifications/resources/updated", "{told}");
        assert_eq!(told["params"]["uri"], json!(uri), "{told}");
        assert_eq!(wire.request("resources/unsubscribe", json!({ "uri": uri }))["result"], json!({}), "{set}");
    }
}

#[test]
fn who_listens_without_a_session_follows_runs_as_well() {
    let project = Project::new();
    let mut other = project.client(&[]);
    let run = other.done("Init", &json!({ "workflowType": "quick-task" }))["run"].as_str().expect("a run").to_owned();
    let uri = format!("portolan://runs/{run}");
    let mut wire = project.server(&[]);
    wire.without_session(&json!({}));
    // What is asked for in vain is acknowledged as nothing, and is no unknown method.
    for (wanted, accepted) in [
        (json!({ "toolsListChanged": true }), json!(null)),
        (json!({ "resourceSubscriptions": ["portolan://else"] }), json!(null)),
        (json!({ "resourceSubscriptions": ["portolan://else", uri] }), json!([uri])),
    ] {
        wire.ask("subscriptions/listen", json!({ "notifications": wanted }));
        let acknowledged = wire.next().expect("a notification");
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
        assert_eq!(acknowledged["params"]["notifications"]["resourceSubscriptions"], accepted, "{acknowledged}");
    }
    other.done("Start", &json!({ "run": run }));
    let told = wire.next().expect("a notification");
    assert_eq!(told["method"], "notifications/resources/updated", "{told}");
    assert_eq!(told["params"]["uri"], json!(uri), "{told}");
}
