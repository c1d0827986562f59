//! Calls through the gate that are kept with their arguments and results.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::gateway::{REVIEW, begun, call, client, made, says, text, usual};
use crate::support::Project;

const RECORDS: &str = "
records:
  - { id: short, tools: ['mcp:db/query'], maxBytes: 10 }
  - { id: writes, tools: ['mcp:db/write'], keepDays: 30 }
";

/// The entries of the log, each with the texts that are kept of it.
fn entries(project: &Project) -> Vec<Value> {
    let (said, code) = says(project, &["gate", "log", "--whole", "--format", "json"]);
    assert_eq!(code, Some(0), "{said}");
    let log: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    log["entries"].as_array().expect("entries").clone()
}

/// The folder of the calls that are kept.
fn folder(project: &Project) -> PathBuf {
    let all = fs::read_dir(project.person().join("gateway")).expect("a folder").flatten().map(|entry| entry.path());
    all.into_iter().find(|path| path.to_string_lossy().ends_with("-whole")).expect("calls are kept")
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_call_is_kept_whole_where_a_rule_says_so() {
    let project = usual();
    project.write(".portolan/plugins.yaml", RECORDS);
    project.write(".flow/workflows/review.json", REVIEW);
    let mut wire = client(&project, &[]);
    call(&mut wire, "write", json!({ "amount": 7, "password": "hunter2hunter2" }));
    call(&mut wire, "query", json!({ "sql": "select everything" }));
    call(&mut wire, "fail", json!({ "sql": "not kept" }));
    begun(&mut wire);
    let refused = call(&mut wire, "write", json!({ "amount": 8 }));
    assert_eq!(refused["isError"], true, "{refused}");

    let entries = entries(&project);
    let of = |kind: &str, tool: &str| -> Vec<&Value> {
        let is_of = |entry: &&Value| entry["type"] == kind && entry["data"]["toolName"] == tool;
        entries.iter().filter(is_of).collect()
    };
    let [written, denied] = of("flow.tool.invoked", "mcp__db__write")[..] else { panic!("{entries:#?}") };
    assert_eq!(written["arguments"], json!({ "amount": 7, "password": "[redacted]" }));
    assert_eq!((&denied["arguments"], &denied["data"]["decision"]), (&json!({ "amount": 8 }), &json!("block")));
    let [answered] = of("flow.tool.answered", "write")[..] else { panic!("{entries:#?}") };
    let result = text(&answered["result"]);
    assert!(result.contains(r#""amount": 7"#) && !result.contains("hunter2"), "{result}");
    let [asked] = of("flow.tool.invoked", "mcp__db__query")[..] else { panic!("{entries:#?}") };
    assert_eq!(asked["arguments"], r#"{"sql":"se… [cut by Portolan: 27 bytes in all]"#);
    let [unkept] = of("flow.tool.answered", "fail")[..] else { panic!("{entries:#?}") };
    assert!(unkept.get("result").is_none() && unkept["data"].get("recordDigest").is_none(), "{unkept:#}");

    let (said, _) = says(&project, &["gate", "log", "--whole"]);
    assert!(said.contains("\n    arguments: {\"amount\":8}\n"), "{said}");
    let log = fs::read_to_string(project.path().join(".portolan/flow-events.jsonl")).expect("a log");
    assert!(!log.contains("select everything") && !log.contains("hunter2"), "the log has no values");
}

#[test]
fn a_record_that_was_changed_or_removed_is_told() {
    let project = usual();
    project.write(".portolan/plugins.yaml", RECORDS);
    let mut wire = client(&project, &["--toolset", "none"]);
    call(&mut wire, "write", json!({ "amount": 7 }));
    let record = fs::read_dir(folder(&project)).expect("a folder").flatten().next().expect("a record").path();
    let kept = fs::read_to_string(&record).expect("a record");
    fs::write(&record, kept.replace('7', "9")).expect("changed");
    let answered = |project: &Project| entries(project).pop().expect("an entry");
    let said = answered(&project)["error"].as_str().expect("an error").to_owned();
    assert!(said.contains("was changed since the call; the digests of the log still identify"), "{said}");
    fs::remove_file(&record).expect("removed");
    let gone = answered(&project);
    assert!(gone.get("error").is_none() && gone.get("result").is_none(), "{gone:#}");
}

#[test]
fn a_call_that_cannot_be_kept_is_not_made() {
    let project = usual();
    project.write(".portolan/plugins.yaml", RECORDS);
    let mut wire = client(&project, &["--toolset", "none"]);
    call(&mut wire, "write", json!({}));
    let folder = folder(&project);
    fs::remove_dir_all(&folder).expect("removed");
    fs::write(&folder, "in the way").expect("written");
    let refused = call(&mut wire, "write", json!({}));
    let said = text(&refused);
    assert!(said.contains("the call cannot be kept, as a rule of `records` wants it"), "{said}");
    assert_eq!(call(&mut wire, "query", json!({}))["isError"], true);
    assert_eq!(call(&mut wire, "refresh", json!({}))["isError"], false, "no rule is about it");
    assert_eq!(made(&project), ["write", "refresh"]);
    assert_eq!(entries_of_end(&project), ["result", "cancelled", "cancelled", "result"]);
}

/// How the calls ended, as the log has it.
fn entries_of_end(project: &Project) -> Vec<String> {
    let (said, _) = says(project, &["gate", "log", "--format", "json"]);
    let log: Value = serde_json::from_str(&said).expect("JSON");
    let ends = log["entries"].as_array().expect("entries").iter().filter(|entry| entry["type"] == "flow.tool.answered");
    ends.map(|entry| entry["data"]["outcome"].as_str().expect("an outcome").to_owned()).collect()
}
