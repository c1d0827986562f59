//! Calls through `portolan gate` that take long: a client that takes tasks gets one, which asks what the server asks.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gateway::says;
use crate::support::{Fifo, Project, Wire};

/// A server that reports its progress at a call, waits for us, and may ask before it answers. It says when its client has
/// given up. `--new` makes it one of 2026-07-28.
const SERVER: &str = r#"
import json, sys
new = "--new" in sys.argv
def send(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ["works", "asks"]]
QUESTION = {"method": "elicitation/create", "params": {"message": "Which size?",
    "requestedSchema": {"type": "object", "properties": {"size": {"type": "string"}}}}}
def text(value): return {"resultType": "complete", "content": [{"type": "text", "text": json.dumps(value)}]}
waiting = None
for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method is None:
        send({"id": waiting, "result": text(message["result"])})
    elif method == "notifications/cancelled":
        open("gone", "w").close()
    elif method == "initialize" and new:
        send({"id": id, "error": {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}}})
    elif method == "initialize":
        send({"id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"}}})
    elif method == "server/discover":
        send({"id": id, "result": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 60000,
            "cacheScope": "private", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id, "result": {"resultType": "complete", "ttlMs": 60000, "cacheScope": "private", "tools": TOOLS}})
    elif method == "tools/call":
        if not params.get("inputResponses"):
            token = params["_meta"]["progressToken"]
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1, "message": "half"}})
            open("gate").read()
        if params["name"] == "works":
            send({"id": id, "result": text("done")})
        elif not new:
            waiting = id
            send({"id": "q1", **QUESTION})
        elif params.get("inputResponses"):
            send({"id": id, "result": text(params["inputResponses"]["it"])})
        else:
            send({"id": id, "result": {"resultType": "input_required", "inputRequests": {"it": QUESTION}, "requestState": "s"}})
"#;

/// A client of the gate that takes tasks.
struct Client {
    project: Project,
    gate: Fifo,
    wire: Wire,
}

impl Client {
    fn of(options: &[&str]) -> Client {
        let project = Project::new();
        project.write("slow.py", SERVER);
        let arguments = [&["slow.py"], options].concat();
        let server = json!({ "command": "python3", "args": arguments });
        project.write("servers.json", &json!({ "mcpServers": { "shop": server } }).to_string());
        let (said, code) = says(&project, &["trust", "servers.json"]);
        assert_eq!(code, Some(0), "{said}");
        let gate = Fifo::at(&project.path().join("gate"));
        let wire = Client::wire(&project);
        Client { project, gate, wire }
    }

    fn wire(project: &Project) -> Wire {
        let mut wire = Wire::hearing(project.command(&["gate", "--mcp", "servers.json", "--toolset", "none"]));
        let tasks = json!({ "io.modelcontextprotocol/tasks": {} });
        wire.without_session(&json!({ "elicitation": { "form": {} }, "extensions": tasks }));
        wire
    }

    /// Makes a call, which becomes a task.
    fn task(&mut self, tool: &str) -> Value {
        // A run that only the server knows.
        let call = json!({ "name": tool, "arguments": { "run": "k7m2qx4p" } });
        let task = self.wire.request("tools/call", call)["result"].clone();
        assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task:#}");
        task["taskId"].clone()
    }

    fn get(&mut self, task: &Value) -> Value {
        self.wire.request("tasks/get", json!({ "taskId": task }))["result"].clone()
    }

    /// Asks until a task no longer works.
    fn after_work(&mut self, task: &Value) -> Value {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let state = self.get(task);
            if state["status"] != "working" {
                return state;
            }
            assert!(Instant::now() < until, "{state:#}");
        }
    }
}

fn answered(state: &Value) -> Value {
    assert_eq!(state["status"], "completed", "{state:#}");
    let text = state["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{state:#}"));
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn a_long_call_of_a_server_becomes_a_task_with_its_progress_and_its_result() {
    for options in [&[][..], &["--new"]] {
        let mut client = Client::of(options);
        let task = client.task("works");
        assert_eq!(client.get(&task)["statusMessage"], "half");
        client.gate.release();
        let state = client.after_work(&task);
        assert_eq!(answered(&state), "done");
    }
}

#[test]
fn a_task_asks_what_the_server_asks() {
    for options in [&[][..], &["--new"]] {
        let mut client = Client::of(options);
        let task = client.task("asks");
        client.gate.release();
        let state = client.after_work(&task);
        assert_eq!(state["status"], "input_required", "{state:#}");
        let (name, question) =
            state["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("a question");
        assert_eq!(question["params"]["message"], "The server shop asks: Which size?");
        let size = json!({ "action": "accept", "content": { "size": "large" } });
        let answers = json!({ "taskId": task, "inputResponses": { name: size } });
        client.wire.request("tasks/update", answers);
        let state = client.after_work(&task);
        assert_eq!(answered(&state), size);
    }
}

#[test]
fn a_task_that_is_called_off_gives_up_the_call() {
    let mut client = Client::of(&[]);
    let gone = Fifo::at(&client.project.path().join("gone"));
    let task = client.task("works");
    client.wire.request("tasks/cancel", json!({ "taskId": task }));
    assert_eq!(client.get(&task)["status"], "cancelled");
    client.gate.release();
    gone.opened();
}

#[test]
fn the_result_of_a_task_is_lost_with_the_gate() {
    let mut client = Client::of(&[]);
    let task = client.task("works");
    client.wire.kill();
    client.wire = Client::wire(&client.project);
    let state = client.get(&task);
    assert_eq!(state["status"], "failed", "{state:#}");
    assert!(state["error"]["message"].as_str().is_some_and(|message| message.contains("is lost")), "{state:#}");
}
