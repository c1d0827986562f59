//! The note of the project's task in `.portolan/flow.json`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Flow;
use crate::carrier::task_file::{WriteDurability, exchange};
use crate::disk;
use crate::error::ServiceError;
use crate::project_folder::{turn_in, unwritable};
use crate::service::hold::{Carrier, HeldRun};
use crate::service::other_stores::usual_store;
use crate::store::RunId;

/// The task that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Active {
    /// The run.
    pub run: RunId,
    /// The name of the task.
    pub task: String,
    /// The workflow with its phases.
    pub workflow: String,
    /// The file or the address of the store that the run is in, without what is secret. `None` means the project's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// The stage of its beginning.
    #[serde(default, skip_serializing_if = "Stage::is_under_way")]
    pub stage: Stage,
}

/// The stage of a task's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The run is about to be stored. If it is not in the store, the task never began.
    Begins,
    /// The run is stored.
    #[default]
    UnderWay,
}

impl Stage {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_under_way(&self) -> bool {
        *self == Stage::UnderWay
    }
}

/// The maximum size of the note in bytes.
const MAX_BYTES: u64 = 16 << 10;

pub(super) fn read(project: &Path) -> Result<Option<Active>, ServiceError> {
    let path = place(project);
    let damaged = |why: String| {
        ServiceError::failed(
            "task_damaged",
            format!("`{}` cannot be read: {why}", path.display()),
            "ask a person to restore the file, or to delete it so that no task is in progress; `portolan runs list` shows the runs",
        )
    };
    let text = disk::beginning(&path, MAX_BYTES).map_err(|error| damaged(error.to_string()))?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| damaged(error.to_string()))
}

/// Returns the store of the project's task, unless there is none or it is the project's own.
pub(in crate::service) fn store_of_task(project: &Path) -> Result<Option<String>, ServiceError> {
    Ok(read(project)?.and_then(|active| active.store))
}

/// Returns the error for a note whose run is gone: such a task cannot be continued, or even called off.
pub(super) fn without_run(project: &Path, active: &Active) -> ServiceError {
    let message =
        format!("the task `{}` is in progress, but its run `{}` is not in the store", active.task, active.run);
    let help = format!(
        "ask a person to restore {}, or to delete `{}` in their own terminal so that no task is \
        in progress",
        active.store.as_ref().map_or("`.portolan/runs.db`".to_owned(), |store| format!("the store `{store}`")),
        place(project).display()
    );
    ServiceError::failed("task_damaged", message, help)
}

/// Returns the error for a command that uses another store than the task.
pub(super) fn in_other_store(project: &Path, active: &Active) -> ServiceError {
    let store = active.store.clone().unwrap_or_else(|| usual_store(project));
    let message = format!("the task `{}` is in progress in the store `{store}`", active.task);
    ServiceError::refused("other_store", message, "repeat the command with `--store` for that store")
}

pub(super) fn forget(project: &Path) -> Result<(), ServiceError> {
    let path = place(project);
    match fs::remove_file(&path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(unwritable(&path, &error)),
    }
}

impl Flow<'_> {
    /// Waits for the lock under which the note may be changed.
    pub(super) async fn turn(&self) -> Result<File, ServiceError> {
        turn_in(self.service.project()).await
    }

    /// Notes that the beginning task is under way.
    pub(super) fn under_way_from_now(&self, held: &HeldRun) -> Result<(), ServiceError> {
        let Carrier::Stored(run) = &held.carrier else { return Ok(()) };
        match read(self.service.project())? {
            Some(active) if active.run == *run && active.stage == Stage::Begins => {
                self.note_down(&Active { stage: Stage::UnderWay, ..active })
            }
            _ => Ok(()),
        }
    }

    /// Writes the note of the task under way atomically: a crash leaves the old note or the new one.
    pub(super) fn note_down(&self, active: &Active) -> Result<(), ServiceError> {
        let active = Active { store: self.service.other_store(), ..active.clone() };
        active.store.as_ref().map_or(Ok(()), |store| self.service.note_store(store))?;
        let path = place(self.service.project());
        let text = serde_json::to_vec_pretty(&active).expect("texts are JSON");
        // The caller holds the folder's lock. The next write removes what a crash leaves behind.
        let written = exchange(&folder(self.service.project()), &path, &text, None, WriteDurability::Fsync);
        written.map(|_| ()).map_err(|error| unwritable(&path, &error))
    }
}

fn folder(project: &Path) -> PathBuf {
    project.join(".portolan")
}

fn place(project: &Path) -> PathBuf {
    folder(project).join("flow.json")
}
