//! The questions that wait for a person, in all runs of the project.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_core::present::Redaction;
use portolan_core::run::{Actor, EventKind, FramePath, Place, Run};
use portolan_core::value::{Outcome, Timestamp};

use super::Service;
use super::foresight::{self, Consequence};
use super::hold::HeldRun;
use super::question_outputs::{self, StepOutput};
use super::request::RunAddress;
use crate::carrier::Address;
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::service::Caller;
use crate::store::Record;
use crate::view::View;

/// A waiting question.
pub struct PendingQuestion {
    /// The view of the run at the position that asks.
    pub view: View,
    /// The time since when it waits.
    pub since: Timestamp,
    /// The definition of the run.
    pub definition: Arc<Definition>,
    /// The last notes of the run's reports, the newest first.
    pub notes: Vec<ReportNote>,
    /// The outputs that led a function to the question.
    pub outputs: Vec<StepOutput>,
    /// What follows each answer, as far as that is known.
    pub consequences: BTreeMap<Outcome, Consequence>,
}

/// A note with a reported outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportNote {
    /// The reporter.
    pub by: Actor,
    /// The time of the report.
    pub at: Timestamp,
    /// The name of the reported step, for people.
    pub step: String,
    /// The reported outcome.
    pub outcome: String,
    /// The note, with hidden values masked.
    pub note: String,
}

/// The maximum number of open runs that are read.
const MOST_RUNS: usize = 1_000;
/// The maximum number of notes with a question.
const MOST_NOTES: usize = 3;

impl Service {
    /// Returns the questions that wait for a person, those of the run that moved last first. A run that cannot be read
    /// is skipped.
    ///
    /// # Errors
    /// The store or the journal cannot be read.
    pub async fn questions(&self, caller: &Caller) -> Result<Vec<PendingQuestion>, ServiceError> {
        let mut found = Vec::new();
        for line in self.list(true, MOST_RUNS).await?.into_iter().filter(|line| line.status == "waiting") {
            let address = Address::parse(&line.run);
            let Ok(held) = self.peek(&address).await else { continue };
            let Ok(records) = self.records(&address).await else { continue };
            found.extend(self.questions_of(held, &records, caller)?);
        }
        Ok(found)
    }

    fn questions_of(
        &self,
        held: HeldRun,
        records: &[Record],
        caller: &Caller,
    ) -> Result<Vec<PendingQuestion>, ServiceError> {
        let waits = |place: &Place| matches!(place, Place::Waiting { .. }) || place.held().is_some();
        let positions = held.run.positions().into_iter().filter(|(_, frame)| waits(&frame.place));
        let positions: Vec<_> = positions.map(|(path, frame)| (path, frame.since)).collect();
        let hidden = self.hidden_of(&held);
        hidden.learn_from(records.iter().map(|record| (&record.event, record.changes.as_slice())));
        let notes = last_notes(records, &held.definition, &hidden);
        let grip = RunAddress::of(held, None);
        let waiting = |(path, revision): (FramePath, u64)| {
            let view = self.present(&grip, Some(path.clone()), caller)?;
            let HeldRun { run, definition, .. } = &grip.held;
            let since = reached(records, revision, run);
            let known = (&view.situation, &caller.by, self.now());
            let consequences = foresight::consequences(definition, run, &path, known);
            let outputs = question_outputs::outputs(&definition.workflow, run, &path, records, &hidden);
            let (definition, notes) = (Arc::clone(definition), notes.clone());
            Ok(PendingQuestion { view, since, definition, notes, outputs, consequences })
        };
        positions.into_iter().map(waiting).collect()
    }
}

/// Returns the last notes of the reports in a journal, the newest first.
fn last_notes(records: &[Record], definition: &Definition, hidden: &Redaction) -> Vec<ReportNote> {
    let mut notes = Vec::new();
    let mut run: Option<Run> = None;
    for Record { event, changes, .. } in records {
        if let (EventKind::Reported { frame, outcome, note: Some(note), .. }, Some(run)) = (&event.what, &run)
            && let Some(reported) = run.frame(frame)
        {
            let step = definition.workflow.flow(&reported.flow).step(reported.place.node());
            notes.push(ReportNote {
                by: event.by.clone(),
                at: event.at,
                step: step.node.name.clone(),
                outcome: outcome.to_string(),
                note: hidden.text(note),
            });
        }
        match &mut run {
            Some(run) => changes.iter().for_each(|change| run.apply(change)),
            None => run = Run::fold(changes),
        }
    }
    notes.into_iter().rev().take(MOST_NOTES).collect()
}

/// Returns the time when a run reached a revision: revisions count changes.
pub(super) fn reached(records: &[Record], revision: u64, run: &Run) -> Timestamp {
    let mut left = run.revision;
    let last = records.iter().rev().find(|record| {
        left = left.saturating_sub(record.changes.len() as u64);
        left < revision
    });
    last.or(records.first()).map_or(Timestamp(0), |record| record.event.at)
}
