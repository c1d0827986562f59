//! `portolan serve --projects`: many projects behind one server, which see nothing of each other.

use std::fs;
use std::os::unix::fs::symlink;

use expect_test::expect;
use serde_json::{Value, json};

use crate::serve_http::{initialize, meta, verdict};
use crate::served::{Answer, Served, port_of, started};
use crate::support::{Project, SMALL, checked};

/// A folder with the projects `one` and `two`, each with a workflow of its own name.
fn folder() -> Project {
    let folder = Project::new();
    folder.write("one/.flow/workflows/first.json", SMALL);
    folder.write("two/.flow/workflows/second.json", SMALL);
    folder
}

fn served(folder: &Project, more: &[&str]) -> Served {
    Served::over_http(folder, &[&["--projects", "."], more].concat())
}

/// Calls a tool at a path as a client of 2026-07-28.
fn called(served: &Served, path: &str, token: &str, tool: &str, arguments: &Value) -> Answer {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta() });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let (host, bearer) = (served.host(), format!("Bearer {token}"));
    let headers = [
        ("Host", &*host),
        ("Authorization", &*bearer),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ];
    served.with("POST", path, &headers, &message.to_string())
}

/// The result of a call of a tool in a project, as structured content.
fn result(served: &Served, name: &str, tool: &str, arguments: &Value) -> Value {
    let answer = called(served, &format!("/projects/{name}/mcp"), &served.token, tool, arguments);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["result"]["structuredContent"].clone()
}

#[test]
fn each_project_has_its_own_workflows_and_runs() {
    let folder = folder();
    let served = served(&folder, &["--toolset", "tasks,navigate"]);
    let listed = |name| result(&served, name, "ListWorkflows", &json!({})).to_string();
    assert!(listed("one").contains("first") && !listed("one").contains("second"));
    assert!(listed("two").contains("second") && !listed("two").contains("first"));
    let run = result(&served, "one", "Init", &json!({ "workflowType": "first" }))["run"].clone();
    result(&served, "one", "Start", &json!({ "run": run }));
    assert_eq!(result(&served, "one", "Current", &json!({ "run": run }))["run"], run);
    assert_eq!(result(&served, "two", "Current", &json!({ "run": run }))["error"], "unknown_run");
    assert_eq!(result(&served, "two", "Init", &json!({ "workflowType": "first" }))["error"], "unknown_workflow");
    assert!(folder.says("runs list --project one").contains("first"));
    assert!(!folder.says("runs list --project two").contains("first"));
    assert!(!folder.path().join(".portolan").exists(), "the folder itself is no project");
    let tools = |path: &str| served.tools(path).len();
    assert_eq!(tools("/projects/one/mcp"), tools("/projects/two/mcp/tasks") + tools("/projects/one/mcp/navigate"));
}

#[test]
fn trust_belongs_to_a_project() {
    let folder = Project::new();
    for name in ["one", "two"] {
        folder.write(&format!("{name}/.flow/workflows/checked.json"), checked(r#"["sh", "-c", "echo > ran"]"#));
    }
    let trusted = folder.says("trust --project one one/.flow/workflows/checked.json");
    assert!(trusted.contains("exit: 0"), "{trusted}");
    let served = served(&folder, &[]);
    let ran = ["one", "two"].map(|name| {
        let run = result(&served, name, "Init", &json!({ "workflowType": "checked" }))["run"].clone();
        result(&served, name, "Start", &json!({ "run": run }));
        let now = result(&served, name, "Current", &json!({ "run": run }));
        result(&served, name, "Next", &now["actions"]["required"][0]["arguments"]);
        folder.path().join(name).join("ran").exists()
    });
    assert_eq!(ran, [true, false]);
}

#[test]
fn a_token_can_be_for_some_projects_alone() {
    let folder = folder();
    let issue = |name: &str, more: &[&str]| {
        let words = ["token", "new", name, "--scope", "navigate", "--file", "tokens.txt", "--format", "json"];
        let output = folder.command(&[&words, more].concat()).output().expect("the binary starts");
        let issued: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        issued["token"].as_str().expect("a token").to_owned()
    };
    let all = issue("all", &[]);
    let one = issue("one", &["--only-project", "one"]);
    let both = issue("both", &["--only-project", "one", "--only-project", "two"]);
    let other = issue("other", &["--only-project", "three"]);
    let words = ["serve", "--http", "127.0.0.1:0", "--format", "json", "--tokens", "tokens.txt", "--projects", "."];
    let (child, said) = started(folder.command(&words));
    let port = port_of(said["address"].as_str().expect("an address"));
    let served = Served { child, port, token: String::new() };
    let mut shown = String::new();
    for (holder, token) in
        [("all", &all), ("one", &one), ("both", &both), ("other", &other), ("nobody", &String::new())]
    {
        let at = |path: &str| verdict(&called(&served, path, token, "ListWorkflows", &json!({})));
        let paths =
            ["/projects/one/mcp", "/projects/two/mcp/tasks", "/projects/three/mcp", "/projects/../one/mcp", "/mcp"];
        let verdicts = paths.map(at);
        let (host, bearer) = (served.host(), format!("Bearer {token}"));
        let metrics = served.with("GET", "/metrics", &[("Host", &host), ("Authorization", &bearer)], "");
        let metrics = if metrics.status == 200 { "200".to_owned() } else { metrics.refusal() };
        shown += &format!("{holder}: {}, metrics {metrics}\n", verdicts.join(", "));
    }
    expect![[r#"
        all: 200, 200, 404 unknown_project, 404 unknown_path, 404 unknown_path, metrics 200
        one: 200, 403 other_project, 403 other_project, 403 other_project, 403 other_project, metrics 403 other_project
        both: 200, 200, 403 other_project, 403 other_project, 403 other_project, metrics 403 other_project
        other: 403 other_project, 403 other_project, 404 unknown_project, 403 other_project, 403 other_project, metrics 403 other_project
        nobody: 401 no_token, 401 no_token, 401 no_token, 401 no_token, 401 no_token, metrics 401 no_token
    "#]].assert_eq(&shown);
    expect![[r#"
        all    navigate
        one    navigate  one
        both   navigate  one,two
        other  navigate  three
        exit: 0
    "#]]
    .assert_eq(&folder.says("token list --file tokens.txt"));
    expect![[r#"
        stderr: error: invalid value '../one' for '--only-project <NAME>': `../one` is not the name of a project: letters, digits and the characters `.`, `_` and `-`, not beginning with `.`
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]].assert_eq(&folder.says("token new bad --scope read --only-project ../one --file tokens.txt"));
    // A server of one project has no named projects, so such a token is for nothing there.
    let words = ["serve", "--http", "127.0.0.1:0", "--format", "json", "--tokens", "tokens.txt", "--project", "one"];
    let (child, said) = started(folder.command(&words));
    let alone = Served { child, port: port_of(said["address"].as_str().expect("an address")), token: String::new() };
    assert_eq!(verdict(&called(&alone, "/mcp", &one, "ListWorkflows", &json!({}))), "403 other_project");
    assert_eq!(verdict(&called(&alone, "/mcp", &all, "ListWorkflows", &json!({}))), "200");
}

#[test]
fn nothing_but_a_plain_folder_of_the_folder_is_a_project() {
    let folder = folder();
    let outside = Project::small();
    symlink(outside.path(), folder.path().join("out")).expect("a link");
    symlink("one", folder.path().join("alias")).expect("a link");
    folder.write(".hidden/.flow/workflows/first.json", SMALL);
    folder.write("a-file", "text");
    folder.write("one/inner/.flow/workflows/first.json", SMALL);
    folder.write("has space/.flow/workflows/first.json", SMALL);
    let served = served(&folder, &[]);
    let at = |path: &str| verdict(&called(&served, path, &served.token, "ListWorkflows", &json!({})));
    assert_eq!(at("/projects/one/mcp"), "200");
    for name in ["three", "out", "alias", "a-file", "one2", "ONE", "..."] {
        let expected = if name == "..." { "404 unknown_path" } else { "404 unknown_project" };
        assert_eq!(at(&format!("/projects/{name}/mcp")), expected, "{name}");
        assert!(!folder.path().join(name).join(".portolan").exists(), "nothing is created");
    }
    for path in [
        "/projects/../mcp",
        "/projects/..%2fproject/mcp",
        "/projects/%2e%2e/mcp",
        "/projects/one%2finner/mcp",
        "/projects/one/inner/mcp",
        "/projects/has%20space/mcp",
        "/projects/o%6ee/mcp",
        "/projects/.hidden/mcp",
        "/projects/.portolan/mcp",
        "/projects/./mcp",
        "/projects//mcp",
        "/projects/one",
        "/projects/one/",
        "/projects/one/mcp/",
        "/projects/one/mcp/navigate",
        "/projects/one/mcp/tasks/more",
        "/projects/",
        "/projects",
        "/mcp",
        "/mcp/tasks",
    ] {
        assert_eq!(at(path), "404 unknown_path", "{path}");
    }
    let help = called(&served, "/mcp", &served.token, "ListWorkflows", &json!({})).json();
    expect!["the MCP of a project is served at `/projects/<name>/mcp`, and one toolset alone at `/projects/<name>/mcp/<toolset>`"]
        .assert_eq(help["error"]["help"].as_str().expect("it has a help"));
    assert!(!folder.path().join("three").exists());
}

#[test]
fn a_session_belongs_to_its_project() {
    let folder = folder();
    let served = served(&folder, &[]);
    let begun = served.message("/projects/one/mcp", &initialize(), &[]);
    let session = [("Mcp-Session-Id", begun.header("mcp-session-id").expect("an id"))];
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    assert_eq!(served.message("/projects/two/mcp", &ping, &session).status, 404);
    assert_eq!(served.message("/projects/one/mcp", &ping, &session).status, 200);
    let (host, bearer) = (served.host(), served.bearer());
    let headers = [("Host", &*host), ("Authorization", &*bearer), session[0]];
    let _elsewhere = served.with("DELETE", "/projects/two/mcp", &headers, "");
    assert_eq!(served.message("/projects/one/mcp", &ping, &session).status, 200);
    assert_eq!(served.with("DELETE", "/projects/one/mcp", &headers, "").status, 204);
    assert_eq!(served.message("/projects/one/mcp", &ping, &session).status, 404);
}

#[test]
fn task_files_are_those_of_the_project() {
    let folder = folder();
    let outside = Project::small();
    symlink(folder.path().join("two/7.json"), folder.path().join("one/link.json")).expect("a link");
    symlink(folder.path().join("two"), folder.path().join("one/inner")).expect("a link");
    fs::write(folder.path().join("two/7.json"), r#"{"id":"7","metadata":{}}"#).expect("a task");
    let served = served(&folder, &[]);
    let begun = |file: &str| {
        let file = folder.path().join(file);
        let answer = result(&served, "one", "Init", &json!({ "workflowType": "first", "taskFilePath": file }));
        let code = answer["error"].as_str().unwrap_or("begun").to_owned();
        let looked = result(&served, "one", "Current", &json!({ "taskFilePath": file }));
        assert_eq!(looked["error"] == "other_project", code == "other_project", "{looked}");
        code
    };
    assert_eq!(begun("one/7.json"), "begun");
    let elsewhere = outside.path().join("7.json").to_str().expect("it is text").to_owned();
    for file in
        ["two/7.json", "two/8.json", "one/../two/7.json", "one/link.json", "one/inner/9.json", "7.json", &elsewhere]
    {
        assert_eq!(begun(file), "other_project", "{file}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("two/7.json")).expect("a task"), r#"{"id":"7","metadata":{}}"#);
}

#[test]
fn clients_of_several_projects_work_at_once() {
    let folder = folder();
    let served = served(&folder, &[]);
    std::thread::scope(|scope| {
        for (name, workflow) in [("one", "first"), ("two", "second")].repeat(4) {
            let served = &served;
            scope.spawn(move || {
                for _ in 0..5 {
                    let run = result(served, name, "Init", &json!({ "workflowType": workflow }))["run"].clone();
                    result(served, name, "Start", &json!({ "run": run }));
                    assert_eq!(result(served, name, "Current", &json!({ "run": run }))["run"], run);
                }
            });
        }
    });
    for (name, workflow) in [("one", "first"), ("two", "second")] {
        let runs = folder.says(&format!("runs list --project {name}"));
        assert_eq!(runs.matches(workflow).count(), 20, "{runs}");
    }
}

#[test]
fn a_project_can_come_and_go_while_it_is_served() {
    let folder = folder();
    let served = served(&folder, &[]);
    let at = |name: &str| {
        verdict(&called(&served, &format!("/projects/{name}/mcp"), &served.token, "ListWorkflows", &json!({})))
    };
    let run = result(&served, "one", "Init", &json!({ "workflowType": "first" }))["run"].clone();
    fs::remove_dir_all(folder.path().join("one")).expect("it can be removed");
    assert_eq!([at("one"), at("two"), at("three")], ["404 unknown_project", "200", "404 unknown_project"]);
    assert!(!folder.path().join("one").exists(), "it is not created again");
    folder.write("one/.flow/workflows/first.json", SMALL);
    folder.write("three/.flow/workflows/first.json", SMALL);
    assert_eq!([at("one"), at("two"), at("three")], ["200", "200", "200"]);
    assert_eq!(result(&served, "one", "Current", &json!({ "run": run }))["error"], "unknown_run");
    // Another folder of the same name is another project, even if the server never saw it missing.
    let run = result(&served, "one", "Init", &json!({ "workflowType": "first" }))["run"].clone();
    fs::rename(folder.path().join("one"), folder.path().join("old")).expect("it can be moved");
    folder.write("one/.flow/workflows/first.json", SMALL);
    assert_eq!(result(&served, "one", "Current", &json!({ "run": run }))["error"], "unknown_run");
    assert_eq!(result(&served, "old", "Current", &json!({ "run": run }))["run"], run);
}

#[test]
fn probes_and_metrics_are_those_of_all_projects() {
    let folder = folder();
    let served = served(&folder, &[]);
    result(&served, "one", "Init", &json!({ "workflowType": "first" }));
    result(&served, "two", "Init", &json!({ "workflowType": "second" }));
    let host = served.host();
    for path in ["/healthz", "/readyz"] {
        let answer = served.with("GET", path, &[("Host", &host)], "");
        assert_eq!((answer.status, &*answer.body), (200, "ok\n"), "{path}");
    }
    let metrics = served.metrics();
    let shown = |line: &&str| line.contains("_count{") || line.starts_with("portolan_");
    expect![[r#"
        mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="Init",error_type=""} 2
        portolan_moves_total{event="opened"} 2
        portolan_requests_pending 0
        portolan_sessions 0
        portolan_sessions_suspended 0
        portolan_runs_open 2
        portolan_runs_waiting 0
        portolan_projects_open 2"#]].assert_eq(&metrics.body.lines().filter(shown).collect::<Vec<_>>().join("\n"));
    fs::remove_dir_all(folder.path()).expect("it can be removed");
    assert_eq!(verdict(&served.with("GET", "/readyz", &[("Host", &host)], "")), "503 not_ready");
}

#[test]
fn what_belongs_to_one_project_is_refused() {
    let folder = folder();
    let mut shown = String::new();
    for more in [
        "one/.flow/workflows/first.json",
        "--mcp servers.json",
        "--model scripted:x.yaml",
        "--toolset tasks,graph",
        "--toolset author",
        "--project one",
        "--store runs.db",
        "--store memory",
    ] {
        shown += &folder.says(&format!("serve --http 127.0.0.1:0 --projects . {more}"));
    }
    shown += &folder.says("serve --projects .");
    shown += &folder.says("serve --http 127.0.0.1:0 --projects missing");
    shown += &folder.says("serve --http 127.0.0.1:0 --projects one/.flow/workflows/first.json");
    shown += &folder.says("serve --http 127.0.0.1:0 --projects . --ledger");
    expect![[r#"
        stderr: error: files on the command line belong to one project, but `--projects` serves many, each with its own files and store
        stderr: help: leave it out, or serve one project without `--projects`
        exit: 2
        stderr: error: `--mcp` belongs to one project, but `--projects` serves many, each with its own files and store
        stderr: help: leave it out, or serve one project without `--projects`
        exit: 2
        stderr: error: `--model` belongs to one project, but `--projects` serves many, each with its own files and store
        stderr: help: leave it out, or serve one project without `--projects`
        exit: 2
        stderr: error: the toolset `graph` belongs to one project, but `--projects` serves many, each with its own files and store
        stderr: help: leave it out, or serve one project without `--projects`
        exit: 2
        stderr: error: the toolset `author` belongs to one project, but `--projects` serves many, each with its own files and store
        stderr: help: leave it out, or serve one project without `--projects`
        exit: 2
        stderr: error: `--project` belongs to one project, but `--projects` serves many, each with its own files and store
        stderr: help: leave it out, or serve one project without `--projects`
        exit: 2
        stderr: error: `--store` and `PORTOLAN_STORE` belong to one project, but `--projects` serves many, each with its own files and store
        stderr: help: leave it out, or serve one project without `--projects`
        exit: 2
        stderr: error: `--store` and `PORTOLAN_STORE` belong to one project, but `--projects` serves many, each with its own files and store
        stderr: help: leave it out, or serve one project without `--projects`
        exit: 2
        stderr: error: the following required arguments were not provided:
        stderr:   --http <ADDRESS>
        stderr: 
        stderr: Usage: portolan serve --http <ADDRESS> --projects <DIR> [FILE|DIR]...
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
        stderr: error: `--projects missing` cannot be read: no such file or directory
        stderr: help: name the folder that contains the folders of the projects
        exit: 2
        stderr: error: `--projects one/.flow/workflows/first.json` cannot be read: not a directory
        stderr: help: name the folder that contains the folders of the projects
        exit: 2
        stderr: error: the following required arguments were not provided:
        stderr:   --stateless
        stderr: 
        stderr: Usage: portolan serve --http <ADDRESS> --stateless --projects <DIR> --ledger [FILE|DIR]...
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]].assert_eq(&shown);
}
