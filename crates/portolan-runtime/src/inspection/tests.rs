//! Real repositories in a scratch folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use portolan_gates::guards::{self, Operation, Place, WorktreeHead};
use portolan_gates::{Decision, Guidelines, Intent, Tool};
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

struct Scratch {
    _folder: TempDir,
    root: PathBuf,
}

impl Scratch {
    /// A repository `repo` on `main` with one commit, and `plain`, which is none.
    fn new() -> Scratch {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let root = fs::canonicalize(folder.path()).expect("our own folder");
        let scratch = Scratch { _folder: folder, root };
        fs::create_dir_all(scratch.at("plain/deep")).expect("writable");
        scratch.made("repo");
        scratch
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn text(&self, path: &str) -> String {
        self.at(path).to_str().expect("a text").to_owned()
    }

    fn made(&self, name: &str) {
        fs::create_dir_all(self.at(name)).expect("writable");
        self.git(name, &["init", "-q", "-b", "main"]);
        self.write(&format!("{name}/src/a.rs"), "fn a() {}\n");
        self.write(&format!("{name}/.gitignore"), "build/\n*.log\n");
        self.git(name, &["add", "-A"]);
        self.git(name, &["commit", "-q", "-m", "first"]);
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    }

    /// Runs git, and says whether it succeeded.
    fn tried(&self, folder: &str, arguments: &[&str]) -> bool {
        let mut command = Command::new("git");
        command.current_dir(self.at(folder)).args(["-c", "user.name=me", "-c", "user.email=me@example.org"]);
        command.args(["-c", "protocol.file.allow=always"]).args(arguments);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
        command.output().expect("git runs").status.success()
    }

    fn git(&self, folder: &str, arguments: &[&str]) {
        assert!(self.tried(folder, arguments), "git {arguments:?}");
    }

    fn edit(&self, folder: &str, path: &str) -> InspectedCall {
        find(&intent(&self.text(folder), Tool::Edit { paths: vec![path.to_owned()] }), &Guidelines::default())
    }

    /// Where an edit lies.
    fn place(&self, folder: &str, path: &str) -> Place {
        let mut found = self.edit(folder, path);
        found.scene.places.pop_first().expect("a place").1
    }

    fn worktree(&self, folder: &str) -> Worktree {
        Worktree::clone(self.place(folder, "x").worktree.as_deref().expect("a worktree"))
    }

    fn judged(&self, folder: &str, tool: Tool) -> Decision {
        let rules = Guidelines::default();
        let intent = intent(&self.text(folder), tool);
        let mut found = find(&intent, &rules);
        found.scene.typecheck = guards::TypecheckVerdict::NotConfigured;
        let judgements = guards::judge(&intent, &found.reading, &found.scene, &rules);
        guards::overall(&judgements)
    }

    fn edited(&self, folder: &str, path: &str) -> Decision {
        self.judged(folder, Tool::Edit { paths: vec![path.to_owned()] })
    }

    fn shell(&self, folder: &str, command: &str) -> Decision {
        self.judged(folder, Tool::Shell { command: command.to_owned() })
    }
}

fn intent(folder: &str, tool: Tool) -> Intent {
    let (session, call, agent, name) = (None, None, None, "Tool".to_owned());
    Intent { session, call, agent, folder: folder.to_owned(), name, tool, arguments: Vec::new(), branch: None }
}

#[test]
fn a_branch_is_read_where_the_path_lies() {
    let scratch = Scratch::new();
    let found = scratch.worktree("repo/src");
    assert_eq!(found.root, scratch.text("repo"));
    assert_eq!((found.head, found.linked, found.bare), (WorktreeHead::Branch("main".to_owned()), false, false));
    scratch.git("repo", &["switch", "-q", "-c", "feat/42-login"]);
    assert_eq!(scratch.worktree("repo").head, WorktreeHead::Branch("feat/42-login".to_owned()));
    scratch.git("repo", &["pack-refs", "--all"]);
    assert_eq!(scratch.worktree("repo").head, WorktreeHead::Branch("feat/42-login".to_owned()));
    scratch.git("repo", &["switch", "-q", "--orphan", "fresh"]);
    assert_eq!(scratch.worktree("repo").head, WorktreeHead::Unborn("fresh".to_owned()));
    scratch.git("repo", &["switch", "-q", "--detach", "main"]);
    assert!(matches!(scratch.worktree("repo").head, WorktreeHead::Detached(oid) if oid.len() == 40));
}

#[test]
fn paths_lie_where_they_lead() {
    let scratch = Scratch::new();
    scratch.made("other");
    scratch.git("other", &["switch", "-q", "-c", "feat/1-x"]);
    scratch.made("repo-evil");
    symlink(scratch.at("other/src"), scratch.at("repo/linked")).expect("a link");
    symlink("../other/new.rs", scratch.at("repo/dangling")).expect("a link");
    symlink("/nowhere/at/all", scratch.at("repo/astray")).expect("a link");
    symlink("round", scratch.at("repo/round")).expect("a link");
    let root = |path: &str| scratch.place("repo", path).worktree.map(|found| found.root.clone());
    let inside = |path: &str| scratch.place("repo", path).inside;
    let (repo, other) = (Some(scratch.text("repo")), Some(scratch.text("other")));
    assert_eq!((root("src/a.rs"), inside("src/a.rs")), (repo.clone(), "src/a.rs".to_owned()));
    assert_eq!((root("not/yet/there"), inside("not/yet/there")), (repo.clone(), "not/yet/there".to_owned()));
    assert_eq!((root("linked/a.rs"), inside("linked/a.rs")), (other.clone(), "src/a.rs".to_owned()));
    // What is before `..` is followed first, as the system does it.
    assert_eq!((root("linked/../b.rs"), inside("linked/../b.rs")), (other.clone(), "b.rs".to_owned()));
    assert_eq!((root("dangling"), inside("dangling")), (other, "new.rs".to_owned()));
    // A link that leads out of all repositories is a file of the one that it is in.
    assert_eq!((root("astray"), inside("astray")), (repo, "astray".to_owned()));
    assert_eq!(root("../repo-evil/a.rs"), Some(scratch.text("repo-evil")));
    assert_eq!(root("../plain/deep/x"), None);
    assert_eq!(root("../plain/deep/../../plain/x"), None);
    assert!(scratch.edit("repo", "round").scene.places.is_empty(), "it leads on and on");
    assert!(scratch.edit("repo", "a\0b").scene.places.is_empty(), "no path has this character");
}

#[test]
fn another_name_of_a_file_that_holds_the_gates_is_that_file() {
    let scratch = Scratch::new();
    scratch.git("repo", &["switch", "-q", "-c", "feat/42-login"]);
    scratch.write("repo/.claude/settings.json", "{}");
    scratch.write("repo/plain.json", "{}");
    scratch.write("repo/.git/hooks/pre-push", "exit 1");
    for (file, link) in [(".claude/settings.json", "a"), (".git/hooks/pre-push", "b"), ("plain.json", "c")] {
        fs::hard_link(scratch.at("repo").join(file), scratch.at("repo").join(link)).expect("a link");
    }
    assert_eq!(scratch.place("repo", "a").inside, ".claude/settings.json");
    assert!(scratch.place("repo", "b").of_git);
    let judged = ["a", "b", "c", "plain.json"].map(|path| scratch.edited("repo", path));
    assert_eq!(judged, [Decision::Block, Decision::Block, Decision::Allow, Decision::Allow]);
    assert_eq!(scratch.shell("repo", "echo x > b"), Decision::Block);
}

#[test]
fn what_the_shell_finds_is_known_to_it() {
    let scratch = Scratch::new();
    scratch.git("repo", &["switch", "-q", "-c", "feat/42-login"]);
    let push = "git push origin \"$(git branch --show-current)\"";
    assert_eq!(scratch.shell("repo", push), Decision::Allow);
    assert_eq!(scratch.shell("repo", "echo x > $PWD/.claude/settings.json"), Decision::Block);
    assert_eq!(scratch.shell("repo", "cd .git/hooks; rm *"), Decision::Block);
    let program = std::env::current_exe().expect("this test");
    assert_eq!(scratch.shell("repo", &format!("cp x {}", program.display())), Decision::Block);
    scratch.git("repo", &["switch", "-q", "main"]);
    assert_eq!(scratch.shell("repo", push), Decision::Block);
}

/// Whoever writes the program that a gate asks, or a link to it, decides what it is answered.
#[test]
fn pinned_programs_and_the_links_to_them_are_protected() {
    let scratch = Scratch::new();
    scratch.git("repo", &["switch", "-q", "-c", "feat/42-login"]);
    scratch.write("plain/real/gh", "x");
    symlink("../real/gh", scratch.at("plain/deep/gh")).expect("a link");
    let record =
        format!(r#"{{"version":1,"files":[],"pins":{{"programs":{{"gh":"{}"}}}}}}"#, scratch.text("plain/deep/gh"));
    scratch.write("repo/.portolan/installed.json", &record);
    for name in ["plain/deep/gh", "plain/real/gh"] {
        let path = scratch.text(name);
        for command in ["rm -f", "cp a.txt", "ln -sfn /bin/true"] {
            assert_eq!(scratch.shell("repo", &format!("{command} {path}")), Decision::Block, "{command} {name}");
        }
        assert_eq!(scratch.edited("repo", &path), Decision::Block, "{name}");
    }
    assert_eq!(scratch.shell("repo", &format!("rm -f {}", scratch.text("plain/real/other"))), Decision::Allow);
}

#[test]
fn every_name_of_a_program_of_the_hooks_is_protected() {
    let scratch = Scratch::new();
    scratch.git("repo", &["switch", "-q", "-c", "feat/42-login"]);
    scratch.write("plain/1.0/portolan", "x");
    fs::create_dir_all(scratch.at("plain/bin")).expect("a folder");
    symlink("../1.0/portolan", scratch.at("plain/bin/portolan")).expect("a link");
    symlink("bin", scratch.at("plain/own")).expect("a link");
    let hook = scratch.text("plain/hooks/pre-commit");
    let record = format!(
        r#"{{"version":1,"pins":{{}},"files":[{{"host":"git","file":"{hook}","program":"{}"}}]}}"#,
        scratch.text("plain/own/portolan")
    );
    scratch.write("repo/.portolan/installed.json", &record);
    for name in
        ["plain/own/portolan", "plain/bin/portolan", "plain/1.0/portolan", "plain/own", "plain/hooks/pre-commit"]
    {
        let path = scratch.text(name);
        assert_eq!(scratch.shell("repo", &format!("ln -sfn /bin/true {path}")), Decision::Block, "{name}");
    }
    for name in ["plain/own", "plain/bin", "plain/1.0", "plain/hooks", "plain"] {
        let path = scratch.text(name);
        assert_eq!(scratch.shell("repo", &format!("mv {path} {path}2")), Decision::Block, "{name}");
        assert_eq!(scratch.shell("repo", &format!("chmod -R a-x {path}")), Decision::Block, "{name}");
    }
    for name in ["plain/bin/other", "plain/deep", "plain/1.0/x"] {
        let path = scratch.text(name);
        assert_eq!(scratch.shell("repo", &format!("rm -rf {path}")), Decision::Allow, "{name}");
    }
}

#[test]
fn what_another_tree_would_bring_into_the_index_is_asked() {
    let scratch = Scratch::new();
    scratch.git("repo", &["switch", "-q", "-c", "feat/42-login"]);
    assert_eq!(scratch.shell("repo", "git reset HEAD~2 -- .claude"), Decision::Block);
    for asked in ["git checkout HEAD~2 -- .", "git -C src restore --source=HEAD~2 ..", "git checkout feat/7-x -- src"] {
        assert_eq!(scratch.shell("repo", asked), Decision::Ask, "{asked}");
    }
    for free in
        ["git checkout HEAD~2 -- src", "git checkout main -- .", "git checkout src/a.rs src/b.rs", "git checkout ."]
    {
        assert_eq!(scratch.shell("repo", free), Decision::Allow, "{free}");
    }
}

#[test]
fn what_comes_into_the_root_of_a_worktree_is_asked() {
    let scratch = Scratch::new();
    scratch.git("repo", &["switch", "-q", "-c", "feat/42-login"]);
    scratch.write("plain/x/.claude/settings.json", "{}");
    let x = scratch.text("plain/x");
    for asked in [
        format!("cp -a {x}/. ."),
        format!("cd {x} && cp -r . \"$OLDPWD\""),
        "rm \"$(git rev-parse --git-path hooks/pre-commit)\"".to_owned(),
        "cd src && rm -rf \"$(git rev-parse --git-dir)/hooks\"".to_owned(),
    ] {
        assert_eq!(scratch.shell("repo", &asked), Decision::Ask, "{asked}");
    }
    for refused in [format!("cp -a {x}/.claude ."), format!("cp -a {x}/.[a-z]* .")] {
        assert_eq!(scratch.shell("repo", &refused), Decision::Block, "{refused}");
    }
    for free in [format!("cp -r {x} ../y"), "cp -r src lib".to_owned()] {
        assert_eq!(scratch.shell("repo", &free), Decision::Allow, "{free}");
    }
}

#[test]
fn linked_worktrees_have_heads_of_their_own() {
    let scratch = Scratch::new();
    scratch.git("repo", &["worktree", "add", "-q", "-b", "feat/42-login", "../tree"]);
    let found = scratch.worktree("tree");
    assert_eq!((found.head.clone(), found.linked), (WorktreeHead::Branch("feat/42-login".to_owned()), true));
    assert_eq!(found.common_dir, scratch.text("repo/.git"));
    assert!(scratch.place("tree", ".git").of_git);
    assert_eq!(scratch.place("repo", ".git/worktrees/tree/HEAD").worktree.as_deref(), Some(&found));
    assert_eq!(scratch.edited("tree", "src/a.rs"), Decision::Allow);
    assert_eq!(scratch.edited("tree", &scratch.text("repo/src/a.rs")), Decision::Block);
    assert_eq!(scratch.edited("repo", "../tree/src/a.rs"), Decision::Allow);
}

#[test]
fn submodules_are_repositories_of_their_own() {
    let scratch = Scratch::new();
    scratch.made("part");
    scratch.git("repo", &["submodule", "--quiet", "add", "../part", "sub"]);
    scratch.git("repo", &["switch", "-q", "-c", "feat/1-x"]);
    let found = scratch.worktree("repo/sub");
    assert_eq!((found.root, found.head), (scratch.text("repo/sub"), WorktreeHead::Branch("main".to_owned())));
    assert_eq!(scratch.edited("repo", "sub/a.rs"), Decision::Block);
    assert_eq!(scratch.edited("repo", "src/a.rs"), Decision::Allow);
    assert_eq!(scratch.edited("repo", ".git/modules/sub/config"), Decision::Block);
}

#[test]
fn what_was_begun_is_told() {
    let scratch = Scratch::new();
    scratch.git("repo", &["switch", "-q", "-c", "feat/1-x"]);
    scratch.write("repo/src/a.rs", "fn b() {}\n");
    scratch.git("repo", &["commit", "-qam", "mine"]);
    scratch.git("repo", &["switch", "-q", "main"]);
    scratch.write("repo/src/a.rs", "fn c() {}\n");
    scratch.git("repo", &["commit", "-qam", "theirs"]);
    assert!(!scratch.tried("repo", &["merge", "feat/1-x"]));
    assert_eq!(scratch.worktree("repo").operation, Some(Operation::Merge));
    scratch.git("repo", &["merge", "--abort"]);
    assert!(!scratch.tried("repo", &["cherry-pick", "feat/1-x"]));
    assert_eq!(scratch.worktree("repo").operation, Some(Operation::CherryPick));
    scratch.git("repo", &["cherry-pick", "--abort"]);
    assert!(!scratch.tried("repo", &["rebase", "feat/1-x"]));
    let found = scratch.worktree("repo");
    assert_eq!(found.operation, Some(Operation::Rebase(Some("main".to_owned()))));
    assert_eq!(found.branch(), Some("main"));
    assert!(matches!(found.head, WorktreeHead::Detached(_)));
    assert_eq!(scratch.edited("repo", "src/a.rs"), Decision::Block);
    scratch.git("repo", &["rebase", "--abort"]);
    assert_eq!(scratch.worktree("repo").operation, None);
    scratch.git("repo", &["bisect", "start"]);
    assert_eq!(scratch.worktree("repo").operation, Some(Operation::Bisect(Some("main".to_owned()))));
}

#[test]
fn bare_and_missing_repositories() {
    let scratch = Scratch::new();
    scratch.git("plain", &["init", "-q", "--bare", "-b", "main", "store.git"]);
    let found = scratch.worktree("plain/store.git");
    assert_eq!((found.bare, found.root), (true, scratch.text("plain/store.git")));
    assert_eq!(found.head, WorktreeHead::Unborn("main".to_owned()));
    assert_eq!(scratch.edited("plain", "store.git/refs/heads/main"), Decision::Block);
    assert_eq!(scratch.edited("plain", "x"), Decision::Allow);
    assert_eq!(scratch.shell("plain", "git commit -m x"), Decision::Allow);
    scratch.write("plain/fake/.git", "gitdir: ../nowhere\n");
    assert_eq!(scratch.place("plain/fake", "x").worktree, None);
}

#[test]
fn references_in_tables_are_asked_for() {
    let scratch = Scratch::new();
    if !scratch.tried("plain", &["init", "-q", "-b", "main", "--ref-format=reftable", "tables"]) {
        panic!("this git knows no reftable; the test needs git 2.45 or later");
    }
    assert_eq!(scratch.worktree("plain/tables").head, WorktreeHead::Unborn("main".to_owned()));
    scratch.git("plain/tables", &["commit", "-q", "--allow-empty", "-m", "first"]);
    assert_eq!(scratch.worktree("plain/tables").head, WorktreeHead::Branch("main".to_owned()));
    scratch.git("plain/tables", &["switch", "-q", "--detach"]);
    assert!(matches!(scratch.worktree("plain/tables").head, WorktreeHead::Detached(_)));
}

#[test]
fn ignored_files_may_be_written() {
    let scratch = Scratch::new();
    scratch.write("repo/kept.log", "x");
    scratch.git("repo", &["add", "-f", "kept.log"]);
    for path in ["build/x", "a.log", "build/--help", "src/../build/x"] {
        assert_eq!(scratch.edited("repo", path), Decision::Allow, "{path}");
    }
    for path in ["src/a.rs", "--help", "kept.log", "build/../src/a.rs", ":(glob)**"] {
        assert_eq!(scratch.edited("repo", path), Decision::Block, "{path}");
    }
    assert_eq!(scratch.shell("repo", "echo x > build/out.txt && cat build/out.txt"), Decision::Allow);
    assert_eq!(scratch.shell("repo", "echo x > build/out.txt > src/a.rs"), Decision::Block);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Git says of no path that it is ignored where it was not to be asked.
    #[test]
    fn git_is_asked_wherever_it_would_ignore(
        rules in vec(r"!?/?([abA]|\*|\?|\*\*/|\[a-b\]|\\|/){1,5}/?", 1..5),
        inner in vec(r"/?([ab]|\*){1,3}", 0..3),
        excluded in r"([abA]|\*){1,3}",
        paths in vec("[abA.]?[abA](/[abA][ab]?){0,2}", 1..20),
    ) {
        let scratch = Scratch::new();
        scratch.write("repo/.gitignore", &rules.join("\n"));
        scratch.write("repo/a/.gitignore", &inner.join("\n"));
        scratch.write("repo/.git/info/exclude", &excluded);
        let worktree = scratch.worktree("repo");
        let ignored = ask::ignored(Path::new(&worktree.root), &paths);
        for path in &paths {
            prop_assert!(!ignored.contains(path) || ignores::may_be(&worktree, path), "{path}: {rules:?}");
        }
    }
}

#[test]
fn a_file_that_the_configuration_names_is_looked_at() {
    let scratch = Scratch::new();
    let worktree = scratch.worktree("repo");
    assert!(!ignores::may_be(&worktree, "src/a.rs"));
    scratch.write("repo/mine", "src\n");
    scratch.git("repo", &["config", "core.excludesFile", "mine"]);
    assert!(ignores::may_be(&worktree, "src/a.rs"));
    scratch.git("repo", &["config", "--unset", "core.excludesFile"]);
    scratch.git("repo", &["config", "include.path", "more"]);
    assert!(ignores::may_be(&worktree, "src/a.rs"), "it may name another file");
    scratch.git("repo", &["config", "--unset", "include.path"]);
    fs::write(scratch.at("repo/src/.gitignore"), b"\xff").expect("writable");
    assert!(ignores::may_be(&worktree, "src/a.rs"), "what cannot be read may say anything");
}

#[test]
fn aliases_are_expanded() {
    let scratch = Scratch::new();
    scratch.git("repo", &["config", "alias.ci", "commit"]);
    scratch.git("repo", &["config", "alias.ship", "!git push --force origin HEAD:main"]);
    scratch.git("repo", &["config", "alias.st", "status"]);
    assert_eq!(scratch.shell("repo", "git ci -m x"), Decision::Block);
    assert_eq!(scratch.shell("repo", "git st"), Decision::Allow);
    assert_eq!(scratch.shell("plain", "git -C ../repo ci -m x"), Decision::Block);
    scratch.git("repo", &["switch", "-q", "-c", "feat/1-x"]);
    assert_eq!(scratch.shell("repo", "git ship"), Decision::Block);
    assert_eq!(scratch.shell("repo", "git st"), Decision::Allow);
}

#[test]
fn what_a_branch_follows_is_read() {
    let scratch = Scratch::new();
    scratch.git("plain", &["clone", "-q", "../repo", "copy"]);
    let copy = scratch.worktree("plain/copy");
    assert_eq!(copy.remotes, ["origin"]);
    assert_eq!(copy.upstreams.get("main"), Some(&("origin".to_owned(), "main".to_owned())));
    assert_eq!(scratch.shell("plain/copy", "git pull --ff-only"), Decision::Allow);
    assert_eq!(scratch.shell("plain/copy", "git merge --ff-only origin/main"), Decision::Allow);
    assert_eq!(scratch.shell("plain/copy", "git merge evil/main"), Decision::Block);
    scratch.git("plain/copy", &["switch", "-q", "-c", "feat/1-x", "origin/main"]);
    let followed = scratch.worktree("plain/copy").upstreams;
    assert_eq!(followed.get("feat/1-x"), Some(&("origin".to_owned(), "main".to_owned())));
}

#[test]
fn messages_are_read_from_their_files() {
    let scratch = Scratch::new();
    scratch.git("repo", &["switch", "-q", "-c", "feat/1-x"]);
    scratch.write("repo/build/good.txt", "fix: it (#1)\n");
    scratch.write("repo/build/bad.txt", "fix: it\n");
    assert_eq!(scratch.shell("repo", "git commit -F build/good.txt"), Decision::Allow);
    assert_eq!(scratch.shell("repo", "git commit -F build/bad.txt"), Decision::Block);
    assert_eq!(scratch.shell("repo", "git commit -F /dev/zero"), Decision::Allow);
}

#[test]
fn every_wanted_path_is_looked_at() {
    let scratch = Scratch::new();
    let found = find(
        &intent(
            &scratch.text("repo"),
            Tool::Shell { command: "cd src && tee a ../b > /x < c && git -C .. add .".into() },
        ),
        &Guidelines::default(),
    );
    assert!(found.wanted.paths.iter().chain(&found.wanted.folders).all(|path| found.scene.places.contains_key(path)));
    assert_eq!(found.wanted.paths.len(), 3);
    assert!(Path::new(&scratch.text("repo")).is_absolute());
}
