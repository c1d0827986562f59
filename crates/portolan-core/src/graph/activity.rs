//! The parts of workflows of activities: variables, activities, questions with effects, loops.
//!
//! They are lowered to nodes and edges like everything else. A [`StepPath`] maps a node to its activity and step in the
//! text. From it the engine also takes the loops around a node, the variables that it reports and whether it can be
//! skipped.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::{Kind, Node};
use crate::expr::Expr;
use crate::source::Spanned;
use crate::value::{NodeId, Outcome};

/// The default maximum number of passes of a loop.
pub const DEFAULT_MAX_PASSES: u32 = 100;

/// A variable of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: Spanned<String>,
    /// The type of its values.
    pub kind: VariableKind,
    /// Its description.
    pub description: Option<String>,
    /// Its initial value.
    pub default: Option<Value>,
    /// Whether a run cannot begin without a value for it.
    pub required: bool,
    /// Its owner, if no step is declared to set it.
    pub keeper: VariableOwner,
    /// The nodes at which it may be set; `None` means all.
    pub only_at: Option<Vec<NodeId>>,
}

/// Who may set a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableOwner {
    /// The caller that begins the run, and the agent at its steps.
    #[default]
    Anyone,
    /// The caller that begins the run: the variable turns a mode on.
    Opening,
    /// A person, by an answer. The caller that begins the run may set it only if it is required.
    Person,
}

/// The type of a variable. `null` is a value of no type: a variable without a value does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableKind {
    /// A text.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// An array.
    Array,
    /// An object.
    Object,
    /// Any of them: the definition names no type.
    Any,
}

impl VariableKind {
    /// Returns the word that definitions use for it.
    pub fn word(self) -> &'static str {
        match self {
            VariableKind::String => "string",
            VariableKind::Number => "number",
            VariableKind::Boolean => "boolean",
            VariableKind::Array => "array",
            VariableKind::Object => "object",
            VariableKind::Any => "any",
        }
    }

    /// Returns the phrase for a value of this type.
    pub fn described(self) -> &'static str {
        match self {
            VariableKind::String => "a string",
            VariableKind::Number => "a number",
            VariableKind::Boolean => "a boolean",
            VariableKind::Array => "an array",
            VariableKind::Object => "an object",
            VariableKind::Any => "a value of any type",
        }
    }

    /// Checks whether a variable of this type may take the value of a variable of another type.
    pub fn may_take_of(self, other: VariableKind) -> bool {
        self == other || self == VariableKind::Any || other == VariableKind::Any
    }

    /// Checks whether a variable of this type can hold a value.
    pub fn takes(self, value: &Value) -> bool {
        match self {
            VariableKind::String => value.is_string(),
            VariableKind::Number => value.is_number(),
            VariableKind::Boolean => value.is_boolean(),
            VariableKind::Array => value.is_array(),
            VariableKind::Object => value.is_object(),
            VariableKind::Any => !value.is_null(),
        }
    }
}

/// An activity: a named part of a workflow. All of it is text for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Its identifier.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// The rules that apply during all of it.
    pub rules: Vec<ConditionalText>,
    /// The results that exist when it is done.
    pub outcome: Vec<String>,
    /// What to keep in mind during it.
    pub keep: Vec<ConditionalText>,
    /// Other notes.
    pub notes: Vec<ConditionalText>,
    /// The skills and techniques to use, the most important first.
    pub means: Vec<String>,
    /// The files that it creates.
    pub artifacts: Vec<String>,
    /// The time that it takes, as written.
    pub time: Option<String>,
}

/// A text that may apply to some runs only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConditionalText {
    /// The text.
    pub text: String,
    /// The variable that must be `true` for it to apply.
    pub only_if: Option<String>,
}

/// The position of a node in a workflow of activities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepPath {
    /// The index of the activity in the workflow.
    pub activity: usize,
    /// Its identifier as written, unique in its activity only.
    pub id: String,
    /// Its number among its sibling steps, from 1; `None` if it is not a step.
    pub number: Option<u32>,
    /// The loops around it, the outermost first.
    pub loops: Vec<NodeId>,
    /// The abilities that the agent must have.
    pub effectivities: Vec<String>,
    /// Whether it only guards something conditional.
    pub gates: bool,
    /// The variables that it is declared to set; `None` if it may set all of them.
    pub reports: Option<Vec<String>>,
}

impl Node {
    /// Checks whether the node may set all variables.
    pub fn gives_all(&self) -> bool {
        matches!(self.kind, Kind::Work { .. }) && self.seat.as_ref().is_some_and(|seat| seat.reports.is_none())
    }

    /// Returns the activities that answers given at the node skip.
    pub fn skips(&self) -> impl Iterator<Item = &NodeId> {
        let question = match &self.kind {
            Kind::Checkpoint { question, .. } => question.as_deref(),
            _ => None,
        };
        question.into_iter().flat_map(|question| &question.options).flat_map(|option| &option.skips)
    }

    /// Returns the variables that a report of the node as done must set.
    pub fn outputs_wanted(&self) -> impl Iterator<Item = &str> {
        self.accept.iter().filter_map(|check| Some(check.by.evidence()?.fact.output()?.0))
    }

    /// Checks whether a report of the node as done must set the variable `name`.
    pub fn must_give(&self, name: &str) -> bool {
        self.outputs_wanted().any(|wanted| wanted == name)
    }

    /// Returns the variables that the node may set.
    pub fn gives(&self) -> BTreeSet<&str> {
        let own = self.sets.iter().map(|(name, _)| name.as_str());
        let reported = self.seat.iter().filter_map(|seat| seat.reports.as_deref()).flatten().map(String::as_str);
        let mut names: BTreeSet<&str> = own.chain(reported).chain(self.outputs_wanted()).collect();
        match &self.kind {
            Kind::Checkpoint { question: Some(question), .. } => {
                let sets = question.options.iter().flat_map(|option| &option.sets);
                names.extend(sets.map(|(name, _)| name.as_str()));
            }
            Kind::Subflow { context, .. } => names.extend(context.iter().map(String::as_str)),
            Kind::Loop(looping) => names.extend(looping.variable()),
            _ => {}
        }
        names
    }
}

/// A question whose answers have effects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// The text of the question. `{name}` is replaced by a variable.
    pub message: String,
    /// The possible answers.
    pub options: Vec<Choice>,
    /// The answer that is used after a time without one.
    pub fallback: Option<Fallback>,
    /// The subject, if the question is asked for each of several things.
    pub instance: Option<Instance>,
}

/// The subject of one of several similar questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instance {
    /// The text that identifies it. `{name}` is replaced by a variable.
    pub of: String,
    /// Whether an answer holds for the whole run, rather than for the visit of the activity.
    pub for_run: bool,
}

/// The answer to a question without an answer in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fallback {
    /// The option.
    pub option: Outcome,
    /// The delay in milliseconds.
    pub after_ms: u64,
}

impl Question {
    /// Returns the option whose answer is `outcome`.
    pub fn choice(&self, outcome: &Outcome) -> Option<&Choice> {
        self.options.iter().find(|option| option.id == *outcome)
    }
}

/// An answer and its effects. Its target is on the edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// Its identifier: the outcome of the answer.
    pub id: Outcome,
    /// The text for people.
    pub label: String,
    /// A longer description.
    pub description: Option<String>,
    /// The variables that it sets.
    pub sets: Vec<(String, Value)>,
    /// The activities that it skips, by their first nodes.
    pub skips: Vec<NodeId>,
}

/// Nodes that are repeated: from the target of the edge `pass` to a [`Kind::Repeat`](super::Kind::Repeat).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loop {
    /// Its kind, with its condition or items.
    pub kind: LoopKind,
    /// The break condition: the loop ends after a pass if this holds.
    pub stop: Option<Expr>,
    /// The maximum number of passes.
    pub most: u32,
    /// What happens at that maximum.
    pub at_limit: AtLimit,
}

/// What happens when a loop has made its maximum number of passes and would continue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    /// The loop fails: a person decides.
    #[default]
    Fails,
    /// The run continues after the loop.
    GoesOn,
}

impl Loop {
    /// Returns its condition, or the expression for its items.
    pub fn condition(&self) -> &Expr {
        match &self.kind {
            LoopKind::ForEach { over: condition, .. } | LoopKind::While(condition) | LoopKind::DoWhile(condition) => {
                condition
            }
        }
    }
}

impl Loop {
    /// Returns the variable that holds the item of a pass.
    pub fn variable(&self) -> Option<&str> {
        match &self.kind {
            LoopKind::ForEach { variable, .. } => Some(variable),
            LoopKind::While(_) | LoopKind::DoWhile(_) => None,
        }
    }
}

/// The kind of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// One pass for each item of an array, as it is when the loop begins.
    ForEach {
        /// The array.
        over: Expr,
        /// The variable that holds the item during its pass.
        variable: String,
    },
    /// Passes while this holds before each.
    While(Expr),
    /// One pass, and further ones while this holds after each.
    DoWhile(Expr),
}
