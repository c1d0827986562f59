//! Logs the events of runs with gates.
//!
//! The journal of a run is authoritative. The log is derived from it, record by record, and each line names its record.
//! A process that dies between the two loses nothing: the next move of the run writes the missing lines first. A bypass
//! is logged before it is stored anywhere else.

use std::cmp::Reverse;

use portolan_core::graph::{Step, Workflow};
use portolan_core::run::{Event, EventKind, Run};
use portolan_gates::acceptance::Violation;
use serde_json::{Value, json};

use super::super::Service;
use super::super::hold::{Carrier, HeldRun};
use super::config;
use super::events::{self, EventSubject};
use super::hooks::Hooks;
use crate::audit::{self, AuditError, Durability, Line, Log, LogEntry};
use crate::conflict::CommitError;
use crate::error::ServiceError;
use crate::store::{Record, RunId, store_error};
use portolan_core::value::Timestamp;

/// The field of a line with the number of lines of the same record that follow it.
pub(super) const MORE: &str = "more";

/// The number of records read at once.
const PAGE: usize = 500;

/// The maximum difference between the clocks of writers, in milliseconds: a day.
const SKEW_MS: i64 = 86_400_000;

/// Checks whether the events of a workflow's runs belong in the log.
fn is_gated(workflow: &Workflow) -> bool {
    let gated =
        |step: &Step| step.node.phase.is_some() || step.node.accept.iter().any(|check| check.invariant.is_some());
    workflow.flows().any(|(_, flow)| flow.steps.values().any(gated))
}

/// Checks whether a workflow consists of phases, rather than of activities with checked steps.
pub(super) fn has_phases(workflow: &Workflow) -> bool {
    workflow.root().steps.values().any(|step| step.node.phase.is_some() && step.node.seat.is_none())
}

impl Hooks<'_> {
    /// Logs what must be logged before an event is stored: everything before it, its rules, and a bypass itself. First
    /// it checks that the event can be logged too.
    ///
    /// # Errors
    /// The log cannot be written, or the rules have faults. Nothing has changed then.
    pub(in crate::service) async fn before_commit(&self, held: &HeldRun, event: &Event) -> Result<(), CommitError> {
        let Some(id) = on_record(held) else { return Ok(()) };
        // An event that is stored but cannot be logged would have happened although the caller receives an error.
        self.service.log().and_then(|log| log.is_ready()).map_err(|error| CommitError::Failed(error.into()))?;
        self.service.log_missing(held, id).await?;
        if config::is_asked(&event.what) {
            self.service.log_rules(held, id)?;
        }
        if let EventKind::Bypassed { .. } = &event.what {
            let about = EventSubject::of(held, id);
            let entry = events::recorded(&about, event);
            let log = self.service.log().and_then(|log| log.append(&[entry], Durability::Synced));
            log.map_err(|error| CommitError::Failed(error.into()))?;
        }
        Ok(())
    }

    /// Logs the event that has just been stored. `before` is the run before the event.
    ///
    /// # Errors
    /// The log cannot be written. The event remains stored, and is logged before the run moves again.
    pub(in crate::service) fn after_commit(
        &self,
        held: &HeldRun,
        before: &Run,
        record: &Record,
    ) -> Result<(), CommitError> {
        let Some(id) = on_record(held) else { return Ok(()) };
        let about = EventSubject::of(held, id);
        let entries = events::entries(&about, before, record);
        self.service.write_missing(&entries, id, record.event.at).map_err(|error| CommitError::Failed(error.into()))
    }

    /// Logs the commits in which a gate found a fault.
    ///
    /// # Errors
    /// The log cannot be written.
    pub(in crate::service) fn log_violations(&self, held: &HeldRun, found: &[Violation]) -> Result<(), ServiceError> {
        let Some(id) = on_record(held).filter(|_| !found.is_empty()) else { return Ok(()) };
        let about = EventSubject::of(held, id);
        let entries: Vec<LogEntry> = found.iter().map(|violation| events::violation(&about, violation)).collect();
        self.service.log()?.append(&entries, Durability::Written)?;
        Ok(())
    }

    /// Completes the log of a run that is over, if it can be written: no later move of the run would do so.
    pub(in crate::service) async fn run_ended(&self, held: &HeldRun) {
        if let (Some(id), true) = (on_record(held), held.run.is_over()) {
            // A failure does not stop a caller that only reads. The next call tries again.
            let _unwritten = self.service.log_missing(held, id).await;
        }
    }
}

impl Service {
    /// Checks whether a beginning run could be logged.
    ///
    /// # Errors
    /// The log cannot be read or written.
    pub(super) fn log_is_ready(&self) -> Result<(), ServiceError> {
        self.log()?.is_ready()?;
        let now = self.options.clock.now();
        audit::latest(&audit::project_log(self.project()), |line| is_older(line, now))?;
        Ok(())
    }

    pub(super) fn log(&self) -> Result<Log, AuditError> {
        Ok(Log::of_project(self.project())?.with_clock(self.options.clock.clone()))
    }

    /// Logs the entries that the log does not have: another process may have logged them meanwhile.
    fn write_missing(&self, entries: &[LogEntry], id: &RunId, since: Timestamp) -> Result<(), AuditError> {
        if entries.is_empty() {
            return Ok(());
        }
        let is_missing = |entry: &LogEntry, newest: Option<&Line>| {
            let known = newest.filter(|line| is_of(line, id)).and_then(|line| LogProgress::of(&line.data));
            LogProgress::of(&entry.data) > known
        };
        let wanted = |line: &Line| is_of(line, id) || is_older(line, since);
        self.log()?.append_missing(entries, Durability::Synced, wanted, is_missing).map(|_| ())
    }

    /// Logs that a run was opened.
    pub(super) fn log_opened(&self, held: &HeldRun, id: &RunId, first: &Record) -> Result<(), ServiceError> {
        let entries = events::opened(&EventSubject::of(held, id), first);
        Ok(self.write_missing(&entries, id, first.event.at)?)
    }

    /// Logs the entries that a process that died did not write.
    pub(super) async fn log_missing(&self, held: &HeldRun, id: &RunId) -> Result<(), ServiceError> {
        let first = self.store().records(id, 0, 1).await.map_err(store_error)?;
        let Some(first) = first.first() else { return Ok(()) };
        let from = logged(self, id, first.event.at)?.map_or(0, LogProgress::whole);
        if from >= held.seq {
            return Ok(());
        }
        let about = EventSubject::of(held, id);
        let mut run: Option<Run> = None;
        let (mut after, mut missing) = (0, Vec::new());
        loop {
            let page = self.store().records(id, after, PAGE).await.map_err(store_error)?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for record in &page {
                if let (Some(before), true) = (&run, record.seq > from) {
                    missing.extend(events::entries(&about, before, record));
                } else if run.is_none() && record.seq > from {
                    missing.extend(events::opened(&about, record));
                }
                fold(&mut run, record);
            }
        }
        Ok(self.write_missing(&missing, id, first.event.at)?)
    }
}

pub(super) fn fold(run: &mut Option<Run>, record: &Record) {
    match run {
        Some(run) => record.changes.iter().for_each(|change| run.apply(change)),
        None => *run = Run::fold(&record.changes),
    }
}

/// Returns the run if it belongs in the log.
fn on_record(held: &HeldRun) -> Option<&RunId> {
    match &held.carrier {
        Carrier::Stored(id) if is_gated(&held.definition.workflow) => Some(id),
        _ => None,
    }
}

/// Returns the last record of a run that the log has. Lines older than the run's opening are not read.
pub(super) fn logged_up_to(service: &Service, id: &RunId, opened_at: Timestamp) -> Result<u64, ServiceError> {
    Ok(logged(service, id, opened_at)?.map_or(0, |logged| logged.record))
}

fn logged(service: &Service, id: &RunId, opened_at: Timestamp) -> Result<Option<LogProgress>, ServiceError> {
    let path = audit::project_log(service.project());
    let latest = audit::latest(&path, |line| is_of(line, id) || is_older(line, opened_at))?;
    Ok(latest.filter(|line| is_of(line, id)).and_then(|line| LogProgress::of(&line.data)))
}

/// The progress of the log with a run. Later progress compares as greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LogProgress {
    /// The record of its newest line.
    record: u64,
    /// The number of lines of that record that are missing.
    lacking: Reverse<u64>,
}

impl LogProgress {
    fn of(data: &Value) -> Option<LogProgress> {
        let lacking = data.get(MORE).and_then(Value::as_u64).unwrap_or(0);
        Some(LogProgress { record: record_of(data)?, lacking: Reverse(lacking) })
    }

    /// Returns the last record whose lines are complete.
    fn whole(self) -> u64 {
        if self.lacking.0 == 0 { self.record } else { self.record.saturating_sub(1) }
    }
}

/// Checks whether a line is made from a record of a run.
fn is_of(line: &Line, id: &RunId) -> bool {
    line.run.as_deref() == Some(id.as_str()) && record_of(&line.data).is_some()
}

fn is_older(line: &Line, than: Timestamp) -> bool {
    line.at.0 < than.0.saturating_sub(SKEW_MS)
}

fn record_of(data: &Value) -> Option<u64> {
    data.get("record").and_then(Value::as_u64)
}

/// Adds the number of the record to an entry's data.
pub(super) fn numbered(mut data: Value, record: &Record) -> Value {
    if let Some(data) = data.as_object_mut() {
        data.insert("record".to_owned(), json!(record.seq));
    }
    data
}
