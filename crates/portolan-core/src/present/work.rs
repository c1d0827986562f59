//! What the definition says of the step at a position, with the values of variables in its texts.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::question::Here;
use super::situation::{RunStatus, state};
use super::{ChildState, Viewer};
use crate::graph::{Activity, CheckBy, ConditionalText, Kind, ToolRules};
use crate::run::{BranchState, Place};
use crate::value::{CheckId, NodeId, Outcome};

/// What the definition says of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// The step's identifier as the definition writes it: in a text of activities it is unique in its activity only.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its number among the steps, from 1; nothing for what is no step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What to do, what done means, what to hand on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Files to read first, as written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_files: Vec<String>,
    /// How often a failure may be retried, where the definition says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The variables that it is said to give values to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gives: Vec<String>,
    /// What it takes to do it, and the agent has said not to have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// The tools that may be used at it, and those that may not, by pattern; nothing where all may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolRules>,
    /// The activity that it stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<ActivityView>,
}

/// What holds during all of an activity: of its texts those that count in this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActivityView {
    /// Its identifier.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What holds during all of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// What is there when it is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcome: Vec<String>,
    /// What must not be forgotten in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The files that it makes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// The skills and techniques that it is done with, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub means: Vec<String>,
    /// How long it takes, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

/// Something that must hold before the step is left as done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckView {
    /// Its identifier.
    pub id: CheckId,
    /// How it is decided.
    #[serde(flatten)]
    pub by: CheckBy,
}

/// A fork, and how far its branches are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fork {
    /// The join that collects the branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    /// How many may be under way at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    /// The branches.
    pub branches: Vec<ForkBranch>,
}

/// A branch of a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForkBranch {
    /// The step that it begins at.
    pub id: String,
    /// That step's name for people.
    pub name: String,
    /// What the definition writes at the way into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How far it is.
    pub progress: Progress,
}

/// How far a branch is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Progress {
    /// It is held back, for as many run as may.
    Held,
    /// It has no task.
    Missing,
    /// It is under way.
    At {
        /// The step that it is at.
        step: String,
        /// Whether it waits for a person.
        waiting: bool,
    },
    /// It is done.
    Done {
        /// Its outcome.
        outcome: Outcome,
    },
    /// It was called off.
    Cancelled,
}

impl Here<'_> {
    pub(super) fn work(&self, viewer: &Viewer) -> Work {
        let brief = &self.node.brief;
        Work {
            id: self.asked_id(),
            name: self.name(),
            number: self.number(),
            description: brief.description.as_ref().map(|text| self.told(text)),
            instructions: brief.instructions.as_ref().map(|text| self.told(text)),
            context_files: brief.context_files.clone(),
            retries: self.node.max_retries.as_ref().map(|most| most.value),
            gives: self.gives(),
            lacks: self.lacks(viewer),
            tools: self.flow.tools_at(&self.node.id).map(Cow::into_owned),
            activity: self.activity().map(|activity| self.told_of(activity)),
        }
    }

    /// The variables that the step is said to give, and then those that a check wants of it.
    fn gives(&self) -> Vec<String> {
        let mut gives = self.node.seat.as_deref().and_then(|seat| seat.reports.clone()).unwrap_or_default();
        for name in self.node.outputs_wanted() {
            if !gives.iter().any(|known| known == name) {
                gives.push(name.to_owned());
            }
        }
        gives
    }

    fn number(&self) -> Option<u32> {
        if let Some(seat) = &self.node.seat {
            return seat.number;
        }
        let work = |kind: &Kind| matches!(kind, Kind::Work { .. } | Kind::Checkpoint { .. });
        let work = self.flow.steps.values().filter(|step| work(&step.node.kind));
        let at = work.map(|step| &step.node.id).position(|id| *id == self.node.id)?;
        Some(u32::try_from(at + 1).unwrap_or(u32::MAX))
    }

    /// What the step needs, and the agent has said not to have.
    fn lacks(&self, viewer: &Viewer) -> Vec<String> {
        let has = viewer.effectivities.as_deref().or(self.run.opening.effectivities.as_deref());
        let (Some(has), Some(seat)) = (has, &self.node.seat) else { return Vec::new() };
        seat.effectivities.iter().filter(|needed| !has.contains(needed)).cloned().collect()
    }

    fn told_of(&self, activity: &Activity) -> ActivityView {
        let known = self.run.variables(self.path);
        let is_true = |name: &str| known.iter().any(|(known, value)| *known == name && **value == Value::Bool(true));
        let counts = |told: &&ConditionalText| told.only_if.as_deref().is_none_or(is_true);
        let told = |texts: &[ConditionalText]| texts.iter().filter(counts).map(|told| self.told(&told.text)).collect();
        let plain = |texts: &[String]| texts.iter().map(|text| self.told(text)).collect();
        ActivityView {
            id: activity.id.clone(),
            name: activity.name.clone(),
            description: activity.description.as_ref().map(|text| self.told(text)),
            rules: told(&activity.rules),
            outcome: plain(&activity.outcome),
            keep: told(&activity.keep),
            notes: told(&activity.notes),
            artifacts: plain(&activity.artifacts),
            means: activity.means.clone(),
            time: activity.time.clone(),
        }
    }

    pub(super) fn fork(&self, viewer: &Viewer) -> Option<Fork> {
        let branches: Vec<ForkBranch> = match &self.frame.place {
            Place::Forked { branches, .. } => {
                branches.iter().map(|branch| self.branch(&branch.name, in_run(&branch.state))).collect()
            }
            Place::Gathering { .. } => {
                viewer.children.iter().map(|child| self.branch(&child.branch, outside(&child.state))).collect()
            }
            _ => return None,
        };
        let (join, max_concurrency) = match &self.node.kind {
            Kind::Fork { join, max_concurrency } => {
                (Some(join.value.to_string()), max_concurrency.map(std::num::NonZeroU32::get))
            }
            _ => (None, None),
        };
        Some(Fork { join, max_concurrency, branches })
    }

    fn branch(&self, id: &NodeId, progress: Progress) -> ForkBranch {
        let edge = self.flow.edges.iter().find(|edge| edge.from.value == self.node.id && edge.to.value == *id);
        ForkBranch {
            id: id.to_string(),
            name: self.flow.step(id).node.name.clone(),
            label: edge.and_then(|edge| edge.label.clone()),
            progress,
        }
    }
}

fn in_run(branch: &BranchState) -> Progress {
    match branch {
        BranchState::Held => Progress::Held,
        BranchState::Open(frame) => {
            Progress::At { step: frame.place.node().to_string(), waiting: state(&frame.place) == RunStatus::Waiting }
        }
        BranchState::Done(outcome) => Progress::Done { outcome: outcome.clone() },
        BranchState::Cancelled => Progress::Cancelled,
    }
}

fn outside(state: &ChildState) -> Progress {
    match state {
        ChildState::Missing => Progress::Missing,
        ChildState::At { step, .. } => Progress::At { step: step.to_string(), waiting: false },
        ChildState::Done(outcome) => Progress::Done { outcome: outcome.clone() },
    }
}
