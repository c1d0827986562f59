//! Budgets that machines share through the store of a project.
//!
//! Usage and raised budgets are in the event log of their machine first. From there they are sent to the store, each with the
//! digest of its line as its identity: a line that did not arrive is sent with the next request, and one that is sent again
//! counts once. What the store has is folded into a state beside the log, which can be made anew at any time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use portolan_core::value::Timestamp;
use portolan_gates::log_line::LogLine;
use portolan_gates::supervisor::{Scope, SupervisorState, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::audit::{self, AuditError, Kind, Line};
use crate::disk;
use crate::error::ServiceError;
use crate::store::{MOST_SHARED_BYTES, MOST_SHARED_PER_PAGE, SharedEntry, SharedList, SharedRequest, Store, host};

/// The version of the layout. A file of another version is made anew.
const VERSION: u32 = 1;
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;
/// The time for which a request to the store is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What all machines reported, as far as this one has read it, and how far this one has sent its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct KeptShared {
    version: u32,
    /// The address of the store.
    store: String,
    /// The last line of this machine's log that was sent, or needed not be.
    sent: Mark,
    /// The last entry that was read.
    read: Mark,
    /// The usage and the raised budgets of all machines.
    state: SupervisorState,
}

/// A line of the log or an entry of the list, by its number and its identity. Before the first one, the number is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Mark {
    number: u64,
    id: String,
}

/// An entry of the list: a line of a machine's log, without what no budget counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SharedLine {
    v: u32,
    /// The type of the line. A reader ignores those that it does not know.
    kind: String,
    at: Timestamp,
    task: Option<String>,
    data: Value,
    /// The machine, for whoever looks into the list.
    machine: String,
}

/// Sends what the store does not have yet of this machine's log, and returns what all machines reported.
///
/// # Errors
/// The log cannot be read, the store cannot be asked, or an entry of its list is damaged.
pub(super) async fn synchronize(project: &Path, store: &dyn Store) -> Result<SupervisorState, ServiceError> {
    let address = store.shared_address().unwrap_or_default();
    let path = place(project);
    let kept = read(&path).filter(|kept| (kept.version, &kept.store) == (VERSION, &address));
    let mut kept = kept.unwrap_or_else(|| KeptShared::anew(&address));
    let before = (kept.sent.clone(), kept.read.clone());
    let result = kept.follow(&audit::project_log(project), store).await;
    if (&before.0, &before.1) != (&kept.sent, &kept.read) {
        let text = serde_json::to_vec(&kept).expect("texts and numbers are JSON");
        // If it cannot be stored, the same is sent and read again next time.
        let _unkept = disk::replace(&path, &text);
    }
    result.map(|()| kept.state)
}

impl KeptShared {
    fn anew(store: &str) -> KeptShared {
        KeptShared { version: VERSION, store: store.to_owned(), ..KeptShared::default() }
    }

    async fn follow(&mut self, log: &Path, store: &dyn Store) -> Result<(), ServiceError> {
        self.send(log, store).await?;
        if !self.catch_up(store).await? {
            // A store that was restored from a backup may have lost what this machine sent, too.
            *self = KeptShared::anew(&self.store);
            self.send(log, store).await?;
            self.catch_up(store).await?;
        }
        Ok(())
    }

    /// Sends the later lines of the log.
    async fn send(&mut self, log: &Path, store: &dyn Store) -> Result<(), ServiceError> {
        let (unsent, last) = self.unsent(log)?;
        for lines in unsent.chunks(MOST_SHARED_PER_PAGE) {
            let entries: Vec<SharedEntry> = lines.iter().filter_map(entry).collect();
            within(store, store.append_shared(SharedList::Budgets, &entries)).await?;
            if let Some(line) = lines.last() {
                self.sent = Mark::of(line);
            }
        }
        self.sent = last.unwrap_or_else(|| self.sent.clone());
        Ok(())
    }

    /// Returns the lines after the last one that was sent, the oldest first, and the last line of the log. Of another log,
    /// all lines are returned: the store leaves out those that it has.
    fn unsent(&self, log: &Path) -> Result<(Vec<Line>, Option<Mark>), AuditError> {
        let (mut lines, mut last) = (Vec::new(), None);
        audit::latest(log, |line| {
            last.get_or_insert_with(|| Mark::of(line));
            let is_sent = Mark::of(line) == self.sent;
            if !is_sent && counts(line) {
                lines.push(line.clone());
            }
            is_sent
        })?;
        lines.reverse();
        Ok((lines, last))
    }

    /// Folds the later entries of the list. Returns false if the list is another one than before.
    async fn catch_up(&mut self, store: &dyn Store) -> Result<bool, ServiceError> {
        let after = self.read.number.saturating_sub(1);
        let mut request = SharedRequest { after, ..SharedRequest::of(SharedList::Budgets) };
        let mut page = within(store, store.shared(&request)).await?;
        if self.read.number > 0 {
            match page.first() {
                Some((number, entry)) if (*number, &entry.id) == (self.read.number, &self.read.id) => {
                    drop(page.remove(0))
                }
                _ => return Ok(false),
            }
            request.after = self.read.number;
            if page.is_empty() {
                page = within(store, store.shared(&request)).await?;
            }
        }
        while let Some((last, _)) = page.last() {
            request.after = *last;
            for (number, entry) in &page {
                self.take(store, *number, entry)?;
            }
            page = within(store, store.shared(&request)).await?;
        }
        Ok(true)
    }

    fn take(&mut self, store: &dyn Store, number: u64, entry: &SharedEntry) -> Result<(), ServiceError> {
        let line: Option<SharedLine> = serde_json::from_str(&entry.text).ok();
        let Some(line) = line.filter(|line| line.v == VERSION) else {
            let why = format!("entry {number} of its list of budgets is damaged or of a newer release");
            return Err(unverified(store, &why, "look who wrote it, and restore it"));
        };
        let SharedLine { kind, at, task, data, .. } = &line;
        self.state.apply(&LogLine { id: &entry.id, kind, at: *at, task: task.as_deref(), run: None, data });
        self.read = Mark { number, id: entry.id.clone() };
        Ok(())
    }
}

impl Mark {
    fn of(line: &Line) -> Mark {
        Mark { number: line.seq, id: line.id.clone() }
    }
}

/// Checks whether budgets of other machines depend on a line of the log. A session is that of its machine.
fn counts(line: &Line) -> bool {
    match &line.kind {
        kind if *kind == Kind::UsageRecorded.name() => true,
        kind if *kind == Kind::Bypass.name() => {
            line.data.get("budget").is_some_and(|budget| budget["scope"] != Scope::Session.name())
        }
        _ => false,
    }
}

/// Returns the entry of a line, without its session. `None` if no store would accept it, which no task of a usual name causes.
fn entry(line: &Line) -> Option<SharedEntry> {
    let data = match line.data.get("budget") {
        Some(budget) => json!({ "stage": line.data.get("stage"), "by": line.data.get("by"), "budget": budget }),
        None => Usage::from_json(&line.data).to_json(),
    };
    let (kind, at, task) = (line.kind.clone(), line.at, line.task.clone());
    let shared = SharedLine { v: VERSION, kind, at, task, data, machine: host() };
    let written = |shared: &SharedLine| serde_json::to_string(shared).expect("texts and numbers are JSON");
    let text = Some(written(&shared)).filter(|text| text.len() <= MOST_SHARED_BYTES);
    // Usage counts towards the day and the month without its task too.
    let text = text.unwrap_or_else(|| written(&SharedLine { task: None, ..shared }));
    (text.len() <= MOST_SHARED_BYTES).then(|| SharedEntry { id: line.digest().to_string(), key: String::new(), text })
}

/// Waits for the store, for a bounded time.
async fn within<T>(
    store: &dyn Store,
    request: impl Future<Output = Result<T, crate::store::StoreError>>,
) -> Result<T, ServiceError> {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(unverified(store, &error.to_string(), "make the store reachable, and try again")),
        Err(_) => Err(unverified(store, "it does not answer", "make the store reachable, and try again")),
    }
}

fn unverified(store: &dyn Store, why: &str, help: &str) -> ServiceError {
    let address = store.shared_address().unwrap_or_default();
    let message = format!("the budgets that are shared in `{address}` cannot be verified ({why})");
    ServiceError::refused("budgets_unverified", message, help)
}

fn read(path: &Path) -> Option<KeptShared> {
    serde_json::from_str(&disk::beginning(path, MAX_BYTES).ok()??).ok()
}

fn place(project: &Path) -> PathBuf {
    project.join(".portolan").join("shared-budgets.json")
}
