//! The one graph that every dialect is lowered to.
//!
//! A [`Graph`] is what an author wrote and may be wrong. A [`Workflow`] cannot be: only `validate` makes one. Knows
//! no format, and nothing of runs.

mod activity;
mod call;
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
pub use check::{
    ATTACHMENTS, Check, CheckBy, DEFAULT_TIMEOUT_SECONDS, GATES, Gate, MAX_TIMEOUT_SECONDS, is_check_name,
};
pub use evidence::{Evidence, Fact, Since};
pub use interface::{DEFAULT_MAX_MS, DEFAULT_MAX_NODES, Face, FileSettings, Interface, RunLimits};
pub use phase::Phase;
pub use server::{Builtin, DEFAULT_CALL_TIMEOUT_MS, Server, Transport};
pub use state::{
    Asking, Bounds, DEFAULT_STATE_RETRIES, DEFAULT_TURNS, Exhausted, Judge, KeyResult, KeyResultCheck, RetryContext,
    State, Worker,
};
pub use tools::{ToolRules, is_meant};
pub use verification::{DecidedBy, NodeCheck, Verification};
pub use workflow::{CheckedSteps, Exits, Failing, Flow, Step, Workflow};

/// How often work is attempted again where neither a `failed` edge nor `maxRetries` says otherwise.
pub const DEFAULT_RETRIES: u32 = 3;

/// How deep loops, branches, items and workflows may stand in one another. A run has a frame for each of them and is kept
/// as JSON, whose readers allow 128 levels; a branch takes six of them.
pub const MAX_DEPTH: usize = 16;

/// A definition as written, with the places it came from.
///
/// It serializes, in the form `graph/1`, which `docs/situation.md` describes.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "form", rename = "graph/1")]
pub struct Graph {
    /// Its identifier.
    pub id: Spanned<String>,
    /// Its name for people; the identifier where none is given.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its nodes, in the order written.
    pub nodes: Vec<Node>,
    /// Its edges, in the order written: of several that fit, the first is taken.
    pub edges: Vec<Edge>,
    /// Nodes that stand in the text but could not be read: nothing is known of what they are and where they lead. One
    /// that lacks nothing but its way on is among the nodes besides.
    pub unread: BTreeSet<NodeId>,
    /// What it is to those that call it; nothing where an agent is led through it.
    pub interface: Option<Arc<Interface>>,
    /// What its file says besides.
    pub settings: Arc<FileSettings>,
    /// Its version, where its file names one: for people, who tell two of them apart by it.
    pub version: Option<String>,
    /// What a run of it remembers besides where it is.
    pub variables: Vec<Variable>,
    /// The activities that its nodes stand in, where it has any.
    pub activities: Vec<Activity>,
    /// Whether its format says nothing about where ways lead: what is found of them is a warning where it can be repaired.
    #[serde(skip)]
    pub advised: bool,
    /// The first fault of the text that reading could not repair. Such a graph can be drawn, and not run.
    pub broken: Option<String>,
}

impl Graph {
    /// A graph that has nothing but a name, for the rest to be filled in.
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
            advised: false,
            broken: None,
        }
    }

    /// The node called `id`.
    pub fn node(&self, id: &NodeId) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == *id)
    }

    /// The edges that leave `id`, in order.
    pub fn edges_from<'a>(&'a self, id: &'a NodeId) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(move |edge| edge.from.value == *id)
    }
}

/// A node as written.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// Its identifier.
    pub id: NodeId,
    /// Where the identifier stands.
    pub span: Span,
    /// Its name for people; the identifier where none is given.
    pub name: String,
    /// What the person or agent at this node is told.
    pub brief: Brief,
    /// What it is.
    pub kind: Kind,
    /// What must hold before it can be left as done.
    pub accept: Vec<Check>,
    /// How often a failure may be retried, when the definition says so.
    pub max_retries: Option<Spanned<u32>>,
    /// The variables that are set when it is left as done.
    pub sets: Vec<(String, Value)>,
    /// Where it stands, in a text of activities.
    pub seat: Option<Box<StepPath>>,
    /// What makes it a phase; nothing for other nodes.
    pub phase: Option<Box<Phase>>,
    /// The tools that may be used while work is done at it; nothing where all may.
    pub tools: Option<Box<ToolRules>>,
}

impl Node {
    /// A node of which nothing is said but what it is, for the rest to be filled in.
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
        }
    }

    /// Whether the node is left by `outcome` only when its checks hold. A failure claims nothing. `skipped` claims nothing
    /// where a step may be skipped, which only steps of activities may be: anywhere else it is an outcome like others.
    pub fn is_checked_on(&self, outcome: &Outcome) -> bool {
        let is_skip = self.seat.is_some() && outcome.as_str() == SKIPPED;
        !self.accept.is_empty() && !outcome.is_failed() && !is_skip
    }
}

/// What is told about a node. All of it is text for readers; none of it steers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Brief {
    /// One sentence on what it is for.
    pub description: Option<String>,
    /// What to do, what done means, what to hand on.
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
    /// Where a run begins.
    Start,
    /// Where a run ends.
    End {
        /// How it ended.
        result: EndResult,
        /// Who is to be told.
        escalation: Option<Escalation>,
    },
    /// A question to a person, with one way on for each outgoing edge.
    Checkpoint {
        /// Who is to be told.
        escalation: Option<Escalation>,
        /// What is asked, where the answers do more than lead on.
        question: Option<Box<Question>>,
    },
    /// Work that is presented to the agent.
    Work {
        /// Whether the work is to judge other work.
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
        /// What it is given, where it is a function.
        args: Option<Expr>,
        /// The variables that it begins with and, when it has succeeded, gives back.
        context: Vec<String>,
    },
    /// Computes a value.
    Compute(Expr),
    /// Chooses a way: the first edge whose guard holds.
    Switch,
    /// Where an activity begins. One that is passed over is left as [`SKIPPED`].
    Activity,
    /// Has nodes walked again and again.
    Loop(Box<Loop>),
    /// Where a pass of a loop ends.
    Repeat {
        /// The loop.
        of: Spanned<NodeId>,
    },
    /// Calls a tool.
    Call(Box<Call>),
    /// Runs another workflow once for each item of an array.
    Each(Box<Each>),
    /// Is worked on until its key results are met.
    State(Box<State>),
}

impl Kind {
    /// Whether work can begin at it. Ends and joins are where work comes to.
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

    /// Whether it comes to a value that later nodes can use, and is executed by the engine.
    pub fn comes_to_a_value(&self) -> bool {
        matches!(self, Kind::Compute(_) | Kind::Call(_) | Kind::Each(_) | Kind::State(_))
    }

    /// The word a definition uses for it.
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

    /// The expressions that the node evaluates; the guards stand on its edges.
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

    /// The workflow that a node of this kind runs.
    pub fn runs(&self) -> Option<&Spanned<String>> {
        match self {
            Kind::Subflow { workflow, .. } => Some(workflow),
            Kind::Each(each) => Some(&each.workflow),
            _ => None,
        }
    }

    /// The same with those that it offers to a model as tools, each with its place in the text.
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

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndResult {
    /// The work is done.
    Success,
    /// The work could not be done.
    Failure,
    /// Something outside the run must change first.
    Blocked,
    /// Somebody called it off.
    Cancelled,
}

impl EndResult {
    /// The word a definition uses for it.
    pub fn word(self) -> &'static str {
        match self {
            EndResult::Success => "success",
            EndResult::Failure => "failure",
            EndResult::Blocked => "blocked",
            EndResult::Cancelled => "cancelled",
        }
    }
}

/// Who is to be told when a run comes here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Escalation {
    /// A person, at once: human in the loop.
    Hitl,
    /// Whoever watches alerts.
    Alert,
    /// Whoever works through tickets.
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
    /// The word a definition uses for it.
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
    /// What it means, for readers.
    pub label: Option<String>,
    /// Where it stands.
    pub span: Span,
}

impl Edge {
    /// Where its outcome is written; the whole edge where it names none.
    pub fn on_span(&self) -> Span {
        match &self.on {
            Trigger::Outcome(on) => on.span,
            Trigger::When(guard) => guard.span,
            Trigger::Done => self.span,
        }
    }
}

/// When an edge is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// On this outcome.
    Outcome(Spanned<Outcome>),
    /// On `passed`, when no edge names it. Never on `failed`: a failure does not become a success.
    Done,
    /// When this holds, and no guard before it did.
    When(Spanned<Expr>),
}

impl Trigger {
    /// The outcome that the edge names.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Trigger::Outcome(outcome) => Some(&outcome.value),
            Trigger::Done | Trigger::When(_) => None,
        }
    }
}
