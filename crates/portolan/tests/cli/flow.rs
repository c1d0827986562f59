//! `portolan flow`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use expect_test::expect;
use portolan_runtime::audit::{Durability, Entry, Kind, Log};
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
    let entry = Entry { phase: Some("commit".into()), task: Some("T-1".into()), ..Entry::of(kind, data) };
    log.append(&[entry], Durability::Written).expect("it can be written");
}

#[test]
fn events_are_told_in_words() {
    let project = recorded();
    expect![[r#""#]].assert_eq(&project.says("flow events"));
    expect![[r#""#]].assert_eq(&project.says("flow events --type flow.guard.* --limit 1"));
    expect![[r#""#]].assert_eq(&project.says("flow events --limit 1"));
    expect![[r#""#]].assert_eq(&project.says("flow events --type flow.bypass --format json"));
    expect![[r#""#]].assert_eq(&project.says("flow events --task T-2"));
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
fn a_log_is_verified() {
    let project = recorded();
    let whole = project.says("flow events --verify");
    assert!(whole.starts_with("4 lines, all whole; the last one is ") && whole.ends_with("exit: 0\n"), "{whole}");
    let path = project.path().join(".portolan/flow-events.jsonl");
    let log = std::fs::read_to_string(&path).expect("it is there");
    std::fs::write(&path, log.replace("no tracker", "a tracker")).expect("it is ours");
    expect![[r#""#]].assert_eq(&project.says("flow events --verify"));
    expect![[r#""#]].assert_eq(&project.says("flow events --verify --format json"));
}

#[test]
fn what_is_asked_for_must_be_there() {
    let project = Project::new();
    expect![[r#""#]].assert_eq(&project.says("flow events"));
    expect![[r#""#]].assert_eq(&project.says("flow events --verify"));
    expect![[r#""#]].assert_eq(&project.says("flow events --type flow.bypas"));
    expect![[r#""#]].assert_eq(&project.says("flow events --since yesterday"));
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
