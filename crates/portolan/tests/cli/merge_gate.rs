//! `portolan merge-gate`, over real repositories.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use expect_test::expect;
use portolan_runtime::audit::{Filter, Line, read};
use serde_json::Value;

use crate::support::Project;

const POLICY: &str = "zones:
  kernel: {paths: [\"src/engine/**\"], require: human-review}
  rest: {paths: [\"**\"], require: gate-pass}
";

/// A repository whose `main` has a little, and a branch `work` that is checked out.
struct Repository(Project);

impl Repository {
    fn new() -> Repository {
        let repository = Repository(Project::new());
        repository.git("init --quiet --initial-branch=main");
        repository.0.write("src/a.rs", "pub fn one() {}\n\n#[test]\nfn adds() {\n    assert_eq!(1, 1);\n}\n");
        repository.0.write("src/b.rs", "pub fn two() {\n    three();\n    four();\n}\n");
        repository.0.write("src/engine/c.rs", "fn inner() {}\n");
        repository.0.write(".portolan/merge-policy.yaml", POLICY);
        repository.commit("feat: begin");
        repository.git("checkout --quiet -b work");
        repository
    }

    fn git(&self, line: &str) {
        self.git_with(&line.split_whitespace().collect::<Vec<_>>());
    }

    fn git_with(&self, words: &[&str]) {
        let mut git = Command::new("git");
        git.args(words).current_dir(self.0.path());
        for (name, value) in
            [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_DEFAULT_HASH", "sha1")]
        {
            git.env(name, value);
        }
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "ann").env(format!("GIT_{role}_EMAIL"), "ann@example.com");
            git.env(format!("GIT_{role}_DATE"), "2026-01-01T00:00:00Z");
        }
        let done = git.output().expect("git is there");
        assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn commit(&self, message: &str) {
        self.git("add --all --force -- src .portolan/merge-policy.yaml");
        self.git_with(&["commit", "--quiet", "--allow-empty", "-m", message]);
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.0.path().join(path)).expect("it is there");
    }

    fn gate(&self, more: &str) -> String {
        self.0.says(&format!("merge-gate --base main --head work {more}"))
    }

    /// The same with a program called `gh` that prints this.
    fn gate_with_forge(&self, answer: &str) -> String {
        self.0.write("bin/gh", format!("#!/bin/sh\ncat <<'END'\n{answer}\nEND\n"));
        let gh = self.0.path().join("bin/gh");
        std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        let path =
            format!("{}:{}", gh.parent().expect("a folder").display(), std::env::var("PATH").expect("it is set"));
        let mut command = self.0.command(&["merge-gate", "--base", "main", "--head", "work", "--pr", "7"]);
        self.0.output_text(&command.env("PATH", path).output().expect("the binary starts"))
    }

    fn head(&self) -> String {
        let said =
            Command::new("git").args(["rev-parse", "work"]).current_dir(self.0.path()).output().expect("git is there");
        String::from_utf8(said.stdout).expect("it is text").trim().to_owned()
    }
}

#[test]
fn what_is_removed_without_a_word_blocks() {
    let repository = Repository::new();
    repository.0.write("src/a.rs", "pub fn one() {}\n");
    repository.remove("src/b.rs");
    repository.commit("fix: make the tests pass");
    expect![[r#"
        it may not be merged: ff99a00..1abb9cc, a fix, 0% of its removals announced
        block  src/a.rs:4  the test `adds` is removed, which is not announced
        block  src/b.rs:1  `src/b.rs` is deleted, which is not announced
        exit: 1
    "#]]
    .assert_eq(&repository.gate(""));
    expect![[r#"
        {
          "base": "ff99a00e7bf4fd3218a04122dc8629320ec08abd",
          "head": "1abb9cc8dbd7422ed649a8c2ea774613280f600d",
          "ruling": {
            "verdict": "block",
            "score": 0.0,
            "shape": "fix",
            "reasons": [
              {
                "verdict": "block",
                "code": "unannounced",
                "message": "the test `adds` is removed, which is not announced",
                "path": "src/a.rs",
                "line": 4
              },
              {
                "verdict": "block",
                "code": "unannounced",
                "message": "`src/b.rs` is deleted, which is not announced",
                "path": "src/b.rs",
                "line": 1
              }
            ],
            "zones": {
              "rest": {
                "require": "gate-pass",
                "files": 2,
                "lines": 9
              }
            },
            "autoMerge": false
          }
        }
        exit: 1
    "#]]
    .assert_eq(&repository.gate("--format json"));
    expect![[r#"
        **Merge gate: it may not be merged: ff99a00..1abb9cc, a fix, 0% of its removals announced**

        | | where | what |
        |---|---|---|
        | block | src/a.rs:4 | the test `adds` is removed, which is not announced |
        | block | src/b.rs:1 | `src/b.rs` is deleted, which is not announced |
        exit: 1
    "#]]
    .assert_eq(&repository.gate("--report md"));
    let sarif = repository.gate("--report sarif");
    let sarif: Value = serde_json::from_str(sarif.rsplit_once("exit: 1\n").expect("it blocks").0).expect("it is JSON");
    let first = &sarif["runs"][0]["results"][0];
    assert_eq!(first["level"], "error");
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!((&place["artifactLocation"]["uri"], &place["region"]["startLine"]), (&"src/a.rs".into(), &4.into()));
    let log = read(&repository.0.path().join(".portolan/flow-events.jsonl"), &Filter::default()).expect("it is there");
    let lines: Vec<Line> = log.map(|line| line.expect("it can be read")).collect();
    assert_eq!(lines.len(), 4, "every ruling is on record");
    assert!(lines.iter().all(|line| line.kind == "merge.gate.verdict" && line.data["verdict"] == "block"));
    assert_eq!(lines[0].data["head"], repository.head().as_str());
}

#[test]
fn what_is_announced_passes() {
    let repository = Repository::new();
    repository.0.write("src/a.rs", "pub fn one() {}\n");
    repository.remove("src/b.rs");
    repository.commit("fix: less\n\nRemoves: src/b.rs");
    repository.0.write("intent.md", "# Why\n\n## Removals\n\n* the test `adds`, which tests nothing\n");
    expect![[r#"
        it may be merged: ff99a00..7750026, a fix, 100% of its removals announced
        exit: 0
    "#]]
    .assert_eq(&repository.gate("--intent intent.md"));
    assert!(repository.gate("").ends_with("exit: 1\n"), "the test was announced there alone");
}

#[test]
fn a_rename_and_what_the_base_did_meanwhile_remove_nothing() {
    let repository = Repository::new();
    repository.git_with(&["mv", "src/b.rs", "src/ü b.rs"]);
    repository.commit("chore: a better name");
    repository.git("checkout --quiet main");
    repository.0.write("src/new.rs", "pub fn new() {}\n");
    repository.commit("feat: meanwhile");
    expect![[r#"
        it may be merged: 0824820..e9fe3e9, a chore, 100% of its removals announced
        exit: 0
    "#]]
    .assert_eq(&repository.gate(""));
}

#[test]
fn the_policy_is_that_of_the_base() {
    let repository = Repository::new();
    repository.0.write(".portolan/merge-policy.yaml", "zones:\n  all: {paths: [\"**\"], require: gate-pass}\n");
    repository.0.write("src/engine/c.rs", "fn inner() -> u8 { 1 }\n");
    repository.commit("feat: weaker");
    expect![[r#"
        a person decides: ff99a00..7f37919, a feature, 100% of its removals announced
        review  .portolan/merge-policy.yaml:1  `.portolan/merge-policy.yaml` belongs to the zone `guards`, and this commit has not been approved by anyone else
        review  src/engine/c.rs:1              `src/engine/c.rs` belongs to the zone `kernel`, and this commit has not been approved by anyone else
        exit: 3
    "#]].assert_eq(&repository.gate(""));
    repository.git("checkout --quiet main");
    repository.0.write(".portolan/merge-policy.yaml", "zones:\n  all: {path: [\"**\"]}\n");
    repository.commit("chore: spoilt");
    expect![[r#"
        stderr: error[missing-field]: zone `all` has no `paths`, so nothing belongs to it
        stderr:  --> .portolan/merge-policy.yaml:2:3
        stderr:   |
        stderr: 2 |   all: {path: ["**"]}
        stderr:   |   ^^^
        stderr: 
        stderr: error[unknown-field]: zone `all` has no `path`
        stderr:  --> .portolan/merge-policy.yaml:2:9
        stderr:   |
        stderr: 2 |   all: {path: ["**"]}
        stderr:   |         ^^^^
        stderr:   |
        stderr: help: did you mean `paths`?
        stderr: 
        stderr: error: the merge policy of the base commit has faults
        stderr: help: fix it there first: the policy of the branch is not used
        exit: 2
    "#]]
    .assert_eq(&repository.gate(""));
    expect![[r#"
        stderr: {"error":"bad_policy","message":"the merge policy of the base commit has faults: .portolan/merge-policy.yaml:2:3: zone `all` has no `paths`, so nothing belongs to it; .portolan/merge-policy.yaml:2:9: zone `all` has no `path`","help":"fix it there first: the policy of the branch is not used"}
        exit: 2
    "#]].assert_eq(&repository.gate("--format json"));
}

#[test]
fn another_persons_review_of_this_commit_counts() {
    let repository = Repository::new();
    repository.0.write("src/engine/c.rs", "fn inner() -> u8 { 1 }\n");
    repository.commit("fix: inner");
    let head = repository.head();
    let answer = |by: &str, state: &str, commit: &str, head: &str| {
        format!(
            r#"{{"number":7,"title":"fix: inner","body":"x","author":{{"login":"ann"}},"headRefOid":"{head}","reviews":[{{"author":{{"login":"{by}"}},"state":"{state}","commit":{{"oid":"{commit}"}}}}]}}"#
        )
    };
    let passes = |answer: &str| repository.gate_with_forge(answer).ends_with("exit: 0\n");
    assert!(passes(&answer("bob", "APPROVED", &head, &head)));
    assert!(!passes(&answer("ann", "APPROVED", &head, &head)), "nobody approves of their own");
    assert!(!passes(&answer("bob", "APPROVED", &"0".repeat(40), &head)), "it was of another commit");
    assert!(!passes(&answer("bob", "COMMENTED", &head, &head)), "a comment approves of nothing");
    expect![[r#"
        stderr: error: the head of the pull request 7 is the commit 0000000000000000000000000000000000000000, not 9c3b143056d00ce67d7473dc59816e852dfa5c19
        stderr: help: push first, or name its commit with `--head`
        exit: 2
    "#]].assert_eq(&repository.gate_with_forge(&answer("bob", "APPROVED", &head, &"0".repeat(40))));
    expect![[r#"
        stderr: error: what people said about the pull request 7 cannot be verified: `gh` did not answer with JSON: expected ident at line 1 column 2
        stderr: help: install `gh` and log in with `gh auth login`, or leave `--pr` out
        exit: 2
    "#]].assert_eq(&repository.gate_with_forge("not logged in"));
    let without = |field: &str| {
        let answer: serde_json::Value = serde_json::from_str(&answer("bob", "APPROVED", &head, &head)).expect("JSON");
        let left = answer.as_object().expect("an object").iter().filter(|(name, _)| *name != field);
        let left: serde_json::Map<String, serde_json::Value> =
            left.map(|(name, value)| (name.clone(), value.clone())).collect();
        repository.gate_with_forge(&serde_json::Value::Object(left).to_string())
    };
    for field in ["author", "headRefOid", "number"] {
        let said = without(field);
        assert!(said.contains(&format!("(missing field `{field}`)")) && said.contains("help: update `gh`"), "{said}");
    }
}

#[test]
fn what_the_repository_would_have_git_run_is_not_run() {
    let repository = Repository::new();
    repository.0.write("src/b.rs", "pub fn other() {}\n");
    repository.commit("fix: x");
    for setting in ["diff.external", "core.fsmonitor", "diff.x.textconv", "core.pager"] {
        repository.git_with(&["config", setting, "touch ran; false"]);
    }
    repository.0.write(".git/info/attributes", "*.rs diff=x\n");
    assert!(repository.gate("").contains("the public name `two` is removed"));
    assert!(!repository.0.path().join("ran").exists());
}

#[test]
fn a_ruling_that_cannot_be_put_on_record_is_none() {
    let repository = Repository::new();
    assert!(repository.gate("").ends_with("exit: 0\n"));
    repository.remove(".portolan/flow-events.jsonl");
    std::fs::create_dir(repository.0.path().join(".portolan/flow-events.jsonl")).expect("a folder is made");
    expect![[r#"
        stderr: error: `<project>/.portolan/flow-events.jsonl` cannot be used as the event log: it is not a regular file
        stderr: help: replace it with a regular file in the project
        exit: 2
    "#]]
    .assert_eq(&repository.gate(""));
}

#[test]
fn commits_that_are_none_are_refused() {
    let repository = Repository::new();
    expect![[r#"
        stderr: error: `nowhere` is not a commit of this repository
        stderr: help: name a commit or a branch; `git fetch` gets those of others
        exit: 2
    "#]]
    .assert_eq(&repository.0.says("merge-gate --base nowhere"));
    expect![[r#"
        stderr: error: `--output=x` is not a commit of this repository
        stderr: help: name a commit or a branch; `git fetch` gets those of others
        exit: 2
    "#]]
    .assert_eq(&repository.0.says("merge-gate --base=--output=x"));
    assert!(!repository.0.path().join("x").exists());
    let elsewhere = Project::new();
    assert!(elsewhere.says("merge-gate --base main").ends_with("exit: 2\n"));
}
