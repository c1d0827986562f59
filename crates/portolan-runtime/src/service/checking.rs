//! Which check runs at a position and what it printed last, noted beside the runs: whoever looks at a run from another
//! process sees that something goes on.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use portolan_core::present::CheckUnderWay;
use portolan_core::run::{Frame, FramePath, Place};
use serde::{Deserialize, Serialize};

use super::Service;
use super::hold::Held;
use super::standing::write;
use crate::disk;
use crate::runner::{CheckOutput, Listener};

/// How often it is noted at most.
const PACE: Duration = Duration::from_millis(500);
/// The largest note that is read.
const MOST_BYTES: u64 = 8 << 10;

/// What is noted.
#[derive(Serialize, Deserialize)]
struct Note {
    frame: String,
    /// The revision at which the position was reached: a note of another visit says nothing.
    revision: u64,
    #[serde(flatten)]
    check: CheckUnderWay,
}

/// What runs at a position. When it is dropped, the note goes.
pub(super) struct Noting {
    path: Option<PathBuf>,
    listener: Listener,
}

impl Noting {
    pub(super) fn listener(&self) -> Listener {
        self.listener.clone()
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        let _gone = self.path.as_ref().map(std::fs::remove_file);
    }
}

impl Service {
    /// Has it noted what runs at a position; nothing is for a run that lives in its token alone.
    pub(super) fn note_checking(&self, held: &Held, at: &FramePath) -> Noting {
        let revision = held.run.frame(at).map_or(0, |frame| frame.since);
        let Some(path) = self.checking_of(held) else { return Noting { path: None, listener: Listener::default() } };
        let (frame, clock) = (at.text(), self.options.clock.clone());
        let state: Mutex<(Option<Instant>, CheckUnderWay)> = Mutex::default();
        let file = path.clone();
        let listener = Listener::new(move |heard: &CheckOutput<'_>| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (written, check) = &mut *state;
            match heard.line {
                None => *check = CheckUnderWay { check: heard.check.to_owned(), since: clock.now(), line: None },
                Some(line) => check.line = Some(line.to_owned()),
            }
            // That it begins, and the first line, are noted at once.
            if heard.line.is_none() || written.is_none_or(|written| written.elapsed() >= PACE) {
                *written = heard.line.map(|_| Instant::now());
                let note = Note { frame: frame.clone(), revision, check: check.clone() };
                // Whoever looks then is told a little less.
                let _unwritten = write(&file, &note);
            }
        });
        Noting { path: Some(path), listener }
    }

    /// The check that runs at a position, or at any, as far as it is noted.
    pub(super) fn checking(&self, held: &Held, at: Option<&FramePath>) -> Option<CheckUnderWay> {
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

    fn checking_of(&self, held: &Held) -> Option<PathBuf> {
        Some(self.notes_of(held)?.with_extension("checking"))
    }
}
