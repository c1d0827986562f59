//! A run begins: in the store, or in a task file. On a task that has a run already, its situation is shown.

use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_core::engine;
use portolan_core::run::{Actor, Branches, Change, Channel, Event, EventKind, Human, Opening, Rules, Run};
use portolan_core::value::NodeId;
use serde_json::{Value, json};

use super::children::Room;
use super::hold::{Carrier, Held, Refused, Written, task_error};
use super::{Caller, Service};
use crate::carrier::task_file::{Task, TaskFile};
use crate::carrier::{Address, Parent, is_child};
use crate::definition::Definition;
use crate::error::{ErrorKind, ServiceError};
use crate::store::{Record, RunId};
use crate::tasks;
use crate::view::View;

/// What a run begins with.
#[derive(Clone, Debug, Default)]
pub struct Init {
    /// The task file that it lives in; without one it lives in the store.
    pub task_file: Option<String>,
    /// The workflow.
    pub workflow: Option<String>,
    /// What the user wants done.
    pub description: Option<String>,
    /// The step to begin at, where that is not the start.
    pub step: Option<String>,
    /// The task that this one is a branch of.
    pub parent: Option<String>,
}

/// The longest description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 8 << 10;

impl Service {
    /// Begins a run, or shows the one that a task file has.
    ///
    /// # Errors
    /// The workflow is not known or has faults, the step is none of it, or the run cannot be kept.
    pub async fn init(&self, wanted: &Init, caller: &Caller) -> Result<View, ServiceError> {
        if wanted.description.as_ref().is_some_and(|text| text.len() > MAX_DESCRIPTION_BYTES) {
            let message = format!("the description has more than {MAX_DESCRIPTION_BYTES} bytes");
            return Err(ServiceError::refused(
                "too_large",
                message,
                "say what is wanted in short, and name a file for the rest",
            ));
        }
        match &wanted.task_file {
            Some(path) => self.init_task(path, wanted, caller).await,
            None => self.init_stored(wanted, caller).await,
        }
    }

    async fn init_stored(&self, wanted: &Init, caller: &Caller) -> Result<View, ServiceError> {
        let definition = self.library.definition(workflow_of(wanted)?)?;
        let rules = Rules { human: self.options.human, branches: Branches::Inside, is_branch: false };
        let (run, event, changes) = self.open(&definition, wanted, rules, caller)?;
        self.may_place(wanted, &definition, false, caller)?;
        let id = self.create(&definition, &run, Record { seq: 1, event, changes }).await?;
        let mut held = Held { definition, run, seq: 1, carrier: Carrier::Stored(id) };
        self.pass(&mut held).await?;
        let mut view = self.view(&held, None, caller)?;
        let alone = || "a run in the store is no branch of a task; `parentTaskId` was not used".to_owned();
        view.notes.extend(wanted.parent.as_ref().map(|_| alone()));
        Ok(view)
    }

    async fn init_task(&self, path: &str, wanted: &Init, caller: &Caller) -> Result<View, ServiceError> {
        let file = TaskFile::open(path).map_err(task_error)?;
        let mut lock = file.lock().await.map_err(task_error)?;
        let mut task = lock.task().cloned().unwrap_or_default();
        if let Some(held) = self.taken_up(path, file.clone(), &task)? {
            let mut view = self.view(&held, None, caller)?;
            view.notes = ignored(wanted, &held.run);
            return Ok(view);
        }
        let name = workflow_of(wanted)?;
        if let Some(parent) = &wanted.parent {
            name_parent(&mut task, parent);
        }
        let Lineage { branch_of, note } = self.lineage(&file, &task, wanted)?;
        let (definition, parent) = match branch_of {
            Some((definition, visit)) => (definition, Some(visit)),
            None => (self.library.definition(name)?, None),
        };
        let is_branch = task.get("metadata").and_then(Value::as_object).is_some_and(is_child);
        let description = wanted.description.clone().or_else(|| known_description(&task));
        let wanted = Init { description, ..wanted.clone() };
        let rules = Rules { human: self.options.human, branches: Branches::Outside, is_branch };
        let (run, event, changes) = self.open(&definition, &wanted, rules, caller)?;
        self.may_place(&wanted, &definition, parent.is_some(), caller)?;
        let id = Some(RunId::random().to_string());
        let written = Written {
            definition: &definition,
            run: &run,
            record: Record { seq: 1, event, changes },
            id: id.as_deref(),
            parent: parent.as_ref(),
            parent_id: wanted.parent.as_deref(),
        };
        self.write_task(&file, &mut lock, written).map_err(|refused| match refused {
            Refused::Failed(error) => error,
            Refused::Conflict => {
                ServiceError::refused("stale", "somebody else changed the task meanwhile", "call Init again")
            }
        })?;
        let carrier = Carrier::Task { path: path.to_owned(), file, lock: Some(Box::new(lock)), id, parent };
        let mut held = Held { definition, run, seq: 1, carrier };
        self.pass(&mut held).await?;
        let mut view = self.view(&held, None, caller)?;
        view.notes.extend(note);
        Ok(view)
    }

    /// What a new task is to the task that it names as its parent.
    fn lineage(&self, file: &TaskFile, task: &Task, wanted: &Init) -> Result<Lineage, ServiceError> {
        let id = match task.get("metadata").and_then(|metadata| metadata.get("parentTaskId")) {
            Some(Value::String(id)) if !id.is_empty() => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => return Ok(Lineage::default()),
        };
        if !crate::library::is_plain(&id) {
            return Err(ServiceError::refused(
                "bad_id",
                format!("`{}` cannot be the id of a task", clip(&id)),
                "name the parent by its file, without `.json`",
            ));
        }
        let beside = file.path().with_file_name(format!("{id}.json")).to_string_lossy().into_owned();
        let beside_file = TaskFile::open(&beside).map_err(task_error)?;
        let Some(parent) = beside_file.read().map_err(task_error)? else {
            return Ok(Lineage::none(format!(
                "there is no task `{id}` beside this one, so that it is no branch of it"
            )));
        };
        let Some(parent) = self.taken_up(&beside, beside_file, &parent)? else {
            return Ok(Lineage::none(format!("task `{id}` has no workflow yet, so that this is no branch of it")));
        };
        let Room::Fork { node, branches, running, most } = self.room(&parent) else {
            return Ok(Lineage::none(format!("task `{id}` waits at no fork, so that this is no branch of it")));
        };
        let workflow = parent.run.opening.workflow.as_str();
        if wanted.workflow.as_deref() != Some(workflow) {
            let note = format!(
                "task `{id}` waits at a fork of `{workflow}`, and this one runs another workflow, so that it is no branch of it"
            );
            return Ok(Lineage::none(note));
        }
        let step = wanted.step.as_deref();
        if !branches.iter().any(|branch| Some(branch.as_str()) == step) {
            let step = step.map_or_else(|| "the start".to_owned(), |step| format!("`{}`", clip(step)));
            let names: Vec<&str> = branches.iter().map(NodeId::as_str).collect();
            return Err(ServiceError::refused(
                "unknown_branch",
                format!("{step} is no branch of `{node}`, where task `{id}` waits"),
                format!("name one in `stepId`: {}", portolan_core::diagnostic::list(&names)),
            ));
        }
        if running >= most {
            return Err(ServiceError::refused(
                "held_back",
                format!("{running} branches of `{node}` are running, and at most {most} may"),
                "wait until one of them reaches the join",
            ));
        }
        let visit = parent.visit();
        Ok(Lineage { branch_of: Some((parent.definition, visit)), note: None })
    }

    /// A run that begins further on passes over what comes before: only a person may have it pass over what is checked,
    /// judged or asked.
    fn may_place(
        &self,
        wanted: &Init,
        definition: &Definition,
        is_branch: bool,
        caller: &Caller,
    ) -> Result<(), ServiceError> {
        let workflow = &definition.workflow;
        let Some(step) = wanted.step.as_deref().filter(|step| *step != workflow.root().start.as_str()) else {
            return Ok(());
        };
        let is_person = matches!(caller.by, Actor::Person { via: Channel::CommandLine | Channel::Elicitation, .. });
        if is_person || (is_branch && tasks::is_branch_entry(workflow, step)) {
            return Ok(());
        }
        let over = workflow.passed_over(&NodeId::from(step));
        let over = match (over, self.options.human) {
            (Some(over), _) => format!("`{over}`"),
            (None, Human::Attested) => return Ok(()),
            (None, Human::Verified) => "the steps before it".to_owned(),
        };
        Err(ServiceError::of(
            ErrorKind::NeedsPerson,
            "needs_person",
            format!("a run that begins at `{}` would pass over {over}, which only a person may decide", clip(step)),
            "begin without `stepId`; or the person begins the run there with `portolan runs start`",
        ))
    }

    fn open(
        &self,
        definition: &Definition,
        wanted: &Init,
        rules: Rules,
        caller: &Caller,
    ) -> Result<(Run, Event, Vec<Change>), ServiceError> {
        let start = definition.workflow.root().start.as_str();
        let opening = Opening {
            description: wanted.description.clone(),
            at: wanted.step.as_deref().filter(|step| *step != start).map(NodeId::from),
            rules,
            ..Opening::of(definition.workflow.id().clone())
        };
        let (run, changes) = opened(definition, &opening)?;
        let by: Actor = caller.by.clone();
        Ok((run, Event { at: self.options.clock.now(), by, what: EventKind::Opened(opening) }, changes))
    }
}

/// The run that an opening comes to, and what it makes true.
pub(super) fn opened(definition: &Definition, opening: &Opening) -> Result<(Run, Vec<Change>), ServiceError> {
    let changes = engine::open(&definition.workflow, opening)?;
    let run = Run::fold(&changes).expect("what `open` decides begins a journal");
    Ok((run, changes))
}

fn workflow_of(wanted: &Init) -> Result<&str, ServiceError> {
    wanted.workflow.as_deref().ok_or_else(|| {
        ServiceError::refused(
            "workflow_required",
            "`workflowType` is missing, and a new run needs it",
            "call ListWorkflows or SelectWorkflow to choose one",
        )
    })
}

/// What a new task is to the task that it names as its parent.
#[derive(Default)]
struct Lineage {
    /// The definition that the parent is held to, and the visit of the fork that this is a branch of.
    branch_of: Option<(Arc<Definition>, Parent)>,
    /// Why it is none, where it names a parent all the same.
    note: Option<String>,
}

impl Lineage {
    fn none(note: String) -> Lineage {
        Lineage { branch_of: None, note: Some(note) }
    }
}

/// Names the parent in a task that is about to begin.
fn name_parent(task: &mut Task, parent: &str) {
    let metadata = task.entry("metadata").or_insert(Value::Null);
    if metadata.is_null() {
        *metadata = json!({});
    }
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("parentTaskId".to_owned(), json!(parent));
    }
}

/// What the task says already of what is wanted: the subject that the task list gave it, before a run takes it over,
/// is as much as anybody said.
fn known_description(task: &Task) -> Option<String> {
    let said = task.get("metadata").and_then(|metadata| metadata.get("userDescription")).and_then(Value::as_str);
    let subject = || task.get("subject").and_then(Value::as_str).filter(|subject| !subject.trim().is_empty());
    said.or_else(subject).map(str::to_owned)
}

/// What of a call had no effect, because the task has a run already.
fn ignored(wanted: &Init, run: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    let at = run.root.place.node();
    if let Some(workflow) = wanted.workflow.as_deref().filter(|workflow| *workflow != run.opening.workflow.as_str()) {
        notes.push(format!(
            "the task runs `{}` already; `workflowType` `{}` was not used",
            run.opening.workflow,
            clip(workflow)
        ));
    }
    if let Some(step) = wanted
        .step
        .as_deref()
        .filter(|step| *step != at.as_str() && run.opening.at.as_ref().is_none_or(|at| at.as_str() != *step))
    {
        notes.push(format!("the task is at `{at}` already; `stepId` `{}` was not used", clip(step)));
    }
    if wanted.description.is_some() && wanted.description != run.opening.description {
        notes.push("the task has a description already; the new one was not used".to_owned());
    }
    notes
}

impl Service {
    /// The address of a run that a call names by its handle or by its task file.
    ///
    /// # Errors
    /// It names neither, or both, or something that is no handle.
    pub fn address(run: Option<&str>, task_file: Option<&str>) -> Result<Address, ServiceError> {
        match (run, task_file) {
            (None, Some(path)) => Ok(Address::Task(path.to_owned())),
            (Some(run), None) => RunId::parse(run).map(Address::Stored).ok_or_else(|| {
                ServiceError::refused(
                    "unknown_run",
                    format!("`{}` is no run handle", clip(run)),
                    "copy the handle from the answer of Init",
                )
            }),
            (None, None) => Err(ServiceError::refused(
                "task_required",
                "`taskFilePath` is missing",
                "name the task file, or a run in the store by its handle as `run`",
            )),
            (Some(_), Some(_)) => Err(ServiceError::refused(
                "ambiguous_run",
                "`run` and `taskFilePath` name two runs",
                "leave one of them out",
            )),
        }
    }
}
