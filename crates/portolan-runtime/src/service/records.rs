//! Lists the runs, and reads the events of one.

use std::path::PathBuf;
use std::sync::Arc;

use portolan_core::present::Redaction;
use portolan_core::run::{Change, Place};
use serde::Serialize;

use super::Service;
use super::hold::HeldRun;
use super::navigate::kept_under;
use crate::carrier::Address;
use crate::clock::rfc3339;
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::graphs::redaction;
use crate::library::servers_of;
use crate::store::{ListFilter, Record, RunId, Summary, store_error};

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunLine {
    /// The handle or the task file.
    pub run: String,
    /// `working`, `checking`, `waiting`, or the result of the run.
    pub status: String,
    /// The workflow.
    pub workflow: String,
    /// The step or steps.
    pub step: String,
    /// The time of the last event.
    pub updated_at: String,
    /// The user's task.
    pub description: Option<String>,
}

/// The events of a run.
#[derive(Clone, Debug)]
pub struct History {
    /// All records, in order.
    pub records: Vec<Record>,
    /// The values of the run and of these records that must be hidden.
    pub hidden: Redaction,
    /// The definition of the run. `None` if it can no longer be read.
    pub definition: Option<Arc<Definition>>,
}

/// The number of records read at once.
const PAGE: usize = 1_000;

impl Service {
    /// Returns the runs of the project: those in the store, then those in task files that the journal names.
    ///
    /// # Errors
    /// The store or the journal cannot be read.
    pub async fn list(&self, open_only: bool, limit: usize) -> Result<Vec<RunLine>, ServiceError> {
        let stored = self.store().list(ListFilter { open_only, limit }).await.map_err(store_error)?;
        let mut lines: Vec<RunLine> = stored.into_iter().map(line_of).collect();
        let mut tasks = self.journal.tasks()?;
        tasks.sort_by_key(|(_, last)| std::cmp::Reverse(last.event.at));
        for (task, last) in tasks {
            if lines.len() >= limit {
                break;
            }
            lines.extend(self.task_line(&task, &last).await.filter(|line| !open_only || is_open(&line.status)));
        }
        Ok(lines)
    }

    /// Returns the line of a task. `None` if its file is gone or cannot be read.
    pub(super) async fn task_line(&self, task: &str, last: &Record) -> Option<RunLine> {
        let held = self.peek(&Address::Task(task.to_owned())).await.ok()?;
        let place = &held.run.root.place;
        let status = match place {
            Place::Ended { result, .. } => result.word().to_owned(),
            Place::Arrived { outcome, .. } => outcome.to_string(),
            Place::Waiting { .. } => "waiting".to_owned(),
            Place::Checking { .. } => "checking".to_owned(),
            _ => "working".to_owned(),
        };
        Some(RunLine {
            run: task.to_owned(),
            status,
            workflow: held.run.opening.workflow.to_string(),
            step: place.node().to_string(),
            updated_at: rfc3339(last.event.at),
            description: held.run.opening.description.clone(),
        })
    }

    /// Returns the events of a run.
    ///
    /// # Errors
    /// The run is unknown, or its journal cannot be read, or it is not known what of it must be hidden.
    pub async fn history(&self, address: &Address) -> Result<History, ServiceError> {
        let records = self.records(address).await?;
        let held = match self.peek(address).await {
            Ok(held) => held,
            // A definition that cannot be read hides nothing of a run without values.
            Err(_) if !records.iter().any(holds_values) => {
                return Ok(History { records, hidden: Redaction::default(), definition: None });
            }
            Err(error) => return Err(error),
        };
        let hidden = self.hidden_of(&held);
        hidden.learn_from(records.iter().map(|record| (&record.event, record.changes.as_slice())));
        Ok(History { records, hidden, definition: Some(held.definition) })
    }

    /// Returns the values of a run that must be hidden, by its definition.
    pub(super) fn hidden_of(&self, held: &HeldRun) -> Redaction {
        let folder = held.run.opening.folder.as_ref().map_or_else(|| self.project().to_owned(), PathBuf::from);
        let servers = servers_of(&held.definition, &folder, self.project());
        redaction(&held.definition, &servers)
    }

    /// Returns all records of a run, in order.
    pub(super) async fn records(&self, address: &Address) -> Result<Vec<Record>, ServiceError> {
        match address {
            Address::State(state) => self.stored_records(&kept_under(state)?).await,
            Address::Stored(id) => self.stored_records(id).await,
            Address::Task(path) => {
                let file = self.task_file(path)?;
                let mut records = self.journal.records(&file.path().to_string_lossy())?;
                match self.peek(address).await {
                    // A record that a crash kept from the file was never acknowledged.
                    Ok(held) => records.retain(|record| record.seq <= held.seq),
                    Err(error) if records.is_empty() => return Err(error),
                    Err(_) => {}
                }
                Ok(records)
            }
        }
    }

    async fn stored_records(&self, id: &RunId) -> Result<Vec<Record>, ServiceError> {
        let store = self.store();
        store.load(id).await.map_err(store_error)?;
        let mut records: Vec<Record> = Vec::new();
        loop {
            let after = records.last().map_or(0, |record| record.seq);
            let page = store.records(id, after, PAGE).await.map_err(store_error)?;
            if page.is_empty() {
                return Ok(records);
            }
            records.extend(page);
        }
    }
}

/// Returns the line of a run in the store.
pub(super) fn line_of(run: Summary) -> RunLine {
    RunLine {
        run: run.id.to_string(),
        status: run.status.shown().to_owned(),
        workflow: run.workflow.to_string(),
        step: run.step,
        updated_at: rfc3339(run.updated_at),
        description: run.description,
    }
}

fn holds_values(record: &Record) -> bool {
    record.changes.iter().any(|change| matches!(change, Change::Given { .. }))
}

fn is_open(status: &str) -> bool {
    matches!(status, "working" | "waiting" | "checking")
}
