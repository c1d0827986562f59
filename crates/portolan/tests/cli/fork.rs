//! `portolan runs fork`.

use expect_test::expect;
use serde_json::{Value, json};

use crate::calls::Calls;
use crate::support::{Project, SMALL, SUM, address, reported};

/// What is said to a fork of a run, in which the new one is `<fork>`, and the handle of the new one.
fn forked(project: &Project, run: &str, arguments: &[&str]) -> (String, String) {
    let said = project.says_to(&[&["runs", "fork", run], arguments].concat());
    let fork = said.split_whitespace().next().expect("it says something").to_owned();
    assert!(fork.len() == 8 && fork != run && said.ends_with("exit: 0\n"), "{said}");
    (said.replace(&fork, "<fork>"), fork)
}

fn events(project: &Project, run: &str) -> String {
    project.says(&format!("runs events {run}"))
}

/// Where a run says that its past comes from.
fn origin(project: &Project, run: &str) -> Value {
    let said = project.says(&format!("runs events {run} --format json"));
    let told: Value = serde_json::from_str(said.split("exit:").next().expect("JSON")).expect("JSON");
    told["records"][0]["event"]["what"]["opened"]["origin"].clone()
}

/// The handle of the run that was moved last.
fn newest(project: &Project) -> String {
    project.says("runs list --all").split_whitespace().next().expect("a run").to_owned()
}

#[test]
fn a_fork_has_the_past_of_the_other_run_which_stays_as_it_is() {
    let mut project = Project::small();
    let run = project.run("small", "passed failed");
    let shown = |run: &str| project.says(&format!("runs show {run}"));
    let (before, past) = (shown(&run), events(&project, &run));
    let (said, fork) = forked(&project, &run, &["--at", "3"]);
    expect![[r#"
        <fork> · small · verify · working

        ## verify

        Is it right?

        Retries: 1

        → Call Next(passed|failed) when complete.

        required  report `verify` passed       Next {"run":"<fork>","result":"passed","revision":3}
        optional  report that `verify` failed  Next {"run":"<fork>","result":"failed","revision":3}
        exit: 0
    "#]]
    .assert_eq(&said);
    assert_eq!(shown(&fork).replace(&fork, "<fork>"), said);
    expect![[r#"
           1  <time>  agent tester opened `small`, a fork of `<run1>` after its record 3
           2  <time>  agent tester began → now at `work`
           3  <time>  agent tester reported passed → now at `verify`
        exit: 0
    "#]]
    .assert_eq(&events(&project, &fork));
    assert_eq!((shown(&run), events(&project, &run)), (before.clone(), past.clone()));
    assert_eq!(origin(&project, &fork), json!({ "run": "<run1>", "seq": 3 }));
    assert_eq!(origin(&project, &run), Value::Null);
    // It goes its own way, and the other one is where it was.
    let ended = project.agent(async |service, me| {
        let view = service.current(&address(&fork), None, me).await?;
        service.next(&reported(&view, "passed"), me).await
    });
    assert!(ended.is_ok(), "{ended:?}");
    assert!(shown(&fork).contains(" · done · ended"), "{}", shown(&fork));
    assert_eq!((shown(&run), events(&project, &run)), (before, past));
    // A fork of a fork has its past from that one.
    let (_, second) = forked(&project, &fork, &["--at", "2"]);
    assert_eq!(origin(&project, &second), json!({ "run": fork, "seq": 2 }));
}

#[test]
fn a_value_that_is_set_counts_as_the_result_of_its_node() {
    let project = Project::new();
    project.write(".flow/workflows/sums.yaml", SUM);
    let said = project.says("run .flow/workflows/sums.yaml a=1 b=2 --durable");
    assert!(said.starts_with("{\"sum\":3,\"size\":\"small\"}\n"), "{said}");
    let run = newest(&project);
    let (said, fork) = forked(&project, &run, &["--at", "4", "--set", r#"add={"sum": 42}"#]);
    assert!(said.starts_with("<fork> · sum · large · working\n"), "{said}");
    let resumed = project.says(&format!("runs resume {fork}"));
    assert!(resumed.starts_with("{\"sum\":42,\"size\":\"big\"}\n"), "{resumed}");
    expect![[r#"
           1  <time>  person ada (command line) opened `sum`, a fork of `<run>` after its record 4
           2  <time>  portolan went on → executed `entry`, now at `add`
           3  <time>  portolan went on → call of `add`
           4  <time>  portolan took an answer → executed `add`, now at `large`
           5  <time>  person ada (command line) changed `add` → the output of `add` was replaced
           6  <time>  portolan went on → executed `large`, now at `big`
           7  <time>  portolan went on → executed `big`, now at `exit`
           8  <time>  portolan went on → executed `exit`, ended at `exit`: success
        exit: 0
    "#]]
    .assert_eq(&events(&project, &fork).replace(&run, "<run>"));
    expect![[r#"
        stderr: error: there is no node and no variable `nothing`
        stderr: help: name a node that was executed, or a variable
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs fork {run} --at 4 --set nothing=1")));
    let shown = project.says(&format!("runs show {run}"));
    assert!(shown.contains("{\"sum\":3,\"size\":\"small\"}"), "{shown}");
    assert_eq!(origin(&project, &fork), json!({ "run": run, "seq": 4 }));
}

#[test]
fn a_fork_takes_the_definition_as_it_is_now_where_that_is_asked_for() {
    let mut project = Project::small();
    let run = project.run("small", "passed failed");
    project.write(".flow/workflows/small.json", SMALL.replace("Do it.", "Do it well."));
    let (said, fork) = forked(&project, &run, &["--at", "2"]);
    assert!(said.contains("\nDo it.\n"), "{said}");
    assert_eq!(origin(&project, &fork), json!({ "run": "<run1>", "seq": 2 }));
    let (said, fork) = forked(&project, &run, &["--at", "2", "--definition", "current"]);
    expect![[r#"
        <fork> · small · work · working

        ## work

        Do it well.

        → Call Next(passed|failed) when complete.

        required  report `work` passed       Next {"run":"<fork>","result":"passed","revision":2}
        optional  report that `work` failed  Next {"run":"<fork>","result":"failed","revision":2}
        exit: 0
    "#]]
    .assert_eq(&said);
    let told = origin(&project, &fork);
    assert_eq!(
        (&told["run"], &told["seq"], &told["carried"][0]["seq"]),
        (&json!("<run1>"), &json!(2), &json!(2)),
        "{told}"
    );
    let [from, to] = ["from", "to"].map(|end| told["carried"][0][end].as_str().map(str::to_owned));
    assert!(from.as_ref().is_some_and(|digest| digest.len() == 64) && to.is_some() && from != to, "{told}");
    assert!(project.says(&format!("runs show {run}")).contains("\nDo it.\n"), "the other run has what it began with");
}

/// Work that is looked at before it goes out.
const GATED: &str = r#"{
  "nodes": {
    "start": { "type": "start" },
    "work": { "type": "task" },
    "verify": { "type": "gate", "maxRetries": 1 },
    "ship": { "type": "task" },
    "done": { "type": "end", "result": "success" }
  },
  "edges": [
    { "from": "start", "to": "work" },
    { "from": "work", "to": "verify" },
    { "from": "verify", "to": "ship", "on": "passed" },
    { "from": "verify", "to": "work", "on": "failed" },
    { "from": "ship", "to": "done" }
  ]
}
"#;

#[test]
fn a_fork_that_cannot_be_is_refused_with_the_reason_and_leaves_no_run() {
    let mut project = Project::new();
    project.write(".flow/workflows/gated.json", GATED);
    let run = project.run("gated", "passed passed passed");
    let said = events(&project, &run);
    assert!(said.contains("\n   6  <time>  portolan went on → ended at `done`: success\n"), "{said}");
    let says = |arguments: &str| project.says(&format!("runs fork {run} {arguments}"));
    expect![[r#"
        stderr: error: the run had ended by that record
        stderr: help: choose an earlier record: `portolan runs events` lists them
        exit: 2
    "#]]
    .assert_eq(&says("--at 6"));
    expect![[r#"
        stderr: error: `<run1>` has no record 7
        stderr: help: its records are numbered from 1 to 6
        exit: 2
    "#]]
    .assert_eq(&says("--at 7"));
    // A step where the run is that there is no longer, and a gate that the run has passed that is none any more.
    project.write(".flow/workflows/gated.json", GATED.replace("\"ship\"", "\"send\""));
    expect![[r#"
        stderr: error: the run cannot be migrated to the current definition: `ship` no longer exists in `gated`
        stderr: help: fork it at an earlier record, or with the definition that it began with
        exit: 2
    "#]]
    .assert_eq(&says("--at 4 --definition current"));
    let gate = "\"gate\", \"maxRetries\": 1";
    let back = "    { \"from\": \"verify\", \"to\": \"work\", \"on\": \"failed\" },\n";
    project.write(".flow/workflows/gated.json", GATED.replace(gate, "\"task\"").replace(back, ""));
    expect![[r#"
        stderr: error: the run cannot be migrated to the current definition: `verify` is a task that now asks for something else
        stderr: help: fork it at an earlier record, or with the definition that it began with
        exit: 2
    "#]]
    .assert_eq(&says("--at 4 --definition current"));
    let mut from_an_agent = project.command(&["runs", "fork", &run, "--at", "2"]);
    let output = from_an_agent.env("CLAUDECODE", "1").output().expect("the binary starts");
    expect![[r#"
        stderr: error: only a person may fork a run, and `CLAUDECODE` is set, which Claude Code does for its agent
        stderr: help: a person must run the command in a terminal that was not opened by an agent's program
        exit: 2
    "#]]
    .assert_eq(&project.output_text(&output));
    let listed = project.says("runs list --all");
    assert_eq!(listed.lines().count(), 2, "no other run has begun: {listed}");
}
