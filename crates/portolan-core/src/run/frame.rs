//! Where a run is: its frames, the places that they are at, and the way to each.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Data, Item, ModelState, Verdict};
use crate::graph::EndResult;
use crate::value::{CheckId, NodeId, Outcome, Timestamp, WorkflowId};

/// One flow or branch under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The flow that it walks.
    pub flow: WorkflowId,
    /// The run's revision when this frame last moved: a move must quote it.
    pub since: u64,
    /// Where it is.
    pub place: Place,
    /// The retries used by gates that have not passed since, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spent: Vec<Spent>,
    /// Why it was sent here, when that was a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// What the agent asks, while it waits for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<Box<Raised>>,
    /// What the nodes of a function have come to, and the variables of other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Arc<Data>>,
}

/// The retries that one gate has used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The node whose budget it is.
    pub gate: NodeId,
    /// How many retries were used.
    pub used: u32,
}

/// Where a frame is. Each variant holds only what exists there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Work is presented to the agent; at a start node, the work is to begin.
    Ready {
        /// The node.
        node: NodeId,
    },
    /// The agent claims an outcome, and the checks of the node are being performed.
    Checking {
        /// The node.
        node: NodeId,
        /// The outcome that is claimed.
        outcome: Outcome,
        /// What the checks settled so far came to.
        settled: Vec<(CheckId, Verdict)>,
        /// What the agent said of it.
        note: Option<String>,
    },
    /// The engine goes on by itself: the node is executed with the next event.
    Passing {
        /// The node.
        node: NodeId,
        /// How many nodes that need nobody were passed before it, one after the other.
        #[serde(default, skip_serializing_if = "is_none_yet")]
        passed: u32,
    },
    /// A tool is called.
    Calling {
        /// The node.
        node: NodeId,
        /// The arguments, evaluated.
        arguments: Arc<Value>,
        /// How many times it was called before, on this visit.
        #[serde(default, skip_serializing_if = "is_none_yet")]
        retries: u32,
        /// Not before then: a retry waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// A state is worked on.
    Conversing {
        /// The node.
        node: NodeId,
        /// How far it is.
        talk: Box<ModelState>,
    },
    /// Another workflow is under way for each of several items.
    Each {
        /// The `forEach` node.
        node: NodeId,
        /// The items.
        items: Arc<Vec<Value>>,
        /// How many of them were begun.
        begun: u32,
        /// Those that are under way.
        open: Vec<Item>,
        /// What the items came to, in their order; nothing where one is not done, or came to nothing.
        done: Arc<Vec<Option<Arc<Value>>>>,
    },
    /// A loop is under way.
    Looping {
        /// The loop.
        node: NodeId,
        /// How many passes were made before this one.
        pass: u32,
        /// The items of a loop that goes by items.
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
        /// When the question answers itself, if it does.
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
    /// The branches of a fork are runs of their own, and this one waits for them.
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
        /// What the branch came to.
        outcome: Outcome,
    },
    /// It is over.
    Ended {
        /// The node at which it ended.
        node: NodeId,
        /// How.
        result: EndResult,
    },
}

/// Why a person decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// The workflow asks here.
    Answer,
    /// The node failed and nothing is left of its budget.
    Budget,
    /// The workflow went round by itself without any work between.
    Progress,
    /// The agent asks something that the workflow does not.
    Raised,
    /// The node was reported, and nothing says how one of its checks is decided: only a person's own word counts.
    Unchecked,
}

/// A question that the workflow does not ask: the agent does, or a check that nobody has said how to decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raised {
    /// What is asked.
    pub question: String,
    /// What may be answered.
    pub options: Vec<Outcome>,
}

/// One branch of a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Its name: the first step of it.
    pub name: NodeId,
    /// How far it is.
    pub state: BranchState,
    /// What its nodes came to, when it is done: the flow takes it over at the join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Arc<Data>>,
}

/// How far a branch is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchState {
    /// The fork's limit holds it back.
    Held,
    /// It is under way.
    Open(Frame),
    /// It has come to an outcome.
    Done(Outcome),
    /// It is no longer needed.
    Cancelled,
}

/// Why work is attempted again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The node that failed.
    pub from: Option<NodeId>,
    /// The checks that did not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// What was said of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A check that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The check.
    pub check: CheckId,
    /// Why it did not hold.
    pub reason: String,
    /// The end of what it printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// The way from the root to a frame: branch names, and subflow nodes. Empty for the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FramePath(pub Vec<NodeId>);

impl FramePath {
    /// The frame one level further in.
    #[must_use]
    pub fn join(&self, step: &NodeId) -> FramePath {
        let mut path = self.0.clone();
        path.push(step.clone());
        FramePath(path)
    }

    /// The frame around this one, and this one's name in it; nothing for the root.
    pub fn split(&self) -> Option<(FramePath, &NodeId)> {
        let (last, rest) = self.0.split_last()?;
        Some((FramePath(rest.to_vec()), last))
    }

    /// Whether it leads to the root.
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// How an agent writes it: `reproduce`, or `audit/reproduce` in a subflow. Empty for the root.
    pub fn text(&self) -> String {
        self.0.iter().map(NodeId::as_str).collect::<Vec<_>>().join("/")
    }
}

impl Place {
    /// The node at which the frame is.
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

    /// Whether nothing further happens here.
    pub fn is_over(&self) -> bool {
        matches!(self, Place::Arrived { .. } | Place::Ended { .. })
    }
}

/// `serde` asks for a function by reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_none_yet(count: &u32) -> bool {
    *count == 0
}

impl Frame {
    /// Its data to be changed, where it has some.
    pub(crate) fn known_data_mut(&mut self) -> Option<&mut Data> {
        self.data.as_mut().map(Arc::make_mut)
    }

    /// Its data to be changed.
    pub(crate) fn data_mut(&mut self) -> &mut Data {
        Arc::make_mut(self.data.get_or_insert_default())
    }

    /// A frame of `flow` at `place`, as it is when it is opened.
    pub fn at(flow: WorkflowId, place: Place) -> Frame {
        Frame { flow, since: 0, place, spent: Vec::new(), feedback: None, raised: None, data: None }
    }

    /// The retries that `gate` has used.
    pub fn used(&self, gate: &NodeId) -> u32 {
        self.spent.iter().find(|spent| spent.gate == *gate).map_or(0, |spent| spent.used)
    }

    /// The gate whose failure was last sent back and that has not passed since.
    pub fn retrying(&self) -> Option<&Spent> {
        self.spent.last()
    }

    /// The frames directly inside this one that are under way, with their names.
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

    /// The items of a `forEach` that are under way here, or the workflows that a model uses as tools.
    pub(crate) fn items(&self) -> &[Item] {
        match &self.place {
            Place::Each { open, .. } => open,
            Place::Conversing { talk, .. } => talk.open(),
            _ => &[],
        }
    }

    /// The same, to be changed.
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
