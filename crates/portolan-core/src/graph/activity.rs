//! What workflows of activities are made of: variables, activities, questions with effects, loops.
//!
//! They are lowered to nodes and edges like everything else. A [`StepPath`] tells which activity and step of the text a node
//! stands for; all that the engine decides by it is whether an activity is passed over.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::{Kind, Node};
use crate::expr::Expr;
use crate::source::Spanned;
use crate::value::{NodeId, Outcome};

/// How many passes a loop makes where the definition does not say.
pub const DEFAULT_MAX_PASSES: u32 = 100;

/// A variable of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: Spanned<String>,
    /// What it holds.
    pub kind: VariableKind,
    /// What it is for.
    pub description: Option<String>,
    /// What it holds from the beginning.
    pub default: Option<Value>,
    /// Whether a run cannot begin without it.
    pub required: bool,
    /// Whose it is to give it values, where no step is said to.
    pub keeper: VariableOwner,
    /// The nodes at which it may be given a value; nothing means all.
    pub only_at: Option<Vec<NodeId>>,
}

/// Whose it is to give a variable values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableOwner {
    /// Whoever begins the run, and the agent at its steps.
    #[default]
    Anyone,
    /// Whoever begins the run: it turns a mode on.
    Opening,
    /// A person, by an answer. Who begins the run gives it only where it is required.
    Person,
}

/// What a variable holds. `null` is nobody's value: a variable without one is not there.
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
    /// Any of them: nobody has said which.
    Any,
}

impl VariableKind {
    /// The word a definition uses for it.
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

    /// What a value of it is called in a sentence.
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

    /// Whether what a variable of another kind holds may be given to one of this kind.
    pub fn may_take_of(self, other: VariableKind) -> bool {
        self == other || self == VariableKind::Any || other == VariableKind::Any
    }

    /// Whether a variable of this kind can hold a value.
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

/// An activity: a part of a workflow, with a name. All of it is text for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Its identifier.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What holds during all of it.
    pub rules: Vec<ConditionalText>,
    /// What is there when it is done.
    pub outcome: Vec<String>,
    /// What must not be forgotten in it.
    pub keep: Vec<ConditionalText>,
    /// What else there is to know.
    pub notes: Vec<ConditionalText>,
    /// The skills and techniques that it is done with, the most important first.
    pub means: Vec<String>,
    /// The files that it makes.
    pub artifacts: Vec<String>,
    /// How long it takes, as written.
    pub time: Option<String>,
}

/// A text that may be for some runs only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConditionalText {
    /// The text.
    pub text: String,
    /// The variable that must be `true` for it to count.
    pub only_if: Option<String>,
}

/// Where a node stands in a text of activities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepPath {
    /// The activity, by its place among the workflow's.
    pub activity: usize,
    /// Its identifier as written: unique in its activity only.
    pub id: String,
    /// Its number among the steps beside it, from 1; nothing for what is no step.
    pub number: Option<u32>,
    /// The loops around it, the outermost first.
    pub loops: Vec<NodeId>,
    /// What the agent must be able to do.
    pub effectivities: Vec<String>,
    /// Whether it only stands before something conditional.
    pub gates: bool,
    /// The variables that it is said to give values to; nothing where it may be all of them.
    pub reports: Option<Vec<String>>,
}

impl Node {
    /// Whether being at the node may give values to all variables.
    pub fn gives_all(&self) -> bool {
        matches!(self.kind, Kind::Work { .. }) && self.seat.as_ref().is_some_and(|seat| seat.reports.is_none())
    }

    /// The activities that an answer given at the node has passed over.
    pub fn skips(&self) -> impl Iterator<Item = &NodeId> {
        let question = match &self.kind {
            Kind::Checkpoint { question, .. } => question.as_deref(),
            _ => None,
        };
        question.into_iter().flat_map(|question| &question.options).flat_map(|option| &option.skips)
    }

    /// The variables that a report of the node as done must give values to.
    pub fn outputs_wanted(&self) -> impl Iterator<Item = &str> {
        self.accept.iter().filter_map(|check| Some(check.by.evidence()?.fact.output()?.0))
    }

    /// Whether a report of the node as done must give a variable a value.
    pub fn must_give(&self, name: &str) -> bool {
        self.outputs_wanted().any(|wanted| wanted == name)
    }

    /// The variables that being at the node may give values to.
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

/// A question whose answers do something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// What is asked. `{name}` stands for a variable.
    pub message: String,
    /// What may be answered.
    pub options: Vec<Choice>,
    /// What counts when nobody has answered for so long.
    pub fallback: Option<Fallback>,
    /// What it is asked for, where it is a question for each of several things.
    pub instance: Option<Instance>,
}

/// What one of several questions is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instance {
    /// What tells it from the others. `{name}` stands for a variable.
    pub of: String,
    /// Whether an answer holds for the whole run, and not only for the visit of the activity.
    pub for_run: bool,
}

/// The answer to a question that nobody answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fallback {
    /// The option.
    pub option: Outcome,
    /// After how long, in milliseconds.
    pub after_ms: u64,
}

impl Question {
    /// The option that an outcome is the answer of.
    pub fn choice(&self, outcome: &Outcome) -> Option<&Choice> {
        self.options.iter().find(|option| option.id == *outcome)
    }
}

/// An answer and what it does. Where it leads stands on the edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// Its identifier: the outcome that an answer is.
    pub id: Outcome,
    /// What people read.
    pub label: String,
    /// More about it.
    pub description: Option<String>,
    /// The variables that it sets.
    pub sets: Vec<(String, Value)>,
    /// The activities that it has passed over, by their first nodes.
    pub skips: Vec<NodeId>,
}

/// Nodes that are walked again and again: from the target of the edge `pass` to a [`Kind::Repeat`](super::Kind::Repeat).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loop {
    /// What it goes by.
    pub kind: LoopKind,
    /// It ends after a pass after which this holds.
    pub stop: Option<Expr>,
    /// It ends after so many passes.
    pub most: u32,
    /// What it means that it is ended there.
    pub at_limit: AtLimit,
}

/// What it means that a loop has made as many passes as it may, and would make another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    /// The loop has failed: a person decides.
    #[default]
    Fails,
    /// The work continues behind it.
    GoesOn,
}

impl Loop {
    /// The expression that it goes by.
    pub fn condition(&self) -> &Expr {
        match &self.kind {
            LoopKind::ForEach { over: condition, .. } | LoopKind::While(condition) | LoopKind::DoWhile(condition) => {
                condition
            }
        }
    }
}

impl Loop {
    /// The variable that holds the item of a pass.
    pub fn variable(&self) -> Option<&str> {
        match &self.kind {
            LoopKind::ForEach { variable, .. } => Some(variable),
            LoopKind::While(_) | LoopKind::DoWhile(_) => None,
        }
    }
}

/// What a loop goes by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// A pass for each item of an array, as it is when the loop begins.
    ForEach {
        /// The array.
        over: Expr,
        /// The variable that holds the item during its pass.
        variable: String,
    },
    /// Passes for as long as this holds before each.
    While(Expr),
    /// A pass, and others for as long as this holds after each.
    DoWhile(Expr),
}
