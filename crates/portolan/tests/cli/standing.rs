//! `portolan` alone.

use expect_test::expect;
use serde_json::Value;

use crate::support::Project;

fn json(project: &Project) -> Value {
    let said = project.says("--format json");
    let end = said.rfind("exit: 0").unwrap_or_else(|| panic!("{said}"));
    serde_json::from_str(&said[..end]).expect("it is JSON")
}

fn next(standing: &Value) -> Vec<&str> {
    let next = standing["next"].as_array().into_iter().flatten();
    next.filter_map(|next| next["command"].as_str()).collect()
}

#[test]
fn somebody_new_is_told_how_to_begin() {
    let project = Project::new();
    let said = project.says_to(&[]);
    let (_, said) = said.split_once('\n').expect("the first line names the folder");
    expect![[r#"
        workflows  none of its own; `portolan catalog list` lists others
        checks     none in `.portolan/checks.yaml`
        hooks      none
        task       none
        open runs  none

        next:
          portolan init                            find what the project checks
          portolan install claude-code             have your coding agent ask before it acts
          portolan runs start feature-development  start a run, then let your agent continue
        stderr: `portolan --help` lists the commands
        exit: 0
    "#]]
    .assert_eq(said);
    assert!(!project.path().join(".portolan").exists(), "to look changes nothing");
}

#[test]
fn what_waits_for_a_person_comes_first() {
    let mut project = Project::small();
    project.run("small", "passed failed passed failed");
    let standing = json(&project);
    assert_eq!(standing["runs"][0]["status"], "waiting", "{standing:#}");
    assert_eq!(next(&standing)[0], "portolan runs answer <run1>", "{standing:#}");
    assert_eq!(standing["workflows"], serde_json::json!(["small"]));
    assert!(project.says_to(&[]).contains("  <run1>  waiting  small"), "{}", project.says_to(&[]));
}

#[test]
fn what_is_done_is_not_asked_for_again() {
    let project = Project::new();
    project.write("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    assert!(next(&json(&project)).contains(&"portolan init"));
    project.says("init --yes");
    let standing = json(&project);
    assert!(!next(&standing).contains(&"portolan init"), "{standing:#}");
    assert_eq!(standing["checksAllowed"], false);
    project.says("trust .portolan/checks.yaml");
    let installed = project.says("install claude-code --yes");
    assert!(installed.ends_with("exit: 0\n"), "{installed}");
    let standing = json(&project);
    assert_eq!((&standing["checksAllowed"], &standing["hooks"][0]), (&Value::Bool(true), &Value::from("claude-code")));
    assert_eq!(next(&standing), ["portolan runs start feature-development"], "{standing:#}");
}
