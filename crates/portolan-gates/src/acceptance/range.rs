//! The commits that commit checks apply to.

use super::branch_matches_prefix::stands;
use super::{CheckFinding, fails, not_asked, quoted, unverified};
use crate::facts::{Answer, Claims, Commit, Facts};
use crate::guidelines::Guidelines;

/// Returns the commits of the claimed branch, of which there is at least one.
pub(super) fn range<'f>(claims: &Claims, facts: &'f Facts) -> Result<&'f [Commit], Box<CheckFinding>> {
    let fault = match (&facts.trouble, &facts.base, &facts.commits) {
        (Some(unknown), ..) | (_, Answer::Unknown(unknown), _) | (_, _, Answer::Unknown(unknown)) => {
            unverified(unknown)
        }
        (None, base, commits) => {
            let branch = stands(claims, facts)?;
            match (base, commits) {
                _ if facts.head.oid.is_none() => nothing(branch),
                (Answer::Missing, _) => fails(
                    "no-common-history",
                    format!("no common history: {} shares no commit with an integration branch", quoted(branch)),
                ),
                (_, Answer::Found(commits)) if commits.is_empty() => nothing(branch),
                (_, Answer::Found(commits)) => return Ok(commits),
                (_, Answer::NotAsked | Answer::Missing) => not_asked("the commits"),
                (_, Answer::Unknown(unknown)) => unverified(unknown),
            }
        }
    };
    Err(Box::new(fault))
}

fn nothing(branch: &str) -> CheckFinding {
    fails("nothing-committed", format!("nothing is committed on {}; commit the work", quoted(branch)))
}

/// Returns the commits that the rules apply to: without those that git generates, if the guidelines ignore these. A
/// commit that only looks generated is included: a squash needs its target among the commits, and a revert must name
/// its commit.
pub(super) fn ruled<'f>(commits: &'f [Commit], guidelines: &Guidelines) -> Vec<&'f Commit> {
    let subjects: std::collections::BTreeSet<&str> = commits.iter().map(|commit| commit.subject.as_str()).collect();
    let generated = |commit: &Commit| match stripped(&commit.subject) {
        target if target.len() < commit.subject.len() => subjects.contains(target),
        _ => is_revert(commit),
    };
    commits.iter().filter(|commit| !guidelines.commits.ignore_generated || !generated(commit)).collect()
}

/// Returns a subject without the marks of a commit to be squashed.
fn stripped(subject: &str) -> &str {
    let mut rest = subject;
    while let Some(behind) = ["fixup! ", "squash! ", "amend! "].iter().find_map(|mark| rest.strip_prefix(mark)) {
        rest = behind;
    }
    rest
}

/// Checks for the format of `git revert`: the reverted subject, and the commit in the body.
fn is_revert(commit: &Commit) -> bool {
    let names = |line: &str| {
        let oid = line.strip_prefix("This reverts commit ").and_then(|rest| rest.get(..40));
        oid.is_some_and(crate::names::is_oid)
    };
    let subject = commit.subject.strip_prefix("Revert \"").or_else(|| commit.subject.strip_prefix("Reapply \""));
    subject.is_some_and(|rest| rest.ends_with('"')) && commit.body.lines().any(names)
}
