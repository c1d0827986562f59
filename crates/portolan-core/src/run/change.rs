//! The changes of a run. The journal stores them beside the event that caused them, so that a restart only folds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model_state::ModelStateChange;
use super::{BranchState, Bypass, Data, Fault, Feedback, Frame, FramePath, Opening, Place, RaisedQuestion, Verdict};
use crate::value::{CheckId, NodeId, WorkflowId};

/// Why a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopEnd {
    /// It has no further items, or its condition does not hold.
    Done,
    /// Its break condition holds.
    Broken,
    /// It has made its maximum number of passes.
    Limit,
}

/// One change. Applying it makes no decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The run was opened at this place.
    Opened {
        /// The data that it was opened with.
        opening: Opening,
        /// The place at which it begins.
        place: Place,
    },
    /// A frame moved to another place.
    Moved {
        /// The frame.
        frame: FramePath,
        /// Its new place.
        place: Place,
        /// Why it was sent there, if that was a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<Feedback>,
    },
    /// A rule was bypassed at a node.
    Bypassed {
        /// The bypass.
        bypass: Bypass,
    },
    /// A one-time bypass was used.
    Used {
        /// Its name in the run.
        bypass: String,
    },
    /// A check was settled.
    Settled {
        /// The frame.
        frame: FramePath,
        /// The check.
        check: CheckId,
        /// Its verdict.
        verdict: Verdict,
    },
    /// A failure is retried.
    Retried {
        /// The frame.
        frame: FramePath,
        /// The node whose budget it is.
        gate: NodeId,
        /// The number of retries used, this one included.
        used: u32,
        /// The number of retries allowed.
        budget: u32,
    },
    /// Budgets were reset.
    Refilled {
        /// The frame.
        frame: FramePath,
        /// The node whose budget it is; `None` means every budget of the frame.
        gate: Option<NodeId>,
    },
    /// The state of a branch changed.
    Branched {
        /// The frame that forked.
        frame: FramePath,
        /// The branch.
        branch: NodeId,
        /// Its new state.
        state: BranchState,
    },
    /// A flow got its initial data.
    Given {
        /// The frame.
        frame: FramePath,
        /// Its data before its first node.
        data: Arc<Data>,
    },
    /// A node was executed.
    Executed {
        /// The frame.
        frame: FramePath,
        /// The node.
        node: NodeId,
        /// Its output; `None` is JSONata's `undefined`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Arc<Value>>,
        /// Why it failed, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
    /// The output of a node was replaced.
    Altered {
        /// The frame.
        frame: FramePath,
        /// The node.
        node: NodeId,
        /// The new output.
        output: Arc<Value>,
    },
    /// An item of a `forEach` began.
    ItemBegun {
        /// The frame of the `forEach`.
        frame: FramePath,
        /// Its number, from 0.
        index: u32,
        /// The frame of the workflow for it.
        item: Frame,
    },
    /// An item of a `forEach` is done.
    ItemDone {
        /// The frame of the `forEach`.
        frame: FramePath,
        /// Its number, from 0.
        index: u32,
        /// Its output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Arc<Value>>,
    },
    /// A flow took over the outputs of its branches, in their order.
    Joined {
        /// The frame that forked.
        frame: FramePath,
    },
    /// The agent asked a question, or got its answer.
    Raised {
        /// The frame.
        frame: FramePath,
        /// The question; `None` if it was answered.
        question: Option<Box<RaisedQuestion>>,
    },
    /// A variable was set.
    Set {
        /// The frame that owns it.
        frame: FramePath,
        /// The variable.
        name: String,
        /// Its value.
        value: Value,
    },
    /// Activities are to be skipped.
    Skipped {
        /// The frame that owns them.
        frame: FramePath,
        /// Their first nodes.
        activities: Vec<NodeId>,
    },
    /// A switch took an edge.
    Led {
        /// The frame.
        frame: FramePath,
        /// The switch.
        node: NodeId,
        /// Its target.
        to: NodeId,
        /// The node that is skipped because its condition does not hold.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over: Option<NodeId>,
    },
    /// A loop ended.
    Looped {
        /// The frame.
        frame: FramePath,
        /// The loop.
        node: NodeId,
        /// The number of passes that it made.
        passes: u32,
        /// Why it ended.
        by: LoopEnd,
    },
    /// A state was entered.
    Visited {
        /// The frame.
        #[serde(default, skip_serializing_if = "FramePath::is_root")]
        frame: FramePath,
        /// Its flow.
        flow: WorkflowId,
        /// The state.
        node: NodeId,
    },
    /// Something about a state under way changed.
    Talked {
        /// The frame.
        frame: FramePath,
        /// The change.
        said: ModelStateChange,
    },
    /// A flow ended with an output or an error.
    Finished {
        /// The frame.
        frame: FramePath,
        /// The output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Arc<Value>>,
        /// Why it failed, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
}
