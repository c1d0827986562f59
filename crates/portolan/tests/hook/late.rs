//! A git that does not answer, and what is noticed after a call.

use std::fs::OpenOptions;

use serde_json::Value;

use crate::git::Clone;
use crate::support::{HOSTS, Project, after};

#[test]
fn a_git_that_never_answers_allows_nothing() {
    let project = Project::on_branch();
    let fifo = project.beside("fifo");
    assert!(project.program("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    project.shadow("git", &format!("#!/bin/sh\nread -r x < '{}'\n", fifo.display()));
    // What the alias stands for cannot be asked.
    let said = project.shell("claude-code", "git frobnicate && git commit -m 'feat: x'");
    assert!(!said.is_allowed(), "{said:?}");
}

fn ended(project: &Project, host: &str, line: &str) -> String {
    let call = project.runs(host, line);
    project.hook(host, after(host), call.to_string().as_bytes()).stdout
}

#[test]
fn files_that_a_script_changes_on_main_are_noticed() {
    let project = Project::new();
    project.write("build.sh", "#!/bin/sh\n");
    for (nth, (host, ..)) in HOSTS.into_iter().enumerate() {
        let line = format!("./build.sh {host}");
        assert!(project.shell(host, &line).is_allowed());
        project.write("a.txt", &"changed\n".repeat(nth + 2));
        let said = ended(&project, host, &line);
        assert!(said.contains("changed tracked files while `main`"), "{host}: {said}");
    }
    let late = project.events("flow.guard.block");
    assert!(late.iter().all(|line| line["data"]["late"] == true) && late.len() == HOSTS.len(), "{late:?}");
}

#[test]
fn what_a_script_leaves_alone_is_not_noticed() {
    let project = Project::new();
    project.write("a.txt", "changed before\n");
    assert!(project.shell("codex", "./build.sh").is_allowed());
    project.write("target/x", "ignored");
    project.write("new.txt", "nobody tracks it");
    assert!(!ended(&project, "codex", "./build.sh").contains("changed"));
    project.git("switch -q -c feat/1-x");
    assert!(project.shell("codex", "./build.sh again").is_allowed());
    project.write("a.txt", "on a branch\n");
    assert!(!ended(&project, "codex", "./build.sh again").contains("changed"));
    assert!(project.events("flow.guard.block").is_empty());
}

#[test]
fn who_only_reads_is_not_looked_after() {
    let project = Project::new();
    assert!(project.shell("claude-code", "cat a.txt | head").is_allowed());
    project.write("a.txt", "a person changes it meanwhile\n");
    assert!(!ended(&project, "claude-code", "cat a.txt | head").contains("changed"));
}

#[test]
fn a_main_that_a_script_moves_is_noticed() {
    let project = Project::on_branch();
    assert!(project.shell("claude-code", "./build.sh").is_allowed());
    project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: x"]);
    project.git("branch -q -f main HEAD");
    let said: Value = serde_json::from_str(&ended(&project, "claude-code", "./build.sh")).expect("JSON");
    assert_eq!(said["decision"], "block");
    assert!(said["reason"].as_str().is_some_and(|reason| reason.contains("moved `main`")), "{said}");
}

#[test]
fn hooks_that_were_changed_are_told_once() {
    let project = Project::on_branch();
    project.portolan("install git --yes");
    project.portolan("install claude-code --yes");
    assert!(project.edit("claude-code", "a.txt").stdout.is_empty());
    project.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    let said = project.edit("claude-code", "bc.txt");
    assert!(said.is_allowed() && said.stdout.contains("are not those that were installed"), "{said:?}");
    assert!(project.edit("claude-code", "def.txt").stdout.is_empty(), "once is enough");
    project.git("config core.hooksPath /nowhere");
    let said = project.edit("claude-code", "ghij.txt");
    assert!(said.is_allowed() && said.stdout.contains("`core.hooksPath` points git to `/nowhere`"), "{said:?}");
    let found: Vec<Value> =
        project.events("flow.guard.tamper").iter().map(|line| line["data"]["what"].clone()).collect();
    assert_eq!(found, ["hook", "core.hooksPath"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_push_past_the_hooks_is_on_record_and_told() {
    let clone = Clone::new();
    let project = &clone.project;
    project.git("switch -q -c feat/1-x");
    project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: x (#1)"]);
    assert!(project.shell("claude-code", "./build.sh").is_allowed());
    let (_, said) = project.tries(&["push", "-q", "--no-verify", "origin", "HEAD:main"]);
    assert!(said.contains("a push has already moved `main` of `origin`"), "{said}");
    let said: Value = serde_json::from_str(&ended(project, "claude-code", "./build.sh")).expect("JSON");
    assert_eq!(said["decision"], "block");
    assert!(said["reason"].as_str().is_some_and(|reason| reason.contains("a push has already moved `main`")), "{said}");
    let late = project.events("flow.guard.block");
    assert!(late.iter().any(|line| line["data"]["pushed"] == "main" && line["data"]["late"] == true), "{late:?}");
    // Once is enough.
    assert!(project.shell("claude-code", "./build.sh again").is_allowed());
    assert!(!ended(project, "claude-code", "./build.sh again").contains("a push has already moved"));
}

#[test]
fn what_nobody_could_put_on_record_is_noticed_again() {
    let project = Project::on_branch();
    assert!(project.shell("claude-code", "./build.sh").is_allowed());
    project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: x"]);
    project.git("branch -q -f main HEAD");
    let log = project.path().join(".portolan/flow-events.jsonl.lock");
    let held = OpenOptions::new().write(true).open(log).expect("the lock");
    held.lock().expect("nobody has it");
    assert!(ended(&project, "claude-code", "./build.sh").contains("moved `main`"), "it is told in any case");
    drop(held);
    assert!(project.events("flow.guard.block").is_empty());
    assert!(project.shell("claude-code", "./build.sh again").is_allowed());
    assert!(ended(&project, "claude-code", "./build.sh again").contains("moved `main`"));
    let late = project.events("flow.guard.block");
    assert!(late.iter().all(|line| line["data"]["late"] == true) && late.len() == 1, "{late:?}");
}
