//! Acceptance checks: what must hold before a node can be left as done.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use crate::source::Span;
use crate::value::CheckId;

/// How long a command may run when its check does not say, in seconds.
pub const DEFAULT_TIMEOUT_SECONDS: u64 = 600;
/// The longest time that a check may ask for, in seconds: a day.
pub const MAX_TIMEOUT_SECONDS: u64 = 86_400;

/// Where a project writes which checks it attaches to workflows, relative to its folder.
pub const ATTACHMENTS: &str = ".portolan/verify.yaml";

/// One acceptance check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its identifier, unique on the node.
    pub id: CheckId,
    /// Where it stands.
    pub span: Span,
    /// The rule that it keeps, by which it can be got past; nothing where it cannot be.
    pub invariant: Option<String>,
    /// How it is decided.
    pub by: CheckBy,
    /// Whether the project attaches it to the node by `.portolan/verify.yaml`; the definition itself says nothing of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub attached: bool,
}

/// How a check is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckBy {
    /// A command exits with status 0. It is a program and its arguments; no shell reads it.
    Run {
        /// The program, then its arguments.
        argv: Vec<String>,
        /// After how many seconds it is stopped and counts as not passed.
        timeout_seconds: u64,
    },
    /// A file exists in the project and is not empty.
    File {
        /// Its path, relative to the project.
        path: String,
    },
    /// The check of the project that has this name holds; what it runs, the project says.
    Project {
        /// Its name, as [`is_check_name`] allows it.
        name: String,
    },
    /// The repository is as a gate wants it, which is looked at with what the run's variables claim.
    Gate {
        /// The gate: one of those that Portolan has.
        name: String,
    },
    /// The work has left behind what it should.
    Evidence(Evidence),
}

/// Whether a text can be the name of a check of a project: up to 64 small letters, digits, `-` and `_`.
pub fn is_check_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
}

impl CheckBy {
    /// Whether a command decides it: one of the definition, or one of the project.
    pub fn runs_command(&self) -> bool {
        matches!(self, CheckBy::Run { .. } | CheckBy::Project { .. })
    }

    /// The evidence that it looks at; nothing where it looks at something else.
    pub fn evidence(&self) -> Option<&Evidence> {
        match self {
            CheckBy::Evidence(evidence) => Some(evidence),
            _ => None,
        }
    }
}

/// A gate: something that the repository must be like, which Portolan knows how to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Its name, as definitions write it.
    pub name: &'static str,
    /// The rule that it keeps; nothing where it keeps none that has a name.
    pub invariant: Option<&'static str>,
    /// The variable that it looks at first; nothing where it looks at the repository only.
    pub claim: Option<&'static str>,
    /// What it wants, in one line.
    pub wants: &'static str,
}

const fn gate(
    name: &'static str,
    invariant: Option<&'static str>,
    claim: Option<&'static str>,
    wants: &'static str,
) -> Gate {
    Gate { name, invariant, claim, wants }
}

/// The gates there are: first those that look at how the repository is, then those that look at what the step has left.
pub const GATES: &[Gate] = &[
    gate("trackingIssueExists", Some("I-3"), Some("issueNumber"), "the issue exists and is open"),
    gate("branchMatchesPrefix", Some("I-4"), Some("branch"), "HEAD is on the branch, whose name is as agreed"),
    gate("specFileExistsIfRequired", Some("I-5"), Some("specPath"), "there is a specification where one is needed"),
    gate("typecheckPasses", Some("I-6"), None, "the type check has passed for exactly this content"),
    gate("conventionalCommitFormat", Some("I-7"), None, "each commit of the branch is a Conventional Commit"),
    gate("commitsReferenceIssue", Some("I-8"), None, "each commit of the branch names the issue"),
    gate("prOpenedBeforeIdle", Some("I-9"), Some("prNumber"), "the pull request is open and has these commits"),
    gate(
        "pull-request",
        Some("I-9"),
        Some("prNumber"),
        "the pull request is open and has these commits, nothing conflicts, and its checks have passed",
    ),
    gate("pullRequestMerged", Some("I-9"), Some("prNumber"), "the pull request is merged"),
    gate("removalsMatchIntent", Some("I-10"), None, "what the branch removes is what it says that it removes"),
    gate("treeIsSettled", None, None, "nothing is unmerged, and nothing is left uncommitted"),
    gate("noTampering", None, None, "the guards are as they were installed, and nothing went past them"),
    gate("changed", None, None, "files have changed as `must`, `may` and `mustNot` say"),
    gate("commit", None, None, "a commit has been made, with a message as the rules want it"),
    gate("pushed", None, None, "the remote has the commit that is checked out"),
    gate("tests-touched", None, None, "a test has come or has changed"),
    gate("tests-not-weakened", None, None, "no test has gone, is skipped or asserts less"),
    gate("no-conflict-marks", None, None, "no file that has changed has the marks of a conflict left in it"),
    gate("file", None, None, "the file at `path` has been written and is not empty"),
    gate("json", None, None, "the file at `path` has been written and is JSON that fits `schema`"),
    gate("output", None, None, "the report gives the value `name`, which fits `schema`"),
    gate("reviewed-by-another", None, None, "somebody else than the author has looked at it"),
    gate("person", None, None, "a person says that it is so"),
];

/// Other words for gates, and what they are called.
const ALIASES: [(&str, &str); 2] = [("clean-tree", "treeIsSettled"), ("branch", "branchMatchesPrefix")];

impl Gate {
    /// The gate called `name`.
    pub fn named(name: &str) -> Option<&'static Gate> {
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        GATES.iter().find(|gate| gate.name == name)
    }
}
