//! How the repository stood when an agent's step of work began: noted when the agent is led there, so that a person who is
//! asked can be shown what has changed since. It is kept beside the runs; where it is not, nothing depends on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use portolan_core::graph::Kind;
use portolan_core::run::{Frame, Place};
use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};

use super::Service;
use super::hold::{Carrier, Held};
use crate::carrier::Address;
use crate::disk::{self, Fresh};
use crate::error::ServiceError;
use crate::project_folder;
use crate::repository::{Changes, Repository, Standing};
use crate::store::RunId;

/// How long an agent is kept waiting for it.
const PATIENCE: Duration = Duration::from_secs(3);
/// The largest note that is read.
const MOST_BYTES: u64 = 4 << 20;
/// How many branches of a run are noted.
const MOST_BRANCHES: usize = 64;

/// What is noted of a run: by the frame, the step that began last in it.
type Notes = BTreeMap<String, Noted>;

#[derive(Serialize, Deserialize)]
struct Noted {
    step: String,
    revision: u64,
    at: Timestamp,
    standing: Standing,
}

/// What has changed in the repository since a step began.
#[derive(Clone, Debug, Serialize)]
pub struct Since {
    /// The step.
    pub step: String,
    /// When it began.
    pub at: Timestamp,
    /// The commit that was checked out then.
    pub commit: String,
    /// What has changed.
    #[serde(flatten)]
    pub changes: Changes,
}

impl Service {
    /// Notes how the repository stands where an agent's step has just begun. What cannot be noted is not: whoever asks is
    /// told so.
    pub(super) async fn note_standing(&self, held: &Held) {
        let Carrier::Stored(id) = &held.carrier else { return };
        if held.definition.workflow.root().interface.is_some() {
            return;
        }
        let path = notes_at(self.project(), id);
        if held.run.is_over() {
            let _gone = std::fs::remove_file(&path);
            return;
        }
        let mut notes = read(&path);
        let begun: Vec<(String, String, u64)> = held
            .run
            .positions()
            .into_iter()
            .filter(|(_, frame)| matches!(frame.place, Place::Ready { .. }) && is_work(held, frame))
            .map(|(path, frame)| (path.text(), frame.place.node().to_string(), frame.since))
            .filter(|(path, _, since)| notes.get(path).is_none_or(|noted| noted.revision != *since))
            .take(MOST_BRANCHES)
            .collect();
        if begun.is_empty() || !is_repository(self.project()) {
            return;
        }
        let repository = Repository::of(self.project());
        let standing = tokio::time::timeout(PATIENCE, repository.standing()).await;
        for (path, step, revision) in begun {
            // An older note would be of another step.
            notes.remove(&path);
            if let (Ok(Ok(standing)), true) = (&standing, notes.len() < MOST_BRANCHES) {
                notes.insert(path, Noted { step, revision, at: self.now(), standing: standing.clone() });
            }
        }
        let _unwritten = write(&path, &notes);
    }

    /// What has changed in the repository since the step began that a run is at, or that it was at before a question.
    /// Nothing where it was not noted how the repository stood then.
    ///
    /// # Errors
    /// The run is not known; or what has changed cannot be found out.
    pub async fn changes_since(&self, address: &Address, branch: Option<&str>) -> Result<Option<Since>, ServiceError> {
        let held = self.peek(address).await?;
        let Carrier::Stored(id) = &held.carrier else { return Ok(None) };
        let path = branch.unwrap_or_default();
        let noted = read(&notes_at(self.project(), id)).remove(path);
        // One from before the run was restored is of another past.
        let Some(noted) = noted.filter(|noted| noted.revision <= held.run.revision) else { return Ok(None) };
        let changes = Repository::of(self.project()).changes_since(&noted.standing).await;
        let mut changes = changes.map_err(|why| {
            let message = format!("what has changed since the step began cannot be told: {}", why.why);
            ServiceError::failed("unknown_changes", message, "look with `git diff` and `git log`")
        })?;
        let hidden = self.hidden_of(&held);
        let records = self.records(address).await?;
        hidden.learn_from(records.iter().map(|record| (&record.event, record.changes.as_slice())));
        for file in &mut changes.files {
            file.path = hidden.text(&file.path);
            file.diff = file.diff.as_deref().map(|diff| hidden.text(diff));
        }
        Ok(Some(Since { step: noted.step, at: noted.at, commit: noted.standing.commit, changes }))
    }
}

/// Whether an agent works at the step that a frame is at. A gate looks at what was done before: what was noted then counts
/// there, too.
fn is_work(held: &Held, frame: &Frame) -> bool {
    let kind = &held.definition.workflow.flow(&frame.flow).step(frame.place.node()).node.kind;
    matches!(kind, Kind::Work { gate: false, .. })
}

/// Whether a project seems to lie in a repository: git need not be started to say no.
fn is_repository(project: &Path) -> bool {
    project.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok())
}

fn notes_at(project: &Path, run: &RunId) -> PathBuf {
    project.join(".portolan").join("standing").join(format!("{run}.json"))
}

fn read(path: &Path) -> Notes {
    let bytes = disk::bytes(path, MOST_BYTES).ok().flatten();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn write(path: &Path, notes: &Notes) -> std::io::Result<()> {
    let folder = disk::folder_of(path);
    project_folder::make(disk::folder_of(folder))?;
    disk::private_folder(folder)?;
    Fresh::beside(path, &serde_json::to_vec(notes)?)?.replace(path)
}
