//! A run as data: its position, its usage, the possible moves, its events, and the fold of its changes.
//!
//! A run is a tree of frames, one for each flow, branch or pass of a loop under way. The data of a visit is in its
//! frame. The engine decides over a run and situations are presented from it; this module knows neither.

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
mod saved_state;

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
pub use frame::{
    Branch, BranchState, Failure, Feedback, Frame, FramePath, GateRetries, Place, RaisedQuestion, WaitingFor,
};
pub(crate) use model_state::TURNS;
pub use model_state::{
    Attempt, Backoff, Budget, KeyResultOutcome, ModelActivity, ModelState, ModelStateChange, Spend, StateUsage,
    ToolCallResult, WaitReason,
};
pub use moves::{Move, moves};
pub use saved_state::{RunMemory, StateResult};

/// A run of a workflow. It contains no history: the journal does.
///
/// It serializes in the form `run/1`, which `docs/situation.md` describes, and deserializes from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its JSON form.
    #[serde(default)]
    pub form: Form,
    /// The number of changes that were applied to it. It only grows.
    pub revision: u64,
    /// The data that it was opened with.
    pub opening: Opening,
    /// The number of nodes that the engine executed, in all frames together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub executed: u64,
    /// The usage of its states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tallies: Option<Box<Tallies>>,
    /// The root of its frames.
    pub root: Frame,
}

/// The JSON form of a run. An unknown form is refused, because its fields could have other meanings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// The present form. A run without a `form` has it.
    #[default]
    #[serde(rename = "run/1")]
    One,
}

/// The usage of the states of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tallies {
    /// The usage of all states together.
    pub run: StateUsage,
    /// The usage of each state, by flow and node with a `/` between them.
    pub states: BTreeMap<String, StateUsage>,
}

impl Tallies {
    /// Returns the key of a state in `states`.
    pub fn key(flow: &WorkflowId, node: &NodeId) -> String {
        format!("{flow}/{node}")
    }
}

/// The data that a run is opened with. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// The workflow that it runs.
    pub workflow: WorkflowId,
    /// The user's request, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The step at which it begins, if that is not the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<NodeId>,
    /// The rules of the run.
    #[serde(default)]
    pub rules: Rules,
    /// The input, if the workflow is a function; else the initial values of variables: an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Arc<Value>>,
    /// When it was opened, if the workflow is a function: its time is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The folder that the paths of the definition's servers are relative to, if that is not the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The abilities that the agent declares; `None` if it declares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effectivities: Option<Vec<String>>,
    /// The initial variables and history, if they were saved from another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<Arc<RunMemory>>,
    /// The run that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The point at which a run was forked from another: its records up to there are those of the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The other run: its handle or its task file.
    pub run: String,
    /// The last record that both have.
    pub seq: u64,
    /// The migrations to other definitions, also those before the fork, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Migration>,
}

/// A migration of a run from one definition to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Migration {
    /// The last record under the earlier definition.
    pub seq: u64,
    /// The digest of the earlier definition.
    pub from: String,
    /// The digest of the later definition.
    pub to: String,
}

impl Opening {
    /// Creates an opening of `workflow` at its start, with the default rules.
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

/// The rules of a run, fixed when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Whose answers to a question for a person are accepted.
    #[serde(default)]
    pub human: Human,
    /// Where the branches of a fork run.
    #[serde(default)]
    pub branches: Branches,
    /// Whether this run is itself a branch of another: it is done when it reaches a join.
    #[serde(default)]
    pub is_branch: bool,
}

/// Whose answers to a question for a person are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Human {
    /// The agent's, which relays what the person said.
    #[default]
    Attested,
    /// Only those that arrive by a channel that the agent does not control.
    Verified,
}

/// Where the branches of a fork run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Branches {
    /// They are positions of this run.
    #[default]
    Inside,
    /// Each is a run of its own, with its own carrier.
    Outside,
}

impl Run {
    /// Returns the frame at `path`, if it is under way.
    pub fn frame<'r>(&'r self, path: &FramePath) -> Option<&'r Frame> {
        let inside = |frame: &'r Frame, name| frame.inner().find(|(inner, _)| *inner == name).map(|(_, frame)| frame);
        path.0.iter().try_fold(&self.root, inside)
    }

    /// Returns the frames on the way to `path`, the root first, as far as they are under way.
    pub fn way<'r, 'p>(&'r self, path: &'p FramePath) -> impl Iterator<Item = &'r Frame> + use<'r, 'p> {
        let mut names = path.0.iter();
        std::iter::successors(Some(&self.root), move |frame| {
            let name = names.next()?;
            frame.inner().find(|(inner, _)| *inner == name).map(|(_, frame)| frame)
        })
    }

    /// Returns the path of the frame that owns the variables at `path`: that of the flow or branch, never that of a
    /// loop.
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

    /// Returns the innermost frames under way, in the order of the definition: the positions at which something can
    /// happen.
    pub fn positions(&self) -> Vec<(FramePath, &Frame)> {
        self.frames(&|frame| frame.inner().next().is_none())
    }

    /// Returns the frames under way that satisfy `are`, the inner ones before the outer.
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

    /// Returns the variables that are visible at `path`, the innermost first: those of passes of loops, then those of
    /// the flow.
    pub fn variables(&self, path: &FramePath) -> Vec<(&str, &Value)> {
        let flow = self.owner(path).0.len();
        let frames: Vec<&Frame> = self.way(path).skip(flow).collect();
        let data = frames.into_iter().rev().filter_map(|frame| frame.data.as_deref());
        let visible = data.flat_map(|data| &data.variables);
        visible.map(|(name, value)| (name.as_str(), value)).collect()
    }

    /// Returns the bypasses of the run, the latest last.
    pub fn bypasses(&self) -> &[Bypass] {
        self.root.data.as_ref().map_or(&[], |data| &data.bypasses)
    }

    /// Checks whether the run is over.
    pub fn is_over(&self) -> bool {
        self.root.place.is_over()
    }
}

/// Returns the state of the branch at `path`, under way or not; `None` if there is no such branch.
pub fn branch_state<'r>(run: &'r Run, path: &FramePath) -> Option<&'r BranchState> {
    let (last, parents) = path.0.split_last()?;
    let parent = run.frame(&FramePath(parents.to_vec()))?;
    let Place::Forked { branches, .. } = &parent.place else { return None };
    branches.iter().find(|branch| branch.name == *last).map(|branch| &branch.state)
}
