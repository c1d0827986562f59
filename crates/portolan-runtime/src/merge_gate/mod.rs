//! The merge gate over a real repository. Reads a branch's changes with git, the reviews with `gh`, and the policy from
//! the commit that is merged into. [`portolan_gates::merge`] decides, and the verdict is recorded in the log.

mod forge;
mod git;
mod objects;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use portolan_core::diagnostic::Diagnostic;
use portolan_core::source::Source;
use portolan_gates::facts::FactError;
use portolan_gates::merge::{
    Declarations, Diff, Evidence, FileChange, MergeFinding, POLICY, Policy, Ruling, Text, gate,
};
use serde::Deserialize;
use serde_json::json;

use crate::audit::{Durability, Kind, Log, LogEntry};
use crate::disk;
use crate::error::ServiceError;
use crate::program::unknown;
use crate::repository::{FileSnapshot, Repository};
use forge::Request;
use git::Commits;

/// A merge to rule on.
#[derive(Clone, Debug, Default)]
pub struct MergeQuestion {
    /// The commit that is merged into: any revision of git.
    pub base: String,
    /// The commit that would be merged.
    pub head: String,
    /// Its pull request, if it has one.
    pub request: Option<u64>,
    /// A file that declares intended removals: `Removes:` lines, and lists below a heading that contains `Removals`.
    pub intent: Option<PathBuf>,
    /// A JSON file: an object from names of evidence to `{"ok": true, "summary": "…"}`.
    pub evidence: Option<PathBuf>,
}

/// The result of a ruling.
#[derive(Debug)]
pub struct MergeRuling {
    /// The ruling.
    pub ruling: Ruling,
    /// The full ID of the commit that is merged into.
    pub base: String,
    /// The full ID of the commit that would be merged.
    pub head: String,
    /// The warnings about the policy.
    pub warnings: Vec<Diagnostic>,
}

/// Why there is no ruling.
#[derive(Debug)]
pub enum MergeRulingError {
    /// The policy of the base commit has faults: its source and its faults.
    Policy(Source, Vec<Diagnostic>),
    /// Any other error.
    Failed(ServiceError),
}

impl From<ServiceError> for MergeRulingError {
    fn from(error: ServiceError) -> MergeRulingError {
        MergeRulingError::Failed(error)
    }
}

/// Rules on a merge, and records the verdict in the log.
///
/// # Errors
/// A required fact cannot be determined, or the verdict cannot be recorded.
pub async fn rule(project_repository: &Repository, question: &MergeQuestion) -> Result<MergeRuling, MergeRulingError> {
    let project = project_repository.project();
    let repository = Commits::of(project_repository);
    let base = repository.commit(&question.base).await?;
    let head = repository.commit(&question.head).await?;
    let (policy, warnings) = policy(&repository, &base).await?;
    let diff = repository.diff(&base, &head).await?;
    let request = match question.request {
        Some(number) => Some(forge::request(project_repository, number, &head).await?),
        None => None,
    };
    let declared = declared(&repository, question, &request, &diff, (&base, &head)).await?;
    let evidence = evidence(question, request, &head)?;
    let ruling = gate(&diff, &declared, &policy, &evidence);
    let ruled = MergeRuling { ruling, base, head, warnings };
    record(project, question, &ruled)?;
    Ok(ruled)
}

/// Returns the texts of the files that have changed since a snapshot. For a file with uncommitted changes at that time,
/// the committed text counts as its earlier content.
///
/// # Errors
/// The commit of the snapshot is missing, the limits are exceeded, or git fails.
pub(crate) async fn texts_since(project_repository: &Repository, then: &FileSnapshot) -> Result<Diff, FactError> {
    let (top, found) = project_repository.touched_since(then).await?;
    let to_error = |error: ServiceError| unknown("git-failed", format!("{}; {}", error.message, error.help));
    let mut diff = Commits::of(project_repository).diff_to_files(&then.commit, &top).await.map_err(to_error)?;
    let known: BTreeSet<String> = diff.files.iter().map(|change| change.path.clone()).collect();
    diff.files.retain(|change| {
        found.contains_key(&change.path) || change.from.as_ref().is_some_and(|from| found.contains_key(from))
    });
    for (path, _) in found.into_iter().filter(|(path, is_new)| *is_new && !known.contains(path)) {
        let after = objects::text_of(&top.join(&path), &path);
        diff.files.push(FileChange { path, from: None, before: Text::Absent, after, added: 0, deleted: 0 });
    }
    Ok(diff)
}

/// Returns the policy of the base commit. The branch's own policy could let anything pass.
async fn policy(repository: &Commits<'_>, base: &str) -> Result<(Policy, Vec<Diagnostic>), MergeRulingError> {
    let Some(text) = repository.text_at(base, POLICY).await? else { return Ok((Policy::default(), Vec::new())) };
    let source = Source::new(POLICY, text);
    match Policy::read(&source) {
        (Some(policy), warnings) => Ok((policy, warnings)),
        (None, faults) => Err(MergeRulingError::Policy(source, faults)),
    }
}

async fn declared(
    repository: &Commits<'_>,
    question: &MergeQuestion,
    request: &Option<Request>,
    diff: &Diff,
    (base, head): (&str, &str),
) -> Result<Declarations, ServiceError> {
    let mut declared = Declarations { commits: repository.commits(base, head).await?, ..Declarations::default() };
    declared.request = request.as_ref().map(|request| request.text.clone());
    for change in &diff.files {
        let is_spec = change.path.ends_with(".md") && change.path.split('/').any(|name| name.contains("spec"));
        if is_spec && let Some(text) = repository.text_at(head, &change.path).await? {
            declared.specs.push((change.path.clone(), text));
        }
    }
    if let Some(path) = &question.intent {
        let text = disk::source(path)?;
        let request = declared.request.get_or_insert_default();
        // Its first line is no title: the kind of change is taken from the commits.
        request.push_str("\n\n");
        request.push_str(&text);
        declared.specs.push((path.to_string_lossy().into_owned(), text));
    }
    Ok(declared)
}

/// A piece of evidence in a file.
#[derive(Deserialize)]
struct EvidenceEntry {
    ok: bool,
    #[serde(default)]
    summary: String,
}

fn evidence(question: &MergeQuestion, request: Option<Request>, head: &str) -> Result<Evidence, ServiceError> {
    let mut evidence = Evidence { head: head.to_owned(), ..Evidence::default() };
    if let Some(request) = request {
        evidence.author = Some(request.author);
        evidence.reviews = request.reviews;
    }
    if let Some(path) = &question.evidence {
        let text = disk::source(path)?;
        let entries: BTreeMap<String, EvidenceEntry> = serde_json::from_str(&text).map_err(|error| {
            ServiceError::refused(
                "bad_evidence",
                format!("`{}` is not valid evidence: {error}", path.display()),
                "write `{\"owasp\": {\"ok\": true, \"summary\": \"…\"}}`",
            )
        })?;
        let findings =
            entries.into_iter().map(|(name, entry)| (name, MergeFinding { is_ok: entry.ok, summary: entry.summary }));
        evidence.findings = findings.collect();
    }
    Ok(evidence)
}

/// The maximum number of reasons in the log. The answer contains all of them.
const MAX_RECORDED: usize = 50;

fn record(project: &Path, question: &MergeQuestion, ruled: &MergeRuling) -> Result<(), ServiceError> {
    let MergeRuling { ruling, base, head, .. } = ruled;
    let recorded = ruling.reasons.iter().take(MAX_RECORDED);
    let reasons: Vec<String> =
        recorded.map(|reason| format!("{}:{}: {}", reason.path, reason.line, reason.message)).collect();
    let data = json!({
        "verdict": ruling.verdict, "score": ruling.score, "base": base, "head": head, "pr": question.request,
        "shape": ruling.shape, "count": ruling.reasons.len(), "reasons": reasons,
    });
    Log::of_project(project)?.append(&[LogEntry::of(Kind::MergeGateVerdict, data)], Durability::Synced)?;
    Ok(())
}
