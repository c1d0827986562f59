//! A state: an objective, the key results that define when it is reached, and its worker. A result that does not meet
//! them is attempted again with the reasons.

use std::num::NonZeroU32;

use super::{CheckBy, Node};
use crate::chat::ModelSettings;
use crate::expr::Expr;
use crate::schema::Schema;
use crate::source::{Span, Spanned};
use crate::value::{FAILED, Outcome, PASSED};
use serde::{Deserialize, Serialize};

/// The default number of retries of a state.
pub const DEFAULT_STATE_RETRIES: u32 = 3;
/// The default number of requests to the model of a state in one attempt.
pub const DEFAULT_TURNS: u32 = 25;

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct State {
    /// The objective.
    pub objective: String,
    /// The purpose of the whole workflow.
    pub purpose: String,
    /// The conditions on the output.
    pub key_results: Vec<KeyResult>,
    /// Its worker.
    pub work: Worker,
    /// The tools that its model may ask for.
    pub tools: Vec<Spanned<String>>,
    /// The tools after which the run stops until it is resumed.
    pub breaking: Vec<Spanned<String>>,
    /// The tools whose answer comes later, from outside.
    pub waiting: Vec<Spanned<String>>,
    /// How often it is retried after the first attempt.
    pub max_retries: u32,
    /// The context of a retry.
    pub again: RetryContext,
    /// What happens when no attempt is left.
    pub exhausted: ExhaustionPolicy,
    /// The judge of the key results that no check decides.
    pub judge: Judge,
    /// The variables that are set when it is left. Each expression sees the `output`.
    pub sets: Vec<(Spanned<String>, Expr)>,
    /// Its limits, for all of its visits together.
    pub limits: Bounds,
    /// The expression that names the next branch; `None` if the output itself names it.
    pub way: Option<Expr>,
}

/// The worker of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Worker {
    /// A language model.
    Model(Box<RequestTemplate>),
    /// No worker: the output is the input.
    Nobody,
    /// A function that the embedding program registered.
    Function(Spanned<String>),
}

/// The request to a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestTemplate {
    /// The model, as `provider:name`; `None` means that of the file, else that of the run.
    pub model: Option<String>,
    /// The system message; `None` means one made from the objective.
    pub system: Option<Expr>,
    /// The prompt; `None` means the input.
    pub prompt: Option<Expr>,
    /// Its settings.
    pub settings: ModelSettings,
    /// The JSON Schema of its answer, which is then read as JSON; else the answer is text.
    pub schema: Option<Schema>,
    /// The maximum number of requests in one attempt.
    pub max_turns: Option<NonZeroU32>,
}

/// One key result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyResult {
    /// Its name, unique in the state.
    pub name: Spanned<String>,
    /// The criterion, for readers and for the judge.
    pub description: String,
    /// How it is decided.
    pub by: KeyResultCheck,
    /// Whether the state may be left without meeting it.
    pub advisory: bool,
    /// Whether the project attaches it by `.portolan/verify.yaml`, rather than the definition.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub attached: bool,
}

/// How a key result is decided, the cheapest way first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyResultCheck {
    /// An expression over `output`, `input`, `shared`, `attempt`, `feedback`, `history` and `calls`.
    Expr(Expr),
    /// A check outside the run: a command, a file, the repository.
    Check(CheckBy),
    /// A judge.
    Judge,
}

/// The context of a retry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryContext {
    /// The conversation continues, with the reasons.
    #[default]
    Continue,
    /// A new conversation, with the reasons and the last output.
    Restart,
}

/// What happens to a state when no attempt is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExhaustionPolicy {
    /// It fails: along its `failed` edge, or the run fails with it.
    #[default]
    Fail,
    /// The attempt that met the most key results is accepted; of several the latest.
    Best,
    /// A person decides.
    Ask,
}

/// The judge of the key results that no check decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judge {
    /// The model; `None` means the model of the state.
    pub model: Option<String>,
    /// The number of votes; a key result is met if more than half of them say so.
    pub votes: NonZeroU32,
    /// The settings of its requests. The temperature is 0 if none is set.
    pub settings: ModelSettings,
}

impl Default for Judge {
    fn default() -> Judge {
        Judge { model: None, votes: NonZeroU32::MIN, settings: ModelSettings::default() }
    }
}

/// Limits. A state that reaches one waits for a person, who may grant the same amount again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// The maximum number of attempts of states.
    pub attempts: Option<u64>,
    /// The maximum number of visits of a state.
    pub visits: Option<u64>,
    /// The maximum number of model calls, including those of judges.
    pub model_calls: Option<u64>,
    /// The maximum number of tool calls.
    pub tool_calls: Option<u64>,
    /// The maximum number of tokens, input and output together.
    pub tokens: Option<u64>,
    /// The maximum cost of models, in millionths of a US dollar.
    pub microdollars: Option<u64>,
    /// The maximum time, in milliseconds, including the time spent waiting for an answer.
    pub ms: Option<u64>,
}

/// The prefix of a branch name that would otherwise be read as another outcome.
const BRANCH: &str = "branch:";

/// The suffix of the name of a node that chooses the branch for another node.
const CHOOSER: &str = ":next";

/// The prefix of the name of a workflow that is used as a tool.
const RUN: &str = "run:";

impl State {
    /// Returns the workflow that a tool of this name runs.
    ///
    /// ```
    /// use portolan_core::graph::State;
    /// assert_eq!(State::workflow_of("run:audit"), Some("audit"));
    /// assert_eq!(State::workflow_of("files/read"), None);
    /// ```
    pub fn workflow_of(tool: &str) -> Option<&str> {
        tool.strip_prefix(RUN)
    }

    /// Returns the servers of its tools, each with the place of the tool's name. A tool without a server is a workflow, or is
    /// registered by the embedding program.
    pub fn servers(&self) -> impl Iterator<Item = (&str, Span)> {
        let of_server = self.tools.iter().filter(|tool| State::workflow_of(&tool.value).is_none());
        of_server.filter_map(|tool| Some((tool.value.split_once('/')?.0, tool.span)))
    }

    /// Returns the outcome that leaves a state along the branch called `name`. A branch that is called like an outcome
    /// of all nodes gets a prefix.
    ///
    /// ```
    /// use portolan_core::graph::State;
    /// assert_eq!(State::branch("good").as_str(), "good");
    /// assert_eq!(State::branch("failed").as_str(), "branch:failed");
    /// ```
    pub fn branch(name: &str) -> Outcome {
        match name {
            PASSED | FAILED => format!("{BRANCH}{name}").into(),
            _ if name.starts_with(BRANCH) => format!("{BRANCH}{name}").into(),
            _ => name.into(),
        }
    }

    /// Returns the expressions that it evaluates.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let checks = self.key_results.iter().filter_map(|result| match &result.by {
            KeyResultCheck::Expr(expr) => Some(expr),
            KeyResultCheck::Check(_) | KeyResultCheck::Judge => None,
        });
        let asking = match &self.work {
            Worker::Model(asking) => Some(asking),
            Worker::Nobody | Worker::Function(_) => None,
        };
        let prompts = asking.into_iter().flat_map(|asking| asking.system.iter().chain(&asking.prompt));
        checks.chain(prompts).chain(self.sets.iter().map(|(_, expr)| expr)).chain(&self.way)
    }

    /// Returns the name of the node that chooses the branch for `node`, which cannot do so itself.
    pub(crate) fn chooser_of(node: &str) -> String {
        format!("{node}{CHOOSER}")
    }

    /// Checks whether a node only chooses the branch for another. No definition names such a node.
    pub(crate) fn is_chooser(node: &Node) -> bool {
        node.span == Span::default() && node.id.as_str().contains(CHOOSER)
    }

    /// Checks whether one of its expressions reads the outputs of earlier states.
    pub fn sees_history(&self) -> bool {
        self.expressions().any(|expr| expr.text().contains("history"))
    }

    /// Returns the maximum number of requests to its model in one attempt.
    pub fn max_turns(&self) -> u32 {
        match &self.work {
            Worker::Model(asking) => asking.max_turns.map_or(DEFAULT_TURNS, NonZeroU32::get),
            Worker::Nobody | Worker::Function(_) => 1,
        }
    }
}

impl Bounds {
    /// Returns each limit with its name in definitions.
    pub fn each(&self) -> [(&'static str, Option<u64>); 7] {
        [
            ("attempts", self.attempts),
            ("visits", self.visits),
            ("model_calls", self.model_calls),
            ("tool_calls", self.tool_calls),
            ("tokens", self.tokens),
            ("microdollars", self.microdollars),
            ("ms", self.ms),
        ]
    }
}
