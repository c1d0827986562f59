//! Which project a command is about, where it is run below one.

use std::process::Command;

use crate::support::Project;

fn in_folder(project: &Project, folder: &str, words: &[&str]) -> String {
    let folder = project.path().join(folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut command = project.command(words);
    command.current_dir(folder);
    project.output_text(&command.output().expect("the binary starts"))
}

fn git(project: &Project, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(words).current_dir(project.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(git.status().expect("git starts").success());
}

#[test]
fn a_folder_of_a_project_is_none_of_its_own() {
    let project = Project::new();
    git(&project, &["init", "-q", "-b", "main", "."]);
    assert!(in_folder(&project, "src/deep", &["flow", "start", "t1"]).contains("t1"));
    assert!(project.path().join(".portolan/flow.json").is_file());
    assert!(!project.path().join("src/deep/.portolan").exists());
    let status = project.says("flow status");
    assert_eq!(in_folder(&project, "src", &["flow", "status"]), status);
    assert!(in_folder(&project, "src", &["flow", "start", "t2"]).contains("the task `t1` is in progress"));
}

#[test]
fn a_project_within_another_is_one_of_its_own_and_so_is_a_repository() {
    let project = Project::small();
    git(&project, &["init", "-q", "-b", "main", "."]);
    project.write("packages/a/.flow/workflows/other.json", "{}");
    let shown = in_folder(&project, "packages/a/src", &["show", "small"]);
    assert!(!shown.ends_with("exit: 0\n"), "{shown}");
    let shown = in_folder(&project, "packages/b", &["show", "small"]);
    assert!(shown.ends_with("exit: 0\n"), "{shown}");
    project.write("vendor/c/.git", "gitdir: elsewhere");
    let shown = in_folder(&project, "vendor/c/src", &["show", "small"]);
    assert!(!shown.ends_with("exit: 0\n"), "{shown}");
}

#[test]
fn a_linked_worktree_is_examined_by_the_record_of_the_main_one() {
    let project = Project::new();
    git(&project, &["init", "-q", "-b", "main", "."]);
    git(
        &project,
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "chore: begin"],
    );
    project.says("install git --yes");
    git(&project, &["-c", "core.hooksPath=/dev/null", "worktree", "add", "-q", "../linked", "-b", "feat/x"]);
    let here = in_folder(&project, "../linked", &["doctor"]);
    assert!(here.contains("the installation recorded in `<project>` also applies here"), "{here}");
    assert!(!here.contains("does not list them"), "{here}");
}
