//! `portolan flow`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use expect_test::expect;
use portolan_runtime::audit::{Durability, Kind, Log, LogEntry};
use portolan_runtime::clock::Clock;
use serde_json::{Value, json};

use crate::support::Project;

/// A project with a little on record.
fn recorded() -> Project {
    let project = Project::new();
    append(
        &project,
        Kind::Transition,
        json!({ "from": "test", "to": "commit", "reason": "Tests pass.", "kind": "forward" }),
    );
    append(
        &project,
        Kind::GuardBlock,
        json!({ "guardId": "no-edit-on-integration", "reason": "`main` is an\u{1b}[31m integration branch" }),
    );
    append(
        &project,
        Kind::Bypass,
        json!({ "source": "command", "identifier": "override", "invariant": "I-3", "phase": "branch", "reason": "there is no tracker", "stage": "recorded" }),
    );
    append(&project, Kind::ToolInvoked, json!({ "toolInputKeys": ["command"] }));
    project
}

fn append(project: &Project, kind: Kind, data: Value) {
    let log = Log::open(project.path().join(".portolan/flow-events.jsonl")).expect("there is nothing in the way");
    let log = log.with_clock(Clock::stepping(1_700_000_000_000));
    let entry = LogEntry { phase: Some("commit".into()), task: Some("T-1".into()), ..LogEntry::of(kind, data) };
    log.append(&[entry], Durability::Written).expect("it can be written");
}

#[test]
fn events_are_told_in_words() {
    let project = recorded();
    expect![[r#"
        <time>  flow.transition    commit  T-1  test → commit: Tests pass.
        <time>  flow.guard.block   commit  T-1  no-edit-on-integration stopped it: `main` is an\u{1b}[31m integration branch
        <time>  flow.bypass        commit  T-1  I-3 bypassed (recorded) with override: there is no tracker
        <time>  flow.tool.invoked  commit  T-1  toolInputKeys: ["command"]
        exit: 0
    "#]].assert_eq(&project.says("flow events"));
    expect![[r#"
        <time>  flow.guard.block  commit  T-1  no-edit-on-integration stopped it: `main` is an\u{1b}[31m integration branch
        exit: 0
    "#]].assert_eq(&project.says("flow events --type flow.guard.* --limit 1"));
    expect![[r#"
        <time>  flow.tool.invoked  commit  T-1  toolInputKeys: ["command"]
        stderr: there are more than 1: raise `--limit` to see them
        exit: 0
    "#]]
    .assert_eq(&project.says("flow events --limit 1"));
    expect![[r#"
        {
          "events": [
            {
              "v": 1,
              "seq": 3,
              "id": "03a36fbd12c7776ec662",
              "type": "flow.bypass",
              "at": "2023-11-14T22:13:20.000Z",
              "phase": "commit",
              "taskId": "T-1",
              "runId": null,
              "data": {
                "source": "command",
                "identifier": "override",
                "invariant": "I-3",
                "phase": "branch",
                "reason": "there is no tracker",
                "stage": "recorded"
              },
              "prev": "270ab606317eb22fae2bddf79a810ee0532dc6abf60e1a59301939ad2d6fce0b"
            }
          ],
          "more": false
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("flow events --type flow.bypass --format json"));
    expect![[r#"
        stderr: no such event is recorded
        exit: 0
    "#]]
    .assert_eq(&project.says("flow events --task T-2"));
}

#[test]
fn a_script_can_fail_when_anything_was_got_past() {
    let project = recorded();
    assert!(project.says("flow events --type flow.bypass --fail-if-any").ends_with("exit: 1\n"));
    assert!(project.says("flow events --type flow.config --fail-if-any").ends_with("exit: 0\n"));
    let lines = project.says("flow events --json");
    let log = std::fs::read_to_string(project.path().join(".portolan/flow-events.jsonl")).expect("it is there");
    assert_eq!(lines, format!("{log}exit: 0\n"), "they are the lines of the log");
}

#[test]
#[cfg(unix)]
fn what_was_got_past_fails_a_script_that_reads_none_of_it() {
    let project = recorded();
    for options in [&[][..], &["--json"], &["--format", "json"]] {
        let of = |kind: &str| {
            let words = [&["flow", "events", "--fail-if-any", "--type", kind], options].concat();
            // The other end of the pipe is closed before anything is written into it.
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            project.command(&words).stdout(writer).status().expect("it starts").code()
        };
        assert_eq!(of("flow.bypass"), Some(1), "{options:?}");
        assert_eq!(of("flow.config"), Some(0), "{options:?}");
    }
}

#[test]
fn a_log_is_verified() {
    let project = recorded();
    let whole = project.says("flow events --verify");
    assert!(whole.starts_with("4 lines, all intact; the last one is ") && whole.ends_with("exit: 0\n"), "{whole}");
    let path = project.path().join(".portolan/flow-events.jsonl");
    let log = std::fs::read_to_string(&path).expect("it is there");
    std::fs::write(&path, log.replace("no tracker", "a tracker")).expect("it is ours");
    expect![[r#"
        stderr: error: the event log is not intact: `<project>/.portolan/flow-events.jsonl`, line 3: the line has been changed since it was written
        stderr: help: the 2 lines before it are intact; keep a copy, and find out who changed the file
        exit: 1
    "#]].assert_eq(&project.says("flow events --verify"));
    expect![[r#"
        {
          "lines": 2,
          "head": "270ab606317eb22fae2bddf79a810ee0532dc6abf60e1a59301939ad2d6fce0b",
          "fault": {
            "file": "<project>/.portolan/flow-events.jsonl",
            "line": 3,
            "what": "the line has been changed since it was written"
          }
        }
        exit: 1
    "#]]
    .assert_eq(&project.says("flow events --verify --format json"));
}

#[test]
fn what_is_asked_for_must_be_there() {
    let project = Project::new();
    expect![[r#"
        stderr: no such event is recorded
        exit: 0
    "#]]
    .assert_eq(&project.says("flow events"));
    expect![[r#"
        stderr: no event is recorded in this project
        exit: 0
    "#]]
    .assert_eq(&project.says("flow events --verify"));
    expect![[r#"
        stderr: error: invalid value 'flow.bypas' for '--type <TYPE>': `flow.bypas` is not an event type; did you mean `flow.bypass`?
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]].assert_eq(&project.says("flow events --type flow.bypas"));
    expect![[r#"
        stderr: error: invalid value 'yesterday' for '--since <TIME>': `yesterday` is not a valid time; write `<time>`, `2026-11-22`, or `12h` for 12 hours ago
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]].assert_eq(&project.says("flow events --since yesterday"));
    assert!(!project.path().join(".portolan").exists(), "looking leaves nothing behind");
}

#[test]
fn a_log_is_followed() {
    let project = recorded();
    let mut command = project.command(&["flow", "events", "--follow", "--json", "--limit", "1"]);
    let mut process = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut says = BufReader::new(process.stdout.take().expect("it is piped")).lines();
    let mut seq = || {
        let line = says.next().expect("it goes on").expect("it is text");
        serde_json::from_str::<Value>(&line).expect("it is JSON")["seq"].as_u64()
    };
    assert_eq!(seq(), Some(4));
    append(&project, Kind::Boot, json!({}));
    append(&project, Kind::Boot, json!({}));
    assert_eq!((seq(), seq()), (Some(5), Some(6)));
    process.kill().expect("it is ours");
    process.wait().expect("it is ours");
}
