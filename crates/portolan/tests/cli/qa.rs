//! `portolan qa`, and what it takes to let it run commands, over real repositories.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use expect_test::expect;

use crate::support::Project;

const CHECK: &str = "#!/bin/sh\n[ \"$1\" = --version ] && exec echo 1.0\nif grep -q wrong a.rs; then echo looking\necho 'error: it is wrong'\nexit 1\nfi\n";

/// A repository on a branch for issue 42, whose type checker is a script of its own.
fn project() -> Project {
    let project = Project::new();
    project.write("check", CHECK);
    let script = project.path().join("check");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).expect("it may run");
    project.write("a.rs", "right\n");
    project
        .write(".portolan/guidelines.yaml", "typecheck: {commands: [[./check, all]]}\nissues: {provider: offline}\n");
    project.write(".portolan/.gitignore", "*\n!/guidelines.yaml\n");
    git(&project, "init --quiet --initial-branch=main");
    git(&project, "add --all");
    git(&project, "commit --quiet --message chore:%20begin");
    git(&project, "checkout --quiet -b feat/42-auth");
    project
}

fn git(project: &Project, line: &str) {
    let words = line.split_whitespace().map(|word| word.replace("%20", " "));
    let mut git = Command::new("git");
    git.args(words).current_dir(project.path());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "ann").env(format!("GIT_{role}_EMAIL"), "ann@example.com");
        git.env(format!("GIT_{role}_DATE"), "2026-01-01T00:00:00Z");
    }
    let done = git.output().expect("git is there");
    assert!(done.status.success(), "git {line}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn the_checks_are_listed() {
    let project = Project::new();
    expect![[r#"
        typecheck                 I-6   the type check passes now; its verdict is kept for exactly this content
        trackingIssueExists       I-3   the issue exists and is open
        branchMatchesPrefix       I-4   HEAD is on the branch, and the name of the branch follows the rules
        specFileExistsIfRequired  I-5   there is a specification if one is required
        typecheckPasses           I-6   the type check has passed for exactly this content
        conventionalCommitFormat  I-7   each commit of the branch is a Conventional Commit
        treeIsSettled             -     nothing is unmerged, and nothing is left uncommitted
        commitsReferenceIssue     I-8   each commit of the branch names the issue
        prOpenedBeforeIdle        I-9   the pull request is open and has these commits
        pull-request              I-9   the pull request is open, has these commits and no conflicts, and its checks have passed
        pullRequestMerged         I-9   the pull request is merged
        noTampering               -     the guards are unchanged since they were installed, and nothing has circumvented them
        removalsMatchIntent       I-10  what the branch removes matches what it says it removes
        exit: 0
    "#]]
    .assert_eq(&project.says("qa list"));
    assert!(project.says("qa list --format json").contains("\"check\": \"typecheck\""));
    expect![[r#"
        stderr: error: there is no check `typechek`
        stderr: help: did you mean `typecheck`? `portolan qa list` lists them all
        exit: 2
    "#]]
    .assert_eq(&project.says("qa typechek"));
}

#[test]
fn the_type_check_runs_once_a_person_allowed_it() {
    let project = project();
    expect![[r#"
        cannot verify: `./check all` is not allowed to run in this project yet; ask a person to run `portolan trust --typecheck`
        exit: 3
    "#]]
    .assert_eq(&project.says("qa typecheck"));
    expect![[r#"
        .portolan/guidelines.yaml: these commands may run in this project
          typecheck/1: ./check all  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .portolan/guidelines.yaml"));
    expect![[r#"
        holds: `./check all` passed on exactly these files
        exit: 0
    "#]]
    .assert_eq(&project.says("qa typecheck"));
    project.write("a.rs", "wrong\n");
    expect![[r#"
        fails: `./check all` failed: `error: it is wrong`; fix it and run `portolan qa typecheck`
        stderr: looking
        stderr: error: it is wrong
        exit: 1
    "#]]
    .assert_eq(&project.says("qa typecheck"));
    expect![[r#"
        {
          "standing": "fails",
          "code": "typecheck-failed",
          "reason": "`./check all` failed: `error: it is wrong`; fix it and run `portolan qa typecheck`"
        }
        exit: 1
    "#]]
    .assert_eq(&project.says("qa typecheckPasses --format json"));
    project.write("a.rs", "right again\n");
    git(&project, "add --all");
    project.write("a.rs", "right\n");
    expect![[r#"
        holds: `./check all` passed on exactly these files
        stderr: note: the staged content is not what was checked: the files have further changes; stage or stash them
        exit: 0
    "#]]
    .assert_eq(&project.says("qa typecheck"));
    expect![[r#"
        .portolan/guidelines.yaml: these commands may no longer run
          typecheck/1: ./check all  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --typecheck --revoke"));
    project.write("a.rs", "right and new\n");
    assert!(project.says("qa typecheck").ends_with("exit: 3\n"));
}

#[test]
fn what_files_suggest_is_allowed_by_name() {
    let project = project();
    project.write(".portolan/guidelines.yaml", "strict: true\n");
    expect![[r#"
        holds: no type checker is configured, and the project's files suggest none
        exit: 0
    "#]]
    .assert_eq(&project.says("qa typecheck"));
    expect![[r#"
        .portolan/guidelines.yaml: it runs no commands, so there is nothing to trust
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --typecheck"));
    project.write("go.mod", "module x\n");
    expect![[r#"
        cannot verify: `go build -o /dev/null ./... && go vet ./...` is not allowed to run in this project yet; ask a person to run `portolan trust --typecheck`
        exit: 3
    "#]].assert_eq(&project.says("qa typecheck"));
    expect![[r#"
        .portolan/guidelines.yaml: it runs no commands, so there is nothing to trust; `portolan trust --typecheck` allows what the project's files suggest
        exit: 0
    "#]].assert_eq(&project.says("trust .portolan/guidelines.yaml"));
    expect![[r#"
        go.mod: these commands may run in this project
          typecheck/1: go build -o /dev/null ./...  (at most 600 s)
          typecheck/2: go vet ./...  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --typecheck"));
    project.write(".portolan/guidelines.yaml", "strikt: true\n");
    expect![[r#"
        stderr: error[unknown-field]: the file has a field `strikt`, which has no meaning here
        stderr:  --> .portolan/guidelines.yaml:1:1
        stderr:   |
        stderr: 1 | strikt: true
        stderr:   | ^^^^^^
        stderr:   |
        stderr: help: did you mean `strict`?
        stderr: 
        stderr: error: `.portolan/guidelines.yaml` has 1 error
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("trust --typecheck"));
    expect![[r#"
        stderr: error: the rules of the project have faults: .portolan/guidelines.yaml:1:1: the file has a field `strikt`, which has no meaning here (did you mean `strict`?)
        stderr: help: fix them; `portolan check .portolan/guidelines.yaml` shows where each one is
        exit: 3
    "#]].assert_eq(&project.says("qa typecheck"));
}

#[test]
fn claims_are_given_or_told_by_the_branch() {
    let project = project();
    project.write("a.rs", "more\n");
    git(&project, "commit --quiet --all --message feat:%20more%20(#42)");
    for (line, exit) in [
        ("branchMatchesPrefix", 0),
        ("branchMatchesPrefix --branch main", 1),
        ("commitsReferenceIssue", 0),
        ("commitsReferenceIssue --issue 43", 1),
        ("conventionalCommitFormat", 0),
        ("trackingIssueExists", 0),
        ("specFileExistsIfRequired", 0),
        ("prOpenedBeforeIdle", 1),
        ("branchMatchesPrefix --branch -x", 2),
        ("trackingIssueExists --issue x", 2),
        ("treeIsSettled", 0),
    ] {
        let said = project.says(&format!("qa {line}"));
        assert!(said.ends_with(&format!("exit: {exit}\n")), "{line}: {said}");
    }
    expect![[r#"
        fails: ddc8b496f7 `feat: more (#42)`: name the issue: `Refs #43`
        exit: 1
    "#]]
    .assert_eq(&project.says("qa commitsReferenceIssue --issue 43"));
}

#[test]
fn outside_of_a_repository_nothing_can_be_verified() {
    let project = Project::new();
    expect![[r#"
        cannot verify: the project is not in a git repository; run `git init`
        exit: 3
    "#]]
    .assert_eq(&project.says("qa branchMatchesPrefix"));
}
