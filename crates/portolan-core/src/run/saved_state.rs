//! The saved state of another run, in the format of fsm-agent-flow.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::value::NodeId;

/// The variables and the history of a run, with which another one begins. Other fields of the saved state, such as the
/// `objective`, are ignored: they only repeat the definition.
///
/// ```
/// use portolan_core::run::RunMemory;
/// let saved = r#"{"objective": "o", "shared": {"n": 1}, "history": [{"state_name": "a", "output": "x"}]}"#;
/// let remembered: RunMemory = serde_json::from_str(saved)?;
/// assert_eq!((remembered.shared.len(), remembered.history[0].state_name.as_str()), (1, "a"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunMemory {
    /// The variables.
    pub shared: Map<String, Value>,
    /// The results of states, the oldest first.
    pub history: Vec<StateResult>,
    /// The state at which it was, if it was not over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<NodeId>,
}

/// The result of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateResult {
    /// The state.
    pub state_name: NodeId,
    /// Its output.
    #[serde(default)]
    pub output: Value,
    /// Whether each of its key results was met.
    #[serde(default)]
    pub key_results_met: Map<String, Value>,
}
