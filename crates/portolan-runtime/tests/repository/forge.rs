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
