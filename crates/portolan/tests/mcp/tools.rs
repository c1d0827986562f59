//! The eleven tools: what they are announced as, what they take, and every field that Navigator's clients know.

use expect_test::expect_file;
use serde_json::{Value, json};

use crate::support::{Project, Wire};

/// Every client pays for this list in every conversation.
const MOST_BYTES: usize = 24_000;

/// `UPDATE_EXPECT=1 cargo test` writes the list anew.
#[test]
fn the_list_is_stable_and_short() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    let listed = wire.request("tools/list", json!({}))["result"].clone();
    assert!(listed.to_string().len() < MOST_BYTES, "{} bytes", listed.to_string().len());
    let tools = serde_json::to_string_pretty(&listed["tools"]).expect("JSON");
    expect_file!["tools.json"].assert_eq(&(tools + "\n"));
}

#[test]
fn a_schema_is_whole_by_itself() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    let listed = wire.request("tools/list", json!({}));
    for tool in listed["result"]["tools"].as_array().expect("tools") {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        for side in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[side]["type"], "object", "{tool}");
            for reference in references(&tool[side]) {
                assert!(tool[side].pointer(reference.trim_start_matches('#')).is_some(), "{reference} in {tool}");
            }
        }
    }
}

fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(members) => {
            let own = members.get("$ref").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(members.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn has(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "no `{field}` in {value:#}");
    }
}

fn navigation(value: &Value) {
    has(value, &["currentStep", "instructions", "terminal", "metadata"]);
    has(&value["metadata"], &["workflowType", "currentStep", "retryCount", "userDescription", "stepName"]);
}

#[test]
fn a_task_is_led_by_init_start_current_and_next() {
    let project = Project::new();
    project.believe("feature-development");
    let mut wire = project.client(&[]);
    let path = project.task("7");
    let init = json!({ "taskFilePath": path, "workflowType": "feature-development", "description": "Add dark mode" });
    let opened = wire.done("Init", &init);
    navigation(&opened);
    assert_eq!((&opened["currentStep"], &opened["terminal"]), (&json!("start"), &json!("start")));
    assert_eq!(opened["metadata"]["userDescription"], "Add dark mode");
    let at = json!({ "taskFilePath": path });
    let started = wire.done("Start", &at);
    navigation(&started);
    assert_eq!((&started["currentStep"], &started["terminal"]), (&json!("parse_requirements"), &Value::Null));
    assert_eq!(wire.done("Current", &at)["actions"], started["actions"]);
    let mut now = started;
    while now["currentStep"] != "plan_review" {
        now = wire.done("Next", &json!({ "taskFilePath": path, "result": "passed" }));
        navigation(&now);
    }
    let failed = wire.done("Next", &json!({ "taskFilePath": path, "result": "failed", "note": "too vague" }));
    assert_eq!(failed["currentStep"], "create_plan");
    assert_eq!(failed["metadata"]["retryCount"], 1);
    assert_eq!(failed["metadata"]["retrySourceGate"], "plan_review");
    assert!(failed["instructions"].as_str().is_some_and(|text| text.contains("too vague")), "{failed:#}");
    let maybe = wire.refused("Next", &json!({ "taskFilePath": path, "result": "maybe" }), "no_matching_edge");
    has(&maybe, &["error", "currentStep", "result", "metadata", "args", "tool", "schemaVersion", "accepted"]);
    has(&maybe["metadata"], &["workflowType", "currentStep", "retryCount", "userDescription", "retrySourceGate"]);
    assert_eq!((&maybe["result"], &maybe["currentStep"]), (&json!("maybe"), &json!("create_plan")));
    let again = wire.done("Init", &init);
    assert_eq!(again["currentStep"], "create_plan", "a task that has a run keeps it");
}

#[test]
fn init_begins_at_a_step_and_under_a_parent() {
    let project = Project::new();
    project.believe("bug-hunt");
    let mut wire = project.client(&[]);
    let (parent, child) = (project.task("parent"), project.task("child"));
    wire.done("Init", &json!({ "taskFilePath": parent, "workflowType": "bug-hunt" }));
    wire.done("Start", &json!({ "taskFilePath": parent }));
    let fork = wire.done("Next", &json!({ "taskFilePath": parent, "result": "passed" }));
    let text = fork["instructions"].as_str().expect("text");
    assert!(text.contains("Branches:") && text.contains("Join: join_investigate"), "{text}");
    wire.refused("Next", &json!({ "taskFilePath": parent, "result": "passed" }), "branches_open");
    let init = json!({ "taskFilePath": child, "workflowType": "bug-hunt", "stepId": "reproduce", "parentTaskId": "parent", "description": "d" });
    let opened = wire.done("Init", &init);
    assert_eq!((&opened["currentStep"], &opened["terminal"]), (&json!("reproduce"), &Value::Null));
    let joined = wire.done("Next", &json!({ "taskFilePath": child, "result": "passed" }));
    assert_eq!((&joined["terminal"], &joined["currentStep"]), (&json!("join"), &json!("join_investigate")));
    assert!(joined["instructions"].as_str().is_some_and(|text| text.contains("→ Evaluate branch results")));
}

#[test]
fn lists_name_every_workflow() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    let all = wire.done("ListWorkflows", &json!({}));
    has(&all, &["schemaVersion", "workflows", "filter", "hasProjectWorkflows"]);
    assert_eq!((&all["filter"], &all["hasProjectWorkflows"]), (&json!("all"), &json!(false)));
    has(&all["workflows"][0], &["id", "name", "description", "stepCount", "source"]);
    for source in ["all", "project", "catalog", "external"] {
        assert_eq!(wire.done("ListWorkflows", &json!({ "source": source }))["filter"], source);
    }
    let selected = wire.done("SelectWorkflow", &json!({}));
    has(&selected, &["schemaVersion", "workflows", "dialog"]);
    for panel in selected["dialog"].as_array().expect("panels") {
        has(panel, &["question", "header", "multiSelect", "options"]);
        let options = panel["options"].as_array().expect("options");
        assert!((2..=4).contains(&options.len()), "{panel}");
        options.iter().for_each(|option| has(option, &["label", "description", "id"]));
    }
    let catalogue = wire.done("ListCatalog", &json!({}));
    has(&catalogue, &["schemaVersion", "workflows", "workflowSelectionOptions", "agents", "agentSelectionOptions"]);
    assert_eq!(catalogue["workflows"].as_array().map(Vec::len), Some(18));
    assert_eq!(catalogue["agents"].as_array().map(Vec::len), Some(7));
    for options in ["workflowSelectionOptions", "agentSelectionOptions"] {
        let first = catalogue[options][0]["label"].as_str().expect("a label");
        assert!(first.starts_with("All ") && first.ends_with("(Recommended)"), "{first}");
    }
}

#[test]
fn definitions_are_copied_loaded_and_drawn() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    let copied = wire.done("CopyWorkflows", &json!({ "workflowIds": ["execute", "nonsense"] }));
    has(&copied, &["schemaVersion", "copied", "errors", "path"]);
    assert_eq!(copied["copied"], json!(["execute"]));
    assert_eq!(copied["errors"][0]["id"], "nonsense");
    assert!(project.path().join(".flow/workflows/execute/workflow.json").is_file());
    project.write(".flow/workflows/execute/workflow.json", "mine");
    assert_eq!(wire.done("CopyWorkflows", &json!({ "workflowIds": ["execute"] }))["errors"][0]["id"], "execute");
    let forced = wire.done("CopyWorkflows", &json!({ "workflowIds": ["execute"], "force": true }));
    assert_eq!(forced["copied"], json!(["execute"]));
    assert_eq!(wire.done("CopyWorkflows", &json!({}))["copied"].as_array().map(Vec::len), Some(18));
    let agents = wire.done("CopyAgents", &json!({ "agentIds": ["tester"], "targetDir": "agents" }));
    assert_eq!(agents["copied"], json!(["tester"]));
    assert!(project.path().join("agents/tester.md").is_file());
    assert_eq!(wire.done("CopyAgents", &json!({ "force": false }))["copied"].as_array().map(Vec::len), Some(7));
    let available = wire.done("LoadWorkflows", &json!({}));
    has(&available, &["available", "hint"]);
    let loaded = wire.done("LoadWorkflows", &json!({ "workflowIds": ["execute", "nonsense"] }));
    assert_eq!((&loaded["loaded"], &loaded["errors"][0]["id"]), (&json!(1), &json!("nonsense")));
    drawn(&project, &mut wire);
}

fn drawn(project: &Project, wire: &mut Wire) {
    let drawn = wire.done("Diagram", &json!({ "workflowType": "bug-hunt", "currentStep": "triage" }));
    has(&drawn, &["savedTo", "source"]);
    assert!(drawn["mermaid"].as_str().is_some_and(|text| text.starts_with("flowchart TD")), "{drawn:#}");
    let saved = project.path().join(drawn["savedTo"].as_str().expect("a path"));
    assert_eq!(std::fs::read_to_string(saved).ok().as_deref(), drawn["markdown"].as_str());
    let elsewhere = json!({ "workflowType": "bug-hunt", "filePath": "docs/hunt.md" });
    assert_eq!(wire.done("Diagram", &elsewhere)["savedTo"], "docs/hunt.md");
    assert!(project.path().join("docs/hunt.md").is_file());
    for (path, code) in [("../x.md", "outside_project"), ("/etc/x.md", "outside_project"), ("x.txt", "bad_path")] {
        wire.refused("Diagram", &json!({ "workflowType": "bug-hunt", "filePath": path }), code);
    }
}

#[test]
fn external_workflows_have_a_namespace() {
    let (project, other) = (Project::new(), Project::new());
    let nodes =
        json!({ "s": { "type": "start" }, "t": { "type": "task" }, "e": { "type": "end", "result": "success" } });
    let edges = json!([{ "from": "s", "to": "t" }, { "from": "t", "to": "e" }]);
    other.workflow("quick-task", &nodes, &edges);
    other.write(".flow/workflows/broken.json", "{");
    let mut wire = project.client(&[]);
    let loaded = wire.done("LoadWorkflows", &json!({ "path": other.path() }));
    assert_eq!((&loaded["loaded"], &loaded["ids"]), (&json!(1), &json!(["project:quick-task"])));
    assert_eq!(loaded["errors"][0]["id"], "project:broken");
    let folder = other.path().join(".flow/workflows");
    let by_root = json!({ "path": folder, "sourceRoot": other.path(), "workflowIds": ["quick-task"] });
    assert_eq!(wire.done("LoadWorkflows", &by_root)["loaded"], 1);
    let listed = wire.done("ListWorkflows", &json!({ "source": "external" }));
    assert_eq!(listed["workflows"][0]["id"], "project:quick-task");
    assert_eq!(wire.done("Init", &json!({ "workflowType": "quick-task" }))["position"]["workflow"], "quick-task");
    let external = wire.done("Init", &json!({ "workflowType": "project:quick-task" }));
    assert_eq!(wire.take(&crate::support::offered(&external)[0])["currentStep"], "t");
}
