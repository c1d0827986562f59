//! I-8: every commit of the branch names the issue.

use super::conventional_commit_format::{counted, judged, violation};
use super::range::{range, ruled};
use super::{CheckFinding, CheckKind, fails, holds, quoted};
use crate::facts::{Claims, Facts, Needs};
use crate::guidelines::Guidelines;

pub(super) const KIND: CheckKind = CheckKind {
    id: "commitsReferenceIssue",
    invariant: Some("I-8"),
    needs: Needs { commits: true, ..Needs::NOTHING },
    look,
};

fn look(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    if !guidelines.commits.require_reference {
        return holds("not-required", "commits need not name the issue (`commits.requireReference`)");
    }
    let commits = match range(claims, facts) {
        Ok(commits) => commits,
        Err(finding) => return *finding,
    };
    let tracked = claims.tracked(facts, guidelines);
    if !tracked.is_claimed() {
        return fails("no-issue", "no issue is claimed for the commits to name; claim it");
    }
    let wanted = tracked.written();
    let ruled = ruled(commits, guidelines);
    let faults = ruled.iter().filter_map(|commit| {
        let fault = tracked.fault(&format!("{}\n{}", commit.subject, commit.body))?;
        Some(violation(commit, fault.help))
    });
    let verb = if ruled.len() == 1 { "names" } else { "name" };
    judged("no-reference", faults.collect(), || format!("{} {verb} {}", counted(ruled.len()), quoted(&wanted)))
}
