//! Branches that are tasks of their own: the files beside the parent's that name it as `metadata.parentTaskId`.

use portolan_core::graph::Kind;
use portolan_core::present::{Child, ChildState};
use portolan_core::run::{Place, Run};
use portolan_core::value::{NodeId, Outcome};
use serde_json::{Map, Value};

use super::hold::{Carrier, Held, task_error};
use super::{Service, ServiceError};
use crate::carrier::task_file::TaskFile;
use crate::carrier::{Found, read_state};

/// A child task as far as its file tells.
struct ChildTask {
    branch: NodeId,
    state: ChildState,
}

impl Service {
    /// How far the branches are that live outside a run which waits for them. Empty for every other run.
    pub(super) fn children(&self, held: &Held) -> Result<Vec<Child>, ServiceError> {
        let Place::Gathering { node } = &held.run.root.place else { return Ok(Vec::new()) };
        let Carrier::Task { file, .. } = &held.carrier else { return Ok(Vec::new()) };
        let tasks = child_tasks(file, held.run.root.since)?;
        let branches = &held.definition.workflow.flow(&held.run.root.flow).step(node).exits.branches;
        Ok(branches.iter().map(|branch| Child { branch: branch.clone(), state: together(branch, &tasks) }).collect())
    }

    /// The outcomes that branches outside have earned so far.
    pub(super) fn earned(&self, held: &Held) -> Result<Vec<(NodeId, Outcome)>, ServiceError> {
        let children = self.children(held)?;
        let done = children.into_iter().filter_map(|child| match child.state {
            ChildState::Done(outcome) => Some((child.branch, outcome)),
            ChildState::Missing | ChildState::At { .. } => None,
        });
        Ok(done.collect())
    }

    /// Whether the fork that a task waits at allows one more running branch.
    pub(super) fn room(&self, parent: &Held) -> Result<Room, ServiceError> {
        let Place::Gathering { node } = &parent.run.root.place else { return Ok(Room::NoFork) };
        let fork = parent.definition.workflow.flow(&parent.run.root.flow).step(node);
        let Carrier::Task { file, .. } = &parent.carrier else { return Ok(Room::NoFork) };
        let tasks = child_tasks(file, parent.run.root.since)?;
        let running = tasks.iter().filter(|task| matches!(task.state, ChildState::At { .. })).count();
        let most = match &fork.node.kind {
            Kind::Fork { max_concurrency: Some(most), .. } => most.get() as usize,
            _ => usize::MAX,
        };
        let branches = fork.exits.branches.clone();
        Ok(Room::Fork { node: node.clone(), branches, running, most, since: parent.run.root.since })
    }
}

/// The tasks beside a parent that name it. A neighbour that cannot be read is an error: it might be one of them, and
/// what cannot be verified is not passed.
fn child_tasks(parent: &TaskFile, since: u64) -> Result<Vec<ChildTask>, ServiceError> {
    let mut found = Vec::new();
    for sibling in parent.siblings() {
        let (path, file) = sibling.map_err(task_error)?;
        if names_parent(&file, parent.id()) {
            found.extend(child_task(&path, &file, since));
        }
    }
    Ok(found)
}

/// What the parent of a new child task is at.
pub(super) enum Room {
    /// No fork whose branches live outside.
    NoFork,
    /// Such a fork.
    Fork { node: NodeId, branches: Vec<NodeId>, running: usize, most: usize, since: u64 },
}

fn names_parent(file: &Map<String, Value>, id: &str) -> bool {
    match file.get("metadata").and_then(|metadata| metadata.get("parentTaskId")) {
        Some(Value::String(parent)) => parent == id,
        Some(Value::Number(parent)) => parent.to_string() == id,
        _ => false,
    }
}

/// A child task of this visit of the fork; nothing for what is left of an earlier one.
fn child_task(path: &std::path::Path, file: &Map<String, Value>, since: u64) -> Option<ChildTask> {
    let name = path.to_string_lossy();
    let metadata = file.get("metadata")?;
    let named = metadata.get("branchStep").and_then(Value::as_str).map(NodeId::from);
    match read_state(file, &name) {
        Ok(Found::State(state)) => {
            let of_this_visit = state.parent.as_ref().is_none_or(|parent| parent.since == since);
            let branch = state.run.opening.at.clone().or(named)?;
            of_this_visit.then(|| ChildTask { branch, state: state_of(&state.run, &name) })
        }
        Ok(Found::Legacy(_) | Found::Nothing) | Err(_) => {
            let step = metadata.get("currentStep").and_then(Value::as_str);
            let branch = named.or_else(|| step.map(NodeId::from))?;
            let step = step.map_or_else(|| branch.clone(), NodeId::from);
            Some(ChildTask { branch, state: ChildState::At { step, task: name.into_owned() } })
        }
    }
}

fn state_of(run: &Run, task: &str) -> ChildState {
    match &run.root.place {
        Place::Arrived { outcome, .. } => ChildState::Done(outcome.clone()),
        Place::Ended { .. } => ChildState::Done(Outcome::failed()),
        place => ChildState::At { step: place.node().clone(), task: task.to_owned() },
    }
}

/// What the tasks of one branch come to. A fork over a list has several tasks for one branch: it passes when all do.
fn together(branch: &NodeId, tasks: &[ChildTask]) -> ChildState {
    let own: Vec<&ChildTask> = tasks.iter().filter(|task| task.branch == *branch).collect();
    if let Some(open) = own.iter().find(|task| matches!(task.state, ChildState::At { .. })) {
        return open.state.clone();
    }
    let failed = own.iter().find(|task| matches!(&task.state, ChildState::Done(outcome) if outcome.is_failed()));
    failed.or(own.first()).map_or(ChildState::Missing, |task| task.state.clone())
}
