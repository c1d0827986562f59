//! The position of a run: its frames, their places and their paths.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Data, Item, ModelState, Verdict};
use crate::graph::EndResult;
use crate::value::{CheckId, NodeId, Outcome, Timestamp, WorkflowId};

/// A flow, branch, pass or item under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The flow that it runs.
    pub flow: WorkflowId,
    /// The run's revision when this frame last moved. A revision that a move quotes must be this one.
    pub since: u64,
    /// Its place.
    pub place: Place,
    /// The retries used at gates that have not passed since, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spent: Vec<GateRetries>,
    /// Why it was sent here, if that was a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// The agent's question, while it waits for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<Box<RaisedQuestion>>,
    /// Its input, its variables and the outputs of its nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Arc<Data>>,
}

/// The retries used at one gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRetries {
    /// The node whose budget it is.
    pub gate: NodeId,
    /// The number of retries used.
    pub used: u32,
}

/// The place of a frame. Each variant has only the data that exists there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Work is presented to the agent; at a start node, the run waits to begin.
    Ready {
        /// The node.
        node: NodeId,
    },
    /// An outcome is reported, and the checks of the node are being performed.
    Checking {
        /// The node.
        node: NodeId,
        /// The reported outcome.
        outcome: Outcome,
        /// The verdicts so far.
        settled: Vec<(CheckId, Verdict)>,
        /// The agent's note.
        note: Option<String>,
    },
    /// The engine executes the node with the next event.
    Passing {
        /// The node.
        node: NodeId,
        /// How many automatic nodes were executed in a row before it.
        #[serde(default, skip_serializing_if = "is_none_yet")]
        passed: u32,
    },
    /// A tool call is under way.
    Calling {
        /// The node.
        node: NodeId,
        /// The evaluated arguments.
        arguments: Arc<Value>,
        /// How many times it was called before, on this visit.
        #[serde(default, skip_serializing_if = "is_none_yet")]
        retries: u32,
        /// The earliest time of the call: a retry waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// A state is under way.
    Conversing {
        /// The node.
        node: NodeId,
        /// Its progress.
        talk: Box<ModelState>,
    },
    /// A `forEach` is under way.
    Each {
        /// The `forEach` node.
        node: NodeId,
        /// The inputs of its items.
        items: Arc<Vec<Value>>,
        /// The number of items that have begun.
        begun: u32,
        /// The items under way.
        open: Vec<Item>,
        /// The outputs of the items, in their order; `None` if one is not done or has none.
        done: Arc<Vec<Option<Arc<Value>>>>,
    },
    /// A loop is under way.
    Looping {
        /// The loop.
        node: NodeId,
        /// The number of passes before this one.
        pass: u32,
        /// The items, if the loop runs over an array.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<Arc<Vec<Value>>>,
        /// The frame of this pass.
        frame: Box<Frame>,
    },
    /// A person decides.
    Waiting {
        /// The node.
        node: NodeId,
        /// Why.
        on: WaitingFor,
        /// When the question times out, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
    },
    /// The branches of a fork are under way inside this run.
    Forked {
        /// The fork.
        node: NodeId,
        /// Its branches, in order.
        branches: Vec<Branch>,
    },
    /// The branches of a fork are runs of their own, and this run waits for them.
    Gathering {
        /// The fork.
        node: NodeId,
    },
    /// Another workflow is under way at a subflow node.
    Within {
        /// The subflow node.
        node: NodeId,
        /// The frame of the other workflow.
        frame: Box<Frame>,
    },
    /// A branch has reached its join.
    Arrived {
        /// The join.
        node: NodeId,
        /// The outcome of the branch.
        outcome: Outcome,
    },
    /// The frame is over.
    Ended {
        /// The node at which it ended.
        node: NodeId,
        /// The result.
        result: EndResult,
    },
}

/// Why a person decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// The workflow asks a question here.
    Answer,
    /// The node failed and its budget is spent.
    Budget,
    /// The workflow does not define how to continue, or it ran too long without any work.
    Progress,
    /// The agent asks a question that the workflow does not.
    Raised,
    /// The node was reported, and nothing defines how to decide one of its checks: only a person's own answer is
    /// accepted.
    Unchecked,
}

/// A question that the workflow does not ask: the agent's, or one about a check that nothing else can decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RaisedQuestion {
    /// The text of the question.
    pub question: String,
    /// The possible answers.
    pub options: Vec<Outcome>,
}

/// One branch of a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Its name: its first step.
    pub name: NodeId,
    /// Its state.
    pub state: BranchState,
    /// The data of its nodes, if it is done: the flow takes it over at the join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Arc<Data>>,
}

/// The state of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchState {
    /// It waits, because of the fork's limit.
    Held,
    /// It is under way.
    Open(Frame),
    /// It has an outcome.
    Done(Outcome),
    /// It was cancelled because the join no longer needs it.
    Cancelled,
}

/// Why work is attempted again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The node that failed.
    pub from: Option<NodeId>,
    /// The checks that do not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// The note on the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A check that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The check.
    pub check: CheckId,
    /// Why it does not hold.
    pub reason: String,
    /// The end of its output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// The path from the root to a frame: names of branches, loops, subflow nodes, items and calls. Empty for the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FramePath(pub Vec<NodeId>);

impl FramePath {
    /// Returns the path of the frame `step` inside this one.
    #[must_use]
    pub fn join(&self, step: &NodeId) -> FramePath {
        let mut path = self.0.clone();
        path.push(step.clone());
        FramePath(path)
    }

    /// Returns the path of the frame around this one, and this one's name in it; `None` for the root.
    pub fn split(&self) -> Option<(FramePath, &NodeId)> {
        let (last, rest) = self.0.split_last()?;
        Some((FramePath(rest.to_vec()), last))
    }

    /// Checks whether it is the root.
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns its text form for agents: `reproduce`, or `audit/reproduce` in a subflow. Empty for the root.
    pub fn text(&self) -> String {
        self.0.iter().map(NodeId::as_str).collect::<Vec<_>>().join("/")
    }
}

impl Place {
    /// Returns the node at which the frame is.
    pub fn node(&self) -> &NodeId {
        match self {
            Place::Ready { node }
            | Place::Passing { node, .. }
            | Place::Calling { node, .. }
            | Place::Conversing { node, .. }
            | Place::Each { node, .. }
            | Place::Looping { node, .. }
            | Place::Checking { node, .. }
            | Place::Waiting { node, .. }
            | Place::Forked { node, .. }
            | Place::Gathering { node }
            | Place::Within { node, .. }
            | Place::Arrived { node, .. }
            | Place::Ended { node, .. } => node,
        }
    }

    /// Checks whether the frame is over.
    pub fn is_over(&self) -> bool {
        matches!(self, Place::Arrived { .. } | Place::Ended { .. })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_none_yet(count: &u32) -> bool {
    *count == 0
}

impl Frame {
    /// Returns its data mutably, if it has any.
    pub(crate) fn known_data_mut(&mut self) -> Option<&mut Data> {
        self.data.as_mut().map(Arc::make_mut)
    }

    /// Returns its data mutably, and creates it if it has none.
    pub(crate) fn data_mut(&mut self) -> &mut Data {
        Arc::make_mut(self.data.get_or_insert_default())
    }

    /// Creates a frame of `flow` at `place`.
    pub fn at(flow: WorkflowId, place: Place) -> Frame {
        Frame { flow, since: 0, place, spent: Vec::new(), feedback: None, raised: None, data: None }
    }

    /// Returns the number of retries used at `gate`.
    pub fn used(&self, gate: &NodeId) -> u32 {
        self.spent.iter().find(|spent| spent.gate == *gate).map_or(0, |spent| spent.used)
    }

    /// Returns the gate that was retried last and has not passed since.
    pub fn retrying(&self) -> Option<&GateRetries> {
        self.spent.last()
    }

    /// Returns the frames directly inside this one that are under way, with their names.
    pub fn inner(&self) -> impl Iterator<Item = (&NodeId, &Frame)> {
        let (branches, within): (&[Branch], _) = match &self.place {
            Place::Forked { branches, .. } => (branches, None),
            Place::Within { node, frame } | Place::Looping { node, frame, .. } => (&[], Some((node, &**frame))),
            _ => (&[], None),
        };
        let open = branches.iter().filter_map(|branch| match &branch.state {
            BranchState::Open(frame) => Some((&branch.name, frame)),
            _ => None,
        });
        open.chain(self.items().iter().map(|item| (&item.name, &item.frame))).chain(within)
    }

    /// Returns the items of a `forEach` that are under way here, or the workflows that a model uses as tools.
    pub(crate) fn items(&self) -> &[Item] {
        match &self.place {
            Place::Each { open, .. } => open,
            Place::Conversing { talk, .. } => talk.open(),
            _ => &[],
        }
    }

    /// Returns the frames directly inside this one, mutably.
    pub(crate) fn inner_frames_mut(&mut self) -> Vec<&mut Frame> {
        match &mut self.place {
            Place::Within { frame, .. } | Place::Looping { frame, .. } => vec![&mut **frame],
            Place::Forked { branches, .. } => branches
                .iter_mut()
                .filter_map(|branch| match &mut branch.state {
                    BranchState::Open(frame) => Some(frame),
                    _ => None,
                })
                .collect(),
            Place::Each { open, .. } => open.iter_mut().map(|item| &mut item.frame).collect(),
            Place::Conversing { talk, .. } => talk.open_mut().iter_mut().map(|item| &mut item.frame).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn inner_mut(&mut self, name: &NodeId) -> Option<&mut Frame> {
        match &mut self.place {
            Place::Within { node, frame } | Place::Looping { node, frame, .. } if node == name => Some(frame),
            Place::Forked { branches, .. } => {
                let branch = branches.iter_mut().find(|branch| branch.name == *name)?;
                match &mut branch.state {
                    BranchState::Open(frame) => Some(frame),
                    _ => None,
                }
            }
            Place::Each { open, .. } => item_mut(open, name),
            Place::Conversing { talk, .. } => item_mut(talk.open_mut(), name),
            _ => None,
        }
    }
}

fn item_mut<'i>(items: &'i mut [Item], name: &NodeId) -> Option<&'i mut Frame> {
    items.iter_mut().find(|item| item.name == *name).map(|item| &mut item.frame)
}
