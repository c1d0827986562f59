//! Notes the check that runs at a position and the last line that it printed. The note is a file beside the runs, so
//! another process that shows the run sees its progress.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use portolan_core::present::CheckUnderWay;
use portolan_core::run::{Frame, FramePath, Place};
use serde::{Deserialize, Serialize};

use super::Service;
use super::hold::HeldRun;
use super::standing::write;
use crate::disk;
use crate::runner::{CheckOutput, Listener};

/// The minimum time between two notes.
const PACE: Duration = Duration::from_millis(500);
/// The maximum size of a note that is read.
const MOST_BYTES: u64 = 8 << 10;

/// The content of the note.
#[derive(Serialize, Deserialize)]
struct Note {
    frame: String,
    /// The revision at which the position was reached. A note of another visit is ignored.
    revision: u64,
    #[serde(flatten)]
    check: CheckUnderWay,
}

/// The note of a running check. Dropping it removes the file.
pub(super) struct CheckNote {
    path: Option<PathBuf>,
    listener: Listener,
}

impl CheckNote {
    pub(super) fn listener(&self) -> Listener {
        self.listener.clone()
    }
}

impl Drop for CheckNote {
    fn drop(&mut self) {
        let _gone = self.path.as_ref().map(std::fs::remove_file);
    }
}

impl Service {
    /// Begins to note what runs at a position. Nothing is noted for a run that is only in its token.
    pub(super) fn note_checking(&self, held: &HeldRun, at: &FramePath) -> CheckNote {
        let revision = held.run.frame(at).map_or(0, |frame| frame.since);
        let Some(path) = self.checking_of(held) else { return CheckNote { path: None, listener: Listener::default() } };
        let (frame, clock) = (at.text(), self.options.clock.clone());
        let state: Mutex<(Option<Instant>, CheckUnderWay)> = Mutex::default();
        let file = path.clone();
        let listener = Listener::new(move |output: &CheckOutput<'_>| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (written, check) = &mut *state;
            match output.line {
                None => *check = CheckUnderWay { check: output.check.to_owned(), since: clock.now(), line: None },
                Some(line) => check.line = Some(line.to_owned()),
            }
            // The start and the first line are noted at once.
            if output.line.is_none() || written.is_none_or(|written| written.elapsed() >= PACE) {
                *written = output.line.map(|_| Instant::now());
                let note = Note { frame: frame.clone(), revision, check: check.clone() };
                // Without the note, a reader sees less.
                let _unwritten = write(&file, &note);
            }
        });
        CheckNote { path: Some(path), listener }
    }

    /// Returns the noted check at a position, or at any position if `at` is `None`.
    pub(super) fn checking(&self, held: &HeldRun, at: Option<&FramePath>) -> Option<CheckUnderWay> {
        let positions = held.run.positions();
        let mut checked = positions
            .iter()
            .filter(|(path, frame)| matches!(frame.place, Place::Checking { .. }) && at.is_none_or(|at| at == path));
        let first = checked.next()?;
        let text = disk::text(&self.checking_of(held)?, MOST_BYTES)?;
        let note: Note = serde_json::from_str(&text).ok()?;
        let is_here = |(path, frame): &(FramePath, &Frame)| note.frame == path.text() && note.revision == frame.since;
        (is_here(first) || checked.any(is_here)).then_some(note.check)
    }

    fn checking_of(&self, held: &HeldRun) -> Option<PathBuf> {
        Some(self.notes_of(held)?.with_extension("checking"))
    }
}
