//! A state: an objective, the key results that say when it is reached, and who works on it. What does not meet them is
//! attempted again with the reasons.

use std::num::NonZeroU32;

use super::{CheckBy, Node};
use crate::chat::ModelSettings;
use crate::expr::Expr;
use crate::schema::Schema;
use crate::source::{Span, Spanned};
use crate::value::{FAILED, Outcome, PASSED};
use serde::{Deserialize, Serialize};

/// How often a state is attempted again where its definition does not say.
pub const DEFAULT_STATE_RETRIES: u32 = 3;
/// How often the model of a state is asked in one attempt where its definition does not say.
pub const DEFAULT_TURNS: u32 = 25;

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct State {
    /// What is to be reached.
    pub objective: String,
    /// What the whole workflow is for.
    pub purpose: String,
    /// What must hold of the output.
    pub key_results: Vec<KeyResult>,
    /// Who works on it.
    pub work: Worker,
    /// The tools that its model may ask for.
    pub tools: Vec<Spanned<String>>,
    /// Those of them after which the run stops until somebody lets it go on.
    pub breaking: Vec<Spanned<String>>,
    /// Those that have done something which somebody will answer.
    pub waiting: Vec<Spanned<String>>,
    /// How often it is attempted again, after the first time.
    pub max_retries: u32,
    /// What a further attempt begins with.
    pub again: RetryContext,
    /// What becomes of it when no attempt is left.
    pub exhausted: Exhausted,
    /// Who judges the key results that no check decides.
    pub judge: Judge,
    /// The variables that it gives a value when it is left: each sees the `output`.
    pub sets: Vec<(Spanned<String>, Expr)>,
    /// What may be used up in it, in all of its visits together.
    pub limits: Bounds,
    /// The way on, by name; nothing where the output names it itself.
    pub way: Option<Expr>,
}

/// Who works on a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Worker {
    /// A language model.
    Model(Box<Asking>),
    /// Nobody: the output is the input.
    Nobody,
    /// A function that whoever embeds the engine has registered.
    Function(Spanned<String>),
}

/// How a model is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Asking {
    /// Which one, as `provider:name`; nothing means the one that the run is given.
    pub model: Option<String>,
    /// What it is told first; nothing means that it is told the objective.
    pub system: Option<Expr>,
    /// What it is asked; nothing means that it is given the input.
    pub prompt: Option<Expr>,
    /// Its settings.
    pub settings: ModelSettings,
    /// The JSON Schema that its answer is to have. It is then read as JSON; else it is a text.
    pub schema: Option<Schema>,
    /// How often it is asked in one attempt, its tools between.
    pub max_turns: Option<NonZeroU32>,
}

/// One key result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyResult {
    /// Its name, unique in the state.
    pub name: Spanned<String>,
    /// What is to hold, for readers and for the judge.
    pub description: String,
    /// How it is found out.
    pub by: KeyResultCheck,
    /// Whether the state may be left without it.
    pub advisory: bool,
    /// Whether the project attaches it to the state by `.portolan/verify.yaml`; the definition itself says nothing of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub attached: bool,
}

/// How a key result is found out, the cheapest way first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyResultCheck {
    /// An expression over `output`, `input`, `shared`, `history` and `calls`.
    Expr(Expr),
    /// Something outside: a command, a file, the repository.
    Check(CheckBy),
    /// A model judges.
    Judge,
}

/// What a further attempt begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryContext {
    /// The conversation goes on, with the reasons.
    #[default]
    Continue,
    /// A new conversation, which is told the reasons and what came of the last one.
    Restart,
}

/// What becomes of a state when no attempt is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// It fails: along its `failed` edge, or the run fails with it.
    #[default]
    Fail,
    /// The attempt counts that met the most key results, of several the latest.
    Best,
    /// A person decides.
    Ask,
}

/// Who judges what no check decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judge {
    /// Which model; nothing means the one that the state is worked on by.
    pub model: Option<String>,
    /// How many are asked; a key result is met when more than half of them say so.
    pub votes: NonZeroU32,
    /// How they are asked. Their temperature is 0 where nothing is said.
    pub settings: ModelSettings,
}

impl Default for Judge {
    fn default() -> Judge {
        Judge { model: None, votes: NonZeroU32::MIN, settings: ModelSettings::default() }
    }
}

/// What may be used up. Whoever reaches a bound waits for a person, who may grant as much again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// How often states are attempted.
    pub attempts: Option<u64>,
    /// How often a state is entered.
    pub visits: Option<u64>,
    /// How often models are asked, judges among them.
    pub model_calls: Option<u64>,
    /// How many tools are used.
    pub tool_calls: Option<u64>,
    /// How many tokens are read and written.
    pub tokens: Option<u64>,
    /// What models may cost, in millionths of a US dollar.
    pub microdollars: Option<u64>,
    /// How long it may take, in milliseconds. What somebody is waited for counts.
    pub ms: Option<u64>,
}

/// What stands before the name of a branch that would mean something else as an outcome.
const BRANCH: &str = "branch:";

/// What a node is called that chooses for another.
const CHOOSER: &str = ":next";

/// What stands before the name of a workflow that is a tool.
const RUN: &str = "run:";

impl State {
    /// The workflow that a tool of this name runs.
    ///
    /// ```
    /// use portolan_core::graph::State;
    /// assert_eq!(State::workflow_of("run:audit"), Some("audit"));
    /// assert_eq!(State::workflow_of("files/read"), None);
    /// ```
    pub fn workflow_of(tool: &str) -> Option<&str> {
        tool.strip_prefix(RUN)
    }

    /// The outcome on which a state is left along the branch called `name`. What outcomes of all nodes are called may be
    /// the name of a branch too, and is told from them.
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

    /// The expressions that it evaluates.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let checks = self.key_results.iter().filter_map(|result| match &result.by {
            KeyResultCheck::Expr(expr) => Some(expr),
            KeyResultCheck::Check(_) | KeyResultCheck::Judge => None,
        });
        let asking = match &self.work {
            Worker::Model(asking) => Some(asking),
            Worker::Nobody | Worker::Function(_) => None,
        };
        let asked = asking.into_iter().flat_map(|asking| asking.system.iter().chain(&asking.prompt));
        checks.chain(asked).chain(self.sets.iter().map(|(_, expr)| expr)).chain(&self.way)
    }

    /// The name of the node that chooses the way on where `node` is none that can.
    pub(crate) fn chooser_of(node: &str) -> String {
        format!("{node}{CHOOSER}")
    }

    /// Whether a node only chooses the way on for another: no definition names it.
    pub(crate) fn is_chooser(node: &Node) -> bool {
        node.span == Span::default() && node.id.as_str().contains(CHOOSER)
    }

    /// Whether one of its expressions sees what other states have come to before.
    pub fn sees_history(&self) -> bool {
        self.expressions().any(|expr| expr.text().contains("history"))
    }

    /// How often its model may be asked in one attempt.
    pub fn max_turns(&self) -> u32 {
        match &self.work {
            Worker::Model(asking) => asking.max_turns.map_or(DEFAULT_TURNS, NonZeroU32::get),
            Worker::Nobody | Worker::Function(_) => 1,
        }
    }
}

impl Bounds {
    /// What is bounded, as definitions write it, and how far.
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
