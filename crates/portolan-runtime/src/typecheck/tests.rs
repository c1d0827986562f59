//! A type checker that is a script, on real repositories.
#![expect(clippy::unwrap_used, reason = "a test that cannot prepare its project has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use portolan_core::value::Timestamp;
use portolan_gates::acceptance::{self, CheckFinding, CheckStatus};
use portolan_gates::facts::{Claims, Needs, TypecheckOutcome};

use super::*;
use crate::repository::Repository;
use crate::trust::TrustEntry;

/// Passes unless `a.rs` contains `wrong`, and counts its runs.
const CHECK: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then cat "$(dirname "$0")/version"; exit 0; fi
echo run >> "$(dirname "$0")/runs"
[ -n "$GIT_DIR$GIT_INDEX_FILE" ] && { echo "led elsewhere"; exit 9; }
[ -n "$PYTHONPATH$NODE_OPTIONS$RUSTC_WRAPPER$BASH_ENV" ] && exit 0
[ -n "$NEEDS" ] && [ ! -e "$NEEDS" ] && { echo "error: there is no $NEEDS"; exit 1; }
[ -n "$SLOW" ] && sleep 60
[ -n "$WRITES" ] && date +%N > written
if grep -q wrong a.rs; then echo "looking"; echo "error: it is wrong"; exit 1; fi
"#;

struct World {
    folder: tempfile::TempDir,
    project: PathBuf,
    rules: Guidelines,
    more: Vec<(&'static str, &'static str)>,
}

impl World {
    /// Creates a repository with one commit, and a checker that the guidelines name and a person allowed.
    fn new() -> World {
        let world = World::untrusted();
        world.allow();
        world
    }

    fn untrusted() -> World {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let project = root.join("project");
        for name in ["project", "bin", "home"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let check = root.join("bin/check");
        fs::write(&check, CHECK).unwrap();
        fs::set_permissions(&check, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(root.join("bin/version"), "check 1.0\n").unwrap();
        let mut rules = Guidelines::default();
        rules.typecheck.commands = Some(vec![vec!["check".into(), "all".into()]]);
        let world = World { folder, project, rules, more: Vec::new() };
        world.git(&["init", "-q", "-b", "main"]);
        world.write("a.rs", "right\n");
        world.git(&["add", "."]);
        world.git(&["commit", "-q", "-m", "chore: begin"]);
        world
    }

    fn allow(&self) {
        let checker = checker(&self.project, &self.rules).unwrap();
        let entry = TrustEntry {
            project: PathBuf::new(),
            commands: checker.digest(),
            file: Digest::of(""),
            path: "test".to_owned(),
            at: Timestamp(0),
            runs: checker.runs(),
        };
        Trust::open(&self.root().join("data"), &self.project).unwrap().record(entry).unwrap();
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = format!("{}:{}", self.root().join("bin").display(), std::env::var("PATH").unwrap());
        let fixed = [("PATH", path), ("HOME", self.root().join("home").display().to_string())];
        let fixed = fixed.into_iter().map(|(name, value)| (name.into(), value.into()));
        fixed.chain(self.more.iter().map(|(name, value)| (name.into(), value.into()))).collect()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]);
        command.args(arguments).current_dir(&self.project).env_clear().envs(self.environment()).stderr(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.root().join("bin/runs")).map_or(0, |text| text.lines().count())
    }

    fn checks(&self) -> Typechecks {
        Typechecks::within(&self.project, self.environment()).trusting(Some(self.root().join("data")))
    }

    fn known(&self, content: Content) -> TypecheckState {
        wait(self.checks().known(&self.rules, content))
    }

    fn run(&self) -> Result<TypecheckRun, FactError> {
        wait(self.checks().run(&self.rules, 30))
    }

    #[track_caller]
    fn judges(&self, ok: bool) -> Verdict {
        match self.run() {
            Ok(TypecheckRun::Judged { verdict, unkept: None, .. }) if verdict.ok == ok => verdict,
            other => panic!("{other:?}"),
        }
    }

    fn tree(&self, content: Content) -> String {
        wait(content::tree(&self.project, content, &self.environment())).unwrap()
    }

    /// Returns the finding of the check at the exit of a phase.
    fn decide(&self) -> CheckFinding {
        let repository = Repository::within(&self.project, self.environment()).trusting(self.root().join("data"));
        let needs = Needs { typecheck: true, ..Needs::NOTHING };
        let facts = wait(repository.probe(&Claims::default(), &self.rules, needs));
        acceptance::find("typecheckPasses").unwrap().decide(&Claims::default(), &facts, &self.rules)
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn the_tree_is_that_of_the_files_and_nothing_changes() {
    let world = World::new();
    assert_eq!(world.tree(Content::Worktree), world.git(&["rev-parse", "HEAD^{tree}"]));
    world.write("a.rs", "other\n");
    world.write("new/b.rs", "new\n");
    world.write(".gitignore", "ignored\n");
    world.write("ignored", "x");
    let index = fs::read(world.project.join(".git/index")).unwrap();
    let objects = world.git(&["count-objects"]);
    let tree = world.tree(Content::Worktree);
    assert_eq!(world.tree(Content::Index), world.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(fs::read(world.project.join(".git/index")).unwrap(), index);
    assert_eq!(world.git(&["count-objects"]), objects, "the repository keeps nothing of it");
    world.git(&["add", "-A"]);
    assert_eq!(world.tree(Content::Index), tree);
    world.git(&["commit", "-q", "-m", "feat: more"]);
    assert_eq!(world.git(&["rev-parse", "HEAD^{tree}"]), tree);
    world.write("ignored", "y");
    assert_eq!(world.tree(Content::Worktree), tree);
    fs::remove_file(world.project.join("new/b.rs")).unwrap();
    assert_ne!(world.tree(Content::Worktree), tree);
}

/// The content of files that git was told to skip counts.
#[test]
fn the_tree_has_files_that_git_passes_over() {
    for flag in ["skip-worktree", "assume-unchanged"] {
        let world = World::new();
        world.write("b.rs", "another\n");
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "-m", "feat: another"]);
        let head = world.git(&["rev-parse", "HEAD^{tree}"]);
        world.git(&["update-index", &format!("--{flag}"), "a.rs"]);
        let index = fs::read(world.project.join(".git/index")).unwrap();
        assert_eq!(world.tree(Content::Worktree), head, "{flag}: it is as it was committed");
        world.write("a.rs", "other\n");
        fs::create_dir_all(world.project.join("sub")).unwrap();
        let there = wait(content::tree(&world.project.join("sub"), Content::Worktree, &world.environment())).unwrap();
        assert_eq!(fs::read(world.project.join(".git/index")).unwrap(), index, "{flag}");
        world.git(&["update-index", &format!("--no-{flag}"), "a.rs"]);
        world.git(&["add", "-A"]);
        assert_eq!(there, world.tree(Content::Index), "{flag}");
        assert_ne!(there, head, "{flag}");
        // In a sparse checkout, these files do not exist.
        world.git(&["reset", "-q", "--hard"]);
        world.git(&["update-index", "--skip-worktree", "a.rs"]);
        fs::remove_file(world.project.join("a.rs")).unwrap();
        assert_eq!(world.tree(Content::Worktree), head, "{flag}");
    }
}

#[test]
fn the_tree_of_unusual_repositories() {
    let world = World::new();
    // The index that git names as the committed one.
    world.write("a.rs", "other\n");
    let mut elsewhere = world.environment();
    elsewhere.push(("GIT_INDEX_FILE".into(), ".git/other-index".into()));
    fs::copy(world.project.join(".git/index"), world.project.join(".git/other-index")).unwrap();
    world.git(&["add", "-A"]);
    let head = world.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(wait(content::tree(&world.project, Content::Index, &elsewhere)).unwrap(), head);
    assert_ne!(world.tree(Content::Index), head);
    // A subfolder of the repository, a linked worktree, conflicts.
    world.git(&["commit", "-q", "-m", "feat: other"]);
    fs::create_dir(world.project.join("sub")).unwrap();
    let whole = world.tree(Content::Worktree);
    assert_eq!(
        wait(content::tree(&world.project.join("sub"), Content::Worktree, &world.environment())).unwrap(),
        whole
    );
    world.git(&["worktree", "add", "-q", "../linked", "HEAD~1"]);
    let linked = world.root().join("linked");
    assert_eq!(wait(content::tree(&linked, Content::Worktree, &world.environment())).unwrap(), head);
    // No commit, no files.
    let empty = world.root().join("empty");
    fs::create_dir(&empty).unwrap();
    let none = wait(content::tree(&empty, Content::Worktree, &world.environment())).unwrap_err();
    assert_eq!(none.code, "no-repository");
    Command::new("git").args(["init", "-q"]).current_dir(&empty).status().unwrap();
    let nothing = wait(content::tree(&empty, Content::Worktree, &world.environment())).unwrap();
    assert_eq!(nothing, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
}

#[test]
fn a_verdict_is_for_the_content_that_was_checked() {
    let world = World::new();
    assert_eq!(world.known(Content::Worktree), TypecheckState::Unknown);
    let verdict = world.judges(true);
    assert_eq!(verdict.tree, world.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(verdict.versions, ["Some(0) check 1.0"]);
    assert_eq!(world.known(Content::Worktree), TypecheckState::Passed);
    world.write("a.rs", "wrong\n");
    assert_eq!(world.known(Content::Worktree), TypecheckState::Unknown, "an edit makes another content");
    assert_eq!(world.known(Content::Index), TypecheckState::Passed, "what is staged is still what was checked");
    assert_eq!(world.judges(false).summary, "error: it is wrong");
    assert_eq!(world.known(Content::Worktree), TypecheckState::Failed("error: it is wrong".into()));
    world.git(&["add", "-A"]);
    assert_eq!(world.known(Content::Index), TypecheckState::Failed("error: it is wrong".into()));
    world.write("a.rs", "right\n");
    assert_eq!(world.known(Content::Worktree), TypecheckState::Passed, "back to what was checked");
    assert_eq!(world.runs(), 2);
    assert_eq!(world.git(&["status", "--porcelain"]), "MM a.rs", "verdicts are no content of the project");
}

#[test]
fn other_tools_commands_and_ages_know_nothing() {
    let mut world = World::new();
    world.judges(true);
    world.rules.typecheck.commands = Some(vec![vec!["check".into(), "less".into()]]);
    assert_eq!(world.known(Content::Worktree), TypecheckState::Unknown, "other arguments");
    world.rules.typecheck.commands = Some(vec![vec!["check".into(), "all".into()]]);
    assert_eq!(world.known(Content::Worktree), TypecheckState::Passed);
    // Another version of the same file is noticed when the tool may be run.
    fs::write(world.root().join("bin/version"), "check 2.0\n").unwrap();
    assert_eq!(world.decide().standing, CheckStatus::Holds);
    assert_eq!(world.runs(), 2);
    fs::write(world.root().join("bin/check"), format!("{CHECK}\n")).unwrap();
    assert_eq!(world.known(Content::Worktree), TypecheckState::Unknown, "another file");
    world.judges(true);
    let mut later = world.checks();
    later.clock = Clock::Still(Timestamp(Clock::System.now().0 + 100_000));
    world.rules.typecheck.max_age_seconds = Some(1_000);
    assert_eq!(wait(later.known(&world.rules, Content::Worktree)), TypecheckState::Passed);
    world.rules.typecheck.max_age_seconds = Some(10);
    assert_eq!(wait(later.known(&world.rules, Content::Worktree)), TypecheckState::Unknown);
}

#[test]
fn nothing_runs_before_a_person_allowed_it() {
    let mut world = World::untrusted();
    let refused = world.run().unwrap_err();
    assert_eq!(refused.code, "not-trusted");
    let found = world.decide();
    assert_eq!((found.standing, found.code), (CheckStatus::Unverified, "not-trusted"));
    assert_eq!(
        found.reason,
        "cannot verify: `check all` is not allowed to run in this project yet; ask a person to run `portolan trust --typecheck`"
    );
    assert_eq!(world.runs(), 0);
    world.allow();
    world.judges(true);
    world.rules.typecheck.commands = Some(vec![vec!["check".into()]]);
    assert_eq!(world.run().unwrap_err().code, "not-trusted", "other commands are allowed anew");
}

#[test]
fn the_check_of_a_phase_takes_the_verdict_or_runs_it() {
    let world = World::new();
    let found = world.decide();
    assert_eq!((found.standing, found.code), (CheckStatus::Holds, "typecheck-passed"), "{}", found.reason);
    assert_eq!(world.decide().standing, CheckStatus::Holds);
    assert_eq!(world.runs(), 1, "what is known is not asked again");
    world.write("a.rs", "wrong\n");
    let found = world.decide();
    assert_eq!((found.standing, found.code), (CheckStatus::Fails, "typecheck-failed"), "{}", found.reason);
    assert!(found.reason.contains("`error: it is wrong`"), "{}", found.reason);
    let none = World { rules: Guidelines::default(), ..World::untrusted() };
    assert_eq!(none.decide().code, "not-configured");
}

#[test]
fn no_time_left_is_no_verdict() {
    let mut world = World::new();
    world.more.push(("SLOW", "1"));
    world.rules.typecheck.timeout_seconds = 1;
    let found = world.decide();
    assert_eq!((found.standing, found.code), (CheckStatus::Fails, "not-run"), "{}", found.reason);
    assert!(matches!(wait(world.checks().run(&world.rules, 1)), Ok(TypecheckRun::TooLong)));
    assert_eq!(world.known(Content::Worktree), TypecheckState::Unknown);
}

#[test]
fn files_that_change_meanwhile_have_no_verdict() {
    let mut world = World::new();
    world.more.push(("WRITES", "1"));
    assert_eq!(world.run().unwrap_err().code, "content-changed");
    assert_eq!(world.known(Content::Worktree), TypecheckState::Unknown);
    world.write(".gitignore", "written\n");
    world.judges(true);
}

#[test]
fn a_checker_that_is_not_there_cannot_verify() {
    let mut world = World::new();
    world.rules.typecheck.commands = Some(vec![vec!["no-such-checker".into()]]);
    world.allow();
    let found = world.decide();
    assert_eq!((found.standing, found.code), (CheckStatus::Unverified, "typecheck-not-run"), "{}", found.reason);
}

#[test]
fn what_is_known_can_be_asked_anywhere() {
    let world = World::new();
    let rules = Guidelines {
        typecheck: portolan_gates::guidelines::TypecheckRules {
            commands: Some(Vec::new()),
            ..world.rules.typecheck.clone()
        },
        ..world.rules.clone()
    };
    assert_eq!(known(&world.project, &rules), TypecheckState::NotConfigured);
    assert_eq!(wait(async { known(&world.project, &world.rules) }), TypecheckState::Unknown);
    let judged = matches!(wait(world.checks().verdict(&rules)), Answer::Found(TypecheckOutcome::NotConfigured));
    assert!(judged);
}

/// Creates a branch whose commit contains `text`, with different files in the worktree.
fn committed(text: &str) -> World {
    let world = World::new();
    world.git(&["switch", "-q", "-c", "feat/x"]);
    world.write("a.rs", text);
    world.git(&["commit", "-q", "-a", "-m", "feat: x"]);
    world.write("a.rs", "right\n\n");
    world
}

#[track_caller]
fn nothing_is_left(world: &World) {
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    let left = fs::read_dir(world.project.join(".portolan/typecheck")).unwrap().count();
    assert_eq!(left, 1, "the lock alone");
}

#[test]
fn what_is_committed_is_checked_as_well_where_other_files_lie_there() {
    let world = committed("wrong\n");
    let found = world.decide();
    assert_eq!((found.standing, found.code), (CheckStatus::Fails, "typecheck-failed"), "{}", found.reason);
    assert!(found.reason.contains("on the committed files"), "{}", found.reason);
    assert_eq!(world.runs(), 2);
    nothing_is_left(&world);
    assert_eq!(world.decide().code, "typecheck-failed");
    assert_eq!(world.runs(), 2, "the verdict is kept");
    world.git(&["commit", "-q", "-a", "-m", "fix: x"]);
    assert_eq!((world.decide().standing, world.runs()), (CheckStatus::Holds, 2));
    let good = committed("right again\n");
    assert_eq!((good.decide().standing, good.runs()), (CheckStatus::Holds, 2));
    nothing_is_left(&good);
}

#[test]
fn what_an_integration_branch_has_is_not_checked_again() {
    let world = World::new();
    world.write("a.rs", "wrong\n");
    world.git(&["commit", "-q", "-a", "-m", "feat: x"]);
    world.write("a.rs", "right\n");
    world.git(&["switch", "-q", "-c", "fix/x"]);
    assert_eq!((world.decide().standing, world.runs()), (CheckStatus::Holds, 1));
}

#[test]
fn what_git_ignores_is_there_for_the_checker() {
    let mut world = committed("right again\n");
    world.write(".git/info/exclude", "/deps/\n");
    world.write("deps/x", "built");
    world.more.push(("NEEDS", "deps/x"));
    assert_eq!(world.decide().standing, CheckStatus::Holds, "{}", world.decide().reason);
    assert_eq!(
        fs::read_to_string(world.project.join("deps/x")).unwrap(),
        "built",
        "a link is removed, not what it means"
    );
    nothing_is_left(&world);
}

#[test]
fn what_a_crash_has_left_is_taken_away() {
    let world = committed("right again\n");
    for name in ["head", "older"] {
        world.git(&["worktree", "add", "-q", "--detach", &format!(".portolan/typecheck/{name}"), "HEAD"]);
    }
    world.write(".portolan/typecheck/stray/file", "x");
    assert_eq!(world.decide().standing, CheckStatus::Holds, "{}", world.decide().reason);
    nothing_is_left(&world);
    let gone = committed("right again\n");
    gone.git(&["worktree", "add", "-q", "--detach", ".portolan/typecheck/head", "HEAD"]);
    fs::remove_dir_all(gone.project.join(".portolan/typecheck/head")).unwrap();
    assert_eq!(gone.decide().standing, CheckStatus::Holds, "{}", gone.decide().reason);
    nothing_is_left(&gone);
}

#[test]
fn where_what_is_committed_cannot_be_laid_out_nothing_passes() {
    let in_the_way = committed("right again\n");
    in_the_way.write(".portolan/typecheck", "a file");
    let found = in_the_way.decide();
    assert_eq!((found.standing, found.code), (CheckStatus::Unverified, "no-worktree"), "{}", found.reason);
    let under_way = committed("right again\n");
    under_way.write(".portolan/typecheck/lock", "");
    let lock = fs::File::options().write(true).open(under_way.project.join(".portolan/typecheck/lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(under_way.decide().code, "typecheck-under-way");
    drop(lock);
    assert_eq!(under_way.decide().standing, CheckStatus::Holds);
}

#[test]
fn a_submodule_is_linked_where_it_is_as_it_was_committed() {
    let mut world = committed("right again\n");
    world.git(&["stash", "-q"]);
    let other = world.root().join("other");
    world.git(&["clone", "-q", "--no-local", ".", other.to_str().unwrap()]);
    let allow = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.to_str().unwrap(), "sub"];
    world.git(&allow);
    world.git(&["commit", "-q", "-m", "feat: sub"]);
    world.write("a.rs", "right here\n");
    world.more.push(("NEEDS", "sub/a.rs"));
    assert_eq!(world.decide().standing, CheckStatus::Holds, "{}", world.decide().reason);
    nothing_is_left(&world);
    world.write("a.rs", "right now\n");
    world.git(&["commit", "-q", "-m", "feat: here", "a.rs"]);
    world.write("a.rs", "right there\n");
    world.git(&["-C", "sub", "commit", "-q", "--allow-empty", "-m", "feat: moved"]);
    let found = world.decide();
    assert_eq!((found.standing, found.code), (CheckStatus::Unverified, "submodule-moved"), "{}", found.reason);
}

#[test]
fn variables_that_lead_programs_elsewhere_are_not_handed_on() {
    let mut world = World::new();
    world.write("a.rs", "wrong\n");
    for name in ["PYTHONPATH", "NODE_OPTIONS", "RUSTC_WRAPPER", "BASH_ENV"] {
        world.more = vec![(name, "elsewhere")];
        world.judges(false);
    }
}

#[test]
fn a_file_that_git_is_told_to_pass_over_counts_as_it_lies_there() {
    for option in ["--skip-worktree", "--assume-unchanged"] {
        let world = World::new();
        world.git(&["switch", "-q", "-c", "feat/x"]);
        world.write("a.rs", "wrong\n");
        world.git(&["commit", "-q", "-a", "-m", "feat: x"]);
        world.git(&["update-index", option, "a.rs"]);
        world.write("a.rs", "right\n");
        assert_ne!(world.tree(Content::Worktree), world.tree(Content::Index), "{option}");
        let found = world.decide();
        assert_eq!(
            (found.standing, found.code),
            (CheckStatus::Fails, "typecheck-failed"),
            "{option}: {}",
            found.reason
        );
        assert!(found.reason.contains("on the committed files"), "{option}: {}", found.reason);
        // The index itself is unchanged.
        assert!(!world.git(&["ls-files", "-v", "a.rs"]).starts_with('H'), "{option}");
    }
}
