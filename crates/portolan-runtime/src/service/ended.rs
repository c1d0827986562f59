//! Reports of runs that are over: their duration, and how many requests to models and calls of tools they made.
//!
//! What a run has not counted itself is counted in its journal, so that a run which several processes moved is counted
//! whole.

use portolan_core::graph::Workflow;
use portolan_core::run::{Place, Run, Tallies};
use portolan_core::value::Timestamp;

use super::Service;
use super::hold::{Carrier, HeldRun};
use crate::carrier::Address;
use crate::drive::Drive;
use crate::logging::{self, EndedRun};
use crate::store::RunId;

impl Service {
    /// Reports a run that the last event has ended. `before` is the run before the event. Only runs in the store are
    /// reported: a token has no journal, and that of task files is of all of them together, so that each end would read
    /// it as a whole.
    pub(super) async fn report_ended(&self, held: &HeldRun, before: &Run) {
        if before.is_over() || !held.run.is_over() || !logging::reports_ends() {
            return;
        }
        let Carrier::Stored(id) = &held.carrier else { return };
        self.report_from_journal(id, &held.definition.workflow, &held.run).await;
    }

    /// Reports a run that ended while it was driven, if it did. The drive itself has counted one that was new when it
    /// began.
    pub(super) async fn report_driven(
        &self,
        id: Option<&RunId>,
        workflow: &Workflow,
        was_new: bool,
        drive: &Drive<'_>,
    ) {
        let run = drive.run();
        if !run.is_over() || !logging::reports_ends() {
            return;
        }
        match id {
            Some(id) if !was_new => {
                self.report_from_journal(id, workflow, run).await;
            }
            _ => {
                let since = run.opening.since.unwrap_or_else(|| self.now());
                report(id.map(RunId::as_str), workflow, run, drive.calls(), millis(since, self.now()));
            }
        }
    }

    /// Nothing fails if the journal cannot be read: then the report is missing.
    async fn report_from_journal(&self, id: &RunId, workflow: &Workflow, run: &Run) {
        let Ok(records) = self.records(&Address::Stored(id.clone())).await else { return };
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return };
        let calls = records.iter().map(|record| logging::calls_of_nodes(&record.changes)).sum();
        report(Some(id.as_str()), workflow, run, calls, millis(first.event.at, last.event.at));
    }
}

fn report(run_name: Option<&str>, workflow: &Workflow, run: &Run, calls: u64, took_ms: f64) {
    let usage = run.tallies.as_deref().map(|Tallies { run, .. }| run.spend).unwrap_or_default();
    let fault = run.root.data.as_ref().and_then(|data| data.fault.as_ref());
    let outcome = match (fault, &run.root.place) {
        (Some(fault), _) => fault.code.as_str(),
        (None, Place::Ended { result, .. }) => result.word(),
        (None, _) => return,
    };
    let (model_calls, tool_calls) = (usage.model_calls, usage.tool_calls.saturating_add(calls));
    logging::ended(&EndedRun { run: run_name, workflow: workflow.id(), outcome, took_ms, model_calls, tool_calls });
}

fn millis(since: Timestamp, until: Timestamp) -> f64 {
    until.0.saturating_sub(since.0).max(0) as f64
}
