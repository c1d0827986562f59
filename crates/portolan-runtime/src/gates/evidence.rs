//! Checks evidence: the files changed, the commits made, and what was written and reported since a step or a run began.

use std::path::Path;

use portolan_core::graph::{Evidence, Fact, Since};
use portolan_core::run::Verdict;
use portolan_gates::Guidelines;
use portolan_gates::acceptance::{CheckFinding, CheckStatus as Holds, evidence, switched_off, weighed};
use portolan_gates::facts::FactError;
use serde_json::{Map, Value};

use super::review::{self, ReviewBrief};
use crate::disk;
use crate::merge_gate::texts_since;
use crate::repository::{FileSnapshot, OnRemote, Repository};
use crate::rules;
use crate::runner;

/// The largest file that is read as JSON, in bytes.
const MOST_JSON: u64 = 4 << 20;
/// Portolan's own folder. Changes in it do not count as work.
const OWN_FOLDER: &str = ".portolan/";

/// Snapshots of the files from before the work.
#[derive(Clone, Debug, Default)]
pub struct FileBaseline {
    /// The snapshot from when the step began, or `None` if none was taken.
    pub step: Option<FileSnapshot>,
    /// The snapshot from when the run began, or `None` if none was taken.
    pub run: Option<FileSnapshot>,
    /// The task file of the run, relative to the project, if the run is stored in one. Changes to it do not count as
    /// work.
    pub own: Option<String>,
}

/// Why only a person can judge the evidence, as a sentence.
pub(super) struct ForPerson(pub(super) String);

impl From<FactError> for ForPerson {
    fn from(unknown: FactError) -> ForPerson {
        ForPerson(unknown.why)
    }
}

/// The context in which evidence is judged.
#[derive(Clone, Copy)]
pub(super) struct EvidenceContext<'g> {
    pub(super) claims: &'g Map<String, Value>,
    pub(super) repository: &'g Repository,
    pub(super) before: &'g FileBaseline,
    pub(super) wanted: &'g ReviewBrief,
    pub(super) guidelines: &'g Guidelines,
}

/// Judges a piece of evidence. If that is impossible, the verdict is left to a person. Evidence that is switched off is
/// not checked.
pub(super) async fn look(wanted: &Evidence, context: &EvidenceContext<'_>) -> Verdict {
    let gate = [wanted.fact.gate()];
    if let Some(off) = switched_off(&gate, context.guidelines) {
        return Verdict::Shown { reason: off.reason, sets: None };
    }
    let (found, output) = match find(wanted, context).await {
        Ok(found) => found,
        Err(ForPerson(reason)) => (CheckFinding::of(Holds::Unverified, "for-person", reason), String::new()),
    };
    let CheckFinding { standing, reason, .. } = weighed(&gate, context.guidelines, || found);
    match standing {
        Holds::Holds => Verdict::Shown { reason, sets: None },
        Holds::Fails => Verdict::Broken { reason, output },
        Holds::Unverified => Verdict::ForPerson { reason },
    }
}

/// Returns the finding, and further output for the next attempt.
async fn find(wanted: &Evidence, context: &EvidenceContext<'_>) -> Result<(CheckFinding, String), ForPerson> {
    let EvidenceContext { claims, before, guidelines, .. } = *context;
    let whole;
    let repository = match wanted.fact.needs_before() && before.since(wanted.since).is_ok() {
        // A change counts even if git was told to skip the file.
        true => {
            whole = context.repository.whole().await?;
            &whole
        }
        false => context.repository,
    };
    let then = || before.since(wanted.since);
    let found = match &wanted.fact {
        Fact::Changed { must, may, must_not } => {
            let paths = repository.paths_since(then()?).await?;
            let is_meant =
                |path: &str| must.iter().any(|pattern| pattern.starts_with(OWN_FOLDER) && path.starts_with(OWN_FOLDER));
            let counts = |path: &&str| before.is_work(path) || is_meant(path) && !before.is_own(path);
            let paths: Vec<&str> = paths.iter().map(String::as_str).filter(counts).collect();
            evidence::changed(must, may.as_deref(), must_not, &paths)
        }
        Fact::Commit => {
            let commits = repository.commits_since(then()?).await?;
            let has_rules = rules::source(repository.project()).is_ok_and(|source| source.is_some());
            evidence::commit(&commits, has_rules.then_some(guidelines))
        }
        Fact::Pushed => pushed(&repository.on_remote().await?)?,
        Fact::TestsTouched => evidence::tests_touched(&texts_since(repository, then()?).await?),
        Fact::TestsNotWeakened => evidence::tests_not_weakened(&texts_since(repository, then()?).await?),
        Fact::NoConflictMarks => evidence::no_conflict_marks(&repository.marks_since(then()?).await?),
        Fact::File { path, .. } => file(&wanted.fact, path, repository, then()?).await?,
        Fact::Output { name, .. } => match claims.get(name).map(|value| wanted.fact.misfit(value)) {
            Some(None) => CheckFinding::of(Holds::Holds, "reported", format!("the report gave `{name}`")),
            Some(Some(misfit)) => {
                CheckFinding::of(Holds::Fails, "misfit", format!("`{name}` does not match its schema: {misfit}"))
            }
            None => CheckFinding::of(Holds::Fails, "not-reported", format!("the report did not give `{name}`")),
        },
        Fact::ReviewedByAnother if guidelines.review.model.is_none() => return Err(review::nobody()),
        Fact::ReviewedByAnother => {
            return review::look(then()?, &EvidenceContext { repository, ..*context }).await;
        }
        Fact::Person => return Err(ForPerson("a person must say whether this is true".to_owned())),
    };
    Ok((found, String::new()))
}

impl FileBaseline {
    /// Checks whether a change at a path counts as work.
    pub(super) fn is_work(&self, path: &str) -> bool {
        !path.starts_with(OWN_FOLDER) && !self.is_own(path)
    }

    /// Checks whether a path is the run's own task file, which changes with each step.
    fn is_own(&self, path: &str) -> bool {
        self.own.as_deref() == Some(path)
    }

    fn since(&self, since: Since) -> Result<&FileSnapshot, ForPerson> {
        let (found, what) = match since {
            Since::Step => (&self.step, "step"),
            Since::Run => (&self.run, "run"),
        };
        found.as_ref().ok_or_else(|| {
            let why = "this needs a git repository and a run that is stored here";
            ForPerson(format!(
                "the state of the files when the {what} began was not recorded ({why}), so a person must check what was done"
            ))
        })
    }
}

fn pushed(found: &OnRemote) -> Result<CheckFinding, ForPerson> {
    Ok(match found {
        OnRemote::NoRemote => {
            return Err(ForPerson(
                "the repository has no remote that could have the commit, so a person must decide".to_owned(),
            ));
        }
        OnRemote::NoBranch => CheckFinding::of(
            Holds::Fails,
            "no-branch",
            "no branch with a commit is checked out; check one out and push it",
        ),
        OnRemote::Has(remote, branch, true) => {
            CheckFinding::of(Holds::Holds, "pushed", format!("`{remote}` has the commit on `{branch}`"))
        }
        OnRemote::Has(remote, branch, false) => {
            let reason = format!("`{remote}` does not have the commit on `{branch}`; push it");
            CheckFinding::of(Holds::Fails, "not-pushed", reason)
        }
    })
}

/// Checks whether a file was written since the snapshot and has the required content.
async fn file(
    fact: &Fact,
    path: &str,
    repository: &Repository,
    then: &FileSnapshot,
) -> Result<CheckFinding, ForPerson> {
    let project = repository.project();
    match runner::file(path, project) {
        Verdict::Held | Verdict::Shown { .. } => {}
        Verdict::Broken { reason, .. }
        | Verdict::Unknown { reason }
        | Verdict::ForPerson { reason }
        | Verdict::Excused { reason, .. } => {
            return Ok(CheckFinding::of(Holds::Fails, "no-file", reason));
        }
    }
    if !repository.has_changed(path, then).await? {
        return Ok(CheckFinding::of(Holds::Fails, "not-written", format!("`{path}` is unchanged; write it again")));
    }
    let Fact::File { schema: Some(_), .. } = fact else {
        return Ok(CheckFinding::of(Holds::Holds, "written", format!("`{path}` has been written")));
    };
    Ok(match json(&project.join(path)) {
        Err(why) => CheckFinding::of(Holds::Fails, "no-json", format!("`{path}` is not valid JSON: {why}")),
        Ok(value) => match fact.misfit(&value) {
            None => {
                CheckFinding::of(Holds::Holds, "written", format!("`{path}` has been written and matches its schema"))
            }
            Some(misfit) => {
                CheckFinding::of(Holds::Fails, "misfit", format!("`{path}` does not match its schema: {misfit}"))
            }
        },
    })
}

fn json(file: &Path) -> Result<Value, String> {
    let bytes = disk::bytes(file, MOST_JSON).map_err(|error| error.to_string())?;
    let bytes = bytes.ok_or_else(|| format!("it has more than {MOST_JSON} bytes"))?;
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}
