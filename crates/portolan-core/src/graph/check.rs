//! Acceptance checks: what must hold before a node can be left as done.

use serde::{Deserialize, Serialize};

use crate::source::Span;
use crate::value::CheckId;

/// How long a command may run when its check does not say, in seconds.
pub const DEFAULT_TIMEOUT_SECONDS: u64 = 600;
/// The longest time that a check may ask for, in seconds: a day.
pub const MAX_TIMEOUT_SECONDS: u64 = 86_400;

/// One acceptance check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its identifier, unique on the node.
    pub id: CheckId,
    /// Where it stands.
    pub span: Span,
    /// The rule that it keeps, by which it can be got past; nothing where it cannot be.
    pub invariant: Option<String>,
    /// How it is decided.
    pub by: CheckBy,
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
    /// The repository is as a gate wants it, which is looked at with what the run's variables claim.
    Gate {
        /// The gate: one of those that Portolan has.
        name: String,
    },
}
