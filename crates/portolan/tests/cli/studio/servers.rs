//! The servers that definitions call: listed with whether they may be started, and asked by hand where they may.

use serde_json::{Value, json};

use super::Studio;
use crate::support::{Project, SUM};

/// A graph that brings a server along, which is Portolan itself over another graph, or nothing of the sort.
fn brings(command: &str) -> String {
    let servers =
        format!("mcpServers:\n  calc: {{command: {command}, args: [serve, sums.yaml], env: {{KEY: s3cr3t-word}}}}\n");
    SUM.replace("tools:\n", &format!("{servers}tools:\n")).replace("server: echo, tool: add", "server: calc, tool: sum")
}

fn project(command: &str) -> Project {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    project.write(".flow/workflows/remote.yaml", brings(command));
    project
}

fn server<'l>(listed: &'l Value, name: &str) -> &'l Value {
    let servers = listed["servers"].as_array().expect("a list");
    servers.iter().find(|server| server["name"] == name).unwrap_or_else(|| panic!("`{name}` is listed: {listed}"))
}

#[test]
fn what_is_part_of_portolan_is_asked_by_hand() {
    let project = project("calc-server");
    let studio = Studio::of(&project, &[]);
    let listed = studio.get("/project/servers").json();
    let echo = server(&listed, "echo");
    assert_eq!((&echo["definition"], &echo["refused"], &echo["reaches"]), (&json!("sums"), &Value::Null, &Value::Null));
    let echo = json!({ "definition": "sums", "server": "echo" });
    let told = studio.post("/project/servers/tools", &echo).json();
    let names: Vec<&str> =
        told["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"echo"), "{told}");
    let mut wanted =
        json!({ "definition": "sums", "server": "echo", "tool": "echo", "arguments": { "message": "<b>hi</b>" } });
    let told = studio.post("/project/servers/call", &wanted).json();
    assert!(told["text"].as_str().is_some_and(|text| text.contains("<b>hi</b>")), "{told}");
    assert_eq!((&told["cut"], &told["isError"]), (&json!(false), &json!(false)));
    // A long answer is cut, and says so.
    wanted["arguments"]["message"] = json!("é".repeat(200_000));
    let told = studio.post("/project/servers/call", &wanted).json();
    assert_eq!((&told["cut"], told["text"].as_str().map(str::len)), (&json!(true), Some(256 << 10)));
    wanted["tool"] = json!("nothing");
    let told = studio.post("/project/servers/call", &wanted);
    assert!(told.status == 422 || told.json()["isError"] == true, "{}", told.body);
    let other = json!({ "definition": "sums", "server": "calc" });
    assert_eq!(studio.post("/project/servers/tools", &other).refusal(), "422 unknown_server");
    let other = json!({ "definition": "nothing", "server": "calc" });
    assert_eq!(studio.post("/project/servers/tools", &other).refusal(), "422 unknown_server");
}

#[test]
fn what_a_file_brings_along_is_started_once_somebody_has_trusted_it() {
    let own = env!("CARGO_BIN_EXE_portolan");
    let project = project(own);
    let studio = Studio::of(&project, &[]);
    let calc = json!({ "definition": "remote", "server": "calc" });
    let call = json!({ "definition": "remote", "server": "calc", "tool": "sum", "arguments": { "a": 1, "b": 2 } });
    let listed = studio.get("/project/servers").json();
    let line = server(&listed, "calc");
    assert_eq!(line["reaches"], format!("{own} serve sums.yaml"));
    assert!(line["refused"]["help"].as_str().is_some_and(|help| help.contains("portolan trust")), "{line}");
    assert!(!listed.to_string().contains("s3cr3t"), "what is in the environment is nobody's to see");
    assert_eq!(studio.post("/project/servers/tools", &calc).refusal(), "422 not_trusted");
    assert_eq!(studio.post("/project/servers/call", &call).refusal(), "422 not_trusted");
    let said = project.says("trust .flow/workflows/remote.yaml");
    assert!(said.contains("exit: 0"), "{said}");
    assert_eq!(server(&studio.get("/project/servers").json(), "calc")["refused"], Value::Null);
    let told = studio.post("/project/servers/tools", &calc).json();
    assert_eq!(
        (&told["tools"][0]["name"], &told["tools"][0]["inputSchema"]["required"]),
        (&json!("sum"), &json!(["a", "b"]))
    );
    let told = studio.post("/project/servers/call", &call).json();
    assert!(told["text"].as_str().is_some_and(|text| !text.is_empty()), "{told}");
    // A change of the file is nothing that anybody has trusted.
    project.write(".flow/workflows/remote.yaml", brings("another"));
    assert_eq!(studio.post("/project/servers/call", &call).refusal(), "422 not_trusted");
}

#[test]
fn a_try_is_answered_by_the_servers_once_somebody_has_trusted_them() {
    let project = project(env!("CARGO_BIN_EXE_portolan"));
    let studio = Studio::of(&project, &[]);
    let wanted = json!({ "input": { "a": 2, "b": 40 } });
    let refused = || studio.post("/definitions/remote/try", &wanted);
    assert_eq!(refused().refusal(), "422 not_trusted");
    let help = refused().json()["error"]["help"].as_str().expect("it says what to do").to_owned();
    assert!(help.contains("portolan trust"), "{help}");
    assert_eq!(studio.get("/runs").json()["runs"], json!([]), "nothing has begun");
    let said = project.says("trust .flow/workflows/remote.yaml");
    assert!(said.contains("server calc") && said.ends_with("exit: 0\n"), "{said}");
    let run = studio.begun("remote", &wanted);
    let told = studio.at_rest(&run);
    assert_eq!((&told["status"], &told["driven"]["phase"]), (&json!("success"), &json!("finished")), "{told}");
    // Nothing but that server says which size a sum has.
    let visit = studio.get(&format!("/runs/{run}/nodes/add")).json()["visits"][0].clone();
    let sum = json!({ "sum": 42, "size": "big" });
    assert_eq!((&visit["input"], &visit["output"]), (&json!({ "a": 2, "b": 40 }), &sum), "{visit}");
    assert_eq!(studio.outputs(&run)["big"], sum);
    assert_eq!(studio.get(&format!("/runs/{run}/answers")).json()["answers"], json!({ "sum.add": sum }));
    let shown = project.says(&format!("runs show {run}"));
    assert!(shown.contains(r#"{"sum":42,"size":"big"}"#), "{shown}");
    // A change of the file is nothing that anybody has trusted.
    project.write(".flow/workflows/remote.yaml", brings("another"));
    assert_eq!(refused().refusal(), "422 not_trusted");
    assert_eq!(studio.get("/runs").json()["runs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_server_that_does_not_start_says_so() {
    let project = project("no-such-program");
    project.says("trust .flow/workflows/remote.yaml");
    let studio = Studio::of(&project, &[]);
    let told = studio.post("/project/servers/tools", &json!({ "definition": "remote", "server": "calc" }));
    assert_eq!(told.refusal(), "422 server-not-started");
}

#[test]
fn a_studio_that_only_shows_starts_no_server() {
    let project = project("calc-server");
    let echo = json!({ "definition": "sums", "server": "echo", "tool": "echo" });
    let shows = Studio::of(&project, &["--read-only"]);
    assert_eq!(shows.get("/project/servers").status, 200);
    assert_eq!(shows.post("/project/servers/tools", &echo).refusal(), "403 read_only");
    assert_eq!(shows.post("/project/servers/call", &echo).refusal(), "403 read_only");
    let mut command = project.command(&["studio", "--format", "json"]);
    command.env("CLAUDECODE", "1");
    let agents = Studio::started(command);
    assert_eq!(agents.post("/project/servers/tools", &echo).refusal(), "403 needs_person");
    assert_eq!(agents.post("/project/servers/call", &echo).refusal(), "403 needs_person");
}

#[test]
fn budgets_are_told_with_how_far_they_are_used_up() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    assert_eq!(studio.get("/project/budgets").json(), json!({ "task": null, "budgets": [] }));
    project.write(".portolan/plugins.yaml", "budgets: {day: {turns: 10, costUsd: 2}}\n");
    project.says("supervisor usage --turns 9 --cost-usd 0.5");
    let told = studio.get("/project/budgets").json();
    let budgets = told["budgets"].as_array().expect("a list");
    let of = |unit: &str| budgets.iter().find(|one| one["unit"] == unit).unwrap_or_else(|| panic!("{unit}: {told}"));
    assert_eq!(
        (&of("turns")["used"], &of("turns")["cap"], &of("turns")["state"]),
        (&json!(9), &json!(10), &json!("nearly"))
    );
    assert_eq!((&of("costUsd")["used"], &of("costUsd")["state"]), (&json!(0.5), &json!("open")));
    project.write(".portolan/plugins.yaml", "budgets: 3\n");
    assert!(studio.get("/project/budgets").status >= 400, "what cannot be read is no empty list");
}
