//! I-8: every commit of the branch names the issue.

use super::conventional_commit_format::{counted, judged, violation};
use super::range::{range, ruled};
use super::{CheckKind, Finding, fails, holds, quoted};
use crate::gates::facts::{Claims, Commit, Facts, Needs};
use crate::gates::guidelines::Guidelines;
use crate::gates::references::{Target, references};

pub(super) const KIND: CheckKind = CheckKind {
    id: "commitsReferenceIssue",
    invariant: Some("I-8"),
    needs: Needs { commits: true, ..Needs::NOTHING },
    look,
};

fn look(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> Finding {
    if !guidelines.commits.require_reference {
        return holds("not-required", "commits need not name the issue (`commits.requireReference`)");
    }
    let commits = match range(claims, facts) {
        Ok(commits) => commits,
        Err(finding) => return *finding,
    };
    let wanted = match (claims.issue, &claims.issue_key) {
        (Some(number), _) => format!("#{number}"),
        (None, Some(key)) => quoted(key),
        (None, None) => return fails("no-issue", "no issue is claimed that commits could name; claim it"),
    };
    let ruled = ruled(commits, guidelines);
    let faults = ruled.iter().filter_map(|commit| {
        let expected = fault(commit, claims, facts, guidelines, &wanted)?;
        Some(violation(commit, expected))
    });
    let verb = if ruled.len() == 1 { "names" } else { "name" };
    judged("no-reference", faults.collect(), || format!("{} {verb} {wanted}", counted(ruled.len())))
}

fn fault(commit: &Commit, claims: &Claims, facts: &Facts, guidelines: &Guidelines, wanted: &str) -> Option<String> {
    let found = references(&format!("{}\n{}", commit.subject, commit.body));
    let is_own = |target: &Target| match (claims.issue, target) {
        (Some(number), target) => target.is_issue(number, facts.repository.as_deref()),
        (None, Target::Key(key)) => claims.issue_key.as_ref() == Some(key),
        (None, Target::Issue { .. }) => false,
    };
    if !found.iter().any(|reference| is_own(&reference.target)) {
        return Some(format!("name the issue: `Refs {}`", wanted.trim_matches('`')));
    }
    let closes = !guidelines.issues.allow_closing_keywords && found.iter().any(|reference| reference.closes);
    closes.then(|| "name the issue without a word that closes it, such as `fixes`".to_owned())
}
