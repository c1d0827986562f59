//! Bypasses: a rule is lifted at one node of a run, or for one call, with a reason.

use serde::{Deserialize, Serialize};

use crate::value::{NodeId, Timestamp};

/// A recorded bypass. It is valid for one rule, at one node of one run, or for the call that requests it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bypass {
    /// Its name in the run: `b1`, `b2` and so on.
    pub id: String,
    /// The rule.
    pub invariant: String,
    /// The node at which it is valid; `None` if a call outside of any run requests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// The reason; never blank.
    pub reason: String,
    /// How it was requested.
    pub source: BypassSource,
    /// The command, variable or configuration line that requested it.
    pub identifier: String,
    /// When it was recorded.
    pub at: Timestamp,
    /// The time from which it is no longer valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether it is valid once only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Whether it was used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub used: bool,
}

/// How a bypass is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BypassSource {
    /// An environment variable.
    Env,
    /// The project's configuration.
    Config,
    /// A command.
    Command,
    /// An option of a command.
    Flag,
    /// A program that embeds the engine.
    Code,
}

impl Bypass {
    /// Checks whether it is valid for `invariant` at `node`, at the time `now`.
    pub fn covers(&self, invariant: &str, node: Option<&NodeId>, now: Timestamp) -> bool {
        let expired = self.expires_at.is_some_and(|end| end.0 <= now.0);
        self.invariant == invariant && self.node.as_ref() == node && !expired && !(self.once && self.used)
    }

    /// Checks whether it is a recorded one-time bypass. One from an environment variable exists only for its call.
    pub fn counts_once(&self) -> bool {
        self.once && self.source != BypassSource::Env
    }
}
