//! `portolan checks`, and steps that ask for a check of the project.

use std::process::{Child, Stdio};

use expect_test::expect;
use portolan_runtime::service::{ErrorKind, Request};
use serde_json::{Value, json};

use crate::calls::Calls;
use crate::pair::{Pair, SCRIPT};
use crate::support::{Project, address, reported};

/// A step that wants the tests to hold, and what else the project documents.
const WANTED: &str = r#"{ "nodes": { "start": { "type": "start" },
  "work": { "type": "task", "accept": [{ "check": "tests" }, { "id": "written", "check": "docs" }] },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "work" }, { "from": "work", "to": "done" }] }
"#;

/// A repository whose check `tests` holds where the file `ok` is there; it notes each time that it is run.
fn project() -> Project {
    let project = Project::new();
    project.write(".flow/workflows/wanted.json", WANTED);
    project.write("test.sh", "#!/bin/sh\necho run >> ../runs\ntest -f ok || { echo two tests fail; exit 1; }\n");
    project.write(".portolan/checks.yaml", "checks:\n  tests: {run: [sh, test.sh]}\n  docs: none\n");
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(project.path()).status();
    assert!(git.expect("git is there").success());
    project
}

/// How often the check was run.
fn runs(project: &Project) -> usize {
    std::fs::read_to_string(project.path().join("../runs")).unwrap_or_default().lines().count()
}

/// What becomes of the agent's report at the present position.
fn reports(project: &Project, run: &str, outcome: &str) -> String {
    let view = project.agent(async |service, me| {
        let view = service.view(&Request::of(address(run)), me).await?;
        service.next(&reported(&view, outcome), me).await
    });
    match view {
        Ok(view) => format!("{} {:?}", view.current_step, view.situation.state),
        Err(error) => format!("refused {}: {}", error.code, error.message),
    }
}

#[test]
fn a_step_passes_when_the_checks_of_the_project_hold() {
    let mut project = project();
    let run = project.run("wanted", "");
    expect!["refused not_trusted: leaving `work` requires commands that are not trusted yet"]
        .assert_eq(&reports(&project, &run, "passed"));
    assert!(project.says(&format!("runs show {run}")).contains("run `portolan trust .portolan/checks.yaml`"));
    expect![[r#"
        .portolan/checks.yaml: these commands may run in this project
          check/docs: none
          check/tests: sh test.sh  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .portolan/checks.yaml"));
    expect!["work Working"].assert_eq(&reports(&project, &run, "passed"));
    assert_eq!(runs(&project), 1);
    project.write("ok", "");
    expect![[r#"
        docs holds: this project has no `docs`, according to `.portolan/checks.yaml`
        tests holds
        stderr: docs …
        stderr: tests …
        exit: 0
    "#]]
    .assert_eq(&project.says("checks run"));
    assert_eq!(runs(&project), 2);
    expect!["done Ended"].assert_eq(&reports(&project, &run, "passed"));
    assert_eq!(runs(&project), 2, "what held for the same content is not run again");
    expect![[r#"
           1  <time>  agent tester opened `wanted`
           2  <time>  agent tester began → now at `work`
           3  <time>  agent tester reported passed → checks of `work`
           4  <time>  portolan checked `tests` of `work`: it did not hold: `sh test.sh` did not pass: two tests fail
           5  <time>  portolan checked `written` of `work`: it held: this project has no `docs`, according to `.portolan/checks.yaml` → retry 1 of 3 for `work`, now at `work`
           6  <time>  agent tester reported passed → checks of `work`
           7  <time>  portolan checked `tests` of `work`: it held
           8  <time>  portolan checked `written` of `work`: it held: this project has no `docs`, according to `.portolan/checks.yaml` → budget of `work` refilled, now at `done`
           9  <time>  portolan went on → ended at `done`: success
        exit: 0
    "#]].assert_eq(&project.says(&format!("runs events {run}")));
}

#[test]
fn what_the_project_does_not_say_a_person_is_asked_and_no_agent() {
    let mut project = project();
    project.write(".portolan/checks.yaml", "checks:\n  tests: {run: [\"true\"]}\n");
    project.says("trust .portolan/checks.yaml");
    let run = project.run("wanted", "");
    expect!["work Waiting"].assert_eq(&reports(&project, &run, "passed"));
    expect!["refused needs_person: `work` asks a person, and an answer from an agent does not count here"]
        .assert_eq(&reports(&project, &run, "passed"));
    expect![[r#"
        <run1> · wanted · work · waiting for a person

        ## HITL

        `work` was reported as passed. Is that correct? `written`: the project does not say how `docs` is checked; a person must add it to `.portolan/checks.yaml`, or `docs: none` if there is no such check

        A person must decide, and your own answer does not count.
        → Call Next(passed): the person is asked in your client's dialog.

        answer  the person answers `work`: passed, continue at `done`  portolan runs answer <run1> passed
        answer  the person answers `work`: failed                      portolan runs answer <run1> failed
        exit: 4
    "#]].assert_eq(&project.says(&format!("runs show {run}")));
    expect![[r#"
        <run1> · wanted · done · ended

        ## Complete

        The run is complete. Nothing is left to do.
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs answer {run} passed")));
}

#[test]
fn a_command_that_changes_is_asked_for_anew_and_one_that_changes_files_does_not_count() {
    let mut project = project();
    project.says("trust .portolan/checks.yaml");
    project.write(".portolan/checks.yaml", "checks:\n  tests: {run: [sh, -c, \"date >> noted\"]}\n  docs: none\n");
    let run = project.run("wanted", "");
    assert!(reports(&project, &run, "passed").starts_with("refused not_trusted"));
    project.says("trust .portolan/checks.yaml");
    let refused = reports(&project, &run, "passed");
    expect!["work Working"].assert_eq(&refused);
    expect![[r#"
        tests cannot verify: the files changed while `sh -c date >> noted` ran; run `portolan checks run` again, and make git ignore the files it writes
        stderr: tests …
        exit: 3
    "#]].assert_eq(&project.says("checks run tests"));
}

/// Two of `portolan checks run` at the same time, which are told to end so, the second first; and what both say.
fn at_once(project: &Project, pair: &Pair, lines: [&str; 2]) -> [String; 2] {
    let run = || {
        let mut command = project.command(&["checks", "run", "tests", "--again"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    };
    let first = run();
    pair.begun(1);
    let second = run();
    pair.begun(2);
    let told = |child: Child| project.output_text(&child.wait_with_output().expect("it ends"));
    pair.go(2, lines[1]);
    let second = told(second);
    pair.go(1, lines[0]);
    [told(first), second]
}

#[test]
fn two_that_run_the_same_check_at_once_both_say_what_came_of_it() {
    let project = project();
    project.write("test.sh", SCRIPT);
    project.says("trust .portolan/checks.yaml");
    let pair = Pair::beside(&project.path());
    let kept = || std::fs::read_dir(project.path().join(".portolan/verdicts")).map_or(0, Iterator::count);
    let said = at_once(&project, &pair, ["exit 0", "echo more > new.txt"]);
    for said in said {
        assert!(said.starts_with("tests cannot verify: the files changed while"), "{said}");
    }
    assert_eq!(kept(), 0);
    for (lines, exits) in
        [(["exit 0", "exit 0"], [0, 0]), (["exit 0", "exit 5"], [0, 1]), (["exit 5", "exit 0"], [1, 0])]
    {
        pair.anew();
        let said = at_once(&project, &pair, lines);
        for (said, exit) in said.iter().zip(exits) {
            assert!(said.ends_with(&format!("exit: {exit}\n")), "{lines:?}: {said}");
        }
        assert_eq!(kept(), 1);
        // What the last to end has said is what is known.
        let known = project.says("checks list").contains("held at");
        assert_eq!(known, exits[0] == 0, "{lines:?}");
    }
    assert_eq!(pair.ran(), 8);
}

#[test]
fn that_there_is_no_such_check_counts_when_a_person_has_trusted_it() {
    let mut project = project();
    project.write(".portolan/checks.yaml", "checks:\n  tests: none\n  docs: none\n");
    let run = project.run("wanted", "");
    assert!(reports(&project, &run, "passed").starts_with("refused not_trusted"), "an agent may have written it");
    expect![[r#"
        docs cannot verify: what `.portolan/checks.yaml` says has not been trusted yet; a person must run `portolan trust .portolan/checks.yaml`
        stderr: docs …
        exit: 3
    "#]].assert_eq(&project.says("checks run docs"));
    expect![[r#"
        .portolan/checks.yaml: these commands may run in this project
          check/docs: none
          check/tests: none
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .portolan/checks.yaml"));
    assert_eq!(reports(&project, &run, "passed"), "done Ended");
}

#[test]
fn outside_of_a_repository_a_check_is_run_each_time() {
    let mut project = project();
    std::fs::remove_dir_all(project.path().join(".git")).expect("it was there");
    project.write("ok", "");
    project.says("trust .portolan/checks.yaml");
    expect![[r#"
        tests holds
        stderr: tests …
        exit: 0
    "#]]
    .assert_eq(&project.says("checks run tests"));
    let run = project.run("wanted", "");
    assert_eq!(reports(&project, &run, "passed"), "done Ended");
    assert_eq!(runs(&project), 2);
}

#[test]
fn what_the_files_suggest_is_found_shown_and_written_once() {
    let project = Project::new();
    expect![[r#"
        no file here suggests a check; write checks into `.portolan/checks.yaml` by hand
        exit: 0
    "#]]
    .assert_eq(&project.says("checks detect"));
    project.write("Cargo.toml", "[package]\n");
    project.write("Makefile", "test:\n\ttrue\n");
    project.write(".github/workflows/ci.yml", "      - run: make test\n");
    expect![[r#"
        build      cargo build --workspace --all-targets                  Cargo.toml
        typecheck  cargo check --workspace --all-targets                  Cargo.toml
        lint       cargo clippy --workspace --all-targets -- -D warnings  Cargo.toml
        format     cargo fmt --all --check                                Cargo.toml
        tests      make test                                              Makefile
          or       cargo test --workspace                                 Cargo.toml
        docs       cargo doc --workspace --no-deps                        Cargo.toml
        run `portolan checks detect --write` to write the first suggestion for each check into `.portolan/checks.yaml`
        stderr: see also .github/workflows/ci.yml: make test
        exit: 0
    "#]]
    .assert_eq(&project.says("checks detect"));
    project.write(".portolan/checks.yaml", "checks:\n  docs: none\n");
    expect![[r#"
        build      cargo build --workspace --all-targets                  Cargo.toml
        typecheck  cargo check --workspace --all-targets                  Cargo.toml
        lint       cargo clippy --workspace --all-targets -- -D warnings  Cargo.toml
        format     cargo fmt --all --check                                Cargo.toml
        tests      make test                                              Makefile
          or       cargo test --workspace                                 Cargo.toml
        docs       cargo doc --workspace --no-deps                        Cargo.toml
        written into `.portolan/checks.yaml`; review it, then run `portolan trust .portolan/checks.yaml`
        stderr: see also .github/workflows/ci.yml: make test
        exit: 0
    "#]]
    .assert_eq(&project.says("checks detect --write"));
    expect![[r#"
        checks:
          docs: none
          build: {run: [cargo, build, --workspace, --all-targets]} # Cargo.toml
          typecheck: {run: [cargo, check, --workspace, --all-targets]} # Cargo.toml
          lint: {run: [cargo, clippy, --workspace, --all-targets, "--", "-D", warnings]} # Cargo.toml
          format: {run: [cargo, fmt, --all, --check]} # Cargo.toml
          tests: {run: [make, test]} # Makefile
    "#]]
    .assert_eq(&std::fs::read_to_string(project.path().join(".portolan/checks.yaml")).expect("it is there"));
    expect![[r#"
        build      cargo build --workspace --all-targets                  not trusted
        docs       none                                                   not trusted
        format     cargo fmt --all --check                                not trusted
        lint       cargo clippy --workspace --all-targets -- -D warnings  not trusted
        tests      make test                                              not trusted
        typecheck  cargo check --workspace --all-targets                  not trusted
        a person must review them and run `portolan trust .portolan/checks.yaml`
        exit: 0
    "#]]
    .assert_eq(&project.says("checks list"));
    let told = project.says("checks detect --format json");
    let told: Value = serde_json::from_str(told.trim_end_matches("exit: 0\n")).expect("it is JSON");
    assert_eq!(
        told["found"][4],
        json!({ "check": "tests", "run": ["make", "test"], "file": "Makefile", "proposed": true })
    );
    assert_eq!((&told["found"][5]["proposed"], &told["written"]), (&json!(false), &json!(false)));
    project.write(".portolan/checks.yaml", "{checks: {docs: none}}");
    expect![[r#"
        stderr: error: `.portolan/checks.yaml` is written in a form that checks cannot be appended to
        stderr: help: add the checks that `portolan checks detect` shows by hand, or write one check per line below `checks:`
        exit: 2
    "#]]
    .assert_eq(&project.says("checks detect --write"));
}

#[test]
fn what_cannot_be_understood_is_told_in_its_place() {
    let project = Project::new();
    expect![[r#"
        `.portolan/checks.yaml` has no checks; `portolan checks detect` finds what the project's files suggest
        exit: 0
    "#]]
    .assert_eq(&project.says("checks list"));
    expect![[r#"
        stderr: error: `.portolan/checks.yaml` has no checks
        stderr: help: `portolan checks detect` finds what the project's files suggest
        exit: 2
    "#]]
    .assert_eq(&project.says("checks run"));
    expect![[r#"
        stderr: error: there is no check `tests`
        stderr: help: the project does not say how `tests` is checked; a person must add it to `.portolan/checks.yaml`, or `tests: none` if there is no such check
        exit: 2
    "#]].assert_eq(&project.says("checks run tests"));
    project.write(".portolan/checks.yaml", "checks:\n  Tests: none\n  docs: perhaps\n");
    expect![[r#"
        stderr: error[bad-check]: `Tests` cannot be the name of a check
        stderr:  --> .portolan/checks.yaml:2:3
        stderr:   |
        stderr: 2 |   Tests: none
        stderr:   |   ^^^^^
        stderr:   |
        stderr: help: write up to 64 small letters, digits, `-` and `_`, as in `unit-tests`
        stderr: 
        stderr: error[bad-check]: check `docs` is neither a command nor `none`
        stderr:  --> .portolan/checks.yaml:3:9
        stderr:   |
        stderr: 3 |   docs: perhaps
        stderr:   |         ^^^^^^^
        stderr:   |
        stderr: help: write `{run: [program, argument]}`, or `none` if the project has no such check
        stderr: 
        stderr: error: `.portolan/checks.yaml` has 2 errors
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("checks list"));
    expect![[r#"
        stderr: error: `.portolan/checks.yaml` has faults: line 2: `Tests` cannot be the name of a check; line 3: check `docs` is neither a command nor `none`
        stderr: help: correct it; `portolan checks list` shows each fault in its place
        exit: 3
    "#]].assert_eq(&project.says("trust .portolan/checks.yaml"));
    let error = project.agent(async |service, _| portolan_runtime::project_checks::load(service.project()));
    assert_eq!(error.expect_err("it has faults").kind, ErrorKind::InvalidDefinition);
}
