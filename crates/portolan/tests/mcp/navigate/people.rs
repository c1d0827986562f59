//! A person answers: by the agent, in their client's dialog, at the shell.

use serde_json::{Value, json};

use super::{asking, go_on, headline, serving};
use crate::support::{Project, Wire};

const VERIFIED: [&str; 4] = ["--toolset", "navigate", "--human", "verified"];

/// A client whose user can be asked.
fn with_user(project: &Project, more: &[&str]) -> Wire {
    let mut wire = project.server(&[&VERIFIED, more].concat());
    wire.shake_hands("2025-11-25", &json!({ "elicitation": {} }));
    wire
}

fn at_question(wire: &mut Wire) -> Value {
    let now = wire.done("start_workflow", &json!({ "workflow_id": "asking" }));
    let now = go_on(wire, &now, &json!({}));
    assert_eq!(now["checkpoint"]["id"], "where");
    now
}

#[test]
fn in_a_session_the_person_at_the_client_is_asked() {
    for more in [&[][..], &["--stateless"]] {
        let project = asking();
        let mut wire = with_user(&project, more);
        let now = at_question(&mut wire);
        let action = &now["availableActions"]["required"][0];
        assert_eq!(action.get("fill"), None, "the agent has nothing to choose");
        let id = wire.ask_tool("respond_to_checkpoint", &action["arguments"]);
        let question = wire.next().expect("a question");
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert_eq!(question["params"]["message"], "Where is it tracked?");
        let answer = &question["params"]["requestedSchema"]["properties"]["answer"];
        assert_eq!(answer["enum"], json!(["github", "nowhere"]));
        assert_eq!(answer["description"], "github: GitHub; nowhere: Nowhere (nobody is told)");
        let chosen = json!({ "action": "accept", "content": { "answer": "nowhere", "note": "ask Ada" } });
        wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": chosen }));
        let after = wire.answer(id, "respond_to_checkpoint").expect("an answer").value;
        assert_eq!(headline(&after), "Done · step 1: Tell the user", "{after:#}");
        assert!(after["message"].as_str().is_some_and(|text| text.contains("Note: ask Ada")), "{after:#}");
        if more.is_empty() {
            let records = project.records(now["state"].as_str().expect("a state"));
            let mut people = records.iter().map(|record| &record["event"]["by"]["person"]);
            let by = people.rfind(|person| !person.is_null()).expect("a person answered");
            assert_eq!(by["via"], "elicitation", "{by}");
        }
    }
}

#[test]
fn an_agent_that_answers_itself_is_not_believed() {
    let project = asking();
    let mut wire = with_user(&project, &[]);
    let now = at_question(&mut wire);
    let mut arguments = now["availableActions"]["required"][0]["arguments"].clone();
    arguments["option_id"] = json!("github");
    let id = wire.ask_tool("respond_to_checkpoint", &arguments);
    let question = wire.next().expect("a question");
    wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } }));
    let refused = wire.answer(id, "respond_to_checkpoint").expect("an answer").value;
    assert_eq!(refused["error"]["code"], "needs_person");
    assert_eq!(refused["state"], now["state"]);
}

#[test]
fn where_there_is_no_session_the_question_is_handed_out() {
    let project = asking();
    let mut wire = project.server(&VERIFIED);
    wire.without_session(&json!({ "elicitation": {} }));
    let now = at_question(&mut wire);
    let call = json!({
        "name": "respond_to_checkpoint",
        "arguments": now["availableActions"]["required"][0]["arguments"],
    });
    let handed = wire.request("tools/call", call.clone());
    let state = handed["result"]["requestState"].as_str().expect("a state of the request").to_owned();
    let answer = json!({ "answer": { "action": "accept", "content": { "answer": "github" } } });
    let again = |state: &str| {
        let mut call = call.clone();
        call["requestState"] = json!(state);
        call["inputResponses"] = answer.clone();
        call
    };
    // An answer to a question that was never asked counts for nothing.
    let forged = wire.request("tools/call", again("k3mx8q2pk3mx8q2p"));
    assert!(forged["result"]["requestState"].is_string(), "{forged}");
    let response = wire.request("tools/call", again(&state));
    let after = wire.read("respond_to_checkpoint", &response).value;
    assert_eq!(headline(&after), "Done · step 1: Tell the user", "{after:#}");
}

#[test]
fn a_person_answers_at_the_shell_also_by_a_token() {
    let project = asking();
    let mut wire = serving(&project, &["--human", "verified"]);
    let now = at_question(&mut wire);
    let state = now["state"].as_str().expect("a state");
    let lifted = now["availableActions"]["blocked"][0]["liftedBy"].as_str().expect("a way");
    assert!(lifted.contains("portolan runs answer"), "{lifted}");
    project.run(&["runs", "answer", state, "nowhere"]);
    let known = json!({ "workflow_id": "asking", "state": state });
    assert_eq!(headline(&wire.done("get_position", &known)), "Done · step 1: Tell the user");

    let mut wire = serving(&project, &["--human", "verified", "--stateless"]);
    let now = at_question(&mut wire);
    let token = now["state"].as_str().expect("a token");
    let shown = project.command(&["runs", "show", token]).output().expect("the command runs");
    assert_eq!(shown.status.code(), Some(4), "a person is asked");
    let answered = project.run(&["runs", "answer", token, "github", "--note", "as always"]);
    let known = json!({ "workflow_id": "asking", "state": answered["state"] });
    let after = wire.done("get_position", &known);
    assert_eq!(headline(&after), "Done · step 1: Tell the user");
    assert_eq!(after["state"], answered["state"]);
}
