//! Branches that are tasks of their own: files in the same folder that name the parent as `metadata.parentTaskId`.

use std::path::Path;

use portolan_core::graph::{Kind, Step, Strategy};
use portolan_core::present::{Child, ChildState};
use portolan_core::run::{Place, Run};
use portolan_core::value::{NodeId, Outcome};
use serde_json::{Map, Value};

use super::Service;
use super::hold::{Carrier, HeldRun};
use crate::carrier::task_file::{TaskFileError, TaskFileFault};
use crate::carrier::{Found, Parent, read_state};
use crate::error::ServiceError;

/// The branches of the fork at which a task waits.
#[derive(Default)]
pub(super) struct Branches {
    /// The progress of each branch.
    pub(super) children: Vec<Child>,
    /// The neighbour that cannot be read, if it leaves the outcome open: it might be a task of a branch, and what
    /// cannot be verified does not pass.
    pub(super) doubt: Option<TaskFileError>,
}

/// A task that names the parent.
struct ChildTask {
    branch: NodeId,
    state: TaskProgress,
}

/// The progress of such a task.
enum TaskProgress {
    /// The task was made for the branch and has not begun.
    Planned,
    /// The task has begun.
    Begun(ChildState),
}

/// The fork at which a task waits for tasks of its branches.
struct Fork<'h> {
    held: &'h HeldRun,
    step: &'h Step,
}

impl<'h> Fork<'h> {
    /// Returns the fork at which a task waits.
    fn of(held: &'h HeldRun) -> Option<Fork<'h>> {
        let Place::Gathering { node } = &held.run.root.place else { return None };
        let step = held.definition.workflow.flow(&held.run.root.flow).step(node);
        Some(Fork { held, step })
    }

    fn branches(&self) -> &'h [NodeId] {
        &self.step.exits.branches
    }

    fn join(&self) -> Option<&'h NodeId> {
        match &self.step.node.kind {
            Kind::Fork { join, .. } => Some(&join.value),
            _ => None,
        }
    }

    fn takes_any(&self) -> bool {
        let flow = self.held.definition.workflow.flow(&self.held.run.root.flow);
        let join = self.join().map(|join| &flow.step(join).node.kind);
        matches!(join, Some(Kind::Join { strategy: Strategy::AnyPass, .. }))
    }

    /// Returns the neighbours that belong to this visit of the fork, and the last neighbour that cannot be read.
    fn tasks(&self) -> (Vec<ChildTask>, Option<TaskFileError>) {
        let (mut tasks, mut doubt) = (Vec::new(), None);
        let Carrier::Task { file, .. } = &self.held.carrier else { return (tasks, doubt) };
        for sibling in file.siblings() {
            match sibling {
                Ok((path, task)) if names_parent(&task, file.id()) => tasks.extend(self.child(&path, &task)),
                Ok(_) => {}
                Err(error) if is_no_task(error.fault) => {}
                Err(error) => doubt = Some(error),
            }
        }
        (tasks, doubt)
    }

    /// Returns a task of a branch. `None` for a task of an earlier visit, and for one that is no branch.
    fn child(&self, path: &Path, file: &Map<String, Value>) -> Option<ChildTask> {
        let name = path.to_string_lossy();
        let text = |key: &str| file.get("metadata").and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
        let named = text("branchStep").map(NodeId::from).or_else(|| self.only_branch());
        let (branch, state) = match read_state(file, &name) {
            Ok(Found::State(state)) => {
                let belongs =
                    self.is_of_this_visit(state.parent.as_ref()) && state.definition == self.held.definition.digest;
                let branch = state.run.opening.at.clone().or(named).filter(|_| belongs)?;
                (branch, TaskProgress::Begun(self.state_of(&state.run, &name)))
            }
            Ok(Found::Legacy(old)) => {
                let own = self.is_of_this_visit(None) && old.workflow == self.held.definition.workflow.id().as_str();
                let run = old.adopt(&self.held.definition.workflow, self.held.run.opening.rules.human).ok()?;
                let first = Some(run.root.place.node()).filter(|node| self.branches().contains(node)).cloned();
                (named.or(first).filter(|_| own)?, TaskProgress::Begun(self.state_of(&run, &name)))
            }
            Ok(Found::Nothing) => (named?, TaskProgress::Planned),
            // The task has begun, but its run cannot be read: Current on it reports why.
            Err(_) => {
                let step = text("currentStep").map(NodeId::from);
                let branch = named.or_else(|| step.clone())?;
                let step = step.unwrap_or_else(|| branch.clone());
                (branch, TaskProgress::Begun(ChildState::At { step, task: name.into_owned() }))
            }
        };
        self.branches().contains(&branch).then_some(ChildTask { branch, state })
    }

    fn only_branch(&self) -> Option<NodeId> {
        if let [only] = self.branches() { Some(only.clone()) } else { None }
    }

    /// Tasks that Navigator began name no visit. They count as long as their parent is as Navigator left it.
    fn is_of_this_visit(&self, parent: Option<&Parent>) -> bool {
        match parent {
            Some(parent) => *parent == self.held.visit(),
            None => self.held.seq == 0,
        }
    }

    fn state_of(&self, run: &Run, task: &str) -> ChildState {
        match &run.root.place {
            Place::Arrived { node, outcome } if Some(node) == self.join() => ChildState::Done(outcome.clone()),
            Place::Arrived { .. } | Place::Ended { .. } => ChildState::Done(Outcome::failed()),
            place => ChildState::At { step: place.node().clone(), task: task.to_owned() },
        }
    }
}

impl Service {
    /// Returns the progress of the branches outside a run that waits for them. Empty for every other run.
    pub(super) fn branches(&self, held: &HeldRun) -> Branches {
        let Some(fork) = Fork::of(held) else { return Branches::default() };
        let (tasks, doubt) = fork.tasks();
        let child = |branch: &NodeId| Child { branch: branch.clone(), state: together(branch, &tasks) };
        let children: Vec<Child> = fork.branches().iter().map(child).collect();
        let passed = |child: &Child| matches!(&child.state, ChildState::Done(outcome) if !outcome.is_failed());
        let certain = fork.takes_any() && children.iter().any(passed);
        Branches { children, doubt: doubt.filter(|_| !certain) }
    }

    /// Returns the outcomes of the branches outside so far.
    pub(super) fn earned(&self, held: &HeldRun) -> Result<Vec<(NodeId, Outcome)>, ServiceError> {
        let Branches { children, doubt } = self.branches(held);
        let open = children.iter().any(|child| !matches!(child.state, ChildState::Done(_)));
        if let Some(doubt) = doubt.filter(|_| !open) {
            return Err(unreadable(&doubt));
        }
        let done = children.into_iter().filter_map(|child| match child.state {
            ChildState::Done(outcome) => Some((child.branch, outcome)),
            ChildState::Missing | ChildState::At { .. } => None,
        });
        Ok(done.collect())
    }

    /// Checks whether the fork at which a task waits allows one more running branch.
    pub(super) fn room(&self, parent: &HeldRun) -> Room {
        let Some(fork) = Fork::of(parent) else { return Room::NoFork };
        let node = fork.step.node.id.clone();
        let branches = fork.branches().to_vec();
        let (running, most) = match &fork.step.node.kind {
            Kind::Fork { max_concurrency: Some(most), .. } => {
                let runs = |task: &ChildTask| matches!(task.state, TaskProgress::Begun(ChildState::At { .. }));
                (fork.tasks().0.iter().filter(|task| runs(task)).count(), most.get() as usize)
            }
            _ => (0, usize::MAX),
        };
        Room::Fork { node, branches, running, most }
    }
}

/// The position of the parent of a new child task.
pub(super) enum Room {
    /// No fork with branches outside.
    NoFork,
    /// A fork with branches outside.
    Fork { node: NodeId, branches: Vec<NodeId>, running: usize, most: usize },
}

/// Returns the error for branches beside a file that cannot be read.
fn unreadable(doubt: &TaskFileError) -> ServiceError {
    ServiceError::refused(
        "branch_unreadable",
        format!("{}, and it may be the task of a branch", doubt.message),
        doubt.help.clone(),
    )
}

/// Checks whether the fault shows that the entry is not a task.
fn is_no_task(fault: TaskFileFault) -> bool {
    matches!(
        fault,
        TaskFileFault::Name
            | TaskFileFault::NotAFile
            | TaskFileFault::Dangling
            | TaskFileFault::NotAnObject
            | TaskFileFault::NotATask
    )
}

fn names_parent(file: &Map<String, Value>, id: &str) -> bool {
    match file.get("metadata").and_then(|metadata| metadata.get("parentTaskId")) {
        Some(Value::String(parent)) => parent == id,
        Some(Value::Number(parent)) => parent.to_string() == id,
        _ => false,
    }
}

/// Combines the tasks of one branch. A fork over a list has several tasks for one branch, which passes if all do.
fn together(branch: &NodeId, tasks: &[ChildTask]) -> ChildState {
    let own = || tasks.iter().filter(|task| task.branch == *branch);
    let begun = || {
        own().filter_map(|task| match &task.state {
            TaskProgress::Begun(state) => Some(state),
            TaskProgress::Planned => None,
        })
    };
    if let Some(open) = begun().find(|state| matches!(state, ChildState::At { .. })) {
        return open.clone();
    }
    if own().any(|task| matches!(task.state, TaskProgress::Planned)) {
        return ChildState::Missing;
    }
    let failed = begun().find(|state| matches!(state, ChildState::Done(outcome) if outcome.is_failed()));
    failed.or_else(|| begun().next()).cloned().unwrap_or(ChildState::Missing)
}
