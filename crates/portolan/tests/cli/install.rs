//! `portolan install` and `portolan doctor`.

use expect_test::expect;

use crate::support::Project;

/// What is said, with the path of the program replaced.
fn says(project: &Project, line: &str) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_portolan")).canonicalize().expect("the program");
    let said = project.says(line).replace(&*program.to_string_lossy(), "<program>");
    let kept = said.lines().filter(|line| !line.contains("`<program>` "));
    kept.map(|line| format!("{line}\n")).collect()
}

#[test]
fn changes_are_shown_and_nobody_is_taken_to_agree() {
    let project = Project::new();
    project.write(".codex/hooks.json", "{\n  \"hooks\": { \"Stop\": [] }\n}\n");
    expect![[""]].assert_eq(&says(&project, "install codex --print"));
    let refused = says(&project, "install codex");
    assert!(refused.ends_with("stderr: error: nobody can be asked here whether these changes are wanted\nstderr: help: give `--yes`, or run it in a terminal\nexit: 2\n"), "{refused}");
    assert!(!project.path().join(".portolan/installed.json").exists());
}

#[test]
fn an_installation_is_done_once_and_taken_back() {
    let project = Project::new();
    let done = says(&project, "install gemini --yes");
    assert!(done.contains("+++ b/.gemini/settings.json"), "{done}");
    expect![[""]].assert_eq(&says(&project, "install gemini"));
    let json = says(&project, "--format json install gemini --uninstall --yes");
    expect![[""]].assert_eq(&json);
    assert_eq!(std::fs::read_dir(project.path()).expect("a folder").count(), 0);
    expect![[""]].assert_eq(&says(&project, "doctor"));
}

#[test]
fn what_is_wrong_is_told_with_a_status() {
    let project = Project::new();
    says(&project, "install cursor --yes");
    project.write(".cursor/hooks.json", "{}");
    expect![[""]].assert_eq(&says(&project, "doctor"));
    let json = says(&project, "doctor --json");
    assert!(json.starts_with("{\n  \"good\": false,") && json.ends_with("exit: 1\n"), "{json}");
    expect![[""]].assert_eq(&says(&project, "install nobody"));
}
