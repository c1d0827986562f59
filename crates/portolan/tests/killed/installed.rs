//! Hooks are put into hosts and git, and taken out again with nothing of the user's changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::stage::{Stage, killed, line};

/// Settings of the user's own, written in the user's own way.
const SETTINGS: &str = "{\n   \"model\" : \"best\",\n   \"hooks\": { \"PreToolUse\": [ ] }\n}\n";
const HOOK: &str = "#!/bin/sh\necho mine\n";

/// The user's own files: all but what is in `.portolan`, and git's objects.
fn own(stage: &Stage) -> BTreeMap<String, (String, bool)> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, (String, bool)>) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("it is listed")) {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let is_git = folder.file_name().is_some_and(|folder| folder == ".git");
            if name == ".portolan" || is_git && name != "hooks" {
                continue;
            }
            let shown = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
            if path.is_dir() {
                found.insert(shown, (String::new(), false));
                walk(root, &path, found);
            } else {
                use std::os::unix::fs::PermissionsExt;
                let is_executable = fs::metadata(&path).expect("a file").permissions().mode() & 0o100 != 0;
                found.insert(shown, (fs::read_to_string(&path).expect("a text"), is_executable));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&stage.path(""), &stage.path(""), &mut found);
    found
}

fn repository(stage: &Stage) {
    stage.git(&["init", "-q", "-b", "main"]);
    stage.git(&["commit", "-q", "--allow-empty", "-m", "chore: begin"]);
    for entry in fs::read_dir(stage.path(".git/hooks")).expect("a folder").flatten() {
        fs::remove_file(entry.path()).expect("a sample");
    }
    stage.put(".git/hooks/pre-commit", HOOK);
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(stage.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755)).expect("ours");
}

/// Git's own hooks come with a host's only where there is a repository, and are many files.
fn project(stage: &Stage, is_repository: bool) {
    if is_repository {
        repository(stage);
    }
    stage.put(".claude/settings.json", SETTINGS);
    stage.put(".cursor/hooks.json", "{ \"version\": 1, \"hooks\": {} }");
}

/// Whatever was cut off: installing again is whole, and uninstalling gives everything back.
fn again_and_back(stage: &Stage, target: &str, before: &BTreeMap<String, (String, bool)>) {
    stage.does(&format!("install {target} --yes"));
    let said = stage.says(&format!("install {target} --yes"));
    assert!(said.err.contains("there is nothing to do"), "{said:?}");
    stage.is_sound();
    stage.does(&format!("install {target} --uninstall --yes"));
    assert_eq!(own(stage), *before);
}

fn installs(target: &'static str, act: &'static str, prepare: fn(&Stage)) {
    let is_repository = matches!(target, "git" | "cursor");
    let before = std::cell::RefCell::new(BTreeMap::new());
    for next in ["install", "uninstall"] {
        let prepare = |stage: &Stage| {
            project(stage, is_repository);
            *before.borrow_mut() = own(stage);
            prepare(stage);
        };
        killed(&format!("{act}, then {next}"), prepare, line(act), |stage| {
            let before = &*before.borrow();
            let found = if own(stage) == *before { "the user's files alone" } else { "hooks" };
            // The user's own hook is never away.
            let hook = fs::read_to_string(stage.path(".git/hooks/pre-commit")).unwrap_or_default();
            assert!(!is_repository || hook == HOOK || hook.contains("portolan-chained"), "{hook}");
            if next == "uninstall" {
                stage.does(&format!("install {target} --uninstall --yes"));
                assert_eq!(own(stage), *before);
            }
            again_and_back(stage, target, before);
            found.to_owned()
        });
    }
}

#[test]
fn hosts() {
    installs("claude-code", "install claude-code --yes", |_| {});
    installs("cursor", "install cursor --yes", |_| {});
    installs("opencode", "install opencode --yes", |_| {});
}

#[test]
fn hosts_are_left() {
    installs("claude-code", "install claude-code --uninstall --yes", |stage| {
        drop(stage.does("install claude-code --yes"))
    });
    installs("opencode", "install opencode --uninstall --yes", |stage| drop(stage.does("install opencode --yes")));
}

#[test]
fn git() {
    installs("git", "install git --yes", |_| {});
}

#[test]
fn git_is_left() {
    installs("git", "install git --uninstall --yes", |stage| drop(stage.does("install git --yes")));
}
