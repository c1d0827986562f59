//! What became true. The journal keeps changes beside the event that led to them, so that a restart only folds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model_state::ModelStateChange;
use super::{BranchState, Bypass, Data, Fault, Feedback, Frame, FramePath, Opening, Place, Raised, Verdict};
use crate::value::{CheckId, NodeId, WorkflowId};

/// Why a loop is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopEnd {
    /// It has gone through what it goes by.
    Done,
    /// Its break condition holds.
    Broken,
    /// It has made as many passes as it may.
    Limit,
}

/// One change. Applying it chooses nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The run exists, at this place.
    Opened {
        /// What it was opened with.
        opening: Opening,
        /// Where it begins.
        place: Place,
    },
    /// A frame is at another place.
    Moved {
        /// Which frame.
        frame: FramePath,
        /// Where it is.
        place: Place,
        /// Why it was sent there, when that was a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<Feedback>,
    },
    /// A rule does not stop the run at a node.
    Bypassed {
        /// What is on record.
        bypass: Bypass,
    },
    /// A bypass that counts once has counted.
    Used {
        /// Its name in the run.
        bypass: String,
    },
    /// A check is settled.
    Settled {
        /// In which frame.
        frame: FramePath,
        /// Which check.
        check: CheckId,
        /// What it came to.
        verdict: Verdict,
    },
    /// A gate's failure is tried again.
    Retried {
        /// In which frame.
        frame: FramePath,
        /// The node whose budget it is.
        gate: NodeId,
        /// How many retries that makes.
        used: u32,
        /// How many there are.
        budget: u32,
    },
    /// Budgets are full again.
    Refilled {
        /// In which frame.
        frame: FramePath,
        /// Which node's budget; nothing means every budget of the frame.
        gate: Option<NodeId>,
    },
    /// A branch is in another state.
    Branched {
        /// The frame that forked.
        frame: FramePath,
        /// Which branch.
        branch: NodeId,
        /// How far it is.
        state: BranchState,
    },
    /// A function is given what it works on.
    Given {
        /// Which frame.
        frame: FramePath,
        /// Its data, as it is before its first node.
        data: Arc<Data>,
    },
    /// A node of a function was executed.
    Executed {
        /// In which frame.
        frame: FramePath,
        /// The node.
        node: NodeId,
        /// What it came to; nothing is JSONata's `undefined`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Arc<Value>>,
        /// Why it failed, when it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
    /// What a node of a function came to is another value from here on.
    Altered {
        /// In which frame.
        frame: FramePath,
        /// The node.
        node: NodeId,
        /// What counts as its output.
        output: Arc<Value>,
    },
    /// An item of a `forEach` begins.
    ItemBegun {
        /// In which frame.
        frame: FramePath,
        /// Its number, from 0.
        index: u32,
        /// The frame of the workflow that is run for it.
        item: Frame,
    },
    /// An item of a `forEach` is done.
    ItemDone {
        /// In which frame.
        frame: FramePath,
        /// Its number, from 0.
        index: u32,
        /// What it came to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Arc<Value>>,
    },
    /// The flow takes over what its branches came to, in their order.
    Joined {
        /// Which frame.
        frame: FramePath,
    },
    /// The agent asks something, or has its answer.
    Raised {
        /// In which frame.
        frame: FramePath,
        /// What it asks; nothing when it has its answer.
        question: Option<Box<Raised>>,
    },
    /// A variable has a value.
    Set {
        /// In which frame.
        frame: FramePath,
        /// The variable.
        name: String,
        /// Its value.
        value: Value,
    },
    /// Activities will be passed over.
    Skipped {
        /// In which frame.
        frame: FramePath,
        /// Their first nodes.
        activities: Vec<NodeId>,
    },
    /// A switch chose a way.
    Led {
        /// In which frame.
        frame: FramePath,
        /// The switch.
        node: NodeId,
        /// Where it leads.
        to: NodeId,
        /// What it passes over, since the condition of that does not hold.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over: Option<NodeId>,
    },
    /// A loop is over.
    Looped {
        /// In which frame.
        frame: FramePath,
        /// The loop.
        node: NodeId,
        /// How many passes it made.
        passes: u32,
        /// Why it is over.
        by: LoopEnd,
    },
    /// A state is entered.
    Visited {
        /// In which frame.
        #[serde(default, skip_serializing_if = "FramePath::is_root")]
        frame: FramePath,
        /// Its flow.
        flow: WorkflowId,
        /// The state.
        node: NodeId,
    },
    /// Something became true of a state at work.
    Talked {
        /// In which frame.
        frame: FramePath,
        /// What.
        said: ModelStateChange,
    },
    /// A function came to its own output, or failed.
    Finished {
        /// Which frame.
        frame: FramePath,
        /// The output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Arc<Value>>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
}
