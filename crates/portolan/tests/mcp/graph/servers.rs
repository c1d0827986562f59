//! The servers behind the graphs: who may start them, what they say, what they are told.

use serde_json::{Value, json};

use super::{MISBEHAVING, call, call_output, client, project, tool};
use crate::support::{Project, Wire};

#[test]
fn servers_that_come_with_the_file_wait_for_trust() {
    let project = Project::new();
    let ask = tool("ask", "", &["id: ask, type: mcp, server: own, tool: echo, args: {}, next: exit"]);
    let servers = json!({ "own": { "command": "python3", "args": [MISBEHAVING, "normal", "--starts", "starts"] } });
    project.write("g.yaml", &format!("{}mcpServers: {servers}\n", [super::HEAD, &ask].concat()));
    let mut wire = Wire::hearing(project.command(&["serve", "g.yaml"]));
    wire.shake_hands("2025-11-25", &json!({}));
    let refused = call(&mut wire, "ask", json!({}));
    assert_eq!(refused["isError"], true);
    assert_eq!(refused["structuredContent"]["error"]["code"], "not_trusted");
    let text = refused["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("`portolan trust g.yaml`"), "{text}");
    assert!(!project.path().join("starts").exists(), "nothing was started");
    project.run(&["trust", "g.yaml"]);
    assert!(call_output(&mut wire, "ask", json!({})).1.is_object(), "the next call may");
    assert!(project.path().join("starts").exists());
}

#[test]
fn what_servers_say_is_shown_with_their_names() {
    let ask = "id: ask, type: mcp, server: bad, tool: flood_stderr, args: { lines: 3 }, next: exit";
    let project = project(&[tool("ask", "outputSchema: { type: string }", &[ask])]);
    let mut wire = client(&project);
    call_output(&mut wire, "ask", json!({}));
    for nth in 0..3 {
        assert!(wire.hears("bad: line").starts_with(&format!("bad: line {nth} xxx")));
    }
}

#[test]
fn a_server_that_dies_is_reported_with_its_last_words_and_started_again() {
    let die = "id: ask, type: mcp, server: bad, tool: die, args: {}, next: exit";
    let echo = "id: ask, type: mcp, server: bad, tool: echo, args: { v: 1 }, next: exit";
    let project = project(&[tool("dies", "", &[die]), tool("echoes", "", &[echo])]);
    let mut wire = client(&project);
    call_output(&mut wire, "echoes", json!({}));
    let failed = call(&mut wire, "dies", json!({}));
    assert_eq!(failed["isError"], true);
    let text = failed["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("exited with status 3") && text.contains("these are my last words"), "{text}");
    assert_eq!(failed["structuredContent"]["error"]["node"], "ask");
    assert_eq!(call_output(&mut wire, "echoes", json!({})).1["arguments"], json!({ "v": 1 }));
}

#[test]
fn the_trace_of_the_caller_goes_on_to_the_server() {
    let ask = "id: ask, type: mcp, server: bad, tool: echo, args: {}, next: exit";
    let project = project(&[tool("ask", "", &[ask])]);
    let mut wire = client(&project);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let mut parent = |traceparent: Value| {
        let params = json!({ "name": "ask", "arguments": {}, "_meta": { "traceparent": traceparent } });
        let answer = wire.request("tools/call", params);
        answer["result"]["structuredContent"]["meta"]["traceparent"].clone()
    };
    // Nobody collects spans here, so that the caller's own is the one around the server's.
    let caller = format!("00-{trace}-b7ad6b7169203331-01");
    assert_eq!(parent(json!(caller)), caller);
    assert_eq!(parent(json!("nonsense")), Value::Null);
    assert_eq!(parent(json!(7)), Value::Null);
}

#[test]
fn what_was_given_in_confidence_is_masked_in_errors_and_on_standard_error() {
    let script = "import sys,json\nfor line in sys.stdin:\n m=json.loads(line)\n if m['method']=='initialize':\n  print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':{'protocolVersion':'2025-06-18','capabilities':{'tools':{}},'serverInfo':{'name':'s','version':'1'}}}),flush=True)\n elif m['method']=='tools/call':\n  print('login with',m['params']['arguments'].get('t','nobody'),'failed',file=sys.stderr,flush=True)\n  sys.exit(3)\n";
    let nodes = ["id: ask, type: mcp, server: own, tool: login, args: { t: { expr: $.entry.token } }, next: exit"];
    let project = Project::new();
    let servers = json!({ "mcpServers": { "own": { "command": "python3", "args": ["-c", script] } } });
    project.write("mcp.json", &servers.to_string());
    let input = "inputSchema: { type: object, properties: { token: {}, n: { type: integer } } }";
    let graph = [super::HEAD, &tool("login", input, &nodes), "redact: [token]\n"].concat();
    project.write("g.yaml", &graph);
    let mut wire = Wire::hearing(project.command(&["serve", "g.yaml", "--mcp", "mcp.json"]));
    wire.shake_hands("2025-11-25", &json!({}));
    let failed = call(&mut wire, "login", json!({ "token": "tok-77-of-a-user" })).to_string();
    assert!(failed.contains("login with [redacted] failed") && !failed.contains("tok-77"), "{failed}");
    assert_eq!(wire.hears("login with"), "own: login with [redacted] failed");
    let refused = call(&mut wire, "login", json!({ "token": "tok-77-of-a-user", "n": "tok-77-of-a-user" })).to_string();
    assert!(refused.contains("isError\":true") && !refused.contains("tok-77"), "{refused}");
}
