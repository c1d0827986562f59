//! The tools of the gates: a task is led through its phases by a client.

use std::io::Write;
use std::process::{Command, Stdio};

use portolan_runtime::service::{Options, Service};
use portolan_supervision::people::People;
use rmcp::model::CallToolRequestParams;
use rmcp::service::ClientLifecycleMode;
use serde_json::{Value, json};

use crate::support::{Project, Willing, Wire};

const SMALL: &str = "
id: small
iterationCap: 1
fields:
  branch: { type: string, until: begin }
phases:
  - { id: idle }
  - { id: begin, accept: [{ id: ready, file: ready, invariant: X-1 }] }
  - { id: work }
  - { id: test, back: work }
";

fn project() -> Project {
    let project = Project::new();
    project.write(".flow/workflows/small.yaml", SMALL);
    project
}

fn begun(project: &Project) -> Wire {
    let mut wire = project.client(&["--toolset", "gates"]);
    let state = wire.done("flow_start", &json!({ "task": "build-auth", "workflow_id": "small" }));
    assert_eq!(state["state"]["phase"], "idle", "{state:#}");
    wire
}

fn tick(wire: &mut Wire) -> Value {
    wire.done("flow_tick", &json!({}))["tick"].clone()
}

#[test]
fn a_task_is_led_through_its_phases() {
    let project = project();
    let mut wire = begun(&project);
    assert_eq!(tick(&mut wire)["to"], "begin");
    let stays = tick(&mut wire);
    assert_eq!((&stays["advanced"], &stays["failing"][0]["id"]), (&json!(false), &json!("ready")), "{stays:#}");
    let state = wire.done("flow_claim", &json!({ "values": { "branch": "feat/x" } }));
    assert_eq!((&state["state"]["branch"], &state["state"]["lastError"]), (&json!("feat/x"), &stays["reason"]));
    project.write("ready", "yes");
    assert_eq!(tick(&mut wire)["to"], "work");
    assert_eq!(tick(&mut wire)["to"], "test");
    let back = wire.done("flow_back", &json!({ "reason": "the tests fail" }));
    assert_eq!(back["tick"]["to"], "work", "{back:#}");
    assert_eq!(tick(&mut wire)["to"], "test");
    let done = tick(&mut wire);
    assert_eq!((&done["advanced"], &done["to"]), (&json!(true), &json!("idle")));
    assert_eq!(tick(&mut wire)["reason"], "No active task.");
}

#[test]
fn a_client_is_told_of_the_checks_while_they_run() {
    let project = Project::new();
    let checked = SMALL.replace("file: ready", "run: [git, --version]");
    project.write(".flow/workflows/small.yaml", &checked);
    project.run(&["trust", ".flow/workflows/small.yaml"]);
    let mut wire = begun(&project);
    assert_eq!(tick(&mut wire)["to"], "begin");
    wire.done("flow_claim", &json!({ "values": { "branch": "feat/x" } }));
    let (told, answer) = wire.watched("flow_tick", json!({}));
    let said: Vec<&str> = told.iter().filter_map(|told| told["message"].as_str()).collect();
    assert_eq!(said.first(), Some(&"checking: git --version"), "{said:?}");
    assert_eq!(answer["structuredContent"]["tick"]["to"], "work", "{answer:#}");
}

#[test]
fn what_may_not_be_is_refused_with_a_code() {
    let project = project();
    let mut wire = begun(&project);
    for (tool, arguments, code) in [
        ("flow_start", json!({ "task": "other" }), "task_under_way"),
        ("flow_start", json!({}), "invalid_arguments"),
        ("flow_claim", json!({ "values": { "phase": "test" } }), "out_of_phase"),
        ("flow_claim", json!({ "values": { "nothing": 1 } }), "bad_claim"),
        ("flow_claim", json!({ "values": 7 }), "invalid_arguments"),
        ("flow_back", json!({ "reason": "no" }), "no_way_back"),
        ("flow_override", json!({ "invariant": "*", "reason": "all" }), "bad_bypass"),
        ("flow_override", json!({ "invariant": "I-13", "reason": "quietly" }), "bad_bypass"),
        ("flow_override", json!({ "invariant": "X-1", "reason": " " }), "bad_input"),
        ("flow_abort", json!({ "outcome": "bored", "reason": "no" }), "invalid_arguments"),
        ("flow_tock", json!({}), "unknown_tool"),
    ] {
        let answer = wire.call(tool, &arguments);
        assert_eq!(answer.value["error"]["code"], code, "{tool} {arguments}: {:#}", answer.value);
        assert!(answer.is_error, "{tool} {arguments}");
    }
}

#[test]
fn a_rule_is_got_past_by_name_and_the_log_has_it() {
    let project = project();
    project.write(".portolan/guidelines.yaml", "bypass: agent\n");
    let mut wire = begun(&project);
    tick(&mut wire);
    let state = wire.done("flow_override", &json!({ "invariant": "X-1", "reason": "a spike" }));
    assert_eq!(state["state"]["bypasses"][0]["invariant"], "X-1", "{state:#}");
    assert_eq!(tick(&mut wire)["to"], "work");
    let events = project.run(&["flow", "events", "--type", "flow.bypass"]);
    let stages: Vec<&Value> =
        events["events"].as_array().into_iter().flatten().map(|event| &event["data"]["stage"]).collect();
    assert_eq!(stages, [&json!("recorded"), &json!("applied")], "{events:#}");
}

/// A task in a phase whose rule only a person gets past.
fn for_persons() -> Project {
    let project = Project::new();
    project.write(".flow/workflows/small.yaml", &SMALL.replace("X-1", "I-3"));
    project.write(".portolan/guidelines.yaml", "bypass: {I-3: human-only}\n");
    project
}

fn asking(project: &Project, capabilities: &Value) -> Wire {
    let mut wire = project.server(&["--toolset", "gates"]);
    wire.shake_hands("2025-11-25", capabilities);
    wire.done("flow_start", &json!({ "task": "build-auth", "workflow_id": "small" }));
    tick(&mut wire);
    wire
}

fn past() -> Value {
    json!({ "invariant": "I-3", "reason": "there is no tracker" })
}

fn nobody_got_past(project: &Project) {
    let events = project.run(&["flow", "events", "--type", "flow.bypass"]);
    assert_eq!(events["events"], json!([]), "{events:#}");
}

#[test]
fn the_person_at_the_client_gets_past_a_rule_or_keeps_it() {
    let project = for_persons();
    let mut wire = asking(&project, &json!({ "elicitation": {} }));
    for (reply, code) in [
        (json!({ "result": { "action": "accept", "content": { "answer": "keep" } } }), "needs_person"),
        (json!({ "result": { "action": "accept", "content": { "answer": "I-3" } } }), "needs_person"),
        (json!({ "result": { "action": "accept" } }), "needs_person"),
        (json!({ "result": { "action": "decline" } }), "needs_person"),
        (json!({ "result": { "action": "cancel" } }), "needs_person"),
        (json!({ "error": { "code": -1, "message": "no user here" } }), "not_asked"),
    ] {
        let answer = asked(&mut wire, &reply);
        assert_eq!(answer["error"]["code"], code, "{reply}: {answer:#}");
        nobody_got_past(&project);
    }
    let yes = json!({ "result": { "action": "accept", "content": { "answer": "get-past" } } });
    let state = asked(&mut wire, &yes);
    assert_eq!(state["state"]["bypasses"][0]["invariant"], "I-3", "{state:#}");
    let events = project.run(&["flow", "events", "--type", "flow.bypass"]);
    assert_eq!(events["events"][0]["data"]["by"], "the client's user", "{events:#}");
}

/// What the agent gets when the client answers so for its user.
fn asked(wire: &mut Wire, reply: &Value) -> Value {
    let id = wire.ask_tool("flow_override", &past());
    let question = wire.next().expect("a question");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let message = question["params"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("I-3 in the phase begin") && message.contains("there is no tracker"), "{message}");
    let mut response = json!({ "jsonrpc": "2.0", "id": question["id"] });
    for (name, value) in reply.as_object().into_iter().flatten() {
        response[name] = value.clone();
    }
    wire.send(&response);
    wire.answer(id, "flow_override").expect("an answer").value
}

#[test]
fn a_client_that_asks_nobody_gets_past_no_rule_for_persons() {
    let project = for_persons();
    let mut wire = asking(&project, &json!({}));
    let answer = wire.call("flow_override", &past());
    assert_eq!(answer.value["error"]["code"], "needs_person", "{:#}", answer.value);
    let help = answer.value["error"]["help"].as_str().unwrap_or_default();
    assert_eq!(help, "ask the person you work for to allow it: the request is on record");
    nobody_got_past(&project);
    // To ask again is no other request.
    wire.call("flow_override", &past());
    let events = project.run(&["flow", "events", "--type", "flow.override.requested"]);
    let requests: Vec<&Value> = events["events"].as_array().expect("a list").iter().map(|line| &line["data"]).collect();
    let request = json!({ "invariant": "I-3", "reason": "there is no tracker", "by": "wire" });
    assert_eq!(requests, [&request]);
}

#[test]
fn without_a_session_the_question_is_brought_back_answered() {
    let project = for_persons();
    drop(asking(&project, &json!({})));
    let mut wire = project.server(&["--toolset", "gates"]);
    wire.without_session(&json!({ "elicitation": {} }));
    let mut call = json!({ "name": "flow_override", "arguments": past() });
    call["inputResponses"] = json!({ "answer": { "action": "accept", "content": { "answer": "get-past" } } });
    let question = wire.request("tools/call", call.clone())["result"].clone();
    assert_eq!(question["resultType"], "input_required", "nobody had asked: {question:#}");
    nobody_got_past(&project);
    call["requestState"] = question["requestState"].clone();
    let state = wire.request("tools/call", call)["result"]["structuredContent"].clone();
    assert_eq!(state["state"]["bypasses"][0]["invariant"], "I-3", "{state:#}");
}

/// What `flow_override` comes to for the client of rmcp, whose user says yes.
async fn willing(command: Command) -> Value {
    let client = Willing("get-past").meets(command, ClientLifecycleMode::Initialize).await;
    let arguments = past().as_object().cloned().unwrap_or_default();
    let call = CallToolRequestParams::new("flow_override").with_arguments(arguments);
    let said = client.call_tool(call).await.expect("an answer").structured_content.expect("content");
    client.cancel().await.expect("a parting");
    said
}

#[tokio::test]
async fn the_client_of_rmcp_has_its_user_asked() {
    let project = for_persons();
    drop(asking(&project, &json!({})));
    let said = willing(project.command(&["serve", "--toolset", "gates"])).await;
    assert_eq!(said["state"]["bypasses"][0]["invariant"], "I-3", "{said:#}");
}

/// Has the hook of a host run below this process, so that this process is known as the host.
fn become_host(project: &Project) {
    let mut hook = project.command(&["hook", "claude-code", "SessionStart"]);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let said = json!({ "session_id": "s1", "cwd": project.path(), "source": "startup" });
    hook.stdin.take().expect("a pipe").write_all(said.to_string().as_bytes()).expect("written");
    assert!(hook.wait().expect("it ends").success());
    let hosts = std::fs::read_dir(project.person().join("hosts")).expect("hosts are remembered");
    let names: Vec<_> = hosts.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(names, [std::process::id().to_string()]);
}

#[tokio::test]
async fn a_client_that_the_agent_has_started_answers_for_nobody() {
    let project = for_persons();
    drop(asking(&project, &json!({})));
    become_host(&project);
    // The agent's shell, with whatever lies between it and the server, and a marked one.
    let serve = ["-c", "\"$0\" serve --toolset gates; true", env!("CARGO_BIN_EXE_portolan")];
    let mut shell = project.command(&[]);
    let environment: Vec<_> =
        shell.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    shell = Command::new("sh");
    shell.args(serve).current_dir(project.path()).envs(environment);
    let mut marked = project.command(&["serve", "--toolset", "gates"]);
    marked.env("CLAUDECODE", "1");
    for (command, sign) in [(shell, "another program runs between"), (marked, "`CLAUDECODE` is set")] {
        let said = willing(command).await;
        assert_eq!(said["error"]["code"], "needs_person", "{said:#}");
        assert!(said["error"]["message"].as_str().is_some_and(|text| text.contains(sign)), "{said:#}");
        nobody_got_past(&project);
    }
    // The host's own server.
    let said = willing(project.command(&["serve", "--toolset", "gates"])).await;
    assert_eq!(said["state"]["bypasses"][0]["invariant"], "I-3", "{said:#}");
}

#[tokio::test]
async fn where_there_is_a_passphrase_no_form_takes_its_place() {
    let project = for_persons();
    drop(asking(&project, &json!({})));
    let options = Options { trust: Some(project.person()), ..Options::of(project.path()) };
    People::of(&Service::new(options).expect("a service")).set_passphrase("three plain words").expect("it is set");
    let said = willing(project.command(&["serve", "--toolset", "gates"])).await;
    assert_eq!(said["error"]["code"], "needs_person", "{said:#}");
    let help = said["error"]["help"].as_str().unwrap_or_default();
    assert_eq!(help, "ask the person you work for to allow it: the request is on record");
    nobody_got_past(&project);
}
