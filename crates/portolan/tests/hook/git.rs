//! The hooks of git, put in by `portolan install git`, under real git.

use crate::support::Project;

/// A clone of a repository, with the hooks in.
pub(crate) struct Clone {
    pub(crate) project: Project,
}

impl Clone {
    pub(crate) fn new() -> Clone {
        let project = Project::new();
        let remote = project.beside("remote.git");
        project.git_words(&["clone", "-q", "--bare", ".", &remote.to_string_lossy()]);
        project.git_words(&["remote", "add", "origin", &remote.to_string_lossy()]);
        project.git("fetch -q origin");
        project.git("branch -q -u origin/main main");
        project.portolan("install git --yes");
        Clone { project }
    }

    /// Somebody else's work arrives on the remote's main.
    pub(crate) fn others_work(&self) {
        let other = self.project.beside("other");
        let remote = self.project.beside("remote.git");
        if !other.exists() {
            self.project.git_words(&["clone", "-q", &remote.to_string_lossy(), &other.to_string_lossy()]);
        }
        let other = other.to_string_lossy().into_owned();
        self.project.git_words(&["-C", &other, "commit", "-q", "--allow-empty", "-m", "feat: theirs"]);
        self.project.git_words(&["-C", &other, "push", "-q", "origin", "HEAD:main"]);
    }

    /// A person agrees to rules that let agents get past every one.
    pub(crate) fn lets_agents_past(&self) {
        self.project.write(".portolan/guidelines.yaml", "bypass: agent\n");
        // This process has run hooks, as hosts do: a person is somebody to whom that is not known.
        let mut trust = self.project.program(env!("CARGO_BIN_EXE_portolan"));
        trust.args(["trust", ".portolan/guidelines.yaml"]).env("PORTOLAN_DATA_DIR", self.project.beside("a-persons"));
        assert!(trust.output().expect("it starts").status.success());
    }

    pub(crate) fn works(&self, words: &[&str]) {
        let (done, said) = self.project.tries(words);
        assert!(done, "git {words:?}: {said}");
    }

    #[track_caller]
    pub(crate) fn is_stopped(&self, words: &[&str], why: &str) {
        let before = self.project.git("rev-parse main");
        let (done, said) = self.project.tries(words);
        assert!(!done, "git {words:?} is not stopped: {said}");
        assert!(said.contains(why), "git {words:?} does not say {why}: {said}");
        assert_eq!(before, self.project.git("rev-parse main"), "git {words:?} has moved main");
    }
}

#[test]
fn the_first_commit_of_a_repository_is_made() {
    let project = Project::new();
    let fresh = project.beside("fresh");
    project.git_words(&["init", "-q", "-b", "main", &fresh.to_string_lossy()]);
    let fresh = fresh.to_string_lossy().into_owned();
    let install =
        project.program(env!("CARGO_BIN_EXE_portolan")).args(["install", "git", "--yes"]).current_dir(&fresh).output();
    assert!(install.expect("it starts").status.success());
    project.git_words(&["-C", &fresh, "commit", "-q", "--allow-empty", "-m", "chore: begin (#1)"]);
    let (done, said) = project.tries(&["-C", &fresh, "commit", "--allow-empty", "-m", "chore: go on (#1)"]);
    assert!(!done && said.contains("I-2"), "{said}");
}

#[test]
fn work_on_branches_goes_on_as_ever() {
    let clone = Clone::new();
    clone.others_work();
    clone.works(&["pull", "-q", "--ff-only"]);
    clone.works(&["reset", "-q", "--soft", "HEAD~1"]);
    clone.works(&["pull", "-q", "--ff-only"]);
    clone.works(&["switch", "-q", "-c", "feat/1-x"]);
    clone.project.write("b.txt", "b\n");
    clone.works(&["add", "b.txt"]);
    clone.works(&["commit", "-q", "-m", "feat: add b (#1)"]);
    clone.works(&["commit", "-q", "--amend", "-m", "feat: add the letter b (#1)"]);
    clone.others_work();
    clone.works(&["fetch", "-q", "origin"]);
    clone.works(&["branch", "-q", "-f", "main", "origin/main"]);
    clone.works(&["merge", "-q", "--no-edit", "main"]);
    clone.works(&["switch", "-q", "-c", "feat/1-y", "HEAD~1"]);
    clone.project.write("c.txt", "c\n");
    clone.works(&["add", "c.txt"]);
    clone.works(&["commit", "-q", "-m", "feat: add c (#1)"]);
    clone.works(&["rebase", "-q", "main"]);
    clone.works(&["push", "-q", "-u", "origin", "feat/1-y"]);
    clone.works(&["push", "-q", "origin", "--delete", "feat/1-y"]);
    clone.works(&["branch", "-q", "-D", "feat/1-x"]);
    clone.works(&["pack-refs", "--all", "--prune"]);
    clone.works(&["gc", "-q", "--prune=now"]);
    let tree = clone.project.beside("tree").to_string_lossy().into_owned();
    clone.works(&["worktree", "add", "-q", "-b", "feat/1-z", &tree, "main"]);
    clone.works(&["-C", &tree, "commit", "-q", "--allow-empty", "-m", "feat: elsewhere (#1)"]);
    clone.works(&["tag", "v1"]);
    clone.works(&["push", "-q", "origin", "v1"]);
    clone.works(&["stash", "list"]);
}

#[test]
fn main_moves_by_nothing_but_its_remote() {
    let clone = Clone::new();
    clone.project.git("branch -q feat/1-x");
    clone.is_stopped(&["commit", "--allow-empty", "-m", "feat: x (#1)"], "I-2");
    clone.is_stopped(&["commit", "--no-verify", "--allow-empty", "-m", "feat: x (#1)"], "I-2");
    clone.works(&["switch", "-q", "feat/1-x"]);
    clone.works(&["commit", "-q", "--allow-empty", "-m", "feat: x (#1)"]);
    clone.is_stopped(&["update-ref", "refs/heads/main", "HEAD"], "I-2");
    clone.is_stopped(&["branch", "-f", "main", "HEAD"], "I-2");
    clone.is_stopped(&["branch", "-D", "main"], "I-2");
    clone.is_stopped(&["branch", "-m", "main", "old"], "I-2");
    // A rename that is stopped has lost its source already: one that nobody needs.
    clone.works(&["branch", "-q", "feat/1-lost"]);
    clone.is_stopped(&["branch", "-M", "feat/1-lost", "main"], "I-2");
    clone.is_stopped(&["push", ".", "HEAD:main"], "I-2");
    clone.is_stopped(&["push", "--no-verify", ".", "HEAD:main"], "");
    clone.is_stopped(&["push", "origin", "HEAD:main"], "I-2");
    clone.is_stopped(&["push", "origin", "--delete", "main"], "I-2");
    clone.is_stopped(&["push", "--force", "origin", "HEAD:refs/heads/main"], "I-2");
    clone.is_stopped(
        &["-c", "alias.ci=commit --no-verify", "--git-dir", ".git", "update-ref", "-d", "refs/heads/main"],
        "I-2",
    );
    let elsewhere = clone.project.beside("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let dir = clone.project.path().join(".git");
    let (dir, elsewhere) = (dir.to_string_lossy(), elsewhere.to_string_lossy());
    clone.is_stopped(
        &["--git-dir", &dir, "--work-tree", &elsewhere, "update-ref", "refs/heads/main", "feat/1-x"],
        "I-2",
    );
    clone.project.git("pack-refs --all --prune");
    clone.is_stopped(&["branch", "-D", "main"], "I-2");
    clone.is_stopped(&["update-ref", "-d", "refs/heads/main", "main"], "I-2");
    clone.is_stopped(&["branch", "-m", "main", "old"], "I-2");
    clone.works(&["switch", "-q", "main"]);
    clone.is_stopped(&["merge", "--ff-only", "feat/1-x"], "git restore --staged --worktree .");
    clone.project.git("reset -q --hard");
    let log = clone.project.portolan("flow events --verify");
    assert!(log.contains("all intact"), "{log}");
}

#[test]
fn who_may_gets_past_by_name_and_on_record() {
    let clone = Clone::new();
    let commit = |environment: &[(&str, &str)]| {
        let mut git = clone.project.program("git");
        git.args(["commit", "-q", "--allow-empty", "-m", "fix: x (#1)"]).envs(environment.iter().copied());
        git.status().expect("git").success()
    };
    assert!(!commit(&[("PORTOLAN_ALLOW_INTEGRATION_EDIT", "yes")]));
    let asks = [("PORTOLAN_ALLOW_INTEGRATION_EDIT", "1"), ("PORTOLAN_BYPASS_REASON", "first aid")];
    assert!(!commit(&asks));
    assert!(clone.project.events("flow.bypass").is_empty());
    clone.lets_agents_past();
    assert!(commit(&asks));
    let bypasses = clone.project.events("flow.bypass");
    assert!(!bypasses.is_empty() && bypasses.iter().all(|line| line["data"]["reason"] == "first aid"), "{bypasses:?}");
    // Where it cannot be put on record it is not got past.
    let log = clone.project.path().join(".portolan/flow-events.jsonl");
    std::fs::remove_file(&log).expect("a log");
    std::fs::create_dir(&log).expect("a folder in its place");
    assert!(!commit(&[("PORTOLAN_ALLOW_INTEGRATION_EDIT", "1")]));
}

#[test]
fn messages_name_an_issue_and_have_a_form() {
    let clone = Clone::new();
    clone.works(&["switch", "-q", "-c", "feat/1-x"]);
    clone.is_stopped(&["commit", "--allow-empty", "-m", "feat: x"], "I-8");
    clone.is_stopped(&["commit", "--allow-empty", "-m", "did x (#1)"], "I-7");
    clone.is_stopped(&["commit", "--allow-empty", "-m", "feat: x\n\n# refs #1 in a comment", "--cleanup=strip"], "I-8");
    clone.works(&["commit", "-q", "--allow-empty", "-m", "feat: x", "-m", "Refs #1"]);
    clone.works(&["commit", "-q", "--allow-empty", "--fixup", "HEAD"]);
    clone.project.write("b.txt", "b\n");
    clone.works(&["add", "b.txt"]);
    clone.works(&["commit", "-q", "-m", "feat: add b (#1)"]);
    clone.works(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(clone.project.events("flow.commit.format.violation").len(), 1);
}

#[test]
fn a_commit_waits_for_its_type_check() {
    let clone = Clone::new();
    clone.works(&["switch", "-q", "-c", "feat/1-x"]);
    clone.project.write("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\n");
    clone.works(&["add", "Cargo.toml"]);
    clone.is_stopped(&["commit", "-m", "feat: x (#1)"], "portolan qa typecheck");
    clone.lets_agents_past();
    let mut git = clone.project.program("git");
    git.args(["commit", "-q", "-m", "feat: x (#1)"]).env("PORTOLAN_SKIP_QA_GATE", "1");
    assert!(git.status().expect("git").success());
}

#[test]
fn a_commit_that_no_guard_was_asked_about_is_noticed() {
    let clone = Clone::new();
    clone.works(&["switch", "-q", "-c", "feat/1-x"]);
    let commit = || {
        let mut git = clone.project.program("git");
        git.args(["commit", "-q", "--allow-empty", "-m", "feat: x (#1)"]).env("CLAUDECODE", "1");
        assert!(git.status().expect("git").success());
    };
    commit();
    let found = clone.project.events("flow.guard.tamper");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["data"]["what"], "guards did not run");
    clone.project.shell("claude-code", "git commit -m 'feat: x (#1)'");
    commit();
    assert_eq!(clone.project.events("flow.guard.tamper").len(), 1);
    let receipts = clone.project.events("flow.tool.invoked");
    assert!(
        receipts.iter().any(|line| line["data"]["toolName"] == "git post-commit" && line["data"]["commit"].is_string())
    );
}

#[test]
fn references_in_tables_are_kept_as_well() {
    let project = Project::new();
    let (remote, tables) = (project.beside("remote.git"), project.beside("tables"));
    let (remote, tables) = (remote.to_string_lossy().into_owned(), tables.to_string_lossy().into_owned());
    project.git_words(&["clone", "-q", "--bare", ".", &remote]);
    let (known, said) = project.tries(&["clone", "-q", "--ref-format=reftable", &remote, &tables]);
    if !known {
        return skipped(&said);
    }
    let install =
        project.program(env!("CARGO_BIN_EXE_portolan")).args(["install", "git", "--yes"]).current_dir(&tables).output();
    assert!(install.expect("it starts").status.success());
    project.git("remote add origin ../remote.git");
    project.git_words(&["commit", "-q", "--allow-empty", "-m", "feat: theirs (#1)"]);
    project.git("push -q origin main");
    project.git_words(&["-C", &tables, "pull", "-q", "--ff-only"]);
    for words in [&["commit", "--no-verify", "--allow-empty", "-m", "x"][..], &["update-ref", "-d", "refs/heads/main"]]
    {
        let words: Vec<&str> = ["-C", &tables].into_iter().chain(words.iter().copied()).collect();
        let (done, said) = project.tries(&words);
        assert!(!done && said.contains("I-2"), "{words:?}: {said}");
    }
}

#[expect(clippy::print_stderr, reason = "who reads the tests must see that one was not performed")]
fn skipped(why: &str) {
    eprintln!("skipped: this git has no references in tables: {why}");
}

/// A pipe that nobody reads any more takes the reasons, and not the refusal.
#[test]
fn a_refusal_that_nobody_reads_is_one() {
    let clone = Clone::new();
    let head = clone.project.git("rev-parse HEAD");
    clone.project.git("switch -q -c feat/1-x");
    clone.works(&["commit", "-q", "--allow-empty", "-m", "feat: mine (#1)"]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut git = clone.project.program("git");
    let moved = git.args(["update-ref", "refs/heads/main", "HEAD"]).stdout(std::process::Stdio::null()).stderr(writer);
    assert!(!moved.status().expect("git runs").success());
    assert_eq!(clone.project.git("rev-parse main"), head);
}
