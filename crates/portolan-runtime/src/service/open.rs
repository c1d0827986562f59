//! Opens a run in the store or in a task file. If the task file has a run already, its situation is returned.

use std::path::PathBuf;
use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_core::run::{Actor, Branches, Change, Event, EventKind, Human, Opening, Rules, Run, RunMemory};
use portolan_core::value::NodeId;
use serde_json::{Value, json};

use super::children::Room;
use super::hold::{Carrier, HeldRun, WriteRequest, task_error};
use super::request::{RunAddress, within_bounds};
use super::{Caller, Service, States};
use crate::carrier::task_file::{Task, TaskFile};
use crate::carrier::{Parent, is_child};
use crate::conflict::too_busy;
use crate::definition::Definition;
use crate::error::{ErrorKind, ServiceError};
use crate::logging;
use crate::store::{Record, RunId};
use crate::tasks;
use crate::view::View;

/// The parameters of a new run.
#[derive(Clone, Debug, Default)]
pub struct Open {
    /// The carrier of the run.
    pub carrier: RunCarrier,
    /// The name of the workflow in the library.
    pub workflow: Option<String>,
    /// The function, if the caller has one. [`Service::drive`] drives its run.
    pub function: Option<Function>,
    /// The user's task, in the user's words.
    pub description: Option<String>,
    /// The input of a function, or the initial values of a workflow's variables: an object.
    pub input: Option<Arc<Value>>,
    /// The capabilities that the agent declares.
    pub effectivities: Option<Vec<String>>,
    /// The step to begin at, if it is not the start.
    pub step: Option<String>,
    /// The task of which this one is a branch.
    pub parent: Option<String>,
}

/// The place where a run is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunCarrier {
    /// The store.
    #[default]
    Store,
    /// This task file.
    Task(String),
    /// The state that a navigating agent holds: a handle of a run in the store, a token, or both, as
    /// [`super::Options::states`] says. The agent is led to the first step.
    State,
}

/// A function with a stored run.
#[derive(Clone, Debug)]
pub struct Function {
    /// The function.
    pub definition: Arc<Definition>,
    /// What another run remembered.
    pub remembered: Option<RunMemory>,
    /// The base folder of its servers' paths, if it is not the project.
    pub folder: Option<PathBuf>,
}

/// The maximum size of a description in bytes.
const MAX_DESCRIPTION_BYTES: usize = 8 << 10;
/// The maximum in bytes for a run that its agent holds: tokens carry the description.
const MAX_HELD_DESCRIPTION_BYTES: usize = 4 << 10;

impl Service {
    /// Begins a run, or returns the one that the task file has.
    ///
    /// # Errors
    /// The workflow is unknown or has faults, the step is not one of its steps, the input is not accepted, or the run
    /// cannot be stored.
    pub async fn open(&self, wanted: &Open, caller: &Caller) -> Result<View, ServiceError> {
        let most = if wanted.carrier == RunCarrier::State { MAX_HELD_DESCRIPTION_BYTES } else { MAX_DESCRIPTION_BYTES };
        if wanted.description.as_ref().is_some_and(|text| text.len() > most) {
            let message = format!("the description has more than {most} bytes");
            return Err(ServiceError::refused(
                "too_large",
                message,
                "describe briefly what is wanted, and name a file for the rest",
            ));
        }
        within_bounds(wanted.effectivities.as_deref())?;
        match (&wanted.function, &wanted.carrier) {
            (Some(function), _) => self.open_function(function, wanted, caller).await,
            (None, RunCarrier::Task(path)) => self.open_task(path, wanted, caller).await,
            (None, RunCarrier::Store) => self.open_stored(wanted, caller).await,
            (None, RunCarrier::State) => self.open_led(wanted, caller).await,
        }
    }

    async fn open_stored(&self, wanted: &Open, caller: &Caller) -> Result<View, ServiceError> {
        let definition = self.library.definition(workflow_of(wanted)?)?;
        let rules = Rules { human: self.options.human, branches: Branches::Inside, is_branch: false };
        let (run, event, changes) = self.opened_at(&definition, wanted, rules, caller)?;
        self.may_place(wanted, &definition, false, caller)?;
        let id = self.create(&definition, &run, Record { seq: 1, event, changes }).await?;
        let mut held = HeldRun { definition, run, seq: 1, carrier: Carrier::Stored(id) };
        self.bind(&held, caller)?;
        self.pass(&mut held).await?;
        self.note_standing(&held).await;
        let mut view = self.present(&RunAddress::of(held, None), None, caller)?;
        let alone = || "a run in the store is not a branch of a task; `parentTaskId` was not used".to_owned();
        view.notes.extend(wanted.parent.as_ref().map(|_| alone()));
        Ok(view)
    }

    /// Begins a run and leads the agent to its first step.
    async fn open_led(&self, wanted: &Open, caller: &Caller) -> Result<View, ServiceError> {
        let name = workflow_of(wanted)?;
        let definition = self.library.definition(name)?;
        if definition.workflow.root().interface.is_some() {
            let message = format!("`{name}` is a function: it cannot be worked through step by step");
            return Err(ServiceError::refused("no_workflow", message, "call it as a tool"));
        }
        let opening = Opening {
            description: wanted.description.clone(),
            rules: Rules { human: self.options.human, branches: Branches::Inside, is_branch: false },
            input: wanted.input.clone(),
            effectivities: wanted.effectivities.clone(),
            ..Opening::of(definition.workflow.id().clone())
        };
        let (run, changes) = opened(&definition, &opening)?;
        let event = Event { at: self.options.clock.now(), by: caller.by.clone(), what: EventKind::Opened(opening) };
        let mut notes = Vec::new();
        let carrier = if self.options.states == States::Tokens {
            // Without a copy the run continues only as long as the definition does not change.
            if let Err(error) = self.pin(&definition).await {
                notes.push(format!("no copy of the workflow could be kept in case it changes: {}", error.message));
            }
            let id = RunId::random();
            logging::opened(Some(id.as_str()), definition.workflow.id());
            Carrier::Token { id, workflow: name.to_owned(), behind: false }
        } else {
            Carrier::Stored(self.create(&definition, &run, Record { seq: 1, event, changes }).await?)
        };
        let mut held = HeldRun { definition, run, seq: 1, carrier };
        self.bind(&held, caller)?;
        let caught_up = self.catch_up(&mut held, caller).await;
        notes.extend(caught_up.map_err(|refused| refused.error_or(too_busy))?);
        self.note_standing(&held).await;
        let as_token = self.options.states != States::Handles;
        let grip = RunAddress { is_led: true, as_token, ..RunAddress::of(held, None) };
        let mut view = self.present(&grip, None, caller)?;
        view.notes.extend(notes);
        Ok(view)
    }

    /// Stores the run of a function, before anything of it is executed.
    async fn open_function(&self, function: &Function, wanted: &Open, caller: &Caller) -> Result<View, ServiceError> {
        let Function { definition, remembered, folder } = function;
        let folder = folder.as_deref().filter(|folder| *folder != self.project());
        let opening = Opening {
            folder: folder.map(|folder| folder.to_string_lossy().into_owned()),
            at: remembered.as_ref().and_then(|remembered| remembered.state.clone()),
            remembered: remembered.clone().map(Arc::new),
            input: wanted.input.clone(),
            ..Opening::of(definition.workflow.id().clone())
        };
        let (run, record) = self.called(definition, caller.by.clone(), opening)?;
        let id = self.create(definition, &run, record).await?;
        let held = HeldRun { definition: definition.clone(), run, seq: 1, carrier: Carrier::Stored(id) };
        self.present(&RunAddress::of(held, None), None, caller)
    }

    async fn open_task(&self, path: &str, wanted: &Open, caller: &Caller) -> Result<View, ServiceError> {
        let file = self.task_file(path)?;
        let mut lock = file.lock().await.map_err(task_error)?;
        let mut task = lock.task().cloned().unwrap_or_default();
        if let Some(held) = self.taken_up(path, file.clone(), &task).await? {
            self.bind(&held, caller)?;
            let notes = ignored(wanted, &held.run);
            let mut view = self.present(&RunAddress::of(held, None), None, caller)?;
            view.notes = notes;
            return Ok(view);
        }
        let name = workflow_of(wanted)?;
        if let Some(parent) = &wanted.parent {
            name_parent(&mut task, parent);
        }
        let Lineage { branch_of, note } = self.lineage(&file, &task, wanted).await?;
        let (definition, parent) = match branch_of {
            Some((definition, visit)) => (definition, Some(visit)),
            None => (self.library.definition(name)?, None),
        };
        let is_branch = task.get("metadata").and_then(Value::as_object).is_some_and(is_child);
        let description = wanted.description.clone().or_else(|| known_description(&task));
        let wanted = Open { description, ..wanted.clone() };
        let rules = Rules { human: self.options.human, branches: Branches::Outside, is_branch };
        let (run, event, changes) = self.opened_at(&definition, &wanted, rules, caller)?;
        self.may_place(&wanted, &definition, parent.is_some(), caller)?;
        let id = Some(RunId::random().to_string());
        let written = WriteRequest {
            definition: &definition,
            run: &run,
            record: Record { seq: 1, event, changes },
            id: id.as_deref(),
            parent: parent.as_ref(),
            parent_id: wanted.parent.as_deref(),
        };
        self.write_task(&file, &mut lock, written).await.map_err(|refused| {
            refused.error_or(|| {
                ServiceError::refused("stale", "another caller changed the task meanwhile", "call Init again")
            })
        })?;
        let carrier = Carrier::Task { path: path.to_owned(), file, lock: Some(Box::new(lock)), id, parent };
        let mut held = HeldRun { definition, run, seq: 1, carrier };
        logging::opened(Some(held.name()), held.definition.workflow.id());
        self.bind(&held, caller)?;
        self.pass(&mut held).await?;
        self.note_standing(&held).await;
        let mut view = self.present(&RunAddress::of(held, None), None, caller)?;
        view.notes.extend(note);
        Ok(view)
    }

    /// Determines the relation of a new task to the task that it names as its parent.
    async fn lineage(&self, file: &TaskFile, task: &Task, wanted: &Open) -> Result<Lineage, ServiceError> {
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
        let beside_file = self.task_file(&beside)?;
        let Some(parent) = beside_file.read().map_err(task_error)? else {
            return Ok(Lineage::none(format!(
                "there is no task `{id}` beside this one, so this is not a branch of it"
            )));
        };
        let Some(parent) = self.taken_up(&beside, beside_file, &parent).await? else {
            return Ok(Lineage::none(format!("task `{id}` has no workflow yet, so this is not a branch of it")));
        };
        let Room::Fork { node, branches, running, most } = self.room(&parent) else {
            return Ok(Lineage::none(format!("task `{id}` is not waiting at a fork, so this is not a branch of it")));
        };
        let workflow = parent.run.opening.workflow.as_str();
        if wanted.workflow.as_deref() != Some(workflow) {
            let note = format!(
                "task `{id}` waits at a fork of `{workflow}`, but this one runs another workflow, so it is not a branch of it"
            );
            return Ok(Lineage::none(note));
        }
        let step = wanted.step.as_deref();
        if !branches.iter().any(|branch| Some(branch.as_str()) == step) {
            let step = step.map_or_else(|| "the start".to_owned(), |step| format!("`{}`", clip(step)));
            let names: Vec<&str> = branches.iter().map(NodeId::as_str).collect();
            return Err(ServiceError::refused(
                "unknown_branch",
                format!("{step} is not a branch of `{node}`, where task `{id}` waits"),
                format!("name one in `stepId`: {}", portolan_core::diagnostic::list(&names)),
            ));
        }
        if running >= most {
            return Err(ServiceError::refused(
                "held_back",
                format!("{running} branches of `{node}` are running, and at most {most} are allowed"),
                "wait until one of them reaches the join",
            ));
        }
        let visit = parent.visit();
        Ok(Lineage { branch_of: Some((parent.definition, visit)), note: None })
    }

    /// Checks who may begin a run at a later step, which skips the steps before it. Only a person may skip checks,
    /// gates or questions.
    fn may_place(
        &self,
        wanted: &Open,
        definition: &Definition,
        is_branch: bool,
        caller: &Caller,
    ) -> Result<(), ServiceError> {
        let workflow = &definition.workflow;
        let Some(step) = wanted.step.as_deref().filter(|step| *step != workflow.root().start.as_str()) else {
            return Ok(());
        };
        let is_person = caller.is_person();
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
            format!(
                "a run that begins at `{}` would skip {over}, which only a person is allowed to decide",
                clip(step)
            ),
            "begin without `stepId`; or ask the person to begin the run there with `portolan runs start`",
        ))
    }

    fn opened_at(
        &self,
        definition: &Definition,
        wanted: &Open,
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

/// Opens a run, and returns it with the changes that this makes.
pub(super) fn opened(definition: &Definition, opening: &Opening) -> Result<(Run, Vec<Change>), ServiceError> {
    Ok(Run::open(&definition.workflow, opening)?)
}

fn workflow_of(wanted: &Open) -> Result<&str, ServiceError> {
    wanted.workflow.as_deref().ok_or_else(|| {
        ServiceError::refused(
            "workflow_required",
            "`workflowType` is missing, and a new run needs it",
            "call ListWorkflows or SelectWorkflow to choose one",
        )
    })
}

/// The relation of a new task to the task that it names as its parent.
#[derive(Default)]
struct Lineage {
    /// The parent's definition, and the visit of the fork of which the task is a branch.
    branch_of: Option<(Arc<Definition>, Parent)>,
    /// Why the task is no branch although it names a parent.
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

/// Returns the task's own description: `userDescription`, or else the subject that the task list gave it before the
/// run.
fn known_description(task: &Task) -> Option<String> {
    let description = task.get("metadata").and_then(|metadata| metadata.get("userDescription")).and_then(Value::as_str);
    let subject = || task.get("subject").and_then(Value::as_str).filter(|subject| !subject.trim().is_empty());
    description.or_else(subject).map(str::to_owned)
}

/// Returns notes about the arguments that had no effect, because the task has a run already.
fn ignored(wanted: &Open, run: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    let at = run.root.place.node();
    if let Some(workflow) = wanted.workflow.as_deref().filter(|workflow| *workflow != run.opening.workflow.as_str()) {
        notes.push(format!(
            "the task already runs `{}`; `workflowType` `{}` was not used",
            run.opening.workflow,
            clip(workflow)
        ));
    }
    if let Some(step) = wanted
        .step
        .as_deref()
        .filter(|step| *step != at.as_str() && run.opening.at.as_ref().is_none_or(|at| at.as_str() != *step))
    {
        notes.push(format!("the task is already at `{at}`; `stepId` `{}` was not used", clip(step)));
    }
    if wanted.description.is_some() && wanted.description != run.opening.description {
        notes.push("the task already has a description; the new one was not used".to_owned());
    }
    notes
}
