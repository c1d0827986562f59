//! A state at work: the conversation with its model, what its checks and judges have found, and what it waits for.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Frame, FramePath, Item, Place, Verdict};
use crate::chat::{Message, ModelAnswer, ModelError};
use crate::value::{CheckId, NodeId, Timestamp};

/// The limit of how often a model is asked in one attempt.
pub(crate) const TURNS: &str = "turns";

/// A state at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelState {
    /// When the state was entered.
    pub since: Timestamp,
    /// What it works on.
    pub input: Arc<Value>,
    /// The number of the attempt, from 0.
    pub attempt: u32,
    /// How many attempts are allowed, where a person has granted more than the definition does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<u32>,
    /// How often somebody was asked, in all attempts: each call of a model quotes its number, so that it settles once.
    pub turn: u32,
    /// How often the model was asked in this attempt.
    pub asked: u32,
    /// The conversation, the oldest message first.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// What is under way.
    pub doing: ModelActivity,
    /// The attempts that did not hold, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Attempt>,
    /// The variables as they were before this attempt, where there were any: what a failed one has written is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Arc<Map<String, Value>>>,
    /// Whether each key result was met, as an object, once the state is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Arc<Value>>,
}

/// What a state does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelActivity {
    /// The model, or the function, is asked.
    Asking(Backoff),
    /// Tools are used: those that the last message asks for.
    Using {
        /// What those that are done came to, by the name of the call.
        settled: Vec<(String, Done)>,
        /// The workflows among them that are under way, each named as its call is.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        open: Vec<Item>,
    },
    /// What must be looked at outside is looked at.
    Checking {
        /// The output.
        output: Arc<Value>,
        /// What was found out so far.
        found: Vec<KeyResultOutcome>,
        /// What came of the checks outside.
        settled: Vec<(CheckId, Verdict)>,
    },
    /// Models judge.
    Judging {
        /// The output.
        output: Arc<Value>,
        /// What was found out so far.
        found: Vec<KeyResultOutcome>,
        /// What each judge said: nothing where one has not answered yet.
        votes: Vec<Option<Vec<KeyResultOutcome>>>,
        /// How patient it is with judges.
        patience: Backoff,
    },
    /// It waits for a person, or for whoever else can answer.
    Held {
        /// Why.
        why: WaitReason,
        /// What it does then.
        then: Box<ModelActivity>,
    },
}

/// How often somebody did not answer, and when they are asked again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    /// How often in a row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// Not before then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What a tool of a state came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// It answered.
    Output(Arc<Value>),
    /// It failed, or was not called: the model is told.
    Failed(String),
    /// It answered, and the run is to stop here until somebody lets it go on.
    Breaks(Arc<Value>),
    /// It has done something that somebody will answer.
    Waits(Arc<Value>),
}

/// Why a state waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// A tool stops the run.
    Break {
        /// The name of its call.
        call: String,
        /// What it came to.
        output: Arc<Value>,
    },
    /// A tool waits for an answer from outside.
    Answer {
        /// The name of its call.
        call: String,
        /// What it came to.
        output: Arc<Value>,
    },
    /// As much is used up as may be.
    Limit {
        /// Of what, as definitions write it: `model_calls`.
        of: String,
        /// How much was used.
        used: u64,
        /// How much may be.
        limit: u64,
        /// Whether it is the limit of the whole run, or of a workflow that it runs.
        of_run: bool,
        /// Whose limit it is, where that is neither the run's nor the state's own: the frame of a workflow that the state
        /// stands in, or of a state that uses it as a tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<FramePath>,
    },
    /// A model does not answer, and asking again by itself does not help.
    Unanswered {
        /// Why.
        why: ModelError,
    },
    /// No attempt is left, and a person decides.
    Exhausted,
}

impl WaitReason {
    /// Why, as a clause.
    pub fn text(&self) -> String {
        match self {
            WaitReason::Break { .. } => "a tool has stopped the run".to_owned(),
            WaitReason::Answer { .. } => "a tool waits for an answer".to_owned(),
            WaitReason::Limit { of, used, limit, of_run, at } => {
                let whose = match (of_run, at) {
                    (true, None) => "the run",
                    (true, Some(_)) => "the workflow",
                    (false, None) => "the state",
                    (false, Some(_)) => "the state around it",
                };
                format!("{whose} has used {used} of {limit} `{of}`")
            }
            WaitReason::Unanswered { why } => why.message.clone(),
            WaitReason::Exhausted => "no attempt is left, and a person decides".to_owned(),
        }
    }
}

/// What was found out of one key result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyResultOutcome {
    /// Its name.
    pub name: String,
    /// Whether it is met.
    pub met: bool,
    /// Why, or why not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What shows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
}

/// An attempt that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// What it came to.
    pub output: Arc<Value>,
    /// Every key result that was looked at, in the order of the definition.
    pub found: Vec<KeyResultOutcome>,
}

/// What was used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spend {
    /// How often states were attempted.
    pub attempts: u64,
    /// How often models were asked.
    pub model_calls: u64,
    /// How many tools were used.
    pub tool_calls: u64,
    /// How many tokens were read.
    pub input_tokens: u64,
    /// How many were written.
    pub output_tokens: u64,
    /// What it cost, in millionths of a US dollar, as far as that is known.
    pub microdollars: u64,
    /// How many answers did not say how many tokens they took.
    pub unknown_tokens: u64,
    /// How many answers had no known price.
    pub unknown_costs: u64,
}

impl Spend {
    /// Whether nothing was used up.
    pub fn is_nothing(&self) -> bool {
        *self == Spend::default()
    }

    /// What one answer took.
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

    /// Both together. Servers may lie about what they took: no sum overflows.
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

    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// What a state of a run has used up so far, in all of its visits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateUsage {
    /// How often it was entered.
    pub visits: u64,
    /// What was used up.
    pub spend: Spend,
    /// By how many times its limits were raised, by their names.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub granted: std::collections::BTreeMap<String, u64>,
}

/// What a workflow that counts for itself has used up since it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// When it began.
    pub since: Timestamp,
    /// What was used up.
    pub tally: StateUsage,
}

/// Something that became true of a state at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelStateChange {
    /// An attempt begins. A new conversation takes the place of the one before.
    Begun {
        /// Its number, from 0.
        attempt: u32,
        /// The messages of a new conversation; nothing where the old one goes on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        afresh: Option<Vec<Arc<Message>>>,
        /// The variables as they are now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Arc<Map<String, Value>>>,
    },
    /// A message stands at the end of the conversation.
    Message(Arc<Message>),
    /// It does something else.
    Doing(ModelActivity),
    /// Somebody is asked once more.
    Asked {
        /// Whether it is the model that works, and not a judge.
        works: bool,
    },
    /// A workflow begins that is used as a tool.
    WorkflowBegun {
        /// The name of its call.
        call: String,
        /// The call's number in the message that asks for it, from 0.
        index: u32,
        /// Its frame.
        frame: Box<Frame>,
    },
    /// A tool is done.
    ToolDone {
        /// The name of its call.
        call: String,
        /// What it came to.
        done: Done,
    },
    /// A check outside came to a verdict.
    Settled {
        /// The check.
        check: CheckId,
        /// What it came to.
        verdict: Verdict,
    },
    /// A judge has answered.
    Voted {
        /// Which one, from 0.
        vote: u32,
        /// What it found.
        found: Vec<KeyResultOutcome>,
    },
    /// An attempt did not hold.
    Failed(Attempt),
    /// An attempt held, and the state is left with it.
    Held(Attempt),
    /// More attempts are allowed.
    Allowed {
        /// How many there may be.
        attempts: u32,
    },
    /// Something was used up.
    Spent(Spend),
    /// A limit is raised.
    Granted {
        /// Its name.
        of: String,
        /// Whether it is that of a workflow: of the frame's own where that counts for itself, else of the whole run.
        of_run: bool,
    },
    /// The variables are what they were before the attempt.
    Undone,
}

impl Place {
    /// Why the state that is worked on here waits for somebody; nothing where none does.
    pub fn held(&self) -> Option<&WaitReason> {
        let Place::Conversing { talk, .. } = self else { return None };
        match &talk.doing {
            ModelActivity::Held { why, .. } => Some(why),
            _ => None,
        }
    }
}

impl ModelState {
    /// The variables as they were before this attempt.
    pub(crate) fn variables_before(&self) -> Map<String, Value> {
        self.before.as_deref().cloned().unwrap_or_default()
    }

    /// The workflows under way that its model uses as tools.
    pub(crate) fn open(&self) -> &[Item] {
        match &self.doing {
            ModelActivity::Using { open, .. } => open,
            _ => &[],
        }
    }

    /// The same, to be changed.
    pub(crate) fn open_mut(&mut self) -> &mut [Item] {
        match &mut self.doing {
            ModelActivity::Using { open, .. } => open,
            _ => &mut [],
        }
    }

    /// Makes one thing true. Total: what does not fit changes nothing.
    pub(crate) fn apply(&mut self, said: &ModelStateChange) {
        match said {
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
            // A turn more is one of this attempt, and of nothing that is counted for the whole.
            ModelStateChange::Granted { of, .. } if of == TURNS => self.asked = 0,
            ModelStateChange::Held(attempt) => {
                let met = attempt.found.iter().map(|found| (found.name.clone(), Value::from(found.met)));
                self.met = Some(Arc::new(met.collect()));
            }
            ModelStateChange::Spent(_) | ModelStateChange::Granted { .. } | ModelStateChange::Undone => {}
        }
    }
}
