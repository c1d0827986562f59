//! `portolan worker`: runs that wait in the store, on one machine. Several machines: `team.rs`.
#![cfg(unix)]

use expect_test::expect;

use crate::support::{Project, SUM};

/// A graph that calls a tool, which writes down its call and answers only once a file `go` exists.
pub(crate) const SLOW: &str = r#"version: "1.0"
server: {name: slow, version: "1"}
mcpServers:
  slow: {command: python3, args: [SERVER]}
tools:
  - name: slow
    description: waits
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: call}
      - {id: call, type: mcp, server: slow, tool: wait, args: {}, IDEMPOTENT, next: out}
      - {id: out, type: transform, transform: {expr: '{"said": $.call}'}, next: exit}
      - {id: exit, type: exit}
"#;

/// A server of the tool `wait`, with its files beside it.
pub(crate) const SERVER: &str = r#"
import json, os, sys
folder = os.path.dirname(os.path.abspath(__file__))
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    result = {}
    if method == "initialize":
        server = {"name": "slow", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        result = {"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        with open(folder + "/calls", "a") as calls:
            calls.write("wait\n")
        if not os.path.exists(folder + "/go"):
            continue
        result = {"content": [{"type": "text", "text": "done"}]}
    if id is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
"#;

#[test]
fn a_detached_run_is_driven_by_a_worker() {
    let project = Project::new();
    project.write("sum.yaml", SUM);
    let run = project.says("run sum.yaml --detach a=1 b=2").lines().next().expect("its handle").to_owned();
    let says = |line: &str| project.says(line).replace(&run, "<run>");
    expect![[r#"
        <run>  working  sum  entry  <time>
        exit: 0
    "#]]
    .assert_eq(&says("runs list"));
    expect![[r#"
        <run> sum done
        exit: 0
    "#]]
    .assert_eq(&says("worker --once"));
    expect!["exit: 0\n"].assert_eq(&says("worker --once"));
    let other = project.says("run sum.yaml --detach --format json a=10 b=20");
    let other: serde_json::Value = serde_json::from_str(other.split("exit").next().expect("JSON")).expect("JSON");
    let other = other["run"].as_str().expect("its handle");
    expect![[r#"
        {"run":"<other>","workflow":"sum","outcome":"done","node":null,"error":null}
        exit: 0
    "#]]
    .assert_eq(&says("worker --once --format json").replace(other, "<other>"));
}

#[test]
fn what_a_worker_cannot_do_is_said() {
    let project = Project::new();
    project.write("slow.yaml", SLOW.replace("SERVER", "server.py").replace("IDEMPOTENT", "idempotent: true"));
    project.says("trust slow.yaml");
    let run = project.says("run slow.yaml --detach").lines().next().expect("its handle").to_owned();
    project.says("trust --revoke slow.yaml");
    let says = |line: &str| project.says(line).replace(&run, "<run>");
    expect![[r#"
        stderr: <run> slow left as it is: the run `<run>` starts or contacts servers that are not trusted yet; restore the file that `slow` came from and run `portolan trust` on it, or begin a new run; the person at this machine decides this
        exit: 1
    "#]]
    .assert_eq(&says("worker --once"));
    expect![[r#"
        stderr: error: a store in memory has no runs of other processes
        stderr: help: name a file or a database with `--store`
        exit: 2
    "#]]
    .assert_eq(&says("worker --once --store memory"));
    expect![[r#"
        stderr: error: a store in memory keeps nothing beyond this process
        stderr: help: leave out `--store memory`, or `--detach`
        exit: 2
    "#]]
    .assert_eq(&says("run slow.yaml --detach --store memory"));
    expect![[r#"
        stderr: error: `missing.json` cannot be read: no such file or directory
        stderr: help: check the path and its permissions
        exit: 1
    "#]]
    .assert_eq(&says("worker --once --mcp missing.json"));
    expect![[r#"
        stderr: error: there is no model provider `nobody`
        stderr: help: the providers are aihubmix, aliyun, anthropic, api_route, atlascloud, baidu, bigmodel, cloudgpu, cohere, deepseek, fireworks, gemini, github, groq, heabsy, kimi, mimo, minimax, mistral, moonshot, nebius, ollama, ollama_cloud, omlx, open_router, openai, opencode_go, qwen_cloud, requesty, runcrate, together, xai, zai, scripted; any other server with the OpenAI API is `openai:model@base-url`
        exit: 2
    "#]].assert_eq(&says("worker --once --model nobody:x"));
}

#[test]
fn an_interrupted_call_is_left_to_a_person() {
    let project = Project::new();
    let server = project.path().join("server.py");
    project.write("server.py", SERVER);
    project
        .write("slow.yaml", SLOW.replace("SERVER", &server.to_string_lossy()).replace("IDEMPOTENT", "retry: {max: 0}"));
    project.says("trust slow.yaml");
    let run = project.says("run slow.yaml --detach").lines().next().expect("its handle").to_owned();
    let mut worker = project.command(&["worker"]).spawn().expect("the binary starts");
    while !project.path().join("calls").exists() {
        std::thread::yield_now();
    }
    worker.kill().expect("it is there");
    worker.wait().expect("it is gone");
    project.write("go", "");
    let mut told = String::new();
    while !told.contains("left as it is") {
        told = project.says("worker --once").replace(&run, "<run>");
    }
    expect![[r#"
        stderr: <run> slow left as it is: the call of `wait` at `call` was interrupted, and it is not known whether the server performed it; `portolan runs resume <run> --repeat` makes the call again, `portolan runs resume <run> --fail` counts it as failed
        exit: 1
    "#]].assert_eq(&told);
    expect!["exit: 0\n"].assert_eq(&project.says("worker --once"));
    let resumed = project.says(&format!("runs resume {run} --repeat"));
    assert_eq!(resumed, "{\"said\":\"done\"}\nexit: 0\n");
}
