//! `portolan token`, and servers that tell their clients apart by it.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use expect_test::expect;
use serde_json::{Value, json};

use crate::serve_http::{initialize, verdict};
use crate::served::{Answer, Served, started};
use crate::support::{Project, SUM};

const SCOPES: [&str; 5] = ["read", "navigate", "run", "author", "person"];

/// A client: its token, and whether it can ask its user.
struct Client<'s> {
    served: &'s Served,
    token: String,
    asks: bool,
    takes_tasks: bool,
}

impl Client<'_> {
    fn headers(&self) -> Vec<(String, String)> {
        let pairs = [
            ("Host", self.served.host()),
            ("Authorization", format!("Bearer {}", self.token)),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    fn sent(&self, method: &str, more: &[(&str, &str)], message: &str) -> Answer {
        let own = self.headers();
        let mut headers: Vec<(&str, &str)> = own.iter().map(|(name, value)| (&**name, &**value)).collect();
        headers.extend(more);
        self.served.with(method, "/mcp", &headers, message)
    }

    /// Sends a request as a client of 2026-07-28.
    fn asked(&self, method: &str, name: Option<&str>, mut params: Value) -> Answer {
        let mut capabilities = if self.asks { json!({ "elicitation": { "form": {} } }) } else { json!({}) };
        if self.takes_tasks {
            capabilities["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
        }
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut more = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        more.extend(name.map(|name| ("Mcp-Name", name)));
        self.sent("POST", &more, &message.to_string())
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let answer = self.asked("tools/call", Some(tool), json!({ "name": tool, "arguments": arguments }));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["result"].clone()
    }

    fn tools(&self) -> Vec<String> {
        let listed = self.asked("tools/list", None, json!({})).json();
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().expect("it has a name").to_owned()).collect()
    }
}

/// Issues a token, and returns it.
pub(crate) fn issue(project: &Project, name: &str, scopes: &str) -> String {
    issue_with(project, name, scopes, &[])
}

fn issue_with(project: &Project, name: &str, scopes: &str, more: &[&str]) -> String {
    let words = ["token", "new", name, "--scope", scopes, "--file", "tokens.txt", "--format", "json"];
    let output = project.command(&[&words, more].concat()).output().expect("the binary starts");
    let issued: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    issued["token"].as_str().expect("a token").to_owned()
}

fn served(project: &Project, arguments: &[&str]) -> Served {
    let words = ["serve", "--http", "127.0.0.1:0", "--format", "json", "--tokens", "tokens.txt"];
    let (child, said) = started(project.command(&[&words, arguments].concat()));
    let port = said["listening"].as_str().and_then(|address| address.rsplit_once(':')?.1.parse().ok()).expect("a port");
    assert_eq!((&said["tokensFile"], &said["tokenFile"]), (&json!("tokens.txt"), &Value::Null));
    Served { child, port, token: String::new() }
}

fn client<'s>(served: &'s Served, token: &str) -> Client<'s> {
    Client { served, token: token.to_owned(), asks: false, takes_tasks: false }
}

#[test]
fn each_scope_admits_its_own_tools_and_no_others() {
    let project = Project::small();
    project.write("sums.yaml", SUM);
    let tokens = SCOPES.map(|scope| (scope, issue(&project, scope, scope)));
    let served = served(&project, &["sums.yaml", "--toolset", "tasks,navigate,gates,graph"]);
    let all = client(&served, &issue(&project, "all", "read,navigate,run,author,person")).tools();
    let mut shown = String::new();
    for (scope, token) in &tokens {
        let client = client(&served, token);
        let listed = client.tools();
        let _written = writeln!(shown, "{scope}: {}", listed.join(" "));
        for tool in &all {
            let answer = client.asked("tools/call", Some(tool), json!({ "name": tool, "arguments": {} })).json();
            let code = &answer["result"]["structuredContent"]["error"]["code"];
            assert_eq!(*code == "needs_scope", !listed.contains(tool), "{scope} {tool}: {answer}");
        }
    }
    expect![[r#"
        read: list_workflows get_position Current ListWorkflows SelectWorkflow ListCatalog flow_status
        navigate: list_workflows start_workflow get_position complete_step respond_to_checkpoint raise_checkpoint end_workflow Init Start Current Next ListWorkflows SelectWorkflow ListCatalog flow_status flow_start flow_claim flow_tick flow_back flow_abort flow_override
        run: sum
        author: CopyWorkflows CopyAgents LoadWorkflows
        person: 
    "#]].assert_eq(&shown);
    let answer = client(&served, &tokens[0].1).call("Init", &json!({ "workflowType": "small" }));
    expect!["Refused: `Init` needs the scope `navigate`, and the token of this client has `read`; ask whoever issued the token, or leave this to another client."].assert_eq(answer["structuredContent"]["message"].as_str().expect("a message"));
    let runs = project.says("runs list");
    assert!(!runs.contains("small"), "a refused call changes nothing: {runs}");
}

#[test]
fn what_is_read_needs_the_scope_for_it() {
    let project = Project::small();
    let (reads, runs) = (issue(&project, "reads", "read"), issue(&project, "runs", "run"));
    let (leads, answers) = (issue(&project, "leads", "navigate"), issue(&project, "answers", "person"));
    let served = served(&project, &[]);
    let read = |token: &str| {
        let client = client(&served, token);
        let uri = "portolan://workflows/small";
        let resource = client.asked("resources/read", Some(uri), json!({ "uri": uri })).json();
        let prompt =
            client.asked("prompts/get", Some("start-small"), json!({ "name": "start-small", "arguments": {} })).json();
        let metrics = client.served.with(
            "GET",
            "/metrics",
            &[("Host", &served.host()), ("Authorization", &format!("Bearer {token}"))],
            "",
        );
        let said = |answer: &Value| answer["error"]["message"].as_str().unwrap_or("answered").to_owned();
        format!("{} | {} | {}\n", said(&resource), said(&prompt), verdict(&metrics))
    };
    expect![[r#"
        answered | answered | 200
        answered | answered | 200
        this needs the scope `read`, and the token of this client has `run` | this needs the scope `read`, and the token of this client has `run` | 403 needs_scope
        this needs the scope `read`, and the token of this client has `person` | this needs the scope `read`, and the token of this client has `person` | 403 needs_scope
    "#]]
    .assert_eq(&[reads, leads, runs, answers].map(|token| read(&token)).concat());
}

#[test]
fn the_holder_of_the_token_is_on_record_beside_the_client() {
    let project = Project::small();
    let token = issue(&project, "ci", "navigate");
    let served = served(&project, &[]);
    let ci = client(&served, &token);
    let opened = ci.call("Init", &json!({ "workflowType": "small" }));
    let run = opened["structuredContent"]["run"].as_str().expect("a run").to_owned();
    ci.call("Start", &json!({ "run": run }));
    let events = project.says(&format!("runs events {run} --format json"));
    assert!(events.contains(r#""agent": "ci (test)""#), "{events}");
}

#[test]
fn a_session_belongs_to_the_holder_of_the_token_that_began_it() {
    let project = Project::small();
    let (ada, bob) = (issue(&project, "ada", "navigate"), issue(&project, "bob", "navigate"));
    let served = served(&project, &[]);
    let (ada, bob) = (client(&served, &ada), client(&served, &bob));
    let begun = ada.sent("POST", &[], &initialize().to_string());
    let session = begun.header("mcp-session-id").expect("an id").to_owned();
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string();
    let (bare, _code) = session.rsplit_once('.').expect("it has a code");
    let (other_id, forged) = (bare.replace(['1', '2', '3'], "4"), format!("{bare}.{}", "0".repeat(64)));
    for id in [&*session, bare, &other_id, &forged, "", "."] {
        for (method, message) in [("POST", &*ping), ("GET", ""), ("DELETE", "")] {
            let answer = bob.sent(method, &[("Mcp-Session-Id", id)], message);
            assert_eq!(verdict(&answer), "404 unknown_session", "{method} {id}");
        }
    }
    let twice = [("Mcp-Session-Id", &*session), ("Mcp-Session-Id", &*session)];
    assert_eq!(verdict(&ada.sent("POST", &twice, &ping)), "404 unknown_session");
    assert_eq!(ada.sent("POST", &[("Mcp-Session-Id", &session)], &ping).status, 200);
    assert_eq!(ada.sent("DELETE", &[("Mcp-Session-Id", &session)], "").status, 204);
    assert_eq!(ada.sent("POST", &[("Mcp-Session-Id", &session)], &ping).status, 404);
}

#[test]
fn a_token_that_is_removed_or_replaced_is_refused_from_the_next_request_on() {
    let project = Project::small();
    let (ada, bob) = (issue(&project, "ada", "navigate"), issue(&project, "bob", "navigate"));
    let served = served(&project, &[]);
    let admitted = |token: &str| verdict(&client(&served, token).sent("POST", &[], &initialize().to_string()));
    assert_eq!([admitted(&ada), admitted(&bob), admitted("")], ["200", "200", "401 no_token"]);
    project.says("token remove ada --file tokens.txt");
    assert_eq!([admitted(&ada), admitted(&bob)], ["401 no_token", "200"]);
    let replaced = issue_with(&project, "bob", "read", &["--replace"]);
    assert_eq!([admitted(&bob), admitted(&replaced)], ["401 no_token", "200"]);
    // A file with a fault admits nobody, rather than those of its other lines.
    let file = project.path().join("tokens.txt");
    let text = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, format!("{text}broken\n")).expect("it can be written");
    assert_eq!(admitted(&replaced), "401 no_token");
    fs::write(&file, text).expect("it can be written");
    assert_eq!(admitted(&replaced), "200");
    // A change in place, at once and of the same length, shows neither in the size nor, on some file systems, in the time.
    let text = fs::read_to_string(&file).expect("it is there");
    let (digit, other) =
        if text.trim_end().ends_with('0') { ("0", "1") } else { (&text[text.len() - 2..text.len() - 1], "0") };
    fs::write(&file, format!("{}{other}\n", text.trim_end().strip_suffix(digit).expect("its last digit")))
        .expect("it can be written");
    assert_eq!(admitted(&replaced), "401 no_token");
    fs::remove_file(&file).expect("it can be removed");
    assert_eq!(admitted(&replaced), "401 no_token");
}

#[test]
fn one_client_cannot_keep_out_the_others() {
    let project = Project::small();
    let (greedy, modest) = (issue(&project, "greedy", "navigate"), issue(&project, "modest", "navigate"));
    let served = served(&project, &[]);
    // Bodies that are announced and never come.
    let pending: Vec<_> = (0..64)
        .map(|_| {
            let mut stream = served.connect();
            let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {greedy}\r\n", served.host());
            write!(stream, "{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{")
                .expect("it listens");
            stream
        })
        .collect();
    let pending_requests = || {
        let headers = [("Host", &*served.host()), ("Authorization", &*format!("Bearer {modest}"))];
        let metrics = served.with("GET", "/metrics", &headers, "");
        metrics.body.contains("portolan_requests_pending 64\n")
    };
    while !pending_requests() {}
    let refused = client(&served, &greedy).sent("POST", &[], &initialize().to_string());
    assert_eq!((&*verdict(&refused), refused.header("retry-after")), ("429 too_many_requests", Some("1")));
    assert_eq!(client(&served, &modest).tools().len(), 8);
    drop(pending);
    while client(&served, &greedy).sent("POST", &[], &initialize().to_string()).status != 200 {}
}

/// A workflow that a person ends.
const ASKING: &str = r#"{
  "nodes": {
    "start": { "type": "start" },
    "ask": { "type": "end", "result": "blocked", "escalation": "hitl", "description": "May it be published?" },
    "done": { "type": "end", "result": "success" }
  },
  "edges": [{ "from": "start", "to": "ask" }, { "from": "ask", "to": "done", "on": "passed" }]
}"#;

#[test]
fn a_dialog_counts_as_a_persons_answer_only_with_the_scope_for_it() {
    let project = Project::new();
    project.write(".flow/workflows/asking.json", ASKING);
    let (agent, person) = (issue(&project, "agent", "navigate"), issue(&project, "ada", "navigate,person"));
    let served = served(&project, &["--human", "verified"]);
    let mut agent = Client { asks: true, ..client(&served, &agent) };
    let person = Client { asks: true, ..client(&served, &person) };
    let opened = agent.call("Init", &json!({ "workflowType": "asking" }))["structuredContent"].clone();
    let run = opened["run"].clone();
    agent.call("Start", &json!({ "run": run }));
    let now = agent.call("Current", &json!({ "run": run }))["structuredContent"].clone();
    let answer = json!({ "run": run, "result": "passed", "revision": now["position"]["revision"] });
    for asks in [true, false] {
        agent.asks = asks;
        let refused = agent.call("Next", &answer);
        assert_eq!(refused["structuredContent"]["error"], "needs_person", "{refused}");
    }
    let asked = person.call("Next", &answer);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let said = json!({ "answer": { "action": "accept", "content": { "answer": "passed" } } });
    let repeated = |client: &Client<'_>| {
        let call = json!({ "name": "Next", "arguments": answer, "requestState": asked["requestState"],
            "inputResponses": said });
        client.asked("tools/call", Some("Next"), call).json()["result"]["structuredContent"].clone()
    };
    // An agent that has learnt the question's secret still is no person.
    agent.asks = true;
    assert_eq!(repeated(&agent)["error"], "needs_person");
    assert_eq!(repeated(&person)["terminal"], "success");
    let events = project.says(&format!("runs events {} --format json", run.as_str().expect("a run")));
    assert!(events.contains(r#""name": "ada""#) && events.contains(r#""via": "elicitation""#), "{events}");
}

#[test]
fn tokens_are_issued_and_taken_back() {
    let project = Project::new();
    let mut all = String::new();
    for line in [
        "token list --file tokens.txt",
        "token new ci --scope everything --file tokens.txt",
        "token new c!i --scope read --file tokens.txt",
        "token new ci --scope read --file nowhere/tokens.txt",
        "token new ci --scope run,read --file tokens.txt --format json",
        "token new ci --scope read --file tokens.txt",
        "token new ada --scope navigate,person --file tokens.txt --format json",
        "token list --file tokens.txt",
        "token remove bob --file tokens.txt",
        "token remove ci --file tokens.txt",
        "token list --file tokens.txt",
    ] {
        let said = project.says(line);
        let said: Vec<String> = said.lines().map(masked).collect();
        let _written = writeln!(all, "$ {line}\n{}", said.join("\n"));
    }
    expect![[r#"
        $ token list --file tokens.txt
        stderr: error: the file of tokens `tokens.txt` cannot be read: there is none
        stderr: help: issue a token with `portolan token new NAME --scope … --file FILE`
        exit: 2
        $ token new ci --scope everything --file tokens.txt
        stderr: error: invalid value 'everything' for '--scope <SCOPE>'
        stderr:   [possible values: read, navigate, run, author, person]
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
        $ token new c!i --scope read --file tokens.txt
        stderr: error: the name `c!i` is not 1 to 64 letters, digits and the characters `.`, `_`, `-` and `@`
        stderr: help: choose a short name, as in `portolan token new ci …`
        exit: 2
        $ token new ci --scope read --file nowhere/tokens.txt
        stderr: error: the file of tokens `nowhere/tokens.txt` cannot be written: its folder does not exist
        stderr: help: create it, or name another file
        exit: 1
        $ token new ci --scope run,read --file tokens.txt --format json
        {
          "name": "ci",
          "scopes": [
            "read",
            "run"
          ],
          "token": "portolan_…"
        }
        exit: 0
        $ token new ci --scope read --file tokens.txt
        stderr: error: `ci` has a token already
        stderr: help: choose another name, or replace the token with `--replace`
        exit: 2
        $ token new ada --scope navigate,person --file tokens.txt --format json
        {
          "name": "ada",
          "scopes": [
            "navigate",
            "person"
          ],
          "token": "portolan_…"
        }
        exit: 0
        $ token list --file tokens.txt
        ci   read,run
        ada  navigate,person
        exit: 0
        $ token remove bob --file tokens.txt
        stderr: error: no token in `<project>/tokens.txt` was issued to `bob`
        stderr: help: `portolan token list` shows the names
        exit: 2
        $ token remove ci --file tokens.txt
        stderr: the token of `ci` is no longer valid
        exit: 0
        $ token list --file tokens.txt
        ada  navigate,person
        exit: 0
    "#]]
    .assert_eq(&all);
}

#[test]
fn a_server_says_what_its_options_lack() {
    let project = Project::new();
    issue(&project, "ci", "read");
    let mut all = String::new();
    for line in [
        "serve --http 127.0.0.1:0 --tokens nowhere.txt",
        "serve --tokens tokens.txt",
        "serve --http 127.0.0.1:0 --tokens tokens.txt --no-auth",
    ] {
        let _written = writeln!(all, "$ {line}\n{}", project.says(line).trim_end());
    }
    expect![[r#"
        $ serve --http 127.0.0.1:0 --tokens nowhere.txt
        stderr: error: the file of tokens `nowhere.txt` cannot be read: there is none
        stderr: help: issue a token with `portolan token new NAME --scope … --file FILE`
        exit: 2
        $ serve --tokens tokens.txt
        stderr: error: the following required arguments were not provided:
        stderr:   --http <ADDRESS>
        stderr: 
        stderr: Usage: portolan serve --http <ADDRESS> --tokens <FILE> [FILE|DIR]...
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
        $ serve --http 127.0.0.1:0 --tokens tokens.txt --no-auth
        stderr: error: the argument '--tokens <FILE>' cannot be used with '--no-auth'
        stderr: 
        stderr: Usage: portolan serve --http <ADDRESS> --tokens <FILE> [FILE|DIR]...
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&all);
}

/// A line without the secret in it.
fn masked(line: &str) -> String {
    match line.find("portolan_") {
        Some(at) => {
            format!("{}portolan_…{}", &line[..at], line[at + 9..].trim_start_matches(|c: char| c.is_ascii_hexdigit()))
        }
        None => line.to_owned(),
    }
}

#[test]
fn a_file_of_tokens_contains_none_and_all_its_faults_are_told() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let token = issue(&project, "ci", "read");
    assert_eq!((token.len(), token.starts_with("portolan_")), (9 + 64, true));
    let file = project.path().join("tokens.txt");
    let text = fs::read_to_string(&file).expect("it is there");
    assert!(!text.contains(&token[9..]), "{text}");
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    let digest = "0".repeat(64);
    let lines =
        format!("# ours\n{text}ci read {digest}\nx\nbob all {digest}\nbob read {}\nb/b read {digest}\n", &digest[1..]);
    fs::write(&file, lines).expect("it can be written");
    expect![[r#"
        stderr: error: the file of tokens `tokens.txt` has faults: line 3: `ci` has a token already; line 4: a line has a name, scopes and a digest, and perhaps projects; line 5: there is no scope `all`; line 6: a digest has 64 lower-case hexadecimal digits; line 7: the name `b/b` is not 1 to 64 letters, digits and the characters `.`, `_`, `-` and `@`
        stderr: help: remove these lines in an editor, and issue their tokens again
        exit: 2
    "#]].assert_eq(&project.says("token list --file tokens.txt"));
    fs::write(&file, text).expect("it can be written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o622)).expect("it can be set");
    expect![[r#"
        stderr: error: the file of tokens `tokens.txt` cannot be read: other users can write to it
        stderr: help: make it a file of this user or of root, and let nobody else write to it: `chmod go-w FILE`
        exit: 2
    "#]]
    .assert_eq(&project.says("token list --file tokens.txt"));
}

#[test]
fn an_agent_issues_no_tokens() {
    let project = Project::new();
    issue(&project, "ci", "read");
    let mut all = String::new();
    for line in ["token new own --scope person --file tokens.txt", "token remove ci --file tokens.txt"] {
        let words: Vec<&str> = line.split(' ').collect();
        let output = project.command(&words).env("CLAUDECODE", "1").output().expect("the binary starts");
        let _written = writeln!(all, "$ {line}\n{}", project.output_text(&output));
    }
    expect![[r#"
        $ token new own --scope person --file tokens.txt
        stderr: error: only a person may issue tokens and take them back, and `CLAUDECODE` is set, which Claude Code does for its agent
        stderr: help: a person must run the command in a terminal that was not opened by an agent's program
        exit: 2

        $ token remove ci --file tokens.txt
        stderr: error: only a person may issue tokens and take them back, and `CLAUDECODE` is set, which Claude Code does for its agent
        stderr: help: a person must run the command in a terminal that was not opened by an agent's program
        exit: 2

    "#]].assert_eq(&all);
}

#[test]
fn other_names_are_admitted_if_they_are_named() {
    let project = Project::new();
    let token = issue(&project, "ci", "read");
    let served = served(&project, &["--url", "https://Agents.example.org", "--url", "https://proxy:8443/"]);
    let bearer = format!("bearer {token}");
    let mut all = String::new();
    for host in [
        "agents.example.org",
        "AGENTS.example.org:443",
        "agents.example.org:1",
        "proxy:8443",
        "proxy",
        "localhost",
        "other.example.org",
    ] {
        let origin = format!("https://{}", host.to_ascii_lowercase().trim_end_matches(":443"));
        let headers = [("Host", host), ("Authorization", &*bearer), ("Origin", &*origin)];
        let _written = writeln!(all, "{host}: {}", verdict(&served.with("GET", "/metrics", &headers, "")));
    }
    expect![[r#"
        agents.example.org: 200
        AGENTS.example.org:443: 200
        agents.example.org:1: 421 other_host
        proxy:8443: 200
        proxy: 421 other_host
        localhost: 421 other_host
        other.example.org: 421 other_host
    "#]]
    .assert_eq(&all);
}

#[test]
fn a_task_is_its_clients_alone() {
    let project = Project::small();
    let command = json!(["sh", "-c", "exec cat gate"]);
    let flow = json!({
        "nodes": {
            "start": { "type": "start" },
            "work": { "type": "task", "accept": [{ "id": "waits", "run": command }] },
            "done": { "type": "end", "result": "success" },
        },
        "edges": [{ "from": "start", "to": "work" }, { "from": "work", "to": "done" }],
    });
    project.write(".flow/workflows/slow.json", flow.to_string());
    project.says("trust .flow/workflows/slow.json");
    let gate = crate::fifo::Fifo::at(&project.path().join("gate"));
    let tokens = ["ada", "ben"].map(|name| issue(&project, name, "navigate"));
    let served = served(&project, &["--toolset", "tasks"]);
    let [ada, ben] = [&tokens[0], &tokens[1]].map(|token| Client { takes_tasks: true, ..client(&served, token) });
    let mut now = ada.call("Init", &json!({ "workflowType": "slow" }))["structuredContent"].clone();
    let mut task = Value::Null;
    while task.is_null() {
        let action = &now["actions"]["required"][0];
        let result = ada.call(action["tool"].as_str().expect("a tool"), &action["arguments"]);
        (now, task) = (result["structuredContent"].clone(), result["taskId"].clone());
    }
    let id = task.as_str().expect("an id");
    let asked = |client: &Client<'_>, method: &str| {
        client.asked(method, Some(id), json!({ "taskId": id, "inputResponses": {} })).json()
    };
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(asked(&ben, method)["error"]["code"], -32_602, "{method}");
    }
    assert_eq!(asked(&ada, "tasks/get")["result"]["status"], "working");
    gate.release();
    let mut state = asked(&ada, "tasks/get")["result"].clone();
    while state["status"] == "working" {
        state = asked(&ada, "tasks/get")["result"].clone();
    }
    assert_eq!(state["result"]["structuredContent"]["terminal"], "success", "{state:#}");
}

#[test]
fn what_is_changed_at_the_same_time_is_not_lost() {
    let project = Project::new();
    let issued: Vec<String> = std::thread::scope(|scope| {
        let issuing = (0..8).map(|at| {
            scope.spawn({
                let project = &project;
                move || issue(project, &format!("n{at}"), "read")
            })
        });
        let issuing: Vec<_> = issuing.collect();
        issuing.into_iter().map(|issuing| issuing.join().expect("it is issued")).collect()
    });
    assert_eq!(issued.len(), 8);
    assert_eq!(project.says("token list --file tokens.txt").matches("  read").count(), 8);
}

#[test]
fn only_a_file_is_read_and_a_link_is_followed() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    fs::create_dir(project.path().join("folder")).expect("there is room");
    let _fifo = crate::fifo::Fifo::at(&project.path().join("fifo"));
    issue(&project, "ci", "read");
    let file = project.path().join("tokens.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it can be set");
    std::os::unix::fs::symlink("tokens.txt", project.path().join("link")).expect("there is room");
    let said = project.says("token new ada --scope run --file link");
    assert!(said.ends_with("exit: 0\n"), "{said}");
    assert!(fs::symlink_metadata(project.path().join("link")).expect("it is there").is_symlink());
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o644);
    // Only root can give a file away.
    if std::os::unix::fs::chown(&file, Some(65_534), None).is_ok() {
        let said = project.says("token list --file tokens.txt");
        assert!(said.contains("other users can write to it") && said.ends_with("exit: 2\n"), "{said}");
        std::os::unix::fs::chown(&file, Some(0), None).expect("it is root's again");
    }
    fs::write(project.path().join("empty"), "").expect("there is room");
    let mut all = String::new();
    for file in ["folder", "fifo", "link", "empty"] {
        let _written = writeln!(
            all,
            "$ token list --file {file}\n{}",
            project.says(&format!("token list --file {file}")).trim_end()
        );
    }
    expect![[r#"
        $ token list --file folder
        stderr: error: the file of tokens `folder` cannot be read: it is not a file
        stderr: help: name a file
        exit: 2
        $ token list --file fifo
        stderr: error: the file of tokens `fifo` cannot be read: it is not a file
        stderr: help: name a file
        exit: 2
        $ token list --file link
        ci   read
        ada  run
        exit: 0
        $ token list --file empty
        stderr: no token is issued in `empty` yet
        exit: 0
    "#]]
    .assert_eq(&all);
}

#[test]
fn an_address_has_a_scheme_and_a_name_and_nothing_else() {
    let project = Project::new();
    issue(&project, "ci", "read");
    let mut all = String::new();
    for url in [
        "agents",
        "ftp://a",
        "https://a:99999",
        "https://a:0",
        "https://a#f",
        "https://*",
        "https://u@a",
        "https://a/b",
        "https://",
    ] {
        let said = project.says(&format!("serve --http 127.0.0.1:0 --tokens tokens.txt --url {url}"));
        let _written = writeln!(all, "{}", said.lines().next().unwrap_or_default());
    }
    expect![[r#"
        stderr: error: invalid value 'agents' for '--url <URL>': relative URL without a base: write a scheme and a name, without a path, as in `https://agents.example.org`
        stderr: error: invalid value 'ftp://a' for '--url <URL>': the scheme must be `https` or `http`
        stderr: error: invalid value 'https://a:99999' for '--url <URL>': invalid port number: write a scheme and a name, without a path, as in `https://agents.example.org`
        stderr: error: invalid value 'https://a:0' for '--url <URL>': write a scheme and a name, without a path, as in `https://agents.example.org`
        stderr: error: invalid value 'https://a#f' for '--url <URL>': write a scheme and a name, without a path, as in `https://agents.example.org`
        stderr: error: invalid value 'https://*' for '--url <URL>': write a scheme and a name, without a path, as in `https://agents.example.org`
        stderr: error: invalid value 'https://u@a' for '--url <URL>': write a scheme and a name, without a path, as in `https://agents.example.org`
        stderr: error: invalid value 'https://a/b' for '--url <URL>': write a scheme and a name, without a path, as in `https://agents.example.org`
        stderr: error: invalid value 'https://' for '--url <URL>': empty host: write a scheme and a name, without a path, as in `https://agents.example.org`
    "#]].assert_eq(&all);
}
