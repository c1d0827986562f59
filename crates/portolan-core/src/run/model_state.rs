//! A state under way: the conversation with its model, the findings of its checks and judges, and why it waits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Frame, FramePath, Item, Place, Verdict};
use crate::chat::{Message, ModelAnswer, ModelError};
use crate::value::{CheckId, NodeId, Timestamp};

/// The limit on the number of requests to a model in one attempt.
pub(crate) const TURNS: &str = "turns";

/// A state under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelState {
    /// When the state was entered.
    pub since: Timestamp,
    /// Its input.
    pub input: Arc<Value>,
    /// The number of the attempt, from 0.
    pub attempt: u32,
    /// The number of attempts allowed, if a person has granted more than the definition does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<u32>,
    /// The number of the present request, over all attempts. Effects quote it, so that each request is settled once.
    pub turn: u32,
    /// The number of requests of this attempt that its model or function has answered.
    pub asked: u32,
    /// The conversation, the oldest message first.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// What it is doing.
    pub doing: ModelActivity,
    /// The failed attempts, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Attempt>,
    /// The variables before this attempt, if there were any. They are restored if the attempt fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Arc<Map<String, Value>>>,
    /// Whether each key result is met, as an object, once the state is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Arc<Value>>,
}

/// What a state is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelActivity {
    /// It waits for the model or the function.
    Asking(Backoff),
    /// It runs the tools that the last message asks for.
    Using {
        /// The results of the tools that are done, by the name of the call.
        settled: Vec<(String, ToolCallResult)>,
        /// The workflows among the tools that are under way, each named like its call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        open: Vec<Item>,
    },
    /// It waits for checks outside the run.
    Checking {
        /// The output.
        output: Arc<Value>,
        /// The findings so far.
        found: Vec<KeyResultOutcome>,
        /// The verdicts of the checks outside.
        settled: Vec<(CheckId, Verdict)>,
    },
    /// It waits for judges.
    Judging {
        /// The output.
        output: Arc<Value>,
        /// The findings so far.
        found: Vec<KeyResultOutcome>,
        /// The findings of each judge; `None` if it has not answered yet.
        votes: Vec<Option<Vec<KeyResultOutcome>>>,
        /// The backoff of requests to judges.
        patience: Backoff,
    },
    /// It waits for a person, or for another answer from outside.
    Held {
        /// Why.
        why: WaitReason,
        /// What it continues with.
        then: Box<ModelActivity>,
    },
}

/// The failures of a request, and the time of the next try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    /// The number of failures in a row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// The earliest time of the next try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallResult {
    /// It answered.
    Output(Arc<Value>),
    /// It failed, or was not called. The model gets the error.
    Failed(String),
    /// It answered, and the run stops here until it is resumed.
    Breaks(Arc<Value>),
    /// It started something whose answer comes later.
    Waits(Arc<Value>),
}

/// Why a state waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// A tool stopped the run.
    Break {
        /// The name of its call.
        call: String,
        /// Its result.
        output: Arc<Value>,
    },
    /// A tool waits for an answer from outside.
    Answer {
        /// The name of its call.
        call: String,
        /// Its result.
        output: Arc<Value>,
    },
    /// A limit is reached.
    Limit {
        /// The limit, as definitions write it: `model_calls`.
        of: String,
        /// The amount used.
        used: u64,
        /// The amount allowed.
        limit: u64,
        /// Whether it is the limit of the whole run, or of a workflow that it runs.
        of_run: bool,
        /// The frame that has the limit, if that is neither the run nor the state itself: that of a workflow around the
        /// state, or of a state that uses such a workflow as a tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<FramePath>,
    },
    /// A model does not answer, and a retry does not help.
    Unanswered {
        /// The error.
        why: ModelError,
    },
    /// No attempt is left, and a person decides.
    Exhausted,
}

impl WaitReason {
    /// Returns the reason as a clause.
    pub fn text(&self) -> String {
        match self {
            WaitReason::Break { .. } => "a tool has stopped the run".to_owned(),
            WaitReason::Answer { .. } => "a tool waits for an answer".to_owned(),
            WaitReason::Limit { of, used, limit, of_run, at } => {
                let whose = match (of_run, at) {
                    (true, None) => "the run",
                    (true, Some(_)) => "the workflow",
                    (false, None) => "the state",
                    (false, Some(_)) => "the enclosing state",
                };
                format!("{whose} has used {used} of {limit} `{of}`")
            }
            WaitReason::Unanswered { why } => why.message.clone(),
            WaitReason::Exhausted => "no attempts are left; a person decides".to_owned(),
        }
    }
}

/// The finding on one key result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyResultOutcome {
    /// Its name.
    pub name: String,
    /// Whether it is met.
    pub met: bool,
    /// Why it is met, or why not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The evidence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
}

/// A finished attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its output.
    pub output: Arc<Value>,
    /// The findings on the key results that were checked, in the order of the definition.
    pub found: Vec<KeyResultOutcome>,
}

/// Usage: numbers of calls, tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spend {
    /// The number of attempts of states.
    pub attempts: u64,
    /// The number of model calls.
    pub model_calls: u64,
    /// The number of tool calls.
    pub tool_calls: u64,
    /// The number of input tokens.
    pub input_tokens: u64,
    /// The number of output tokens.
    pub output_tokens: u64,
    /// The known cost, in millionths of a US dollar.
    pub microdollars: u64,
    /// The number of answers without token counts.
    pub unknown_tokens: u64,
    /// The number of answers without a known price.
    pub unknown_costs: u64,
}

impl Spend {
    /// Checks whether nothing was used.
    pub fn is_nothing(&self) -> bool {
        *self == Spend::default()
    }

    /// Returns the usage of one answer.
    pub fn of_answer(answer: &ModelAnswer) -> Spend {
        let usage = answer.usage;
        Spend {
            input_tokens: usage.input.unwrap_or(0),
            output_tokens: usage.output.unwrap_or(0),
            microdollars: answer.cost_microdollars.unwrap_or(0),
            unknown_tokens: u64::from(usage.input.is_none() || usage.output.is_none()),
            unknown_costs: u64::from(answer.cost_microdollars.is_none()),
            ..Spend::default()
        }
    }

    /// Returns the sum. It saturates, because servers may report any number.
    #[must_use]
    pub fn and(self, other: Spend) -> Spend {
        Spend {
            attempts: self.attempts.saturating_add(other.attempts),
            model_calls: self.model_calls.saturating_add(other.model_calls),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            microdollars: self.microdollars.saturating_add(other.microdollars),
            unknown_tokens: self.unknown_tokens.saturating_add(other.unknown_tokens),
            unknown_costs: self.unknown_costs.saturating_add(other.unknown_costs),
        }
    }

    /// Returns the number of input and output tokens together.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// The usage of a state of a run so far, in all of its visits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateUsage {
    /// The number of visits.
    pub visits: u64,
    /// The other usage.
    pub spend: Spend,
    /// How many times each limit was raised, by its name.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub granted: std::collections::BTreeMap<String, u64>,
}

/// The usage of a workflow with limits of its own, since it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// When it began.
    pub since: Timestamp,
    /// Its usage.
    pub tally: StateUsage,
}

/// A change of a state under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelStateChange {
    /// An attempt began.
    Begun {
        /// Its number, from 0.
        attempt: u32,
        /// The messages of a new conversation, which replaces the old one; `None` if the old one continues.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        afresh: Option<Vec<Arc<Message>>>,
        /// The variables before the attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Arc<Map<String, Value>>>,
    },
    /// A message was added to the conversation.
    Message(Arc<Message>),
    /// The activity changed.
    Doing(ModelActivity),
    /// The request number was increased: a request was answered or failed, or judges are asked.
    Asked {
        /// Whether the model or function that works has answered it.
        works: bool,
    },
    /// A workflow began that is used as a tool.
    WorkflowBegun {
        /// The name of its call.
        call: String,
        /// The call's number in the message that asks for it, from 0.
        index: u32,
        /// Its frame.
        frame: Box<Frame>,
    },
    /// A tool call is done.
    ToolDone {
        /// The name of its call.
        call: String,
        /// Its result.
        done: ToolCallResult,
    },
    /// A check outside was settled.
    Settled {
        /// The check.
        check: CheckId,
        /// Its verdict.
        verdict: Verdict,
    },
    /// A judge answered.
    Voted {
        /// The judge, from 0.
        vote: u32,
        /// Its findings.
        found: Vec<KeyResultOutcome>,
    },
    /// An attempt failed.
    Failed(Attempt),
    /// An attempt was accepted, and the state is left with it.
    Held(Attempt),
    /// More attempts were allowed.
    Allowed {
        /// The new maximum.
        attempts: u32,
    },
    /// Something was used.
    Spent(Spend),
    /// A limit was raised.
    Granted {
        /// Its name.
        of: String,
        /// Whether it is the limit of a workflow: of the frame's own if that has limits, else of the whole run.
        of_run: bool,
    },
    /// The variables were reset to their values before the attempt.
    Undone,
}

impl Place {
    /// Returns why the state at this place waits; `None` if it does not.
    pub fn held(&self) -> Option<&WaitReason> {
        let Place::Conversing { talk, .. } = self else { return None };
        match &talk.doing {
            ModelActivity::Held { why, .. } => Some(why),
            _ => None,
        }
    }
}

impl ModelState {
    /// Returns the variables before this attempt.
    pub(crate) fn variables_before(&self) -> Map<String, Value> {
        self.before.as_deref().cloned().unwrap_or_default()
    }

    /// Returns the workflows under way that its model uses as tools.
    pub(crate) fn open(&self) -> &[Item] {
        match &self.doing {
            ModelActivity::Using { open, .. } => open,
            _ => &[],
        }
    }

    /// Returns the same, mutably.
    pub(crate) fn open_mut(&mut self) -> &mut [Item] {
        match &mut self.doing {
            ModelActivity::Using { open, .. } => open,
            _ => &mut [],
        }
    }

    /// Applies one change. A change that does not fit is ignored.
    pub(crate) fn apply(&mut self, change: &ModelStateChange) {
        match change {
            ModelStateChange::Begun { attempt, afresh, before } => {
                self.attempt = *attempt;
                self.asked = 0;
                if let Some(messages) = afresh {
                    self.messages = Arc::new(messages.clone());
                }
                self.before.clone_from(before);
                self.doing = ModelActivity::Asking(Backoff::default());
            }
            ModelStateChange::Message(message) => Arc::make_mut(&mut self.messages).push(message.clone()),
            ModelStateChange::Doing(doing) => self.doing = doing.clone(),
            ModelStateChange::Asked { works } => {
                self.turn += 1;
                self.asked += u32::from(*works);
            }
            ModelStateChange::WorkflowBegun { call, index, frame } => {
                if let ModelActivity::Using { open, .. } = &mut self.doing {
                    let (name, frame) = (NodeId::from(call.as_str()), (**frame).clone());
                    open.push(Item { name, index: *index, frame });
                }
            }
            ModelStateChange::ToolDone { call, done } => {
                if let ModelActivity::Using { settled, open } = &mut self.doing {
                    settled.push((call.clone(), done.clone()));
                    open.retain(|item| item.name.as_str() != call);
                }
            }
            ModelStateChange::Settled { check, verdict } => {
                if let ModelActivity::Checking { settled, .. } = &mut self.doing {
                    settled.push((check.clone(), verdict.clone()));
                }
            }
            ModelStateChange::Voted { vote, found } => {
                if let ModelActivity::Judging { votes, .. } = &mut self.doing
                    && let Some(place) = votes.get_mut(*vote as usize)
                {
                    *place = Some(found.clone());
                }
            }
            ModelStateChange::Failed(attempt) => self.failed.push(attempt.clone()),
            ModelStateChange::Allowed { attempts } => self.allowed = Some(*attempts),
            // A granted turn belongs to this attempt: nothing is counted for the state or the run.
            ModelStateChange::Granted { of, .. } if of == TURNS => self.asked = 0,
            ModelStateChange::Held(attempt) => {
                let met = attempt.found.iter().map(|found| (found.name.clone(), Value::from(found.met)));
                self.met = Some(Arc::new(met.collect()));
            }
            ModelStateChange::Spent(_) | ModelStateChange::Granted { .. } | ModelStateChange::Undone => {}
        }
    }
}
