//! Subscriptions to the resources of servers behind `portolan gate`.

use serde_json::{Value, json};

use crate::support::{Fifo, Project, Wire};

/// A server of resources that can be subscribed to, with a handshake or, as `newer`, without one. `touch` reports an update
/// of an address to whoever asks for it or not, and `die` ends it. It writes down each subscription, and tells by a file
/// when one is given up.
const SERVER: &str = r#"
import json, os, sys
def send(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
name, era = sys.argv[1], sys.argv[2]
resources = {} if era == "silent" else {"subscribe": True}
capabilities = {"tools": {}, "resources": resources}
info = {"name": name, "version": "1"}
listening = {}
def note(line):
    with open(name + ".subscriptions", "a") as file: file.write(line + "\n")
for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize" and era != "newer":
        result = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
    elif method == "server/discover" and era == "newer":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, "serverInfo": info,
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    elif method == "tools/list":
        result = {"tools": [{"name": name + "_" + tool, "inputSchema": {"type": "object"}} for tool in ["touch", "die"]]}
    elif method == "resources/list":
        result = {"resources": [{"uri": f"{name}://rows", "name": "rows"}]}
    elif method == "resources/templates/list":
        result = {"resourceTemplates": [{"uriTemplate": name + "://{any}", "name": "any"}]}
    elif method == "resources/subscribe":
        if params["uri"].endswith("refused"):
            send({"id": id, "error": {"code": -32602, "message": "not this one"}})
            continue
        note("+ " + params["uri"])
        result = {}
    elif method == "resources/unsubscribe":
        note("- " + params["uri"])
        open(name + ".given-up", "w").close()
        result = {}
    elif method == "subscriptions/listen":
        wanted = params["notifications"]
        note("+ " + wanted["resourceSubscriptions"][0])
        listening[id] = wanted["resourceSubscriptions"][0]
        meta = {"io.modelcontextprotocol/subscriptionId": id}
        send({"method": "notifications/subscriptions/acknowledged", "params": {"notifications": wanted, "_meta": meta}})
        continue
    elif method == "notifications/cancelled" and params["requestId"] in listening:
        note("- " + listening.pop(params["requestId"]))
        open(name + ".given-up", "w").close()
        continue
    elif method == "tools/call" and params["name"].endswith("die"):
        os._exit(7)
    elif method == "tools/call":
        uri = params["arguments"]["uri"]
        ids = [key for key, value in listening.items() if value == uri] or [None]
        meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": ids[0]}} if era == "newer" else {}
        send({"method": "notifications/resources/updated", "params": {"uri": uri, **meta}})
        result = {"content": [{"type": "text", "text": "touched"}]}
    elif method and id is not None:
        send({"id": id, "error": {"code": -32601, "message": "no such method"}})
        continue
    else:
        continue
    if era == "newer":
        result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    send({"id": id, "result": result})
"#;

/// A run at whose first step nothing of `db` may be followed.
const REVIEW: &str = r#"{ "nodes": { "start": { "type": "start" },
  "look": { "type": "task", "instructions": "Look away.", "deny": ["mcp:db/resources/subscribe"] },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "look" }, { "from": "look", "to": "done" }] }
"#;

fn project(era: &str) -> Project {
    let project = Project::new();
    project.serve_by_gate(SERVER, &[&["db", era], &["web", "silent"]]);
    project.write(".flow/workflows/review.json", REVIEW);
    project
}

fn client(project: &Project) -> Wire {
    let mut wire = Wire::to(project.command(&["gate", "--mcp", "servers.json"]));
    let greeting = wire.shake_hands("2025-11-25", &json!({}));
    assert_eq!(greeting["capabilities"]["resources"]["subscribe"], true, "{greeting}");
    wire
}

fn subscribe(wire: &mut Wire, uri: &str) -> Value {
    wire.request("resources/subscribe", json!({ "uri": uri }))
}

fn touch(wire: &mut Wire, uri: &str) {
    let done = wire.request("tools/call", json!({ "name": "db_touch", "arguments": { "uri": uri } }));
    assert_eq!(done["result"]["content"][0]["text"], "touched", "{done}");
}

/// The address of the next update that the client is notified of.
fn updated(wire: &mut Wire) -> Value {
    loop {
        let message = wire.next().expect("a notification");
        if message["method"] == "notifications/resources/updated" {
            return message["params"].clone();
        }
    }
}

/// What the server was asked for.
fn noted(project: &Project) -> Vec<String> {
    let text = std::fs::read_to_string(project.path().join("db.subscriptions")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The recorded subscriptions, with their decisions and their ends.
fn recorded(project: &Project) -> Vec<String> {
    let log = project.run(&["gate", "log"]);
    let entries = log["entries"].as_array().expect("entries").iter();
    let subscriptions = entries
        .filter(|entry| entry["data"]["toolName"].as_str().is_some_and(|tool| tool.ends_with("resources/subscribe")));
    let texts = subscriptions.map(|entry| {
        let data = &entry["data"];
        let text = data["decision"].as_str().or_else(|| data["outcome"].as_str()).unwrap_or_default();
        format!("{} {text}", entry["type"].as_str().unwrap_or_default())
    });
    texts.collect()
}

#[test]
fn a_session_is_notified_of_updates_until_it_unsubscribes() {
    for era in ["older", "newer"] {
        let project = project(era);
        let given_up = Fifo::at(&project.path().join("db.given-up"));
        let mut wire = client(&project);
        assert_eq!(subscribe(&mut wire, "db://rows")["result"], json!({}), "{era}");
        // The second subscription replaces the first, and the server notices nothing.
        assert_eq!(subscribe(&mut wire, "db://rows")["result"], json!({}), "{era}");
        touch(&mut wire, "db://other");
        touch(&mut wire, "db://rows");
        assert_eq!(updated(&mut wire), json!({ "uri": "db://rows" }), "{era}");
        assert_eq!(wire.request("resources/unsubscribe", json!({ "uri": "db://rows" }))["result"], json!({}));
        drop(given_up.opened());
        assert_eq!(noted(&project), ["+ db://rows", "- db://rows"], "{era}");
        touch(&mut wire, "db://rows");
        let after = std::iter::from_fn(|| wire.next_without_waiting()).find(|message| message["id"].is_null());
        assert_eq!(after, None, "{era}: nobody is subscribed");
        let pair = ["flow.tool.invoked allow", "flow.tool.answered result"];
        assert_eq!(recorded(&project), [pair, pair].concat(), "{era}");
    }
}

#[test]
fn a_client_without_a_session_listens_to_resources() {
    for era in ["older", "newer"] {
        let project = project(era);
        let given_up = Fifo::at(&project.path().join("db.given-up"));
        let mut wire = Wire::to(project.command(&["gate", "--mcp", "servers.json"]));
        wire.without_session(&json!({}));
        let wanted = json!({ "resourceSubscriptions": ["db://rows", "web://rows", "db://rows"] });
        let id = wire.ask("subscriptions/listen", json!({ "notifications": wanted }));
        let acknowledged = wire.next().expect("an acknowledgement");
        let accepted = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(*accepted, json!(["db://rows", "db://rows"]), "`web` reports no updates: {acknowledged}");
        // The acknowledgement may come before the server has answered: the first update after that is passed on.
        while noted(&project).is_empty() {
            wire.request("tools/list", json!({}));
        }
        touch(&mut wire, "db://rows");
        let update = updated(&mut wire);
        assert_eq!(update["uri"], "db://rows", "{era}");
        assert_eq!(update["_meta"]["io.modelcontextprotocol/subscriptionId"], json!(id), "{update}");
        wire.notify("notifications/cancelled", &json!({ "requestId": id }));
        drop(given_up.opened());
        assert_eq!(noted(&project), ["+ db://rows", "- db://rows"], "{era}");
    }
}

#[test]
fn a_step_denies_subscriptions_and_each_is_recorded() {
    let project = project("older");
    let mut wire = client(&project);
    let run = wire.done("Init", &json!({ "workflowType": "review" }))["run"].clone();
    wire.done("Start", &json!({ "run": run }));
    let refused = subscribe(&mut wire, "db://rows");
    let said = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused:#}"));
    assert!(said.starts_with("Refused: at `look`, `mcp__db__resources/subscribe`"), "{said}");
    assert_eq!(refused["error"]["data"]["situations"][0]["run"], run, "{refused}");
    let mut other =
        Wire::to(project.command(&["gate", "--mcp", "servers.json", "--run", run.as_str().expect("a run")]));
    other.without_session(&json!({}));
    let wanted = json!({ "resourceSubscriptions": ["db://rows"] });
    let id = other.ask("subscriptions/listen", json!({ "notifications": wanted }));
    let refused = other.response(id).expect("an answer");
    let said = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused:#}"));
    assert!(said.starts_with("Refused: at `look`, `mcp__db__resources/subscribe`"), "{said}");
    assert_eq!(noted(&project), [""; 0], "the server was not asked");
    assert_eq!(recorded(&project), ["flow.tool.invoked block", "flow.tool.invoked block"]);
}

#[test]
fn what_a_server_does_not_accept_is_an_error() {
    let project = project("older");
    let mut wire = client(&project);
    let refused = subscribe(&mut wire, "db://refused");
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().is_some_and(|said| said.contains("not this one")), "{refused}");
    let silent = subscribe(&mut wire, "web://rows");
    assert_eq!(silent["error"]["message"], "server `web` reports no changes of its resources", "{silent}");
    assert_eq!(subscribe(&mut wire, "other://1")["error"]["code"], -32002, "either could have it");
    let long = subscribe(&mut wire, &format!("db://{}", "x".repeat(9_000)));
    assert_eq!(long["error"]["code"], -32600, "{long}");
    let pair = ["flow.tool.invoked allow", "flow.tool.answered failed"];
    assert_eq!(recorded(&project), [pair, pair].concat());
}

#[test]
fn a_subscription_is_renewed_when_the_server_is_started_again() {
    for era in ["older", "newer"] {
        let project = project(era);
        let mut wire = client(&project);
        assert_eq!(subscribe(&mut wire, "db://rows")["result"], json!({}), "{era}");
        let died = wire.request("tools/call", json!({ "name": "db_die", "arguments": {} }));
        assert_eq!(died["result"]["isError"], true, "{died}");
        assert_eq!(updated(&mut wire)["uri"], "db://rows", "{era}: updates may have been missed");
        assert_eq!(noted(&project), ["+ db://rows", "+ db://rows"], "{era}");
        touch(&mut wire, "db://rows");
        assert_eq!(updated(&mut wire)["uri"], "db://rows", "{era}");
    }
}
