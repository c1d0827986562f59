//! The state of the repository when an agent's step of work began. It is noted when the agent is led to the step, so
//! that a person who is asked can see what has changed since. The note is kept beside the runs, and nothing fails
//! without it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use portolan_core::graph::{Fact, Kind};
use portolan_core::run::{Frame, FramePath, Place};
use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};

use super::Service;
use super::hold::{Carrier, HeldRun};
use crate::carrier::Address;
use crate::digest::Digest;
use crate::disk::{self, Fresh};
use crate::error::ServiceError;
use crate::gates::FileBaseline;
use crate::project_folder;
use crate::repository::{FileChanges, FileSnapshot, Repository};

/// The maximum time that an agent waits for the note.
const PATIENCE: Duration = Duration::from_secs(10);
/// The maximum size of a note that is read.
const MOST_BYTES: u64 = 4 << 20;
/// The maximum number of files checked besides those that git knows to have changed.
const MOST_WRITTEN: usize = 200;
/// The maximum number of branches of a run that are noted.
const MOST_BRANCHES: usize = 64;

/// The notes of a run.
#[derive(Default, Serialize, Deserialize)]
struct Notes {
    /// The state of the files at the first note.
    run: Option<FileSnapshot>,
    /// The step of work that began last in each frame.
    steps: BTreeMap<String, StepNote>,
}

#[derive(Serialize, Deserialize)]
struct StepNote {
    step: String,
    revision: u64,
    at: Timestamp,
    /// Whether the frame has been elsewhere since. Work that is retried in place has not begun anew.
    left: bool,
    standing: FileSnapshot,
}

/// The changes in the repository since a step began.
#[derive(Clone, Debug, Serialize)]
pub struct Since {
    /// The step.
    pub step: String,
    /// The time when it began.
    pub at: Timestamp,
    /// The commit that was checked out then.
    pub commit: String,
    /// The changes.
    #[serde(flatten)]
    pub changes: FileChanges,
}

impl Service {
    /// Notes the state of the repository if an agent's step has just begun. If it cannot be noted, the person who is
    /// asked is shown no changes.
    pub(super) async fn note_standing(&self, held: &HeldRun) {
        if held.definition.workflow.root().interface.is_some() {
            return;
        }
        let Some(path) = self.notes_of(held) else { return };
        if held.run.is_over() {
            let _gone = std::fs::remove_file(&path);
            return;
        }
        let mut notes = read(&path);
        let positions = held.run.positions();
        let mut is_changed = false;
        for (at, noted) in &mut notes.steps {
            let place = positions.iter().find(|(path, _)| path.text() == *at).map(|(_, frame)| frame.place.node());
            let has_left = place.is_none_or(|node| node.as_str() != noted.step);
            is_changed |= has_left && !noted.left;
            noted.left |= has_left;
        }
        let mut begun = Vec::new();
        for (path, frame) in &positions {
            if !matches!(frame.place, Place::Ready { .. }) || !is_work(held, frame) {
                continue;
            }
            let (path, step) = (path.text(), frame.place.node().to_string());
            match notes.steps.get_mut(&path) {
                Some(noted) if noted.revision == frame.since => {}
                Some(noted) if noted.step == step && !noted.left => {
                    noted.revision = frame.since;
                    is_changed = true;
                }
                _ => begun.push((path, step, frame.since)),
            }
        }
        begun.truncate(MOST_BRANCHES);
        if !begun.is_empty() && is_repository(self.project()) {
            let (repository, besides) = (Repository::of(self.project()), written(held));
            let standing = async { repository.whole().await?.standing(&besides).await };
            let standing = tokio::time::timeout(PATIENCE, standing).await;
            if let (Ok(Ok(standing)), None) = (&standing, &notes.run) {
                notes.run = Some(standing.clone());
            }
            for (path, step, revision) in begun {
                // An older note would be of another step.
                notes.steps.remove(&path);
                if let (Ok(Ok(standing)), true) = (&standing, notes.steps.len() < MOST_BRANCHES) {
                    let standing = standing.clone();
                    notes.steps.insert(path, StepNote { step, revision, at: self.now(), left: false, standing });
                }
            }
            is_changed = true;
        }
        if is_changed {
            let _unwritten = write(&path, &notes);
        }
    }

    /// Returns the state of the files before a claim at a position.
    pub(super) fn stood_before(&self, held: &HeldRun, path: &FramePath) -> FileBaseline {
        let Some(notes) = self.notes_of(held).map(|path| read(&path)) else { return FileBaseline::default() };
        let Notes { run, mut steps } = notes;
        // A note from before the run was restored is of another past.
        let step = steps.remove(&path.text()).filter(|noted| noted.revision <= held.run.revision);
        let own = match &held.carrier {
            Carrier::Task { file, .. } => {
                file.path().strip_prefix(self.project()).ok().map(|path| path.to_string_lossy().into_owned())
            }
            Carrier::Stored(_) | Carrier::Token { .. } => None,
        };
        FileBaseline { step: step.map(|noted| noted.standing), run, own }
    }

    /// Returns the path of the notes. `None` for a run that is only in its token.
    pub(super) fn notes_of(&self, held: &HeldRun) -> Option<PathBuf> {
        let name = match &held.carrier {
            Carrier::Stored(id) => id.to_string(),
            Carrier::Task { file, id, .. } => {
                let whose = format!("{}\n{}", file.path().display(), id.as_deref().unwrap_or_default());
                format!("task-{}", &Digest::of(whose.as_bytes()).to_string()[..32])
            }
            Carrier::Token { .. } => return None,
        };
        Some(self.project().join(".portolan").join("standing").join(format!("{name}.json")))
    }

    /// Returns the changes in the repository since the run's present step began, or since the step before a question.
    /// `None` if the state of the repository was not noted then.
    ///
    /// # Errors
    /// The run is unknown, or the changes cannot be determined.
    pub async fn changes_since(&self, address: &Address, branch: Option<&str>) -> Result<Option<Since>, ServiceError> {
        let held = self.peek(address).await?;
        let Some(notes) = self.notes_of(&held) else { return Ok(None) };
        let noted = read(&notes).steps.remove(branch.unwrap_or_default());
        // A note from before the run was restored is of another past.
        let Some(noted) = noted.filter(|noted| noted.revision <= held.run.revision) else { return Ok(None) };
        let repository = Repository::of(self.project());
        let changes = async { repository.whole().await?.changes_since(&noted.standing).await };
        let mut changes = changes.await.map_err(|why| {
            let message = format!("the changes since the step began cannot be determined: {}", why.why);
            ServiceError::failed("unknown_changes", message, "check with `git diff` and `git log`")
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

/// Checks whether an agent works at the step of a frame. A gate looks at earlier work, so an earlier note also counts
/// there.
fn is_work(held: &HeldRun, frame: &Frame) -> bool {
    let kind = &held.definition.workflow.flow(&frame.flow).step(frame.place.node()).node.kind;
    matches!(kind, Kind::Work { gate: false, .. })
}

/// Checks whether a project seems to be in a repository, without starting git.
fn is_repository(project: &Path) -> bool {
    project.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// Returns the files that checks of a run want written, as paths in the project.
fn written(held: &HeldRun) -> BTreeSet<String> {
    let steps = held.definition.workflow.flows().flat_map(|(_, flow)| flow.steps.values());
    let facts = steps.flat_map(|step| &step.node.accept).filter_map(|check| check.by.evidence());
    let paths = facts.filter_map(|wanted| match &wanted.fact {
        Fact::File { path, .. } => Some(path.clone()),
        _ => None,
    });
    paths.take(MOST_WRITTEN).collect()
}

fn read(path: &Path) -> Notes {
    let bytes = disk::bytes(path, MOST_BYTES).ok().flatten();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Writes a note into a folder that only its owner may read.
pub(super) fn write(path: &Path, notes: &impl Serialize) -> std::io::Result<()> {
    let folder = disk::folder_of(path);
    project_folder::make(disk::folder_of(folder))?;
    disk::private_folder(folder)?;
    Fresh::beside(path, &serde_json::to_vec(notes)?)?.replace(path)
}
