//! The run in a task file: `metadata.portolan`, or the keys of a file that Navigator wrote.

use portolan_core::graph::{Kind, Workflow};
use portolan_core::run::{Branches, Form, Frame, GateRetries, Human, Opening, Place, Rules, Run, WaitingFor};
use portolan_core::value::{NodeId, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::ServiceError;
use crate::store::Digest;

/// The state in `metadata.portolan`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskState {
    /// The version of this form.
    pub version: u32,
    /// The number of the last record.
    pub seq: u64,
    /// The id of the run: a later run may use the same file. A run that Navigator began has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The definition of the run.
    pub definition: Digest,
    /// The visit of the fork of which this task is a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The run.
    pub run: Run,
}

/// A visit of a fork in another task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The id of the parent's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The revision at which the parent reached the fork.
    pub since: u64,
}

/// The version that is written.
pub(crate) const VERSION: u32 = 1;

/// The content of a task file.
pub(crate) enum TaskFileState {
    /// No workflow yet.
    Nothing,
    /// A run that Portolan wrote.
    State(Box<TaskState>),
    /// A position that Navigator wrote.
    Legacy(Legacy),
}

/// The keys of a file that Navigator wrote.
pub(crate) struct Legacy {
    pub(crate) workflow: String,
    step: String,
    retries: u32,
    gate: Option<String>,
    description: Option<String>,
    is_branch: bool,
    completed: bool,
}

/// Reads the state from a task file.
pub(crate) fn read(file: &Map<String, Value>, path: &str) -> Result<TaskFileState, ServiceError> {
    let Some(metadata) = file.get("metadata").and_then(Value::as_object) else { return Ok(TaskFileState::Nothing) };
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    let Some(state) = metadata.get("portolan").filter(|state| !state.is_null()) else {
        let (Some(workflow), Some(step)) = (text("workflowType"), text("currentStep")) else {
            return Ok(TaskFileState::Nothing);
        };
        return Ok(TaskFileState::Legacy(Legacy {
            workflow: workflow.to_owned(),
            step: step.to_owned(),
            retries: metadata.get("retryCount").and_then(Value::as_u64).map_or(0, |count| count.min(1_000_000) as u32),
            gate: text("retrySourceGate").map(str::to_owned),
            description: text("userDescription").map(str::to_owned),
            is_branch: is_child(metadata),
            completed: file.get("status").and_then(Value::as_str) == Some("completed"),
        }));
    };
    // Checked before the rest is read: a newer release may write fields that this one does not know.
    if let Some(version) = state.get("version").and_then(Value::as_u64).filter(|version| *version != u64::from(VERSION))
    {
        let message = format!("`{path}` was written by a release that uses state version {version}");
        return Err(ServiceError::failed(
            "unsupported_version",
            message,
            format!("this release uses version {VERSION}: use the newer release"),
        ));
    }
    let state = TaskState::deserialize(state).map_err(|error| {
        ServiceError::failed(
            "task_file_damaged",
            format!("`metadata.portolan` of `{path}` cannot be read: {error}"),
            "restore the file from its last good version; nothing was written",
        )
    })?;
    let recorded = state.run.positions().first().map(|(_, frame)| frame.place.node().clone());
    let shown = state.run.root.place.node();
    match text("currentStep") {
        Some(step) if step != shown.as_str() && recorded.as_ref().is_none_or(|node| node.as_str() != step) => {
            Err(ServiceError::refused(
                "edited_outside",
                format!("`{path}` says `{step}`, but the run is at `{shown}`: the position was edited by hand"),
                format!("set `metadata.currentStep` back to `{shown}`; positions are changed by Start and Next"),
            ))
        }
        _ => Ok(TaskFileState::State(Box::new(state))),
    }
}

/// Checks whether a task is a branch of another.
pub(crate) fn is_child(metadata: &Map<String, Value>) -> bool {
    match metadata.get("parentTaskId") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(_) => true,
    }
}

impl Legacy {
    /// Returns the run for a position of Navigator.
    pub(crate) fn adopt(&self, workflow: &Workflow, human: Human) -> Result<Run, ServiceError> {
        let node = NodeId::from(self.step.as_str());
        let Some(step) = workflow.root().steps.get(&node) else {
            return Err(ServiceError::failed(
                "unknown_step",
                format!("the task is at `{}`, which workflow `{}` does not have", self.step, self.workflow),
                "restore the version of the workflow that the task was started with",
            ));
        };
        let place = match &step.node.kind {
            Kind::Start | Kind::Work { .. } => Place::Ready { node: node.clone() },
            Kind::Checkpoint { .. } => Place::Waiting { node: node.clone(), on: WaitingFor::Answer, due: None },
            Kind::End { result, .. } => Place::Ended { node: node.clone(), result: *result },
            Kind::Fork { .. } => Place::Gathering { node: node.clone() },
            Kind::Join { .. } if self.is_branch => {
                let outcome = if self.completed { Outcome::passed() } else { Outcome::failed() };
                Place::Arrived { node: node.clone(), outcome }
            }
            // Navigator waited here and at subflows, which it did not run: a person decides how to continue.
            Kind::Join { .. }
            | Kind::Subflow { .. }
            | Kind::Compute(_)
            | Kind::Switch
            | Kind::Call(_)
            | Kind::Activity
            | Kind::Loop(_)
            | Kind::Repeat { .. }
            | Kind::Each(_)
            | Kind::State(_) => Place::Waiting { node: node.clone(), on: WaitingFor::Progress, due: None },
        };
        let gate = self.gate.as_deref().map_or(node, NodeId::from);
        let owed = self.retries > 0 && workflow.root().steps.contains_key(&gate);
        let spent = owed.then_some(GateRetries { gate, used: self.retries }).into_iter().collect();
        let rules = Rules { human, branches: Branches::Outside, is_branch: self.is_branch };
        Ok(Run {
            form: Form::One,
            revision: 1,
            opening: Opening { description: self.description.clone(), rules, ..Opening::of(workflow.id().clone()) },
            executed: 0,
            tallies: None,
            root: Frame { since: 1, spent, ..Frame::at(workflow.id().clone(), place) },
        })
    }
}
