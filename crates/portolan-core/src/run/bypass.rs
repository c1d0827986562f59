//! A bypass: a rule that does not stop a run at one of its nodes, or one call, because somebody said so and why.

use serde::{Deserialize, Serialize};

use crate::value::{NodeId, Timestamp};

/// A bypass on record. It counts for one rule, at one node of one run, or for the call that asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bypass {
    /// Its name in the run: `b1`, `b2` and so on.
    pub id: String,
    /// The rule.
    pub invariant: String,
    /// The node at which it counts; none where a call outside of any run asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// Why; never blank.
    pub reason: String,
    /// How it was asked for.
    pub source: BypassSource,
    /// What it was asked for with: a command, a variable, a line of the configuration.
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

/// How a bypass is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BypassSource {
    /// A variable of the environment.
    Env,
    /// The project's configuration.
    Config,
    /// A command.
    Command,
    /// An option of a command.
    Flag,
    /// A program that has the engine in it.
    Code,
}

impl Bypass {
    /// Whether it counts for `invariant` at `node`, at this time.
    pub fn covers(&self, invariant: &str, node: Option<&NodeId>, now: Timestamp) -> bool {
        let expired = self.expires_at.is_some_and(|end| end.0 <= now.0);
        self.invariant == invariant && self.node.as_ref() == node && !expired && !(self.once && self.used)
    }

    /// Whether it is one on record that counts once. One that comes with a call, as a variable, is gone with it.
    pub fn counts_once(&self) -> bool {
        self.once && self.source != BypassSource::Env
    }
}
