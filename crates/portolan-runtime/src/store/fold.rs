//! Folds the journal of a run record by record, and checks that it is a journal.

use portolan_core::run::{Change, FramePath, ModelStateChange, Run};
use portolan_core::value::Timestamp;

use super::Record;

/// The run after the records so far.
#[derive(Default)]
pub(super) struct Fold {
    run: Option<Run>,
    seq: u64,
    opened_at: Timestamp,
    updated_at: Timestamp,
}

/// A folded journal.
pub(super) struct FoldedRun {
    pub(super) run: Run,
    pub(super) seq: u64,
    pub(super) opened_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

/// The maximum number of frames around one that a change names. It is far more than the engine nests, and so few that a
/// forged journal cannot build a run whose depth overflows the stack.
const MOST_FRAMES: usize = 64;

impl Fold {
    /// Adds the next record.
    ///
    /// # Errors
    /// The reason why it cannot be the next one.
    pub(super) fn add(&mut self, record: &Record) -> Result<(), String> {
        if record.seq != self.seq + 1 {
            return Err(format!("record {} follows record {}", record.seq, self.seq));
        }
        if record.changes.iter().any(|change| path(change).is_some_and(|path| path.0.len() > MOST_FRAMES)) {
            return Err(format!("record {} names a frame inside more than {MOST_FRAMES} others", record.seq));
        }
        match &mut self.run {
            Some(run) => record.changes.iter().for_each(|change| run.apply(change)),
            None => {
                self.run = Some(Run::fold(&record.changes).ok_or("record 1 does not open a run")?);
                self.opened_at = record.event.at;
            }
        }
        (self.seq, self.updated_at) = (record.seq, record.event.at);
        Ok(())
    }

    /// Returns the number of the last record.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the run. `None` without a record.
    pub(super) fn finish(self) -> Option<FoldedRun> {
        let Fold { run, seq, opened_at, updated_at } = self;
        run.map(|run| FoldedRun { run, seq, opened_at, updated_at })
    }
}

/// Returns the frame in which a change puts other frames.
fn path(change: &Change) -> Option<&FramePath> {
    match change {
        Change::Moved { frame, .. } | Change::Branched { frame, .. } | Change::ItemBegun { frame, .. } => Some(frame),
        Change::Talked { frame, said: ModelStateChange::WorkflowBegun { .. } } => Some(frame),
        _ => None,
    }
}
