//! Servers are discovered; calls, expressions and drafts are tried.

use serde_json::{Value, json};

use super::{FILE, MISBEHAVING, client, project, refused, says, text};
use crate::support::{Project, Wire};

/// A project whose file brings a server along, and a person who has one of her own.
fn with_servers() -> (Project, Wire) {
    let project = Project::new();
    let own = json!({ "own": { "command": "python3", "args": [MISBEHAVING, "normal", "--starts", "own-starts"] }, "off": { "command": "no-such-program" } });
    let brought = json!({ "brought": { "command": "python3", "args": [MISBEHAVING, "normal", "--starts", "brought-starts"], "env": { "TOKEN": "s3cret-token" } } });
    project.write("mcp.json", &json!({ "mcpServers": own }).to_string());
    project.write("g.yaml", &format!("{FILE}mcpServers: {brought}\n"));
    let wire = project.client(&["g.yaml", "--toolset", "author", "--mcp", "mcp.json"]);
    (project, wire)
}

fn starts(project: &Project, name: &str) -> usize {
    std::fs::read_to_string(project.path().join(name)).map_or(0, |text| text.lines().count())
}

#[test]
fn servers_are_listed_with_what_keeps_them_from_being_asked() {
    let (project, mut wire) = with_servers();
    let listed = wire.done("listMcpServers", &json!({}));
    let of = |listed: &Value, name: &str| {
        let items = listed["items"].as_array().expect("items").clone();
        items.into_iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("no {name} in {listed:#}"))
    };
    assert_eq!(of(&listed, "brought")["error"]["code"], "not_trusted");
    assert_eq!(of(&listed, "brought")["definedIn"], "graph");
    assert_eq!(of(&listed, "off")["error"]["code"], "server-not-started");
    assert_eq!(of(&listed, "own").get("error"), None);
    assert_eq!(of(&listed, "echo").get("error"), None);
    assert_eq!(starts(&project, "brought-starts"), 0, "nobody trusted it");
    let tools = wire.done("listMcpServerTools", &json!({}));
    assert!(tools["items"].as_array().expect("items").iter().any(|tool| tool["server"] == "own"), "{tools:#}");
    assert_eq!(tools["errors"].as_array().map(Vec::len), Some(2), "{tools:#}");
    let error = refused(&mut wire, "listMcpServerTools", &json!({ "serverName": "nobody" }), "unknown_server");
    assert!(error["help"].as_str().is_some_and(|help| help.contains("`own`") && help.contains("`echo`")), "{error:#}");
    refused(&mut wire, "listMcpServerTools", &json!({ "serverName": "brought" }), "not_trusted");
    refused(&mut wire, "getMcpServerTool", &json!({ "serverName": "brought", "toolName": "echo" }), "not_trusted");
    refused(&mut wire, "testMcpTool", &json!({ "server": "brought", "tool": "echo", "args": {} }), "not_trusted");
    project.run(&["trust", "g.yaml"]);
    let listed = wire.done("listMcpServers", &json!({}));
    assert_eq!(of(&listed, "brought").get("error"), None, "{listed:#}");
    assert_eq!(starts(&project, "brought-starts"), 1);
}

#[test]
fn a_call_is_tried_on_the_server_that_runs() {
    let (project, mut wire) = with_servers();
    for nth in 0..3 {
        let args = json!({ "v": { "expr": "$.entry.n + 1" }, "w": "$.entry.n" });
        let call = json!({ "server": "own", "tool": "echo", "args": args, "context": { "entry": { "n": nth } } });
        let tried = wire.done("testMcpTool", &call);
        assert_eq!(tried["evaluatedArgs"], json!({ "v": nth + 1, "w": "$.entry.n" }), "{tried:#}");
        assert_eq!(tried["output"]["arguments"], tried["evaluatedArgs"], "{tried:#}");
        assert!(tried["executionTime"].is_u64());
    }
    assert_eq!(starts(&project, "own-starts"), 1, "it goes on from call to call");
    let tried = wire.done("testMcpTool", &json!({ "server": "echo", "tool": "add", "args": { "a": 1, "b": 2 } }));
    assert_eq!((&tried["output"], tried.get("evaluatedArgs")), (&json!({ "sum": 3 }), None));
    let answer = wire.call("testMcpTool", &json!({ "server": "echo", "tool": "fail", "args": { "message": "boom" } }));
    assert_eq!(
        (&answer.value["error"]["code"], &answer.value["error"]["message"]),
        (&json!("tool-error"), &json!("boom"))
    );
    assert!(answer.value["executionTime"].is_u64());
    refused(&mut wire, "testMcpTool", &json!({ "server": "eco", "tool": "x", "args": {} }), "unknown_server");
    let bad = json!({ "server": "echo", "tool": "echo", "args": { "v": { "expr": "1 +" } } });
    refused(&mut wire, "testMcpTool", &bad, "bad-expression");
}

/// What a tester answers. That an expression has no value is no error of the call.
fn tried(wire: &mut Wire, tool: &str, arguments: Value) -> Value {
    let answer = wire.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["structuredContent"].clone()
}

#[test]
fn expressions_are_tried_within_their_bounds() {
    let project = project();
    let mut wire = client(&project);
    let mut jsonata = |expression: &str, context: Value| {
        tried(&mut wire, "testJSONata", json!({ "expression": expression, "context": context }))
    };
    assert_eq!(jsonata("1+1", json!({})), json!({ "result": 2 }));
    assert_eq!(jsonata("$.a", json!({ "a": null })), json!({ "result": null }));
    assert_eq!(jsonata("$.b", json!({ "a": 1 })), json!({ "undefined": true }));
    assert_eq!(jsonata("$previousNode()", json!({})), json!({ "result": null }));
    let unread = jsonata("1 +", json!({}));
    assert_eq!((&unread["result"], &unread["error"]["details"]["offset"]), (&json!(null), &json!(3)), "{unread:#}");
    let endless = jsonata("($f := function($n) { $f($n + 1) }; $f(0))", json!({}));
    assert_eq!(endless["error"]["details"]["code"], "expression-bounds", "{endless:#}");
    let mut logic =
        |rule: Value| tried(&mut wire, "testJSONLogic", json!({ "expression": rule, "context": { "a": 1 } }));
    for (rule, holds) in [
        (json!(false), false),
        (json!(0), false),
        (json!(null), false),
        (json!(""), false),
        (json!(true), true),
        (json!({ "==": [{ "var": "$.a" }, 1] }), true),
        (json!({ ">": [{ "var": "a" }, 1] }), false),
    ] {
        assert_eq!(logic(rule.clone()), json!({ "result": holds }), "{rule}");
    }
    assert!(logic(json!({ "no such operator": [] }))["error"]["message"].is_string());
    refused(&mut wire, "testJSONLogic", &json!({ "context": {} }), "invalid_arguments");
    refused(&mut wire, "testJSONata", &json!({ "context": {} }), "invalid_arguments");
}

#[test]
fn a_draft_is_run_as_it_is_and_never_kept() {
    let project = project();
    let mut wire = client(&project);
    let draft = says("adds", "the draft");
    let ran = wire.done("runGraphTool", &json!({ "toolDefinition": draft, "arguments": {}, "logging": true }));
    assert_eq!(ran["result"], json!({ "said": "the draft" }), "and not the tool of its name");
    let ids: Vec<&Value> = ran["executionHistory"].as_array().expect("rows").iter().map(|row| &row["nodeId"]).collect();
    assert_eq!(ids, ["entry", "say", "exit"]);
    assert!(ran["logging"].as_array().is_some_and(|lines| !lines.is_empty()), "{ran:#}");
    assert_eq!(text(&project), FILE);
    let mut calls = says("calls", "x");
    calls["nodes"][1] = json!({ "id": "say", "type": "call", "tool": "adds", "args": { "a": 5 }, "next": "exit" });
    let ran = wire.done("runGraphTool", &json!({ "toolDefinition": calls, "arguments": {} }));
    assert_eq!(ran["result"], json!({ "sum": 7 }), "beside the other tools of the file");
    let mut bad = says("bad", "x");
    bad["nodes"][1]["next"] = json!("nowhere");
    refused(&mut wire, "runGraphTool", &json!({ "toolDefinition": bad, "arguments": {} }), "invalid_definition");
    let both = json!({ "toolDefinition": says("x", "x"), "toolName": "adds", "arguments": {} });
    refused(&mut wire, "runGraphTool", &both, "invalid_arguments");
    refused(&mut wire, "runGraphTool", &json!({ "arguments": {} }), "invalid_arguments");
    assert_eq!(text(&project), FILE);
}

#[test]
fn a_failure_comes_with_its_history_and_without_secrets() {
    let (project, mut wire) = with_servers();
    project.run(&["trust", "g.yaml"]);
    let mut draft = says("leaks", "x");
    draft["inputSchema"] =
        json!({ "type": "object", "properties": { "pin": { "type": "string", "writeOnly": true } } });
    draft["nodes"][1] = json!({
        "id": "say", "type": "mcp", "server": "brought", "tool": "echo",
        "args": { "pin": { "expr": "$.entry.pin" }, "token": "s3cret-token" }, "next": "fail",
    });
    let fail = json!({ "id": "fail", "type": "mcp", "server": "echo", "tool": "fail", "args": { "message": { "expr": "'pin ' & $.entry.pin" } }, "next": "exit" });
    draft["nodes"].as_array_mut().expect("nodes").insert(2, fail);
    let answer = wire.call("runGraphTool", &json!({ "toolDefinition": draft, "arguments": { "pin": "4711-0815" } }));
    assert!(answer.is_error);
    assert_eq!(answer.value["error"]["node"], "fail", "{:#}", answer.value);
    let rows = answer.value["executionHistory"].as_array().expect("rows");
    assert_eq!(rows.iter().map(|row| &row["nodeId"]).collect::<Vec<_>>(), ["entry", "say", "fail"]);
    assert_eq!(rows[2]["error"]["code"], "tool-error");
    let said = answer.value.to_string();
    assert!(!said.contains("4711-0815") && !said.contains("s3cret-token"), "{said}");
    let input = json!({ "toolName": "adds", "arguments": { "a": "one" } });
    refused(&mut wire, "runGraphTool", &input, "bad_input");
}

#[test]
fn limits_hold_for_drafts() {
    let project = Project::new();
    project.write("g.yaml", &format!("{FILE}executionLimits: {{ maxNodeExecutions: 50 }}\n"));
    let mut wire = client(&project);
    let mut draft = says("spins", "x");
    draft["nodes"][1]["next"] = json!("choose");
    let choose =
        json!({ "id": "choose", "type": "switch", "conditions": [{ "rule": true, "next": "say" }], "next": "exit" });
    draft["nodes"].as_array_mut().expect("nodes").insert(2, choose);
    let answer = wire.call("runGraphTool", &json!({ "toolDefinition": draft, "arguments": {} }));
    assert!(answer.is_error, "{:#}", answer.value);
    assert!(
        answer.value["executionHistory"].as_array().is_some_and(|rows| rows.len() >= 49),
        "{:#}",
        answer.value["error"]
    );
}
