//! Every check at the exit of a phase, on a real repository: it holds, it fails, it cannot be verified, it is got past.

use std::collections::BTreeSet;

use portolan_core::gates::acceptance::CHECKS;
use serde_json::{Value, json};

use super::stand::told;
use super::world::World;

/// A line for each case: the check, and what is done before it is looked at. `past` gets past a rule; without it nothing
/// is got past.
const CASES: &str = r#"
trackingIssueExists:
trackingIssueExists: issue CLOSED issues
trackingIssueExists: issue OPEN pull
trackingIssueExists: gh issue 4
trackingIssueExists: gh issue 4; past I-3
branchMatchesPrefix:
branchMatchesPrefix: git switch -q main
branchMatchesPrefix: git checkout -q --detach
branchMatchesPrefix: git branch -m wip/a.+(b)|$x; claim branch=wip/a.+(b)|$x
branchMatchesPrefix: git branch -m wip/a.+(b)|$x; claim branch=wip/a.+(b)|$x; rules branches: {prefixes: ["wip/a.+("]}
branchMatchesPrefix: rm .git/HEAD
branchMatchesPrefix: git switch -q main; past I-4
specFileExistsIfRequired: rules specs: {required: true}
specFileExistsIfRequired:
specFileExistsIfRequired: rules specs: {required: true}; rm specs/a.md
specFileExistsIfRequired: rules specs: {required: true}; git rm -q --cached specs/a.md
specFileExistsIfRequired: rules specs: {required: true}; rm .git/HEAD
specFileExistsIfRequired: rules specs: {required: true}; rm specs/a.md; past I-5
typecheckPasses: rules typecheck: {commands: [["true"]]}; trust
typecheckPasses:
typecheckPasses: rules typecheck: {commands: [["false"]]}; trust
typecheckPasses: rules typecheck: {commands: [["true"]]}
typecheckPasses: rules typecheck: {commands: [["no-such-program"]]}; trust
typecheckPasses: rules typecheck: {commands: [["false"]]}; trust; past I-6
conventionalCommitFormat:
conventionalCommitFormat: commit added things (#42)
conventionalCommitFormat: git branch -D main; git update-ref -d refs/remotes/origin/main
conventionalCommitFormat: commit added things (#42); past I-7
treeIsSettled:
treeIsSettled: put new=x; rules commits: {cleanTree: block}
treeIsSettled: put .git/MERGE_HEAD=x
treeIsSettled: put .git/index=noise
treeIsSettled: put .git/MERGE_HEAD=x; past T-1
commitsReferenceIssue:
commitsReferenceIssue: commit feat: added things (#421)
commitsReferenceIssue: git branch -D main; git update-ref -d refs/remotes/origin/main
commitsReferenceIssue: commit feat: added things (#421); past I-8
prOpenedBeforeIdle:
prOpenedBeforeIdle: request CLOSED
prOpenedBeforeIdle: request OPEN; commit feat: more (#42)
prOpenedBeforeIdle: gh pr 4
prOpenedBeforeIdle: gh pr 4; past I-9
pullRequestMerged: request MERGED
pullRequestMerged:
pullRequestMerged: gh pr 4
pullRequestMerged: past I-9
noTampering:
noTampering: git config core.hooksPath nowhere
noTampering: git update-ref refs/heads/main HEAD
noTampering: rm .git/HEAD
noTampering: git config core.hooksPath nowhere; past T-1
removalsMatchIntent:
removalsMatchIntent: git rm -q README.md; commit feat: change it (#42); request OPEN
removalsMatchIntent: git branch -D main; git update-ref -d refs/remotes/origin/main
removalsMatchIntent: git rm -q README.md; commit feat: change it (#42); past I-10
"#;

const RULE_OF_NO_NAME: &str = "T-1";

#[tokio::test]
async fn every_check_holds_fails_cannot_be_verified_and_is_got_past() {
    let mut seen = BTreeSet::new();
    let mut all = String::new();
    for case in CASES.lines().filter(|case| !case.is_empty()) {
        let (check, steps) = case.split_once(':').expect("a check and its steps");
        let (outcome, reason) = come_to(check, steps.trim()).await;
        all.push_str(&format!("{case}\n    {outcome}: {reason}\n"));
        seen.insert((check, outcome));
    }
    expect_test::expect![[r#"
        trackingIssueExists:
            holds: issue #42, `Auth`, is open
        trackingIssueExists: issue CLOSED issues
            fails: issue #42 is closed; reopen it, or claim one that is open
        trackingIssueExists: issue OPEN pull
            fails: #42 is a pull request; claim the issue that it belongs to
        trackingIssueExists: gh issue 4
            cannot verify: cannot verify: `gh` is not logged in; run `gh auth login`
        trackingIssueExists: gh issue 4; past I-3
            got past: got past by `b1`, though: cannot verify: `gh` is not logged in; run `gh auth login`
        branchMatchesPrefix:
            holds: Branch "feat/build-auth" matches prefix "feat/".
        branchMatchesPrefix: git switch -q main
            fails: `main` is checked out, not `feat/build-auth`; switch to it, or claim the other
        branchMatchesPrefix: git checkout -q --detach
            fails: no branch is checked out; run `git switch` to get to `feat/build-auth`
        branchMatchesPrefix: git branch -m wip/a.+(b)|$x; claim branch=wip/a.+(b)|$x
            fails: `wip/a.+(b)|$x` does not begin with any of `feat/`, `fix/`, `docs/`, `refactor/`, `perf/`, `test/`, `chore/`, `ci/`, `build/`, `revert/`, `hotfix/` and `spike/`, with a name behind it; rename it: `git branch -m <name>`
        branchMatchesPrefix: git branch -m wip/a.+(b)|$x; claim branch=wip/a.+(b)|$x; rules branches: {prefixes: ["wip/a.+("]}
            holds: Branch "wip/a.+(b)|$x" matches prefix "wip/a.+(".
        branchMatchesPrefix: rm .git/HEAD
            cannot verify: cannot verify: the project lies in no git repository; run `git init`
        branchMatchesPrefix: git switch -q main; past I-4
            got past: got past by `b1`, though: `main` is checked out, not `feat/build-auth`; switch to it, or claim the other
        specFileExistsIfRequired: rules specs: {required: true}
            holds: `specs/a.md` is there, tracked and not blank
        specFileExistsIfRequired:
            holds: no specification is needed (`specs.required`)
        specFileExistsIfRequired: rules specs: {required: true}; rm specs/a.md
            fails: there is no file `specs/a.md`; write it, or claim another path
        specFileExistsIfRequired: rules specs: {required: true}; git rm -q --cached specs/a.md
            fails: `specs/a.md` is not tracked; add it with `git add`
        specFileExistsIfRequired: rules specs: {required: true}; rm .git/HEAD
            cannot verify: cannot verify: the project lies in no git repository; run `git init`
        specFileExistsIfRequired: rules specs: {required: true}; rm specs/a.md; past I-5
            got past: got past by `b1`, though: there is no file `specs/a.md`; write it, or claim another path
        typecheckPasses: rules typecheck: {commands: [["true"]]}; trust
            holds: `true` passed on exactly these files
        typecheckPasses:
            holds: no type checker is configured, and the project's files suggest none
        typecheckPasses: rules typecheck: {commands: [["false"]]}; trust
            fails: `false` failed: `'false' exited with status 1`; mend it and run `portolan qa typecheck`
        typecheckPasses: rules typecheck: {commands: [["true"]]}
            cannot verify: cannot verify: `true` may not run in this project yet; a person runs `portolan trust --typecheck`
        typecheckPasses: rules typecheck: {commands: [["no-such-program"]]}; trust
            cannot verify: cannot verify: no executable `no-such-program` was found on the `PATH`; install it, or correct the check
        typecheckPasses: rules typecheck: {commands: [["false"]]}; trust; past I-6
            got past: got past by `b1`, though: `false` failed: `'false' exited with status 1`; mend it and run `portolan qa typecheck`
        conventionalCommitFormat:
            holds: 1 commit is written by Conventional Commits
        conventionalCommitFormat: commit added things (#42)
            fails: <oid> `added things (#42)`: write `type(scope): description`; the scope is optional, `!` before the colon marks a break
        conventionalCommitFormat: git branch -D main; git update-ref -d refs/remotes/origin/main
            cannot verify: cannot verify: there is none of the integration branches `main` and `master`; fetch it, or name it in the guidelines
        conventionalCommitFormat: commit added things (#42); past I-7
            got past: got past by `b1`, though: <oid> `added things (#42)`: write `type(scope): description`; the scope is optional, `!` before the colon marks a break
        treeIsSettled:
            holds: everything is committed
        treeIsSettled: put new=x; rules commits: {cleanTree: block}
            fails: 1 path is not committed (0 staged, 0 changed, 1 untracked); commit it, or ignore it
        treeIsSettled: put .git/MERGE_HEAD=x
            fails: a merge is in progress; finish it or abort it
        treeIsSettled: put .git/index=noise
            cannot verify: cannot verify: `git status` failed: fatal: .git/index: index file smaller than expected
        treeIsSettled: put .git/MERGE_HEAD=x; past T-1
            got past: got past by `b1`, though: a merge is in progress; finish it or abort it
        commitsReferenceIssue:
            holds: 1 commit names #42
        commitsReferenceIssue: commit feat: added things (#421)
            fails: <oid> `feat: added things (#421)`: name the issue: `Refs #42`
        commitsReferenceIssue: git branch -D main; git update-ref -d refs/remotes/origin/main
            cannot verify: cannot verify: there is none of the integration branches `main` and `master`; fetch it, or name it in the guidelines
        commitsReferenceIssue: commit feat: added things (#421); past I-8
            got past: got past by `b1`, though: <oid> `feat: added things (#421)`: name the issue: `Refs #42`
        prOpenedBeforeIdle:
            holds: pull request #7 to `main` is open and has every commit
        prOpenedBeforeIdle: request CLOSED
            fails: pull request #7 was closed without being merged; reopen it, or claim another
        prOpenedBeforeIdle: request OPEN; commit feat: more (#42)
            fails: pull request #7 does not have every commit; push first: `git push`
        prOpenedBeforeIdle: gh pr 4
            cannot verify: cannot verify: `gh` is not logged in; run `gh auth login`
        prOpenedBeforeIdle: gh pr 4; past I-9
            got past: got past by `b1`, though: cannot verify: `gh` is not logged in; run `gh auth login`
        pullRequestMerged: request MERGED
            holds: pull request #7 is merged into `main`
        pullRequestMerged:
            fails: pull request #7 is open; have it merged, and try again
        pullRequestMerged: gh pr 4
            cannot verify: cannot verify: `gh` is not logged in; run `gh auth login`
        pullRequestMerged: past I-9
            got past: got past by `b1`, though: pull request #7 is open; have it merged, and try again
        noTampering:
            holds: the guards are as they were left, and integration branches hold only what their remotes hold
        noTampering: git config core.hooksPath nowhere
            fails: hooks are looked for in `nowhere`, which is no folder; put it right: `git config --unset core.hooksPath`
        noTampering: git update-ref refs/heads/main HEAD
            fails: `main` has a commit that its remote does not have (1); move them to a branch of their own
        noTampering: rm .git/HEAD
            cannot verify: cannot verify: the project lies in no git repository; run `git init`
        noTampering: git config core.hooksPath nowhere; past T-1
            got past: got past by `b1`, though: hooks are looked for in `nowhere`, which is no folder; put it right: `git config --unset core.hooksPath`
        removalsMatchIntent:
            holds: what the branch takes away is what it says that it takes away
        removalsMatchIntent: git rm -q README.md; commit feat: change it (#42); request OPEN
            fails: README.md: `README.md` is deleted, which nothing announces
        removalsMatchIntent: git branch -D main; git update-ref -d refs/remotes/origin/main
            cannot verify: cannot verify: there is no integration branch to compare with; fetch it, or name it in the guidelines
        removalsMatchIntent: git rm -q README.md; commit feat: change it (#42); past I-10
            got past: got past by `b1`, though: cannot verify: the pull request 7 is of the commit <oid> not of <oid> push first, or name its commit with `--head`
    "#]].assert_eq(&all);
    for check in CHECKS.iter().map(|kind| kind.id).chain(["removalsMatchIntent"]) {
        for outcome in ["holds", "fails", "cannot verify", "got past"] {
            assert!(seen.contains(&(check, outcome)), "no case in which `{check}` comes to: {outcome}");
        }
    }
}

/// What the tick comes to, and why.
async fn come_to(check: &str, steps: &str) -> (&'static str, String) {
    let world = with_one_check(check).await;
    for step in steps.split(';').map(str::trim).filter(|step| !step.is_empty()) {
        perform(&world, step).await;
    }
    let tick = world.tick().await;
    let head = world.folder_name();
    let log = told(&world.at("project"));
    let applied = log.lines().any(|line| line.contains(r#"stage="applied""#));
    assert_eq!(applied, tick.advanced && steps.contains("past "), "{log}");
    let outcome = match (tick.advanced, applied) {
        (true, true) => "got past",
        (true, false) => "holds",
        (false, _) if tick.reason.starts_with("cannot verify: ") => "cannot verify",
        (false, _) => "fails",
    };
    let names = |word: &str| word.len() >= 10 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let reason = tick.reason.replace(&head, "<folder>");
    let words = reason.split(' ').map(|word| if names(word.trim_end_matches([',', ';'])) { "<oid>" } else { word });
    (outcome, words.collect::<Vec<_>>().join(" "))
}

/// A task in a phase that has this check alone; all that it claims is so.
async fn with_one_check(check: &str) -> World {
    let world = World::new();
    let named = portolan_core::graph::Gate::named(check).expect("a gate");
    let accept = match named.invariant {
        Some(_) => check.to_owned(),
        None => format!("{{ gate: {check}, invariant: {RULE_OF_NO_NAME} }}"),
    };
    let workflow = format!(
        "id: one\niterationCap: 1\nfields:\n  issueNumber: {{ type: number }}\n  branch: {{ type: string }}\n  \
         specPath: {{ type: string }}\n  prNumber: {{ type: number }}\nphases:\n  - id: idle\n  - id: gate\n    \
         accept: [{accept}]\n  - id: after\n"
    );
    world.put(".git/info/exclude", ".flow\n.portolan\n");
    world.put(".flow/workflows/one.yaml", &workflow);
    world.git(&["switch", "-q", "-c", "feat/build-auth"]);
    world.put("specs/a.md", "# A\n\n#42\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "feat: add auth\n\nRefs #42"]);
    world.request("OPEN");
    world.begin("t", Some("gate"), Some("one")).await;
    let claims = json!({ "issueNumber": 42, "branch": "feat/build-auth", "specPath": "specs/a.md", "prNumber": 7 });
    world.patch(claims).await;
    world
}

async fn perform(world: &World, step: &str) {
    let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
    let words: Vec<&str> = rest.split(' ').collect();
    match verb {
        "git" => drop(world.git(&words)),
        "commit" => drop(world.git(&["commit", "-q", "--allow-empty", "-m", rest])),
        "put" => {
            let (path, text) = rest.split_once('=').expect("a path and a text");
            world.put(path, text);
        }
        "rm" => std::fs::remove_file(world.at("project").join(rest)).expect("removed"),
        "gh" => world.gh(words[0], words[1].parse().expect("a status"), ""),
        "issue" => {
            let (state, kind) = (words[0], words[1]);
            let url = format!("https://github.com/o/r/{kind}/42");
            let answer = json!({ "number": 42, "state": state, "title": "Auth", "url": url });
            world.gh("issue", 0, &answer.to_string());
        }
        "request" => world.request(rest),
        "claim" => {
            let (field, value) = rest.split_once('=').expect("a field and a value");
            let mut values = serde_json::Map::new();
            values.insert(field.to_owned(), Value::String(value.to_owned()));
            world.patch(Value::Object(values)).await;
        }
        "rules" => world.put(".portolan/guidelines.yaml", rest),
        "trust" => world.trust(),
        "past" => world.get_past(rest).await,
        other => panic!("no step `{other}`"),
    }
}
