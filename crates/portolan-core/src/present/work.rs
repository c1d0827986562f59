//! The definition's description of the step at a position, with the values of variables in its texts.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::question::Here;
use super::situation::{RunStatus, state};
use super::{ChildState, Viewer};
use crate::graph::{Activity, CheckBy, ConditionalText, Kind, ToolRules};
use crate::run::{BranchState, Place};
use crate::value::{CheckId, NodeId, Outcome};

/// The definition's description of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// The step's identifier in the definition. In the format of activities it is unique only within its activity.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its number among the steps, from 1; `None` if it is not a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The work, the criteria of done, and the results to hand on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Files to read first, as written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_files: Vec<String>,
    /// The maximum number of retries, if the definition has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The variables that it gives values to, according to the definition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gives: Vec<String>,
    /// The abilities that it needs and the agent has not claimed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// The tools that may and may not be used at it, by pattern; `None` if all may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolRules>,
    /// The activity around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<ActivityView>,
}

/// The texts of an activity that apply in this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActivityView {
    /// Its identifier.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Rules that apply during the whole activity.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Its results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcome: Vec<String>,
    /// Points that must not be forgotten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Further notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The files that it produces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// The skills and techniques to use, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub means: Vec<String>,
    /// Its duration, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

/// A condition that must hold before the step is left as done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckView {
    /// Its identifier.
    pub id: CheckId,
    /// How it is decided.
    #[serde(flatten)]
    pub by: CheckBy,
}

/// A fork with the progress of its branches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fork {
    /// The join that collects the branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    /// The maximum number of branches under way at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    /// The branches.
    pub branches: Vec<ForkBranch>,
}

/// A branch of a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForkBranch {
    /// The step at its beginning.
    pub id: String,
    /// That step's name for people.
    pub name: String,
    /// The label of the edge into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its progress.
    pub progress: Progress,
}

/// The progress of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Progress {
    /// It is held back because the maximum number is under way.
    Held,
    /// It has no task.
    Missing,
    /// It is under way.
    At {
        /// Its current step.
        step: String,
        /// Whether it waits for a person.
        waiting: bool,
    },
    /// It is done.
    Done {
        /// Its outcome.
        outcome: Outcome,
    },
    /// It was cancelled.
    Cancelled,
}

impl Here<'_> {
    pub(super) fn work(&self, viewer: &Viewer) -> Work {
        let brief = &self.node.brief;
        Work {
            id: self.asked_id(),
            name: self.name(),
            number: self.number(),
            description: brief.description.as_ref().map(|text| self.fill(text)),
            instructions: brief.instructions.as_ref().map(|text| self.fill(text)),
            context_files: brief.context_files.clone(),
            retries: self.node.max_retries.as_ref().map(|most| most.value),
            gives: self.gives(),
            lacks: self.lacks(viewer),
            tools: self.flow.tools_at(&self.node.id).map(Cow::into_owned),
            activity: self.activity().map(|activity| self.activity_view(activity)),
        }
    }

    /// Returns the variables that the step gives according to the definition, then those that a check requires.
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

    /// Returns the abilities that the step needs and the agent has not claimed.
    fn lacks(&self, viewer: &Viewer) -> Vec<String> {
        let has = viewer.effectivities.as_deref().or(self.run.opening.effectivities.as_deref());
        let (Some(has), Some(seat)) = (has, &self.node.seat) else { return Vec::new() };
        seat.effectivities.iter().filter(|needed| !has.contains(needed)).cloned().collect()
    }

    fn activity_view(&self, activity: &Activity) -> ActivityView {
        let known = self.run.variables(self.path);
        let is_true = |name: &str| known.iter().any(|(known, value)| *known == name && **value == Value::Bool(true));
        let counts = |text: &&ConditionalText| text.only_if.as_deref().is_none_or(is_true);
        let applicable =
            |texts: &[ConditionalText]| texts.iter().filter(counts).map(|text| self.fill(&text.text)).collect();
        let plain = |texts: &[String]| texts.iter().map(|text| self.fill(text)).collect();
        ActivityView {
            id: activity.id.clone(),
            name: activity.name.clone(),
            description: activity.description.as_ref().map(|text| self.fill(text)),
            rules: applicable(&activity.rules),
            outcome: plain(&activity.outcome),
            keep: applicable(&activity.keep),
            notes: applicable(&activity.notes),
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
