//! The data of a flow: its input, its variables, the outputs of its nodes, and its own output.

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
    /// Its input.
    pub input: Arc<Value>,
    /// The outputs of its nodes.
    #[serde(default)]
    pub outputs: Outputs,
    /// The variables that have a value; for a pass of a loop, the item.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub variables: Map<String, Value>,
    /// The activities that are skipped, by their first nodes.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub skipped: BTreeSet<NodeId>,
    /// The bypasses, the latest last. Those of a run are in its root frame.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bypasses: Vec<Bypass>,
    /// Its usage, if another workflow runs it and it has limits of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Box<Budget>>,
    /// Its output, if it is over and has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<Value>>,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// Why a node failed, and perhaps the run with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The node; inside another workflow, the path to it: `audit/fetch`.
    pub node: String,
    /// A stable code for programs.
    pub code: String,
    /// The error message, in one sentence.
    pub message: String,
    /// Details for readers: the output of a server, the expression that failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Fault {
    /// Returns the value that later nodes see in place of an output.
    pub fn as_output(&self) -> Value {
        serde_json::json!({ "error": self })
    }

    /// Returns the same fault as reported by the node around the one that failed.
    #[must_use]
    pub fn within(mut self, node: &NodeId) -> Fault {
        self.node = format!("{node}/{}", self.node);
        self
    }
}

/// An item of a `forEach` under way, or a workflow that a model uses as a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The name of its frame: the item's number (`0`, `1` …), or the call's name.
    pub name: NodeId,
    /// Its number among the items or calls, from 0.
    pub index: u32,
    /// Its frame.
    pub frame: Frame,
}
