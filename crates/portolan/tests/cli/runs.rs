//! `portolan runs`.

use crate::calls::Calls;
use expect_test::expect;
use portolan_runtime::service::{Open, RunCarrier};

use crate::support::{Project, address, reported};

#[test]
fn without_runs_there_is_nothing_to_list() {
    let project = Project::new();
    expect![[r#"
        stderr: no run is open; use `--all` to include those that have ended
        exit: 0
    "#]]
    .assert_eq(&project.says("runs list"));
    expect![[r#"
        stderr: there are no runs in this project
        exit: 0
    "#]]
    .assert_eq(&project.says("runs list --all"));
    expect![[r#"
        {
          "runs": [],
          "more": false
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("runs list --format json"));
    assert!(!project.path().join(".portolan").exists(), "looking leaves nothing behind");
}

#[test]
fn a_run_at_work_is_shown_with_its_calls() {
    let mut project = Project::small();
    let run = project.run("small", "passed");
    expect![[r#"
        <run1>  working  small  verify  <time>  make it so
        exit: 0
    "#]]
    .assert_eq(&project.says("runs list"));
    expect![[r#"
        <run1> · small · verify · working

        ## verify

        Is it right?

        Retries: 1

        → Call Next(passed|failed) when complete.

        required  report `verify` passed       Next {"run":"<run1>","result":"passed","revision":3}
        optional  report that `verify` failed  Next {"run":"<run1>","result":"failed","revision":3}
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs show {run}")));
    expect![[r###"
        {
          "run": "<run1>",
          "situation": {
            "state": "working",
            "position": {
              "workflow": "small",
              "step": "verify",
              "stepName": "verify",
              "kind": "gate",
              "revision": 3,
              "retries": {
                "gate": "verify",
                "used": 0,
                "budget": 1,
                "left": 1
              }
            },
            "message": "## verify\n\nIs it right?\n\nRetries: 1\n\n→ Call Next(passed|failed) when complete.",
            "actions": {
              "required": [
                {
                  "tool": "Next",
                  "arguments": {
                    "run": "<run1>",
                    "result": "passed",
                    "revision": 3
                  },
                  "title": "report `verify` passed"
                }
              ],
              "optional": [
                {
                  "tool": "Next",
                  "arguments": {
                    "run": "<run1>",
                    "result": "failed",
                    "revision": 3
                  },
                  "title": "report that `verify` failed"
                }
              ],
              "blocked": []
            }
          },
          "metadata": {
            "workflowType": "small",
            "currentStep": "verify",
            "retryCount": 0,
            "userDescription": "make it so",
            "stepName": "verify"
          }
        }
        exit: 0
    "###]]
    .assert_eq(&project.says(&format!("runs show {run} --format json")));
    expect![[r#"
           1  <time>  agent tester opened `small`
           2  <time>  agent tester began → now at `work`
           3  <time>  agent tester reported passed → now at `verify`
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs events {run}")));
    expect![[r#"
        stderr: error: `<run1>` is not asking a person at `verify`: the agent is working
        stderr: help: `portolan runs show` shows where it is
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs answer {run} passed")));
}

#[test]
fn a_person_who_is_asked_answers_and_the_agent_goes_on() {
    let mut project = Project::small();
    let run = project.run("small", "passed failed passed failed");
    expect![[r#"
        <run1> · small · stuck · waiting for a person

        ## HITL

        It fails. What now?

        A person must decide. Stop, show them this, and relay their answer.
        → Call Next(passed|cancelled) with what the person says.

        answer  the person answers `stuck`: passed, continue at `work`  portolan runs answer <run1> passed
        answer  the person cancels the run                              portolan runs answer <run1> cancelled
        exit: 4
    "#]]
    .assert_eq(&project.says(&format!("runs show {run}")));
    expect![[r#"
        stderr: error: no answer was given
        stderr: help: name one of `passed` and `cancelled`
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs answer {run}")));
    expect![[r#"
        stderr: error: `maybe` is not an outcome of `stuck`
        stderr: help: report one of `passed` and `cancelled`
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs answer {run} maybe")));
    expect![[r#"
        stderr: {"error":"no_matching_edge","message":"`maybe` is not an outcome of `stuck`","help":"report one of `passed` and `cancelled`"}
        exit: 2
    "#]].assert_eq(&project.says(&format!("runs answer {run} maybe --format json")));
    expect![[r#"
        <run1> · small · work · working

        ## work

        Do it.

        Note from `stuck`: the key is in the vault

        → Call Next(passed|failed) when complete.

        required  report `work` passed       Next {"run":"<run1>","result":"passed","revision":9}
        optional  report that `work` failed  Next {"run":"<run1>","result":"failed","revision":9}
        exit: 0
    "#]]
    .assert_eq(&project.says_to(&["runs", "answer", &run, "passed", "--note", "the key is in the vault"]));
    expect![[r#"
           1  <time>  agent tester opened `small`
           2  <time>  agent tester began → now at `work`
           3  <time>  agent tester reported passed → now at `verify`
           4  <time>  agent tester reported failed → retry 1 of 1 for `verify`, now at `work`
           5  <time>  agent tester reported passed → now at `verify`
           6  <time>  agent tester reported failed → `stuck` asks a person
           7  <time>  person ada (command line) reported passed ("the key is in the vault") → budgets refilled, now at `work`
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs events {run}")));
}

/// A loop over items that the agent was to find, and did not report.
const ITEMS: &str = r#"
id: items
version: 1.0.0
title: Items
variables: [{ name: items, type: array }, { name: label, type: string }]
activities:
  - id: all
    name: All
    steps:
      - { id: find, kind: step, name: Find the items, outputs: [items, label] }
      - id: each
        kind: loop
        loopType: forEach
        over: items
        steps: [{ id: see, kind: step, name: "See to {item}" }]
"#;

#[test]
fn a_person_gives_the_value_that_was_in_the_way() {
    let mut project = Project::new();
    project.write(".flow/workflows/items.yaml", ITEMS);
    let run = project.run("items", "passed");
    expect![[r#"
        <run1> · items · all.each · waiting for a person

        ## HITL

        The workflow does not say how to continue from `each`.

        Note from `all.each`: `items` has no value, but the loop iterates over its items

        A person must decide. Stop, show them this, and relay their answer.
        → Call Next(passed|failed|cancelled) with what the person says.

        answer  the person removed the obstacle: try `each` again  portolan runs answer <run1> passed
        answer  the person gives up `each`                         portolan runs answer <run1> failed
        answer  the person cancels the run                         portolan runs answer <run1> cancelled
        exit: 4
    "#]]
    .assert_eq(&project.says(&format!("runs show {run}")));
    expect![[r#"
        stderr: error: the values do not match the variables: `items` must be an array, but is a string
        stderr: help: give each a value of its type
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs answer {run} passed --set items=bolts")));
    expect![[r#"
        stderr: error: this answer at `all.each` cannot set variables
        stderr: help: answer without values
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs answer {run} failed --set items=[]")));
    expect![[r#"
        stderr: error: invalid value 'items' for '--set <NAME=VALUE>': write `field=value`, such as `branch=feat/login`
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs answer {run} passed --set items")));
    expect![[r#"
        <run1> · items · all.see · working

        ## See to bolts

        → Call Next(passed) when complete.

        required  report `See to bolts` passed  Next {"run":"<run1>","result":"passed","revision":11}
        exit: 0
    "#]]
    .assert_eq(&project.says_to(&[
        "runs",
        "answer",
        &run,
        "passed",
        "--set",
        r#"items=["bolts"]"#,
        "--set",
        "label=spare",
    ]));
    expect![[r#"
           1  <time>  agent tester opened `items`
           2  <time>  agent tester began → now at `all`
           3  <time>  portolan went on → now at `all.find`
           4  <time>  agent tester reported passed → now at `all.each`
           5  <time>  portolan went on → `all.each` waits for a person: no progress
           6  <time>  person ada (command line) reported passed → set `items`, set `label`, now at `all.each`
           7  <time>  portolan went on → pass 1 of `all.each`, now at `all.see` in `all.each`
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs events {run}")));
}

#[test]
fn a_person_has_a_run_begin_further_on() {
    let project = Project::small();
    let says = |line: &str| {
        let told = project.says(line);
        // The handle is new each time.
        let handle = told.split_whitespace().next().unwrap_or_default().to_owned();
        if handle.len() == 8 { told.replace(&handle, "<run>") } else { told }
    };
    expect![[r#"
        <run> · small · start · working

        ## Queued

        → Call Start() to begin work.

        required  begin the work  Start {"run":"<run>","revision":1}
        exit: 0
    "#]]
    .assert_eq(&says("runs start small"));
    expect![[r#"
        <run> · small · work · working

        ## work

        Do it.

        → Call Next(passed|failed) when complete.

        required  report `work` passed       Next {"run":"<run>","result":"passed","revision":2}
        optional  report that `work` failed  Next {"run":"<run>","result":"failed","revision":2}
        exit: 0
    "#]]
    .assert_eq(&says("runs start small --at work --description carefully"));
    expect![[r#"
        stderr: error: `done` is one of the ends of the workflow `small`
        stderr: help: begin at one of `start`, `work`, `verify` and `stuck`
        exit: 2
    "#]]
    .assert_eq(&says("runs start small --at done"));
    expect![[r#"
        stderr: error: workflow `nowhere` is not known
        stderr: help: the list of workflows shows them all; a workflow file belongs in `.flow/workflows`
        exit: 2
    "#]]
    .assert_eq(&says("runs start nowhere"));
    let mut from_an_agent = project.command(&["runs", "start", "small", "--at", "stuck"]);
    let output = from_an_agent.env("CLAUDECODE", "1").output().expect("the binary starts");
    expect![[r#"
        stderr: error: only a person may start a run at a later step, and `CLAUDECODE` is set, which Claude Code does for its agent
        stderr: help: a person must run the command in a terminal that was not opened by an agent's program
        exit: 2
    "#]].assert_eq(&project.output_text(&output));
}

#[test]
fn an_ended_run_stays_on_the_record() {
    let mut project = Project::small();
    let run = project.run("small", "passed passed");
    expect![[r#"
        stderr: no run is open; use `--all` to include those that have ended
        exit: 0
    "#]]
    .assert_eq(&project.says("runs list"));
    expect![[r#"
        <run1>  success  small  done  <time>  make it so
        exit: 0
    "#]]
    .assert_eq(&project.says("runs list --all"));
    expect![[r#"
        <run1> · small · done · ended

        ## Complete

        The run is complete. Nothing is left to do.
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs show {run}")));
    expect![[r#"
        stderr: error: `<run1>` is not asking a person at `done`: it has ended
        stderr: help: `portolan runs show` shows where it is
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs answer {run}")));
    expect![[r#"
        stderr: error: the run has ended at `done`
        stderr: help: there is nothing to cancel
        exit: 2
    "#]]
    .assert_eq(&project.says_to(&["runs", "cancel", &run, "--reason", "too late"]));
}

#[test]
fn a_run_is_called_off_with_a_reason() {
    let mut project = Project::small();
    let run = project.run("small", "");
    expect![[r#"
        stderr: error: the following required arguments were not provided:
        stderr:   --reason <TEXT>
        stderr: 
        stderr: Usage: portolan runs cancel --reason <TEXT> <RUN>
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("runs cancel {run}")));
    expect![[r#"
        <run1> · small · work · ended

        ## Cancelled

        The run was cancelled. Stop working on it.
        exit: 0
    "#]]
    .assert_eq(&project.says_to(&["runs", "cancel", &run, "--reason", "not needed"]));
    expect![[r#"
           1  <time>  agent tester opened `small`
           2  <time>  agent tester began → now at `work`
           3  <time>  person ada (command line) cancelled the run: not needed → ended at `work`: cancelled
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs events {run}")));
    expect![[r#"
        {
          "runs": [
            {
              "run": "<run1>",
              "status": "cancelled",
              "workflow": "small",
              "step": "work",
              "updatedAt": "<time>",
              "description": "make it so"
            }
          ],
          "more": false
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("runs list --all --format json"));
}

#[test]
fn what_names_no_run_is_told_apart() {
    let project = Project::small();
    expect![[r#"
        stderr: error: there is no run `k7m2qx4p` in this store
        stderr: help: `portolan runs list` shows the existing runs
        exit: 2
    "#]]
    .assert_eq(&project.says("runs show k7m2qx4p"));
    expect![[r#"
        stderr: error: `NOPE` is neither the handle of a run nor the path of a task file
        stderr: help: `portolan runs list` shows the existing runs
        exit: 2
    "#]]
    .assert_eq(&project.says("runs events NOPE"));
    expect![[r#"
        stderr: error: the folder of `tasks/1.json` does not exist
        stderr: help: create `<project>/tasks` first
        exit: 1
    "#]]
    .assert_eq(&project.says("runs show tasks/1.json"));
    project.write("tasks/1.json", "{\"subject\": \"mine\"}");
    expect![[r#"
        stderr: error: the task `tasks/1.json` has no workflow yet
        stderr: help: an agent starts it with Init; `portolan runs list` shows the existing runs
        exit: 2
    "#]]
    .assert_eq(&project.says("runs show tasks/1.json"));
    project.write("tasks/1.json", "{\"subject\": ");
    expect![[r#"
        stderr: {"error":"task_file_not_json","message":"`tasks/1.json` is not valid JSON: EOF while parsing a value at line 1 column 12","help":"repair it or move it away; it was left as it is"}
        exit: 1
    "#]].assert_eq(&project.says("runs show tasks/1.json --format json"));
}

#[test]
fn a_task_file_is_a_run_too() {
    let project = Project::small();
    let task = "tasks/7.json";
    std::fs::create_dir(project.path().join("tasks")).expect("a folder");
    let path = project.path().join(task).to_string_lossy().into_owned();
    let init = Open { carrier: RunCarrier::Task(path.clone()), workflow: Some("small".to_owned()), ..Open::default() };
    let begun = project.agent(async |service, me| {
        service.open(&init, me).await?;
        let view = service.start(&address(&path), None, me).await?;
        service.next(&reported(&view, "passed"), me).await
    });
    assert!(begun.is_ok(), "{begun:?}");
    expect![[r#"
        <project>/tasks/7.json  working  small  verify  <time>
        exit: 0
    "#]]
    .assert_eq(&project.says("runs list"));
    expect![[r#"
        tasks/7.json · small · verify · working

        ## verify

        Is it right?

        Retries: 1

        → Call Next(passed|failed) when complete.

        required  report `verify` passed       Next {"taskFilePath":"tasks/7.json","result":"passed","revision":3}
        optional  report that `verify` failed  Next {"taskFilePath":"tasks/7.json","result":"failed","revision":3}
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs show {task}")));
    expect![[r#"
           1  <time>  agent tester opened `small`
           2  <time>  agent tester began → now at `work`
           3  <time>  agent tester reported passed → now at `verify`
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs events {task}")));
}

#[test]
fn lists_are_as_long_as_they_are_asked_to_be() {
    let mut project = Project::small();
    for _ in 0..3 {
        project.run("small", "");
    }
    let said = project.says("runs list --limit 2");
    assert!(said.contains("there are more than 2") && said.matches("small").count() == 2, "{said}");
    expect![[r#"
        stderr: error: invalid value '0' for '--limit <N>': 0 is not in 1..=100000
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("runs list --limit 0"));
}

#[test]
fn a_store_that_is_named_must_be_there() {
    let project = Project::new();
    expect![[r#"
        stderr: error: there is no store at `elsewhere.db`
        stderr: help: name the file that `serve` keeps runs in
        exit: 2
    "#]]
    .assert_eq(&project.says("runs list --store elsewhere.db"));
    expect![[r#"
        stderr: {"error":"no_store","message":"a store in memory ends with its process: there is nothing to show","help":"name the file that `serve` keeps runs in"}
        exit: 2
    "#]].assert_eq(&project.says("runs list --store memory --format json"));
    project.write("junk.db", "this is no database, whatever its name says");
    expect![[r#"
        stderr: error: `<project>/junk.db` is not a run store
        stderr: help: move it away, or name another file
        exit: 1
    "#]]
    .assert_eq(&project.says("runs list --store junk.db"));
    expect![[r#"
        stderr: error: `<project>` is a directory
        stderr: help: name a file in it
        exit: 1
    "#]]
    .assert_eq(&project.says("runs list --store ."));
}

#[test]
fn the_words_of_an_agent_steer_no_terminal() {
    let mut project = Project::small();
    let run = project.run("small", "");
    let said = project.agent(async |service, me| {
        let view = service.current(&address(&run), None, me).await?;
        let mut wanted = reported(&view, "failed");
        wanted.note = Some("\u{1b}[2Jall is well\nreally \u{202e}".to_owned());
        service.next(&wanted, me).await
    });
    assert!(said.is_ok(), "{said:?}");
    let told = project.says(&format!("runs show {run}")) + &project.says(&format!("runs events {run}"));
    assert!(!told.contains(['\u{1b}', '\u{202e}']), "{told}");
    assert!(told.contains(r#"reported failed ("\u{1b}[2Jall is well\nreally \u{202e}")"#), "{told}");
    assert!(told.contains(r"Note from `work`: \u{1b}[2Jall is well"), "{told}");
}
