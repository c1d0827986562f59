//! Questions to a person: whose answer counts, and by which channel it may come.

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::ClientLifecycleMode;
use serde_json::{Value, json};

use crate::support::{Project, Willing, Wire, offered};

/// A task, then a question to a person with two ways on.
fn asking() -> Project {
    let project = Project::new();
    let nodes = json!({
        "s": { "type": "start" },
        "work": { "type": "task" },
        "ask": { "type": "end", "result": "blocked", "escalation": "hitl", "description": "May it be published?" },
        "done": { "type": "end", "result": "success" },
        "dropped": { "type": "end", "result": "failure" },
    });
    let edges = json!([
        { "from": "s", "to": "work" },
        { "from": "work", "to": "ask" },
        { "from": "ask", "to": "done", "on": "passed" },
        { "from": "ask", "to": "dropped", "on": "failed" },
    ]);
    project.workflow("asking", &nodes, &edges);
    project
}

/// Leads a run to its question.
fn at_question(wire: &mut Wire) -> Value {
    let opened = wire.done("Init", &json!({ "workflowType": "asking" }));
    let working = wire.take(&offered(&opened)[0]);
    let waiting = wire.take(&offered(&working)[0]);
    assert_eq!((&waiting["state"], &waiting["terminal"]), (&json!("waiting"), &json!("hitl")));
    waiting
}

fn answer_to(waiting: &Value, result: &str) -> Value {
    json!({ "run": waiting["run"], "revision": waiting["position"]["revision"], "result": result })
}

fn unmoved(wire: &mut Wire, waiting: &Value) {
    let now = wire.done("Current", &json!({ "run": waiting["run"] }));
    assert_eq!((&now["state"], &now["position"]), (&waiting["state"], &waiting["position"]));
}

/// Who gave the last answer, by the journal.
fn answered_by(project: &Project, run: &Value) -> Value {
    let records = project.records(run.as_str().expect("a handle"));
    let mut by = records.iter().map(|record| &record["event"]["by"]);
    by.rfind(|by| **by != json!("engine")).expect("a record").clone()
}

#[test]
fn an_attested_answer_is_recorded_as_relayed() {
    let project = asking();
    let mut wire = project.client(&[]);
    let waiting = at_question(&mut wire);
    assert!(waiting["instructions"].as_str().is_some_and(|text| text.contains("relay their answer")), "{waiting:#}");
    let mut yes = answer_to(&waiting, "passed");
    yes["note"] = json!("Ada said yes");
    assert_eq!(wire.done("Next", &yes)["terminal"], "success");
    assert_eq!(answered_by(&project, &waiting["run"])["person"], json!({ "name": "wire", "via": "attested" }));
}

#[test]
fn where_the_client_cannot_ask_only_the_command_line_answers() {
    let project = asking();
    let mut wire = project.client(&["--human", "verified"]);
    let waiting = at_question(&mut wire);
    assert_eq!(offered(&waiting), Vec::<Value>::new(), "{waiting:#}");
    let lifted = waiting["actions"]["blocked"][0]["liftedBy"].as_str().expect("a way");
    assert!(lifted.contains("portolan runs answer"), "{lifted}");
    for result in ["passed", "failed", "cancelled"] {
        let error = wire.refused("Next", &answer_to(&waiting, result), "needs_person");
        assert_eq!(error["currentStep"], "ask");
        unmoved(&mut wire, &waiting);
    }
    project.run(&["runs", "answer", waiting["run"].as_str().expect("a handle"), "passed"]);
    assert_eq!(wire.done("Current", &json!({ "run": waiting["run"] }))["terminal"], "success");
    assert_eq!(answered_by(&project, &waiting["run"])["person"]["via"], "command_line");
}

/// A client of a revision with sessions, whose user can be asked.
fn with_user(project: &Project) -> Wire {
    let mut wire = project.server(&["--human", "verified"]);
    wire.shake_hands("2025-11-25", &json!({ "elicitation": {} }));
    wire
}

/// Makes the call at a question, and answers for the person what is given. Returns what the agent gets.
fn asked(wire: &mut Wire, waiting: &Value, reply: &Value) -> crate::support::Answer {
    let id = wire.ask_tool("Next", &answer_to(waiting, "failed"));
    let question = wire.next().expect("a question");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let form = &question["params"];
    assert_eq!(form["message"], "asking · ask\n\nMay it be published?");
    assert_eq!(form["requestedSchema"]["properties"]["answer"]["enum"], json!(["passed", "failed", "cancelled"]));
    assert_eq!(form["requestedSchema"]["required"], json!(["answer"]));
    let mut response = json!({ "jsonrpc": "2.0", "id": question["id"] });
    for (name, value) in reply.as_object().into_iter().flatten() {
        response[name] = value.clone();
    }
    wire.send(&response);
    wire.answer(id, "Next").expect("an answer")
}

#[test]
fn in_a_session_the_person_at_the_client_is_asked() {
    let project = asking();
    let mut wire = with_user(&project);
    let waiting = at_question(&mut wire);
    for (reply, code) in [
        (json!({ "result": { "action": "decline" } }), "needs_person"),
        (json!({ "result": { "action": "cancel" } }), "needs_person"),
        (json!({ "result": { "action": "accept" } }), "needs_person"),
        (json!({ "result": { "action": "accept", "content": { "answer": "maybe" } } }), "needs_person"),
        (json!({ "result": { "action": "accept", "content": { "answer": ["passed"] } } }), "needs_person"),
        (json!({ "result": { "action": "accept", "content": { "other": "passed" } } }), "needs_person"),
        (json!({ "result": { "action": "perhaps", "content": { "answer": "passed" } } }), "not_asked"),
        (json!({ "result": { "foo": "bar" } }), "not_asked"),
        (json!({ "error": { "code": -1, "message": "no user here" } }), "not_asked"),
    ] {
        let answer = asked(&mut wire, &waiting, &reply);
        assert_eq!(answer.code(), code, "{reply}: {:#}", answer.value);
        unmoved(&mut wire, &waiting);
    }
    // The agent said `failed`; the person says otherwise, and that is what counts.
    let yes = json!({ "result": { "action": "accept", "content": { "answer": "passed", "note": "ship it" } } });
    assert_eq!(asked(&mut wire, &waiting, &yes).value["terminal"], "success");
    assert_eq!(answered_by(&project, &waiting["run"])["person"]["via"], "elicitation");
}

#[test]
fn an_answer_to_what_was_decided_meanwhile_is_stale() {
    let project = asking();
    let mut wire = with_user(&project);
    let waiting = at_question(&mut wire);
    let id = wire.ask_tool("Next", &answer_to(&waiting, "passed"));
    let question = wire.next().expect("a question");
    project.run(&["runs", "answer", waiting["run"].as_str().expect("a handle"), "failed"]);
    let late = json!({ "action": "accept", "content": { "answer": "passed" } });
    wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": late }));
    assert_eq!(wire.answer(id, "Next").expect("an answer").code(), "stale");
    assert_eq!(wire.done("Current", &json!({ "run": waiting["run"] }))["currentStep"], "dropped");
}

#[test]
fn a_person_who_does_not_answer_holds_nobody_up() {
    let project = asking();
    let mut wire = with_user(&project);
    let waiting = at_question(&mut wire);
    let id = wire.ask_tool("Next", &answer_to(&waiting, "passed"));
    let question = wire.next().expect("a question");
    unmoved(&mut wire, &waiting);
    wire.notify("notifications/cancelled", &json!({ "requestId": id }));
    let late = json!({ "action": "accept", "content": { "answer": "passed" } });
    wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": late }));
    unmoved(&mut wire, &waiting);
    wire.ask_tool("Next", &answer_to(&waiting, "passed"));
    wire.next().expect("a question");
    wire.signal("-TERM");
    assert!(wire.ended().success());
}

/// A client of the revision without sessions, whose user can be asked.
fn without_session(project: &Project) -> Wire {
    let mut wire = project.server(&["--human", "verified"]);
    wire.without_session(&json!({ "elicitation": {} }));
    wire
}

/// Makes a call with what a client brings from its user; nothing when the server asks instead.
fn bring(wire: &mut Wire, waiting: &Value, state: &Value, responses: &Value) -> Value {
    let mut call = json!({ "name": "Next", "arguments": answer_to(waiting, "passed") });
    if !state.is_null() {
        call["requestState"] = state.clone();
    }
    if !responses.is_null() {
        call["inputResponses"] = responses.clone();
    }
    wire.request("tools/call", call)["result"].clone()
}

fn yes() -> Value {
    json!({ "answer": { "action": "accept", "content": { "answer": "passed" } } })
}

fn is_a_question(result: &Value) -> Value {
    assert_eq!(result["resultType"], "input_required", "{result:#}");
    let question = &result["inputRequests"]["answer"];
    assert_eq!(question["method"], "elicitation/create", "{result:#}");
    let state = result["requestState"].clone();
    assert!(state.as_str().is_some_and(|state| state.len() >= 16), "{result:#}");
    state
}

#[test]
fn without_a_session_the_question_is_handed_out_and_its_answer_brought() {
    let project = asking();
    let mut wire = without_session(&project);
    let waiting = at_question(&mut wire);
    let state = is_a_question(&bring(&mut wire, &waiting, &Value::Null, &Value::Null));
    unmoved(&mut wire, &waiting);
    let done = bring(&mut wire, &waiting, &state, &yes());
    assert_eq!(done["structuredContent"]["terminal"], "success", "{done:#}");
    assert_eq!(answered_by(&project, &waiting["run"])["person"]["via"], "elicitation");
}

#[test]
fn an_answer_that_nobody_asked_for_counts_for_nothing() {
    let project = asking();
    let mut wire = without_session(&project);
    let (waiting, other) = (at_question(&mut wire), at_question(&mut wire));
    let about_other = is_a_question(&bring(&mut wire, &other, &Value::Null, &Value::Null));
    for (state, responses) in [
        (Value::Null, yes()),
        (json!("0000000000000000"), yes()),
        (json!(""), yes()),
        (about_other.clone(), yes()),
        (about_other, Value::Null),
    ] {
        is_a_question(&bring(&mut wire, &waiting, &state, &responses));
        unmoved(&mut wire, &waiting);
    }
    for responses in [
        json!({}),
        json!({ "question": yes()["answer"] }),
        json!({ "answer": "passed" }),
        json!({ "answer": { "action": "sure" } }),
    ] {
        let state = is_a_question(&bring(&mut wire, &waiting, &Value::Null, &Value::Null));
        is_a_question(&bring(&mut wire, &waiting, &state, &responses));
        unmoved(&mut wire, &waiting);
    }
    for action in ["decline", "cancel"] {
        let state = is_a_question(&bring(&mut wire, &waiting, &Value::Null, &Value::Null));
        let refused = bring(&mut wire, &waiting, &state, &json!({ "answer": { "action": action } }));
        assert_eq!(refused["structuredContent"]["error"], "needs_person", "{refused:#}");
        // The same state a second time is a replay.
        is_a_question(&bring(&mut wire, &waiting, &state, &yes()));
        unmoved(&mut wire, &waiting);
    }
}

#[test]
fn an_answer_does_not_outlive_its_question() {
    let project = asking();
    let mut wire = without_session(&project);
    let waiting = at_question(&mut wire);
    let state = is_a_question(&bring(&mut wire, &waiting, &Value::Null, &Value::Null));
    project.run(&["runs", "answer", waiting["run"].as_str().expect("a handle"), "failed"]);
    let late = bring(&mut wire, &waiting, &state, &yes());
    assert_eq!(late["structuredContent"]["error"], "stale", "{late:#}");
    // Nor the server: another one has handed out nothing.
    let waiting = at_question(&mut wire);
    let state = is_a_question(&bring(&mut wire, &waiting, &Value::Null, &Value::Null));
    let mut next = without_session(&project);
    is_a_question(&bring(&mut next, &waiting, &state, &yes()));
}

#[tokio::test]
async fn the_client_of_rmcp_asks_its_user_with_and_without_a_session() {
    let project = asking();
    for lifecycle in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    ] {
        let client = Willing("passed").meets(project.command(&["serve", "--human", "verified"]), lifecycle).await;
        let mut now = json!({ "tool": "Init", "arguments": { "workflowType": "asking" } });
        let mut last = Value::Null;
        while !now.is_null() {
            let tool = now["tool"].as_str().expect("a tool").to_owned();
            let arguments = now["arguments"].as_object().cloned().unwrap_or_default();
            let call = CallToolRequestParams::new(tool).with_arguments(arguments);
            last = client.call_tool(call).await.expect("an answer").structured_content.expect("content");
            now = last["actions"]["required"][0].clone();
        }
        assert_eq!(last["terminal"], "success", "{last:#}");
        client.cancel().await.expect("a parting");
    }
}
