//! The state that is stored beside the log in `.portolan/supervisor.json`, so that the log need not be read from its
//! beginning. It names the last line that it includes; later lines are folded onto it. If it is missing or of another
//! log, it is rebuilt from the log.

use std::path::{Path, PathBuf};

use portolan_gates::log_line::LogLine;
use portolan_gates::supervisor::SupervisorState;
use serde::{Deserialize, Serialize};

use crate::audit::{self, AuditError, Filter, Line};
use crate::disk;
use crate::error::ServiceError;
use crate::project_folder::unwritable;

/// The version of the layout. A file of another version is rebuilt.
const VERSION: u32 = 1;
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// A state, and the last line that it includes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct KeptState {
    version: u32,
    /// The number of the last line.
    seq: u64,
    /// The ID of the last line.
    line: String,
    pub(super) board: SupervisorState,
    /// How many lines were folded since it was read.
    #[serde(skip)]
    pub(super) behind: usize,
}

impl KeptState {
    /// Loads the stored state and brings it up to date with the log, or rebuilds it.
    pub(super) fn load(project: &Path, log: &Path) -> Result<KeptState, ServiceError> {
        let kept = read(&place(project)).filter(|kept| kept.version == VERSION);
        let kept = match kept {
            Some(kept) => kept.caught_up(log)?,
            None => None,
        };
        match kept {
            Some(kept) => Ok(kept),
            None => Ok(KeptState::anew(log)?),
        }
    }

    /// Folds the later lines of the log. Returns `None` if the state is not of this log.
    fn caught_up(mut self, log: &Path) -> Result<Option<KeptState>, AuditError> {
        let mut news: Vec<Line> = Vec::new();
        let end = audit::latest(log, |line| {
            let is_known = line.seq <= self.seq;
            if !is_known {
                news.push(line.clone());
            }
            is_known
        })?;
        let fits = match (&end, news.last()) {
            (Some(end), _) => (end.seq, end.id.as_str()) == (self.seq, self.line.as_str()),
            // The full files of the log may have been moved elsewhere.
            (None, Some(oldest)) => oldest.seq == self.seq + 1,
            (None, None) => self.seq == 0,
        };
        if !fits {
            return Ok(None);
        }
        news.iter().rev().for_each(|line| self.take(line));
        Ok(Some(self))
    }

    fn anew(log: &Path) -> Result<KeptState, AuditError> {
        let mut kept = KeptState { version: VERSION, ..KeptState::default() };
        for line in audit::read(log, &Filter::default())? {
            kept.take(&line?);
        }
        Ok(kept)
    }

    /// Folds the next line.
    pub(super) fn take(&mut self, line: &Line) {
        self.board.apply(&log_line(line));
        self.seq = line.seq;
        self.line.clone_from(&line.id);
        self.behind += 1;
    }

    /// Checks whether a line is the next one.
    pub(super) fn is_before(&self, line: &Line) -> bool {
        line.seq == self.seq + 1
    }

    /// Stores the state atomically.
    pub(super) fn save(&self, project: &Path) -> Result<(), ServiceError> {
        let path = place(project);
        let text = serde_json::to_vec(self).expect("texts and numbers are JSON");
        disk::replace(&path, &text).map_err(|error| unwritable(&path, &error))
    }
}

/// Converts a line to the view that decisions use.
pub fn log_line(line: &Line) -> LogLine<'_> {
    LogLine {
        id: &line.id,
        kind: &line.kind,
        at: line.at,
        task: line.task.as_deref(),
        run: line.run.as_deref(),
        data: &line.data,
    }
}

fn read(path: &Path) -> Option<KeptState> {
    serde_json::from_str(&disk::beginning(path, MAX_BYTES).ok()??).ok()
}

fn place(project: &Path) -> PathBuf {
    project.join(".portolan").join("supervisor.json")
}
