//! A run as data: where it is, what it has spent, what may be done, what happened, and the fold of what became true.
//!
//! A run is a tree of frames, one for each flow or branch that is under way; what belongs to a visit lives in its
//! frame. The engine decides over this, and situations are presented from it; it knows neither of them.

mod apply;
mod bypass;
mod change;
mod data;
mod earlier;
mod effect;
mod event;
mod frame;
mod model_state;
mod moves;
mod remembered;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::value::{NodeId, Timestamp, WorkflowId};

pub use bypass::{Bypass, BypassSource};
pub use change::{Change, LoopEnd};
pub use data::{Data, Fault, Item};
pub use effect::{EffectId, EffectPart, EffectResult};
pub use event::{Actor, Channel, Completion, Event, EventKind, Reply, Resume, Verdict};
pub use frame::{Branch, BranchState, Failure, Feedback, Frame, FramePath, Place, Raised, Spent, WaitingFor};
pub(crate) use model_state::TURNS;
pub use model_state::{
    Attempt, Backoff, Budget, Done, KeyResultOutcome, ModelActivity, ModelState, ModelStateChange, Spend, StateUsage,
    WaitReason,
};
pub use moves::{Move, moves};
pub use remembered::{Remembered, StateResult};

/// A run of a workflow. It holds no history: the journal does.
///
/// It serializes, in the form `run/1`, which `docs/situation.md` describes, and is read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its JSON form.
    #[serde(default)]
    pub form: Form,
    /// How many changes it is the fold of. It only grows.
    pub revision: u64,
    /// What it was opened with.
    pub opening: Opening,
    /// How many nodes were executed by the engine, in all frames together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub executed: u64,
    /// What its states have used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tallies: Option<Box<Tallies>>,
    /// Where it is.
    pub root: Frame,
}

/// The JSON form of a run. One that is not known is not read: what it says could mean something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// The present one. A run that does not say its form has it.
    #[default]
    #[serde(rename = "run/1")]
    One,
}

/// What the states of a run have used up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tallies {
    /// All of them together.
    pub run: StateUsage,
    /// Each by its flow and its node, a `/` between.
    pub states: BTreeMap<String, StateUsage>,
}

impl Tallies {
    /// Under which name a state's own is kept.
    pub fn key(flow: &WorkflowId, node: &NodeId) -> String {
        format!("{flow}/{node}")
    }
}

/// What a run is opened with. None of it changes later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// The workflow that it runs.
    pub workflow: WorkflowId,
    /// What the user wants done, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The step at which it begins, where that is not the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<NodeId>,
    /// How it is run.
    #[serde(default)]
    pub rules: Rules,
    /// What it works on, where the workflow is a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Arc<Value>>,
    /// When it was opened, where the workflow is a function: its time is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The folder that the paths of the definition's servers are relative to, where that is not the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// What the agent says that it is able to do; nothing when it has said nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effectivities: Option<Vec<String>>,
    /// The variables and the history with which it begins, where those of another run were saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<Arc<Remembered>>,
    /// The run that it shares its beginning with, where it was forked from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Where a run was forked from another: its records up to there are those of the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The other run, by its handle or its task file.
    pub run: String,
    /// The last record that both have.
    pub seq: u64,
    /// Where it was carried over to another definition, also before it was forked, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Carried>,
}

/// That a run was carried over from one definition to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    /// The last record that is of the earlier definition.
    pub seq: u64,
    /// The digest of the earlier definition.
    pub from: String,
    /// The digest of the later one.
    pub to: String,
}

impl Opening {
    /// Opens `workflow` at its start, by the usual rules.
    pub fn of(workflow: impl Into<WorkflowId>) -> Opening {
        let rules = Rules::default();
        let workflow = workflow.into();
        Opening {
            workflow,
            description: None,
            at: None,
            rules,
            input: None,
            since: None,
            folder: None,
            effectivities: None,
            remembered: None,
            origin: None,
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How a run is run: fixed when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Whose word counts at a question to a person.
    #[serde(default)]
    pub human: Human,
    /// Where the branches of a fork live.
    #[serde(default)]
    pub branches: Branches,
    /// Whether this run is itself a branch of another: it is done when it reaches a join.
    #[serde(default)]
    pub is_branch: bool,
}

/// Whose word counts at a question to a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Human {
    /// The agent relays what the person said.
    #[default]
    Attested,
    /// Only what arrives by a channel that the agent does not hold.
    Verified,
}

/// Where the branches of a fork live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Branches {
    /// They are positions of this run.
    #[default]
    Inside,
    /// Each is a run of its own, in a carrier of its own.
    Outside,
}

impl Run {
    /// The frame at `path`, if it is under way.
    pub fn frame<'r>(&'r self, path: &FramePath) -> Option<&'r Frame> {
        let inside = |frame: &'r Frame, name| frame.inner().find(|(inner, _)| *inner == name).map(|(_, frame)| frame);
        path.0.iter().try_fold(&self.root, inside)
    }

    /// The frames on the way to `path`, the root first, as far as they are under way.
    pub fn way<'r, 'p>(&'r self, path: &'p FramePath) -> impl Iterator<Item = &'r Frame> + use<'r, 'p> {
        let mut names = path.0.iter();
        std::iter::successors(Some(&self.root), move |frame| {
            let name = names.next()?;
            frame.inner().find(|(inner, _)| *inner == name).map(|(_, frame)| frame)
        })
    }

    /// The frame that holds the variables which are seen at `path`: that of the flow, and none of the loops in it.
    pub fn owner(&self, path: &FramePath) -> FramePath {
        let mut loops = 0;
        for frame in self.way(path).take(path.0.len()) {
            loops = if matches!(frame.place, Place::Looping { .. }) { loops + 1 } else { 0 };
        }
        FramePath(path.0[..path.0.len() - loops].to_vec())
    }

    fn frame_mut(&mut self, path: &FramePath) -> Option<&mut Frame> {
        path.0.iter().try_fold(&mut self.root, |frame, name| frame.inner_mut(name))
    }

    /// The innermost frames under way: each is a position at which something can happen. In order of the definition.
    pub fn positions(&self) -> Vec<(FramePath, &Frame)> {
        self.frames(&|frame| frame.inner().next().is_none())
    }

    /// The frames under way that are such, those inside of one before it.
    pub(crate) fn frames(&self, are: &dyn Fn(&Frame) -> bool) -> Vec<(FramePath, &Frame)> {
        type Found<'r> = Vec<(FramePath, &'r Frame)>;
        fn collect<'r>(path: FramePath, frame: &'r Frame, are: &dyn Fn(&Frame) -> bool, found: &mut Found<'r>) {
            for (name, inner) in frame.inner() {
                collect(path.join(name), inner, are, found);
            }
            if are(frame) {
                found.push((path, frame));
            }
        }
        let mut found = Vec::new();
        collect(FramePath::default(), &self.root, are, &mut found);
        found
    }

    /// The variables that are seen at `path`, the innermost first: those of the passes of loops, then those of the flow.
    pub fn variables(&self, path: &FramePath) -> Vec<(&str, &Value)> {
        let flow = self.owner(path).0.len();
        let frames: Vec<&Frame> = self.way(path).skip(flow).collect();
        let data = frames.into_iter().rev().filter_map(|frame| frame.data.as_deref());
        let seen = data.flat_map(|data| &data.variables);
        seen.map(|(name, value)| (name.as_str(), value)).collect()
    }

    /// What somebody has got past by name, the latest last.
    pub fn bypasses(&self) -> &[Bypass] {
        self.root.data.as_ref().map_or(&[], |data| &data.bypasses)
    }

    /// Whether nothing further happens.
    pub fn is_over(&self) -> bool {
        self.root.place.is_over()
    }
}

/// How far the branch at `path` is, under way or not; nothing when there is no such branch.
pub fn branch_state<'r>(run: &'r Run, path: &FramePath) -> Option<&'r BranchState> {
    let (last, parents) = path.0.split_last()?;
    let parent = run.frame(&FramePath(parents.to_vec()))?;
    let Place::Forked { branches, .. } = &parent.place else { return None };
    branches.iter().find(|branch| branch.name == *last).map(|branch| &branch.state)
}
