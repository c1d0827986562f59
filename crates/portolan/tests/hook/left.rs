//! What the guards leave to git's own hooks, which see what a command does and not how it is written: every case of theirs
//! that says so is run by a shell in a repository with the hooks in. `main` is where it was afterwards, here and on the
//! remote, also when somebody then fetches and moves it to what the remote is said to have.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::git::Clone;
use crate::support::Project;

/// A case: what is checked out, and the text.
struct Case {
    branch: String,
    text: String,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../portolan-gates/tests/cases/guards");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("cases").map(|file| file.expect("it").path()).collect();
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let (mut branch, mut left) = ("main".to_owned(), false);
        for line in std::fs::read_to_string(file).expect("a file of cases").lines() {
            match line.split_once(' ') {
                Some(("must", what)) => left = what == "hook",
                Some(("on", name)) => branch = name.to_owned(),
                Some(("$", text)) if left => found.push(Case { branch: branch.clone(), text: text.to_owned() }),
                _ => {}
            }
        }
    }
    found
}

/// A clone of a repository with work on a branch, a fork of it, and another repository beside it.
fn repository() -> Clone {
    let clone = Clone::new();
    let project = &clone.project;
    let beside = |name: &str| project.beside(name).to_string_lossy().into_owned();
    for name in ["feat/42-login", "feat/1-x", "release/1.2"] {
        project.git(&format!("branch -q {name} main"));
    }
    project.git("switch -q feat/42-login");
    project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: log in (#42)"]);
    project.git("push -q origin feat/42-login feat/1-x");
    project.git_words(&["clone", "-q", "--bare", &beside("remote.git"), &beside("fork.git")]);
    project.git_words(&["clone", "-q", &beside("fork.git"), &beside("x")]);
    let other = beside("x");
    project.git_words(&["-C", &other, "commit", "-q", "--allow-empty", "-m", "evil: theirs"]);
    project.git_words(&["-C", &other, "push", "-q", "origin", "HEAD:main", "HEAD:feat/1-x"]);
    project.git_words(&["-C", &other, "push", "-q", &beside("remote.git"), "HEAD:feat/1-x"]);
    project.git_words(&["remote", "add", "fork", &beside("fork.git")]);
    project.git("fetch -q --all");
    clone
}

/// Runs a text as an agent's shell does.
fn run(project: &Project, text: &str) {
    let mut shell = project.program("sh");
    shell.args(["-c", &text.replace("/tmp/", "../")]).env("GIT_EDITOR", "true").env("GIT_TERMINAL_PROMPT", "0");
    let output = shell.stdin(Stdio::null()).output().expect("a shell");
    assert!(output.status.code().is_some(), "{text}: {output:?}");
}

/// Where the integration branches are, here and on the remote.
fn tips(project: &Project) -> Vec<String> {
    let remote = project.beside("remote.git").to_string_lossy().into_owned();
    let list = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/main", "refs/heads/release"];
    let there: Vec<&str> = ["-C", &remote].into_iter().chain(list).collect();
    vec![project.git_words(&list), project.git_words(&there)]
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().expect("cp").success());
}

#[test]
fn what_guards_leave_to_the_hooks_of_git_moves_no_integration_branch() {
    let clone = repository();
    let project = &clone.project;
    let (place, kept) = (project.beside(""), tempfile::tempdir().expect("a folder"));
    let names: Vec<_> = std::fs::read_dir(&place).expect("it").map(|entry| entry.expect("it").file_name()).collect();
    names.iter().for_each(|name| copy(&place.join(name), &kept.path().join(name)));
    let (before, cases) = (tips(project), cases());
    let mut moved = Vec::new();
    for case in &cases {
        for entry in std::fs::read_dir(&place).expect("it") {
            std::fs::remove_dir_all(entry.expect("it").path()).expect("it goes");
        }
        names.iter().for_each(|name| copy(&kept.path().join(name), &place.join(name)));
        project.git(&format!("switch -q {}", case.branch));
        run(project, &case.text);
        let at_once = tips(project);
        run(project, "git fetch -q; git branch -q -f main origin/main || git reset -q --hard origin/main; git push -q");
        if before != at_once || before != tips(project) {
            moved.push(format!("{}: {}", case.branch, case.text));
        }
    }
    assert!(cases.len() >= 12, "{} cases are left to the hooks", cases.len());
    assert!(moved.is_empty(), "these moved one:\n{}", moved.join("\n"));
}

/// To rebase a branch that has nothing of its own only moves it to what its remote has.
#[test]
fn main_is_pulled_in_any_way_while_it_has_no_work_of_its_own() {
    let clone = Clone::new();
    clone.others_work();
    clone.works(&["pull", "-q", "--rebase"]);
    assert_eq!(clone.project.git("rev-parse main"), clone.project.git("rev-parse origin/main"));
    clone.works(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "feat: own"]);
    clone.others_work();
    clone.is_stopped(&["pull", "-q", "--rebase"], "I-2");
}
