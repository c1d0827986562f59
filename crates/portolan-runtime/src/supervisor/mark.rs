//! Whether anything was put on record since somebody looked, told without reading the log.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use super::Supervisor;
use crate::audit;

/// Where the log stands: another one after everything that is put on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    log: PathBuf,
    /// The length of its file and when that was written; nothing where there is none.
    stands: Option<(u64, Option<SystemTime>)>,
}

impl Supervisor<'_> {
    /// Where the log stands. Whoever waits for news takes it first and then looks at the board: what is put on record in
    /// between is seen at the next look.
    pub fn mark(&self) -> Mark {
        let log = audit::project_log(self.service.project());
        let stands = fs::symlink_metadata(&log).ok().map(|file| (file.len(), file.modified().ok()));
        Mark { log, stands }
    }
}
