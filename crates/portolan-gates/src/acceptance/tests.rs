use std::collections::BTreeSet;

use super::*;
use crate::facts::*;
use crate::guidelines::{Forge, IssueProvider};

fn claims() -> Claims {
    Claims {
        task: Some("t".into()),
        issue: Some(42),
        branch: Some("feat/build-auth".into()),
        spec_path: Some("specs/a.md".into()),
        pull_request: Some(7),
        ..Claims::default()
    }
}

fn commit(message: &str) -> Commit {
    let (subject, body) = message.split_once('\n').unwrap_or((message, ""));
    Commit { oid: "c".repeat(40), subject: subject.into(), body: body.into() }
}

fn spec() -> Spec {
    Spec {
        path: "specs/a.md".into(),
        inside: true,
        regular: true,
        tracked: true,
        ignored: false,
        text: Some("# A\n#42".into()),
    }
}

fn forge_check(name: &str, state: ForgeCheckState) -> ForgeCheck {
    ForgeCheck { name: name.into(), state }
}

fn request() -> ForgeRequest {
    ForgeRequest {
        number: 7,
        state: RequestState::Open,
        draft: false,
        head: "feat/build-auth".into(),
        from_fork: false,
        base: "main".into(),
        url: "https://github.com/o/r/pull/7".into(),
        pushed: PushStatus::All,
        readiness: Some(Readiness {
            mergeable: Some(true),
            checks: vec![forge_check("build", ForgeCheckState::Passed)],
        }),
        elsewhere: None,
    }
}

/// Returns a repository in which every check holds.
fn facts() -> Facts {
    Facts {
        repository: Some("o/r".into()),
        head: Head { branch: Some("feat/build-auth".into()), oid: Some("c".repeat(40)) },
        branch: Some("c".repeat(40)),
        base: Answer::Found("b".repeat(40)),
        commits: Answer::Found(vec![commit("feat: add it\n\nRefs #42")]),
        tree: Answer::Found(Tree::default()),
        spec: Answer::Found(vec![spec()]),
        issue: Answer::Found(Issue {
            number: 42,
            open: true,
            title: "Auth".into(),
            url: String::new(),
            is_issue: true,
            elsewhere: None,
        }),
        pull_request: Answer::Found(PullRequest::Forge(ForgeRequest { state: RequestState::Merged, ..request() })),
        typecheck: Answer::Found(TypecheckOutcome::Judged {
            command: "tsc".into(),
            passed: true,
            age_seconds: 9,
            summary: String::new(),
        }),
        tripwire: Answer::Found(Tripwire::default()),
        ..Facts::default()
    }
}

fn guidelines() -> Guidelines {
    let mut guidelines = Guidelines::default();
    guidelines.specs.required = true;
    guidelines
}

fn decide(id: &str, claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    let finding = find(id).expect("it is a check").decide(claims, facts, guidelines);
    assert!(!finding.reason.is_empty());
    let unverified = finding.reason.starts_with("cannot verify: ");
    assert_eq!(unverified, finding.standing == CheckStatus::Unverified, "{finding:?}");
    finding
}

/// Returns the code of a failure, after `change`.
fn failure(id: &str, change: impl FnOnce(&mut Claims, &mut Facts, &mut Guidelines)) -> &'static str {
    let (mut claims, mut facts, mut guidelines) = (claims(), facts(), guidelines());
    change(&mut claims, &mut facts, &mut guidelines);
    let finding = decide(id, &claims, &facts, &guidelines);
    assert_eq!(finding.standing, CheckStatus::Fails, "{finding:?}");
    finding.code
}

/// Returns the code of a success, after `change`.
fn well(id: &str, change: impl FnOnce(&mut Claims, &mut Facts, &mut Guidelines)) -> &'static str {
    let (mut claims, mut facts, mut guidelines) = (claims(), facts(), guidelines());
    change(&mut claims, &mut facts, &mut guidelines);
    let finding = decide(id, &claims, &facts, &guidelines);
    assert_eq!(finding.standing, CheckStatus::Holds, "{finding:?}");
    finding.code
}

#[test]
fn every_check_has_a_name_of_its_own_and_can_hold() {
    let names: BTreeSet<&str> = CHECKS.iter().map(|kind| kind.id).collect();
    assert_eq!(names.len(), CHECKS.len());
    for kind in &CHECKS {
        well(kind.id, |_, _, _| {});
    }
    assert!(find("removalsMatchIntent").is_none());
}

#[test]
fn without_a_repository_or_an_answer_nothing_that_needs_one_holds() {
    let trouble = Facts {
        trouble: Some(FactError { code: "no-repository", why: "there is none".into() }),
        issue: Answer::Unknown(FactError { code: "gh-missing", why: "install it".into() }),
        ..facts()
    };
    for kind in &CHECKS {
        let finding = decide(kind.id, &claims(), &trouble, &guidelines());
        assert_eq!(finding.standing, CheckStatus::Unverified, "{finding:?}");
        let finding = decide(
            kind.id,
            &claims(),
            &Facts { head: facts().head, branch: facts().branch, ..Facts::default() },
            &guidelines(),
        );
        let expected = if kind.id == "branchMatchesPrefix" { CheckStatus::Holds } else { CheckStatus::Unverified };
        assert_eq!(finding.standing, expected, "{finding:?}");
    }
}

#[test]
fn levels_decide_what_a_failure_comes_to() {
    let (mut rules, detached) = (guidelines(), Facts { head: Head::default(), ..facts() });
    rules.levels.insert("I-4".into(), Level::Warn);
    let warned = decide("branchMatchesPrefix", &claims(), &detached, &rules);
    assert_eq!((warned.standing, warned.code), (CheckStatus::Holds, WARNED));
    assert!(warned.reason.ends_with("passed because `policies.I-4` is `warn`"), "{}", warned.reason);
    rules.levels.insert("branchMatchesPrefix".into(), Level::Off);
    let off = decide("branchMatchesPrefix", &claims(), &detached, &rules);
    assert_eq!((off.code, off.reason.as_str()), (OFF, "not checked: `policies.branchMatchesPrefix` is `off`"));
}

#[test]
fn the_sentence_of_a_matching_branch_is_fixed() {
    let finding = decide("branchMatchesPrefix", &claims(), &facts(), &guidelines());
    assert_eq!(finding.reason, r#"Branch "feat/build-auth" matches prefix "feat/"."#);
    assert_eq!(finding.sets, Some(("branchPrefix", "feat/".to_owned())));
}

#[test]
fn branches_that_are_not_what_they_should_be() {
    let id = "branchMatchesPrefix";
    let on = |name: &'static str| {
        move |claims: &mut Claims, facts: &mut Facts, _: &mut Guidelines| {
            claims.branch = Some(name.into());
            facts.head.branch = Some(name.into());
        }
    };
    assert_eq!(failure(id, |claims, _, _| claims.branch = None), "no-branch");
    assert_eq!(failure(id, on("-feat/x")), "invalid-name");
    assert_eq!(failure(id, on("feat/..")), "invalid-name");
    assert_eq!(failure(id, on("main")), "integration-branch");
    assert_eq!(failure(id, on("wip/x")), "wrong-prefix");
    assert_eq!(failure(id, on("Feat/x")), "wrong-prefix");
    assert_eq!(failure(id, on("featx/y")), "wrong-prefix");
    assert_eq!(failure(id, |_, facts, _| facts.head.branch = None), "detached-head");
    assert_eq!(failure(id, |_, facts, _| facts.head.branch = Some("feat/other".into())), "another-branch");
    assert_eq!(failure(id, |_, facts, _| facts.branch = None), "branch-missing");
    assert_eq!(failure(id, |claims, _, _| claims.branch_prefix = Some("fea".into())), "unknown-prefix");
    assert_eq!(failure(id, |claims, _, _| claims.branch_prefix = Some("fix/".into())), "wrong-prefix");
    let rebase = |_: &mut Claims, facts: &mut Facts, _: &mut Guidelines| {
        facts.head.branch = None;
        facts.operation = Some("rebase");
    };
    assert_eq!(failure(id, rebase), "operation-in-progress");
}

#[test]
fn prefixes_are_literal_and_patterns_bind_the_issue() {
    let named = |name: &'static str, prefix: &'static str, pattern: Option<&'static str>| {
        move |claims: &mut Claims, facts: &mut Facts, rules: &mut Guidelines| {
            claims.branch = Some(name.into());
            facts.head.branch = Some(name.into());
            rules.branches.prefixes = vec![prefix.into()];
            rules.branches.pattern = pattern.map(str::to_owned);
        }
    };
    let id = "branchMatchesPrefix";
    assert_eq!(well(id, named("a.+(b)/x", "a.+(b)/", None)), "prefix-matches");
    assert_eq!(failure(id, named("aXXb/x", "a.+b/", None)), "wrong-prefix");
    let pattern = Some("{prefix}{issue}-{slug}");
    assert_eq!(well(id, named("feat/42-add-it", "feat/", pattern)), "prefix-matches");
    for wrong in ["feat/421-add-it", "feat/add-it", "feat/42-", "feat/43-add", "feat/42-a/b"] {
        assert_eq!(failure(id, named(wrong, "feat/", pattern)), "wrong-pattern", "{wrong}");
    }
}

#[test]
fn issues_that_are_not_what_they_should_be() {
    let id = "trackingIssueExists";
    fn issue(change: fn(&mut Issue)) -> impl FnOnce(&mut Claims, &mut Facts, &mut Guidelines) {
        move |_, facts, _| {
            let Answer::Found(issue) = &mut facts.issue else { panic!("it is found") };
            change(issue);
        }
    }
    assert_eq!(failure(id, |claims, _, _| claims.issue = None), "no-issue");
    assert_eq!(failure(id, |_, facts, _| facts.issue = Answer::Missing), "issue-missing");
    assert_eq!(failure(id, issue(|issue| issue.is_issue = false)), "not-an-issue");
    assert_eq!(failure(id, issue(|issue| issue.number = 43)), "another-issue");
    assert_eq!(failure(id, issue(|issue| issue.open = false)), "issue-closed");
    let claimed = |facts: &mut Facts| facts.rivals = Answer::Found(vec!["other (r1)".into()]);
    assert_eq!(failure(id, |_, facts, _| claimed(facts)), "claimed-twice");
    let shared = |_: &mut Claims, facts: &mut Facts, rules: &mut Guidelines| {
        claimed(facts);
        rules.issues.allow_shared = true;
    };
    assert_eq!(well(id, shared), "issue-exists");
    let key = |key: &'static str| {
        move |claims: &mut Claims, _: &mut Facts, rules: &mut Guidelines| {
            claims.issue_key = Some(key.into());
            rules.issues.provider = IssueProvider::Pattern { projects: vec!["ABC".into()] };
        }
    };
    assert_eq!(well(id, key("ABC-12")), "key-only");
    assert_eq!(failure(id, key("XYZ-12")), "another-project");
    assert_eq!(failure(id, key("abc-12")), "not-a-key");
    assert_eq!(well(id, |_, _, rules| rules.issues.provider = IssueProvider::Offline), "not-looked-up");
}

#[test]
fn specifications_that_are_not_what_they_should_be() {
    let id = "specFileExistsIfRequired";
    fn file(change: fn(&mut Spec)) -> impl FnOnce(&mut Claims, &mut Facts, &mut Guidelines) {
        move |_, facts, rules| {
            let mut file = spec();
            change(&mut file);
            facts.spec = Answer::Found(vec![file]);
            rules.specs.names_issue = true;
            rules.specs.headings = vec!["A".into()];
            rules.specs.folders = vec!["specs/".into()];
            rules.specs.pattern = Some("**/*.md".into());
        }
    }
    assert_eq!(well(id, file(|_| {})), "spec-exists");
    assert_eq!(well(id, |_, _, rules| rules.specs.required = false), "not-required");
    assert_eq!(well(id, |_, _, rules| rules.specs.exempt = vec!["feat/".into()]), "exempt");
    assert_eq!(failure(id, |claims, _, _| claims.spec_path = None), "no-spec");
    for path in ["../a.md", "specs/../../a.md", "/etc/passwd", "-x", ":(top)a", "a\\..\\b"] {
        assert_eq!(failure(id, |claims, _, _| claims.spec_path = Some(path.into())), "outside", "{path}");
    }
    assert_eq!(failure(id, |_, facts, _| facts.spec = Answer::Found(vec![])), "spec-missing");
    assert_eq!(failure(id, |_, facts, _| facts.spec = Answer::Found(vec![spec(), spec()])), "ambiguous");
    assert_eq!(failure(id, file(|file| file.inside = false)), "outside");
    assert_eq!(failure(id, file(|file| file.regular = false)), "not-a-file");
    assert_eq!(failure(id, file(|file| file.ignored = true)), "ignored");
    assert_eq!(failure(id, file(|file| file.tracked = false)), "untracked");
    assert_eq!(failure(id, file(|file| file.path = "specsx/a.md".into())), "wrong-folder");
    assert_eq!(failure(id, file(|file| file.path = "specs/a.txt".into())), "wrong-pattern");
    assert_eq!(failure(id, file(|file| file.text = None)), "not-text");
    assert_eq!(failure(id, file(|file| file.text = Some(" \n".into()))), "blank");
    assert_eq!(failure(id, file(|file| file.text = Some("# B\n#42".into()))), "no-heading");
    assert_eq!(failure(id, file(|file| file.text = Some("# A\n#421".into()))), "no-reference");
}

#[test]
fn commits_are_told_all_at_once_and_generated_ones_passed_over() {
    let id = "conventionalCommitFormat";
    let messages = |messages: &[&str]| Facts {
        commits: Answer::Found(messages.iter().map(|message| commit(message)).collect()),
        ..facts()
    };
    let bad = decide(id, &claims(), &messages(&["one", "feat: x", "two"]), &guidelines());
    assert_eq!((bad.standing, bad.violations.len()), (CheckStatus::Fails, 2));
    let revert = format!("Revert \"feat: x\"\n\nThis reverts commit {}.", "a".repeat(40));
    let good = decide(id, &claims(), &messages(&["fixup! squash! feat: x", &revert, "feat: x"]), &guidelines());
    assert_eq!(good.standing, CheckStatus::Holds, "{good:?}");
    let cheating = decide(id, &claims(), &messages(&["fixup! whatever", "Revert \"x\""]), &guidelines());
    assert_eq!(cheating.violations.len(), 2);
    assert_eq!(failure(id, |_, facts, _| facts.commits = Answer::Found(vec![])), "nothing-committed");
    assert_eq!(failure(id, |_, facts, _| facts.base = Answer::Missing), "no-common-history");
    assert_eq!(failure(id, |_, facts, _| facts.head.branch = None), "detached-head");
}

#[test]
fn commits_name_their_issue() {
    let id = "commitsReferenceIssue";
    fn message(text: &'static str) -> impl FnOnce(&mut Claims, &mut Facts, &mut Guidelines) {
        move |_, facts, rules| {
            facts.commits = Answer::Found(vec![commit(text)]);
            rules.issues.allow_closing_keywords = false;
        }
    }
    assert_eq!(well(id, message("feat: x (o/r#42)")), "commits-hold");
    for text in ["feat: x #421", "feat: `#42`", "feat: x p/q#42", "feat: fixes #42"] {
        assert_eq!(failure(id, message(text)), "no-reference", "{text}");
    }
    assert_eq!(failure(id, |claims, _, _| claims.issue = None), "no-issue");
    assert_eq!(well(id, |_, _, rules| rules.commits.require_reference = false), "not-required");
}

#[test]
fn pull_requests_that_are_not_what_they_should_be() {
    let id = "prOpenedBeforeIdle";
    fn with(change: fn(&mut ForgeRequest)) -> impl FnOnce(&mut Claims, &mut Facts, &mut Guidelines) {
        move |_, facts, _| {
            let mut request = request();
            change(&mut request);
            facts.pull_request = Answer::Found(PullRequest::Forge(request));
        }
    }
    assert_eq!(well(id, with(|_| {})), "pull-request-open");
    assert_eq!(failure(id, |claims, _, _| claims.pull_request = None), "no-pull-request");
    assert_eq!(failure(id, |_, facts, _| facts.pull_request = Answer::Missing), "pull-request-missing");
    assert_eq!(failure(id, with(|request| request.number = 8)), "another-pull-request");
    assert_eq!(failure(id, with(|request| request.from_fork = true)), "from-fork");
    assert_eq!(failure(id, with(|request| request.head = "feat/x".into())), "another-branch");
    assert_eq!(failure(id, with(|request| request.base = "dev".into())), "wrong-base");
    assert_eq!(failure(id, with(|request| request.draft = true)), "draft");
    assert_eq!(failure(id, with(|request| request.state = RequestState::Closed)), "closed");
    assert_eq!(failure(id, with(|request| request.pushed = PushStatus::NotAll)), "not-pushed");
    assert_eq!(failure("pullRequestMerged", with(|_| {})), "not-merged");
    let unknown = Answer::Found(PullRequest::Forge(ForgeRequest { pushed: PushStatus::Unknown, ..request() }));
    let finding = decide(id, &claims(), &Facts { pull_request: unknown, ..facts() }, &guidelines());
    assert_eq!((finding.standing, finding.code), (CheckStatus::Unverified, "head-unknown"));
}

/// Returns the finding for a pull request with `change` applied.
fn readiness(change: impl FnOnce(&mut ForgeRequest, &mut Readiness)) -> (CheckStatus, &'static str, String) {
    let mut request = request();
    let mut readiness = request.readiness.take().expect("it is asked");
    change(&mut request, &mut readiness);
    request.readiness = Some(readiness);
    let facts = Facts { pull_request: Answer::Found(PullRequest::Forge(request)), ..facts() };
    let CheckFinding { standing, code, reason, .. } = decide("pull-request", &claims(), &facts, &guidelines());
    (standing, code, reason)
}

#[test]
fn a_pull_request_is_ready_where_nothing_conflicts_and_all_checks_have_passed() {
    use ForgeCheckState::{Failed, Passed, Running};
    let failed = || forge_check("li`nt\n", Failed("timed_out".into()));
    let running = || forge_check("slow", Running);
    let told = |change: &dyn Fn(&mut ForgeRequest, &mut Readiness)| {
        let (standing, code, reason) = readiness(|request, readiness| change(request, readiness));
        format!("{standing:?} {code}: {reason}\n")
    };
    let all = [
        told(&|_, _| {}),
        told(&|_, ready| ready.checks.push(forge_check("b", Passed))),
        told(&|_, ready| ready.checks.clear()),
        told(&|_, ready| ready.checks.push(running())),
        told(&|_, ready| ready.checks.extend([running(), failed()])),
        told(&|_, ready| ready.checks = (0..8).map(|at| forge_check(&at.to_string(), Running)).collect()),
        told(&|_, ready| (ready.mergeable, ready.checks) = (Some(false), vec![failed()])),
        told(&|_, ready| ready.mergeable = None),
        told(&|_, ready| (ready.mergeable, ready.checks) = (None, vec![running()])),
        told(&|request, ready| (request.state, ready.mergeable) = (RequestState::Merged, None)),
        told(&|request, ready| (request.state, ready.checks) = (RequestState::Merged, vec![failed()])),
        told(&|request, _| request.state = RequestState::Closed),
        told(&|request, _| request.draft = true),
        told(&|request, _| request.pushed = PushStatus::NotAll),
    ];
    expect_test::expect![[r#"
        Holds pull-request-ready: pull request #7 to `main` is open and has every commit, nothing conflicts, and its one check has passed
        Holds pull-request-ready: pull request #7 to `main` is open and has every commit, nothing conflicts, and its 2 checks have passed
        Holds pull-request-ready: pull request #7 to `main` is open and has every commit, nothing conflicts, and the forge has run no checks
        Fails checks-running: checks of pull request #7 are still running: `slow`; try again once they have ended
        Fails checks-failed: checks of pull request #7 did not pass: `li'nt\n` (`timed_out`); fix that, and push
        Fails checks-running: checks of pull request #7 are still running: `0`, `1`, `2`, `3`, `4` and 3 more; try again once they have ended
        Fails conflicting: pull request #7 conflicts with `main`; merge that branch in, resolve the conflicts, and push
        Unverified mergeable-unknown: cannot verify: for pull request #7, the forge has not yet reported whether there are conflicts; ask again in a moment
        Fails checks-running: checks of pull request #7 are still running: `slow`; try again once they have ended
        Holds pull-request-ready: pull request #7 to `main` is merged and has every commit, nothing conflicts, and its one check has passed
        Fails checks-failed: checks of pull request #7 did not pass: `li'nt\n` (`timed_out`); fix that, and push
        Fails closed: pull request #7 was closed without being merged; reopen it, or claim another
        Fails draft: pull request #7 is a draft; mark it as ready: `gh pr ready`
        Fails not-pushed: pull request #7 does not have every commit; push first: `git push`
    "#]].assert_eq(&all.concat());
    let unasked = ForgeRequest { readiness: None, ..request() };
    let facts = Facts { pull_request: Answer::Found(PullRequest::Forge(unasked)), ..facts() };
    assert_eq!(decide("pull-request", &claims(), &facts, &guidelines()).code, "not-asked");
    // The pull request of the branch may be as unknown as its state.
    let unknown = Answer::Unknown(FactError { code: "gh-auth", why: "`gh` is not logged in".into() });
    let facts = Facts { pull_request: unknown, ..facts };
    for claims in [claims(), Claims { pull_request: None, ..claims() }] {
        assert_eq!(decide("pull-request", &claims, &facts, &guidelines()).code, "gh-auth");
    }
}

#[test]
fn a_record_stands_for_a_pull_request_and_says_so() {
    let record = |blank: bool, commits: Vec<Commit>| {
        move |_: &mut Claims, facts: &mut Facts, rules: &mut Guidelines| {
            facts.pull_request = Answer::Found(PullRequest::Record { path: "reviews/7.md".into(), blank });
            facts.commits = Answer::Found(commits);
            rules.pull_requests.forge = Forge::Files { folder: "reviews".into() };
        }
    };
    assert_eq!(well("prOpenedBeforeIdle", record(false, vec![])), "review-record");
    assert_eq!(failure("prOpenedBeforeIdle", record(true, vec![])), "blank-record");
    assert_eq!(well("pullRequestMerged", record(false, vec![])), "merged-locally");
    assert_eq!(failure("pullRequestMerged", record(false, vec![commit("feat: x")])), "not-merged");
}

#[test]
fn what_is_half_done_does_not_pass() {
    let tree = |tree: Tree, level: Level| {
        move |_: &mut Claims, facts: &mut Facts, rules: &mut Guidelines| {
            facts.tree = Answer::Found(tree);
            rules.commits.clean_tree = level;
        }
    };
    let dirty = Tree { unstaged: 1, ..Tree::default() };
    assert_eq!(failure("treeIsSettled", tree(Tree { unmerged: 1, ..dirty }, Level::Off)), "unmerged");
    assert_eq!(failure("treeIsSettled", tree(dirty, Level::Block)), "not-clean");
    assert_eq!(well("treeIsSettled", tree(dirty, Level::Warn)), WARNED);
    assert_eq!(well("treeIsSettled", tree(dirty, Level::Off)), "no-conflicts");
    assert_eq!(failure("treeIsSettled", |_, facts, _| facts.operation = Some("merge")), "operation-in-progress");
    let wire = |wire: Tripwire| {
        move |_: &mut Claims, facts: &mut Facts, _: &mut Guidelines| facts.tripwire = Answer::Found(wire)
    };
    assert_eq!(
        failure("noTampering", wire(Tripwire { ahead: vec![("main".into(), 2)], ..Tripwire::default() })),
        "ahead-of-remote"
    );
    assert_eq!(
        failure("noTampering", wire(Tripwire { hooks_path: Some("/dev/null".into()), ..Tripwire::default() })),
        "hooks-path"
    );
    assert_eq!(
        failure("noTampering", wire(Tripwire { altered: vec!["it was changed".into()], ..Tripwire::default() })),
        "guards-altered"
    );
    assert_eq!(
        failure("noTampering", wire(Tripwire { unseen: vec!["c".repeat(40)], ..Tripwire::default() })),
        "unseen-commits"
    );
}

#[test]
fn a_verdict_is_of_these_files_and_not_too_old() {
    let id = "typecheckPasses";
    let seen = |passed: bool, most: Option<u64>| {
        move |_: &mut Claims, facts: &mut Facts, rules: &mut Guidelines| {
            let command = "tsc".to_owned();
            facts.typecheck = Answer::Found(TypecheckOutcome::Judged {
                command,
                passed,
                age_seconds: 100,
                summary: "2 errors".into(),
            });
            rules.typecheck.max_age_seconds = most;
        }
    };
    assert_eq!(well(id, seen(true, Some(100))), "typecheck-passed");
    assert_eq!(failure(id, seen(true, Some(99))), "too-old");
    assert_eq!(failure(id, seen(false, None)), "typecheck-failed");
    let not_run = |_: &mut Claims, facts: &mut Facts, _: &mut Guidelines| {
        facts.typecheck = Answer::Found(TypecheckOutcome::NotRun { command: "tsc".into() });
    };
    assert_eq!(failure(id, not_run), "not-run");
}

#[test]
fn words_from_outside_cannot_leave_their_quotes() {
    let issue = Issue {
        number: 42,
        open: true,
        title: "a`b\u{1b}[31m\nc".into(),
        url: String::new(),
        is_issue: true,
        elsewhere: None,
    };
    let facts = Facts { issue: Answer::Found(issue), ..facts() };
    let finding = decide("trackingIssueExists", &claims(), &facts, &guidelines());
    assert_eq!(finding.reason, r"issue #42, `a'b\u{1b}[31m\nc`, is open");
}
