//! The fifteen enforced rules, by the names that bypasses use.

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub id: &'static str,
    /// The requirement.
    pub says: &'static str,
    /// The guards, gates or other parts that enforce it.
    pub kept_by: &'static str,
}

const fn rule(id: &'static str, says: &'static str, kept_by: &'static str) -> Rule {
    Rule { id, says, kept_by }
}

/// The rules, in order.
pub const RULES: &[Rule] = &[
    rule("I-1", "no file is edited on an integration branch", "guard no-edit-on-integration"),
    rule("I-2", "nothing is committed or pushed on an integration branch", "guards, git hooks"),
    rule("I-3", "the issue exists before the branch phase is left", "gate trackingIssueExists"),
    rule("I-4", "the branch is named as agreed", "gate branchMatchesPrefix"),
    rule("I-5", "there is a specification if one is required", "gate specFileExistsIfRequired"),
    rule("I-6", "the type check passes before a commit", "guard, gate typecheckPasses"),
    rule("I-7", "commits are Conventional Commits", "gate conventionalCommitFormat"),
    rule("I-8", "commits name the issue", "guard, git hook, gate commitsReferenceIssue"),
    rule("I-9", "a pull request is opened before the work is done", "gates, stop hook"),
    rule("I-10", "what is removed was meant to be", "gate removalsMatchIntent, merge gate"),
    rule("I-11", "every removal is intended", "the engine"),
    rule("I-12", "every call that changes state is on record", "hooks"),
    rule("I-13", "every bypass is on record", "the event log"),
    rule("I-14", "a question blocks no other task", "supervisor"),
    rule("I-15", "caps are enforced: going back, turns, tokens, cost, time", "the engine, supervisor"),
];
