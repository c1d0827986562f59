//! Detects new log entries without reading the log.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use portolan_runtime::audit;

use super::Supervisor;

/// The position of the log's end. It differs after every append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    log: PathBuf,
    /// The length and the modification time of the file, or `None` if there is no file.
    stands: Option<(u64, Option<SystemTime>)>,
}

impl Supervisor<'_> {
    /// Returns the current position. To wait for news, take it before reading the state, so that an entry appended in
    /// between shows at the next comparison.
    pub fn mark(&self) -> Mark {
        let log = audit::project_log(self.service.project());
        let stands = fs::symlink_metadata(&log).ok().map(|file| (file.len(), file.modified().ok()));
        Mark { log, stands }
    }
}
