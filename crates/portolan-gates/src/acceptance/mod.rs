//! Checks at the exits of phases: whether a repository is what a task claims. One file for each check, with what it needs
//! to know; a check that cannot tell says so, and never guesses.

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
use super::tracked::Tracked;
use portolan_core::diagnostic::{clip, is_unseen, list};

/// What would make a commit's message one by Conventional Commits; nothing when it is one.
pub fn message_fault(message: &str, rules: &Commits) -> Option<String> {
    let (subject, body) = message.split_once('\n').unwrap_or((message, ""));
    message::fault(subject, body, rules)
}

/// Whether what a check asks is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// It is.
    Holds,
    /// It is not.
    Fails,
    /// It could not be found out, which passes nothing.
    Unverified,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckFinding {
    /// Whether it holds.
    pub standing: CheckStatus,
    /// A stable word for the case.
    pub code: &'static str,
    /// Why; never empty.
    pub reason: String,
    /// The commits that are at fault, all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// The field of the task that is known from now on, and its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets: Option<(&'static str, String)>,
}

/// A commit at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Its full name.
    pub sha: String,
    /// The first line of its message.
    pub subject: String,
    /// What would be right.
    pub expected: String,
}

/// A check.
#[derive(Debug)]
pub struct CheckKind {
    /// The name that phases call it by.
    pub id: &'static str,
    /// The rule that it keeps; nothing where it keeps none that has a name.
    pub invariant: Option<&'static str>,
    /// What it needs to know.
    pub needs: Needs,
    look: fn(&Claims, &Facts, &Guidelines) -> CheckFinding,
}

/// Every check, by its name.
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

/// The code of what fails where the guidelines only ask for a warning.
pub const WARNED: &str = "warned";
/// The code of what the guidelines switched off.
pub const OFF: &str = "switched-off";

/// The check of this name.
pub fn find(id: &str) -> Option<&'static CheckKind> {
    CHECKS.iter().find(|kind| kind.id == id)
}

impl CheckKind {
    /// Whether what it asks is so, as closely as the guidelines want it kept. What fails under a warning holds, and its
    /// code is [`WARNED`].
    pub fn decide(&self, claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
        weighed(&self.names(), guidelines, || (self.look)(claims, facts, guidelines))
    }

    /// What it comes to where the guidelines switched it off: nothing needs to be known for that.
    pub fn switched_off(&self, guidelines: &Guidelines) -> Option<CheckFinding> {
        switched_off(&self.names(), guidelines)
    }

    /// The names that guidelines may know it by.
    fn names(&self) -> Vec<&'static str> {
        [Some(self.id), self.invariant].into_iter().flatten().collect()
    }
}

/// The check of a pull request that is ready to be merged. What it cannot tell, a person is asked.
pub const READY: &str = pull_request::READY.id;

/// What is found, as closely as the guidelines want what has these names kept. What is switched off is not looked at.
pub fn weighed(names: &[&str], guidelines: &Guidelines, look: impl FnOnce() -> CheckFinding) -> CheckFinding {
    if let Some(off) = switched_off(names, guidelines) {
        return off;
    }
    let found = look();
    if guidelines.level(names) != Level::Warn || found.standing == CheckStatus::Holds {
        return found;
    }
    let reason = format!("{}; passed, for `policies.{}` is `warn`", found.reason, policy(names, guidelines));
    CheckFinding { standing: CheckStatus::Holds, code: WARNED, reason, ..found }
}

/// What is said of what has these names where the guidelines switched it off.
pub fn switched_off(names: &[&str], guidelines: &Guidelines) -> Option<CheckFinding> {
    let policy = policy(names, guidelines);
    let off = || holds(OFF, format!("not looked at: `policies.{policy}` is `off`"));
    (guidelines.level(names) == Level::Off).then(off)
}

/// The name under which the guidelines say how closely it is kept.
fn policy<'a>(names: &[&'a str], guidelines: &Guidelines) -> &'a str {
    let named = names.iter().find(|name| guidelines.levels.contains_key(**name)).or(names.first());
    named.copied().unwrap_or_default()
}

impl Claims {
    /// The issue that is claimed, as this repository reads it.
    fn tracked<'a>(&'a self, facts: &'a Facts, guidelines: &'a Guidelines) -> Tracked<'a> {
        Tracked::new(self.issue, self.issue_key.as_deref(), facts.repository.as_deref(), guidelines)
    }
}

impl CheckFinding {
    /// A finding that is about no commit and sets nothing.
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

/// Of what a forge answered from a repository that is not the project's.
fn of_another(what: &str, elsewhere: &ForeignRepository) -> CheckFinding {
    let own: Vec<&str> = elsewhere.own.iter().map(String::as_str).collect();
    let found = quoted(&elsewhere.found);
    let reason = format!("{what} is one of {found}, and this project is {}; claim one of its own", list(&own));
    fails("another-repository", reason)
}

/// Of a question that this check needed and whoever took the snapshot did not ask.
fn not_asked(what: &str) -> CheckFinding {
    found(CheckStatus::Unverified, "not-asked", format!("cannot verify: nobody looked at {what}; ask again"))
}

/// A word from outside as reasons quote it: short, on one line, and unable to end its backticks.
fn quoted(text: &str) -> String {
    let plain = clip(text).replace('`', "'");
    let plain: String =
        plain.chars().map(|c| if is_unseen(c) { c.escape_debug().to_string() } else { c.to_string() }).collect();
    format!("`{plain}`")
}

/// The first digits of a commit's name.
fn short(oid: &str) -> &str {
    oid.get(..10).unwrap_or(oid)
}
