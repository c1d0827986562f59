//! The result of `validate`: every reference is resolved, and no error is left.

use std::sync::Arc;

use serde::Serialize;

use super::{Activity, CallRules, FileSettings, Interface, Node, Variable};
use crate::expr::Expr;
use crate::value::{ById, NodeId, Outcome, PASSED, WorkflowId};

/// A checked definition: a root flow and every flow that its subflows name.
///
/// Only `validate` creates one. Every edge of it leads to a node, every flow has one start, and forks and joins belong
/// together.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "form", rename = "workflow/1")]
pub struct Workflow {
    root: WorkflowId,
    flows: Arc<ById<WorkflowId, Flow>>,
    /// Whether a flow has activities, which may contain loops.
    #[serde(skip)]
    has_activities: bool,
}

impl Workflow {
    pub(crate) fn new(root: WorkflowId, flows: ById<WorkflowId, Flow>) -> Workflow {
        assert!(flows.contains_key(&root), "a workflow contains its root flow");
        let has_activities = flows.values().any(|flow| !flow.activities.is_empty());
        Workflow { root, flows: Arc::new(flows), has_activities }
    }

    /// Checks whether a flow has activities, which may contain loops.
    pub(crate) fn has_activities(&self) -> bool {
        self.has_activities
    }

    /// Returns the identifier of the root flow, which is also that of the workflow.
    pub fn id(&self) -> &WorkflowId {
        &self.root
    }

    /// Returns the flow in which a run begins.
    pub fn root(&self) -> &Flow {
        &self.flows[&self.root]
    }

    /// Returns a flow of this workflow.
    ///
    /// # Panics
    /// Panics if there is no flow of that name. A run that passed `engine::fits` names only flows that exist.
    pub fn flow(&self, id: &WorkflowId) -> &Flow {
        &self.flows[id]
    }

    /// Returns the flow called `name`, if there is one.
    pub fn find(&self, name: &str) -> Option<&Flow> {
        self.flows.get(name)
    }

    /// Returns the number of a flow among all flows.
    pub(crate) fn number(&self, id: &WorkflowId) -> Option<usize> {
        self.flows.get_index_of(id)
    }

    /// Returns all flows, the root first.
    pub fn flows(&self) -> impl Iterator<Item = (&WorkflowId, &Flow)> {
        self.flows.iter()
    }

    /// Checks whether there is a flow called `flow` with a node called `node`.
    pub fn contains(&self, flow: &WorkflowId, node: &NodeId) -> bool {
        self.flows.get(flow).is_some_and(|flow| flow.steps.contains_key(node))
    }
}

/// One checked graph.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// Its name for people.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its start node.
    pub start: NodeId,
    /// Its nodes, in the order written.
    pub steps: ById<NodeId, Step>,
    /// Its edges as written, for diagrams; the engine follows [`Step::exits`].
    pub edges: Vec<super::Edge>,
    /// Its interface for callers; `None` if an agent is led through it.
    pub interface: Option<Arc<Interface>>,
    /// The other settings of its file.
    pub settings: Arc<FileSettings>,
    /// Its version, if its file names one.
    pub version: Option<String>,
    /// The variables of a run.
    pub variables: Vec<Variable>,
    /// The activities that its nodes belong to, if it has any.
    pub activities: Vec<Activity>,
    /// The rules for calls of tools while a run of it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_rules: Option<Arc<CallRules>>,
    /// Whether something in it reads the outputs of its nodes, so that they are recorded.
    #[serde(skip)]
    pub records: bool,
    /// Whether an expression reads more than the latest output of each node.
    #[serde(skip)]
    pub looks_back: bool,
    /// Whether an expression may take long to evaluate, whatever its input.
    #[serde(skip)]
    pub heavy: bool,
}

/// How many steps have checks, and which steps rely on the worker's claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedSteps<'f> {
    /// How many steps have checks.
    pub checked: usize,
    /// The steps without checks, in the order written.
    pub believed: Vec<&'f NodeId>,
}

impl CheckedSteps<'_> {
    /// Returns the number of checked steps out of all, as text; `None` if there are no steps to count.
    pub fn counted(&self) -> Option<String> {
        let all = self.checked + self.believed.len();
        (all > 0).then(|| format!("checked: {} of {all} steps", self.checked))
    }
}

impl Flow {
    /// Returns a step of this flow.
    ///
    /// # Panics
    /// Panics if there is no step of that name. A run that passed `engine::fits` names only nodes that exist.
    pub fn step(&self, id: &NodeId) -> &Step {
        &self.steps[id]
    }

    /// Checks whether a run of it has data: outputs of nodes, or variables.
    pub fn has_data(&self) -> bool {
        self.records || !self.variables.is_empty()
    }

    /// Returns the variable called `name`.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name.value == name)
    }

    /// Returns the loops around a node, the outermost first.
    pub fn loops(&self, id: &NodeId) -> &[NodeId] {
        self.step(id).node.seat.as_ref().map_or(&[], |seat| &seat.loops)
    }
}

/// A node and its exits.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The node.
    pub node: Node,
    /// Its exits.
    pub exits: Exits,
}

/// The exits of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exits {
    /// The target of each outcome except `failed`. `passed` comes first if the node accepts it.
    pub on: Vec<(Outcome, NodeId)>,
    /// The effect of a failure.
    pub failing: FailureHandling,
    /// The targets of guards, in order: the first guard that holds is taken, and `passed` if none does.
    pub guards: Vec<(Expr, NodeId)>,
    /// The branches that a fork opens, in order. Empty on all other nodes.
    pub branches: Vec<NodeId>,
}

impl Exits {
    /// Returns the target of `outcome`; `None` for `failed` and for outcomes that the node does not have.
    pub fn target(&self, outcome: &Outcome) -> Option<&NodeId> {
        self.on.iter().find(|(on, _)| on == outcome).map(|(_, to)| to)
    }

    /// Returns the target of `passed`.
    pub fn passed(&self) -> Option<&NodeId> {
        self.on.iter().find(|(on, _)| on.as_str() == PASSED).map(|(_, to)| to)
    }

    /// Returns the outcome that means success: `passed`, else the first declared outcome.
    pub fn success(&self) -> Option<&Outcome> {
        self.on.first().map(|(on, _)| on)
    }

    /// Returns the node at which work is attempted again after a person resolved a problem: the target of a retry, else
    /// `node`.
    pub fn again<'a>(&'a self, node: &'a NodeId) -> &'a NodeId {
        match &self.failing {
            FailureHandling::Retries { to, .. } => to,
            FailureHandling::Leads(_) | FailureHandling::Caught(_) | FailureHandling::Ends | FailureHandling::Stays => {
                node
            }
        }
    }

    /// Returns the target of every exit. A target of several exits is repeated.
    pub fn targets(&self) -> impl Iterator<Item = &NodeId> {
        let failing: [Option<&NodeId>; 2] = match &self.failing {
            FailureHandling::Stays | FailureHandling::Ends => [None, None],
            FailureHandling::Leads(to) | FailureHandling::Caught(to) => [Some(to), None],
            FailureHandling::Retries { to, exhausted, .. } => [Some(to), exhausted.as_ref()],
        };
        let on = self.on.iter().map(|(_, to)| to);
        let guarded = self.guards.iter().map(|(_, to)| to);
        on.chain(guarded).chain(&self.branches).chain(failing.into_iter().flatten())
    }

    /// Returns every outcome that may be reported, in order, `failed` last.
    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> + '_ {
        self.on.iter().map(|(on, _)| on.clone()).chain((self.failing != FailureHandling::Stays).then(Outcome::failed))
    }
}

/// The effect of a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureHandling {
    /// It cannot be reported, and work that is not accepted stays at the node.
    Stays,
    /// It leads to another node.
    Leads(NodeId),
    /// It leads to a node that handles it, and the run continues as after a success.
    Caught(NodeId),
    /// It fails the flow, and the caller of the flow gets the error.
    Ends,
    /// The work is retried, within a budget.
    Retries {
        /// The node at which the retry begins: often the node itself.
        to: NodeId,
        /// The number of retries.
        budget: u32,
        /// The target when the budget is spent; if there is none, a person decides.
        exhausted: Option<NodeId>,
    },
}

impl FailureHandling {
    /// Returns the number of retries.
    pub fn budget(&self) -> u32 {
        match self {
            FailureHandling::Leads(_) | FailureHandling::Caught(_) | FailureHandling::Ends | FailureHandling::Stays => {
                0
            }
            FailureHandling::Retries { budget, .. } => *budget,
        }
    }
}
