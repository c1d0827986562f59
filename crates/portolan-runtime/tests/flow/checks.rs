//! Every check at the exit of a phase, on a real repository: it holds, it fails, it cannot be verified, it is got past.

use std::collections::BTreeSet;

use portolan_gates::acceptance::CHECKS;
use portolan_runtime::runner::Listener;
use serde_json::{Value, json};

use super::stand::{log_text, me};
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
pull-request:
pull-request: checks IN_PROGRESS
pull-request: checks FAILURE
pull-request: gh pr 4
pull-request: gh pr 4; past I-9
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
    expect_test::expect_file!["checks.txt"].assert_eq(&all);
    for check in CHECKS.iter().map(|kind| kind.id).chain(["removalsMatchIntent"]) {
        for outcome in ["holds", "fails", "cannot verify", "got past"] {
            assert!(seen.contains(&(check, outcome)), "no case in which `{check}` comes to: {outcome}");
        }
    }
}

#[tokio::test]
async fn a_type_check_is_heard_while_it_runs() {
    let world = with_one_check("typecheckPasses").await;
    world.put(".portolan/guidelines.yaml", "typecheck: {commands: [[sh, -c, echo looking; exit 0]]}\n");
    world.trust();
    let (tell, hears) = std::sync::mpsc::channel();
    let listener = Listener::new(move |heard| {
        let _nobody_asks = tell.send(format!("{}: {:?}", heard.check, heard.line));
    });
    let tick = world.service().flow().with_listener(listener).tick(&me()).await.expect("a tick");
    assert!(tick.advanced, "{}", tick.reason);
    let command = "sh -c echo looking; exit 0";
    let heard: Vec<String> = hears.try_iter().collect();
    assert_eq!(heard, [format!("{command}: None"), format!("{command}: Some(\"looking\")")]);
}

/// What the tick comes to, and why.
async fn come_to(check: &str, steps: &str) -> (&'static str, String) {
    let world = with_one_check(check).await;
    for step in steps.split(';').map(str::trim).filter(|step| !step.is_empty()) {
        perform(&world, step).await;
    }
    let tick = world.tick().await;
    let head = world.folder_name();
    let log = log_text(&world.at("project"));
    let applied = log.lines().any(|line| line.contains(r#"stage="applied""#));
    assert_eq!(applied, tick.advanced && steps.contains("past "), "{log}");
    // What some cannot verify, a person is asked.
    let unverified = ["cannot verify: ", "for a person to decide: "].iter().any(|word| tick.reason.starts_with(word));
    let outcome = match (tick.advanced, applied) {
        (true, true) => "got past",
        (true, false) => "holds",
        (false, _) if unverified => "cannot verify",
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
        "checks" => world.request_with(rest),
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
