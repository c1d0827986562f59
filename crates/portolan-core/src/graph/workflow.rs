//! What `validate` makes of graphs: everything resolved, nothing left to be wrong.

use std::sync::Arc;

use indexmap::IndexMap;

use serde::Serialize;

use super::{Activity, FileSettings, Interface, Node, Variable};
use crate::expr::Expr;
use crate::value::{NodeId, Outcome, PASSED, WorkflowId};

/// A checked definition: a root flow and every flow that its subflows name.
///
/// Only `validate` makes one, so whoever holds one knows that every edge leads to a node, that every flow has one
/// start, and that forks and joins belong together.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "form", rename = "workflow/1")]
pub struct Workflow {
    root: WorkflowId,
    flows: Arc<IndexMap<WorkflowId, Flow>>,
    /// Whether a flow has activities, and with them perhaps loops.
    #[serde(skip)]
    has_activities: bool,
}

impl Workflow {
    pub(crate) fn new(root: WorkflowId, flows: IndexMap<WorkflowId, Flow>) -> Workflow {
        assert!(flows.contains_key(&root), "a workflow contains its root flow");
        let has_activities = flows.values().any(|flow| !flow.activities.is_empty());
        Workflow { root, flows: Arc::new(flows), has_activities }
    }

    /// Whether a flow has activities, and with them perhaps loops.
    pub(crate) fn has_activities(&self) -> bool {
        self.has_activities
    }

    /// The identifier of the root flow, which is the workflow's own.
    pub fn id(&self) -> &WorkflowId {
        &self.root
    }

    /// The flow in which a run begins.
    pub fn root(&self) -> &Flow {
        &self.flows[&self.root]
    }

    /// A flow of this workflow.
    ///
    /// # Panics
    /// When there is none of that name. A run that passed `engine::fits` names only flows that exist.
    pub fn flow(&self, id: &WorkflowId) -> &Flow {
        &self.flows[id]
    }

    /// The flow of a name, where there is one.
    pub fn find(&self, name: &str) -> Option<&Flow> {
        self.flows.get(name)
    }

    /// All flows, the root first.
    pub fn flows(&self) -> impl Iterator<Item = (&WorkflowId, &Flow)> {
        self.flows.iter()
    }

    /// Whether there is a flow called `flow` with a node called `node`.
    pub fn contains(&self, flow: &WorkflowId, node: &NodeId) -> bool {
        self.flows.get(flow).is_some_and(|flow| flow.steps.contains_key(node))
    }
}

/// One checked graph.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where it begins.
    pub start: NodeId,
    /// Its nodes, in the order written.
    pub steps: IndexMap<NodeId, Step>,
    /// Its edges as written, for pictures; the engine follows [`Step::exits`].
    pub edges: Vec<super::Edge>,
    /// What it is to those that call it; nothing where an agent is led through it.
    pub interface: Option<Arc<Interface>>,
    /// What its file says besides.
    pub settings: Arc<FileSettings>,
    /// Its version, where its file names one.
    pub version: Option<String>,
    /// What a run of it remembers besides where it is.
    pub variables: Vec<Variable>,
    /// The activities that its nodes stand in, where it has any.
    pub activities: Vec<Activity>,
    /// Whether something in it can see what its nodes came to, so that this is recorded.
    #[serde(skip)]
    pub records: bool,
    /// Whether an expression looks back further than to the latest output of each node.
    #[serde(skip)]
    pub looks_back: bool,
    /// Whether an expression may compute for long whatever it is given.
    #[serde(skip)]
    pub heavy: bool,
}

/// At how many steps something is checked, and at which whoever works there is believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedSteps<'f> {
    /// How many steps have checks.
    pub checked: usize,
    /// The steps that have none, in the order written.
    pub believed: Vec<&'f NodeId>,
}

impl CheckedSteps<'_> {
    /// At how many of how many steps something is checked; nothing where there are none.
    pub fn counted(&self) -> Option<String> {
        let all = self.checked + self.believed.len();
        (all > 0).then(|| format!("checked: {} of {all} steps", self.checked))
    }
}

impl Flow {
    /// A step of this flow.
    ///
    /// # Panics
    /// When there is none of that name. A run that passed `engine::fits` names only nodes that exist.
    pub fn step(&self, id: &NodeId) -> &Step {
        &self.steps[id]
    }

    /// Whether a run of it has data: what its nodes came to, or variables.
    pub fn has_data(&self) -> bool {
        self.records || !self.variables.is_empty()
    }

    /// The variable called `name`.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name.value == name)
    }

    /// The loops around a node, the outermost first.
    pub fn loops(&self, id: &NodeId) -> &[NodeId] {
        self.step(id).node.seat.as_ref().map_or(&[], |seat| &seat.loops)
    }
}

/// A node and the ways out of it.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The node.
    pub node: Node,
    /// The ways out.
    pub exits: Exits,
}

/// The ways out of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exits {
    /// Where each outcome but `failed` leads; `passed` stands first where it is accepted at all.
    pub on: Vec<(Outcome, NodeId)>,
    /// What a failure does.
    pub failing: Failing,
    /// Where guards lead, in order: the first that holds is taken, and `passed` when none does.
    pub guards: Vec<(Expr, NodeId)>,
    /// The branches that a fork opens, in order. Empty on all other nodes.
    pub branches: Vec<NodeId>,
}

impl Exits {
    /// Where `outcome` leads; nothing for `failed` and for outcomes that the node does not have.
    pub fn target(&self, outcome: &Outcome) -> Option<&NodeId> {
        self.on.iter().find(|(on, _)| on == outcome).map(|(_, to)| to)
    }

    /// Where `passed` leads.
    pub fn passed(&self) -> Option<&NodeId> {
        self.on.iter().find(|(on, _)| on.as_str() == PASSED).map(|(_, to)| to)
    }

    /// The outcome that is the success of the node: `passed`, else the one that is declared first.
    pub fn success(&self) -> Option<&Outcome> {
        self.on.first().map(|(on, _)| on)
    }

    /// Where work is attempted again when a person has removed what was in its way: where a retry begins, else `node`.
    pub fn again<'a>(&'a self, node: &'a NodeId) -> &'a NodeId {
        match &self.failing {
            Failing::Retries { to, .. } => to,
            Failing::Leads(_) | Failing::Caught(_) | Failing::Ends | Failing::Stays => node,
        }
    }

    /// Everywhere that a way leads, each as often as one does.
    pub fn targets(&self) -> impl Iterator<Item = &NodeId> {
        let failing: [Option<&NodeId>; 2] = match &self.failing {
            Failing::Stays | Failing::Ends => [None, None],
            Failing::Leads(to) | Failing::Caught(to) => [Some(to), None],
            Failing::Retries { to, exhausted, .. } => [Some(to), exhausted.as_ref()],
        };
        let on = self.on.iter().map(|(_, to)| to);
        let guarded = self.guards.iter().map(|(_, to)| to);
        on.chain(guarded).chain(&self.branches).chain(failing.into_iter().flatten())
    }

    /// Every outcome that may be reported, in order, `failed` last.
    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> + '_ {
        self.on.iter().map(|(on, _)| on.clone()).chain((self.failing != Failing::Stays).then(Outcome::failed))
    }
}

/// What a failure does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Failing {
    /// It does not lead anywhere: nobody can report one, and work that is not accepted stays.
    Stays,
    /// It leads elsewhere, at once.
    Leads(NodeId),
    /// It leads to what deals with it: what comes of that is no failure.
    Caught(NodeId),
    /// The flow fails with it, and whoever called that is told.
    Ends,
    /// It is tried again, within a budget.
    Retries {
        /// Where trying again begins: often the node itself.
        to: NodeId,
        /// How many times.
        budget: u32,
        /// Where it leads when the budget is spent; where there is no such edge, a person decides.
        exhausted: Option<NodeId>,
    },
}

impl Failing {
    /// How many times a failure is tried again.
    pub fn budget(&self) -> u32 {
        match self {
            Failing::Leads(_) | Failing::Caught(_) | Failing::Ends | Failing::Stays => 0,
            Failing::Retries { budget, .. } => *budget,
        }
    }
}
