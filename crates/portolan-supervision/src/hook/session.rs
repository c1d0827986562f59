//! The state of a host's session between its calls: `.portolan/sessions/<session>.json`. One call at a time may use it.
//! An unreadable state is replaced by an empty one, because everything essential is in the log.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use portolan_core::value::Timestamp;
use portolan_gates::{Decision, Intent};
use portolan_runtime::bindings::BoundRun;
use portolan_runtime::digest::Digest;
use portolan_runtime::disk::{self, Fresh};
use portolan_runtime::project_folder;
use serde::{Deserialize, Serialize};

use super::Answerable;
use super::tracked_content::BranchDifferences;
use super::tripwire::Snapshot;

/// How many answers are stored, so that a call that is announced twice gets the same answer.
const MAX_ANSWERS: usize = 32;
/// How long a stored answer is valid, in milliseconds. A host announces a call twice at once, or not at all.
const ANSWER_HOLDS_MS: i64 = 60_000;
/// The maximum number of calls under way.
const MAX_SNAPSHOTS: usize = 32;
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// The age at which the state of a session is deleted.
const KEPT: Duration = Duration::from_secs(14 * 24 * 3600);

/// A session, locked by this process.
#[derive(Debug)]
pub(super) struct Session {
    path: PathBuf,
    pub(super) kept: SessionFile,
    _turn: File,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SessionFile {
    /// The run at which the session works.
    attached: Option<BoundRun>,
    /// The runs that bind the session, until they are over.
    pub(super) bound: BTreeSet<BoundRun>,
    answers: VecDeque<AnsweredCall>,
    /// The snapshots of the repository from before the calls under way.
    pub(super) before: VecDeque<(String, Snapshot)>,
    /// The commits of the integration branches at the last call of the session.
    pub(super) tips: BTreeMap<String, String>,
    /// The uncommitted tracked content at the last check.
    pub(super) tracked: Option<BranchDifferences>,
    /// The digest of the record of the installation at the last check.
    pub(super) installed: Option<String>,
    /// The findings that were reported already.
    pub(super) told: BTreeSet<String>,
    /// The commit that was checked out when the agent was last kept from stopping.
    pub(super) stopped_at: Option<String>,
}

/// A call that was answered.
#[derive(Debug, Serialize, Deserialize)]
struct AnsweredCall {
    call: String,
    input: Digest,
    at: Timestamp,
    decision: Decision,
    reason: String,
    remedies: Vec<String>,
    /// The run that the call belongs to.
    #[serde(default)]
    run: Option<String>,
    /// Whether a person has allowed it in the host's dialog.
    #[serde(default)]
    is_allowed: bool,
}

/// A call about which a person was asked, and which was made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AllowedCall {
    pub(super) reason: String,
    pub(super) run: Option<String>,
}

/// Returns the path of a session. Its name comes from the host and may contain any character.
pub(super) fn path(project: &Path, session: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name = if !session.is_empty() && session.len() <= 64 && session.chars().all(plain) {
        session.to_owned()
    } else {
        format!("x-{}", &Digest::of(session).as_str()[..32])
    };
    folder(project).join(format!("{name}.json"))
}

fn folder(project: &Path) -> PathBuf {
    project.join(".portolan").join("sessions")
}

impl Session {
    /// Locks and reads a session. Returns `None` if it cannot be stored.
    pub(super) fn open(project: &Path, session: &str) -> Option<Session> {
        let path = path(project, session);
        if !path.parent()?.is_dir() {
            project_folder::make(&project.join(".portolan")).ok()?;
            fs::create_dir(path.parent()?).ok()?;
        }
        let turn = disk::alone(&path.with_extension("lock")).ok()?;
        let kept = disk::text(&path, MAX_BYTES).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Some(Session { path, kept, _turn: turn })
    }

    /// Writes the session without waiting for the disk, and returns whether that succeeded. After a machine failure,
    /// the session may begin anew.
    pub(super) fn save(&self) -> bool {
        // A rename could flush it to the disk, and every tool call would wait for that.
        self.written().and_then(|file| file.exchange(&self.path)).is_ok()
    }

    /// Writes the session to the disk, so that it survives a machine failure.
    pub(super) fn save_for_good(&self) -> bool {
        self.written().and_then(Fresh::synced).and_then(|file| file.replace(&self.path)).is_ok()
    }

    fn written(&self) -> io::Result<Fresh> {
        Fresh::beside(&self.path, &serde_json::to_vec(&self.kept)?)
    }

    /// Returns the run that the session is attached to.
    pub(super) fn attached(&self) -> Option<&BoundRun> {
        self.kept.attached.as_ref()
    }

    pub(super) fn attach(&mut self, run: &BoundRun) {
        self.kept.attached = Some(run.clone());
    }

    /// Returns the earlier answer to the same call. A call with the same ID and other arguments is another call.
    pub(super) fn answered(&self, intent: &Intent, input: &Digest, now: Timestamp) -> Option<Answerable> {
        let call = intent.call.as_deref()?;
        let known = self.kept.answers.iter().find(|known| {
            known.call == call && known.input == *input && now.0.saturating_sub(known.at.0) < ANSWER_HOLDS_MS
        })?;
        Some(Answerable {
            decision: known.decision,
            reason: known.reason.clone(),
            remedies: known.remedies.clone(),
            ..Answerable::allowed()
        })
    }

    pub(super) fn remember(
        &mut self,
        intent: &Intent,
        input: &Digest,
        answer: &Answerable,
        (now, run): (Timestamp, Option<&str>),
    ) {
        let Some(call) = &intent.call else { return };
        self.kept.answers.push_back(AnsweredCall {
            call: call.clone(),
            input: input.clone(),
            at: now,
            decision: answer.decision,
            reason: answer.reason.clone(),
            remedies: answer.remedies.clone(),
            run: run.map(str::to_owned),
            is_allowed: false,
        });
        while self.kept.answers.len() > MAX_ANSWERS {
            self.kept.answers.pop_front();
        }
    }

    /// Returns a call that was made although a person was to be asked, so that they allowed it. Returns it once: a host may
    /// announce the end of a call twice.
    pub(super) fn allowed_by_person(&mut self, call: &str) -> Option<AllowedCall> {
        // The latest answer is the one that the host acted on.
        let known = self.kept.answers.iter_mut().rev().find(|known| known.call == call)?;
        if known.decision != Decision::Ask || std::mem::replace(&mut known.is_allowed, true) {
            return None;
        }
        Some(AllowedCall { reason: known.reason.clone(), run: known.run.clone() })
    }

    /// Stores the snapshot from before a call.
    pub(super) fn keep_before(&mut self, call: &str, snapshot: Snapshot) {
        self.kept.before.retain(|(known, _)| known != call);
        self.kept.before.push_back((call.to_owned(), snapshot));
        while self.kept.before.len() > MAX_SNAPSHOTS {
            self.kept.before.pop_front();
        }
    }

    /// Removes and returns the snapshot from before a call that has ended.
    pub(super) fn take_before(&mut self, call: &str) -> Option<Snapshot> {
        let at = self.kept.before.iter().position(|(known, _)| known == call)?;
        self.kept.before.remove(at).map(|(_, snapshot)| snapshot)
    }

    /// Deletes the sessions that have not been used for a long time.
    pub(super) fn sweep(project: &Path) {
        let Ok(entries) = fs::read_dir(folder(project)) else { return };
        let now = SystemTime::now();
        for entry in entries.flatten() {
            let path = entry.path();
            let written = entry.metadata().and_then(|meta| meta.modified());
            let is_old = written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > KEPT));
            if is_old && path.extension().is_some_and(|extension| extension == "json") {
                // Another process may have removed it already.
                let _gone = (fs::remove_file(path.with_extension("lock")), fs::remove_file(path));
            }
        }
    }
}
