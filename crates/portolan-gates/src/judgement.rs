//! The judgement of a gate, and what can be done about it.

use portolan_core::run::Bypass;
use serde::{Deserialize, Serialize};

/// The decision about a tool call. A later variant outweighs an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call is allowed.
    Allow,
    /// A person decides.
    Ask,
    /// The call is blocked.
    Block,
}

/// The judgement of one guard on one tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The guard.
    pub guard: String,
    /// Where the guard is declared, if that is a definition: `invoices`, or `invoices/pay` for a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The rule that it enforces, such as `I-1`; `None` if that has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariant: Option<String>,
    /// Its decision.
    pub decision: Decision,
    /// The reason; never empty.
    pub reason: String,
    /// How to fix it: commands and short sentences, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<String>,
    /// How the rule may be bypassed by name, if it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass: Option<String>,
    /// The bypass without which the call would be asked about or blocked. It must be on record before the call happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypassed_by: Option<Bypass>,
}

impl Judgement {
    /// Creates a judgement without a named rule, remedies or a bypass.
    pub fn new(guard: &str, decision: Decision, reason: impl Into<String>) -> Judgement {
        Judgement {
            guard: guard.to_owned(),
            origin: None,
            invariant: None,
            decision,
            reason: reason.into(),
            remedies: Vec::new(),
            bypass: None,
            bypassed_by: None,
        }
    }
}
