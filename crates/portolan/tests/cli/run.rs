//! `portolan run`.

use std::io::Write;
use std::process::Stdio;

use expect_test::expect;
use serde_json::Value;

use crate::support::{Project, SUM};

fn project() -> Project {
    let project = Project::new();
    project.write("sum.yaml", SUM);
    project
}

/// What the binary says when it is given this input.
fn says_with(project: &Project, line: &str, input: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = project.command(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    // What is refused at once reads nothing.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    project.output_text(&child.wait_with_output().expect("it ends"))
}

#[test]
fn the_result_is_json_on_standard_output() {
    let project = project();
    expect![[r#"
        {"sum":3,"size":"small"}
        exit: 0
    "#]]
    .assert_eq(&project.says("run sum.yaml a=1 b=2"));
    expect![[r#"
        {
          "outcome": "done",
          "output": {
            "sum": 12,
            "size": "big"
          },
          "run": null,
          "executed": 5
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("--format json run sum.yaml a=10 b=2"));
}

#[test]
fn the_input_is_json_a_file_or_standard_input_too() {
    let project = project();
    project.write("input.json", r#"{"a": 1, "b": 1}"#);
    assert_eq!(project.says("run sum.yaml --input @input.json"), "{\"sum\":2,\"size\":\"small\"}\nexit: 0\n");
    assert_eq!(project.says(r#"run sum.yaml --input {"a":1,"b":2}"#), "{\"sum\":3,\"size\":\"small\"}\nexit: 0\n");
    let said = says_with(&project, "run sum.yaml --input -", r#"{"a": 1, "b": 3}"#);
    assert_eq!(said, "{\"sum\":4,\"size\":\"small\"}\nexit: 0\n");
    expect![[r#"
        stderr: error: the input must be a JSON object
        stderr: help: write `{"key": value}`
        exit: 2
    "#]]
    .assert_eq(&project.says("run sum.yaml --input [1]"));
    expect![[r#"
        stderr: error: the input is not valid JSON: it ends unexpectedly at line 1 column 1
        stderr: help: write `{"key": value}`, `@FILE`, or `-` for standard input
        exit: 2
    "#]]
    .assert_eq(&project.says("run sum.yaml --input {"));
    expect![[r#"
        stderr: error: `gone.json` cannot be read: no such file or directory
        stderr: help: check the path and its permissions
        exit: 1
    "#]]
    .assert_eq(&project.says("run sum.yaml --input @gone.json"));
}

#[test]
fn all_that_is_wrong_with_the_input_is_said_at_once() {
    expect![[r#"
        stderr: error: the input is not valid for `sum`: there is no field `nite`: did you mean `note`?; `b` is not of the form `key=value`; it has no `b`; `/a` must be a whole number, but is `"x"`
        stderr: help: `portolan show` shows the input that it takes; nothing was started
        exit: 2
    "#]].assert_eq(&project().says("run sum.yaml a=x note=1 nite=2 b"));
}

#[test]
fn a_failure_names_its_node_and_what_the_server_said() {
    let project = project();
    project.write("fail.yaml", SUM.replace("tool: add", "tool: fail").replace(", onError: broken", ""));
    expect![[r#"
        stderr: error: `add` failed (tool-error): the arguments of `fail` are wrong: missing field `message`
        exit: 1
    "#]]
    .assert_eq(&project.says("run fail.yaml a=1 b=2"));
    expect![[r#"
        stderr: {"error":"tool-error","message":"the arguments of `fail` are wrong: missing field `message`","help":"","node":"add","detail":"","run":null,"executed":2}
        exit: 1
    "#]].assert_eq(&project.says("--format json run fail.yaml a=1 b=2"));
}

#[test]
fn faults_of_the_file_are_shown_in_their_places() {
    let project = Project::new();
    project.write("bad.yaml", SUM.replace("next: small", "next: smal").replace("server: echo", "server: echoo"));
    expect![[r#"
        stderr: error[unknown-node]: an edge leads to `smal`, which is not defined
        stderr:   --> bad.yaml:18:15
        stderr:    |
        stderr: 18 |         next: smal
        stderr:    |               ^^^^
        stderr:    |
        stderr: help: did you mean `small`?
        stderr: 
        stderr: error[unknown-server]: `add` calls a tool on the server `echoo`, which is not defined
        stderr:   --> bad.yaml:13:38
        stderr:    |
        stderr: 13 |       - {id: add, type: mcp, server: echoo, tool: add, args: {a: {expr: $.entry.a}, b: {expr: $.entry.b}}, next: large, onError: bro...
        stderr:    |                                      ^^^^^
        stderr:    |
        stderr: help: define it under `mcpServers`, or name a file that does with `--mcp`
        stderr: 
        stderr: error: `bad.yaml` has 2 errors
        stderr: help: fix them; nothing was done
        exit: 3
    "#]].assert_eq(&project.says("run bad.yaml a=1 b=2"));
    let said = project.says("--format json run bad.yaml a=1 b=2");
    assert!(said.contains(r#""error":"invalid_definition""#) && said.ends_with("exit: 3\n"), "{said}");
    expect![[r#"
        stderr: error: `gone.yaml` cannot be read: no such file or directory
        stderr: help: check the path and its permissions
        exit: 1
    "#]]
    .assert_eq(&project.says("run gone.yaml"));
}

#[test]
fn a_tool_is_named_where_there_are_several() {
    let project = Project::new();
    let second = SUM.split_once("tools:\n").expect("it has tools").1.replace("name: sum", "name: plus");
    project.write("two.yaml", format!("{SUM}{second}"));
    expect![[r#"
        stderr: error: the file has several tools
        stderr: help: name one; there are `sum`, `plus`
        exit: 2
    "#]]
    .assert_eq(&project.says("run two.yaml a=1 b=2"));
    expect![[r#"
        stderr: error: there is no tool `pluss`
        stderr: help: did you mean `plus`?
        exit: 2
    "#]]
    .assert_eq(&project.says("run two.yaml --tool pluss a=1 b=2"));
    assert!(project.says("run two.yaml --tool plus a=1 b=2").starts_with("{\"sum\":3"));
    project.write("sum.yaml", SUM);
    expect![[r#"
        stderr: error: there is no tool `xyz`
        stderr: help: there is `sum`
        exit: 2
    "#]]
    .assert_eq(&project.says("run sum.yaml --tool xyz a=1 b=2"));
    expect![[r#"
        stderr: error: `.` is a folder
        stderr: help: name the file of a graph
        exit: 2
    "#]]
    .assert_eq(&project.says("run ."));
}

#[test]
fn a_dry_run_calls_nothing_and_shows_what_it_would_call() {
    let project = project();
    project.write("secret.yaml", SUM.replace("a: {expr: $.entry.a}", "a: {expr: $.entry.key}"));
    expect![[r#"
        `add` would call `add` of `echo` with {"a":1,"b":2}
        stderr: note: what follows these calls depends on their answers; use `--mock` to provide them
        exit: 0
    "#]]
    .assert_eq(&project.says("run sum.yaml a=1 b=2 --dry-run"));
    expect![[r#"
        {
          "outcome": "dry-run",
          "calls": [
            {
              "node": "add",
              "server": "echo",
              "tool": "add",
              "arguments": {
                "a": 1,
                "b": 2
              }
            }
          ],
          "executed": 1,
          "trace": null
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("--format json run sum.yaml a=1 b=2 --dry-run"));
    let said = project.says("run secret.yaml a=1 b=2 key=hunter2 --dry-run");
    assert!(said.contains("[redacted]") && !said.contains("hunter2"), "{said}");
}

#[test]
fn written_answers_come_first() {
    let project = project();
    project.write("answers.yaml", "mock: {add: {sum: 40}, sum.add: {sum: 50}}\n");
    expect![[r#"
        {"sum":50,"size":"big"}
        stderr: note: the answer for `add` was not used
        exit: 0
    "#]]
    .assert_eq(&project.says("run sum.yaml a=1 b=2 --dry-run --mock answers.yaml"));
    project.write("typo.yaml", "mock: {ad: {sum: 40}}\n");
    expect![[r#"
        stderr: error[unknown-node]: `ad` is not a node whose call can be answered
        stderr:  --> typo.yaml:1:8
        stderr:   |
        stderr: 1 | mock: {ad: {sum: 40}}
        stderr:   |        ^^
        stderr:   |
        stderr: help: did you mean `add`?
        stderr: 
        stderr: error: `typo.yaml` has 1 error
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("run sum.yaml a=1 b=2 --mock typo.yaml"));
}

#[test]
fn a_file_without_answers_is_no_mock() {
    let project = project();
    project.write("sum.test.yaml", "tests:\n  - {name: a, input: {a: 1, b: 2}, mock: {add: {sum: 40}}}\n");
    project.write("empty.yaml", "mock: {}\n");
    expect![[r#"
        stderr: error: `sum.test.yaml` has no `mock` with answers
        stderr: help: write them under `mock`, beside `tests` (answers inside a test apply only to that test); nothing was started
        exit: 2
    "#]]
    .assert_eq(&project.says("run sum.yaml a=1 b=2 --mock sum.test.yaml"));
    assert!(project.says("run sum.yaml a=1 b=2 --mock empty.yaml").ends_with("exit: 2\n"));
}

#[test]
fn the_trace_has_a_line_for_each_node_and_hides_what_is_marked() {
    let project = project();
    let said = project.says("run sum.yaml a=1 b=2 --trace");
    let lines: Vec<String> =
        said.lines().map(|line| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ")).collect();
    expect![[r#"
        {"sum":3,"size":"small"}
        stderr: 0 entry entry
        stderr: 1 add mcp
        stderr: 2 large switch
        stderr: 3 small transform
        stderr: 4 exit exit
        exit: 0"#]]
    .assert_eq(&lines.join("\n"));
    let said = project.says("--format json run sum.yaml a=1 b=2 key=hunter2 --trace");
    assert!(said.contains(r#""key": "[redacted]""#) && !said.contains("hunter2"), "{said}");
    let report: Value = serde_json::from_str(said.split("exit:").next().expect("JSON")).expect("JSON");
    assert_eq!(report["trace"][1]["input"], serde_json::json!({"a": 1, "b": 2}));
    assert_eq!(report["trace"][3]["expression"], r#"{"sum": $.add.sum, "size": "small"}"#);
}

/// Two branches, of which one takes a minute.
const RACE: &str = r#"version: "1.0"
server: {name: race, version: "1"}
executionLimits: {maxExecutionTimeMs: 60000}
tools:
  - name: race
    description: Takes what comes first
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: both}
      - {id: both, type: parallel, branches: [many, quick], join: first}
      - {id: many, type: forEach, items: {expr: '[1]'}, tool: sleeper, next: first}
      - {id: quick, type: mcp, server: echo, tool: echo, args: {text: x}, next: first}
      - {id: first, type: join, strategy: any, next: exit}
      - {id: exit, type: exit}
  - name: sleeper
    description: Sleeps
    inputSchema: {}
    nodes:
      - {id: entry, type: entry, next: slow}
      - {id: slow, type: mcp, server: echo, tool: sleep, args: {ms: 60000}, next: exit}
      - {id: exit, type: exit}
"#;

/// The number, node and kind of each row, and what became of it.
fn rows(said: &str) -> String {
    let rows = said.lines().filter(|line| line.contains('|')).map(|line| {
        let words: Vec<&str> = line.trim_start_matches("stderr: ").split_whitespace().take(3).collect();
        format!("{}{}\n", words.join(" "), line.rsplit('|').next().unwrap_or_default())
    });
    rows.collect()
}

#[test]
fn the_trace_has_what_was_under_way_when_it_was_no_longer_waited_for() {
    let project = Project::new();
    project.write("race.yaml", RACE);
    let said = project.says("run race.yaml --tool race --trace");
    expect![[r#"
        0 entry entry
        1 both parallel
        2 many/many forEach cancelled
        3 quick/quick mcp
        4 many/0/entry entry
        5 many/0/slow mcp cancelled
        6 first join
        7 exit exit
    "#]]
    .assert_eq(&rows(&said));
    project.write("race.yaml", RACE.replace("strategy: any", "strategy: all").replace("Ms: 60000", "Ms: 300"));
    let said = project.says("run race.yaml --tool race --trace --durable");
    expect![[r#"
        0 entry entry
        1 both parallel
        2 many/many forEach cancelled
        3 quick/quick mcp
        4 many/0/entry entry
        5 many/0/slow mcp cancelled
    "#]]
    .assert_eq(&rows(&said));
    // The journal tells the same.
    let run = said.split_once("stderr: run ").expect("a handle").1.lines().next().expect("a handle");
    assert_eq!(rows(&project.says(&format!("runs show --trace {run}"))), rows(&said));
}

#[test]
fn a_person_steps_through_a_run() {
    let project = project();
    expect![[r#"
        {"sum":3,"size":"small"}
        stderr: paused before `entry` (Enter: next node, c: continue, p: print the context, q: stop)
        stderr: paused before `add` (Enter: next node, c: continue, p: print the context, q: stop)
        stderr: paused before `large` (Enter: next node, c: continue, p: print the context, q: stop)
        stderr: {
        stderr:   "entry": {
        stderr:     "a": 1,
        stderr:     "b": 2
        stderr:   },
        stderr:   "add": {
        stderr:     "sum": 3
        stderr:   }
        stderr: }
        stderr: `what` is not a command (Enter: next node, c: continue, p: print the context, q: stop)
        exit: 0
    "#]]
    .assert_eq(&says_with(&project, "run sum.yaml a=1 b=2 --step", "\n\np\nwhat\nc\n"));
    expect![[r#"
        stderr: paused before `small` (Enter: next node, c: continue, p: print the context, q: stop)
        stderr: error: the run was stopped
        exit: 1
    "#]]
    .assert_eq(&says_with(&project, "run sum.yaml a=1 b=2 --break small", "q\n"));
    expect![[r#"
        stderr: paused before `small` (Enter: next node, c: continue, p: print the context, q: stop)
        stderr: error: the run was stopped
        exit: 1
    "#]]
    .assert_eq(&says_with(&project, "run sum.yaml a=1 b=2 --break small", ""));
    expect![[r#"
        stderr: error: there is no node `smal` to wait before
        stderr: help: did you mean `small`?
        exit: 2
    "#]]
    .assert_eq(&project.says("run sum.yaml a=1 b=2 --break smal"));
    expect![[r#"
        stderr: error: the input is not valid JSON: it ends unexpectedly at line 1 column 0
        stderr: help: write `{"key": value}`, `@FILE`, or `-` for standard input
        exit: 2
    "#]]
    .assert_eq(&project.says("run sum.yaml --input - --step"));
}

#[test]
fn nobody_s_servers_are_started_untrusted_or_for_bad_input() {
    let project = Project::new();
    project.write("own.yaml", own_server(&project));
    expect![[r#"
        stderr: error: `own.yaml` starts or contacts servers that are not trusted yet
        stderr: help: read it, then run `portolan trust own.yaml`; the person at this machine decides this
        exit: 2
    "#]]
    .assert_eq(&project.says("run own.yaml a=1 b=2"));
    expect![[r#"
        own.yaml: these commands may run in this project
          server echo: sh -c "touch started; exec \"<portolan>\" builtin echo"
        exit: 0
    "#]]
    .assert_eq(&project.says("trust own.yaml").replace(env!("CARGO_BIN_EXE_portolan"), "<portolan>"));
    assert!(!project.path().join("started").exists(), "nothing was started so far");
    let said = project.says("run own.yaml a=x b=2");
    assert!(said.ends_with("exit: 2\n") && !project.path().join("started").exists(), "{said}");
    assert_eq!(project.says("run own.yaml a=1 b=2"), "{\"sum\":3,\"size\":\"small\"}\nexit: 0\n");
    assert!(project.path().join("started").exists(), "the server was started");
    let said = project.says("trust --revoke own.yaml");
    assert!(
        said.contains("may no longer run") && project.says("run own.yaml a=1 b=2").ends_with("exit: 2\n"),
        "{said}"
    );
}

/// A graph whose server is a process that leaves a mark when it is started.
fn own_server(_: &Project) -> String {
    let portolan = env!("CARGO_BIN_EXE_portolan");
    let server = format!(
        "mcpServers:\n  echo: {{command: sh, args: [-c, 'touch started; exec \"{portolan}\" builtin echo']}}\ntools:"
    );
    SUM.replacen("tools:", &server, 1)
}

#[test]
fn servers_of_the_user_s_own_file_need_no_trust() {
    let project = Project::new();
    project.write("sum.yaml", SUM.replace("server: echo", "server: mine"));
    project.write("mcp.json", r#"{"mcpServers": {"mine": {"builtin": "echo"}}}"#);
    assert!(project.says("run sum.yaml a=1 b=2").ends_with("exit: 3\n"), "the server is not known");
    assert_eq!(project.says("run sum.yaml --mcp mcp.json a=1 b=2"), "{\"sum\":3,\"size\":\"small\"}\nexit: 0\n");
    assert!(project.says("check sum.yaml").contains("unknown-server"));
    assert!(project.says("check sum.yaml --mcp mcp.json").ends_with("exit: 0\n"));
}

#[test]
fn a_recording_is_a_test_that_passes() {
    let project = project();
    let said = project.says("run sum.yaml a=1 b=2 key=hunter2 --record sum.test.yaml");
    expect![[r#"
        {"sum":3,"size":"small"}
        stderr: note: values in `sum.test.yaml` that must not be shown were masked
        exit: 0
    "#]]
    .assert_eq(&said);
    let text = std::fs::read_to_string(project.path().join("sum.test.yaml")).expect("it is written");
    expect![[r##"
        # Recorded by `portolan run --record`; `portolan test` runs it.
        # Redacted values are masked; the expected values are computed from the masked ones.
        graph: "sum.yaml"
        tests:
          - name: "recorded run of sum"
            tool: "sum"
            input: {"a":1,"b":2,"key":"[redacted]"}
            mock:
              "sum.add": {"sum":3}
            expect: {"sum":3,"size":"small"}
    "##]]
    .assert_eq(&text);
    expect![[r#"
        sum.test.yaml
          ok      recorded run of sum
          sum: 4 of 8 edges taken
            never taken: line 13: add → broken (error)
            never taken: line 17: large → big ({">":[{"var":"add.sum"},10]})
            never taken: line 19: big → exit
            never taken: line 21: broken → exit
        1 test: 1 passed, 0 failed; 4 of 8 edges taken
        exit: 0
    "#]]
    .assert_eq(&project.says("test sum.yaml"));
    expect![[r#"
        stderr: error: `sum.test.yaml` already exists
        stderr: help: name another file for `--record`; nothing was started
        exit: 2
    "#]]
    .assert_eq(&project.says("run sum.yaml a=1 b=2 --record sum.test.yaml"));
    project.write("fail.yaml", SUM.replace("tool: add", "tool: fail").replace(", onError: broken", ""));
    assert!(project.says("run fail.yaml a=1 b=2 --record fail.test.json").ends_with("exit: 1\n"));
    let said = project.says("test fail.test.json");
    assert!(said.contains("1 passed, 0 failed") && said.ends_with("exit: 0\n"), "{said}");
}

#[test]
fn a_recording_of_a_race_passes_too() {
    let project = Project::new();
    project.write("race.yaml", RACE);
    let said = project.says("run race.yaml --tool race --record race.test.yaml");
    assert!(said.ends_with("exit: 0\n"), "{said}");
    let said = project.says("test race.yaml");
    assert!(said.contains("1 passed, 0 failed"), "{said}");
}

#[test]
fn a_recording_that_cannot_be_written_is_refused_before_anything_is_called() {
    let project = Project::new();
    project.write("own.yaml", own_server(&project));
    assert!(project.says("trust own.yaml").ends_with("exit: 0\n"));
    expect![[r#"
        stderr: error: `nodir/own.test.yaml` cannot be written: no such file or directory
        stderr: help: name a file in an existing folder with `--record`; nothing was started
        exit: 2
    "#]]
    .assert_eq(&project.says("run own.yaml a=1 b=2 --record nodir/own.test.yaml"));
    assert!(!project.path().join("started").exists(), "nothing was started");
}

#[test]
fn a_recording_that_fails_afterwards_keeps_the_result() {
    let project = Project::new();
    // The server takes the name that the recording was to have.
    project.write("own.yaml", own_server(&project).replace("touch started", "touch own.test.yaml"));
    assert!(project.says("trust own.yaml").ends_with("exit: 0\n"));
    expect![[r#"
        {"sum":3,"size":"small"}
        stderr: error: `own.test.yaml` cannot be written: file exists
        stderr: help: the run has ended, and its result is printed; name a file in an existing folder with `--record`
        exit: 0
    "#]]
    .assert_eq(&project.says("run own.yaml a=1 b=2 --record own.test.yaml"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_stops_the_run_and_ends_its_servers() {
    use std::io::Read;
    let portolan = env!("CARGO_BIN_EXE_portolan");
    let willing = format!("tee seen | \\\"{portolan}\\\" builtin echo");
    // Asked to end, it does not.
    let stubborn = format!("trap : TERM; {willing}; while :; do sleep 1; done");
    for (signal, server) in [("-INT", &willing), ("-TERM", &stubborn), ("-HUP", &stubborn)] {
        let project = Project::new();
        // The server holds the pipe open for as long as it lives.
        let server = format!("mcpServers:\n  echo: {{command: sh, args: [-c, \"exec 3>hold; {server}\"]}}\ntools:");
        let slow = "tool: sleep, args: {ms: 60000}";
        let slow = SUM.replace("tool: add, args: {a: {expr: $.entry.a}, b: {expr: $.entry.b}}", slow);
        project.write("slow.yaml", slow.replacen("tools:", &server, 1));
        let made = std::process::Command::new("mkfifo").arg(project.path().join("hold")).status().expect("mkfifo");
        assert!(made.success() && project.says("trust slow.yaml").ends_with("exit: 0\n"));
        let mut command = project.command(&["run", "slow.yaml", "a=1", "b=2"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the binary starts");
        // Opens as soon as the server does.
        let mut hold = std::fs::File::open(project.path().join("hold")).expect("a pipe");
        let seen = project.path().join("seen");
        while !std::fs::read_to_string(&seen).is_ok_and(|seen| seen.contains("tools/call")) {}
        let began = std::time::Instant::now();
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        let told = project.output_text(&child.wait_with_output().expect("it ends"));
        assert_eq!(told, "stderr: error: the run was stopped\nexit: 1\n", "{signal}");
        assert!(began.elapsed().as_millis() < 3500, "{signal}: {} ms", began.elapsed().as_millis());
        let mut rest = Vec::new();
        hold.read_to_end(&mut rest).expect("everybody who held the pipe is gone");
    }
}

#[cfg(unix)]
#[test]
fn the_time_of_a_node_holds_for_the_start_of_its_server() {
    let project = Project::new();
    let hasty = SUM.replace("type: mcp, server: echo,", "type: mcp, server: mute, timeout: 200ms,");
    project.write("sum.yaml", hasty);
    project.write("mcp.json", r#"{"mcpServers": {"mute": {"command": "sleep", "args": ["60"]}}}"#);
    let said = project.says("run sum.yaml --mcp mcp.json a=1 b=2");
    assert!(
        said.contains("did not complete the handshake within 200 ms, the time limit of the call of `add`"),
        "{said}"
    );
}

/// `apiKey` comes from a server's answer, and is repeated by an error under no name.
const KEYS: &str = r#"version: "1.0"
server: {name: keys, version: "1"}
redact: [apiKey]
tools:
  - name: keys
    description: Logs in and fails
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: login}
      - {id: login, type: mcp, server: echo, tool: echo, args: {k: {expr: '"sk-" & "live-77"'}, id: 5}, postTransform: {expr: '{"apiKey": $output.k}'}, next: use}
      - {id: use, type: mcp, server: echo, tool: fail, args: {message: {expr: '"bad key " & $.login.apiKey'}}, next: exit}
      - {id: exit, type: exit}
"#;

#[test]
fn what_a_server_answers_in_a_marked_field_is_masked_where_it_was_copied() {
    let project = Project::new();
    project.write("keys.yaml", KEYS);
    let said = project.says("run keys.yaml");
    assert!(said.contains("(tool-error): bad key [redacted]"), "{said}");
    project.write(
        "keys.yaml",
        KEYS.replace(
            r#"{k: {expr: '"sk-" & "live-77"'}, id: 5}, postTransform: {expr: '{"apiKey": $output.k}'}"#,
            r#"{apiKey: {expr: '"sk-" & "live-77"'}}"#,
        ),
    );
    let said = project.says("run keys.yaml --trace --record keys.test.yaml");
    assert!(said.contains("(tool-error): bad key [redacted]") && !said.contains("sk-live"), "{said}");
    let said = project.says("--format json run keys.yaml --trace");
    assert!(said.contains("bad key [redacted]") && !said.contains("sk-live"), "{said}");
    let text = std::fs::read_to_string(project.path().join("keys.test.yaml")).expect("it is written");
    assert!(text.contains("bad key [redacted]") && !text.contains("sk-live"), "{text}");
}

#[test]
fn the_history_of_a_kept_run_shows_nothing_that_is_hidden() {
    let project = Project::new();
    project.write(
        "keys.yaml",
        KEYS.replace(
            "inputSchema: {type: object}",
            "inputSchema: {type: object, properties: {pin: {writeOnly: true}}}",
        ),
    );
    let said = project.says("run keys.yaml --durable pin=sesame-4711");
    let run = said.split_whitespace().nth(2).expect("a handle").to_owned();
    let text = project.says(&format!("runs events {run}"));
    assert!(text.contains("took a failure: bad key [redacted]") && !text.contains("sk-live"), "{text}");
    let json = project.says(&format!("--format json runs events {run}"));
    for hidden in ["sk-live", "sesame-4711"] {
        assert!(json.contains(r#""pin": "[redacted]""#) && !json.contains(hidden), "{json}");
    }
    let trace = project.says(&format!("--format json runs show --trace {run}"));
    assert!(trace.contains("bad key [redacted]") && !trace.contains("sesame-4711"), "{trace}");
}
