//! What can happen to a run. An event is a request or a report from outside; it carries its own time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BypassSource, EffectId, EffectResult, Fault, FramePath, Opening, Raised, earlier};
use crate::chat::{ModelAnswer, ModelError};
use crate::value::{NodeId, Outcome, Timestamp};

/// Something that happened, or that somebody wants to happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// By whose doing.
    pub by: Actor,
    /// What.
    #[serde(deserialize_with = "earlier::event_kind")]
    pub what: EventKind,
}

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The agent, under the name that its client gives.
    Agent(String),
    /// A person.
    Person {
        /// Who, as far as the channel can tell.
        name: String,
        /// How the answer arrived.
        via: Channel,
    },
    /// Portolan itself: a check that was performed, branches that were counted.
    Engine,
}

/// How a person's answer arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// An agent relayed it; `name` is the agent's.
    Attested,
    /// The agent's client asked its user.
    Elicitation,
    /// The command line.
    CommandLine,
    /// A page in the browser, whose token every program of the same user may have.
    Studio,
    /// A page in the browser, where a passkey confirmed this very answer.
    Passkey,
}

/// The kinds of event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A run is opened.
    Opened(Opening),
    /// The work is to begin: the start node is left.
    Begun {
        /// The revision that the caller knows the position by.
        revision: Option<u64>,
    },
    /// An outcome is claimed.
    Reported {
        /// At which position.
        frame: FramePath,
        /// The outcome.
        outcome: Outcome,
        /// The revision that the caller knows the position by.
        revision: Option<u64>,
        /// What the caller says of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The variables that the work has given values: an object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outputs: Option<Arc<Value>>,
    },
    /// An effect was performed. One that nobody waits for any more changes nothing.
    #[serde(rename = "effect_settled")]
    Settled {
        /// The effect.
        effect: EffectId,
        /// What came of it.
        result: EffectResult,
        /// What `$random` and its like are drawn from.
        #[serde(default)]
        seed: u64,
    },
    /// The branches that live outside this run have all come to an outcome.
    Gathered {
        /// The outcome of each branch, by name.
        branches: Vec<(NodeId, Outcome)>,
    },
    /// A state that waits is told how to go on.
    Resumed {
        /// At which position.
        frame: FramePath,
        /// The revision that the caller knows the position by.
        revision: Option<u64>,
        /// How.
        with: Resume,
        /// What `$random` and its like are drawn from.
        #[serde(default)]
        seed: u64,
    },
    /// The agent asks something that the workflow does not.
    Raised {
        /// At which position.
        frame: FramePath,
        /// The revision that the caller knows the position by.
        revision: Option<u64>,
        /// What it asks.
        question: Raised,
    },
    /// Variables are given values while work goes on; in the run of a function, also what its nodes came to.
    Noted {
        /// At which position.
        frame: FramePath,
        /// The values: an object.
        values: Arc<Value>,
    },
    /// Somebody gets past a rule by name.
    Bypassed {
        /// The rule.
        invariant: String,
        /// The node at which it is not to count.
        node: NodeId,
        /// Why.
        reason: String,
        /// How it was asked for.
        source: BypassSource,
        /// What was used.
        identifier: String,
        /// After that it does not count any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        /// Whether it counts once only.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        once: bool,
    },
    /// A bypass that counts once has counted elsewhere: it let a tool call happen.
    Used {
        /// The bypass, by its name in the run.
        bypass: String,
    },
    /// The run is called off.
    Cancelled {
        /// Why.
        reason: String,
        /// What it came to, where that has a name: `scoped-down`, `escalated`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    },
}

/// What a call of a tool came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It answered.
    Output(Option<Arc<Value>>),
    /// It failed, and may be tried again.
    Failed(Fault),
}

/// What a request to a model came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// It answered.
    Answer(Box<ModelAnswer>),
    /// A function that works on a state is done.
    Output {
        /// What it came to.
        output: Arc<Value>,
        /// The variables that it gives a value: an object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        writes: Option<Arc<Value>>,
    },
    /// It did not.
    Unanswered(ModelError),
}

/// How a state that waits goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// What a tool waited for, or what a person wants done differently.
    Answer(Arc<Value>),
    /// As before; at a limit, with as much again.
    GoOn,
    /// The best attempt so far counts.
    Accept,
    /// The state fails.
    GiveUp,
}

/// What a check came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Held,
    /// It holds, and this is what was found.
    Shown {
        /// What was found: never empty.
        reason: String,
        /// The variables that it makes known: an object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sets: Option<Arc<Value>>,
    },
    /// It does not hold, and a bypass has it count as if it did.
    Excused {
        /// What does not hold.
        reason: String,
        /// The bypass, by its name in the run.
        bypass: String,
    },
    /// It does not hold.
    Broken {
        /// Why.
        reason: String,
        /// The end of what it printed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
    },
    /// Nothing says how it is found out: a person decides.
    ForPerson {
        /// What is missing.
        reason: String,
    },
    /// It could not be found out, which is no pass.
    Unknown {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// The words with which gates say that something could not be found out.
    pub const CANNOT_VERIFY: &'static str = "cannot verify: ";
}
