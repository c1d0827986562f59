//! Calls that wait at `portolan gate`, in the inbox: a real gate parks them, and a passkey of a person decides.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::passkeys::{Authenticator, enrol, outcome_text};
use super::{Answer, Studio};
use crate::support::Project;

/// A server with one tool, which repeats its arguments.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        server = {"name": "db", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        result = {"tools": [{"name": "pay", "description": "Pays.", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": json.dumps(message["params"]["arguments"])}]}
    else:
        result = {}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

const GUARD: &str = "
guards:
  - id: payments
    tools: ['mcp:db/pay']
    when: arguments.amount > 100
    decision: ask
    reason: a person confirms payments of more than 100
";

/// A client of a gate.
struct Gate {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Gate {
    fn of(project: &Project) -> Gate {
        let mut command = project.command(&["gate", "--mcp", "servers.json", "--toolset", "none"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let mut gate = Gate { child, input, output: BufReader::new(output), last: 0 };
        let client = json!({ "name": "pilot", "version": "1" });
        gate.request(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        );
        gate.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        gate
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("it reads");
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("it writes") > 0, "the gate ended");
            let message: Value = serde_json::from_str(&line).expect("it is JSON");
            if message["id"] == self.last && message.get("method").is_none() {
                return message["result"].clone();
            }
        }
    }

    fn pays(&mut self, arguments: &Value) -> Value {
        self.request("tools/call", &json!({ "name": "pay", "arguments": arguments }))
    }

    /// Makes a call that waits, and returns the token.
    fn parks(&mut self, arguments: &Value) -> String {
        let refused = self.pays(arguments);
        assert_eq!(refused["isError"], true, "{refused}");
        let text = refused["content"][0]["text"].as_str().expect("a text");
        text.split("portolan gate allow ").nth(1).and_then(|rest| rest.get(..13)).expect("a token").to_owned()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn project() -> Project {
    let project = Project::new();
    project.write("db.py", SERVER);
    let servers = json!({ "mcpServers": { "db": { "command": "python3", "args": ["db.py"] } } });
    project.write("servers.json", servers.to_string());
    project.write(".portolan/plugins.yaml", GUARD);
    assert!(project.says("trust servers.json").ends_with("exit: 0\n"));
    project
}

fn call_of(studio: &Studio, token: &str) -> Value {
    let inbox = studio.get("/inbox").json();
    let mut calls = inbox["calls"].as_array().expect("a list").iter();
    calls.find(|call| call["token"] == token).unwrap_or_else(|| panic!("{inbox:#}")).clone()
}

/// A decision about a call as it is listed.
fn decision(call: &Value, word: &str) -> Value {
    json!({ "decision": word, "digest": call["digest"] })
}

fn post(studio: &Studio, call: &Value, what: &str, body: &Value) -> Answer {
    studio.post(&format!("/inbox/calls/{}/{what}", call["token"].as_str().expect("a token")), body)
}

/// A decision with a passkey's confirmation of another or the same decision about another or the same call.
fn confirmed(studio: &Studio, laptop: &Authenticator, signed: (&Value, &str), given: (&Value, &str)) -> String {
    let asked = post(studio, signed.0, "challenge", &decision(signed.0, signed.1)).json();
    let mut body = decision(given.0, given.1);
    body["passkey"] = laptop.confirmed(&asked["challenge"]);
    outcome_text(&post(studio, given.0, "answer", &body))
}

#[test]
fn a_passkey_allows_one_call_once_and_no_other() {
    let project = project();
    let mut gate = Gate::of(&project);
    let studio = Studio::of(&project, &[]);
    assert_eq!(studio.get("/inbox").json(), json!({ "questions": [], "calls": [], "requests": [], "unread": null }));
    let token = gate.parks(&json!({ "amount": 500 }));
    let call = call_of(&studio, &token);
    for (field, value) in [
        ("server", json!("db")),
        ("tool", json!("pay")),
        ("arguments", json!("{\n  \"amount\": 500\n}")),
        ("client", json!("pilot")),
        ("reason", json!("a person confirms payments of more than 100")),
        ("passkey", json!(false)),
    ] {
        assert_eq!(call[field], value, "{call:#}");
    }
    let folder = project.path();
    assert_eq!(call["commands"]["allow"], format!("portolan gate allow {token} --project {}", folder.display()));
    assert_eq!(studio.get("/project").json()["inbox"], 1);

    let refused = post(&studio, &call, "answer", &decision(&call, "allow"));
    assert_eq!(outcome_text(&refused), "403 needs_person");
    assert!(refused.body.contains(&format!("portolan gate allow {token} --project")), "{}", refused.body);
    assert_eq!(outcome_text(&post(&studio, &call, "challenge", &decision(&call, "allow"))), "422 no_passkey");

    let mut laptop = enrol(&project, "");
    laptop.port = studio.port;
    let call = call_of(&studio, &token);
    assert_eq!(call["passkey"], true);
    let other = gate.parks(&json!({ "amount": 501 }));
    let other = call_of(&studio, &other);
    let (allow, refuse) = ((&call, "allow"), (&call, "refuse"));
    assert_eq!(outcome_text(&post(&studio, &call, "answer", &decision(&call, "allow"))), "403 needs_person");
    assert_eq!(confirmed(&studio, &laptop, refuse, allow), "422 other_answer");
    assert_eq!(confirmed(&studio, &laptop, (&other, "allow"), allow), "422 other_answer");
    let mut stranger = Authenticator::new();
    stranger.port = studio.port;
    assert_eq!(confirmed(&studio, &stranger, allow, allow), "422 wrong_passkey");
    // The token of one call with the digest of another.
    let mut mixed = other.clone();
    mixed["token"] = call["token"].clone();
    assert_eq!(outcome_text(&post(&studio, &mixed, "challenge", &decision(&mixed, "allow"))), "409 stale");
    for body in [json!({}), json!({ "decision": "allow" }), json!({ "decision": "always", "digest": call["digest"] })] {
        assert_eq!(outcome_text(&post(&studio, &call, "answer", &body)), "400 bad_request", "{body}");
    }
    assert_eq!(gate.parks(&json!({ "amount": 500 })), token, "nobody has decided");

    assert_eq!(confirmed(&studio, &laptop, allow, allow), "200");
    // A second decision is refused, here and in the terminal.
    assert_eq!(outcome_text(&post(&studio, &call, "challenge", &decision(&call, "refuse"))), "404 unknown_token");
    assert_eq!(outcome_text(&post(&studio, &call, "answer", &decision(&call, "refuse"))), "404 unknown_token");
    let said = project.says(&format!("gate refuse {token}"));
    assert!(said.contains("no call waits for an answer") && said.ends_with("exit: 2\n"), "{said}");
    assert_eq!(studio.get("/project").json()["inbox"], 1);
    let log = std::fs::read_to_string(project.path().join(".portolan/flow-events.jsonl")).expect("a log");
    let reply = log.lines().find(|line| line.contains("reply.received") && line.contains(&token)).expect("a reply");
    assert!(reply.contains("\"via\":\"passkey\"") && reply.contains("\"by\":\"ada\""), "{reply}");

    let other_token = other["token"].as_str().expect("a token");
    assert_eq!(gate.parks(&json!({ "amount": 501 })), other_token, "another call was not allowed");
    let done = gate.pays(&json!({ "amount": 500 }));
    assert_eq!((&done["isError"], &done["content"][0]["text"]), (&Value::Null, &json!("{\"amount\": 500}")), "{done}");
    assert_ne!(gate.parks(&json!({ "amount": 500 })), token, "it passed once");
    assert_eq!(confirmed(&studio, &laptop, (&other, "refuse"), (&other, "refuse")), "200");
    let refused = gate.pays(&json!({ "amount": 501 }))["content"][0]["text"].to_string();
    assert!(refused.contains("ada has refused this call"), "{refused}");
}

#[test]
fn a_studio_that_only_shows_decides_about_no_call() {
    let project = project();
    let mut gate = Gate::of(&project);
    let token = gate.parks(&json!({ "amount": 500 }));
    let laptop = enrol(&project, "");
    let mut command = project.command(&["studio", "--format", "json"]);
    command.env("CLAUDECODE", "1");
    for (studio, code) in
        [(Studio::of(&project, &["--read-only"]), "403 read_only"), (Studio::started(command), "403 needs_person")]
    {
        let call = call_of(&studio, &token);
        assert_eq!(call["passkey"], false);
        let mut body = decision(&call, "allow");
        assert_eq!(outcome_text(&post(&studio, &call, "challenge", &body)), code);
        body["passkey"] = laptop.confirmed(&json!("x"));
        assert_eq!(outcome_text(&post(&studio, &call, "answer", &body)), code);
    }
    assert_eq!(gate.parks(&json!({ "amount": 500 })), token);
}

#[test]
fn what_another_process_parks_or_decides_is_told() {
    let project = project();
    let studio = Studio::of(&project, &[]);
    let mut stream = studio.events("", None);
    let mut gate = Gate::of(&project);
    let token = gate.parks(&json!({ "amount": 500 }));
    stream.wait_for("calls");
    let call = call_of(&studio, &token);
    let standing = project.says("--format json");
    assert!(standing.contains("\"waitingCalls\": 1") && standing.contains("portolan gate waiting"), "{standing}");
    assert!(project.says(&format!("gate allow {token} --yes")).ends_with("exit: 0\n"));
    stream.wait_for("calls");
    assert_eq!(studio.get("/inbox").json()["calls"], json!([]));
    assert_eq!(outcome_text(&post(&studio, &call, "answer", &decision(&call, "refuse"))), "404 unknown_token");
    assert!(project.says("--format json").contains("\"waitingCalls\": 0"));
}

#[test]
fn arguments_are_shown_as_they_are_or_not_at_all() {
    let project = project();
    let studio = Studio::of(&project, &[]);
    let mut gate = Gate::of(&project);
    let hidden = gate.parks(&json!({ "amount": 500, "to": "<b>\u{202e}you\u{200b}</b>\n" }));
    let shown = call_of(&studio, &hidden)["arguments"].clone();
    assert_eq!(shown, "{\n  \"amount\": 500,\n  \"to\": \"<b>\\u{202e}you\\u{200b}</b>\\n\"\n}");

    let long = gate.parks(&json!({ "amount": 500, "note": "x".repeat(40_000) }));
    let mut laptop = enrol(&project, "");
    laptop.port = studio.port;
    let long = call_of(&studio, &long);
    assert_eq!((&long["arguments"], &long["passkey"]), (&Value::Null, &json!(false)));
    let mut body = decision(&long, "allow");
    assert_eq!(outcome_text(&post(&studio, &long, "challenge", &body)), "400 too_large");
    body["passkey"] = laptop.confirmed(&json!("x"));
    assert_eq!(outcome_text(&post(&studio, &long, "answer", &body)), "400 too_large");
    assert!(project.says("gate waiting").contains(&"x".repeat(40_000)), "the terminal shows all of them");
}

#[test]
fn calls_that_cannot_be_read_hide_no_question() {
    let mut project = Project::small();
    project.run("small", "passed failed passed failed");
    // A file in the place of the folder of calls.
    std::fs::create_dir_all(project.person()).expect("a folder");
    std::fs::write(project.person().join("gateway"), "").expect("a file");
    let studio = Studio::of(&project, &[]);
    let inbox = studio.get("/inbox").json();
    assert_eq!((inbox["questions"].as_array().map(Vec::len), &inbox["calls"]), (Some(1), &json!([])), "{inbox:#}");
    assert_eq!(inbox["unread"]["code"], "trust_unguarded", "{inbox:#}");
    assert_eq!(studio.get("/project").json()["inbox"], 1);
    let decision = json!({ "decision": "allow", "digest": "0".repeat(64) });
    assert_eq!(outcome_text(&studio.post("/inbox/calls/q1/answer", &decision)), "500 trust_unguarded");
}
