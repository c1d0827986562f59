//! `portolan serve --http`: who may use it, what is refused, and how it ends. `tests/clients/walk.py` walks it with the
//! Python SDK.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use expect_test::expect;
use serde_json::{Value, json};

use crate::fifo::Fifo;
use crate::provider::{FakeProvider, Said, Turn};
use crate::served::{Answer, Served, port_of, started};
use crate::support::{Project, checked, repository};

impl Served {
    pub(crate) fn over_http(project: &Project, arguments: &[&str]) -> Served {
        let words = [&["serve", "--http", "127.0.0.1:0", "--format", "json"], arguments].concat();
        let (child, said) = started(project.command(&words));
        let port = port_of(said["address"].as_str().expect("an address"));
        let token = said["tokenFile"].as_str().map(|file| fs::read_to_string(file).expect("the token is kept"));
        Served { child, port, token: token.unwrap_or_default() }
    }

    /// A message as a client sends it, to a path.
    pub(crate) fn message(&self, path: &str, message: &Value, more: &[(&str, &str)]) -> Answer {
        let (host, bearer) = (self.host(), self.bearer());
        let mut headers = vec![("Host", &*host), ("Authorization", &*bearer), ("Content-Type", "application/json")];
        headers.push(("Accept", "application/json, text/event-stream"));
        headers.extend(more);
        self.with("POST", path, &headers, &message.to_string())
    }

    /// Calls a tool as a client of 2026-07-28, which has no session.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Answer {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta() });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let more = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
        self.message("/mcp", &call, &more)
    }

    pub(crate) fn metrics(&self) -> Answer {
        let (host, bearer) = (self.host(), self.bearer());
        self.with("GET", "/metrics", &[("Host", &host), ("Authorization", &bearer)], "")
    }

    /// The names of the tools at a path, by a client of 2026-07-28, which has no session.
    pub(crate) fn tools(&self, path: &str) -> Vec<String> {
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta() } });
        let more = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
        let answer = self.message(path, &list, &more);
        let start = answer.body.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("{} {}", answer.head, answer.body));
        let end = answer.body.rfind('}').expect("it is an object");
        let listed: Value = serde_json::from_str(&answer.body[start..=end]).expect("it is JSON");
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().expect("it has a name").to_owned()).collect()
    }
}

pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

pub(crate) fn initialize() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

pub(crate) fn verdict(answer: &Answer) -> String {
    if answer.status == 200 { "200".to_owned() } else { answer.refusal() }
}

#[test]
fn host_origin_and_token_are_checked_in_this_order_and_before_anything_is_done() {
    let project = Project::small();
    let server = Served::over_http(&project, &[]);
    let own = server.host();
    let hosts = [&*own, &format!("localhost:{}", server.port), "localhost", "evil.example", &format!("evil.{own}")];
    let ours = format!("http://{own}");
    let origins = [None, Some(&*ours), Some("http://127.0.0.1:1"), Some("null"), Some("http://evil.example")];
    let (right, wrong) = (server.bearer(), format!("Bearer {}", "0".repeat(64)));
    let cut = &right[..right.len() - 1];
    let tokens = [Some(&*right), None, Some(&*wrong), Some(cut), Some("Bearer ")];
    for (nth_host, host) in hosts.iter().enumerate() {
        for (nth_origin, origin) in origins.iter().enumerate() {
            for (nth_token, token) in tokens.iter().enumerate() {
                let mut headers = vec![("Host", *host), ("Content-Type", "application/json")];
                headers.push(("Accept", "application/json, text/event-stream"));
                headers.extend(origin.map(|origin| ("Origin", origin)));
                headers.extend(token.map(|token| ("Authorization", token)));
                // What is no message is refused by what reads messages, which nothing else gets to.
                let answer = server.with("POST", "/mcp", &headers, "[]");
                let expected = match (nth_host, nth_origin, nth_token) {
                    (2.., ..) => "421 other_host",
                    (_, 2.., _) => "403 other_origin",
                    (.., 1..) => "401 no_token",
                    _ => "415",
                };
                let got = if expected == "415" { answer.status.to_string() } else { answer.refusal() };
                assert_eq!(got, expected, "{headers:?}: {}", answer.body);
            }
        }
    }
}

#[test]
fn each_toolset_has_a_path_of_its_own() {
    let project = Project::small();
    let server = Served::over_http(&project, &["--toolset", "navigate,gates"]);
    let (navigate, gates) = (server.tools("/mcp/navigate"), server.tools("/mcp/gates"));
    assert!(navigate.contains(&"start_workflow".to_owned()) && !navigate.contains(&"flow_status".to_owned()));
    assert!(gates.contains(&"flow_status".to_owned()) && !gates.contains(&"start_workflow".to_owned()));
    assert_eq!(server.tools("/mcp"), [navigate, gates].concat());
    assert_eq!(verdict(&server.message("/mcp/tasks", &initialize(), &[])), "404 unknown_path");
}

#[test]
fn a_session_begins_and_ends() {
    let project = Project::small();
    let server = Served::over_http(&project, &[]);
    // The answer to the first message is a stream that stays open: it is read as far as its end or a while.
    let answer = server.message("/mcp", &initialize(), &[]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let session = answer.header("mcp-session-id").expect("it has an id").to_owned();
    let (host, bearer) = (server.host(), server.bearer());
    let headers = [("Host", &*host), ("Authorization", &*bearer), ("Mcp-Session-Id", &*session)];
    assert_eq!(server.with("DELETE", "/mcp", &headers, "").status, 204);
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    assert_eq!(server.message("/mcp", &ping, &[("Mcp-Session-Id", &session)]).status, 404);
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let project = Project::small();
    let server = Served::over_http(&project, &[]);
    let long = json!({ "text": "x".repeat(5 << 20) });
    assert_eq!(verdict(&server.message("/mcp", &long, &[])), "413 too_large");
    let many = json!({ "numbers": vec![0; 60_000] });
    assert_eq!(verdict(&server.message("/mcp", &many, &[])), "413 too_large");
    // A body that is announced and never comes holds nothing up.
    let mut slow = server.connect();
    write!(slow, "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\n", server.host(), server.bearer())
        .expect("it listens");
    write!(slow, "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{").expect("it listens");
    assert_eq!(server.tools("/mcp").len(), 11);
}

#[test]
fn the_token_is_kept_for_the_owner_and_replaced_if_others_could_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::small();
    let token = Served::over_http(&project, &[]).token.clone();
    assert_eq!(token.len(), 64);
    let again = Served::over_http(&project, &[]);
    assert_eq!(again.token, token, "clients are configured once");
    drop(again);
    let file = project.path().join(".portolan/serve.token");
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it can be set");
    assert_ne!(Served::over_http(&project, &[]).token, token);
}

#[test]
fn probes_need_no_token_and_without_authentication_nobody_does() {
    let project = Project::small();
    let server = Served::over_http(&project, &["--no-auth"]);
    let host = server.host();
    for path in ["/healthz", "/readyz"] {
        let answer = server.with("GET", path, &[("Host", &host)], "");
        assert_eq!((answer.status, &*answer.body), (200, "ok\n"), "{path}");
    }
    let headers =
        [("Host", &*host), ("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    assert_eq!(server.with("POST", "/mcp", &headers, &initialize().to_string()).status, 200);
    assert_eq!(server.with("GET", "/readyz", &[("Host", "evil.example")], "").status, 421);
}

#[test]
fn calls_and_refusals_are_counted() {
    let project = Project::small();
    let server = Served::over_http(&project, &["--toolset", "tasks,navigate"]);
    for (tool, arguments) in [
        ("Init", json!({ "workflowType": "small" })),
        ("Init", json!({ "workflowType": "nothing" })),
        ("start_workflow", json!({ "workflow_id": "nothing" })),
        ("no such tool", json!({})),
    ] {
        assert_eq!(server.call(tool, &arguments).status, 200, "{tool}");
    }
    let without = server.with("GET", "/metrics", &[("Host", &server.host())], "");
    assert_eq!(verdict(&without), "401 no_token");
    let metrics = server.metrics();
    assert_eq!(metrics.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    expect![[r##"
        # EOF
        mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="Init",error_type=""} 1
        mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="Init",error_type="unknown_workflow"} 1
        mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="start_workflow",error_type="unknown_workflow"} 1
        mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="unknown",error_type="unknown_tool"} 1
        portolan_moves_total{event="opened"} 1
        portolan_requests_pending 0
        portolan_runs_open 1
        portolan_runs_waiting 0
        portolan_sessions 0
        portolan_sessions_suspended 0"##]].assert_eq(&counts(&metrics));
}

/// What metrics count, without the times.
fn counts(metrics: &Answer) -> String {
    let is_shown = |line: &&str| !line.starts_with("# ") || *line == "# EOF";
    let has_time = |line: &&str| line.contains("_bucket{") || line.contains("_seconds_sum{");
    let mut lines: Vec<&str> = metrics.body.lines().filter(is_shown).filter(|line| !has_time(line)).collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn moves_effects_and_requests_to_servers_and_models_are_counted() {
    let project = Project::new();
    let states = "objective: all of it\nstates:\n  work:\n    objective: Write a text\n    is_final: true\n    tools: [echo/echo]\n";
    project.write("w.yaml", states);
    let call = Said::default().calling("c", "echo_echo", r#"{"text": "x"}"#);
    let provider = FakeProvider::new([Turn::Says(call), Turn::Says(Said::text("done"))]);
    let model = format!("openai:m@{}/v1", provider.origin);
    let server = Served::over_http(&project, &["w.yaml", "--toolset", "graph", "--model", &model]);
    let called = server.call("w", &json!({}));
    assert!(called.body.contains("done"), "{}", called.body);
    let metrics = server.metrics();
    let named = |name: &String| ["{", " "].iter().any(|next| metrics.body.contains(&format!("\n{name}{next}")));
    let unknown: Vec<String> = metrics_of_dashboard().into_iter().filter(|name| !named(name)).collect();
    assert_eq!(unknown, [""; 0], "the dashboard names metrics that exist");
    expect![[r##"
        # EOF
        gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m",error_type=""} 2
        gen_ai_client_token_usage_count{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m",gen_ai_token_type="input"} 2
        gen_ai_client_token_usage_count{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m",gen_ai_token_type="output"} 2
        gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m",gen_ai_token_type="input"} 22.0
        gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m",gen_ai_token_type="output"} 14.0
        gen_ai_invoke_workflow_inference_calls_count{gen_ai_operation_name="invoke_workflow",gen_ai_workflow_name="w"} 1
        gen_ai_invoke_workflow_inference_calls_sum{gen_ai_operation_name="invoke_workflow",gen_ai_workflow_name="w"} 2.0
        gen_ai_invoke_workflow_tool_calls_count{gen_ai_operation_name="invoke_workflow",gen_ai_workflow_name="w"} 1
        gen_ai_invoke_workflow_tool_calls_sum{gen_ai_operation_name="invoke_workflow",gen_ai_workflow_name="w"} 1.0
        gen_ai_workflow_duration_seconds_count{gen_ai_operation_name="invoke_workflow",gen_ai_workflow_name="w",error_type=""} 1
        mcp_client_operation_duration_seconds_count{mcp_method_name="tools/call",server="echo",gen_ai_tool_name="echo",error_type=""} 1
        mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="w",error_type=""} 1
        portolan_effect_duration_seconds_count{kind="complete",result="answer"} 2
        portolan_effect_duration_seconds_count{kind="use_tool",result="output"} 1
        portolan_moves_total{event="opened"} 1
        portolan_moves_total{event="settled"} 6
        portolan_requests_pending 0
        portolan_runs_open 0
        portolan_runs_waiting 0
        portolan_sessions 0
        portolan_sessions_suspended 0"##]].assert_eq(&counts(&metrics));
}

/// The metrics in the queries of `deploy/grafana.json`.
fn metrics_of_dashboard() -> BTreeSet<String> {
    let file = fs::read_to_string(repository().join("deploy/grafana.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&file).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let queries = panels.flat_map(|panel| panel["targets"].as_array().expect("targets"));
    // Labels begin as metrics do. Those that Portolan names itself have a beginning of their own.
    let is_metric = |word: &&str| {
        word.starts_with("portolan_") || ["_count", "_sum", "_bucket"].iter().any(|end| word.ends_with(end))
    };
    let mut names = BTreeSet::new();
    for query in queries {
        let query = query["expr"].as_str().expect("a query");
        let words = query.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
        let found: Vec<&str> = words.filter(is_metric).collect();
        assert!(!found.is_empty(), "{query}");
        names.extend(found.into_iter().map(str::to_owned));
    }
    names
}

#[test]
fn connections_beyond_the_bound_are_refused_and_the_others_continue() {
    let project = Project::small();
    let server = Served::over_http(&project, &["--max-connections", "4"]);
    let healthy = |stream: &mut TcpStream| {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.host());
        stream.write_all(request.as_bytes()).expect("it is written");
        let mut answer = [0; 1024];
        let length = stream.read(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer[..length]).into_owned()
    };
    let mut open: Vec<TcpStream> = (0..4).map(|_| server.connect()).collect();
    open.iter_mut().for_each(|stream| assert!(healthy(stream).starts_with("HTTP/1.1 200 "), "it is served"));
    for _connection in 0..20 {
        let refused = healthy(&mut server.connect());
        assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("retry-after: 1"), "{refused}");
        assert!(refused.contains(r#""code":"busy""#), "{refused}");
    }
    open.iter_mut().for_each(|stream| assert!(healthy(stream).starts_with("HTTP/1.1 200 "), "it is served as before"));
    drop(open.pop());
    // Its place is free once the server has noticed that it ended.
    while !healthy(&mut server.connect()).starts_with("HTTP/1.1 200 ") {}
    let refused =
        project.output_text(&project.command(&["serve", "--max-connections", "4"]).output().expect("it runs"));
    assert!(refused.contains("--http"), "{refused}");
}

#[test]
fn it_ends_when_it_is_asked_to() {
    let project = Project::small();
    let mut server = Served::over_http(&project, &[]);
    let session = server.message("/mcp", &initialize(), &[]);
    assert_eq!(session.status, 200);
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("`kill` is there").success());
    assert!(server.child.wait().expect("it ends").success());
}

#[test]
fn a_pending_call_is_answered_before_the_end_and_no_new_one_is_begun() {
    let project = Project::new();
    project.write(".flow/workflows/checked.json", checked(r#"["sh", "-c", "echo > begun; cat < go"]"#));
    project.says("trust .flow/workflows/checked.json");
    let (begun, go) = (Fifo::at(&project.path().join("begun")), Fifo::at(&project.path().join("go")));
    let mut server = Served::over_http(&project, &[]);
    let opened = server.call("Init", &json!({ "workflowType": "checked" })).json();
    let run = opened["result"]["structuredContent"]["run"].clone();
    server.call("Start", &json!({ "run": run }));
    let now = server.call("Current", &json!({ "run": run })).json();
    let action = now["result"]["structuredContent"]["actions"]["required"][0]["arguments"].clone();
    let answer = std::thread::scope(|scope| {
        let pending = scope.spawn(|| server.call("Next", &action));
        // A shell that writes after its reader has closed ends at once.
        let _begun = begun.opened();
        let pid = server.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("`kill` is there").success());
        let host = server.host();
        while server.with("GET", "/readyz", &[("Host", &host)], "").status == 200 {}
        let refused = server.call("Current", &json!({ "run": run }));
        assert_eq!((&*verdict(&refused), refused.header("retry-after")), ("503 ending", Some("1")));
        go.release();
        pending.join().expect("it is answered")
    });
    assert_eq!(answer.json()["result"]["structuredContent"]["terminal"], "success", "{}", answer.body);
    assert!(server.child.wait().expect("it ends").success());
}

#[test]
fn an_address_beyond_this_machine_needs_tokens_and_a_name() {
    let project = Project::small();
    expect![[r#"
        stderr: error: `--http 0.0.0.0:7420` can be reached from other machines, whose clients need tokens
        stderr: help: add `--tokens FILE` with a file of `portolan token new`, or `--oauth ISSUER`
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --http 0.0.0.0:7420"));
    expect![[r#"
        stderr: error: `--http 7420` is not an address with a port
        stderr: help: write it as in `--http 127.0.0.1:7420`
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --http 7420"));
    // Another user's programs may listen on the other addresses of the loopback.
    expect![[r#"
        stderr: error: `--http 127.0.0.2:7420` can be reached from other machines, whose clients need tokens
        stderr: help: add `--tokens FILE` with a file of `portolan token new`, or `--oauth ISSUER`
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --http 127.0.0.2:7420"));
    expect![[r#"
        stderr: error: `--http 0.0.0.0:7420` can be reached from other machines, whose clients need tokens
        stderr: help: add `--tokens FILE` with a file of `portolan token new`, or `--oauth ISSUER`
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --http 0.0.0.0:7420 --no-auth"));
    project.says("token new ci --scope read --file tokens.txt");
    expect![[r#"
        stderr: error: `--http 0.0.0.0:7420` does not say by which address clients reach the server
        stderr: help: add `--url`, as in `--url https://agents.example.org`
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --http 0.0.0.0:7420 --tokens tokens.txt"));
    expect![[r#"
        stderr: error: invalid value 'https://a/b' for '--url <URL>': write a scheme and a name, without a path, as in `https://agents.example.org`
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --http 0.0.0.0:7420 --tokens tokens.txt --url https://a/b"));
    expect![[r#"
        stderr: error: the certificate `missing.pem` cannot be used: I/O error: No such file or directory (os error 2)
        stderr: help: name a PEM file with the chain, then one with its key
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --http 127.0.0.1:0 --tls missing.pem key.pem"));
}

#[test]
fn the_studio_is_beside_the_tools_where_it_is_wanted_and_neither_opens_the_other() {
    let project = Project::small();
    let without = Served::over_http(&project, &[]);
    let bare = |server: &Served, path: &str, token: &str| {
        let (host, bearer) = (server.host(), format!("Bearer {token}"));
        server.with("GET", path, &[("Host", &*host), ("Authorization", &*bearer)], "")
    };
    assert_eq!(bare(&without, "/", &without.token).status, 404);
    let words = ["serve", "--http", "127.0.0.1:0", "--studio", "--format", "json"];
    let (child, said) = started(project.command(&words));
    let port = port_of(said["address"].as_str().expect("an address"));
    let (base, page_token) = said["studio"].as_str().and_then(|page| page.split_once("/#token=")).expect("an address");
    assert_eq!(base, format!("http://localhost:{port}"));
    let token = fs::read_to_string(said["tokenFile"].as_str().expect("a file")).expect("the token is kept");
    let mut server = Served { child, port, token };
    let page = bare(&server, "/", "");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.header("content-security-policy").is_some());
    assert_eq!(bare(&server, "/api/v1/project", page_token).json()["readOnly"], false);
    assert_eq!(bare(&server, "/healthz", "").body, "ok\n");
    assert!(!server.tools("/mcp").is_empty());
    assert_eq!(bare(&server, "/api/v1/project", &server.token).refusal(), "401 no_token");
    assert_eq!(bare(&server, "/metrics", page_token).refusal(), "401 no_token");
    assert_eq!(bare(&server, "/mcp", page_token).refusal(), "401 no_token");
    assert_eq!(bare(&server, "/nothing", page_token).status, 404);
    let (host, bearer) = (server.host(), format!("Bearer {page_token}"));
    let foreign = [("Host", &*host), ("Authorization", &*bearer), ("Origin", "http://evil.example")];
    assert_eq!(server.with("GET", "/api/v1/project", &foreign, "").refusal(), "403 other_origin");
    let renamed = [("Host", "evil.example"), ("Authorization", &*bearer)];
    assert_eq!(server.with("GET", "/", &renamed, "").refusal(), "421 other_host");
    // A page that listens does not keep the server from ending.
    let mut stream = server.connect();
    let request =
        format!("GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it listens");
    let mut begun = [0; 12];
    stream.read_exact(&mut begun).expect("it answers");
    assert_eq!(&begun, b"HTTP/1.1 200");
    Command::new("kill").args(["-INT", &server.child.id().to_string()]).status().expect("it is asked to end");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the stream ends");
    assert!(server.child.wait().expect("it ends").success());
}

#[test]
fn the_studio_is_for_this_machine_and_one_project() {
    let project = Project::small();
    project.says("token new ci --scope read --file tokens.txt");
    expect![[r#"
        stderr: error: `--studio` shows the studio on this machine only, but others can reach `192.0.2.1:7420`
        stderr: help: leave `--studio` out, and start `portolan studio` on this machine; `ssh -L` reaches it from another one
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --http 192.0.2.1:7420 --tokens tokens.txt --studio"));
    expect![[r#"
        stderr: error: the argument '--projects <DIR>' cannot be used with '--studio'
        stderr: 
        stderr: Usage: portolan serve --http <ADDRESS> --projects <DIR> [FILE|DIR]...
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --http 127.0.0.1:0 --projects . --studio"));
    expect![[r#"
        stderr: error: the following required arguments were not provided:
        stderr:   --http <ADDRESS>
        stderr: 
        stderr: Usage: portolan serve --http <ADDRESS> --studio [FILE|DIR]...
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --studio"));
}
