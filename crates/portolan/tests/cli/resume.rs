//! Runs of graphs that are kept, and gone on with.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use expect_test::expect;
use serde_json::Value;

use crate::support::{Project, SUM};

/// The handle of the only run of a project.
fn handle(project: &Project) -> String {
    let said = project.says("--format json runs list --all");
    let said: Value = serde_json::from_str(said.split("\nexit:").next().expect("JSON")).expect("JSON");
    said["runs"][0]["run"].as_str().expect("a handle").to_owned()
}

/// Begins a run that is kept, and kills it where it pauses.
fn killed(project: &Project, at: &str) -> String {
    let mut command = project.command(&["run", "sum.yaml", "--durable", "a=1", "b=2", "key=hunter2", "--break", at]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    while !line.starts_with("paused") {
        line.clear();
        assert!(said.read_line(&mut line).expect("text") > 0, "it pauses before `{at}`");
    }
    child.kill().expect("it is there");
    child.wait().expect("it is gone");
    said.read_to_string(&mut line).expect("text");
    handle(project)
}

#[test]
fn a_run_is_gone_on_with_after_a_crash_and_asks_nothing_twice() {
    let project = Project::new();
    project.write("sum.yaml", SUM);
    let run = killed(&project, "large");
    // What was answered before is not asked again: were it, this would be another sum.
    project.write("sum.yaml", SUM.replace("a: {expr: $.entry.a}", "a: 1000"));
    let said = project.says(&format!("runs resume {run}"));
    assert_eq!(said, "{\"sum\":3,\"size\":\"small\"}\nexit: 0\n");
    let said = project.says(&format!("runs show --trace {run}"));
    let lines: Vec<String> =
        said.lines().map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect();
    expect![[r#"
        0 entry entry
        1 add mcp
        2 large switch
        3 small transform
        4 exit exit
        {"sum":3,"size":"small"}
        5 nodes executed,
        exit: 0"#]]
    .assert_eq(&lines.join("\n"));
    let said = project.says(&format!("--format json runs show --trace {run}"));
    assert!(said.contains("[redacted]") && !said.contains("hunter2"), "{said}");
    expect![[r#"
        stderr: error: the run `<run>` has ended
        stderr: help: `portolan runs show` shows how it ended
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs resume {run}")).replace(&run, "<run>"));
}

#[test]
fn a_run_of_a_graph_is_shown_with_what_it_came_to() {
    let project = Project::new();
    project.write("sum.yaml", SUM);
    let run = killed(&project, "large");
    let shown = |run: &str| project.says(&format!("runs show {run}")).replace(run, "<run>");
    expect![[r#"
        <run> · sum · large · under way

        it has no result yet: it is running, or was interrupted
        2 nodes executed, began <time>, last seen <time>

        unless another process drives it, `portolan runs resume <run>` continues it
        exit: 0
    "#]]
    .assert_eq(&shown(&run));
    assert!(project.says(&format!("runs resume {run}")).ends_with("exit: 0\n"));
    expect![[r#"
        <run> · sum · exit · done

        {"sum":3,"size":"small"}
        5 nodes executed, began <time>, ended <time>

        `portolan runs show --trace <run>` shows what each node did
        exit: 0
    "#]]
    .assert_eq(&shown(&run));
    let said = project.says(&format!("--format json runs show {run}"));
    let report: Value = serde_json::from_str(said.split("\nexit:").next().expect("JSON")).expect("JSON");
    assert_eq!((&report["outcome"], &report["output"]["sum"]), (&"done".into(), &3.into()));
}

#[test]
fn a_failed_run_of_a_graph_says_why_and_hides_what_is_marked() {
    let project = Project::new();
    let graph = SUM.replace(", onError: broken", "").replace("tool: add", "tool: fail");
    project.write(
        "sum.yaml",
        graph.replace(
            "args: {a: {expr: $.entry.a}",
            "args: {message: {expr: '\"no \" & $.entry.key'}, a: {expr: $.entry.a}",
        ),
    );
    assert!(project.says("run sum.yaml --durable a=1 b=2 key=hunter2").ends_with("exit: 1\n"));
    let run = handle(&project);
    expect![[r#"
        <run> · sum · add · failed

        `add` failed (tool-error): no [redacted]
        2 nodes executed, began <time>, ended <time>

        `portolan runs show --trace <run>` shows what each node did
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs show {run}")).replace(&run, "<run>"));
    let said = project.says(&format!("runs show --trace {run}"));
    assert!(said.contains("\n`add` failed (tool-error): no [redacted]\n2 nodes executed"), "{said}");
}

#[test]
fn a_call_that_was_under_way_is_repeated_only_when_a_person_says_so() {
    let project = Project::new();
    let slow = "tool: sleep, args: {ms: 60000}";
    let graph = SUM.replace("tool: add, args: {a: {expr: $.entry.a}, b: {expr: $.entry.b}}", slow);
    project.write("sum.yaml", graph);
    let mut command = project.command(&["run", "sum.yaml", "--durable", "a=1", "b=2"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("text");
    let run = line.trim().strip_prefix("run ").expect("a handle").to_owned();
    // On disk before it is made: as soon as the record is there, the call is under way, or about to be.
    while !project.says(&format!("runs events {run}")).contains("call of `add`") {}
    let under_way = expect![[r#"
        stderr: error: the run `<run>` is running in another process
        stderr: help: wait until it is done, or cancel it with `portolan runs cancel <run>`
        exit: 2
    "#]];
    for more in ["", " --repeat", " --fail"] {
        under_way.assert_eq(&project.says(&format!("runs resume {run}{more}")).replace(&run, "<run>"));
    }
    child.kill().expect("it is there");
    child.wait().expect("it is gone");
    expect![[r#"
        stderr: error: the call of `sleep` at `add` was interrupted, and it is not known whether the server performed it
        stderr: help: use `--repeat` to make it again, or `--fail` to count it as failed; set `idempotent: true` on the node if repeating the call does no harm
        exit: 4
    "#]].assert_eq(&project.says(&format!("runs resume {run}")));
    // Of those who go on with it, one does.
    let begin = || {
        let mut command = project.command(&["runs", "resume", &run, "--repeat"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts")
    };
    let mut child = begin();
    while !project.says(&format!("runs resume {run}")).contains("is running in another process") {
        // Who only asks holds the run for a moment, and may have been in its way.
        if child.try_wait().expect("it is a child").is_some() {
            child = begin();
        }
    }
    under_way.assert_eq(&project.says(&format!("runs resume {run} --repeat")).replace(&run, "<run>"));
    child.kill().expect("it is there");
    child.wait().expect("it is gone");
    expect![[r#"
        {"sum":0,"error":"the call of `sleep` was interrupted"}
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs resume {run} --fail")));
}

#[test]
fn a_run_whose_trust_was_taken_back_names_no_file_that_is_not_there() {
    let project = Project::new();
    let portolan = env!("CARGO_BIN_EXE_portolan");
    let server = format!("mcpServers:\n  echo: {{command: \"{portolan}\", args: [builtin, echo]}}\ntools:");
    project.write("sum.yaml", SUM.replacen("tools:", &server, 1));
    assert!(project.says("trust sum.yaml").ends_with("exit: 0\n"));
    let run = killed(&project, "large");
    assert!(project.says("trust --revoke sum.yaml").ends_with("exit: 0\n"));
    expect![[r#"
        stderr: error: the run `<run>` starts or contacts servers that are not trusted yet
        stderr: help: restore the file that `sum` came from and run `portolan trust` on it, or begin a new run; the person at this machine decides this
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs resume {run}")).replace(&run, "<run>"));
}

#[test]
fn a_run_that_waits_for_somebody_must_be_kept() {
    let project = Project::small();
    let call = r#"version: "1.0"
server: {name: led, version: "1"}
tools:
  - name: led
    description: Has an agent do something
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: lead}
      - {id: lead, type: call, workflow: small, next: exit}
      - {id: exit, type: exit}
"#;
    project.write("led.yaml", call);
    expect![[r#"
        stderr: error: the run can wait for an agent at `work`, and would then be lost
        stderr: help: use `--durable` to keep it until it is continued
        exit: 2
    "#]]
    .assert_eq(&project.says("run led.yaml"));
    let said = project.says("run led.yaml --durable");
    let run = handle(&project);
    expect![[r#"
        stderr: run <run>
        stderr: run <run> waits at `work`; `portolan runs show <run>` says for whom
        exit: 4
    "#]]
    .assert_eq(&said.replace(&run, "<run>"));
}
