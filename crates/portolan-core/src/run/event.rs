//! The events of a run: requests and reports from outside. An event carries its own time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BypassSource, EffectId, EffectResult, Fault, FramePath, Opening, RaisedQuestion, earlier};
use crate::chat::{ModelAnswer, ModelError};
use crate::value::{NodeId, Outcome, Timestamp};

/// An event or a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its time.
    pub at: Timestamp,
    /// Its author.
    pub by: Actor,
    /// Its kind.
    #[serde(deserialize_with = "earlier::event_kind")]
    pub what: EventKind,
}

/// The author of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The agent, with the name that its client gives.
    Agent(String),
    /// A person.
    Person {
        /// The person's name, as far as the channel knows it.
        name: String,
        /// The channel of the answer.
        via: Channel,
    },
    /// Portolan itself: a check was performed, branches were counted.
    Engine,
}

/// The channel of a person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// An agent relayed it; `name` is the agent's.
    Attested,
    /// The agent's client asked its user.
    Elicitation,
    /// The command line.
    CommandLine,
    /// A page in the browser. Every program of the same user may have its token.
    Studio,
    /// A page in the browser, where a passkey confirmed this answer.
    Passkey,
}

/// The kinds of event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A run was opened.
    Opened(Opening),
    /// The work begins: the start node is left.
    Begun {
        /// The revision at which the caller saw the position.
        revision: Option<u64>,
    },
    /// An outcome is reported.
    Reported {
        /// The position.
        frame: FramePath,
        /// The outcome.
        outcome: Outcome,
        /// The revision at which the caller saw the position.
        revision: Option<u64>,
        /// The caller's note on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The values that the work sets: an object of variables.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outputs: Option<Arc<Value>>,
    },
    /// An effect was performed. One that is no longer pending changes nothing.
    #[serde(rename = "effect_settled")]
    Settled {
        /// The effect.
        effect: EffectId,
        /// Its result.
        result: EffectResult,
        /// The seed of `$random` and similar functions.
        #[serde(default)]
        seed: u64,
    },
    /// Branches that live outside this run have outcomes.
    Gathered {
        /// The outcome of each branch that has one, by name.
        branches: Vec<(NodeId, Outcome)>,
    },
    /// A waiting state is resumed.
    Resumed {
        /// The position.
        frame: FramePath,
        /// The revision at which the caller saw the position.
        revision: Option<u64>,
        /// How it continues.
        with: Resume,
        /// The seed of `$random` and similar functions.
        #[serde(default)]
        seed: u64,
    },
    /// The agent asks a question that the workflow does not.
    Raised {
        /// The position.
        frame: FramePath,
        /// The revision at which the caller saw the position.
        revision: Option<u64>,
        /// The question.
        question: RaisedQuestion,
    },
    /// Variables are set during work; in a run of a function, outputs of nodes may be replaced too.
    Noted {
        /// The position.
        frame: FramePath,
        /// The values: an object.
        values: Arc<Value>,
    },
    /// A rule is bypassed.
    Bypassed {
        /// The rule.
        invariant: String,
        /// The node at which it is bypassed.
        node: NodeId,
        /// Why.
        reason: String,
        /// How the bypass was requested.
        source: BypassSource,
        /// The command, variable or configuration line that requested it.
        identifier: String,
        /// The time from which it is no longer valid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        /// Whether it is valid once only.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        once: bool,
    },
    /// A one-time bypass was used elsewhere: it allowed a tool call.
    Used {
        /// The bypass, by its name in the run.
        bypass: String,
    },
    /// The run is cancelled.
    Cancelled {
        /// Why.
        reason: String,
        /// The name of the result, if it has one: `scoped-down`, `escalated`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    },
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The tool answered.
    Output(Option<Arc<Value>>),
    /// It failed, and may be retried.
    Failed(Fault),
}

/// The result of a request to a model or a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The model answered.
    Answer(Box<ModelAnswer>),
    /// A function finished.
    Output {
        /// Its output.
        output: Arc<Value>,
        /// The variables that it sets: an object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        writes: Option<Arc<Value>>,
    },
    /// There was no answer.
    Unanswered(ModelError),
}

/// How a waiting state continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// With the answer that a tool waited for, or with a person's advice.
    Answer(Arc<Value>),
    /// As before; at a limit, with the same amount again.
    GoOn,
    /// The best attempt so far is accepted.
    Accept,
    /// The state fails.
    GiveUp,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Held,
    /// It holds, with a finding.
    Shown {
        /// The finding: never empty.
        reason: String,
        /// The variables that it sets: an object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sets: Option<Arc<Value>>,
    },
    /// It does not hold, but is bypassed.
    Excused {
        /// Why it does not hold.
        reason: String,
        /// The bypass, by its name in the run.
        bypass: String,
    },
    /// It does not hold.
    Broken {
        /// Why.
        reason: String,
        /// The end of its output.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
    },
    /// Nothing defines how to decide it: a person decides.
    ForPerson {
        /// What is missing.
        reason: String,
    },
    /// It could not be decided, which does not count as passed.
    Unknown {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// The prefix of the reasons of gates that could not decide.
    pub const CANNOT_VERIFY: &'static str = "cannot verify: ";
}
