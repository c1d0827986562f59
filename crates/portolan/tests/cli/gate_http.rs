//! `portolan gate --http`: several clients at once before two servers. What one does reaches no other, except that a run
//! binds them all.

use std::io::{BufRead, BufReader, Write as _};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::serve_http::initialize;
use crate::serve_tokens::issue;
use crate::served::{Answer, Served, started};
use crate::support::Project;

/// A server whose `echo` reports progress and writes a log message with the text that it is given, and then returns it.
/// `touch` reports that a resource has changed.
const SERVER: &str = r#"
import json, sys
def send(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
name = sys.argv[1]
capabilities = {"tools": {}, "logging": {}, "resources": {"subscribe": True}}
for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    result = {}
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {"name": name, "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": tool, "inputSchema": {"type": "object"}} for tool in ["echo", "touch"]]}
    elif method == "resources/list":
        result = {"resources": [{"uri": f"{name}://rows", "name": "rows"}]}
    elif method == "resources/templates/list":
        result = {"resourceTemplates": []}
    elif method == "tools/call" and params["name"] == "touch":
        send({"method": "notifications/resources/updated", "params": {"uri": f"{name}://rows"}})
        result = {"content": []}
    elif method == "tools/call":
        text = params["arguments"]["text"]
        if "progressToken" in params.get("_meta", {}):
            progress = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "message": text}
            send({"method": "notifications/progress", "params": progress})
        send({"method": "notifications/message", "params": {"level": "info", "data": text}})
        result = {"content": [{"type": "text", "text": f"{text} of {name}"}]}
    if id is not None:
        send({"id": id, "result": result})
"#;

/// A run at whose first step `db` may not be called.
const REVIEW: &str = r#"{ "nodes": { "start": { "type": "start" },
  "look": { "type": "task", "instructions": "Look away.", "deny": ["mcp:db/echo"] },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "look" }, { "from": "look", "to": "done" }] }
"#;

fn gate(project: &Project) -> Served {
    project.write("server.py", SERVER);
    project.write(".flow/workflows/review.json", REVIEW);
    let server = |name: &str| json!({ "command": "python3", "args": ["server.py", name] });
    let servers = json!({ "mcpServers": { "db": server("db"), "web": server("web") } });
    project.write("servers.json", servers.to_string());
    let trusted = project.command(&["trust", "servers.json"]).output().expect("it runs");
    assert!(trusted.status.success(), "{trusted:?}");
    let words =
        ["gate", "--mcp", "servers.json", "--http", "127.0.0.1:0", "--tokens", "tokens.txt", "--format", "json"];
    let (child, said) = started(project.command(&words));
    let port = said["listening"].as_str().and_then(|address| address.rsplit_once(':')?.1.parse().ok()).expect("a port");
    Served { child, port, token: String::new() }
}

/// A client with a token, and with a session if its revision has them.
struct Client<'s> {
    served: &'s Served,
    token: String,
    session: Option<String>,
}

impl Client<'_> {
    /// A client of 2025-11-25.
    fn with_session<'s>(served: &'s Served, token: &str) -> Client<'s> {
        let mut client = Client { served, token: token.to_owned(), session: None };
        let greeted = client.post(&[], &initialize());
        client.session = Some(greeted.header("mcp-session-id").expect("a session").to_owned());
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.post(&[], &initialized).status, 202);
        client
    }

    /// A client of 2026-07-28.
    fn without_session<'s>(served: &'s Served, token: &str) -> Client<'s> {
        Client { served, token: token.to_owned(), session: None }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("Host", self.served.host()),
            ("Authorization", format!("Bearer {}", self.token)),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        headers.extend(self.session.iter().map(|session| ("Mcp-Session-Id", session.clone())));
        headers
    }

    fn post(&self, more: &[(&str, &str)], message: &Value) -> Answer {
        let own = self.headers();
        let mut headers: Vec<(&str, &str)> = own.iter().map(|(name, value)| (*name, &**value)).collect();
        headers.push(("Content-Type", "application/json"));
        headers.extend(more);
        self.served.with("POST", "/mcp", &headers, &message.to_string())
    }

    /// Sends a request. Returns what was sent before its result, and the result or error.
    fn request(&self, method: &str, mut params: Value) -> (Vec<Value>, Value) {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut more = Vec::new();
        if self.session.is_none() {
            let revision = "io.modelcontextprotocol/protocolVersion";
            params["_meta"][revision] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            more = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", &*name)];
        }
        let answer = self.post(&more, &json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }));
        assert_eq!(answer.status, 200, "{}", answer.body);
        let mut messages = messages(&answer.body);
        let at = messages.iter().position(|message| message["id"] == 7);
        let result = messages.remove(at.unwrap_or_else(|| panic!("{}", answer.body)));
        (messages, result)
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let called = self.request("tools/call", json!({ "name": tool, "arguments": arguments })).1;
        called["result"].clone()
    }

    /// Opens the stream of a session. Returns what arrives on it.
    fn stream(&self) -> Receiver<Value> {
        let mut request = "GET /mcp HTTP/1.1\r\n".to_owned();
        self.headers().iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
        let mut stream = self.served.connect();
        stream.write_all(format!("{request}\r\n").as_bytes()).expect("it is written");
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        assert!(lines.next().is_some_and(|line| line.contains("200")));
        let _head = lines.by_ref().find(String::is_empty);
        let (sender, received) = channel();
        std::thread::spawn(move || {
            for message in lines.filter_map(|line| message(&line)) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        received
    }
}

/// The message in a line of a stream or of an answer.
fn message(line: &str) -> Option<Value> {
    serde_json::from_str(line.strip_prefix("data:").unwrap_or(line).trim()).ok().filter(Value::is_object)
}

fn messages(body: &str) -> Vec<Value> {
    body.lines().filter_map(message).collect()
}

/// What arrives up to the next update of a resource, and the address of that.
fn until_updated(stream: &Receiver<Value>) -> (Vec<Value>, Value) {
    let mut before = Vec::new();
    loop {
        let message = stream.recv_timeout(Duration::from_secs(60)).expect("an update");
        if message["method"] == "notifications/resources/updated" {
            return (before, message["params"]["uri"].clone());
        }
        before.push(message);
    }
}

#[test]
fn each_answer_and_its_progress_are_its_callers() {
    let project = Project::small();
    let tokens = ["ada", "bob"].map(|name| issue(&project, name, "navigate,run"));
    let served = gate(&project);
    let clients =
        tokens.iter().flat_map(|token| [Client::with_session(&served, token), Client::without_session(&served, token)]);
    let clients: Vec<Client<'_>> = clients.collect();
    std::thread::scope(|scope| {
        for (nth, client) in clients.iter().enumerate() {
            scope.spawn(move || {
                for call in 0..20 {
                    let server = ["db", "web"][(nth + call) % 2];
                    let text = format!("call {call} of client {nth}");
                    // All clients use the same tokens of progress, which are known within a request only.
                    let token = format!("t{call}");
                    let params = json!({ "name": format!("{server}_echo"), "arguments": { "text": text },
                        "_meta": { "progressToken": token } });
                    let (before, answer) = client.request("tools/call", params);
                    let content = &answer["result"]["content"][0]["text"];
                    assert_eq!(*content, format!("{text} of {server}"), "{answer}");
                    for message in before {
                        assert_eq!(message["method"], "notifications/progress", "{message}");
                        assert_eq!(message["params"]["message"], text, "{message}");
                        assert_eq!(message["params"]["progressToken"], token, "{message}");
                    }
                }
            });
        }
    });
}

#[test]
fn a_run_that_one_client_begins_binds_the_others() {
    let project = Project::small();
    let tokens = ["ada", "bob"].map(|name| issue(&project, name, "navigate,run"));
    let served = gate(&project);
    let ada = Client::with_session(&served, &tokens[0]);
    let others = [Client::with_session(&served, &tokens[1]), Client::without_session(&served, &tokens[1])];
    for other in &others {
        assert_eq!(other.call("db_echo", &json!({ "text": "x" }))["isError"], json!(null), "no run is begun");
    }
    let begun = ada.call("Init", &json!({ "workflowType": "review" }));
    let run = begun["structuredContent"]["run"].clone();
    let now = ada.call("Start", &json!({ "run": run }))["structuredContent"].clone();
    for client in others.iter().chain([&ada]) {
        let refused = client.call("db_echo", &json!({ "text": "x" }));
        assert_eq!(refused["isError"], true, "{refused}");
        assert_eq!(refused["structuredContent"]["situations"][0]["run"], run, "{refused}");
        let done = client.call("web_echo", &json!({ "text": "x" }));
        assert_eq!(done["content"][0]["text"], "x of web", "the other server is not restricted: {done}");
    }
    ada.call("Next", &now["actions"]["required"][0]["arguments"]);
    for other in &others {
        assert_eq!(other.call("db_echo", &json!({ "text": "x" }))["content"][0]["text"], "x of db", "the run is over");
    }
}

#[test]
fn updates_and_log_messages_reach_those_who_asked_for_them() {
    let project = Project::small();
    let tokens = ["ada", "bob"].map(|name| issue(&project, name, "navigate,run"));
    let served = gate(&project);
    let [ada, bob] = tokens.each_ref().map(|token| Client::with_session(&served, token));
    let streams = [ada.stream(), bob.stream()];
    let subscribed = ada.request("resources/subscribe", json!({ "uri": "db://rows" })).1;
    assert_eq!(subscribed["result"], json!({}), "{subscribed}");
    let subscribed = bob.request("resources/subscribe", json!({ "uri": "web://rows" })).1;
    assert_eq!(subscribed["result"], json!({}), "{subscribed}");
    assert_eq!(ada.request("logging/setLevel", json!({ "level": "info" })).1["result"], json!({}));
    let logged = |messages: &[Value]| -> Vec<Value> {
        let logs = messages.iter().filter(|message| message["method"] == "notifications/message");
        logs.map(|message| message["params"]["data"].clone()).collect()
    };
    // One after another: what is written while calls of several clients are under way names none of them.
    let echo = |client: &Client<'_>, text: &str| {
        client.request("tools/call", json!({ "name": "db_echo", "arguments": { "text": text } })).0
    };
    let (before_ada, before_bob) = (echo(&ada, "of ada"), echo(&bob, "of bob"));
    for (client, server) in [(&bob, "db"), (&ada, "web")] {
        client.call(&format!("{server}_touch"), &json!({}));
    }
    let (on_ada, first_ada) = until_updated(&streams[0]);
    let (on_bob, first_bob) = until_updated(&streams[1]);
    assert_eq!((first_ada, first_bob), (json!("db://rows"), json!("web://rows")));
    assert_eq!(logged(&[before_ada, on_ada].concat()), [json!("of ada")]);
    assert_eq!(logged(&[before_bob, on_bob].concat()), [json!(null); 0]);
    // A second subscriber of the same resource ends, and the first is still notified.
    let other = Client::with_session(&served, &tokens[1]);
    assert_eq!(other.request("resources/subscribe", json!({ "uri": "db://rows" })).1["result"], json!({}));
    assert_eq!(other.request("resources/unsubscribe", json!({ "uri": "db://rows" })).1["result"], json!({}));
    bob.call("db_touch", &json!({}));
    assert_eq!(until_updated(&streams[0]).1, "db://rows");
}
