//! Files that change while they are served.

use serde_json::{Value, json};

use super::{call_output, client, project, server, tool, write};
use crate::support::Wire;

fn says(name: &str, words: &str) -> String {
    let node = format!("id: say, type: transform, transform: {{ expr: '{{\"said\": \"{words}\"}}' }}, next: exit");
    tool(name, "", &[&node])
}

fn tool_words(wire: &mut Wire, tool: &str) -> Value {
    call_output(wire, tool, json!({})).1["said"].clone()
}

fn names(wire: &mut Wire) -> Vec<Value> {
    let list = wire.request("tools/list", json!({}));
    list["result"]["tools"].as_array().expect("tools").iter().map(|tool| tool["name"].clone()).collect()
}

#[test]
fn the_next_call_takes_what_changed() {
    let project = project(&[says("one", "before")]);
    let mut wire = client(&project);
    assert_eq!(tool_words(&mut wire, "one"), "before");
    write(&project, &[says("one", "afterwards")]);
    assert_eq!(tool_words(&mut wire, "one"), "afterwards");
    write(&project, &[says("one", "at last"), says("two", "new")]);
    assert_eq!(names(&mut wire), ["one", "two"]);
    assert_eq!(tool_words(&mut wire, "two"), "new");
}

#[test]
fn a_faulty_file_is_told_of_once_and_the_old_one_serves_on() {
    let project = project(&[says("one", "before")]);
    let mut wire = client(&project);
    write(&project, &[says("one", "never").replace("next: exit", "next: exti")]);
    assert_eq!(tool_words(&mut wire, "one"), "before");
    wire.hears("exti");
    wire.hears("did you mean `exit`?");
    wire.hears("served as they were before");
    assert_eq!(tool_words(&mut wire, "one"), "before");
    project.write("g.yaml", "tools: [");
    assert_eq!(names(&mut wire), ["one"]);
    wire.hears("error");
    std::fs::remove_file(project.path().join("g.yaml")).expect("it is there");
    assert_eq!(tool_words(&mut wire, "one"), "before");
    wire.hears("g.yaml");
    write(&project, &[says("one", "mended")]);
    assert_eq!(tool_words(&mut wire, "one"), "mended");
    wire.close();
    assert!(wire.ended().success());
    let heard = wire.overheard();
    assert!(heard.iter().all(|line| !line.contains("exti")), "told once: {heard:?}");
}

#[test]
fn sessions_are_told_of_a_new_list_without_asking() {
    let project = project(&[says("one", "before")]);
    let mut wire = client(&project);
    // What changes no tool as clients see it is none of their business; another list is.
    write(&project, &[says("one", "afterwards")]);
    assert_eq!(tool_words(&mut wire, "one"), "afterwards");
    write(&project, &[says("one", "afterwards"), says("two", "new")]);
    assert_eq!(wire.next().expect("a notification")["method"], "notifications/tools/list_changed");
    assert_eq!(names(&mut wire), ["one", "two"]);
}

#[test]
fn subscribers_are_told_where_there_are_no_sessions() {
    let project = project(&[says("one", "before")]);
    let mut wire = server(&project);
    wire.without_session(&json!({}));
    let id = wire.ask("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let acknowledged = wire.next().expect("a notification");
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    write(&project, &[says("two", "new")]);
    let changed = wire.next().expect("a notification");
    assert_eq!(changed["method"], "notifications/tools/list_changed", "{changed}");
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{changed}");
    assert_eq!(names(&mut wire), ["two"]);
}

#[test]
fn servers_whose_entries_stay_go_on() {
    let relay = "id: ask, type: mcp, server: bad, tool: echo, args: {}, next: exit";
    let project = project(&[tool("one", "", &[relay])]);
    let mut wire = client(&project);
    call_output(&mut wire, "one", json!({}));
    write(&project, &[says("zero", "moves everything down"), tool("one", "", &[relay])]);
    call_output(&mut wire, "one", json!({}));
    let servers = std::fs::read_to_string(project.path().join("mcp.json")).expect("it is there");
    project.write("mcp.json", &servers.replace("\"--hold\"", "\"--starts\""));
    call_output(&mut wire, "one", json!({}));
    wire.close();
    assert!(wire.ended().success());
    let starts = wire.overheard().iter().filter(|line| line.contains("initialize")).count();
    assert_eq!(starts, 2, "another place in the file is the same server, another command is not");
}
