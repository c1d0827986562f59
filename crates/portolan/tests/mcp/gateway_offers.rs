//! What other servers behind `portolan gate` offer besides tools, and the progress that they report.

use serde_json::{Value, json};

use crate::support::{Fifo, Project, Wire};

/// A server with resources, a template, prompts and completions. It reports progress at a call of `count`, and announces
/// one more resource at a call of `grow`. At `wait`, it answers nothing and writes down what is cancelled.
const SERVER: &str = r#"
import json, sys
def send(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
name = sys.argv[1]
resources = [{"uri": f"{name}://rows", "name": "rows"}, {"uri": "shared://one", "name": name}]
waiting = None
for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        offered = {"tools": {}, "resources": {"listChanged": True}, "prompts": {}, "completions": {}}
        result = {"protocolVersion": "2025-06-18", "capabilities": offered, "serverInfo": {"name": name, "version": "1"}}
    elif method == "tools/list":
        tools = [name + "_count", name + "_grow", name + "_wait"]
        result = {"tools": [{"name": tool, "inputSchema": {"type": "object"}} for tool in tools]}
    elif method == "resources/list":
        result = {"resources": resources}
    elif method == "resources/templates/list":
        result = {"resourceTemplates": [{"uriTemplate": name + "://row/{id}", "name": "row"}]}
    elif method == "prompts/list":
        result = {"prompts": [{"name": "review", "description": name}, {"name": name + "-only"}]}
    elif method == "resources/read" and params["uri"].endswith("missing"):
        send({"id": id, "error": {"code": -32002, "message": "no such row"}})
        continue
    elif method == "resources/read" and params["uri"].endswith("wait"):
        waiting = id
        open(name + ".waiting", "w").close()
        continue
    elif method == "resources/read":
        texts = [f"{params['uri']} of {name}", "password=hunter2hunter2"]
        result = {"contents": [{"uri": params["uri"], "text": text} for text in texts]}
    elif method == "prompts/get":
        text = f"{params['name']} of {name} with {json.dumps(params.get('arguments', {}))}"
        result = {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    elif method == "completion/complete":
        result = {"completion": {"values": [params["argument"]["value"] + " by " + name]}}
    elif method == "notifications/cancelled" and params["requestId"] == waiting:
        open(name + ".cancelled", "w").close()
        continue
    elif method == "tools/call":
        token = params["_meta"]["progressToken"]
        for at in range(1, 4):
            progress = {"progressToken": token, "progress": at, "total": 3, "message": f"step {at}"}
            send({"method": "notifications/progress", "params": progress})
        send({"method": "notifications/progress", "params": {"progressToken": "another's", "progress": 9}})
        if params["name"].endswith("grow"):
            resources.append({"uri": f"{name}://late", "name": "late"})
            send({"method": "notifications/resources/list_changed"})
        result = {"content": [{"type": "text", "text": "counted"}]}
    else:
        result = {}
    if id is not None:
        send({"id": id, "result": result})
"#;

/// A run that may read nothing of `db` at its first step.
const REVIEW: &str = r#"{ "nodes": { "start": { "type": "start" },
  "look": { "type": "task", "instructions": "Look away.", "deny": ["mcp:db/resources/read", "mcp:db/prompts/*",
    "mcp:db/completion/*"] },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "look" }, { "from": "look", "to": "done" }] }
"#;

fn project() -> Project {
    let project = Project::new();
    project.serve_by_gate(SERVER, &[&["db"], &["web"]]);
    project.write(".flow/workflows/review.json", REVIEW);
    project
}

fn client(project: &Project) -> Wire {
    let mut wire = Wire::hearing(project.command(&["gate", "--mcp", "servers.json"]));
    let greeting = wire.shake_hands("2025-11-25", &json!({}));
    let announced = &greeting["capabilities"];
    assert_eq!(announced["resources"]["listChanged"], true, "{announced}");
    assert_eq!(announced["prompts"]["listChanged"], true, "{announced}");
    wire
}

fn listed(wire: &mut Wire, method: &str, list: &str, field: &str) -> Vec<String> {
    let answer = wire.request(method, json!({}));
    let items = answer["result"][list].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    let texts = items.iter().map(|item| item[field].as_str().expect("a text").to_owned());
    texts.filter(|text| !text.starts_with("portolan:")).collect()
}

fn resources(wire: &mut Wire) -> Vec<String> {
    listed(wire, "resources/list", "resources", "uri")
}

fn read(wire: &mut Wire, uri: &str) -> Value {
    wire.request("resources/read", json!({ "uri": uri }))
}

#[test]
fn resources_of_all_servers_are_offered_and_read() {
    let project = project();
    let mut wire = client(&project);
    assert_eq!(resources(&mut wire), ["db://rows", "shared://one", "web://rows"]);
    let templates = listed(&mut wire, "resources/templates/list", "resourceTemplates", "uriTemplate");
    assert_eq!(templates, ["db://row/{id}", "web://row/{id}"]);
    for (uri, server) in [("web://rows", "web"), ("db://row/7", "db"), ("shared://one", "db")] {
        let contents = read(&mut wire, uri)["result"]["contents"].clone();
        assert_eq!(contents[0], json!({ "uri": uri, "text": format!("{uri} of {server}") }));
        assert_eq!(contents[1]["text"], "password=hunter2hunter2", "nothing asks to mask it");
    }
    let error = read(&mut wire, "db://row/missing")["error"].clone();
    assert_eq!(error["code"], -32002, "{error}");
    assert!(error["message"].as_str().is_some_and(|said| said.contains("no such row")), "{error}");
    assert_eq!(read(&mut wire, "other://1")["error"]["code"], -32002, "either could have it, so neither is asked");
}

#[test]
fn prompts_of_all_servers_are_offered_and_completed() {
    let project = project();
    let mut wire = client(&project);
    let names = listed(&mut wire, "prompts/list", "prompts", "name");
    let of_servers: Vec<&str> = names.iter().map(String::as_str).filter(|name| !own(name)).collect();
    assert_eq!(of_servers, ["db_review", "db-only", "web_review", "web-only"]);
    let arguments = json!({ "file": "a.rs" });
    let answer = wire.request("prompts/get", json!({ "name": "web_review", "arguments": arguments }));
    let text = &answer["result"]["messages"][0]["content"]["text"];
    assert_eq!(*text, r#"review of web with {"file": "a.rs"}"#, "{answer}");
    for (reference, by) in [
        (json!({ "type": "ref/prompt", "name": "web_review" }), "web"),
        (json!({ "type": "ref/resource", "uri": "db://row/{id}" }), "db"),
    ] {
        let argument = json!({ "name": "id", "value": "4" });
        let answer = wire.request("completion/complete", json!({ "ref": reference, "argument": argument }));
        assert_eq!(answer["result"]["completion"]["values"], json!([format!("4 by {by}")]), "{answer}");
    }
    let unknown = wire.request("prompts/get", json!({ "name": "nothing" }));
    assert_eq!(unknown["error"]["message"], "there is no prompt `nothing`", "{unknown}");
}

/// Whether a prompt is one of Portolan's own.
fn own(name: &str) -> bool {
    name.starts_with("start-") || ["where-was-i", "what-waits-for-me"].contains(&name)
}

#[test]
fn a_step_denies_resources_and_prompts_as_it_denies_tools() {
    let project = project();
    let mut wire = client(&project);
    let run = wire.done("Init", &json!({ "workflowType": "review" }))["run"].clone();
    wire.done("Start", &json!({ "run": run }));
    let refused = [
        read(&mut wire, "db://rows"),
        read(&mut wire, "db://row/7"),
        wire.request("prompts/get", json!({ "name": "db_review" })),
    ];
    for answer in refused {
        let error = &answer["error"];
        let said = error["message"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
        assert!(said.starts_with("Refused: at `look`, `mcp__db__"), "{said}");
        assert!(said.contains("Look away."), "{said}");
        assert_eq!(error["data"]["situations"][0]["run"], run, "{error}");
        assert_eq!(error["data"]["error"]["code"], "refused");
    }
    let reference = json!({ "type": "ref/resource", "uri": "db://row/{id}" });
    let wanted = json!({ "ref": reference, "argument": { "name": "id", "value": "4" } });
    assert_eq!(wire.request("completion/complete", wanted)["result"]["completion"]["values"], json!([]));
    assert!(read(&mut wire, "web://rows")["result"].is_object(), "the other server is not restricted");
    let log = project.command(&["gate", "log", "--format", "json"]).output().expect("it runs");
    let log: Value = serde_json::from_slice(&log.stdout).expect("JSON");
    let calls: Vec<(&str, &str)> = log["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .filter(|entry| entry["type"] == "flow.tool.invoked")
        .map(|entry| {
            (
                entry["data"]["toolName"].as_str().unwrap_or_default(),
                entry["data"]["decision"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    let denied = |method: &'static str| (method, "block");
    let expected = [
        denied("mcp__db__resources/read"),
        denied("mcp__db__resources/read"),
        denied("mcp__db__prompts/get"),
        denied("mcp__db__completion/complete"),
        ("mcp__web__resources/read", "allow"),
    ];
    assert_eq!(calls, expected);
}

#[test]
fn a_guard_sees_the_address_of_a_resource() {
    let project = project();
    let guard = "guards:\n  - id: no-customers\n    tools: [\"mcp:db/resources/read\"]\n    \
        when: $contains(arguments.uri, \"row/\")\n    decision: block\n    reason: rows are not for agents\n";
    project.write(".portolan/plugins.yaml", guard);
    let mut wire = client(&project);
    assert!(read(&mut wire, "db://rows")["result"].is_object());
    let refused = read(&mut wire, "db://row/7");
    let said = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("rows are not for agents"), "{refused}");
    assert_eq!(refused["error"]["data"]["error"]["guards"], json!(["no-customers"]), "{refused}");
}

#[test]
fn results_of_resources_are_filtered() {
    let project = project();
    project.write(".portolan/plugins.yaml", "results:\n  - id: mask\n    tools: [\"mcp:db/*\"]\n    redact: true\n");
    let mut wire = client(&project);
    let masked = read(&mut wire, "db://rows");
    assert_eq!(masked["result"]["contents"][1]["text"], "password=[redacted]", "{masked}");
    assert_eq!(read(&mut wire, "web://rows")["result"]["contents"][1]["text"], "password=hunter2hunter2");
}

#[test]
fn progress_is_passed_on_in_order_and_before_the_result() {
    let project = project();
    let mut wire = client(&project);
    let (progress, answer) = wire.watched("web_count", json!({}));
    assert_eq!(answer["content"][0]["text"], "counted", "{answer}");
    let step = |at: f64| json!({ "progressToken": "t", "progress": at, "total": 3.0, "message": format!("step {at}") });
    assert_eq!(progress, [step(1.0), step(2.0), step(3.0)], "that of another token is not passed on");
}

#[test]
fn a_new_resource_is_announced() {
    let project = project();
    let mut wire = client(&project);
    let grown = wire.request("tools/call", json!({ "name": "db_grow", "arguments": {} }));
    assert!(grown["result"].is_object(), "{grown}");
    loop {
        let message = wire.next().expect("an announcement");
        if message["method"] == "notifications/resources/list_changed" {
            break;
        }
    }
    assert!(resources(&mut wire).contains(&"db://late".to_owned()));
}

#[test]
#[cfg(unix)]
fn a_cancelled_reading_is_cancelled_at_the_server() {
    let project = project();
    let (waiting, cancelled) = (project.path().join("db.waiting"), project.path().join("db.cancelled"));
    let (waiting, cancelled) = (Fifo::at(&waiting), Fifo::at(&cancelled));
    let mut wire = client(&project);
    let id = wire.ask("resources/read", json!({ "uri": "db://row/wait" }));
    drop(waiting.opened());
    wire.notify("notifications/cancelled", &json!({ "requestId": id }));
    drop(cancelled.opened());
}
