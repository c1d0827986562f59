//! How a session begins, and how it may end.

use portolan_core::run::{Actor, BypassSource, Channel};
use portolan_runtime::service::{Caller, Override, Start};
use serde_json::json;

use crate::support::{Project, Said};

fn session(project: &Project, event: &str, more: serde_json::Value) -> Said {
    let mut said = json!({ "session_id": "s1", "cwd": project.path() });
    for (key, value) in more.as_object().expect("fields") {
        said[key] = value.clone();
    }
    project.hook("claude-code", event, said.to_string().as_bytes())
}

fn begin(project: &Project) {
    let start = Start { task: "login".to_owned(), ..Start::default() };
    project.service(async |service, me| service.flow().start(&start, me).await).expect("it begins");
}

#[test]
fn a_session_is_told_where_the_task_is() {
    let project = Project::on_branch();
    let told =
        |said: Said| said.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned();
    let text = told(session(&project, "SessionStart", json!({ "source": "startup" })));
    assert!(text.contains("No task is under way") && text.contains("`main`, `master`"), "{text}");
    begin(&project);
    let text = told(session(&project, "SessionStart", json!({ "source": "resume" })));
    assert!(text.contains("The task `login` is in the phase") && text.contains("portolan flow tick"), "{text}");
    assert!(text.len() <= 1024, "{}", text.len());
}

#[test]
fn work_without_a_pull_request_is_sent_back_once() {
    let project = Project::on_branch();
    project.shadow("gh", "#!/bin/sh\nprintf '[]'\n");
    let stop = |again: bool| session(&project, "Stop", json!({ "stop_hook_active": again }));
    assert!(stop(false).stdout.is_empty(), "no task is in progress");
    begin(&project);
    assert!(stop(false).stdout.is_empty(), "nothing is committed");
    project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: x (#1)"]);
    let asked_again = stop(true).json();
    assert!(asked_again["decision"].is_null(), "{asked_again}");
    let said = stop(false).json();
    assert_eq!(said["decision"], "block", "{said}");
    let reason = said["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("I-9") && reason.contains("git push -u origin feat/1-x"), "{reason}");
    let said = stop(false).json();
    assert!(said["decision"].is_null() && said["systemMessage"].is_string(), "{said}");
    project.shadow("gh", "#!/bin/sh\nprintf '[{\"number\":1,\"state\":\"OPEN\"}]'\n");
    assert!(stop(false).stdout.is_empty());
}

#[test]
fn nobody_is_trapped_where_gh_fails() {
    let project = Project::on_branch();
    project.shadow("gh", "#!/bin/sh\nexit 4\n");
    begin(&project);
    project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: x (#1)"]);
    let said = session(&project, "Stop", json!({})).json();
    assert!(said["decision"].is_null(), "{said}");
    assert!(said["systemMessage"].as_str().is_some_and(|text| text.contains("it is unknown whether")), "{said}");
}

#[test]
fn a_task_that_is_under_way_is_not_marked_as_done() {
    let project = Project::on_branch();
    let done = |task: &str| session(&project, "TaskCompleted", json!({ "task_id": task }));
    assert_eq!(done("login").status, 0);
    begin(&project);
    let said = done("login");
    assert!(said.status == 2 && said.stderr.contains("in the phase"), "{said:?}");
    assert_eq!(done("other").status, 0);
}

#[test]
fn without_a_forge_a_record_of_the_review_is_asked_for() {
    let project = Project::on_branch();
    project.write(".portolan/guidelines.yaml", "pullRequests: {forge: file, folder: reviews}\n");
    begin(&project);
    project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: x (#1)"]);
    let said = session(&project, "Stop", json!({})).json();
    assert!(said["reason"].as_str().is_some_and(|text| text.contains("`reviews/<number>.md`")), "{said}");
    project.write("reviews/1.md", "About `feat/1-x`.\n");
    let said = session(&project, "Stop", json!({}));
    assert!(said.stdout.is_empty(), "{said:?}");
}

/// A rule is got past in the task, once or as often as it is in the way.
fn past(project: &Project, invariant: &str, once: bool) {
    let wanted = Override {
        invariant: invariant.to_owned(),
        reason: "first aid".to_owned(),
        phase: None,
        source: BypassSource::Command,
        identifier: "flow override".to_owned(),
        expires_at: None,
        once,
    };
    let person = Caller { by: Actor::Person { name: "ada".to_owned(), via: Channel::CommandLine }, can_ask: true };
    project.service(async |service, _| service.flow().get_past(&wanted, &person).await).expect("it is on record");
}

#[test]
fn a_rule_that_the_task_gets_past_is_got_past_as_often_as_was_said() {
    let project = Project::new();
    begin(&project);
    assert!(project.edit("claude-code", "a.txt").is_denied());
    past(&project, "I-1", true);
    assert!(project.edit("claude-code", "ab.txt").is_allowed());
    assert!(project.edit("claude-code", "abc.txt").is_denied(), "it counts once");
    assert_eq!(project.events("flow.guard.bypass").len(), 1);
    past(&project, "I-1", false);
    assert!(project.edit("claude-code", "abcd.txt").is_allowed());
    assert!(project.edit("claude-code", "abcde.txt").is_allowed());
    let used = project.events("flow.guard.bypass");
    assert!(used.iter().all(|line| line["taskId"] == "login"), "{used:?}");
}

/// Calls that are judged at the same time have all seen that it is open.
#[test]
fn of_calls_at_once_a_bypass_that_counts_once_lets_one_happen() {
    let project = Project::new();
    begin(&project);
    past(&project, "I-1", true);
    let files: Vec<String> = (1..=6).map(|length| format!("{}.txt", "a".repeat(length))).collect();
    let allowed = std::thread::scope(|scope| {
        let calls = files.iter().map(|file| scope.spawn(|| project.edit("claude-code", file).is_allowed()));
        let calls: Vec<_> = calls.collect();
        calls.into_iter().map(|call| call.join().expect("an answer")).filter(|allowed| *allowed).count()
    });
    assert_eq!((allowed, project.events("flow.guard.bypass").len()), (1, 1));
}

/// A host's call and the hooks of the git that it starts ask about the same commit: it is got past once, by both.
#[test]
fn a_bypass_that_counts_once_lets_one_commit_through_and_no_second() {
    let project = Project::on_branch();
    project.portolan("install git --yes");
    begin(&project);
    let line = "git commit -q --allow-empty -m 'feat: x'";
    let commit = ["commit", "-q", "--allow-empty", "-m", "feat: x"];
    assert!(project.shell("claude-code", &line.replace("x'", "w'")).is_denied());
    past(&project, "I-8", true);
    assert!(project.shell("claude-code", line).is_allowed());
    let (done, said) = project.tries(&commit);
    assert!(done, "{said}");
    let (done, said) = project.tries(&commit);
    assert!(!done && said.contains("I-8"), "a second commit of the same call: {said}");
    assert!(project.shell("claude-code", &line.replace("x'", "y'")).is_denied());
}

#[test]
fn a_form_that_is_got_past_once_is_on_record_and_used() {
    let project = Project::on_branch();
    project.portolan("install git --yes");
    begin(&project);
    let commit = ["commit", "-q", "--allow-empty", "-m", "no form (#1)"];
    assert!(!project.tries(&commit).0);
    past(&project, "I-7", true);
    let (done, said) = project.tries(&commit);
    assert!(done, "{said}");
    let used = project.events("flow.guard.bypass");
    assert_eq!(used.len(), 1, "{used:?}");
    let (done, said) = project.tries(&commit);
    assert!(!done && said.contains("I-7"), "{said}");
}

#[test]
fn rules_that_nobody_understands_allow_nothing() {
    let project = Project::on_branch();
    project.write(".portolan/guidelines.yaml", "integration: [main\n");
    let said = project.edit("claude-code", "a.txt");
    assert!(said.is_denied() && said.stdout.contains("guidelines.yaml"), "{said:?}");
    project.write(".portolan/guidelines.yaml", "workflow: {integrationBranches: [trunk]}\n");
    project.write(".portolan/flow.json", "oops");
    let said = project.edit("claude-code", "ab.txt");
    assert!(said.is_denied(), "{said:?}");
}
