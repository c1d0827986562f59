//! Questions of the servers behind `portolan gate` to its clients, in both eras on either side, and their log messages.

use serde_json::{Value, json};

use crate::gateway::says;
use crate::support::{Project, Wire};

/// A server that asks at a call of `form`, `url`, `model` or `folders`, writes log messages at a call of `log`, and repeats what
/// it was answered. It notes what it was told that it may ask. `--new` makes it one of 2026-07-28.
const SERVER: &str = r#"
import json, sys
new = "--new" in sys.argv
def send(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def note(capabilities):
    with open("told.jsonl", "a") as file: file.write(json.dumps(capabilities, sort_keys=True) + "\n")
properties = {"size": {"type": "string", "description": "How large?"}}
QUESTIONS = {
    "form": {"method": "elicitation/create", "params": {"message": "Which size?",
        "requestedSchema": {"type": "object", "properties": properties}}},
    "url": {"method": "elicitation/create", "params": {"mode": "url", "message": "Sign in.", "elicitationId": "e1",
        "url": "https://example.org/sign-in"}},
    "model": {"method": "sampling/createMessage", "params": {"maxTokens": 5,
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hello?"}}]}},
    "folders": {"method": "roots/list"},
}
TOOLS = [{"name": name, "description": "Asks.", "inputSchema": {"type": "object"}} for name in [*QUESTIONS, "log"]]
def text(value): return {"resultType": "complete", "content": [{"type": "text", "text": json.dumps(value, sort_keys=True)}]}
waiting = None
for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method is None:
        if waiting is not None and id == "q1":
            send({"id": waiting, "result": text(message.get("result") or message["error"]["message"])})
        waiting = None
    elif method == "initialize" and new:
        send({"id": id, "error": {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}}})
    elif method == "initialize":
        note(params["capabilities"])
        send({"id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "s", "version": "1"}}})
    elif method == "server/discover":
        send({"id": id, "result": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 60000,
            "cacheScope": "private", "capabilities": {"tools": {}, "logging": {}}, "serverInfo": {"name": "s", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id, "result": {"resultType": "complete", "ttlMs": 60000, "cacheScope": "private", "tools": TOOLS}})
    elif method == "tools/call" and params["name"] == "log":
        for level, said in [("info", "little"), ("error", {"key": "s3cret-value"})]:
            send({"method": "notifications/message", "params": {"level": level, "logger": "db", "data": said}})
        send({"id": id, "result": text(params["_meta"].get("io.modelcontextprotocol/logLevel"))})
    elif method == "tools/call" and new:
        note(params["_meta"]["io.modelcontextprotocol/clientCapabilities"])
        if params.get("inputResponses"):
            assert params["requestState"] == "mine"
            send({"id": id, "result": text(params["inputResponses"]["it"])})
        else:
            asked = {"resultType": "input_required", "inputRequests": {"it": QUESTIONS[params["name"]]}, "requestState": "mine"}
            send({"id": id, "result": asked})
    elif method == "tools/call":
        waiting = id
        send({"id": "q1", **QUESTIONS[params["name"]]})
    elif id is not None:
        send({"id": id, "result": {}})
"#;

/// The questions, each with the capability that allows it, and an answer.
fn questions() -> [(&'static str, Value, Value); 4] {
    let model = json!({ "role": "assistant", "content": { "type": "text", "text": "Hi." }, "model": "m" });
    let size = json!({ "action": "accept", "content": { "size": "large" } });
    [
        ("form", json!({ "elicitation": { "form": {} } }), size),
        ("url", json!({ "elicitation": { "url": {} } }), json!({ "action": "accept" })),
        ("model", json!({ "sampling": {} }), model),
        ("folders", json!({ "roots": {} }), json!({ "roots": [{ "uri": "file:///work" }] })),
    ]
}

fn project(options: &[&str]) -> Project {
    let project = Project::new();
    project.write("asking.py", SERVER);
    let arguments = [&["asking.py"], options].concat();
    let server = json!({ "command": "python3", "args": arguments, "env": { "API_KEY": "s3cret-value" } });
    project.write("servers.json", &json!({ "mcpServers": { "shop": server } }).to_string());
    let (said, code) = says(&project, &["trust", "servers.json"]);
    assert_eq!(code, Some(0), "{said}");
    project
}

fn gate(project: &Project) -> Wire {
    Wire::hearing(project.command(&["gate", "--mcp", "servers.json", "--toolset", "none"]))
}

/// What the server was told last that it may ask.
fn told(project: &Project) -> Value {
    let text = std::fs::read_to_string(project.path().join("told.jsonl")).expect("it was told");
    serde_json::from_str(text.lines().last().expect("a line")).expect("JSON")
}

fn answered(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result:#}"));
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
}

/// The entries about questions on record, without their digests.
fn record(project: &Project) -> Vec<String> {
    let events = project.run(&["gate", "log"])["entries"].clone();
    let kinds =
        events.as_array().expect("entries").iter().map(|entry| entry["type"].as_str().expect("a type").to_owned());
    kinds.collect()
}

const RECORD: [&str; 4] = ["flow.tool.invoked", "flow.tool.asked", "flow.tool.replied", "flow.tool.answered"];

fn with_session(options: &[&str]) {
    for (tool, capabilities, answer) in questions() {
        let project = project(options);
        let mut wire = gate(&project);
        wire.shake_hands("2025-11-25", &capabilities);
        let id = wire.ask("tools/call", json!({ "name": tool, "arguments": {} }));
        let question = wire.next().expect("a question");
        if tool == "form" {
            assert_eq!(question["params"]["message"], "The server shop asks: Which size?");
        }
        wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
        let result = wire.response(id).expect("an answer")["result"].clone();
        assert_eq!(answered(&result), answer, "{tool}");
        assert_eq!(told(&project), capabilities);
        assert_eq!(record(&project), RECORD);
    }
}

#[test]
fn a_client_with_a_session_is_asked_by_a_server_with_one() {
    with_session(&[]);
}

#[test]
fn a_client_with_a_session_is_asked_by_a_server_without() {
    with_session(&["--new"]);
}

fn without_session(options: &[&str]) {
    for (tool, capabilities, answer) in questions() {
        let project = project(options);
        let mut wire = gate(&project);
        wire.without_session(&capabilities);
        let asked = wire.request("tools/call", json!({ "name": tool, "arguments": {} }))["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let state = asked["requestState"].as_str().expect("a state").to_owned();
        assert_ne!(state, "mine");
        let name = asked["inputRequests"].as_object().expect("questions").keys().next().expect("a question").clone();
        let back = |arguments: Value| {
            let responses = json!({ name.clone(): answer });
            json!({ "name": tool, "arguments": arguments, "requestState": state, "inputResponses": responses })
        };
        let other = wire.request("tools/call", back(json!({ "other": 1 })))["result"].clone();
        assert_eq!(answered(&other)["error"]["code"], "unknown_state");
        let result = wire.request("tools/call", back(json!({})))["result"].clone();
        assert_eq!(answered(&result), answer, "{tool}");
        let twice = wire.request("tools/call", back(json!({})))["result"].clone();
        assert_eq!(answered(&twice)["error"]["code"], "unknown_state");
        assert_eq!(told(&project), capabilities);
        assert_eq!(record(&project), RECORD);
    }
}

#[test]
fn a_client_without_a_session_is_asked_by_a_server_with_one() {
    without_session(&[]);
}

#[test]
fn a_client_without_a_session_is_asked_by_a_server_without() {
    without_session(&["--new"]);
}

#[test]
fn a_server_is_not_told_that_it_may_ask_a_client_that_cannot_answer() {
    let project = project(&[]);
    let mut wire = gate(&project);
    wire.shake_hands("2025-11-25", &json!({}));
    let result = wire.request("tools/call", json!({ "name": "form", "arguments": {} }))["result"].clone();
    let why = answered(&result);
    assert!(why.as_str().expect("a reason").contains("it has not declared elicitation (form)"), "{why}");
    assert_eq!(told(&project), json!({}));
}

#[test]
fn a_question_that_the_client_cannot_answer_ends_the_call() {
    let project = project(&["--new"]);
    let mut wire = gate(&project);
    wire.shake_hands("2025-11-25", &json!({ "roots": {} }));
    let result = wire.request("tools/call", json!({ "name": "form", "arguments": {} }))["result"].clone();
    let error = answered(&result)["error"].clone();
    assert!(error["message"].as_str().expect("a message").contains("asks for elicitation (form)"), "{error}");
    assert_eq!(error["help"], "use a client that can answer it, or call another tool");
}

#[test]
fn an_answer_to_a_server_does_not_allow_a_call() {
    let project = project(&["--new"]);
    project.write(
        ".portolan/plugins.yaml",
        "guards:\n  - { id: person, tools: [\"mcp:shop/form\"], when: \"true\", decision: ask, reason: a person decides }\n",
    );
    let (said, code) = says(&project, &["trust", ".portolan/plugins.yaml"]);
    assert_eq!(code, Some(0), "{said}");
    let mut wire = gate(&project);
    wire.without_session(&json!({ "elicitation": { "form": {} } }));
    let call = |state: &Value, name: &str, content: Value| {
        let responses = json!({ name: { "action": "accept", "content": content } });
        json!({ "name": "form", "arguments": {}, "requestState": state, "inputResponses": responses })
    };
    let approval = wire.request("tools/call", json!({ "name": "form", "arguments": {} }))["result"].clone();
    let approve = call(&approval["requestState"], "answer", json!({ "answer": "allow" }));
    let asked = wire.request("tools/call", approve)["result"].clone();
    let message = &asked["inputRequests"]["it"]["params"]["message"];
    assert_eq!(message, "The server shop asks: Which size?", "{asked}");
    // The state of the server's question is not one of an approval: the next call needs its own.
    let again = wire.request("tools/call", json!({ "name": "form", "arguments": {} }))["result"].clone();
    assert!(again["inputRequests"]["answer"].is_object(), "{again}");
    let confused = call(&asked["requestState"], "answer", json!({ "answer": "allow" }));
    let confused = wire.request("tools/call", confused)["result"].clone();
    assert!(confused["inputRequests"]["it"].is_object(), "{confused}");
}

/// The log messages that arrive before the answer of a call, and the answer.
fn logged(wire: &mut Wire, meta: &Value) -> (Vec<Value>, Value) {
    let id = wire.ask("tools/call", json!({ "name": "log", "arguments": {}, "_meta": meta }));
    let mut logs = Vec::new();
    loop {
        let message = wire.next().expect("the server answers");
        if message["id"] == id {
            return (logs, message["result"].clone());
        }
        assert_eq!(message["method"], "notifications/message", "{message}");
        logs.push(message["params"].clone());
    }
}

#[test]
fn log_messages_reach_a_client_that_asked_for_them_without_secrets() {
    let error = json!({ "level": "error", "logger": "shop/db", "data": { "key": "[redacted]" } });
    let project = project(&[]);
    let mut wire = gate(&project);
    wire.shake_hands("2025-11-25", &json!({}));
    assert_eq!(logged(&mut wire, &json!({})).0, [Value::Null; 0]);
    assert_eq!(wire.request("logging/setLevel", json!({ "level": "warning" }))["result"], json!({}));
    assert_eq!(logged(&mut wire, &json!({})).0, std::slice::from_ref(&error));
    let mut wire = gate(&project);
    wire.without_session(&json!({}));
    let (logs, _) = logged(&mut wire, &json!({ "io.modelcontextprotocol/logLevel": "info" }));
    assert_eq!(logs, [json!({ "level": "info", "logger": "shop/db", "data": "little" }), error]);
}
