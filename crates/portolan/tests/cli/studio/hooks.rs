//! Whether what was installed into git holds, as the page of the project shows it.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use expect_test::expect;

use super::Studio;
use crate::people::guarded;
use crate::support::Project;

/// What is found about git: a verdict with its reason for each hook.
fn found(project: &Project, studio: &Studio) -> String {
    let told = studio.get("/project/hooks").json();
    assert_eq!(told["installed"], true, "{told}");
    let folder = project.path().join(".git/hooks");
    let findings = told["findings"].as_array().expect("findings").iter().filter(|finding| finding["about"] == "git");
    let word = |text: &serde_json::Value| text.as_str().expect("a text").to_owned();
    let lines = findings.map(|finding| format!("{}: {}\n", word(&finding["state"]), word(&finding["message"])));
    lines.collect::<String>().replace(&*folder.to_string_lossy(), "<hooks>")
}

#[test]
fn a_hook_that_was_spoilt_is_told_with_the_reason() {
    let project = guarded();
    let studio = Studio::of(&project, &[]);
    expect![[r#"
        good: `<hooks>/pre-commit` is as it was installed
        good: `<hooks>/commit-msg` is as it was installed
        good: `<hooks>/pre-push` is as it was installed
        good: `<hooks>/reference-transaction` is as it was installed
        good: `<hooks>/post-commit` is as it was installed
        good: `<hooks>/post-checkout` is as it was installed
    "#]]
    .assert_eq(&found(&project, &studio));
    let hook = |name: &str| project.path().join(".git/hooks").join(name);
    let whole = fs::read(hook("pre-commit")).expect("it is there");
    fs::write(hook("pre-commit"), "").expect("it is ours");
    fs::set_permissions(hook("commit-msg"), Permissions::from_mode(0o644)).expect("it is ours");
    fs::remove_file(hook("pre-push")).expect("it is there");
    expect![[r#"
        wrong: `<hooks>/pre-commit` is no longer what was installed: check it, then run `portolan install git` again
        wrong: `<hooks>/commit-msg` is not executable, so git skips it: run `chmod +x <hooks>/commit-msg`
        wrong: `<hooks>/pre-push` is gone: run `portolan install git` again
        good: `<hooks>/reference-transaction` is as it was installed
        good: `<hooks>/post-commit` is as it was installed
        good: `<hooks>/post-checkout` is as it was installed
    "#]]
    .assert_eq(&found(&project, &studio));
    // What was put back is good again, and what is still spoilt is not.
    fs::write(hook("pre-commit"), whole).expect("it is ours");
    let told = found(&project, &studio);
    assert!(told.starts_with("good: `<hooks>/pre-commit`") && told.contains("wrong: `<hooks>/commit-msg`"), "{told}");
}

#[test]
fn hooks_that_git_no_longer_looks_for_are_told() {
    let project = guarded();
    let studio = Studio::of(&project, &[]);
    let mut git = Command::new("git");
    git.args(["config", "core.hooksPath", "elsewhere"]).current_dir(project.path());
    assert!(git.status().expect("git starts").success());
    let told = found(&project, &studio);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 6, "{told}");
    for line in lines {
        let why =
            "is not run, because git now looks for hooks elsewhere: see `git config --show-origin core.hooksPath`";
        assert!(line.starts_with("wrong: `<hooks>/") && line.ends_with(why), "{line}");
    }
}
