//! What runs there are, and what happened to each.

use std::path::PathBuf;

use portolan_core::present::{Redaction, State};
use portolan_core::run::{Change, FramePath, Place};
use serde::Serialize;

use super::interrupted::ambiguous;
use super::{Caller, Service};
use crate::carrier::Address;
use crate::carrier::task_file::TaskFile;
use crate::clock::rfc3339;
use crate::error::ServiceError;
use crate::graphs;
use crate::store::{ListFilter, Record, store_error};
use crate::view::View;

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunLine {
    /// Its handle, or its task file.
    pub run: String,
    /// `working`, `checking`, `waiting`, or how it ended.
    pub status: String,
    /// The workflow.
    pub workflow: String,
    /// The step, or the steps.
    pub step: String,
    /// When something last happened to it.
    pub updated_at: String,
    /// What the user wants done.
    pub description: Option<String>,
}

/// How many records are read at once.
const PAGE: usize = 1_000;

impl Service {
    /// The runs of the project: those in the store, then those in task files that the journal names.
    ///
    /// # Errors
    /// The store or the journal cannot be read.
    pub async fn runs(&self, open_only: bool, limit: usize) -> Result<Vec<RunLine>, ServiceError> {
        let stored = self.store().list(ListFilter { open_only, limit }).await.map_err(store_error)?;
        let mut lines: Vec<RunLine> = stored
            .into_iter()
            .map(|run| RunLine {
                run: run.id.to_string(),
                status: run.status.result().unwrap_or(run.status.word()).to_owned(),
                workflow: run.workflow.to_string(),
                step: run.step,
                updated_at: rfc3339(run.updated_at),
                description: run.description,
            })
            .collect();
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

    /// A task whose file is gone or cannot be read is no run any more.
    async fn task_line(&self, task: &str, last: &Record) -> Option<RunLine> {
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

    /// Everything that happened to a run, in order.
    ///
    /// # Errors
    /// The run is not known, or its journal cannot be read.
    pub async fn records(&self, address: &Address) -> Result<Vec<Record>, ServiceError> {
        match address {
            Address::Stored(id) => {
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
            Address::Task(path) => {
                let file = TaskFile::open(path).map_err(super::hold::task_error)?;
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

    /// What of a run and of these records of it is not to be shown.
    ///
    /// # Errors
    /// The run is not known.
    pub async fn hidden(&self, address: &Address, records: &[Record]) -> Result<Redaction, ServiceError> {
        let held = match self.peek(address).await {
            Ok(held) => held,
            // A definition that cannot be read hides nothing of a run that works on no values.
            Err(_) if !records.iter().any(holds_values) => return Ok(Redaction::default()),
            Err(error) => return Err(error),
        };
        let folder = held.run.opening.folder.as_ref().map_or_else(|| self.project().to_owned(), PathBuf::from);
        let servers = graphs::servers_of(&held.definition, &folder, self.project());
        let hidden = graphs::redaction(&held.definition, &servers);
        hidden.learn_from(records.iter().map(|record| (&record.event, record.changes.as_slice())));
        Ok(hidden)
    }

    /// The position at which a person is asked.
    ///
    /// # Errors
    /// Nobody is asked, or at several positions and none of them is named.
    pub async fn question(
        &self,
        address: &Address,
        branch: Option<&str>,
        caller: &Caller,
    ) -> Result<View, ServiceError> {
        let held = self.peek_in_time(address).await?;
        let waiting: Vec<FramePath> = held
            .run
            .positions()
            .into_iter()
            .filter(|(_, frame)| matches!(frame.place, Place::Waiting { .. }))
            .map(|(path, _)| path)
            .filter(|path| branch.is_none_or(|branch| path.text() == branch))
            .collect();
        match waiting.as_slice() {
            [path] => self.view(&held, Some(path.clone()), caller),
            [] => {
                let view = self.view(&held, None, caller)?;
                let state = match view.situation.state {
                    State::Ended => "it is over",
                    State::Working | State::Checking | State::Waiting => "the agent is at work",
                };
                let message = format!("`{address}` asks nobody at `{}`: {state}", view.current_step);
                Err(ServiceError::refused("nothing_asked", message, "`portolan runs show` says where it is"))
            }
            several => {
                let message = format!("{} branches of `{address}` wait for a person", several.len());
                Err(ambiguous(message, several))
            }
        }
    }
}

fn holds_values(record: &Record) -> bool {
    record.changes.iter().any(|change| matches!(change, Change::Given { .. }))
}

fn is_open(status: &str) -> bool {
    matches!(status, "working" | "waiting" | "checking")
}
