//! I-9: a pull request merges the work into an integration branch. It can be merged, and at the end it is.

use super::{CheckFinding, CheckKind, fails, found, holds, not_asked, of_another, quoted, unverified};
use crate::facts::{
    Answer, Claims, Facts, ForgeCheck, ForgeCheckState, ForgeRequest, Needs, PullRequest, PushStatus, Readiness,
    RequestState,
};
use crate::guidelines::Guidelines;

/// The most checks of a forge that a reason names.
const MOST_NAMED: usize = 5;

pub(super) const OPENED: CheckKind = CheckKind {
    id: "prOpenedBeforeIdle",
    invariant: Some("I-9"),
    needs: Needs { pull_request: true, ..Needs::NOTHING },
    look: opened,
};

pub(super) const READY: CheckKind = CheckKind {
    id: "pull-request",
    invariant: Some("I-9"),
    needs: Needs { pull_request: true, readiness: true, ..Needs::NOTHING },
    look: ready,
};

pub(super) const MERGED: CheckKind = CheckKind {
    id: "pullRequestMerged",
    invariant: Some("I-9"),
    needs: Needs { pull_request: true, commits: true, ..Needs::NOTHING },
    look: merged,
};

fn opened(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    judged(claims, facts, guidelines, |number, request| {
        Ok(holds("pull-request-open", is_open(number, request, guidelines)?))
    })
}

/// Checks that a pull request is open or merged and has all commits. Returns that as a sentence.
fn is_open(number: u64, request: &ForgeRequest, guidelines: &Guidelines) -> Result<String, CheckFinding> {
    let state = match request.state {
        RequestState::Merged => "merged",
        RequestState::Open if request.draft && !guidelines.pull_requests.allow_draft => {
            let help = "mark it as ready: `gh pr ready`";
            return Err(fails("draft", format!("pull request #{number} is a draft; {help}")));
        }
        RequestState::Open => "open",
        RequestState::Closed => return Err(closed(number)),
    };
    pushed(number, request)?;
    Ok(format!("pull request #{number} to {} is {state} and has every commit", quoted(&request.base)))
}

fn ready(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    judged(claims, facts, guidelines, |number, request| {
        let open = is_open(number, request, guidelines)?;
        let Some(Readiness { mergeable, checks }) = &request.readiness else {
            return Err(not_asked("whether the pull request can be merged"));
        };
        // A forge reports no mergeability for a merged pull request.
        let mergeable = mergeable.or((request.state == RequestState::Merged).then_some(true));
        if mergeable == Some(false) {
            let base = quoted(&request.base);
            let reason = format!(
                "pull request #{number} conflicts with {base}; merge that branch in, resolve \
                the conflicts, and push"
            );
            return Err(fails("conflicting", reason));
        }
        let passed = have_passed(number, checks)?;
        if mergeable.is_none() {
            let why = "the forge has not yet reported whether there are conflicts; ask again in a moment";
            let reason = format!("cannot verify: for pull request #{number}, {why}");
            return Err(found(super::CheckStatus::Unverified, "mergeable-unknown", reason));
        }
        Ok(holds("pull-request-ready", format!("{open}, nothing conflicts, and {passed}")))
    })
}

/// Checks that all checks have passed. Returns that as a clause.
fn have_passed(number: u64, checks: &[ForgeCheck]) -> Result<String, CheckFinding> {
    let failed = |check: &ForgeCheck| match &check.state {
        ForgeCheckState::Failed(word) => Some(format!("{} ({})", quoted(&check.name), quoted(word))),
        ForgeCheckState::Passed | ForgeCheckState::Running => None,
    };
    let failed: Vec<String> = checks.iter().filter_map(failed).collect();
    if !failed.is_empty() {
        let reason = format!("checks of pull request #{number} did not pass: {}; fix that, and push", named(&failed));
        return Err(fails("checks-failed", reason));
    }
    let is_running = |check: &&ForgeCheck| check.state == ForgeCheckState::Running;
    let running: Vec<String> = checks.iter().filter(is_running).map(|check| quoted(&check.name)).collect();
    if !running.is_empty() {
        let still = named(&running);
        let reason =
            format!("checks of pull request #{number} are still running: {still}; try again once they have ended");
        return Err(fails("checks-running", reason));
    }
    Ok(match checks.len() {
        0 => "the forge has run no checks".to_owned(),
        1 => "its one check has passed".to_owned(),
        many => format!("its {many} checks have passed"),
    })
}

fn named(all: &[String]) -> String {
    let names = all.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(MOST_NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

fn merged(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    if guidelines.pull_requests.stop_at_open {
        return opened(claims, facts, guidelines);
    }
    if let Answer::Found(PullRequest::Record { .. }) = &facts.pull_request {
        return by_record(claims, facts, guidelines);
    }
    judged(claims, facts, guidelines, |number, request| match request.state {
        RequestState::Merged => {
            // On another branch, the head is unrelated to what was merged.
            if facts.head.branch == claims.branch {
                pushed(number, request)?;
            }
            Ok(holds("pull-request-merged", format!("pull request #{number} is merged into {}", quoted(&request.base))))
        }
        RequestState::Open => {
            Err(fails("not-merged", format!("pull request #{number} is open; have it merged, and try again")))
        }
        RequestState::Closed => Err(closed(number)),
    })
}

/// Checks the conditions for every pull request, then `last`.
fn judged(
    claims: &Claims,
    facts: &Facts,
    guidelines: &Guidelines,
    last: impl FnOnce(u64, &ForgeRequest) -> Result<CheckFinding, CheckFinding>,
) -> CheckFinding {
    let Some(number @ 1..) = claims.pull_request else {
        return match &facts.pull_request {
            // None is claimed, and the branch's own could not be determined.
            Answer::Unknown(unknown) => unverified(unknown),
            _ => fails("no-pull-request", "no pull request is claimed; open one and claim its number"),
        };
    };
    let Some(branch) = claims.branch.as_deref() else {
        return fails("no-branch", "no branch is claimed that a pull request could merge; claim one");
    };
    let request = match (&facts.trouble, &facts.pull_request) {
        (Some(unknown), _) | (None, Answer::Unknown(unknown)) => return unverified(unknown),
        (None, Answer::NotAsked) => return not_asked("the pull request"),
        (None, Answer::Missing) => {
            return fails("pull-request-missing", format!("there is no pull request #{number}; claim one that exists"));
        }
        (None, Answer::Found(request)) => request,
    };
    let finding = match request {
        PullRequest::Record { path, blank: true } => {
            fails("blank-record", format!("{} is blank; write the review in it", quoted(path)))
        }
        PullRequest::Record { path, .. } => {
            let reason =
                format!("{} serves as the pull request because there is no forge (`pullRequests.forge`)", quoted(path));
            holds("review-record", reason)
        }
        PullRequest::Forge(request) => common(number, branch, request, guidelines)
            .and_then(|()| last(number, request))
            .unwrap_or_else(std::convert::identity),
    };
    match finding.standing {
        super::CheckStatus::Holds => CheckFinding { sets: Some(("prNumber", number.to_string())), ..finding },
        _ => finding,
    }
}

fn common(number: u64, branch: &str, request: &ForgeRequest, guidelines: &Guidelines) -> Result<(), CheckFinding> {
    let head = quoted(&request.head);
    if request.number != number {
        return Err(fails(
            "another-pull-request",
            format!("the forge answered #{number} with #{}; claim that one", request.number),
        ));
    }
    if let Some(elsewhere) = &request.elsewhere {
        return Err(of_another(&format!("pull request #{number}"), elsewhere));
    }
    if request.from_fork {
        return Err(fails(
            "from-fork",
            format!("pull request #{number} is for {head} of another repository; open one for this repository"),
        ));
    }
    if request.head != branch {
        let reason = format!("pull request #{number} is for {head}, not {}; open one for this branch", quoted(branch));
        return Err(fails("another-branch", reason));
    }
    if !guidelines.integrates(&request.base) {
        let base = quoted(&request.base);
        return Err(fails(
            "wrong-base",
            format!("pull request #{number} targets {base}, which is not an integration branch; change its base"),
        ));
    }
    Ok(())
}

fn pushed(number: u64, request: &ForgeRequest) -> Result<(), CheckFinding> {
    match request.pushed {
        PushStatus::All => Ok(()),
        PushStatus::NotAll => Err(fails(
            "not-pushed",
            format!("pull request #{number} does not have every commit; push first: `git push`"),
        )),
        PushStatus::Unknown => Err(found(
            super::CheckStatus::Unverified,
            "head-unknown",
            format!("cannot verify: the head of pull request #{number} is not known here; run `git fetch`"),
        )),
    }
}

fn closed(number: u64) -> CheckFinding {
    fails("closed", format!("pull request #{number} was closed without being merged; reopen it, or claim another"))
}

/// Without a forge, work is merged if the integration branches have all its commits.
fn by_record(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    let record = judged(claims, facts, guidelines, |_, _| Ok(holds("review-record", "there is a record")));
    match (&facts.commits, record.standing) {
        (_, super::CheckStatus::Fails | super::CheckStatus::Unverified) => record,
        (Answer::Found(commits), super::CheckStatus::Holds) if commits.is_empty() => {
            let reason = format!("{}, and every commit is on an integration branch", record.reason);
            CheckFinding { code: "merged-locally", reason, ..record }
        }
        (Answer::Unknown(unknown), _) => unverified(unknown),
        _ => fails("not-merged", "some commits are not on any integration branch; merge them, and try again"),
    }
}
