//! The page of a run: who is offered it, and what an answer from it counts for.

use serde_json::{Value, json};

use crate::support::{Project, Wire, offered};

const URI: &str = "ui://portolan/run";

/// What a client declares that shows pages, and can ask its user or not.
fn capabilities(asks: bool) -> Value {
    let pages = json!({ "io.modelcontextprotocol/ui": { "mimeTypes": ["text/html;profile=mcp-app"] } });
    match asks {
        true => json!({ "extensions": pages, "elicitation": {} }),
        false => json!({ "extensions": pages }),
    }
}

fn asking() -> Project {
    let project = Project::new();
    let nodes = json!({
        "s": { "type": "start" },
        "work": { "type": "task", "name": "Write <b>it</b>" },
        "ask": { "type": "end", "result": "blocked", "escalation": "hitl", "description": "May it be published?" },
        "later": { "type": "task" },
        "done": { "type": "end", "result": "success" },
    });
    let edges = json!([
        { "from": "s", "to": "work" },
        { "from": "work", "to": "ask" },
        { "from": "ask", "to": "later", "on": "passed" },
        { "from": "later", "to": "done" },
    ]);
    project.workflow("asking", &nodes, &edges);
    project
}

/// A client with pages, and a run of the toolset `tasks` that waits for a person.
fn at_question(project: &Project, more: &[&str], asks: bool) -> (Wire, Value) {
    let mut wire = project.server(more);
    wire.shake_hands("2025-11-25", &capabilities(asks));
    let opened = wire.done("Init", &json!({ "workflowType": "asking" }));
    let working = wire.take(&offered(&opened)[0]);
    let waiting = wire.take(&offered(&working)[0]);
    (wire, waiting["run"].clone())
}

/// What the page is shown, and its code.
fn shown(wire: &mut Wire, run: &Value) -> (Value, Value) {
    let result = wire.request("tools/call", json!({ "name": "ShowRun", "arguments": { "run": run } }));
    let result = &result["result"];
    (result["structuredContent"].clone(), result["_meta"]["portolan/code"].clone())
}

fn press(view: &Value, code: &Value, answer: &str) -> Value {
    let offered = view["question"]["answers"].as_array().expect("answers");
    let offered = offered.iter().find(|known| known["answer"] == answer).expect("it is offered");
    json!({ "run": view["run"], "answer": answer, "revision": offered["revision"], "code": code })
}

fn answered_by(project: &Project, run: &Value) -> Value {
    let records = project.records(run.as_str().expect("a handle"));
    let mut by = records.iter().map(|record| &record["event"]["by"]);
    by.rfind(|by| **by != json!("engine")).expect("a record").clone()
}

fn names(wire: &mut Wire) -> Vec<String> {
    let listed = wire.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn only_clients_that_show_pages_are_offered_the_page() {
    let project = asking();
    for set in ["tasks", "navigate", "navigate,tasks"] {
        for without in
            [json!({}), json!({ "extensions": { "io.modelcontextprotocol/ui": { "mimeTypes": ["text/plain"] } } })]
        {
            let mut plain = project.server(&["--toolset", set]);
            plain.shake_hands("2025-11-25", &without);
            let listed = plain.request("tools/list", json!({}));
            assert!(!listed.to_string().contains("ui://") && !listed.to_string().contains("_meta"), "{listed}");
            assert!(!plain.request("resources/list", json!({})).to_string().contains("ui://"));
            assert_eq!(plain.request("resources/read", json!({ "uri": URI }))["error"]["code"], -32002);
            for tool in ["ShowRun", "AnswerRun", "show_run", "answer_run"] {
                let refused = plain.request("tools/call", json!({ "name": tool, "arguments": {} }));
                assert!(refused.to_string().contains("unknown_tool"), "{refused}");
            }
        }
        let mut with = project.server(&["--toolset", set]);
        with.shake_hands("2025-11-25", &capabilities(false));
        let tools = with.request("tools/list", json!({}));
        let tools = tools["result"]["tools"].as_array().expect("tools");
        let ui = |name: &str| tools.iter().find(|tool| tool["name"] == name).map(|tool| tool["_meta"]["ui"].clone());
        let pairs: &[(&str, &str)] = match set {
            "tasks" => &[("Current", "ShowRun")],
            "navigate" => &[("get_position", "answer_run")],
            _ => &[("Start", "AnswerRun"), ("start_workflow", "show_run")],
        };
        for (model, page) in pairs {
            assert_eq!(ui(model), Some(json!({ "resourceUri": URI })), "{set}");
            assert_eq!(ui(page), Some(json!({ "resourceUri": URI, "visibility": ["app"] })), "{set}");
        }
        assert!(with.request("resources/list", json!({})).to_string().contains(URI));
        let read = with.request("resources/read", json!({ "uri": URI }));
        let contents = &read["result"]["contents"][0];
        assert_eq!((&contents["mimeType"], &contents["uri"]), (&json!("text/html;profile=mcp-app"), &json!(URI)));
        assert!(contents["text"].as_str().is_some_and(|text| text.starts_with("<!doctype html>")), "{read}");
    }
}

#[test]
fn without_a_session_each_request_says_whether_pages_are_shown() {
    let project = asking();
    let mut wire = project.server(&[]);
    wire.without_session(&json!({}));
    assert!(!names(&mut wire).contains(&"ShowRun".to_owned()));
    wire.without_session(&capabilities(false));
    assert!(names(&mut wire).contains(&"ShowRun".to_owned()));
}

#[test]
fn the_page_shows_the_run_with_the_marks_of_its_steps() {
    let project = asking();
    let (mut wire, run) = at_question(&project, &[], false);
    let (view, code) = shown(&mut wire, &run);
    assert_eq!(
        (&view["state"], &view["step"], &view["question"]["by"]),
        (&json!("waiting"), &json!("ask"), &json!("button"))
    );
    assert_eq!(view["question"]["message"], "May it be published?");
    assert_eq!((&view["marks"]["work"]["state"], &view["marks"]["ask"]["state"]), (&json!("done"), &json!("waiting")));
    assert!(view["drawing"].to_string().contains("later"), "{view:#}");
    assert!(code.as_str().is_some_and(|code| code.len() == 16), "{code}");
    assert!(!view.to_string().contains(code.as_str().expect("a code")), "no model reads it");
    let again = wire.done("ShowRun", &json!({ "run": run, "known": view["version"] }));
    assert_eq!(again, json!({ "success": true, "unchanged": true, "version": view["version"] }));
    let refused = wire.request("tools/call", json!({ "name": "ShowRun", "arguments": { "run": "zzzzzzzz" } }));
    assert_eq!(refused["result"]["structuredContent"]["error"]["code"], "unknown_run", "{refused}");
}

#[test]
fn a_led_run_is_shown_without_the_steps_that_it_has_not_reached() {
    let project = asking();
    let mut wire = project.server(&["--toolset", "navigate"]);
    wire.shake_hands("2025-11-25", &capabilities(false));
    let begun = wire.done("start_workflow", &json!({ "workflow_id": "asking" }));
    let view = wire.done("show_run", &json!({ "state": begun["state"] }));
    assert_eq!(view["state"], "working", "{view:#}");
    assert!(view["drawing"].to_string().contains("work"), "{view:#}");
    assert!(!view.to_string().contains("later") && !view.to_string().contains("published"), "{view:#}");
}

#[test]
fn a_run_in_a_token_is_shown_and_answered_by_its_agent() {
    let project = asking();
    let mut wire = project.server(&["--toolset", "navigate", "--stateless"]);
    wire.shake_hands("2025-11-25", &capabilities(false));
    let begun = wire.done("start_workflow", &json!({ "workflow_id": "asking" }));
    let mut done = begun["availableActions"]["required"][0]["arguments"].clone();
    done["summary"] = json!("written");
    let waiting = wire.done("complete_step", &done);
    let result = wire.request("tools/call", json!({ "name": "show_run", "arguments": { "state": waiting["state"] } }));
    let view = &result["result"]["structuredContent"];
    assert_eq!((&view["state"], &view["question"]["by"]), (&json!("waiting"), &json!("agent")), "{result:#}");
    assert_eq!(result["result"]["_meta"]["portolan/code"], Value::Null);
    let refused = wire.request("tools/call", json!({ "name": "show_run", "arguments": { "state": "/etc/passwd" } }));
    assert_eq!(refused["result"]["isError"], true, "{refused:#}");
}

#[test]
fn an_answer_without_the_code_of_the_page_counts_for_nothing() {
    let project = asking();
    let (mut wire, run) = at_question(&project, &[], false);
    let (view, code) = shown(&mut wire, &run);
    let mut other = project.server(&[]);
    other.shake_hands("2025-11-25", &capabilities(false));
    for wrong in ["", "0000000000000000", "passed"] {
        let refused = wire.call("AnswerRun", &press(&view, &json!(wrong), "passed"));
        assert!(refused.is_error, "{wrong}: {:#}", refused.value);
    }
    // Another server has not given it.
    assert_eq!(other.call("AnswerRun", &press(&view, &code, "passed")).value["error"]["code"], "unknown_code");
    let mut other = press(&view, &code, "passed");
    other["answer"] = json!("failed");
    assert_eq!(wire.call("AnswerRun", &other).value["error"]["code"], "unknown_option");
    assert_eq!(wire.done("Current", &json!({ "run": run }))["currentStep"], "ask");
    let done = wire.done("AnswerRun", &press(&view, &code, "passed"));
    assert_eq!((&done["state"], &done["step"]), (&json!("working"), &json!("later")));
    assert_eq!(wire.call("AnswerRun", &press(&view, &code, "passed")).value["error"]["code"], "unknown_code");
    // It has the weight of an answer that the agent relays.
    assert_eq!(answered_by(&project, &run)["person"], json!({ "name": "wire", "via": "attested" }));
}

#[test]
fn where_only_a_person_may_answer_the_page_alone_does_not() {
    let project = asking();
    let (mut wire, run) = at_question(&project, &["--human", "verified"], false);
    let (view, code) = shown(&mut wire, &run);
    assert_eq!(view["question"]["by"], "command", "{view:#}");
    assert!(view["question"]["command"].as_str().is_some_and(|command| command.contains("portolan runs answer")));
    let refused = wire.call("AnswerRun", &press(&view, &code, "passed"));
    assert_eq!(refused.value["error"]["code"], "needs_person", "{:#}", refused.value);
    assert_eq!(wire.done("Current", &json!({ "run": run }))["currentStep"], "ask");
}

#[test]
fn where_only_a_person_may_answer_the_client_asks_for_confirmation() {
    let project = asking();
    let (mut wire, run) = at_question(&project, &["--human", "verified"], true);
    let (view, code) = shown(&mut wire, &run);
    assert_eq!(view["question"]["by"], "dialog", "{view:#}");
    for (reply, is_recorded) in [
        (json!({ "action": "decline" }), false),
        (json!({ "action": "accept", "content": { "answer": "cancelled" } }), false),
        (json!({ "action": "accept", "content": { "answer": "passed" } }), true),
    ] {
        let id = wire.ask_tool("AnswerRun", &press(&view, &code, "passed"));
        let question = wire.next().expect("a question");
        let form = &question["params"];
        assert_eq!(form["requestedSchema"]["properties"]["answer"]["enum"], json!(["passed"]), "{question}");
        assert!(form["message"].as_str().is_some_and(|text| text.contains("May it be published?")), "{question}");
        wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": reply }));
        let answer = wire.answer(id, "AnswerRun").expect("an answer");
        assert_eq!(answer.is_error, !is_recorded, "{:#}", answer.value);
    }
    assert_eq!(answered_by(&project, &run)["person"]["via"], "elicitation");
}

#[test]
fn without_a_session_the_confirmation_is_brought_with_the_same_call() {
    let project = asking();
    let mut wire = project.server(&["--human", "verified"]);
    wire.without_session(&capabilities(true));
    let opened = wire.done("Init", &json!({ "workflowType": "asking" }));
    let working = wire.take(&offered(&opened)[0]);
    let run = wire.take(&offered(&working)[0])["run"].clone();
    let (view, code) = shown(&mut wire, &run);
    let mut call = json!({ "name": "AnswerRun", "arguments": press(&view, &code, "passed") });
    let asked = wire.request("tools/call", call.clone());
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked:#}");
    call["requestState"] = asked["result"]["requestState"].clone();
    call["inputResponses"] = json!({ "answer": { "action": "accept", "content": { "answer": "passed" } } });
    // A confirmation is about one answer.
    let mut other = call.clone();
    other["arguments"]["answer"] = json!("cancelled");
    assert_eq!(wire.request("tools/call", other)["result"]["resultType"], "input_required");
    let done = wire.request("tools/call", call);
    assert_eq!(done["result"]["structuredContent"]["step"], "later", "{done:#}");
    assert_eq!(answered_by(&project, &run)["person"]["via"], "elicitation");
}

#[test]
fn each_branch_that_waits_has_its_own_answers() {
    let project = Project::new();
    let asks = |text: &str| json!({ "type": "end", "result": "blocked", "escalation": "hitl", "description": text });
    let nodes = json!({
        "s": { "type": "start" },
        "split": { "type": "fork", "join": "merge" },
        "left": { "type": "task" },
        "right": { "type": "task" },
        "one": asks("The left way?"),
        "two": asks("The right way?"),
        "merge": { "type": "join", "fork": "split" },
        "done": { "type": "end", "result": "success" },
    });
    let edges = json!([
        { "from": "s", "to": "split" },
        { "from": "split", "to": "left" },
        { "from": "split", "to": "right" },
        { "from": "left", "to": "one" },
        { "from": "right", "to": "two" },
        { "from": "one", "to": "merge", "on": "passed" },
        { "from": "two", "to": "merge", "on": "passed" },
        { "from": "merge", "to": "done" },
    ]);
    project.workflow("forking", &nodes, &edges);
    let mut wire = project.server(&[]);
    wire.shake_hands("2025-11-25", &capabilities(false));
    let opened = wire.done("Init", &json!({ "workflowType": "forking" }));
    let mut now = wire.take(&offered(&opened)[0]);
    let run = opened["run"].clone();
    for _ in 0..2 {
        let work = now["actions"]["required"].as_array().expect("actions").clone();
        let is_work = |action: &&Value| action["title"].as_str().is_some_and(|title| title.starts_with("report"));
        let report = work.iter().find(is_work);
        wire.take(report.expect("work is open"));
        now = wire.done("Current", &json!({ "run": run }));
    }
    let (view, code) = shown(&mut wire, &run);
    let answers = view["question"]["answers"].as_array().expect("answers").clone();
    let branches: Vec<&Value> = answers.iter().filter(|it| it["answer"] == "passed").map(|it| &it["branch"]).collect();
    assert_eq!(branches.len(), 2, "{view:#}");
    let answer = answers.iter().find(|it| it["answer"] == "passed").expect("an answer");
    let pressed = json!({
        "run": run, "answer": "passed", "revision": answer["revision"], "branch": answer["branch"], "code": code,
    });
    let next = wire.done("AnswerRun", &pressed);
    let left = next["question"]["answers"].as_array().expect("answers");
    assert_eq!(left.iter().filter(|it| it["answer"] == "passed").count(), 1, "{next:#}");
}
