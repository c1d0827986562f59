//! The one graph that every dialect is lowered to.
//!
//! A [`Graph`] is a definition as its author wrote it and may contain errors. A [`Workflow`] is checked: only
//! `validate` creates one. This module knows no format and no runs.

mod activity;
mod call;
mod call_rules;
mod check;
mod evidence;
mod interface;
mod order;
mod phase;
mod server;
mod state;
mod tools;
mod verification;
mod workflow;

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use serde_json::Value;

use crate::expr::Expr;
use crate::source::{Span, Spanned};
use crate::value::{NodeId, Outcome, SKIPPED};

pub use activity::{
    Activity, AtLimit, Choice, ConditionalText, DEFAULT_MAX_PASSES, Fallback, Instance, Loop, LoopKind, Question,
    StepPath, Variable, VariableKind, VariableOwner,
};
pub use call::{Call, Each, MAX_ITEMS, Retry};
pub use call_rules::{CALL_RULES, CallRules};
pub use check::{
    ATTACHMENTS, Check, CheckBy, DEFAULT_TIMEOUT_SECONDS, GATES, Gate, MAX_TIMEOUT_SECONDS, is_check_name,
};
pub use evidence::{Evidence, Fact, Since};
pub use interface::{DEFAULT_MAX_MS, DEFAULT_MAX_NODES, Face, FileSettings, Interface, RunLimits};
pub use phase::Phase;
pub use server::{Builtin, DEFAULT_CALL_TIMEOUT_MS, Server, Transport};
pub use state::{
    Bounds, DEFAULT_STATE_RETRIES, DEFAULT_TURNS, ExhaustionPolicy, Judge, KeyResult, KeyResultCheck, RequestTemplate,
    RetryContext, State, Worker,
};
pub use tools::{ToolRules, is_meant};
pub use verification::{DecidedBy, NodeCheck, Verification};
pub use workflow::{CheckedSteps, Exits, FailureHandling, Flow, Step, Workflow};

/// The default number of retries, if neither a `failed` edge nor `maxRetries` sets another.
pub const DEFAULT_RETRIES: u32 = 3;

/// The maximum nesting depth of loops, branches, items and workflows. A run has one frame for each level and is stored
/// as JSON, whose readers allow 128 levels; a branch takes six of them.
pub const MAX_DEPTH: usize = 16;

/// A definition as written, with source positions.
///
/// It serializes in the form `graph/1`, which `docs/situation.md` describes.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "form", rename = "graph/1")]
pub struct Graph {
    /// Its identifier.
    pub id: Spanned<String>,
    /// Its name for people; the identifier if the definition gives none.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its nodes, in the order written.
    pub nodes: Vec<Node>,
    /// Its edges, in the order written: the first that matches is taken.
    pub edges: Vec<Edge>,
    /// Nodes that the text contains but that could not be read: their kind and their edges are unknown. A node that
    /// only lacks its outgoing edges is also in `nodes`.
    pub unread: BTreeSet<NodeId>,
    /// Its interface for callers; `None` if an agent is led through it.
    pub interface: Option<Arc<Interface>>,
    /// The other settings of its file.
    pub settings: Arc<FileSettings>,
    /// Its version, if its file names one. For display only.
    pub version: Option<String>,
    /// The variables of a run.
    pub variables: Vec<Variable>,
    /// The activities that its nodes belong to, if it has any.
    pub activities: Vec<Activity>,
    /// The rules for calls of tools while a run of it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_rules: Option<Arc<CallRules>>,
    /// Whether its format leaves the edges open: findings of the rules are warnings if they can be repaired.
    #[serde(skip)]
    pub advised: bool,
    /// The first syntax error that parsing could not repair. Such a graph can be drawn but not run.
    pub broken: Option<String>,
}

impl Graph {
    /// Creates a graph that has only an identifier.
    pub fn new(id: Spanned<String>) -> Graph {
        Graph {
            name: id.value.clone(),
            id,
            description: String::new(),
            nodes: Vec::new(),
            edges: Vec::new(),
            unread: BTreeSet::new(),
            interface: None,
            settings: Arc::default(),
            version: None,
            variables: Vec::new(),
            activities: Vec::new(),
            call_rules: None,
            advised: false,
            broken: None,
        }
    }

    /// Returns the node with the identifier `id`.
    pub fn node(&self, id: &NodeId) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == *id)
    }

    /// Returns the edges that leave `id`, in order.
    pub fn edges_from<'a>(&'a self, id: &'a NodeId) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(move |edge| edge.from.value == *id)
    }
}

/// A node as written.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// Its identifier.
    pub id: NodeId,
    /// The position of the identifier.
    pub span: Span,
    /// Its name for people; the identifier if the definition gives none.
    pub name: String,
    /// Its texts for the person or agent who works at it.
    pub brief: Brief,
    /// Its kind.
    pub kind: Kind,
    /// The checks that must hold before it is left as done.
    pub accept: Vec<Check>,
    /// How often a failure may be retried, if the definition says so.
    pub max_retries: Option<Spanned<u32>>,
    /// The variables that are set when it is left with `passed`.
    pub sets: Vec<(String, Value)>,
    /// Its position in a workflow of activities.
    pub seat: Option<Box<StepPath>>,
    /// The settings of a phase; `None` for other nodes.
    pub phase: Option<Box<Phase>>,
    /// The tools that may be used during work at it; `None` allows all.
    pub tools: Option<Box<ToolRules>>,
    /// The rules for calls of tools during work at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_rules: Option<Arc<CallRules>>,
}

impl Node {
    /// Creates a node that has only an identifier, a position and a kind.
    pub fn new(id: impl Into<NodeId>, span: Span, kind: Kind) -> Node {
        let id = id.into();
        Node {
            name: id.to_string(),
            id,
            span,
            brief: Brief::default(),
            kind,
            accept: Vec::new(),
            max_retries: None,
            sets: Vec::new(),
            seat: None,
            phase: None,
            tools: None,
            call_rules: None,
        }
    }

    /// Checks whether leaving the node with `outcome` requires that its checks hold. `failed` does not require it.
    /// `skipped` does not either, but only for steps of activities: elsewhere it is an ordinary outcome.
    pub fn is_checked_on(&self, outcome: &Outcome) -> bool {
        let is_skip = self.seat.is_some() && outcome.as_str() == SKIPPED;
        !self.accept.is_empty() && !outcome.is_failed() && !is_skip
    }
}

/// The texts of a node, for readers. None of them affects execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Brief {
    /// One sentence on its purpose.
    pub description: Option<String>,
    /// What to do, when it is done, and what to pass on.
    pub instructions: Option<String>,
    /// Who should do it.
    pub agent: Option<String>,
    /// The phase of the work it belongs to.
    pub stage: Option<String>,
    /// A picture for diagrams.
    pub emoji: Option<String>,
    /// Files to read first, as written.
    pub context_files: Vec<String>,
}

/// The kinds of node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Kind {
    /// The node at which a run begins.
    Start,
    /// A node at which a run ends.
    End {
        /// The result of the run.
        result: EndResult,
        /// Who is notified.
        escalation: Option<Escalation>,
    },
    /// A question to a person, with one outgoing edge for each answer.
    Checkpoint {
        /// Who is notified.
        escalation: Option<Escalation>,
        /// The question, if its answers have effects.
        question: Option<Box<Question>>,
    },
    /// Work for the agent.
    Work {
        /// Whether the work judges other work.
        gate: bool,
        /// The outcomes that may be reported, in the order declared.
        outputs: Vec<Spanned<Outcome>>,
    },
    /// Opens one branch for each outgoing edge.
    Fork {
        /// The join that collects the branches.
        join: Spanned<NodeId>,
        /// How many branches may be open at once.
        max_concurrency: Option<NonZeroU32>,
    },
    /// Collects the branches of its fork.
    Join {
        /// The fork whose branches it collects.
        fork: Spanned<NodeId>,
        /// When the branches count as passed.
        strategy: Strategy,
    },
    /// Runs another workflow in a frame of its own.
    Subflow {
        /// The workflow to run.
        workflow: Spanned<String>,
        /// The input, if the workflow is a function.
        args: Option<Expr>,
        /// The variables that are passed to the workflow and, if it succeeds, taken back.
        context: Vec<String>,
    },
    /// Computes a value.
    Compute(Expr),
    /// Takes the first edge whose guard holds.
    Switch,
    /// The first node of an activity. A skipped activity is left with [`SKIPPED`].
    Activity,
    /// Repeats nodes.
    Loop(Box<Loop>),
    /// The end of a pass of a loop.
    Repeat {
        /// The loop.
        of: Spanned<NodeId>,
    },
    /// Calls a tool.
    Call(Box<Call>),
    /// Runs another workflow once for each item of an array.
    Each(Box<Each>),
    /// Work that is repeated until its key results are met.
    State(Box<State>),
}

impl Kind {
    /// Checks whether a run can be opened at a node of this kind: all but ends, joins and the ends of passes.
    pub fn can_begin(&self) -> bool {
        match self {
            Kind::Start
            | Kind::Activity
            | Kind::Loop(_)
            | Kind::Checkpoint { .. }
            | Kind::Work { .. }
            | Kind::Fork { .. }
            | Kind::Subflow { .. }
            | Kind::Compute(_)
            | Kind::Switch
            | Kind::Call(_)
            | Kind::Each(_)
            | Kind::State(_) => true,
            Kind::End { .. } | Kind::Join { .. } | Kind::Repeat { .. } => false,
        }
    }

    /// Checks whether the engine executes it and later nodes can use its output.
    pub fn comes_to_a_value(&self) -> bool {
        matches!(self, Kind::Compute(_) | Kind::Call(_) | Kind::Each(_) | Kind::State(_))
    }

    /// Returns the word that definitions use for it.
    pub fn word(&self) -> &'static str {
        match self {
            Kind::Start => "start",
            Kind::End { .. } => "end",
            Kind::Checkpoint { .. } => "checkpoint",
            Kind::Work { gate: true, .. } => "gate",
            Kind::Work { gate: false, .. } => "task",
            Kind::Fork { .. } => "fork",
            Kind::Join { .. } => "join",
            Kind::Subflow { .. } => "subflow",
            Kind::Compute(_) => "transform",
            Kind::Switch => "switch",
            Kind::Activity => "activity",
            Kind::Loop(_) => "loop",
            Kind::Repeat { .. } => "repeat",
            Kind::Call(_) => "mcp",
            Kind::Each(_) => "forEach",
            Kind::State(_) => "state",
        }
    }

    /// Returns the expressions that the node evaluates. The guards are on its edges.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let state = match self {
            Kind::State(state) => Some(state),
            _ => None,
        };
        let (first, second) = match self {
            Kind::Compute(expr) => (Some(expr), None),
            Kind::Call(call) => (Some(&call.args), call.post.as_ref()),
            Kind::Each(each) => (Some(&each.items), each.args.as_ref()),
            Kind::Subflow { args, .. } => (args.as_ref(), None),
            Kind::Loop(looping) => (Some(looping.condition()), looping.stop.as_ref()),
            _ => (None, None),
        };
        first.into_iter().chain(second).chain(state.into_iter().flat_map(|state| state.expressions()))
    }

    /// Returns the workflow that a node of this kind runs.
    pub fn runs(&self) -> Option<&Spanned<String>> {
        match self {
            Kind::Subflow { workflow, .. } => Some(workflow),
            Kind::Each(each) => Some(&each.workflow),
            _ => None,
        }
    }

    /// Returns the workflows that it runs or offers to a model as tools, each with its position in the text.
    pub fn workflows(&self) -> impl Iterator<Item = (&str, Span)> {
        let state = match self {
            Kind::State(state) => Some(state),
            _ => None,
        };
        let runs = self.runs().map(|workflow| (workflow.value.as_str(), workflow.span));
        let offered = state.into_iter().flat_map(|state| &state.tools);
        runs.into_iter().chain(offered.filter_map(|tool| Some((State::workflow_of(&tool.value)?, tool.span))))
    }
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndResult {
    /// The work is done.
    Success,
    /// The work could not be done.
    Failure,
    /// Something outside the run must change first.
    Blocked,
    /// The run was cancelled.
    Cancelled,
}

impl EndResult {
    /// Returns the word that definitions use for it.
    pub fn word(self) -> &'static str {
        match self {
            EndResult::Success => "success",
            EndResult::Failure => "failure",
            EndResult::Blocked => "blocked",
            EndResult::Cancelled => "cancelled",
        }
    }
}

/// Who is notified when a run reaches a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Escalation {
    /// A person, immediately: human in the loop.
    Hitl,
    /// The people who watch alerts.
    Alert,
    /// The people who work on tickets.
    Ticket,
}

/// When the branches of a fork count as passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Every branch passed.
    #[default]
    AllPass,
    /// One branch passed; the others are cancelled.
    AnyPass,
}

impl Strategy {
    /// Returns the word that definitions use for it.
    pub fn word(self) -> &'static str {
        match self {
            Strategy::AllPass => "all-pass",
            Strategy::AnyPass => "any-pass",
        }
    }
}

/// An edge as written.
#[derive(Clone, Debug, Serialize)]
pub struct Edge {
    /// The node it leaves.
    pub from: Spanned<NodeId>,
    /// The node it enters.
    pub to: Spanned<NodeId>,
    /// When it is taken.
    pub on: Trigger,
    /// Its meaning, for readers.
    pub label: Option<String>,
    /// Its position in the text.
    pub span: Span,
}

impl Edge {
    /// Returns the position of its outcome or guard; of the whole edge if it has neither.
    pub fn on_span(&self) -> Span {
        match &self.on {
            Trigger::Outcome(on) => on.span,
            Trigger::When(guard) => guard.span,
            Trigger::Done => self.span,
        }
    }
}

/// The condition on which an edge is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// On this outcome.
    Outcome(Spanned<Outcome>),
    /// On `passed`, if no edge names it. Never on `failed`, so that a failure does not become a success.
    Done,
    /// If this guard holds, and no earlier one does.
    When(Spanned<Expr>),
}

impl Trigger {
    /// Returns the outcome that the edge names.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Trigger::Outcome(outcome) => Some(&outcome.value),
            Trigger::Done | Trigger::When(_) => None,
        }
    }
}
