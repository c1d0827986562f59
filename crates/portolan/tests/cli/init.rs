//! `portolan init`, the first command in a project.

use expect_test::expect;
use serde_json::{Value, json};

use crate::people::{at_terminal, become_host};
use crate::support::Project;

const FILE: &str = ".portolan/checks.yaml";

/// A project of Node.js whose files suggest three checks, one of them twice.
fn project() -> Project {
    let project = Project::new();
    project.write("package.json", r#"{ "scripts": { "test": "node --test", "lint": "eslint ." } }"#);
    project.write("Makefile", "test:\n\tnpm test\n");
    project
}

fn checks(project: &Project) -> Option<String> {
    std::fs::read_to_string(project.path().join(FILE)).ok()
}

#[test]
fn what_would_be_written_is_shown_and_nobody_is_taken_to_agree() {
    let project = project();
    expect![[r#"
        lint   npm run lint  package.json
        tests  make test     Makefile
          or   npm run test  package.json
        to be written into `.portolan/checks.yaml`: `lint` and `tests`
        stderr: error: these changes must be confirmed, but there is no terminal to ask at
        stderr: help: use `--yes`, or run it in a terminal
        exit: 2
    "#]]
    .assert_eq(&project.says("init"));
    assert_eq!(checks(&project), None);
    let told = project.says("init --format json");
    assert!(told.contains("\"written\": false") && told.ends_with("exit: 2\n"), "{told}");
    assert_eq!(checks(&project), None);
}

#[test]
fn checks_are_written_once_and_allowed_by_a_person() {
    let project = project();
    expect![[r#"
        lint   npm run lint  package.json
        tests  make test     Makefile
          or   npm run test  package.json
        to be written into `.portolan/checks.yaml`: `lint` and `tests`
        written into `.portolan/checks.yaml`
        next:
          portolan trust .portolan/checks.yaml     allow these commands; only a person may
          portolan install claude-code             have your coding agent ask before it acts; `--help` lists other agents
          portolan show feature-development        see what checks the steps of a workflow
          portolan runs start feature-development  start it, then let your agent continue
        exit: 0
    "#]]
    .assert_eq(&project.says("init --yes"));
    expect![[r#"
        # The checks of this project. A step that needs a check that is not listed here asks a person;
        # `name: none` says that the project has no such check.
        checks:
          lint: {run: [npm, run, lint]} # package.json
          tests: {run: [make, test]} # Makefile
    "#]]
    .assert_eq(&checks(&project).expect("it is there"));
    let before = checks(&project);
    expect![[r#"
        lint   npm run lint  package.json
        tests  make test     Makefile
          or   npm run test  package.json
        `.portolan/checks.yaml` already has `lint` and `tests`; existing entries are kept
        next:
          portolan trust .portolan/checks.yaml     allow these commands; only a person may
          portolan install claude-code             have your coding agent ask before it acts; `--help` lists other agents
          portolan show feature-development        see what checks the steps of a workflow
          portolan runs start feature-development  start it, then let your agent continue
        exit: 0
    "#]]
    .assert_eq(&project.says("init"));
    project.says("trust .portolan/checks.yaml");
    let again = project.says("init --yes");
    assert!(!again.contains("portolan trust") && again.ends_with("exit: 0\n"), "{again}");
    assert_eq!(checks(&project), before, "it says something of each");
}

#[test]
fn a_person_at_a_terminal_is_asked_both() {
    let project = project();
    let refused = at_terminal(&project, "n", "init");
    assert!(refused.contains("[y/N] n") && refused.contains("portolan init --yes"), "{refused}");
    assert_eq!(checks(&project), None);
    expect![[r#"
        lint   npm run lint  package.json
        tests  make test     Makefile
          or   npm run test  package.json
        to be written into `.portolan/checks.yaml`: `lint` and `tests`
        Write these checks into `.portolan/checks.yaml`? [y/N] y
        written into `.portolan/checks.yaml`
          lint: npm run lint
          tests: make test
        Allow the commands of `.portolan/checks.yaml` to run in this project? [y/N] y
        .portolan/checks.yaml: these commands may run in this project
          check/lint: npm run lint  (at most 600 s)
          check/tests: make test  (at most 600 s)
        next:
          portolan install claude-code             have your coding agent ask before it acts; `--help` lists other agents
          portolan show feature-development        see what checks the steps of a workflow
          portolan runs start feature-development  start it, then let your agent continue
        exit: 0
    "#]]
    .assert_eq(&at_terminal(&project, "y|y", "init"));
    assert!(project.says("checks list --format json").contains("\"trusted\": true"));
}

#[test]
fn nobody_below_an_agent_is_asked_whether_commands_may_run() {
    let project = project();
    become_host(&project);
    let told = at_terminal(&project, "y", "init");
    assert!(told.contains("written into") && told.contains("portolan trust .portolan/checks.yaml"), "{told}");
    assert!(project.says("checks list --format json").contains("\"trusted\": false"));
}

#[test]
fn what_is_there_stays() {
    let project = project();
    project.write(FILE, "# ours\nchecks:\n  tests: {run: [sh, test.sh], timeout: 2m} # by hand\n");
    expect![[r#"
        lint   npm run lint  package.json
        tests  make test     Makefile
          or   npm run test  package.json
        to be written into `.portolan/checks.yaml`: `lint`
        `.portolan/checks.yaml` already has `tests`; existing entries are kept
        written into `.portolan/checks.yaml`
        next:
          portolan trust .portolan/checks.yaml     allow these commands; only a person may
          portolan install claude-code             have your coding agent ask before it acts; `--help` lists other agents
          portolan show feature-development        see what checks the steps of a workflow
          portolan runs start feature-development  start it, then let your agent continue
        exit: 0
    "#]]
    .assert_eq(&project.says("init --yes"));
    expect![[r#"
        # ours
        checks:
          tests: {run: [sh, test.sh], timeout: 2m} # by hand
          lint: {run: [npm, run, lint]} # package.json
    "#]]
    .assert_eq(&checks(&project).expect("it is there"));
    // Nothing can be put behind it: it is left as it is.
    project.write(FILE, "{checks: {docs: none}}");
    assert!(project.says("init --yes").ends_with("exit: 2\n"));
    assert_eq!(checks(&project).as_deref(), Some("{checks: {docs: none}}"));
    project.write(FILE, "checks: [tests]\n");
    assert!(project.says("init --yes").ends_with("exit: 3\n"));
    assert_eq!(checks(&project).as_deref(), Some("checks: [tests]\n"));
}

#[test]
fn a_project_that_suggests_nothing_is_told_what_comes_next() {
    let project = Project::new();
    expect![[r#"
        no file here suggests a check; write checks into `.portolan/checks.yaml` by hand
        next:
          portolan install claude-code             have your coding agent ask before it acts; `--help` lists other agents
          portolan show feature-development        see what checks the steps of a workflow
          portolan runs start feature-development  start it, then let your agent continue
        exit: 0
    "#]]
    .assert_eq(&project.says("init"));
    assert_eq!(checks(&project), None);
}

#[test]
fn programs_are_told_the_same() {
    let project = project();
    let told = project.says("init --yes --format json");
    let told: Value = serde_json::from_str(told.trim_end_matches("exit: 0\n")).expect("it is JSON");
    assert_eq!((&told["written"], &told["trusted"], &told["present"]), (&json!(true), &json!(false), &json!([])));
    let tests = told["found"].as_array().expect("an array").iter().find(|one| one["check"] == "tests");
    assert_eq!(tests.expect("it is found")["run"], json!(["make", "test"]));
    assert_eq!(told["next"][0], "portolan trust .portolan/checks.yaml");
}
