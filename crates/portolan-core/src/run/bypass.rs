//! A named exception: a rule that does not stop a run at one of its nodes, because somebody said so and why.

use serde::{Deserialize, Serialize};

use crate::value::{NodeId, Timestamp};

/// An exception on record. It counts for one rule, at one node, in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bypass {
    /// Its name in the run: `b1`, `b2` and so on.
    pub id: String,
    /// The rule.
    pub invariant: String,
    /// The node at which it counts.
    pub node: NodeId,
    /// Why; never blank.
    pub reason: String,
    /// By what way it came: `command`, `env`, `flag`, `config`, `code`.
    pub source: String,
    /// What was used: a command, a variable, a line of the configuration.
    pub identifier: String,
    /// When it was recorded.
    pub at: Timestamp,
    /// After that it does not count any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether it counts once only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Whether it has counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub used: bool,
}

impl Bypass {
    /// Whether it counts for `invariant` at `node`, at this time.
    pub fn covers(&self, invariant: &str, node: &NodeId, now: Timestamp) -> bool {
        let expired = self.expires_at.is_some_and(|end| end.0 <= now.0);
        self.invariant == invariant && self.node == *node && !expired && !(self.once && self.used)
    }
}
