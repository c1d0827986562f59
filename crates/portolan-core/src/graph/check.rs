//! Acceptance checks: what must hold before a node can be left as done.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use crate::source::Span;
use crate::value::CheckId;

/// The default timeout of a command, in seconds.
pub const DEFAULT_TIMEOUT_SECONDS: u64 = 600;
/// The longest timeout that a check may ask for, in seconds: a day.
pub const MAX_TIMEOUT_SECONDS: u64 = 86_400;

/// The file in which a project attaches checks to workflows, relative to its folder.
pub const ATTACHMENTS: &str = ".portolan/verify.yaml";

/// One acceptance check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its identifier, unique on the node.
    pub id: CheckId,
    /// Its position in the text.
    pub span: Span,
    /// The rule that it enforces, by which it can be bypassed; `None` if it cannot be bypassed.
    pub invariant: Option<String>,
    /// How it is decided.
    pub by: CheckBy,
    /// Whether the project attaches it by `.portolan/verify.yaml`, rather than the definition.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub attached: bool,
}

/// How a check is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckBy {
    /// A command exits with status 0. It is a program and its arguments, without a shell.
    Run {
        /// The program, then its arguments.
        argv: Vec<String>,
        /// The time in seconds after which it is stopped and counts as not passed.
        timeout_seconds: u64,
    },
    /// A file exists in the project and is not empty.
    File {
        /// Its path, relative to the project.
        path: String,
    },
    /// The project's check of this name holds. The project defines its command.
    Project {
        /// Its name, as allowed by [`is_check_name`].
        name: String,
    },
    /// The repository satisfies a gate, which also reads the variables of the run.
    Gate {
        /// The gate, one of [`GATES`].
        name: String,
    },
    /// The work has produced evidence.
    Evidence(Evidence),
}

/// Checks whether a text is a valid name of a project's check: up to 64 lower-case letters, digits, `-` and `_`.
pub fn is_check_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
}

impl CheckBy {
    /// Checks whether a command decides it: one of the definition, or one of the project.
    pub fn runs_command(&self) -> bool {
        matches!(self, CheckBy::Run { .. } | CheckBy::Project { .. })
    }

    /// Returns the evidence that it requires; `None` for other checks.
    pub fn evidence(&self) -> Option<&Evidence> {
        match self {
            CheckBy::Evidence(evidence) => Some(evidence),
            _ => None,
        }
    }
}

/// A gate: a built-in condition on the repository or on the results of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Its name, as definitions write it.
    pub name: &'static str,
    /// The rule that it enforces; `None` if that has no name.
    pub invariant: Option<&'static str>,
    /// The variable that it reads first; `None` if it inspects the repository only.
    pub claim: Option<&'static str>,
    /// Its condition, in one line.
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

/// All gates: first those on the state of the repository, then those on the results of the step.
pub const GATES: &[Gate] = &[
    gate("trackingIssueExists", Some("I-3"), Some("issueNumber"), "the issue exists and is open"),
    gate(
        "branchMatchesPrefix",
        Some("I-4"),
        Some("branch"),
        "HEAD is on the branch, and the name of the branch follows the rules",
    ),
    gate("specFileExistsIfRequired", Some("I-5"), Some("specPath"), "there is a specification if one is required"),
    gate("typecheckPasses", Some("I-6"), None, "the type check has passed for exactly this content"),
    gate("conventionalCommitFormat", Some("I-7"), None, "each commit of the branch is a Conventional Commit"),
    gate("commitsReferenceIssue", Some("I-8"), None, "each commit of the branch names the issue"),
    gate("prOpenedBeforeIdle", Some("I-9"), Some("prNumber"), "the pull request is open and has these commits"),
    gate(
        "pull-request",
        Some("I-9"),
        Some("prNumber"),
        "the pull request is open, has these commits and no conflicts, and its checks have passed",
    ),
    gate("pullRequestMerged", Some("I-9"), Some("prNumber"), "the pull request is merged"),
    gate("removalsMatchIntent", Some("I-10"), None, "what the branch removes matches what it says it removes"),
    gate("treeIsSettled", None, None, "nothing is unmerged, and nothing is left uncommitted"),
    gate(
        "noTampering",
        None,
        None,
        "the guards are unchanged since they were installed, and nothing has circumvented them",
    ),
    gate("changed", None, None, "files have changed as `must`, `may` and `mustNot` require"),
    gate("commit", None, None, "a commit has been made, and its message follows the rules"),
    gate("pushed", None, None, "the remote has the commit that is checked out"),
    gate("tests-touched", None, None, "a test was added or changed"),
    gate("tests-not-weakened", None, None, "no test was removed, skipped or weakened"),
    gate("no-conflict-marks", None, None, "no changed file contains conflict markers"),
    gate("file", None, None, "the file at `path` has been written and is not empty"),
    gate("json", None, None, "the file at `path` has been written and is JSON that fits `schema`"),
    gate("output", None, None, "the report gives the value `name`, which fits `schema`"),
    gate("reviewed-by-another", None, None, "someone other than the author has reviewed it"),
    gate("person", None, None, "a person confirms it"),
];

/// Other names for gates.
const ALIASES: [(&str, &str); 2] = [("clean-tree", "treeIsSettled"), ("branch", "branchMatchesPrefix")];

impl Gate {
    /// Returns the gate called `name`.
    pub fn named(name: &str) -> Option<&'static Gate> {
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        GATES.iter().find(|gate| gate.name == name)
    }
}
