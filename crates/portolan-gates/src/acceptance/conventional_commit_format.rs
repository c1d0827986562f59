//! I-7: every commit of the branch follows Conventional Commits.

use super::range::{range, ruled};
use super::{CheckFinding, CheckKind, Violation, fails, holds, message, quoted, short};
use crate::facts::{Claims, Commit, Facts, Needs};
use crate::guidelines::Guidelines;

pub(super) const KIND: CheckKind = CheckKind {
    id: "conventionalCommitFormat",
    invariant: Some("I-7"),
    needs: Needs { commits: true, ..Needs::NOTHING },
    look,
};

fn look(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    let commits = match range(claims, facts) {
        Ok(commits) => commits,
        Err(finding) => return *finding,
    };
    let ruled = ruled(commits, guidelines);
    let faults = ruled.iter().filter_map(|commit| {
        let expected = message::fault(&commit.subject, &commit.body, &guidelines.commits)?;
        Some(violation(commit, expected))
    });
    judged("not-conventional", faults.collect(), || {
        let passed_over = match commits.len() - ruled.len() {
            0 => String::new(),
            some => format!(", and {some} written by git are skipped"),
        };
        let verb = if ruled.len() == 1 { "is" } else { "are" };
        format!("{} {verb} in Conventional Commits format{passed_over}", counted(ruled.len()))
    })
}

pub(super) fn violation(commit: &Commit, expected: String) -> Violation {
    Violation { sha: commit.oid.clone(), subject: portolan_core::diagnostic::clip(&commit.subject), expected }
}

/// Returns the finding of violations. The reason names the first, the finding has all.
pub(super) fn judged(code: &'static str, violations: Vec<Violation>, well: impl FnOnce() -> String) -> CheckFinding {
    let Some(first) = violations.first() else { return holds("commits-hold", well()) };
    let others = match violations.len() - 1 {
        0 => String::new(),
        some => format!(" ({some} more)"),
    };
    let reason = format!("{} {}: {}{others}", short(&first.sha), quoted(&first.subject), first.expected);
    CheckFinding { violations, ..fails(code, reason) }
}

pub(super) fn counted(count: usize) -> String {
    if count == 1 { "1 commit".to_owned() } else { format!("{count} commits") }
}
