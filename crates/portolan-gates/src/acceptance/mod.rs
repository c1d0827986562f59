//! The checks at phase exits: whether a repository is in the state that a task claims. Each check is one file, with the
//! facts that it needs. A check that cannot decide reports that, and never guesses.

mod branch_matches_prefix;
mod commits_reference_issue;
mod conventional_commit_format;
pub mod evidence;
mod message;
mod no_tampering;
mod pull_request;
mod range;
mod spec_file;
#[cfg(test)]
mod tests;
mod tracking_issue;
mod tree_is_settled;
mod typecheck_passes;

use serde::{Deserialize, Serialize};

pub use spec_file::is_below;

use super::facts::{Claims, FactError, Facts, ForeignRepository, Needs};
use super::guidelines::{Commits, Guidelines, Level};
use super::tracking_issue::TrackedIssue;
use portolan_core::diagnostic::{clip, is_unseen, list};

/// Returns how to fix a commit message by Conventional Commits, or `None` if it is valid.
pub fn message_fault(message: &str, rules: &Commits) -> Option<String> {
    let (subject, body) = message.split_once('\n').unwrap_or((message, ""));
    message::fault(subject, body, rules)
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// The condition holds.
    Holds,
    /// The condition does not hold.
    Fails,
    /// It could not be determined, which does not pass.
    Unverified,
}

/// The finding of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckFinding {
    /// Whether the condition holds.
    pub standing: CheckStatus,
    /// A stable code for the case.
    pub code: &'static str,
    /// The reason; never empty.
    pub reason: String,
    /// All commits at fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// The field of the task that the check determined, and its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets: Option<(&'static str, String)>,
}

/// A commit at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Its full object name.
    pub sha: String,
    /// The first line of its message.
    pub subject: String,
    /// The correct form.
    pub expected: String,
}

/// A check.
#[derive(Debug)]
pub struct CheckKind {
    /// The name that phases use.
    pub id: &'static str,
    /// The rule that it enforces; `None` if that has no name.
    pub invariant: Option<&'static str>,
    /// The facts that it needs.
    pub needs: Needs,
    look: fn(&Claims, &Facts, &Guidelines) -> CheckFinding,
}

/// Every check.
pub static CHECKS: [CheckKind; 11] = [
    tracking_issue::KIND,
    branch_matches_prefix::KIND,
    spec_file::KIND,
    typecheck_passes::KIND,
    conventional_commit_format::KIND,
    tree_is_settled::KIND,
    commits_reference_issue::KIND,
    pull_request::OPENED,
    pull_request::READY,
    pull_request::MERGED,
    no_tampering::KIND,
];

/// The code of a failure that the guidelines reduce to a warning.
pub const WARNED: &str = "warned";
/// The code of a check that the guidelines switch off.
pub const OFF: &str = "switched-off";

/// Returns the check of this name.
pub fn find(id: &str) -> Option<&'static CheckKind> {
    CHECKS.iter().find(|kind| kind.id == id)
}

impl CheckKind {
    /// Decides the check at the level that the guidelines set. A failure at level `warn` holds, with the code
    /// [`WARNED`].
    pub fn decide(&self, claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
        weighed(&self.names(), guidelines, || (self.look)(claims, facts, guidelines))
    }

    /// Returns the finding if the guidelines switch the check off, which needs no facts.
    pub fn switched_off(&self, guidelines: &Guidelines) -> Option<CheckFinding> {
        switched_off(&self.names(), guidelines)
    }

    /// Returns the names that guidelines may use for it.
    fn names(&self) -> Vec<&'static str> {
        [Some(self.id), self.invariant].into_iter().flatten().collect()
    }
}

/// The check for a pull request that is ready to be merged. A person is asked if it cannot decide.
pub const READY: &str = pull_request::READY.id;

/// Returns the finding at the level that the guidelines set for these names. A check that is switched off does not run.
pub fn weighed(names: &[&str], guidelines: &Guidelines, look: impl FnOnce() -> CheckFinding) -> CheckFinding {
    if let Some(off) = switched_off(names, guidelines) {
        return off;
    }
    let found = look();
    if guidelines.level(names) != Level::Warn || found.standing == CheckStatus::Holds {
        return found;
    }
    let reason = format!("{}; passed because `policies.{}` is `warn`", found.reason, policy(names, guidelines));
    CheckFinding { standing: CheckStatus::Holds, code: WARNED, reason, ..found }
}

/// Returns the finding for these names if the guidelines switch them off.
pub fn switched_off(names: &[&str], guidelines: &Guidelines) -> Option<CheckFinding> {
    let policy = policy(names, guidelines);
    let off = || holds(OFF, format!("not checked: `policies.{policy}` is `off`"));
    (guidelines.level(names) == Level::Off).then(off)
}

/// Returns the name under which the guidelines set the level.
fn policy<'a>(names: &[&'a str], guidelines: &Guidelines) -> &'a str {
    let named = names.iter().find(|name| guidelines.levels.contains_key(**name)).or(names.first());
    named.copied().unwrap_or_default()
}

impl Claims {
    /// Returns the claimed issue, as this repository refers to it.
    fn tracked<'a>(&'a self, facts: &'a Facts, guidelines: &'a Guidelines) -> TrackedIssue<'a> {
        TrackedIssue::new(self.issue, self.issue_key.as_deref(), facts.repository.as_deref(), guidelines)
    }
}

impl CheckFinding {
    /// Creates a finding without violations that sets nothing.
    pub fn of(standing: CheckStatus, code: &'static str, reason: impl Into<String>) -> CheckFinding {
        CheckFinding { standing, code, reason: reason.into(), violations: Vec::new(), sets: None }
    }
}

fn found(standing: CheckStatus, code: &'static str, reason: impl Into<String>) -> CheckFinding {
    CheckFinding::of(standing, code, reason)
}

fn holds(code: &'static str, reason: impl Into<String>) -> CheckFinding {
    found(CheckStatus::Holds, code, reason)
}

fn fails(code: &'static str, reason: impl Into<String>) -> CheckFinding {
    found(CheckStatus::Fails, code, reason)
}

fn unverified(unknown: &FactError) -> CheckFinding {
    found(CheckStatus::Unverified, unknown.code, format!("cannot verify: {}", unknown.why))
}

/// Returns the finding for a forge's answer from a repository that is not the project's.
fn of_another(what: &str, elsewhere: &ForeignRepository) -> CheckFinding {
    let own: Vec<&str> = elsewhere.own.iter().map(String::as_str).collect();
    let found = quoted(&elsewhere.found);
    let reason = format!("{what} belongs to {found}, but this project is {}; claim one of its own", list(&own));
    fails("another-repository", reason)
}

/// Returns the finding for a fact that this check needs and that the snapshot lacks.
fn not_asked(what: &str) -> CheckFinding {
    found(CheckStatus::Unverified, "not-asked", format!("cannot verify: no information about {what}; ask again"))
}

/// Quotes an external text for a reason: short, on one line, and unable to end its backticks.
fn quoted(text: &str) -> String {
    let plain = clip(text).replace('`', "'");
    let plain: String =
        plain.chars().map(|c| if is_unseen(c) { c.escape_debug().to_string() } else { c.to_string() }).collect();
    format!("`{plain}`")
}

/// Returns the first digits of a commit's name.
fn short(oid: &str) -> &str {
    oid.get(..10).unwrap_or(oid)
}
