//! The project's guards before the tools of other servers: arguments, counts, sums, and calls that a person decides about.

use std::panic::{catch_unwind, resume_unwind};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use rmcp::model::CallToolRequestParams;
use rmcp::service::ClientLifecycleMode;
use serde_json::{Value, json};

use super::gateway::{GATE, REVIEW, begun, call, client, made, says, text, usual};
use crate::support::{Willing, Wire};

/// A guard of the project reads the values of the arguments, whichever way the call comes.
const PAYMENTS: &str = "
guards:
  - id: large-payments
    tools: ['mcp:db/write']
    when: arguments.amount > 100
    decision: ask
    reason: a person confirms payments of more than 100
";

#[test]
fn a_guard_reads_the_arguments() {
    let project = usual();
    project.write(".portolan/plugins.yaml", PAYMENTS);
    let mut wire = client(&project, &["--toolset", "none"]);
    assert_eq!(call(&mut wire, "write", json!({ "amount": 100 }))["isError"], false);
    let refused = call(&mut wire, "write", json!({ "amount": 101 }));
    assert!(text(&refused).starts_with("Refused: a person confirms payments of more than 100"), "{refused}");
    let undecided = call(&mut wire, "write", json!({ "amount": "much" }));
    assert!(text(&undecided).contains("the guard `large-payments` cannot decide"), "{undecided}");
    assert_eq!(call(&mut wire, "query", json!({ "amount": 101 }))["isError"], false);
    assert_eq!(made(&project), ["write", "query"]);
}

const SELDOM: &str = "
guards:
  - id: seldom
    tools: ['mcp:db/write']
    when: calls.step >= 2 or calls.run >= 3
    reason: two writes at a step and three in a run are enough
";

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_guard_counts_the_calls_of_the_run_and_of_the_step() {
    let project = usual();
    project.write(".portolan/plugins.yaml", SELDOM);
    project.write(".flow/workflows/review.json", &REVIEW.replace("mcp:db/write", "mcp:db/drop"));
    let mut wire = client(&project, &[]);
    let now = begun(&mut wire);
    let writes = |wire: &mut Wire, wanted: usize| {
        (0..wanted).filter(|_| call(wire, "write", json!({}))["isError"] == false).count()
    };
    assert_eq!(writes(&mut wire, 4), 2);
    assert_eq!(call(&mut wire, "query", json!({}))["isError"], false);
    wire.done("Next", &now["actions"]["required"][0]["arguments"]);
    assert_eq!(writes(&mut wire, 3), 1);
    let refused = call(&mut wire, "write", json!({}));
    assert!(text(&refused).starts_with("Refused: two writes at a step and three in a run"), "{refused}");
    assert_eq!(made(&project), ["write", "write", "query", "write"]);
    // Calls that arrive together count each other.
    let mut other = client(&project, &[]);
    std::fs::remove_dir_all(project.path().join(".portolan/bindings")).expect("the earlier run bound it");
    begun(&mut other);
    let asked: Vec<u64> = (0..8).map(|_| other.ask_tool("write", &json!({}))).collect();
    let answers = asked.into_iter().map(|id| other.response(id).expect("an answer"));
    assert_eq!(answers.filter(|answer| answer["result"]["isError"] == false).count(), 2);
}

#[test]
fn a_call_that_no_dialog_can_ask_about_waits_for_a_person() {
    let project = usual();
    project.write(".portolan/plugins.yaml", PAYMENTS);
    let payment = || json!({ "amount": 500, "note": "s3cret" });
    let mut wire = client(&project, &["--toolset", "none"]);
    let token = |refused: &Value| {
        let said = text(refused);
        assert!(
            said.starts_with("Refused: a person confirms payments of more than 100\n- a person must allow it"),
            "{said}"
        );
        said.split("portolan gate allow ").nth(1).and_then(|rest| rest.get(..13)).expect("a token").to_owned()
    };
    let first = token(&call(&mut wire, "write", payment()));
    assert_eq!(token(&call(&mut wire, "write", payment())), first, "it is asked once");
    let second = token(&call(&mut wire, "write", json!({ "amount": 900 })));
    let (said, _) = says(&project, &["gate", "waiting"]);
    assert!(said.contains(&first) && said.contains(&second) && said.contains("\"amount\": 500"), "{said}");
    assert!(says(&project, &["supervisor", "list"]).0.contains(&first));
    let agent = project.command(&["gate", "allow", &first, "--yes"]).env("CLAUDECODE", "1").output().expect("it runs");
    assert!(String::from_utf8_lossy(&agent.stderr).contains("only a person may allow or refuse calls"));
    // An answer to the question alone is no permission: an agent could have given it.
    says(&project, &["supervisor", "reply", &first, "allow"]);
    assert_eq!(call(&mut wire, "write", payment())["isError"], true);
    let (said, code) = says(&project, &["gate", "allow", &first, "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(call(&mut wire, "write", json!({ "amount": 501 }))["isError"], true, "these are other arguments");
    assert_eq!(call(&mut wire, "write", payment())["isError"], false);
    assert_ne!(token(&call(&mut wire, "write", payment())), first, "it passes once");
    assert_eq!(says(&project, &["gate", "refuse", &second]).1, Some(0));
    let refused = call(&mut wire, "write", json!({ "amount": 900 }));
    assert!(text(&refused).contains("has refused this call"), "{refused}");
    let (said, code) = says(&project, &["gate", "allow", &second, "--yes"]);
    assert!(said.contains("no call waits for an answer") && code == Some(2), "{said}");
    assert_eq!(made(&project), ["write"]);
    let log = std::fs::read_to_string(project.path().join(".portolan/flow-events.jsonl")).expect("a log");
    assert!(!log.contains("s3cret"), "values of arguments are not recorded");
}

/// What `write` comes to for the client of rmcp, whose user gives this answer.
async fn paid(command: Command, answer: &'static str) -> Value {
    let client = Willing(answer).meets(command, ClientLifecycleMode::Initialize).await;
    let arguments = json!({ "amount": 500 }).as_object().cloned().unwrap_or_default();
    let said = client.call_tool(CallToolRequestParams::new("write").with_arguments(arguments)).await.expect("answered");
    client.cancel().await.expect("a parting");
    serde_json::to_value(said).expect("JSON")
}

#[tokio::test]
async fn a_person_is_asked_in_the_dialog_of_the_client() {
    let project = usual();
    project.write(".portolan/plugins.yaml", PAYMENTS);
    let gate = || project.command(&[&GATE[..], &["--toolset", "none"]].concat());
    let refused = paid(gate(), "refuse").await;
    assert!(text(&refused).starts_with("Refused: a person confirms"), "{refused}");
    let done = paid(gate(), "allow").await;
    assert_eq!((&done["isError"], made(&project)), (&json!(false), vec!["write".to_owned()]));
    let entries = project.run(&["gate", "log"])["entries"].clone();
    let by_person = |entry: &&Value| entry["data"]["guardId"] == "person";
    let allowed = entries.as_array().expect("entries").iter().find(by_person).expect("it is on record").clone();
    assert_eq!(allowed["type"], "flow.guard.allow");
    assert!(allowed["data"]["reason"].as_str().is_some_and(|why| why.starts_with("the client's user allowed it: ")));
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn what_is_denied_while_a_person_thinks_is_refused() {
    let project = usual();
    project.write(".portolan/plugins.yaml", PAYMENTS);
    let mut wire = Wire::to(project.command(&GATE));
    wire.shake_hands("2025-11-25", &json!({ "elicitation": {} }));
    let id = wire.ask_tool("write", &json!({ "amount": 500 }));
    let question = wire.next().expect("a question");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    begun(&mut wire);
    let answer = json!({ "action": "accept", "content": { "answer": "allow" } });
    wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    let refused = wire.response(id).expect("an answer")["result"].clone();
    assert!(text(&refused).starts_with("Refused: at `look`"), "{refused}");
    assert!(made(&project).is_empty());
}

#[test]
fn without_a_session_the_question_comes_back_with_its_answer() {
    let project = usual();
    project.write(".portolan/plugins.yaml", PAYMENTS);
    let mut wire = Wire::to(project.command(&[&GATE[..], &["--toolset", "none"]].concat()));
    wire.without_session(&json!({ "elicitation": {} }));
    let mut wanted = json!({ "name": "write", "arguments": { "amount": 500 } });
    let question = wire.request("tools/call", wanted.clone())["result"].clone();
    assert_eq!(question["resultType"], "input_required", "{question:#}");
    wanted["inputResponses"] = json!({ "answer": { "action": "accept", "content": { "answer": "allow" } } });
    wanted["requestState"] = question["requestState"].clone();
    // The answer is to these arguments.
    let mut other = wanted.clone();
    other["arguments"]["amount"] = json!(501);
    assert_eq!(wire.request("tools/call", other)["result"]["resultType"], "input_required");
    assert!(made(&project).is_empty());
    wanted["_meta"] = json!({ "traceparent": "00-1-2-03" });
    let done = wire.request("tools/call", wanted)["result"].clone();
    assert_eq!((&done["isError"], &done["resultType"]), (&json!(false), &json!("complete")));
    // What the protocol says of this connection is not passed on; the rest is.
    assert!(
        text(&done).contains(r#""traceparent": "00-1-2-03""#) && !text(&done).contains("modelcontextprotocol"),
        "{done}"
    );
    assert_eq!(made(&project), ["write"]);
}

const DAILY: &str = "
guards:
  - id: often
    tools: ['mcp:db/query']
    total: { most: 2, per: day }
    reason: two queries a day
  - id: money
    tools: ['mcp:db/write']
    total: { argument: amount, most: 100, per: day }
    reason: 100 a day
";

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_day_has_limits_that_a_restart_does_not_forget() {
    let today = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() / (24 * 60 * 60);
    let day = today();
    if let Err(failure) = catch_unwind(spends_the_limits_of_a_day) {
        if today() == day {
            resume_unwind(failure);
        }
        // The day, by whose end the limits begin anew, ended meanwhile.
        spends_the_limits_of_a_day();
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn spends_the_limits_of_a_day() {
    let project = usual();
    project.write(".portolan/plugins.yaml", DAILY);
    let mut wire = client(&project, &[]);
    let pays = |wire: &mut Wire, amount: u32| call(wire, "write", json!({ "amount": amount }))["isError"] == false;
    assert_eq!(call(&mut wire, "query", json!({}))["isError"], false);
    assert!(pays(&mut wire, 60) && !pays(&mut wire, 41));
    drop(wire);
    let mut wire = client(&project, &[]);
    // Calls in a run and outside of one count together.
    begun(&mut wire);
    assert_eq!(call(&mut wire, "query", json!({}))["isError"], false);
    let refused = call(&mut wire, "query", json!({}));
    let said = text(&refused).lines().next().unwrap_or_default();
    let (begin, until) = said.split_once(", until ").expect("the end of the day");
    assert_eq!(begin, "Refused: two queries a day (2 of 2 calls were used before today");
    assert!(until.ends_with("T00:00:00Z)"), "{refused}");
    let refused = call(&mut wire, "write", json!({ "amount": 41 }));
    assert!(text(&refused).contains("100 a day (60 of 100 `amount` were used before today"), "{refused}");
    assert_eq!(made(&project), ["query", "write", "query"]);
}

/// A run with two branches, of which one may not query.
const FORKED: &str = r#"{ "nodes": { "start": { "type": "start" },
  "split": { "type": "fork", "join": "merge" },
  "logs": { "type": "task", "instructions": "Read the logs.", "deny": ["mcp:db/query"] },
  "metrics": { "type": "task", "instructions": "Read the metrics." },
  "merge": { "type": "join", "fork": "split" },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "split" }, { "from": "split", "to": "logs" }, { "from": "split", "to": "metrics" },
  { "from": "logs", "to": "merge", "on": "passed" }, { "from": "metrics", "to": "merge", "on": "passed" },
  { "from": "merge", "to": "done", "on": "passed" }] }
"#;

const EXCLUSIVE: &str = "
guards:
  - id: one-writes
    tools: ['mcp:db/write']
    exclusive: true
    reason: one branch at a time writes
";

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn of_several_branches_a_call_names_its_own() {
    let project = usual();
    project.write(".portolan/plugins.yaml", EXCLUSIVE);
    project.write(".flow/workflows/review.json", FORKED);
    let mut wire = client(&project, &[]);
    let made_for = |wire: &mut Wire, tool: &str, branch: &str| {
        let meta = json!({ "portolan/branch": branch });
        wire.request("tools/call", json!({ "name": tool, "arguments": {}, "_meta": meta }))["result"].clone()
    };
    assert_eq!(call(&mut wire, "write", json!({}))["isError"], false, "no run has branches");
    begun(&mut wire);
    let refused = call(&mut wire, "write", json!({}));
    assert!(
        text(&refused).starts_with("Refused: one branch at a time writes (name your branch in `_meta`"),
        "{refused}"
    );
    let branches = refused["structuredContent"]["situations"][0]["situation"]["position"]["branches"].clone();
    let names: Vec<&str> =
        branches.as_array().expect("branches").iter().filter_map(|it| it["branch"].as_str()).collect();
    assert_eq!(names, ["logs", "metrics"], "{refused}");
    assert_eq!(made_for(&mut wire, "write", "traces")["isError"], true);
    let done = made_for(&mut wire, "write", "logs");
    assert_eq!(done["isError"], false, "{done}");
    assert!(!text(&done).contains("portolan/branch"), "it is not for the server: {done}");
    // One of the branches allows it, and the call is made for the other one.
    assert_eq!(call(&mut wire, "query", json!({}))["isError"], false);
    assert_eq!(made_for(&mut wire, "query", "logs")["isError"], true);
    assert_eq!(made_for(&mut wire, "query", "metrics")["isError"], false);
    assert_eq!(made(&project), ["write", "write", "query", "query"]);
}

const MONEY: &str = "
guards:
  - id: money
    tools: ['mcp:db/write']
    total: { argument: amount, most: 100 }
    reason: a run spends 100 at most
  - id: no-way-out
    tools: ['mcp:db/query']
    when: '\"mcp:db/write\" in called'
    reason: nothing is asked after a payment
";

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_guard_adds_up_what_a_run_spends() {
    let project = usual();
    project.write(".portolan/plugins.yaml", MONEY);
    project.write(".flow/workflows/review.json", &REVIEW.replace("mcp:db/write", "mcp:db/drop"));
    let mut wire = client(&project, &[]);
    let pays = |wire: &mut Wire, amount: Value| call(wire, "write", json!({ "amount": amount, "to": "s3cret" }));
    assert_eq!(pays(&mut wire, json!(100))["isError"], false, "no run has a sum of it");
    let now = begun(&mut wire);
    assert_eq!(call(&mut wire, "query", json!({}))["isError"], false);
    assert_eq!(pays(&mut wire, json!(60))["isError"], false);
    let refused = call(&mut wire, "query", json!({}));
    assert!(text(&refused).starts_with("Refused: nothing is asked after a payment"), "{refused}");
    let refused = pays(&mut wire, json!(41));
    assert!(text(&refused).starts_with("Refused: a run spends 100 at most"), "{refused}");
    wire.done("Next", &now["actions"]["required"][0]["arguments"]);
    // Payments that arrive together count each other.
    let asked: Vec<u64> = (0..4).map(|_| wire.ask_tool("write", &json!({ "amount": 15 }))).collect();
    let answers = asked.into_iter().map(|id| wire.response(id).expect("an answer"));
    assert_eq!(answers.filter(|answer| answer["result"]["isError"] == false).count(), 2);
    let refused = pays(&mut wire, json!(-50));
    assert!(
        text(&refused).contains("the guard `money` cannot decide: the argument `amount` is not a number"),
        "{refused}"
    );
    assert_eq!(pays(&mut wire, json!(10))["isError"], false);
    assert_eq!(pays(&mut wire, json!(0.5))["isError"], true);
    assert_eq!(made(&project), ["write", "query", "write", "write", "write", "write"]);
    let log = std::fs::read_to_string(project.path().join(".portolan/flow-events.jsonl")).expect("a log");
    assert!(log.contains(r#""amounts":{"amount":60.0}"#) && !log.contains("s3cret"), "{log}");
}
