//! Snapshots of real repositories, and what checks say of them. `gh` is a script that answers from files and records how
//! it was called.
#![cfg(unix)]
#![expect(clippy::expect_used, reason = "a test that cannot prepare its repository has failed")]

mod forge;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use portolan_gates::acceptance::{CHECKS, CheckFinding, CheckStatus, find};
use portolan_gates::facts::{Answer, Claims, Facts, Needs, Tree};
use portolan_gates::guidelines::{Forge, IssueProvider};
use portolan_gates::{Guidelines, names};
use portolan_runtime::repository::Repository;

const GH: &str = r#"#!/bin/sh
here=$(dirname "$0")
printf '%s\n' "$@" >> "$here/argv"
[ -n "$GH_REPO$GIT_DIR" ] && echo redirected >> "$here/argv"
cat "$here/$1.json"
cat "$here/$1.err" >&2
exit "$(cat "$here/$1.status")"
"#;

struct World {
    folder: tempfile::TempDir,
    project: PathBuf,
    claims: Claims,
    rules: Guidelines,
}

impl World {
    /// A repository with one commit on `main`, which its remote has, and one on the claimed branch.
    fn new() -> World {
        let world = World::empty();
        world.git(&["init", "-q", "-b", "main"]);
        world.commit("chore: begin");
        world.git(&["remote", "add", "origin", "https://github.com/o/r.git"]);
        world.git(&["update-ref", "refs/remotes/origin/main", "main"]);
        world.git(&["switch", "-q", "-c", "feat/auth"]);
        world.write("specs/a.md", "# A\n\n#42\n");
        world.git(&["add", "."]);
        world.commit("feat: add it\n\nRefs #42");
        world
    }

    fn empty() -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let project = root.join("project");
        for name in ["project", "home", "bin"] {
            fs::create_dir(root.join(name)).expect("a folder");
        }
        let gh = root.join("bin/gh");
        fs::write(&gh, GH).expect("a script");
        fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).expect("it may run");
        let claims = Claims {
            issue: Some(42),
            branch: Some("feat/auth".into()),
            spec_path: Some("specs/a.md".into()),
            pull_request: Some(7),
            ..Claims::default()
        };
        let mut rules = Guidelines::default();
        rules.specs.required = true;
        World { folder, project, claims, rules }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there")
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = format!("{}:{}", self.root().join("bin").display(), std::env::var("PATH").expect("a path"));
        let pairs = [
            ("PATH", path),
            ("HOME", self.root().join("home").display().to_string()),
            // Both would lead elsewhere.
            ("GIT_DIR", "/nonexistent".to_owned()),
            ("GH_REPO", "evil/repo".to_owned()),
        ];
        pairs.map(|(name, value)| (name.into(), value.into())).to_vec()
    }

    fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"]);
        command.args(["-c", "commit.gpgsign=false"]).args(arguments).current_dir(folder);
        command.envs(self.environment()).env_remove("GIT_DIR").env("GIT_EDITOR", "true").stderr(Stdio::null());
        command
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.command(&self.project, arguments).output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    fn commit(&self, message: &str) {
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn gh(&self, noun: &str, status: i32, answer: &str, complaint: &str) {
        for (ending, text) in [("json", answer), ("err", complaint), ("status", &status.to_string())] {
            fs::write(self.root().join(format!("bin/{noun}.{ending}")), text).expect("written");
        }
    }

    fn issue(&self, state: &str, kind: &str) {
        let url = format!("https://github.com/o/r/{kind}/42");
        self.gh("issue", 0, &format!(r#"{{"number":42,"state":"{state}","title":"Auth","url":"{url}"}}"#), "");
    }

    fn request(&self, state: &str, oid: &str, fork: bool) {
        let answer = format!(
            r#"{{"number":7,"state":"{state}","isDraft":false,"headRefName":"feat/auth","headRefOid":"{oid}",
            "baseRefName":"main","isCrossRepository":{fork},"url":"https://github.com/o/r/pull/7","mergedAt":null,
            "mergeable":"MERGEABLE","statusCheckRollup":null}}"#
        );
        self.gh("pr", 0, &answer, "");
    }

    fn repository(&self) -> Repository {
        Repository::within(&self.project, self.environment()).pausing(Duration::ZERO)
    }

    fn look(&self, needs: Needs) -> Facts {
        self.look_with(&self.claims, needs)
    }

    fn look_with(&self, claims: &Claims, needs: Needs) -> Facts {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(self.repository().probe(claims, &self.rules, needs))
    }

    fn decide(&self, id: &str) -> CheckFinding {
        let kind = find(id).expect("it is a check");
        kind.decide(&self.claims, &self.look(kind.needs), &self.rules)
    }

    #[track_caller]
    fn is(&self, id: &str, standing: CheckStatus, code: &str) {
        let finding = self.decide(id);
        assert_eq!((finding.standing, finding.code), (standing, code), "{}", finding.reason);
    }
}

fn local() -> Needs {
    Needs { commits: true, tree: true, spec: true, tripwire: true, ..Needs::NOTHING }
}

use CheckStatus::{Fails, Holds, Unverified};

#[test]
fn work_that_is_in_order_passes() {
    let world = World::new();
    world.issue("OPEN", "issues");
    world.request("OPEN", &world.git(&["rev-parse", "HEAD"]), false);
    for (id, code) in [
        ("trackingIssueExists", "issue-exists"),
        ("branchMatchesPrefix", "prefix-matches"),
        ("specFileExistsIfRequired", "spec-exists"),
        ("conventionalCommitFormat", "commits-hold"),
        ("commitsReferenceIssue", "commits-hold"),
        ("prOpenedBeforeIdle", "pull-request-open"),
        ("pull-request", "pull-request-ready"),
        ("treeIsSettled", "clean"),
        ("noTampering", "untouched"),
    ] {
        world.is(id, Holds, code);
    }
    world.is("pullRequestMerged", Fails, "not-merged");
    let asked = fs::read_to_string(world.root().join("bin/argv")).expect("gh was called");
    assert!(
        asked.starts_with("issue\nview\n42\n--json\nnumber,state,title,url\n--repo\no/r\npr\nview\n7\n"),
        "{asked}"
    );
    assert!(!asked.contains("redirected"));
}

#[test]
fn only_what_is_needed_is_asked() {
    let world = World::new();
    let facts = world.look(Needs::NOTHING);
    assert_eq!((facts.commits, facts.tree, facts.issue), (Answer::NotAsked, Answer::NotAsked, Answer::NotAsked));
    assert!(!world.root().join("bin/argv").exists());
    assert_eq!(facts.repository.as_deref(), Some("o/r"));
}

#[test]
fn places_without_a_worktree_are_told() {
    let world = World::empty();
    for kind in CHECKS.iter().filter(|kind| kind.id != "trackingIssueExists") {
        world.is(kind.id, Unverified, "no-repository");
    }
    world.git(&["init", "-q", "--bare"]);
    world.is("branchMatchesPrefix", Unverified, "bare");
}

#[test]
fn an_unborn_branch_has_a_name_and_no_commits() {
    let world = World::empty();
    world.git(&["init", "-q", "-b", "feat/auth"]);
    world.is("branchMatchesPrefix", Holds, "prefix-matches");
    world.is("conventionalCommitFormat", Fails, "nothing-committed");
}

#[test]
fn a_detached_head_and_a_rebase_are_no_branch() {
    let world = World::new();
    world.git(&["checkout", "-q", "--detach"]);
    world.is("branchMatchesPrefix", Fails, "detached-head");
    world.git(&["switch", "-q", "feat/auth"]);
    let status =
        world.command(&world.project, &["rebase", "-q", "--exec", "false", "main~0"]).stdout(Stdio::null()).status();
    assert!(!status.expect("git runs").success());
    world.is("branchMatchesPrefix", Fails, "operation-in-progress");
    world.is("treeIsSettled", Fails, "operation-in-progress");
}

#[test]
fn conflicts_are_told() {
    let world = World::new();
    world.git(&["switch", "-q", "-c", "feat/other", "main"]);
    world.write("specs/a.md", "# B\n");
    world.git(&["add", "."]);
    world.commit("feat: other");
    let merge = world.command(&world.project, &["merge", "-q", "feat/auth"]).stdout(Stdio::null()).status();
    assert!(!merge.expect("git runs").success());
    world.is("treeIsSettled", Fails, "unmerged");
    assert_eq!(world.look(local()).operation, Some("merge"));
}

#[test]
fn a_linked_worktree_and_a_submodule_are_looked_at_for_themselves() {
    let mut world = World::new();
    let linked = world.root().join("linked");
    world.git(&["worktree", "add", "-q", "-b", "fix/linked", linked.to_str().unwrap(), "main"]);
    let superproject = std::mem::replace(&mut world.project, linked);
    world.claims.branch = Some("fix/linked".into());
    world.is("branchMatchesPrefix", Holds, "prefix-matches");
    world.project = superproject.clone();
    world.is("branchMatchesPrefix", Fails, "another-branch");

    world.git(&["submodule", "--quiet", "add", superproject.to_str().unwrap(), "sub"]);
    world.project = superproject.join("sub");
    world.claims.branch = Some("feat/auth".into());
    world.is("branchMatchesPrefix", Holds, "prefix-matches");
    world.git(&["switch", "-q", "-c", "feat/in-sub"]);
    world.is("branchMatchesPrefix", Fails, "another-branch");
}

#[test]
fn the_nearest_of_several_integration_branches_is_the_base() {
    let mut world = World::new();
    world.rules.integration.push("release/*".into());
    world.git(&["switch", "-q", "-c", "release/1.0", "main"]);
    world.commit("not conventional");
    world.git(&["switch", "-q", "-c", "fix/it"]);
    world.commit("fix: mend it\n\nRefs #42");
    world.claims.branch = Some("fix/it".into());
    world.is("conventionalCommitFormat", Holds, "commits-hold");
    world.claims.branch = Some("release/1.0".into());
    world.git(&["switch", "-q", "release/1.0"]);
    world.is("branchMatchesPrefix", Fails, "integration-branch");
}

/// What guards protect as an integration branch is one for the checks as well: also further down, and in capitals.
#[test]
fn a_star_in_the_name_of_an_integration_branch_stands_for_everything() {
    for (pattern, branch) in [("release/*", "release/2/hotfix"), ("rel*", "release/2"), ("release/*", "Release/1")] {
        let mut world = World::new();
        world.rules.integration.push(pattern.into());
        world.git(&["switch", "-q", "-c", branch, "main"]);
        world.claims.branch = Some(branch.into());
        world.is("branchMatchesPrefix", Fails, "integration-branch");
        world.commit("not conventional");
        world.git(&["switch", "-q", "-c", "fix/it"]);
        world.commit("fix: mend it\n\nRefs #42");
        world.claims.branch = Some("fix/it".into());
        world.is("conventionalCommitFormat", Holds, "commits-hold");
    }
}

#[test]
fn the_base_is_the_one_that_git_tells_whatever_was_merged_since() {
    let world = World::new();
    let is_base = |what: &str| {
        let told = world.git(&["merge-base", "HEAD", "origin/main"]);
        assert_eq!(world.look(local()).base, Answer::Found(told), "{what}");
    };
    is_base("one beginning");
    for round in 0..2 {
        world.git(&["switch", "-q", "main"]);
        world.commit("chore: go on elsewhere");
        world.git(&["update-ref", "refs/remotes/origin/main", "main"]);
        world.git(&["switch", "-q", "feat/auth"]);
        world.git(&["merge", "-q", "--no-ff", "-m", "catch up", "main"]);
        world.commit("feat: go on here #42");
        is_base(&format!("caught up {round} times before"));
    }
    world.git(&["reset", "-q", "--hard", "origin/main"]);
    is_base("nothing of its own");
}

#[test]
fn without_common_history_or_integration_nothing_passes() {
    let world = World::new();
    world.git(&["checkout", "-q", "--orphan", "alone"]);
    world.commit("feat: alone #42");
    world.git(&["branch", "-q", "-D", "feat/auth"]);
    world.git(&["branch", "-q", "-m", "feat/auth"]);
    world.is("conventionalCommitFormat", Fails, "no-common-history");
    world.git(&["branch", "-q", "-D", "main"]);
    world.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    world.is("conventionalCommitFormat", Unverified, "no-integration");
}

#[test]
fn merges_reverts_and_fixups_are_passed_over_and_nothing_hides_a_commit() {
    let world = World::new();
    world.git(&["revert", "--no-edit", "HEAD"]);
    world.commit("fixup! feat: add it");
    world.git(&["switch", "-q", "-c", "feat/side", "main"]);
    world.commit("feat: side #42");
    world.git(&["switch", "-q", "feat/auth"]);
    world.git(&["merge", "-q", "--no-ff", "-m", "anything goes", "feat/side"]);
    world.is("conventionalCommitFormat", Holds, "commits-hold");
    world.is("commitsReferenceIssue", Holds, "commits-hold");

    world.commit("bad one");
    world.commit("bad two");
    let (bad, good) = (world.git(&["rev-parse", "HEAD"]), world.git(&["rev-parse", "HEAD~2"]));
    assert_eq!(world.decide("conventionalCommitFormat").violations.len(), 2);
    world.git(&["replace", &bad, &good]);
    assert_eq!(world.decide("conventionalCommitFormat").violations.len(), 2, "a replaced object hides nothing");
}

#[test]
fn specifications_are_files_that_git_keeps() {
    let mut world = World::new();
    let id = "specFileExistsIfRequired";
    let mut claim = |path: &str, standing: CheckStatus, code: &str| {
        world.claims.spec_path = Some(path.to_owned());
        let finding = world.decide(id);
        assert_eq!((finding.standing, finding.code), (standing, code), "{path}: {}", finding.reason);
    };
    claim("specs/*.md", Holds, "spec-exists");
    claim("specs/none.md", Fails, "spec-missing");
    claim("specs", Fails, "not-a-file");
    claim("specs/../specs/a.md", Fails, "outside");
    claim("--help", Fails, "outside");
    world.write("new.md", "# new");
    world.write(".gitignore", "ignored.md\n");
    world.write("ignored.md", "# ignored");
    fs::write(world.root().join("outside.md"), "# outside").expect("written");
    symlink("../outside.md", world.project.join("link.md")).expect("linked");
    symlink("new.md", world.project.join("to-new.md")).expect("linked");
    symlink("specs/a.md", world.project.join("inside.md")).expect("linked");
    world.write("specs/b.md", " \n");
    world.write("odd [*].md", "# odd");
    world.git(&["add", "link.md", "to-new.md", "inside.md", "specs/b.md", ":(literal)odd [*].md"]);
    let mut claim = |path: &str, standing: CheckStatus, code: &str| {
        world.claims.spec_path = Some(path.to_owned());
        world.is(id, standing, code);
    };
    claim("new.md", Fails, "untracked");
    claim("ignored.md", Fails, "ignored");
    claim("link.md", Fails, "outside");
    claim("to-new.md", Fails, "untracked");
    claim("inside.md", Holds, "spec-exists");
    claim("specs/b.md", Fails, "blank");
    claim("specs/*.md", Fails, "ambiguous");
    claim("odd [*].md", Holds, "spec-exists");
}

#[test]
fn what_is_left_and_what_went_past_the_guards_is_counted() {
    let world = World::new();
    world.write("specs/a.md", "# changed\n");
    world.write("new", "");
    world.write("staged", "");
    world.git(&["add", "staged"]);
    let expected = Tree { staged: 1, unstaged: 1, untracked: 1, unmerged: 0 };
    assert_eq!(world.look(local()).tree, Answer::Found(expected));
    let tree = world.git(&["rev-parse", "main^{tree}"]);
    let commit = world.git(&["commit-tree", "-p", "main", "-m", "sneaked in", &tree]);
    world.git(&["update-ref", "refs/heads/main", &commit]);
    world.is("noTampering", Fails, "ahead-of-remote");
    world.git(&["config", "core.hooksPath", "/dev/null"]);
    world.is("noTampering", Fails, "hooks-path");
}

#[test]
fn commits_that_no_hook_has_seen_are_traces() {
    let world = World::new();
    let id = "noTampering";
    world.write(".git/info/exclude", ".portolan\n");
    world.write("hook", "#!/bin/sh\n");
    world.commit("feat: before anything was installed #42");
    let digest = portolan_runtime::trust::Digest::of("#!/bin/sh\n");
    let installed = |digest: &str| {
        let hook = world.project.join(".git/hooks/post-commit");
        format!(r#"{{"files":[{{"host":"git","file":"{}","digest":"{digest}","created":true}}]}}"#, hook.display())
    };
    world.write(".git/hooks/post-commit", "#!/bin/sh\n");
    let runs = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.project.join(".git/hooks/post-commit"), runs).expect("it may run");
    world.write(".portolan/installed.json", &installed(digest.as_str()));
    let later = fs::File::options().write(true).open(world.project.join(".portolan/installed.json")).expect("there");
    later.set_modified(std::time::SystemTime::now() + Duration::from_secs(3_600)).expect("set");
    world.is(id, Holds, "untouched");
    later.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("set");
    world.is(id, Fails, "unseen-commits");
    for oid in world.git(&["rev-list", "HEAD"]).lines() {
        let data = serde_json::json!({ "toolName": "git post-commit", "commit": oid, "host": "git" });
        let log = portolan_runtime::audit::Log::of_project(&world.project).expect("a log");
        let entry = portolan_runtime::audit::LogEntry::of(portolan_runtime::audit::Kind::ToolInvoked, data);
        log.append(&[entry], portolan_runtime::audit::Durability::Synced).expect("on record");
    }
    world.is(id, Holds, "untouched");
    world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "feat: past the hooks #42"]);
    world.is(id, Fails, "unseen-commits");
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.is(id, Holds, "untouched");
    let made = world.git(&["commit-tree", "-p", "HEAD", "-m", "feat: without git commit #42", "HEAD^{tree}"]);
    world.git(&["update-ref", "HEAD", made.trim()]);
    world.is(id, Fails, "unseen-commits");
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.is(id, Holds, "untouched");
    world.write(".git/hooks/post-commit", "#!/bin/sh\nexit 0\n");
    world.is(id, Fails, "guards-altered");
    // Which git is to be asked is not known then, so that nothing else is either.
    world.write(".portolan/installed.json", "noise");
    world.is(id, Unverified, "program-gone");
}

#[test]
fn names_are_judged_as_git_judges_them_and_are_never_options() {
    let world = World::new();
    for name in [
        "feat/a",
        "feat/a.+(b)[x",
        "a..b",
        "-x",
        "--help",
        "a b",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "a[b",
        "a\\b",
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.lock",
        "a.lock/b",
        "a.",
        "@",
        "a@{b",
        "a@b",
        "HEAD",
        "ü/ñ",
        "a\u{7f}",
        "a\tb",
        "feat/(x)+$|",
        "@{-1}",
        "",
    ] {
        let git = world.command(&world.project, &["check-ref-format", "--branch", name]).stdout(Stdio::null()).status();
        let git = git.expect("git runs").success();
        // Git resolves these: the head, and the branch before this one. They are no names.
        let expected = git && !matches!(name, "@" | "@{-1}");
        assert_eq!(names::is_branch(name), expected, "{name:?}");
    }
    let before = tree(&world.project);
    for hostile in
        ["--output=evil", "-h", "--exec=touch evil", "--upload-pack=touch evil", "; touch evil", "$(touch evil)"]
    {
        let claims = Claims {
            branch: Some(hostile.into()),
            spec_path: Some(hostile.into()),
            branch_prefix: Some(hostile.into()),
            ..world.claims.clone()
        };
        let facts = world.look_with(&claims, local());
        assert_eq!(facts.trouble, None, "{hostile}");
        assert_eq!(facts.branch, None);
        let mut odd = World::new();
        odd.rules.integration = vec![hostile.into(), "main".into()];
        assert!(matches!(odd.look(local()).commits, Answer::Found(commits) if commits.len() == 1), "{hostile}");
    }
    assert!(before == tree(&world.project), "nothing was written");
}

#[test]
fn looking_changes_nothing() {
    let world = World::new();
    world.write("specs/a.md", "# A\n\n#42\n");
    world.write("new", "");
    world.issue("OPEN", "issues");
    world.request("OPEN", &world.git(&["rev-parse", "HEAD"]), false);
    let before = tree(&world.project);
    let all = CHECKS.iter().fold(Needs::NOTHING, |needs, kind| needs.and(kind.needs));
    assert_eq!(world.look(all).trouble, None);
    assert!(before == tree(&world.project), "the index, the refs and the files are the same");
}

/// Every file below a folder, and what it holds.
fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).expect("it can be read").map(|entry| entry.expect("an entry")) {
            match entry.file_type().expect("a type").is_dir() {
                true => left.push(entry.path()),
                false => found.push((entry.path(), fs::read(entry.path()).unwrap_or_default())),
            }
        }
    }
    found.sort();
    found
}
