//! A run that is held while a decision about it is made: loaded with its sequence number, or locked in its file.

use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_core::engine::fits;
use portolan_core::run::{Change, Event, Run};
use serde_json::{Value, json};

use super::Service;
use super::navigate::kept_under;
use crate::carrier::task_file::{LockedTaskFile, Task, TaskFile, TaskFileError, TaskFileFault, WriteDurability};
use crate::carrier::{Address, Found, Parent, TASK_STATE_VERSION, TaskRecord, TaskState, read_state};
use crate::conflict::CommitError;
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::logging;
use crate::store::{Digest, Record, RunId, StoreError, store_error};
use crate::tasks;
use crate::trust::TrustError;

/// A run, and what is needed to store a decision about it.
pub(crate) struct HeldRun {
    pub(super) definition: Arc<Definition>,
    pub(super) run: Run,
    pub(super) seq: u64,
    pub(super) carrier: Carrier,
}

pub(super) enum Carrier {
    Stored(RunId),
    /// The run is not stored: it is only in the caller's token.
    Token {
        id: RunId,
        /// The workflow's name in the library.
        workflow: String,
        /// Whether the run uses a definition that is no longer the current one.
        behind: bool,
    },
    /// A task, locked unless it is only read.
    Task {
        path: String,
        file: TaskFile,
        lock: Option<Box<LockedTaskFile>>,
        /// The id of the run in the file.
        id: Option<String>,
        parent: Option<Parent>,
    },
}

impl HeldRun {
    fn lock_with(&mut self, taken: LockedTaskFile) {
        if let Carrier::Task { lock, .. } = &mut self.carrier {
            *lock = Some(Box::new(taken));
        }
    }

    /// Returns the name of the run, or an empty text if it has none.
    pub(super) fn name(&self) -> &str {
        match &self.carrier {
            Carrier::Stored(id) | Carrier::Token { id, .. } => id.as_str(),
            Carrier::Task { id, .. } => id.as_deref().unwrap_or_default(),
        }
    }

    /// Unlocks the run for others, until it is taken up again.
    pub(super) fn release(&mut self) {
        if let Carrier::Task { lock, .. } = &mut self.carrier {
            *lock = None;
        }
    }

    /// Returns the name that calls use for its workflow.
    pub(super) fn workflow(&self) -> &str {
        match &self.carrier {
            Carrier::Token { workflow, .. } => workflow,
            Carrier::Stored(_) | Carrier::Task { .. } => self.definition.workflow.id().as_str(),
        }
    }

    /// Returns the present visit of the task's place.
    pub(super) fn visit(&self) -> Parent {
        let id = match &self.carrier {
            Carrier::Stored(_) | Carrier::Token { .. } => None,
            Carrier::Task { id, .. } => id.clone(),
        };
        Parent { id, since: self.run.root.since }
    }
}

impl Service {
    /// Holds a released run again, in its current state.
    pub(super) async fn take_up(&self, held: &mut HeldRun) -> Result<(), ServiceError> {
        let address = match &held.carrier {
            Carrier::Stored(id) => Address::Stored(id.clone()),
            Carrier::Task { path, .. } => Address::Task(path.clone()),
            // Only the caller has it.
            Carrier::Token { .. } => return Ok(()),
        };
        // After a conflict this process still has the lock, and it cannot be taken twice.
        held.release();
        *held = self.hold(&address).await?;
        Ok(())
    }

    /// Holds a run, to change it.
    pub(super) async fn hold(&self, address: &Address) -> Result<HeldRun, ServiceError> {
        match address {
            Address::Stored(id) => self.load(id).await,
            Address::State(state) => self.load(&kept_under(state)?).await,
            Address::Task(path) => {
                let file = self.task_file(path)?;
                let lock = file.lock().await.map_err(task_error)?;
                let mut held = self.held_task(path, file, lock.task()).await?;
                held.lock_with(lock);
                Ok(held)
            }
        }
    }

    /// Reads a run without locking it.
    pub(super) async fn peek(&self, address: &Address) -> Result<HeldRun, ServiceError> {
        match address {
            Address::Stored(id) => self.load(id).await,
            Address::State(state) => self.load(&kept_under(state)?).await,
            Address::Task(path) => {
                let file = self.task_file(path)?;
                let task = file.read().map_err(task_error)?;
                self.held_task(path, file, task.as_ref()).await
            }
        }
    }

    /// Opens the file of a task.
    pub(super) fn task_file(&self, path: &str) -> Result<TaskFile, ServiceError> {
        let file = TaskFile::open(path).map_err(task_error)?;
        if self.options.is_one_of_many && !file.is_within(self.project()) {
            let message = format!("the task file `{}` is not in the folder of the project", clip(path));
            let help = "name one that is, or leave the task file out: the run is then kept in the store";
            return Err(ServiceError::refused("other_project", message, help));
        }
        Ok(file)
    }

    async fn load(&self, id: &RunId) -> Result<HeldRun, ServiceError> {
        let store = self.store();
        let stored = store.load(id).await.map_err(store_error)?;
        let no_definition = || store_error(StoreError::no_definition(&stored.definition));
        let definition = self.pinned(&stored.definition).await?.ok_or_else(no_definition)?;
        check_fit(&definition, &stored.run)?;
        Ok(HeldRun { definition, run: stored.run, seq: stored.seq, carrier: Carrier::Stored(id.clone()) })
    }

    async fn held_task(&self, path: &str, file: TaskFile, task: Option<&Task>) -> Result<HeldRun, ServiceError> {
        let Some(task) = task else {
            return Err(ServiceError::refused(
                "task_not_found",
                format!("there is no task file `{path}`"),
                "call Init with this path and a `workflowType` first",
            ));
        };
        self.taken_up(path, file, task).await?.ok_or_else(|| {
            ServiceError::refused(
                "no_workflow",
                format!("the task `{path}` has no workflow yet"),
                "call Init with a `workflowType` first",
            )
        })
    }

    /// Returns the run of a task file, to be read. `None` if the file has none.
    pub(super) async fn taken_up(
        &self,
        path: &str,
        file: TaskFile,
        task: &Task,
    ) -> Result<Option<HeldRun>, ServiceError> {
        let (definition, run, seq, id, parent) = match read_state(task, path)? {
            Found::Nothing => return Ok(None),
            Found::State(state) => {
                let TaskState { seq, id, definition, parent, run, .. } = *state;
                (self.task_definition(&definition, &run).await?, run, seq, id, parent)
            }
            Found::Legacy(legacy) => {
                let definition = self.library.definition(&legacy.workflow)?;
                let run = legacy.adopt(&definition.workflow, self.options.human)?;
                (definition, run, 0, None, None)
            }
        };
        check_fit(&definition, &run)?;
        let carrier = Carrier::Task { path: path.to_owned(), file, lock: None, id, parent };
        Ok(Some(HeldRun { definition, run, seq, carrier }))
    }

    /// Returns the definition of a task's run. A task that was moved to another checkout finds it there if that has the
    /// same version.
    async fn task_definition(&self, digest: &Digest, run: &Run) -> Result<Arc<Definition>, ServiceError> {
        let kept = match self.pinned(digest).await {
            Ok(Some(definition)) => return Ok(definition),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        let workflow = run.opening.workflow.as_str();
        match (self.library.definition(workflow), kept) {
            (Ok(definition), kept) if definition.digest == *digest => {
                if kept.is_some() {
                    self.pin(&definition).await?;
                }
                Ok(definition)
            }
            (_, Some(error)) => Err(error),
            (_, None) => Err(ServiceError::failed(
                "definition_changed",
                format!("the task was begun with another version of `{workflow}`, which is not kept in this project"),
                "continue in the project where it was begun, or restore that version of the workflow",
            )),
        }
    }

    /// Stores a decision: journal and snapshot together, or nothing.
    pub(super) async fn commit(
        &self,
        held: &mut HeldRun,
        event: Event,
        changes: Vec<Change>,
    ) -> Result<(), CommitError> {
        let mut run = held.run.clone();
        for change in &changes {
            run.apply(change);
        }
        self.hooks().before_commit(held, &event).await?;
        let (kind, count) = (logging::event_word(&event.what), changes.len());
        let record = Record { seq: held.seq + 1, event, changes };
        match &mut held.carrier {
            Carrier::Stored(id) => {
                let store = self.store();
                store.append(id, held.seq, &record, &run).await.map_err(|error| match error {
                    StoreError::Conflict { .. } => CommitError::Conflict,
                    other => CommitError::Failed(store_error(other)),
                })?;
                let before = std::mem::replace(&mut held.run, run);
                held.seq += 1;
                logging::decided(Some(held.name()), Some(held.seq), kind, count);
                let logged = self.hooks().after_commit(held, &before, &record);
                self.trace_ended(held, &before).await;
                self.report_ended(held, &before).await;
                return logged;
            }
            Carrier::Token { .. } => {}
            Carrier::Task { path, file, lock, id, parent } => {
                let lock = lock.as_mut().ok_or_else(|| not_locked(path))?;
                let written = WriteRequest {
                    definition: &held.definition,
                    run: &run,
                    record,
                    id: id.as_deref(),
                    parent: parent.as_ref(),
                    parent_id: None,
                };
                self.write_task(file, lock, written).await?;
            }
        }
        let before = std::mem::replace(&mut held.run, run);
        held.seq += 1;
        logging::decided(Some(held.name()), Some(held.seq), kind, count);
        self.trace_ended(held, &before).await;
        Ok(())
    }

    /// Writes a run to its task file: definition, journal, file, in the order of their dependencies.
    pub(super) async fn write_task(
        &self,
        file: &TaskFile,
        lock: &mut LockedTaskFile,
        written: WriteRequest<'_>,
    ) -> Result<(), CommitError> {
        let WriteRequest { definition, run, record, id, parent, parent_id } = written;
        self.pin(definition).await?;
        let state = TaskState {
            version: TASK_STATE_VERSION,
            seq: record.seq,
            id: id.map(str::to_owned),
            definition: definition.digest.clone(),
            parent: parent.cloned(),
            run: run.clone(),
        };
        let mut changes = changes(definition, &state, file.id(), lock.task());
        if let (Some(id), Some(metadata)) = (parent_id, changes.get_mut("metadata").and_then(Value::as_object_mut)) {
            metadata.insert("parentTaskId".to_owned(), json!(id));
        }
        let task = file.path().to_string_lossy().into_owned();
        self.journal.append(&TaskRecord { task, record })?;
        lock.write(changes, WriteDurability::Rename).map_err(|error| match error.fault {
            TaskFileFault::Changed => CommitError::Conflict,
            _ => CommitError::Failed(task_error(error)),
        })?;
        Ok(())
    }
}

/// The parameters of a write to a task file.
pub(super) struct WriteRequest<'a> {
    pub(super) definition: &'a Arc<Definition>,
    pub(super) run: &'a Run,
    pub(super) record: Record,
    /// The id of the run.
    pub(super) id: Option<&'a str>,
    pub(super) parent: Option<&'a Parent>,
    /// The parent's id, if the task does not name it yet.
    pub(super) parent_id: Option<&'a str>,
}

/// Returns the fields of a task that a run sets. The rest of the file does not change.
fn changes(definition: &Definition, state: &TaskState, id: &str, before: Option<&Task>) -> Task {
    let (workflow, run) = (&definition.workflow, &state.run);
    let mut changes = Task::new();
    changes.insert("id".to_owned(), json!(id));
    changes.insert("subject".to_owned(), json!(tasks::subject(workflow, run, id)));
    if before.is_none() {
        // Every task in a task list has these.
        changes.insert("description".to_owned(), json!(run.opening.description.as_deref().unwrap_or_default()));
        changes.insert("status".to_owned(), json!("pending"));
        changes.insert("blocks".to_owned(), json!([]));
        changes.insert("blockedBy".to_owned(), json!([]));
    }
    changes.insert("activeForm".to_owned(), json!(tasks::active_form(workflow, run)));
    if let Some(status) = tasks::status(workflow, run) {
        changes.insert("status".to_owned(), json!(status));
    }
    let mut metadata = tasks::metadata(workflow, run, tasks::shown(run));
    // `null` removes a key from the file.
    metadata.entry("retrySourceGate").or_insert(Value::Null);
    metadata.insert("portolan".to_owned(), serde_json::to_value(state).expect("a state is JSON"));
    changes.insert("metadata".to_owned(), Value::Object(metadata));
    changes
}

pub(super) fn check_fit(definition: &Definition, run: &Run) -> Result<(), ServiceError> {
    fits(&definition.workflow, run).map_err(|misfit| {
        ServiceError::failed(
            "run_damaged",
            format!("the run is at `{}` of `{}`, which its definition does not have", misfit.node, misfit.flow),
            "restore the task file or the store from a backup; nothing was written",
        )
    })
}

fn not_locked(path: &str) -> ServiceError {
    ServiceError::failed(
        "not_locked",
        format!("`{path}` is open for reading only"),
        "this is a bug in Portolan: please report it",
    )
}

pub(super) fn task_error(error: TaskFileError) -> ServiceError {
    ServiceError::failed(error.code(), error.message, error.help)
}

pub(super) fn trust_error(error: TrustError) -> ServiceError {
    ServiceError::failed(error.code(), error.message, error.help)
}
