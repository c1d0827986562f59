//! Open questions to people: read as a resource, told of when they change, and put to the client's user in a dialog.

use portolan_runtime::service::{Options, Service};
use portolan_supervision::people::People;
use rmcp::model::ReadResourceRequestParams;
use rmcp::service::ClientLifecycleMode;
use serde_json::{Value, json};

use crate::support::{Project, Willing, Wire};

const URI: &str = "portolan://supervisor/questions";
const UPDATED: &str = "notifications/resources/updated";
/// A client whose user can be asked.
const ASKS: &str = "elicitation";

/// Asks from another process: what quotes it.
fn ask(project: &Project, body: &str, choices: &[&str]) -> String {
    let choices = choices.iter().flat_map(|choice| ["--choice", choice]);
    let arguments: Vec<&str> = ["supervisor", "ask"].into_iter().chain(choices).chain([body]).collect();
    project.run(&arguments)["replyToken"].as_str().expect("a token").to_owned()
}

/// The same, where the server is not left to notice at its next look.
fn ask_now(project: &Project, wire: &mut Wire, body: &str, choices: &[&str]) -> String {
    let token = ask(project, body, choices);
    wire.done("flow_status", &json!({}));
    token
}

/// What is on record of a type.
fn log(project: &Project, kind: &str) -> Vec<Value> {
    let events = project.run(&["flow", "events", "--type", kind])["events"].clone();
    events.as_array().expect("events").iter().map(|event| event["data"].clone()).collect()
}

fn open(project: &Project) -> Vec<String> {
    let listed = project.run(&["supervisor", "list"])["questions"].clone();
    listed.as_array().expect("questions").iter().map(|it| it["token"].as_str().expect("a token").to_owned()).collect()
}

fn connected(project: &Project, capability: Option<&str>) -> Wire {
    let mut wire = Wire::hearing(project.command(&["serve", "--toolset", "gates"]));
    let capabilities = capability.map_or_else(|| json!({}), |name| json!({ name: {} }));
    wire.shake_hands("2025-11-25", &capabilities);
    wire
}

fn subscribed(wire: &mut Wire) {
    assert_eq!(wire.request("resources/subscribe", json!({ "uri": URI }))["result"], json!({}));
}

/// The next message, which is a dialog about `body`.
fn dialog(wire: &mut Wire, body: &str) -> Value {
    let question = wire.next().expect("a dialog");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let message = question["params"]["message"].as_str().unwrap_or_default();
    assert!(message.contains(body), "{message}");
    question
}

fn updated(wire: &mut Wire) {
    let told = wire.next().expect("a notification");
    assert_eq!((&told["method"], &told["params"]["uri"]), (&json!(UPDATED), &json!(URI)), "{told}");
}

/// Nothing has come by the time that the server has answered once more.
fn quiet(wire: &mut Wire) {
    wire.done("flow_status", &json!({}));
    wire.request("resources/read", json!({ "uri": URI }));
    wire.done("flow_status", &json!({}));
    assert_eq!(wire.next_without_waiting(), None);
}

fn answer(wire: &mut Wire, question: &Value, result: &Value) {
    wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
}

fn saying(word: &str) -> Value {
    json!({ "action": "accept", "content": { "answer": word } })
}

#[test]
fn what_people_are_asked_can_be_read_as_a_resource() {
    let project = Project::new();
    for toolsets in ["gates", "tasks,gates"] {
        let mut wire = project.server(&["--toolset", toolsets]);
        let about = wire.shake_hands("2025-11-25", &json!({}));
        assert_eq!(about["capabilities"]["resources"], json!({ "subscribe": true }), "{about:#}");
        let listed = wire.request("resources/list", json!({}));
        let listed = listed["result"]["resources"].as_array().expect("a list");
        assert_eq!(listed.iter().filter(|resource| resource["uri"] == URI).count(), 1, "{listed:#?}");
        let read = |wire: &mut Wire| -> Value {
            let read = wire.request("resources/read", json!({ "uri": URI }));
            let text = read["result"]["contents"][0]["text"].as_str().expect("a text").to_owned();
            serde_json::from_str(&text).expect("JSON")
        };
        assert_eq!(read(&mut wire)["questions"], json!([]));
        let token = ask(&project, "Merge?", &["yes", "no"]);
        let question = read(&mut wire)["questions"][0].clone();
        assert_eq!((&question["token"], &question["body"]), (&json!(token), &json!("Merge?")), "{question:#}");
        project.run(&["supervisor", "reply", &token, "yes"]);
        assert_eq!(read(&mut wire)["questions"], json!([]));
        let none = wire.request("resources/read", json!({ "uri": "portolan://else" }));
        assert_eq!(none["error"]["code"], -32002, "{none:#}");
    }
}

#[test]
fn who_has_subscribed_is_told_when_the_questions_change() {
    let project = Project::new();
    for toolsets in ["gates", "tasks,gates"] {
        let mut wire = project.client(&["--toolset", toolsets]);
        subscribed(&mut wire);
        let token = ask(&project, "Merge?", &[]);
        updated(&mut wire);
        project.run(&["supervisor", "reply", &token, "yes"]);
        updated(&mut wire);
        // Something else is put on record, and they are the same.
        project.run(&["supervisor", "usage", "--turns", "1"]);
        quiet(&mut wire);
        // Twice is once.
        subscribed(&mut wire);
        ask_now(&project, &mut wire, "Again?", &[]);
        updated(&mut wire);
        quiet(&mut wire);
        assert_eq!(wire.request("resources/unsubscribe", json!({ "uri": URI }))["result"], json!({}));
        let token = ask_now(&project, &mut wire, "And again?", &[]);
        quiet(&mut wire);
        // Whoever looks themselves need not be told of what they have seen.
        subscribed(&mut wire);
        quiet(&mut wire);
        project.run(&["supervisor", "reply", &token, "yes"]);
        updated(&mut wire);
    }
}

#[test]
fn what_a_call_of_this_server_changes_is_told_as_well() {
    let project = Project::new();
    let mut wire = project.client(&["--toolset", "gates"]);
    wire.done("flow_start", &json!({ "task": "build-auth" }));
    project.run(&["supervisor", "ask", "--task", "build-auth", "Merge?"]);
    assert_eq!(open(&project).len(), 1);
    wire.request("resources/read", json!({ "uri": URI }));
    subscribed(&mut wire);
    quiet(&mut wire);
    wire.done("flow_abort", &json!({ "outcome": "escalated", "reason": "it is not wanted" }));
    updated(&mut wire);
    assert_eq!(open(&project).len(), 0);
    quiet(&mut wire);
}

#[test]
fn there_is_nothing_else_to_subscribe_to() {
    let project = Project::new();
    let author = ["tools.yaml", "--toolset", "author"];
    for (arguments, code) in
        [(&["--toolset", "gates"][..], -32002), (&["--toolset", "tasks"], -32002), (&author, -32601)]
    {
        let mut wire = project.client(arguments);
        for uri in ["portolan://else", "", "file:///etc/passwd"] {
            let refused = wire.request("resources/subscribe", json!({ "uri": uri }));
            assert_eq!(refused["error"]["code"], code, "{refused}");
        }
    }
}

#[test]
fn who_listens_without_a_session_is_told_as_well() {
    let project = Project::new();
    let mut wire = project.server(&["--toolset", "gates"]);
    wire.without_session(&json!({ ASKS: {} }));
    let wanted = json!({ "resourceSubscriptions": [URI, "portolan://else", URI], "toolsListChanged": true });
    let id = wire.ask("subscriptions/listen", json!({ "notifications": wanted }));
    let acknowledged = wire.next().expect("a notification");
    let accepted = json!({ "resourceSubscriptions": [URI, URI] });
    assert_eq!(acknowledged["params"]["notifications"], accepted, "{acknowledged}");
    let token = ask(&project, "Merge?", &[]);
    for _ in 0..2 {
        // No dialog: these clients are asked in answers to their calls alone.
        let told = wire.next().expect("a notification");
        assert_eq!((&told["method"], &told["params"]["uri"]), (&json!(UPDATED), &json!(URI)), "{told}");
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{told}");
        quiet(&mut wire);
        project.run(&["supervisor", "reply", &token, "yes"]);
    }
}

#[test]
fn the_user_of_the_client_answers_in_a_dialog() {
    let project = Project::new();
    ask(&project, "Merge it now?", &["Merge", "wait", "Merge"]);
    let mut wire = connected(&project, Some(ASKS));
    subscribed(&mut wire);
    let first = dialog(&mut wire, "Merge it now?");
    let schema = &first["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["answer"]["enum"], json!(["Merge", "wait"]), "{schema}");
    assert_eq!(schema["required"], json!(["answer"]), "{schema}");
    // Nobody waits for it: neither calls, nor other questions.
    wire.done("flow_status", &json!({}));
    project.run(&["supervisor", "ask", "--task", "build-auth", "Which name?"]);
    let mut came = [wire.next().expect("a message"), wire.next().expect("a message")];
    came.sort_by_key(|message| message["method"] == UPDATED);
    let second = &came[0];
    assert_eq!(second["params"]["requestedSchema"]["properties"]["answer"]["type"], "string", "{second}");
    let message = second["params"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("About the task build-auth: Which name?"), "{message}");
    assert!(message.contains("portolan supervisor reply q"), "{message}");
    answer(&mut wire, &first, &saying("wait"));
    updated(&mut wire);
    answer(&mut wire, second, &saying("  passkeys "));
    updated(&mut wire);
    let received = log(&project, "supervisor.reply.received");
    let told: Vec<_> = received.iter().map(|it| (&it["body"], &it["by"], &it["via"])).collect();
    let (by, via) = (json!("the client's user"), json!("elicitation"));
    assert_eq!(told, [(&json!("wait"), &by, &via), (&json!("passkeys"), &by, &via)]);
    quiet(&mut wire);
}

#[test]
fn a_question_that_is_not_answered_stays_open_and_is_put_once() {
    let project = Project::new();
    let mut wire = connected(&project, Some(ASKS));
    let (no, none) = (json!({ "action": "decline" }), json!({ "action": "accept" }));
    let mut tokens = Vec::new();
    for (choices, result, heard) in [
        (&["yes", "no"][..], no.clone(), ""),
        (&[], json!({ "action": "cancel" }), ""),
        (&["yes", "no"], saying("perhaps"), "is not one of"),
        (&["yes", "no"], none.clone(), "is not one of"),
        (&["yes", "no"], json!({ "action": "accept", "content": { "answer": ["yes"] } }), "is not one of"),
        (&[], saying("  "), "the answer is empty"),
        (&[], none, "the answer is empty"),
        (&[], json!({ "action": "accept", "content": { "answer": 7 } }), "the answer is empty"),
        (&[], saying(&"x".repeat(5_000)), "4000 bytes"),
        (&[], json!({ "action": "perhaps", "content": { "answer": "yes" } }), "could not ask its user"),
        (&[], json!({ "foo": "bar" }), "could not ask its user"),
    ] {
        let body = format!("The {}th?", tokens.len());
        tokens.push(ask_now(&project, &mut wire, &body, choices));
        let question = dialog(&mut wire, &body);
        answer(&mut wire, &question, &result);
        if !heard.is_empty() {
            let note = wire.hears(heard);
            assert!(note.starts_with("note: ") && note.contains(tokens.last().expect("one")), "{note}");
        }
    }
    let token = ask_now(&project, &mut wire, "Without a user?", &[]);
    let question = dialog(&mut wire, "Without a user?");
    wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": { "code": -1, "message": "no\nuser" } }));
    assert!(wire.hears("could not ask its user").contains(&token));
    tokens.push(token);
    quiet(&mut wire);
    assert_eq!(open(&project), tokens);
    let raw: Vec<Value> =
        log(&project, "supervisor.reply.unparseable").iter().map(|data| data["raw"].clone()).collect();
    assert_eq!(raw, [json!("perhaps"), json!(""), json!("[\"yes\"]"), json!("  "), json!(""), json!("")]);
    // Another session is another chance.
    dialog(&mut connected(&project, Some(ASKS)), "The 0th?");
}

#[test]
fn a_client_has_few_dialogs_at_once() {
    let project = Project::new();
    for nth in 0..4 {
        ask(&project, &format!("The {nth}th?"), &[]);
    }
    let mut wire = connected(&project, Some(ASKS));
    let dialogs: Vec<Value> = (0..3).map(|nth| dialog(&mut wire, &format!("The {nth}th?"))).collect();
    quiet(&mut wire);
    answer(&mut wire, &dialogs[1], &json!({ "action": "decline" }));
    dialog(&mut wire, "The 3th?");
    quiet(&mut wire);
}

#[test]
fn what_is_answered_elsewhere_is_asked_no_more() {
    let project = Project::new();
    let token = ask(&project, "Merge?", &["yes", "no"]);
    let mut wire = connected(&project, Some(ASKS));
    let question = dialog(&mut wire, "Merge?");
    project.run(&["supervisor", "reply", &token, "yes"]);
    let withdrawn = wire.next().expect("a notification");
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], question["id"], "{withdrawn}");
    answer(&mut wire, &question, &saying("no"));
    quiet(&mut wire);
    assert_eq!(log(&project, "supervisor.reply.received")[0]["body"], "yes");
    assert_eq!(log(&project, "supervisor.reply.received").len(), 1);
}

#[test]
fn what_its_default_has_answered_is_not_put() {
    let project = Project::new();
    let late = ["supervisor", "ask", "--choice", "go", "--choice", "wait", "--default", "wait", "--within", "0s"];
    project.run(&[&late[..], &["Go?"]].concat());
    ask(&project, "And then?", &[]);
    let mut wire = connected(&project, Some(ASKS));
    dialog(&mut wire, "And then?");
    quiet(&mut wire);
}

#[test]
fn a_client_without_dialogs_is_told_and_not_asked() {
    let project = Project::new();
    ask(&project, "Before?", &[]);
    for capability in [None, Some("sampling")] {
        let mut wire = connected(&project, capability);
        subscribed(&mut wire);
        wire.request("resources/read", json!({ "uri": URI }));
        ask_now(&project, &mut wire, "Merge?", &[]);
        updated(&mut wire);
        quiet(&mut wire);
    }
}

#[test]
fn a_client_that_says_twice_that_it_is_ready_is_asked_once() {
    let project = Project::new();
    ask(&project, "Merge?", &[]);
    let mut wire = connected(&project, Some(ASKS));
    wire.notify("notifications/initialized", &json!({}));
    dialog(&mut wire, "Merge?");
    quiet(&mut wire);
}

#[test]
fn who_leaves_with_an_open_dialog_is_not_waited_for() {
    let project = Project::new();
    let token = ask(&project, "Merge?", &[]);
    let mut wire = connected(&project, Some(ASKS));
    subscribed(&mut wire);
    dialog(&mut wire, "Merge?");
    assert!(wire.leave().success());
    let mut wire = connected(&project, Some(ASKS));
    dialog(&mut wire, "Merge?");
    wire.signal("-TERM");
    assert!(wire.ended().success());
    assert_eq!(open(&project), [token]);
}

#[test]
fn an_agent_that_is_its_own_client_is_put_no_question() {
    let project = Project::new();
    let token = ask(&project, "Merge?", &["yes", "no"]);
    let mut marked = project.command(&["serve", "--toolset", "gates"]);
    marked.env("CLAUDECODE", "1");
    let mut wire = Wire::hearing(marked);
    wire.shake_hands("2025-11-25", &json!({ ASKS: {} }));
    let note = wire.hears("not put to the client's user");
    assert!(note.contains("`CLAUDECODE` is set") && note.contains("portolan supervisor reply"), "{note}");
    ask(&project, "And then?", &[]);
    quiet(&mut wire);
    wire.close();
    assert!(wire.ended().success());
    assert_eq!(wire.overheard().iter().filter(|line| line.contains("not put to")).count(), 0, "it is said once");
    assert_eq!(open(&project)[0], token);
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_that_is_fed_by_somebody_else_than_its_parent_puts_no_question() {
    let project = Project::new();
    ask(&project, "Merge?", &["yes", "no"]);
    let served = project.command(&["serve", "--toolset", "gates"]);
    let server = served.get_program().to_str().expect("UTF-8").to_owned();
    for (shell, is_asked) in [
        // A shell that nothing is left of, with what its text has opened.
        (format!("mkfifo in; exec 3<&0; cat <&3 > in & exec '{server}' serve --toolset gates < in"), false),
        (format!("cat | exec '{server}' serve --toolset gates"), false),
        (format!("exec 3<&0; exec '{server}' serve --toolset gates < <(cat <&3)"), false),
        (format!("exec '{server}' serve --toolset gates"), true),
    ] {
        let mut command = std::process::Command::new("bash");
        command.args(["-c", &shell]).current_dir(project.path());
        for (name, value) in served.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut wire = Wire::hearing(command);
        wire.shake_hands("2025-11-25", &json!({ ASKS: {} }));
        match is_asked {
            true => drop(dialog(&mut wire, "Merge?")),
            false => {
                let note = wire.hears("not put to the client's user");
                assert!(note.contains("does not come from the program that started it"), "{shell}: {note}");
                quiet(&mut wire);
            }
        }
        // What feeds it ends with it, or is left without a reader.
        wire.close();
    }
}

#[test]
fn where_there_is_a_passphrase_no_question_is_put() {
    let project = Project::new();
    let options = Options { trust: Some(project.person()), ..Options::of(project.path()) };
    People::of(&Service::new(options).expect("a service")).set_passphrase("three plain words").expect("it is set");
    ask(&project, "Merge?", &["yes", "no"]);
    let mut wire = connected(&project, Some(ASKS));
    wire.hears("not put to the client's user");
    quiet(&mut wire);
}

#[tokio::test]
async fn the_client_of_rmcp_has_its_user_answer() {
    let project = Project::new();
    ask(&project, "Merge?", &["yes", "no"]);
    let server = project.command(&["serve", "--toolset", "gates"]);
    let client = Willing("YES").meets(server, ClientLifecycleMode::Initialize).await;
    let answered = async {
        loop {
            let read = client.read_resource(ReadResourceRequestParams::new(URI)).await.expect("the questions");
            if serde_json::to_string(&read).expect("JSON").contains(r#"{\"questions\":[]}"#) {
                return;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), answered).await.expect("the user answers");
    client.cancel().await.expect("a parting");
    assert_eq!(log(&project, "supervisor.reply.received")[0]["body"], "yes");
}
