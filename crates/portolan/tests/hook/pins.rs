//! What was pinned when hooks were installed holds, whatever the environment and the configuration say later; and what can
//! be got past is noticed afterwards, by the next hook and by `portolan doctor`.

use std::process::Command;

use crate::git::Clone;
use crate::support::Project;

/// A clone with a branch `feat/1-x` that has a commit of its own, checked out.
fn cloned() -> Clone {
    let clone = Clone::new();
    clone.works(&["switch", "-q", "-c", "feat/1-x"]);
    clone.works(&["commit", "-q", "--allow-empty", "-m", "feat: x (#1)"]);
    clone
}

/// Somebody else's repository, with a `main` that goes on.
fn evil(clone: &Clone) -> String {
    let evil = clone.project.beside("evil").to_string_lossy().into_owned();
    clone.project.git_words(&["clone", "-q", &clone.project.beside("remote.git").to_string_lossy(), &evil]);
    clone.project.git_words(&["-C", &evil, "commit", "-q", "--allow-empty", "-m", "feat: evil"]);
    evil
}

/// What `portolan doctor` finds wrong or doubtful, and its status.
fn doctor(project: &Project, environment: &[(&str, &str)]) -> (String, bool) {
    let mut command = project.program(env!("CARGO_BIN_EXE_portolan"));
    let output = command.arg("doctor").envs(environment.iter().copied()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let bad = said.lines().filter(|line| !line.starts_with("good")).map(|line| format!("{line}\n")).collect();
    (bad, output.status.success())
}

#[track_caller]
fn doctor_says(project: &Project, environment: &[(&str, &str)], what: &str) {
    let (said, fine) = doctor(project, environment);
    assert!(said.contains(what) && (!fine || said.contains("doubtful")), "doctor does not say {what}: {said}");
}

fn done(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

/// A folder with a program in it, to be put before the search path.
fn lying(project: &Project, name: &str, script: &str) -> String {
    let path = project.beside(&format!("lies-{name}"));
    std::fs::create_dir_all(&path).expect("a folder");
    let file = path.join(name);
    let mut shell = Command::new("sh");
    let made = shell.args(["-c", "printf '%s' \"$1\" > \"$2\" && chmod +x \"$2\"", "sh", script]).arg(&file);
    assert!(made.status().expect("a shell").success());
    path.to_string_lossy().into_owned()
}

fn before_path(project: &Project, command: &mut Command, folder: &str) {
    let usual = project
        .program("sh")
        .get_envs()
        .find(|(name, _)| *name == "PATH")
        .and_then(|(_, path)| path.map(ToOwned::to_owned));
    let mut path = std::ffi::OsString::from(folder);
    path.push(":");
    path.push(usual.expect("a path"));
    command.env("PATH", path);
}

#[test]
fn what_is_installed_is_good() {
    let clone = cloned();
    assert_eq!(doctor(&clone.project, &[]), ("".to_owned(), true));
}

#[test]
fn what_is_installed_is_of_this_checkout_alone() {
    let project = Project::on_branch();
    project.portolan("install git --yes");
    project.git("add -A");
    assert_eq!(project.git("status --porcelain"), "");
    project.portolan("install git --uninstall --yes");
    assert!(!project.path().join(".portolan").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_branch_follows_moves_by_fetching_it_alone() {
    let clone = cloned();
    let evil = evil(&clone);
    let followed = || clone.project.git("rev-parse origin/main");
    let was = followed();
    for words in [
        &["fetch", "origin", "+feat/1-x:refs/remotes/origin/main"][..],
        &["fetch", ".", "+feat/1-x:refs/remotes/origin/main"],
        &["fetch", &evil, "main:refs/remotes/origin/main"],
        &["fetch", "--refmap=+refs/heads/*:refs/remotes/origin/*", &evil, "main"],
        &["update-ref", "refs/remotes/origin/main", "HEAD"],
        &["-c", "remote.origin.url=", "-c", &format!("remote.origin.url={evil}"), "fetch", "origin"],
        &["-c", &format!("url.{evil}.insteadOf={}", clone.project.beside("remote.git").display()), "fetch", "origin"],
        &[
            "-c",
            &format!("remote.evil.url={evil}"),
            "-c",
            "remote.evil.fetch=+refs/heads/*:refs/remotes/origin/*",
            "fetch",
            "evil",
        ],
    ] {
        clone.project.git_words(&["push", "-q", "origin", "feat/1-x"]);
        let (done, said) = clone.project.tries(words);
        assert!(!done && said.contains("I-2"), "git {words:?}: {said}");
        assert_eq!(followed(), was, "git {words:?}");
    }
    // It may go, and comes back as it was.
    clone.works(&["update-ref", "-d", "refs/remotes/origin/main"]);
    clone.is_stopped(&["branch", "-f", "main", "feat/1-x"], "I-2");
    clone.is_stopped(&["update-ref", "refs/remotes/origin/main", "feat/1-x"], "I-2");
    clone.others_work();
    clone.works(&["fetch", "-q", "--prune", "origin"]);
    clone.works(&["branch", "-q", "-f", "main", "origin/main"]);
    // Whoever may gets past, on record.
    clone.lets_agents_past();
    clone.project.git_words(&["-C", &evil, "fetch", "-q"]);
    clone.project.git_words(&["-C", &evil, "push", "-q", "-f", "origin", "HEAD:main"]);
    clone.works(&["switch", "-q", "feat/1-x"]);
    clone.is_stopped(&["fetch", "-q", "origin"], "it was at");
    let mut git = clone.project.program("git");
    git.args(["fetch", "-q", "origin"]).env("PORTOLAN_ALLOW_INTEGRATION_EDIT", "1");
    assert!(git.status().expect("git").success());
    assert!(!clone.project.events("flow.bypass").is_empty());
}

#[test]
fn merges_of_every_kind_come_in_by_fetching() {
    let clone = cloned();
    clone.works(&["push", "-q", "origin", "feat/1-x"]);
    let remote = clone.project.beside("remote.git").to_string_lossy().into_owned();
    let other = clone.project.beside("merger").to_string_lossy().into_owned();
    clone.project.git_words(&["clone", "-q", &remote, &other]);
    // Forwards to the very commit that was made here, with its branch gone; then squashed; then a merge of its own.
    clone.project.git_words(&["-C", &other, "push", "-q", "origin", "origin/feat/1-x:main", ":feat/1-x"]);
    clone.works(&["fetch", "-q", "--prune", "origin"]);
    clone.works(&["fetch", "-q", "--all"]);
    clone.works(&["branch", "-q", "-f", "main", "origin/main"]);
    clone.others_work();
    clone.works(&["remote", "update"]);
    clone.works(&["pull", "-q", "--no-edit", "--no-rebase", "origin", "main"]);
    assert_eq!(doctor(&clone.project, &[]), ("".to_owned(), true));
}

#[test]
fn a_remote_of_ones_own_does_not_count() {
    let clone = cloned();
    let evil = evil(&clone);
    clone.works(&["remote", "add", "evil", &evil]);
    clone.works(&["fetch", "-q", "evil"]);
    clone.is_stopped(&["branch", "-f", "main", "evil/main"], "I-2");
    clone.works(&["config", "branch.main.remote", "evil"]);
    clone.is_stopped(&["branch", "-f", "main", "evil/main"], "I-2");
    clone.works(&["config", "branch.main.remote", "."]);
    clone.works(&["config", "branch.main.merge", "refs/heads/feat/1-x"]);
    clone.is_stopped(&["branch", "-f", "main", "feat/1-x"], "I-2");
    // Neither does the record of a folder within.
    clone.project.write("inner/.portolan/installed.json", r#"{"version":1,"files":[],"pins":{}}"#);
    clone.is_stopped(&["-C", "inner", "branch", "-f", "main", "evil/main"], "I-2");
    let tree = clone.project.beside("tree").to_string_lossy().into_owned();
    clone.works(&["worktree", "add", "-q", "-b", "feat/1-z", &tree]);
    clone.is_stopped(&["-C", &tree, "branch", "-f", "main", "evil/main"], "I-2");
}

#[test]
fn a_remote_that_leads_elsewhere_does_not_count() {
    let clone = cloned();
    let evil = evil(&clone);
    clone.works(&["remote", "set-url", "origin", &evil]);
    doctor_says(&clone.project, &[], "`origin` points to");
    clone.is_stopped(&["fetch", "origin"], "when the hooks were installed");
    // What others have pushed there counts no more than what is fetched.
    clone.works(&["remote", "rename", "origin", "old"]);
    clone.works(&["remote", "add", "origin", &evil]);
    clone.is_stopped(&["fetch", "origin"], "when the hooks were installed");
    // To install again pins nothing anew.
    clone.project.portolan("install git --yes");
    clone.is_stopped(&["fetch", "origin"], "when the hooks were installed");
    clone.project.portolan("install git --uninstall --yes");
    clone.project.portolan("install git --yes");
    clone.works(&["fetch", "-q", "origin"]);
}

/// Commits that replace others in what git reads are no history.
#[test]
fn history_that_is_made_up_does_not_count() {
    let clone = cloned();
    clone.others_work();
    clone.works(&["fetch", "-q", "origin"]);
    clone.works(&["replace", "--graft", "origin/main", "feat/1-x"]);
    clone.is_stopped(&["branch", "-f", "main", "feat/1-x"], "I-2");
}

#[test]
fn another_portolan_on_the_search_path_is_not_asked() {
    let clone = cloned();
    let lies = lying(&clone.project, "portolan", "#!/bin/sh\nexit 0\n");
    for name in ["dirname", "cat", "printf"] {
        let said = lying(&clone.project, name, "#!/bin/sh\nexit 0\n");
        let mut git = clone.project.program("git");
        before_path(&clone.project, &mut git, &format!("{lies}:{said}"));
        git.args(["update-ref", "refs/heads/main", "HEAD"]);
        let (done, said) = done(&mut git);
        assert!(!done && said.contains("I-2"), "{name}: {said}");
    }
}

#[test]
fn hooks_whose_program_is_gone_refuse_and_say_so() {
    let clone = cloned();
    let hook = clone.project.path().join(".git/hooks/pre-commit");
    let text = std::fs::read_to_string(&hook).expect("a hook");
    assert!(text.contains(env!("CARGO_BIN_EXE_portolan")), "{text}");
    for name in ["pre-commit", "reference-transaction", "post-checkout"] {
        let hook = clone.project.path().join(".git/hooks").join(name);
        let text = std::fs::read_to_string(&hook).expect("a hook");
        std::fs::write(&hook, text.replace(env!("CARGO_BIN_EXE_portolan"), "/nowhere/portolan")).expect("written");
    }
    clone.is_stopped(&["commit", "--allow-empty", "-m", "feat: x (#1)"], "/nowhere/portolan is gone");
    clone.is_stopped(&["commit", "--no-verify", "--allow-empty", "-m", "feat: x (#1)"], "portolan install git");
    doctor_says(&clone.project, &[], "is no longer what was installed");
}

#[test]
fn hooks_that_run_another_program_are_told() {
    let project = Project::on_branch();
    let copy = project.beside("copy/portolan");
    std::fs::create_dir(project.beside("copy")).expect("a folder");
    let mut shell = Command::new("cp");
    assert!(shell.arg(env!("CARGO_BIN_EXE_portolan")).arg(&copy).status().expect("cp").success());
    let mut install = project.program(&copy.to_string_lossy());
    assert!(install.args(["install", "git", "--yes"]).output().expect("it starts").status.success());
    doctor_says(&project, &[], "the hooks run");
}

#[test]
fn a_task_does_not_move_where_the_log_is_led_away() {
    let clone = cloned();
    let elsewhere = clone.project.beside("elsewhere.jsonl");
    clone.project.portolan("flow start x");
    let before = clone.project.portolan("flow status");
    for deed in [["flow", "tick"], ["flow", "status"]] {
        let mut portolan = clone.project.program("portolan");
        let came = portolan.args(deed).env("FLOW_EVENTS_PATH", &elsewhere).output().expect("it runs");
        assert!(deed[1] == "status" || !came.status.success(), "{came:?}");
    }
    assert_eq!(clone.project.portolan("flow status"), before);
    assert!(!elsewhere.exists());
}

#[test]
fn a_log_that_the_environment_names_is_not_written() {
    let clone = cloned();
    let elsewhere = clone.project.beside("elsewhere.jsonl");
    let path = elsewhere.to_string_lossy().into_owned();
    clone.lets_agents_past();
    clone.project.portolan("flow start x");
    for name in ["FLOW_EVENTS_PATH", "XCODER_EVENTS_PATH"] {
        clone.works(&["switch", "-q", "feat/1-x"]);
        let mut git = clone.project.program("git");
        git.args(["update-ref", "refs/heads/main", "HEAD"]).env(name, &path);
        git.env("PORTOLAN_ALLOW_INTEGRATION_EDIT", "1");
        let (moved, said) = done(&mut git);
        assert!(!moved && said.contains("pinned to"), "{said}");
        let mut over = clone.project.program(env!("CARGO_BIN_EXE_portolan"));
        over.args(["flow", "override", "I-2", "--reason", "first aid"]).env(name, &path);
        let (got_past, said) = done(&mut over);
        assert!(!got_past && said.contains("pinned to"), "{said}");
        assert!(!elsewhere.exists());
        doctor_says(&clone.project, &[(name, &path)], "the environment sets the event log");
    }
    // Another way to say the same place is none.
    let mut git = clone.project.program("git");
    git.args(["update-ref", "refs/heads/main", "HEAD"]).env("FLOW_EVENTS_PATH", ".portolan/flow-events.jsonl");
    git.env("PORTOLAN_ALLOW_INTEGRATION_EDIT", "1");
    assert!(git.status().expect("git").success());
    assert!(!clone.project.events("flow.bypass").is_empty());
}

#[test]
fn a_log_that_was_elsewhere_when_hooks_were_installed_stays_there() {
    let project = Project::on_branch();
    let log = project.beside("log.jsonl");
    let mut install = project.program(env!("CARGO_BIN_EXE_portolan"));
    install.args(["install", "git", "--yes"]).env("FLOW_EVENTS_PATH", &log);
    assert!(install.status().expect("it starts").success());
    let (done, said) = project.tries(&["update-ref", "refs/heads/main", &{
        project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: x (#1)"]);
        project.git("rev-parse HEAD").trim().to_owned()
    }]);
    assert!(!done, "{said}");
    assert!(std::fs::read_to_string(&log).expect("a log").contains("flow.guard.block"));
    assert!(!project.path().join(".portolan/flow-events.jsonl").exists());
}

/// A git that says what is not so, for whoever asks.
#[test]
fn another_git_on_the_search_path_is_not_asked() {
    let clone = cloned();
    let lies = lying(&clone.project, "git", "#!/bin/sh\nexit 0\n");
    let mut git = clone.project.program("git");
    let real = std::env::split_paths(&std::env::var_os("PATH").expect("a path"))
        .map(|folder| folder.join("git"))
        .find(|path| path.is_file());
    git = {
        let mut other = Command::new(real.expect("git"));
        other.current_dir(clone.project.path()).env_clear();
        other.envs(git.get_envs().filter_map(|(name, value)| Some((name, value?))));
        other
    };
    before_path(&clone.project, &mut git, &lies);
    git.args(["update-ref", "refs/heads/main", "HEAD"]);
    let (done, said) = done(&mut git);
    assert!(!done && said.contains("I-2"), "{said}");
    let path = format!("{lies}:{}", std::env::var("PATH").expect("a path"));
    doctor_says(&clone.project, &[("PATH", &path)], "`git` is");
}

/// A git that was pinned and is gone tells nothing, and no other one is asked in its place.
#[test]
fn without_the_pinned_git_nothing_that_needs_it_passes() {
    let real = std::env::split_paths(&std::env::var_os("PATH").expect("a path"))
        .map(|folder| folder.join("git"))
        .find(|path| path.is_file());
    let project = Project::on_branch();
    project.shadow("git", &format!("#!/bin/sh\nexec '{}' \"$@\"\n", real.expect("git").display()));
    project.portolan("install git --yes");
    project.portolan("flow start login --at branch");
    project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: x (#1)"]);
    let git = project.beside("bin/git");
    std::fs::rename(&git, project.beside("bin/kept")).expect("moved");
    let (done, said) = project.tries(&["update-ref", "refs/heads/main", "HEAD"]);
    assert!(!done && said.contains("I-2"), "{said}");
    let mut tick = project.program(env!("CARGO_BIN_EXE_portolan"));
    let (_, said) = self::done(tick.args(["flow", "tick"]));
    assert!(said.contains("cannot verify") && said.contains("portolan install git"), "{said}");
    let mut gate = project.program(env!("CARGO_BIN_EXE_portolan"));
    let (passes, said) = self::done(gate.args(["merge-gate", "--base", "main", "--head", "HEAD"]));
    assert!(!passes && said.contains("is pinned as `git` but does not exist"), "{said}");
    doctor_says(&project, &[], "is pinned as `git` but does not exist");
    // Another one is pinned by whoever installs again.
    project.portolan("install git --yes");
    let mut tick = project.program(env!("CARGO_BIN_EXE_portolan"));
    let (_, said) = self::done(tick.args(["flow", "tick"]));
    assert!(!said.contains("gone"), "{said}");
}

#[test]
fn a_gh_that_nobody_pinned_is_told() {
    let clone = cloned();
    clone.project.shadow("gh", "#!/bin/sh\nexit 0\n");
    doctor_says(&clone.project, &[], "`gh` is");
}

#[test]
fn a_branch_that_moves_without_hooks_is_noticed_by_the_next_one() {
    let clone = cloned();
    clone.works(&["-c", "core.hooksPath=/dev/null", "branch", "-q", "-f", "main", "HEAD"]);
    doctor_says(&clone.project, &[], "`main` was moved to");
    let (done, said) = clone.project.tries(&["commit", "-q", "--allow-empty", "-m", "feat: y (#1)"]);
    assert!(done && said.contains("`main` was moved to"), "{said}");
    let (_, said) = clone.project.tries(&["commit", "-q", "--allow-empty", "-m", "feat: z (#1)"]);
    assert!(!said.contains("was moved"), "once is enough: {said}");
    let found = clone.project.events("flow.guard.tamper");
    let moved = found.iter().filter(|line| line["data"]["what"] == "integration branch").count();
    assert_eq!(moved, 1, "{found:?}");
    // Each session of a host hears of it.
    for session in ["a", "b"] {
        let mut call = clone.project.edits("claude-code", "a.txt");
        call["session_id"] = session.into();
        let said = clone.project.hook("claude-code", "PreToolUse", call.to_string().as_bytes());
        assert!(said.is_allowed() && said.stdout.contains("`main` was moved to"), "{said:?}");
    }
}

/// Without hooks what a branch follows can be forged as well; its remote knows better.
#[test]
fn a_forged_upstream_is_told_by_the_remote() {
    let clone = cloned();
    clone.works(&["-c", "core.hooksPath=/dev/null", "update-ref", "refs/remotes/origin/main", "HEAD"]);
    clone.works(&["-c", "core.hooksPath=/dev/null", "branch", "-q", "-f", "main", "HEAD"]);
    doctor_says(&clone.project, &[], "which `origin` does not have");
}

#[test]
fn a_record_that_is_gone_is_told() {
    let clone = cloned();
    assert!(clone.project.edit("claude-code", "a.txt").is_allowed());
    std::fs::remove_file(clone.project.path().join(".portolan/installed.json")).expect("gone");
    let said = clone.project.edit("claude-code", "bc.txt");
    assert!(said.stdout.contains("has changed"), "{said:?}");
    doctor_says(&clone.project, &[], "does not list them");
    clone.project.write(".portolan/installed.json", "oops");
    clone.is_stopped(&["update-ref", "refs/heads/main", "HEAD"], "cannot be read");
}

#[test]
fn a_hook_that_is_not_executable_is_told() {
    let clone = cloned();
    assert!(clone.project.edit("claude-code", "a.txt").is_allowed());
    let hook = clone.project.path().join(".git/hooks/reference-transaction");
    let mut shell = Command::new("chmod");
    assert!(shell.arg("a-x").arg(&hook).status().expect("chmod").success());
    let said = clone.project.edit("claude-code", "bc.txt");
    assert!(said.stdout.contains("which is not executable"), "{said:?}");
}

/// A pull request that only a lie knows of does not let an agent stop, and no phase is left by one.
#[test]
fn another_gh_on_the_search_path_is_not_asked() {
    let project = Project::on_branch();
    project.shadow("gh", "#!/bin/sh\necho '[]'\n");
    project.portolan("install git --yes");
    project.portolan("flow start login");
    project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: x (#1)"]);
    let gh = lying(&project, "gh", "#!/bin/sh\necho '[{\"number\":1,\"state\":\"OPEN\"}]'\n");
    let git = lying(&project, "git", "#!/bin/sh\nexit 0\n");
    let run = |words: &[&str], lies: bool| {
        let mut command = project.program(env!("CARGO_BIN_EXE_portolan"));
        if lies {
            before_path(&project, &mut command, &format!("{gh}:{git}"));
            command.env("GIT_DIR", "/nowhere").env("GH_CONFIG_DIR", "/nowhere");
        }
        done(command.args(words))
    };
    let mut said = run(&["flow", "tick"], false);
    for _ in 0..20 {
        let again = run(&["flow", "tick"], false);
        let stays = again == said;
        said = again;
        if stays {
            break;
        }
    }
    assert!(!said.0, "a phase has a check that does not hold: {said:?}");
    assert_eq!(run(&["flow", "tick"], true), said);
    let call = serde_json::json!({ "session_id": "s1", "cwd": project.path(), "hook_event_name": "Stop" });
    let mut command = project.program("sh");
    before_path(&project, &mut command, &format!("{gh}:{git}"));
    let line = format!("printf '%s' '{call}' | '{}' hook claude-code Stop", env!("CARGO_BIN_EXE_portolan"));
    let (_, said) = done(command.args(["-c", &line]));
    assert!(said.contains("without an open pull request"), "{said}");
}

/// A script moves what `main` follows, with git's hooks turned off.
#[test]
fn what_a_branch_follows_is_looked_at_after_each_call() {
    let clone = cloned();
    assert!(clone.project.shell("claude-code", "./build.sh").is_allowed());
    clone.works(&["-c", "core.hooksPath=/dev/null", "update-ref", "refs/remotes/origin/main", "HEAD"]);
    let call = clone.project.runs("claude-code", "./build.sh");
    let said = clone.project.hook("claude-code", "PostToolUse", call.to_string().as_bytes());
    assert!(said.stdout.contains("which was made here and did not go through a review"), "{said:?}");
    assert!(clone.project.shell("codex", "./other.sh").is_allowed());
    clone.works(&["-c", "core.hooksPath=/dev/null", "update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    let call = clone.project.runs("codex", "./other.sh");
    let said = clone.project.hook("codex", "PostToolUse", call.to_string().as_bytes());
    assert!(said.stdout.contains("which drops commits that it had"), "{said:?}");
}

#[test]
fn hooks_that_the_users_own_configuration_turns_off_are_told() {
    let clone = cloned();
    assert!(clone.project.edit("claude-code", "a.txt").is_allowed());
    let own = clone.project.beside("gitconfig");
    std::fs::write(&own, "[core]\n\thooksPath = ~/none\n").expect("written");
    let call = clone.project.edits("claude-code", "bc.txt").to_string();
    let environment = [("GIT_CONFIG_GLOBAL", &*own.to_string_lossy())];
    let said = clone.project.hook_with("claude-code", "PreToolUse", call.as_bytes(), &environment);
    assert!(said.stdout.contains("`core.hooksPath` points git to"), "{said:?}");
    doctor_says(&clone.project, &environment, "git now looks for hooks elsewhere");
}

#[test]
fn rules_that_are_not_everybodys_are_told() {
    let clone = cloned();
    clone.project.write(".portolan/guidelines.yaml", "integration: [trunk\n");
    doctor_says(&clone.project, &[], "guidelines.yaml");
    clone.project.write(".portolan/guidelines.yaml", "integration: [trunk]\n");
    clone.works(&["add", "-f", ".portolan/guidelines.yaml"]);
    doctor_says(&clone.project, &[], "`.portolan/guidelines.yaml` differs from `origin/main`");
}

/// Nothing that becomes of the file changes the rules: it is put in by way of the index, another branch has none, and it has
/// faults. What a person agrees to does.
#[test]
fn rules_are_those_that_a_person_has_agreed_to() {
    let project = Project::new();
    project.write(".portolan/guidelines.yaml", "integration: [main, develop]\nbypass: { I-3: human-only }\n");
    project.git("add -f .portolan/guidelines.yaml");
    project.git_words(&["commit", "-q", "-m", "chore: rules"]);
    for host in ["claude-code", "git"] {
        project.portolan(&format!("install {host} --yes"));
    }
    let is_kept = |after: &str| {
        let edit = project.edit("claude-code", &format!("{}.txt", after.len()));
        assert!(edit.is_denied(), "{after}: {edit:?}");
        let rules = project.portolan("flow invariants");
        assert!(rules.lines().any(|line| line.starts_with("I-3") && line.ends_with("a person")), "{after}: {rules}");
    };
    is_kept("nothing has happened");
    project.write(".portolan/lax", "commitDirectly: true\n");
    let blob = project.git("hash-object -w .portolan/lax");
    project.git(&format!("update-index --cacheinfo 100644,{},.portolan/guidelines.yaml", blob.trim()));
    project.git("checkout -q -- .portolan/guidelines.yaml");
    is_kept("it was put in by way of the index");
    let tampered = project.events("flow.guard.tamper");
    assert!(tampered.iter().any(|line| line["data"]["what"] == "rules"), "{tampered:?}");
    doctor_says(&project, &[], "`.portolan/guidelines.yaml` differs from the trusted version");
    project.write(".portolan/guidelines.yaml", "integration: [trunk\n");
    is_kept("it has faults");
    project.git("reset -q --hard");
    project.git_words(&["-c", "core.hooksPath=/dev/null", "switch", "-q", "--orphan", "develop"]);
    project.git_words(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "chore: begin"]);
    is_kept("another branch has none");

    project.git_words(&["-c", "core.hooksPath=/dev/null", "switch", "-q", "main"]);
    project.write(".portolan/guidelines.yaml", "commitDirectly: true\n");
    // This process has run hooks, as hosts do: a person is somebody to whom that is not known.
    let a_persons = || {
        let mut command = project.program(env!("CARGO_BIN_EXE_portolan"));
        command.args(["trust", ".portolan/guidelines.yaml"]).env("PORTOLAN_DATA_DIR", project.beside("a-persons"));
        done(&mut command)
    };
    let (agreed, said) = a_persons();
    assert!(agreed && said.contains("these rules apply from now on"), "{said}");
    assert!(project.edit("claude-code", "agreed.txt").is_allowed());
    let (agreed, said) = a_persons();
    assert!(agreed && !said.contains("from now on"), "they did already: {said}");
}

#[test]
fn a_remote_that_was_added_later_is_pinned_by_installing_again() {
    let clone = Clone::new();
    clone.project.portolan("install git --uninstall --yes");
    let remote = clone.project.beside("remote.git").to_string_lossy().into_owned();
    clone.works(&["remote", "remove", "origin"]);
    clone.project.portolan("install git --yes");
    clone.others_work();
    clone.works(&["remote", "add", "origin", &remote]);
    clone.works(&["fetch", "-q", "origin"]);
    clone.is_stopped(&["merge", "-q", "--ff-only", "origin/main"], "I-2");
    doctor_says(&clone.project, &[], "which is not pinned: run `portolan install git`");
    clone.project.portolan("install git --yes");
    clone.project.git("restore --staged --worktree .");
    clone.works(&["merge", "-q", "--ff-only", "origin/main"]);
    assert_eq!(doctor(&clone.project, &[]), ("".to_owned(), true));
}
