//! What the forge says of issues and pull requests, or files in its stead, or nobody.

use super::*;

#[test]
fn what_github_says_of_issues_is_told_apart() {
    let world = World::new();
    let id = "trackingIssueExists";
    world.issue("CLOSED", "issues");
    world.is(id, Fails, "issue-closed");
    world.issue("OPEN", "pull");
    world.is(id, Fails, "not-an-issue");
    let missing = "GraphQL: Could not resolve to an issue or pull request with the number of 42.";
    for (status, answer, complaint, standing, code) in [
        (1, "", missing, Fails, "issue-missing"),
        (1, "", "Could not resolve to a Repository", Unverified, "gh-failed"),
        (2, "", "", Unverified, "gh-cancelled"),
        (4, "", "gh auth login", Unverified, "gh-auth"),
        (0, "<html>", "", Unverified, "gh-answer"),
    ] {
        world.gh("issue", status, answer, complaint);
        world.is(id, standing, code);
    }
    fs::remove_file(world.root().join("bin/gh")).expect("removed");
    world.is(id, Unverified, "program-missing");
}

/// Another one on the search path is not believed in its place.
#[test]
fn a_pinned_program_that_is_gone_can_verify_nothing() {
    let world = World::new();
    let (issue, request) = ("trackingIssueExists", "prOpenedBeforeIdle");
    world.issue("OPEN", "issues");
    world.request("OPEN", &world.git(&["rev-parse", "HEAD"]), false);
    let pinned = |name: &str, path: &Path| {
        let programs = format!(r#"{{"{name}":"{}"}}"#, path.display());
        world.write(".portolan/installed.json", &format!(r#"{{"version":1,"pins":{{"programs":{programs}}}}}"#));
    };
    pinned("gh", &world.root().join("bin/gh"));
    world.is(issue, Holds, "issue-exists");
    pinned("gh", Path::new("/nowhere/gh"));
    world.is(issue, Unverified, "program-gone");
    world.is(request, Unverified, "program-gone");
    let said = world.decide(request).reason;
    assert!(said.contains("`/nowhere/gh`") && said.contains("portolan install git"), "{said}");
    pinned("git", Path::new("/nowhere/git"));
    world.is("branchMatchesPrefix", Unverified, "program-gone");
    world.write(".portolan/installed.json", "oops");
    world.is("branchMatchesPrefix", Unverified, "program-gone");
}

#[test]
fn a_pull_request_has_to_bring_what_is_here() {
    let world = World::new();
    let id = "prOpenedBeforeIdle";
    let head = world.git(&["rev-parse", "HEAD"]);
    world.request("OPEN", &head, true);
    world.is(id, Fails, "from-fork");
    world.request("CLOSED", &head, false);
    world.is(id, Fails, "closed");
    world.request("OPEN", &world.git(&["rev-parse", "HEAD~1"]), false);
    world.is(id, Fails, "not-pushed");
    world.request("OPEN", &"0".repeat(40), false);
    world.is(id, Unverified, "head-unknown");
    world.request("OPEN", "--output=x", false);
    world.is(id, Unverified, "head-unknown");
    world.gh("pr", 4, "", "");
    world.is(id, Unverified, "gh-auth");
    world.request("MERGED", &head, false);
    world.is(id, Holds, "pull-request-open");
    world.is("pullRequestMerged", Holds, "pull-request-merged");
    world.git(&["checkout", "-q", "main"]);
    world.request("MERGED", &"0".repeat(40), false);
    world.is("pullRequestMerged", Holds, "pull-request-merged");
}

/// What `gh` says of an open pull request that has everything, and of conflicts and checks besides.
fn ready(world: &World, fields: &str) {
    let head = world.git(&["rev-parse", "HEAD"]);
    let answer = format!(
        r#"{{"number":7,"state":"OPEN","isDraft":false,"headRefName":"feat/auth","headRefOid":"{head}",
        "baseRefName":"main","isCrossRepository":false,"url":"https://github.com/o/r/pull/7"{fields}}}"#
    );
    world.gh("pr", 0, &answer, "");
}

/// How often `gh` was asked for a pull request.
fn asked(world: &World) -> usize {
    let argv = fs::read_to_string(world.root().join("bin/argv")).unwrap_or_default();
    argv.matches("pr\nview\n").count()
}

#[test]
fn checks_of_the_forge_are_told_apart() {
    let world = World::new();
    let id = "pull-request";
    let run = |name: &str, status: &str, conclusion: &str| {
        format!(
            r#"{{"__typename":"CheckRun","name":"{name}","workflowName":"ci","status":"{status}","conclusion":"{conclusion}"}}"#
        )
    };
    let status = |state: &str| format!(r#"{{"__typename":"StatusContext","context":"cla","state":"{state}"}}"#);
    let rollup = |checks: &[String]| format!(r#","mergeable":"MERGEABLE","statusCheckRollup":[{}]"#, checks.join(","));
    for (checks, standing, code) in [
        (vec![], Holds, "pull-request-ready"),
        (vec![run("a", "COMPLETED", "SUCCESS"), run("b", "COMPLETED", "SKIPPED")], Holds, "pull-request-ready"),
        (vec![run("a", "COMPLETED", "NEUTRAL"), status("SUCCESS")], Holds, "pull-request-ready"),
        (vec![run("a", "IN_PROGRESS", "")], Fails, "checks-running"),
        (vec![run("a", "QUEUED", "")], Fails, "checks-running"),
        (vec![run("a", "SOMETHING", "SUCCESS")], Fails, "checks-running"),
        (vec![status("PENDING")], Fails, "checks-running"),
        (vec![status("EXPECTED")], Fails, "checks-running"),
        (vec![run("a", "COMPLETED", "FAILURE")], Fails, "checks-failed"),
        (vec![run("a", "COMPLETED", "ACTION_REQUIRED")], Fails, "checks-failed"),
        (vec![run("a", "COMPLETED", "")], Fails, "checks-failed"),
        (vec![run("a", "COMPLETED", "UNHEARD_OF")], Fails, "checks-failed"),
        (vec![run("a", "COMPLETED", "SUCCESS"), status("ERROR")], Fails, "checks-failed"),
        (vec!["{}".to_owned()], Fails, "checks-failed"),
        (vec!["7".to_owned()], Unverified, "gh-answer"),
    ] {
        ready(&world, &rollup(&checks));
        world.is(id, standing, code);
    }
    let said = world.decide(id);
    assert!(said.reason.starts_with("cannot verify: the answer of `gh` cannot be read"), "{}", said.reason);
    let flood: Vec<String> = (0..12_000).map(|at| run(&format!("job {at}"), "COMPLETED", "SUCCESS")).collect();
    ready(&world, &rollup(&flood));
    assert_eq!(world.decide(id).standing, Unverified, "more is said than is read");
    // Who does not ask for it does not read it either.
    ready(&world, "");
    world.is("prOpenedBeforeIdle", Holds, "pull-request-open");
    let argv = fs::read_to_string(world.root().join("bin/argv")).expect("what it was asked");
    assert!(argv.lines().last().is_some_and(|line| line == "o/r"), "{argv}");
    let fields: Vec<&str> = argv.lines().filter(|line| line.starts_with("number,")).collect();
    assert!(fields[0].ends_with(",mergeable,statusCheckRollup"), "{fields:?}");
    assert!(fields.last().is_some_and(|last| last.ends_with(",url")), "{fields:?}");
}

#[test]
fn a_check_that_was_run_again_counts_as_it_was_run_last() {
    let world = World::new();
    let run = |workflow_run: u32, started: u32, status: &str, conclusion: &str| {
        format!(
            r#"{{"name":"build","workflowName":"ci","status":"{status}","conclusion":"{conclusion}",
            "startedAt":"2026-01-01T00:00:0{started}Z",
            "detailsUrl":"https://github.com/o/r/actions/runs/{workflow_run}/job/{started}"}}"#
        )
    };
    let (failed, passed) = (("COMPLETED", "FAILURE"), ("COMPLETED", "SUCCESS"));
    let queued = ("QUEUED", "");
    for (checks, code) in [
        ([(1, 1, failed), (1, 2, passed)], "pull-request-ready"),
        ([(1, 2, passed), (1, 1, failed)], "pull-request-ready"),
        ([(1, 1, passed), (1, 2, failed)], "checks-failed"),
        ([(1, 1, passed), (1, 0, queued)], "checks-running"),
        // Another event may have begun the other one: neither stands for both.
        ([(1, 1, failed), (2, 2, passed)], "checks-failed"),
    ] {
        let told = checks.map(|(workflow_run, started, (status, end))| run(workflow_run, started, status, end));
        ready(&world, &format!(r#","mergeable":"MERGEABLE","statusCheckRollup":[{}]"#, told.join(",")));
        assert_eq!(world.decide("pull-request").code, code, "{checks:?}");
    }
}

#[test]
fn a_forge_that_has_not_made_up_its_mind_is_asked_again_and_not_for_ever() {
    let world = World::new();
    let id = "pull-request";
    ready(&world, r#","mergeable":"UNKNOWN","statusCheckRollup":null"#);
    world.is(id, Unverified, "mergeable-unknown");
    assert_eq!(asked(&world), 4);
    world.is("prOpenedBeforeIdle", Holds, "pull-request-open");
    assert_eq!(asked(&world), 5, "who does not want to know it asks once");
    // From the second time on it knows.
    let gh = fs::read_to_string(world.root().join("bin/gh")).expect("a script");
    let knows = "[ -e \"$here/again\" ] && sed -i s/UNKNOWN/MERGEABLE/ \"$here/pr.json\"\ntouch \"$here/again\"\ncat";
    fs::write(world.root().join("bin/gh"), gh.replacen("cat", knows, 1)).expect("written");
    world.is(id, Holds, "pull-request-ready");
    assert_eq!(asked(&world), 7);
    ready(&world, r#","mergeable":"CONFLICTING","statusCheckRollup":null"#);
    world.is(id, Fails, "conflicting");
    for lacking in [r#","mergeable":"MERGEABLE""#, r#","statusCheckRollup":[]"#, ""] {
        ready(&world, lacking);
        world.is(id, Unverified, "gh-answer");
    }
}

/// `gh repo set-default` leads `gh` to another repository, whose pull requests bring nothing here.
#[test]
fn what_another_repository_has_does_not_count() {
    let world = World::new();
    let (issue, request) = ("trackingIssueExists", "prOpenedBeforeIdle");
    let head = world.git(&["rev-parse", "HEAD"]);
    world.issue("OPEN", "issues");
    world.request("OPEN", &head, false);
    world.git(&["config", "remote.origin.gh-resolved", "evil/r"]);
    world.is(request, Holds, "pull-request-open");
    let argv = fs::read_to_string(world.root().join("bin/argv")).expect("what it was asked");
    assert!(argv.contains("--repo\no/r\n"), "{argv}");
    let elsewhere = |noun: &str, own: &str| {
        let path = world.root().join(format!("bin/{noun}.json"));
        let answer = fs::read_to_string(&path).expect("an answer").replace("github.com/o/r", own);
        fs::write(path, answer).expect("written");
    };
    elsewhere("pr", "github.com/evil/r");
    elsewhere("issue", "github.com/evil/r");
    world.is(request, Fails, "another-repository");
    world.is("pullRequestMerged", Fails, "another-repository");
    world.is(issue, Fails, "another-repository");
    let said = world.decide(request).reason;
    assert!(said.contains("`evil/r`") && said.contains("`o/r`"), "{said}");
    // What is pinned counts, whatever the configuration says by then.
    world.issue("OPEN", "issues");
    world.git(&["remote", "set-url", "origin", "https://github.com/evil/r.git"]);
    let pinned = |address: &str| {
        let remotes = format!(r#"{{"origin":{{"address":"{address}"}}}}"#);
        world.write(".portolan/installed.json", &format!(r#"{{"version":1,"pins":{{"remotes":{remotes}}}}}"#));
    };
    pinned("git@github.com:o/r.git");
    world.is(request, Fails, "another-repository");
    world.is(issue, Holds, "issue-exists");
    pinned("/srv/r.git");
    world.is(request, Unverified, "no-forge");
}

#[test]
fn files_stand_for_issues_and_reviews() {
    let mut world = World::new();
    world.rules.issues.provider = IssueProvider::Files { folder: ".portolan/issues".into() };
    world.rules.pull_requests.forge = Forge::Files { folder: "reviews".into() };
    world.is("trackingIssueExists", Fails, "issue-missing");
    world.write(".portolan/issues/42.yaml", "title: Auth\nstate: open\n");
    world.is("trackingIssueExists", Holds, "issue-exists");
    world.write(".portolan/issues/42.yaml", "title: Auth\nstatus: Done\n");
    world.is("trackingIssueExists", Fails, "issue-closed");
    world.is("prOpenedBeforeIdle", Fails, "pull-request-missing");
    world.write("reviews/7.md", "looked at\n");
    world.is("prOpenedBeforeIdle", Holds, "review-record");
    world.is("pullRequestMerged", Fails, "not-merged");
    world.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    world.is("pullRequestMerged", Holds, "merged-locally");
    world.rules.issues.provider = IssueProvider::Files { folder: "..".into() };
    world.is("trackingIssueExists", Fails, "issue-missing");
}
