//! What a gate says of something, with what can be done about it.

use portolan_core::run::Bypass;
use serde::{Deserialize, Serialize};

/// What may become of a tool call. The later one outweighs the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may happen.
    Allow,
    /// A person decides.
    Ask,
    /// It may not happen.
    Block,
}

/// What one guard says of one tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The guard.
    pub guard: String,
    /// The rule that it keeps, such as `I-1`; nothing where it keeps none that has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariant: Option<String>,
    /// What it says.
    pub decision: Decision,
    /// Why; never empty.
    pub reason: String,
    /// What puts it right: commands and short sentences, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<String>,
    /// How it may be got past by name, where it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass: Option<String>,
    /// What got past it: without this it would have been asked or blocked. It must be on record before the call happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypassed_by: Option<Bypass>,
}

impl Judgement {
    /// What a guard says, and why: of no rule that has a name, with nothing that puts it right, and no way past it.
    pub fn new(guard: &str, decision: Decision, reason: impl Into<String>) -> Judgement {
        Judgement {
            guard: guard.to_owned(),
            invariant: None,
            decision,
            reason: reason.into(),
            remedies: Vec::new(),
            bypass: None,
            bypassed_by: None,
        }
    }
}
