//! What a flow works with: its input, its variables, what its nodes have come to, and what it came to itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Budget, Bypass, Frame};
use crate::expr::Outputs;
use crate::value::NodeId;

/// The data of one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// What it was given.
    pub input: Arc<Value>,
    /// What its nodes have come to.
    #[serde(default)]
    pub outputs: Outputs,
    /// The variables that have a value; of a pass of a loop, the item.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub variables: Map<String, Value>,
    /// The activities that are passed over, by their first nodes.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub skipped: BTreeSet<NodeId>,
    /// What somebody has got past by name, the latest last. Those of a run are with its root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bypasses: Vec<Bypass>,
    /// What it has used up, where another workflow runs it and it has limits of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Box<Budget>>,
    /// What it came to, when it is over and came to something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<Value>>,
    /// Why it failed, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// Why a node, and with it perhaps the run, failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The node; inside another workflow, the way to it: `audit/fetch`.
    pub node: String,
    /// A stable word for programs.
    pub code: String,
    /// What went wrong, in one sentence.
    pub message: String,
    /// More about it, for readers: what a server printed, the expression that failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Fault {
    /// What later nodes see in the place of an output.
    pub fn as_output(&self) -> Value {
        serde_json::json!({ "error": self })
    }

    /// The same fault, told by a node around the one that failed.
    #[must_use]
    pub fn within(mut self, node: &NodeId) -> Fault {
        self.node = format!("{node}/{}", self.node);
        self
    }
}

/// One item of a `forEach` under way, or one workflow that a model uses as a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The name of its frame: the item's number (`0`, `1` …), or the call's name.
    pub name: NodeId,
    /// Its number among the items or calls, from 0.
    pub index: u32,
    /// How far it is.
    pub frame: Frame,
}
