//! Queries to git about two commits.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use portolan_core::diagnostic::clip;
use portolan_gates::merge::{DeclaringCommit, Diff, FileChange};

use super::objects::{self, SideRequest};
use crate::error::ServiceError;
use crate::program::{Question, Raw as Said, ask_raw};
use crate::repository::Repository;

/// The maximum size of git's output, in bytes.
const MAX_ANSWER: usize = 64 << 20;
/// The maximum number of files that a branch may change.
const MAX_FILES: usize = 50_000;

/// The timeout of git.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The commits of a repository.
pub(super) struct Commits<'r> {
    repository: &'r Repository,
    environment: Vec<(OsString, OsString)>,
}

/// A differing file in git's output.
#[derive(Default)]
struct Raw {
    from: Option<String>,
    path: String,
    before: SideRequest,
    after: SideRequest,
    added: u64,
    deleted: u64,
}

impl<'r> Commits<'r> {
    pub(super) fn of(repository: &'r Repository) -> Commits<'r> {
        Commits { repository, environment: repository.environment() }
    }

    /// Runs git, without the programs that the repository's settings name.
    pub(super) async fn git(&self, arguments: &[&str], input: Vec<u8>) -> Result<Said, ServiceError> {
        let always = ["-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "diff.renameLimit=2000"];
        let mut all = vec!["--no-pager"];
        all.extend(always);
        all.extend(arguments);
        let question = Question {
            program: "git",
            arguments: &all,
            folder: self.repository.project(),
            environment: &self.environment,
            input: &input,
            timeout: TIMEOUT,
            most_bytes: MAX_ANSWER,
        };
        ask_raw(question).await.map_err(|unknown| {
            let verb = arguments.first().copied().unwrap_or_default();
            let message = format!("`git {verb}` cannot be run: {}", unknown.why);
            ServiceError::refused("git_failed", message, "check whether git is installed")
        })
    }

    /// Returns the output of a command that must succeed.
    async fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, ServiceError> {
        let answer = self.git(arguments, Vec::new()).await?;
        match answer.code {
            Some(0) => Ok(answer.stdout),
            _ => Err(ServiceError::refused(
                "git_failed",
                format!(
                    "`git {}` failed: {}",
                    arguments.first().copied().unwrap_or_default(),
                    clip(&answer.complaint())
                ),
                "check whether this is a repository that has both commits and everything between them",
            )),
        }
    }

    /// Returns the commit that a revision names.
    pub(super) async fn commit(&self, word: &str) -> Result<String, ServiceError> {
        let unknown = || {
            ServiceError::refused(
                "unknown_commit",
                format!("`{}` is not a commit of this repository", clip(word)),
                "name a commit or a branch; `git fetch` gets those of others",
            )
        };
        if word.is_empty() || word.starts_with('-') {
            return Err(unknown());
        }
        let named = format!("{word}^{{commit}}");
        let answer = self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named], Vec::new()).await?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let id = text.lines().next_back().unwrap_or_default().trim();
        let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if answer.code == Some(0) && is_id { Ok(id.to_owned()) } else { Err(unknown()) }
    }

    /// Returns the text of a file of a commit, or `None` if there is no regular file at this path.
    /// A binary or overlong file is an error.
    pub(super) async fn text_at(&self, commit: &str, path: &str) -> Result<Option<String>, ServiceError> {
        let listed = self.output(&["ls-tree", "-z", "--full-tree", commit, "--", path]).await?;
        let listed = String::from_utf8_lossy(&listed);
        let Some((entry, _)) = listed.split_once('\t') else { return Ok(None) };
        let mut words = entry.split(' ');
        let (mode, kind, id) = (words.next().unwrap_or_default(), words.next(), words.next().unwrap_or_default());
        if kind != Some("blob") || mode == "120000" {
            return Ok(None);
        }
        let wanted = SideRequest::Blob(id.to_owned());
        let mut texts = objects::texts(self, &[&wanted]).await?;
        match texts.remove(id) {
            Some(text) => Ok(Some(text)),
            None => Err(ServiceError::refused(
                "unreadable",
                format!("`{}` of the commit {commit} is not text, or is too long", clip(path)),
                "fix it there first",
            )),
        }
    }

    /// Returns the messages of the commits that would be merged.
    pub(super) async fn commits(&self, base: &str, head: &str) -> Result<Vec<DeclaringCommit>, ServiceError> {
        let range = format!("{base}..{head}");
        let output = self
            .output(&[
                "log",
                "-z",
                "--no-show-signature",
                "--no-notes",
                "--no-patch",
                "--encoding=UTF-8",
                "--no-color",
                "--format=%H%n%B",
                &range,
                "--",
            ])
            .await?;
        let text = String::from_utf8_lossy(&output);
        let commits = text.split('\0').filter_map(|commit| commit.split_once('\n'));
        Ok(commits.map(|(id, message)| DeclaringCommit { id: id.to_owned(), message: message.to_owned() }).collect())
    }

    /// Returns the changes since `head` branched off `base`.
    pub(super) async fn diff(&self, base: &str, head: &str) -> Result<Diff, ServiceError> {
        self.differences(&format!("{base}...{head}"), Path::new("")).await
    }

    /// Returns how the tracked files of the worktree at `top` differ from a commit or a tree.
    pub(super) async fn diff_to_files(&self, base: &str, top: &Path) -> Result<Diff, ServiceError> {
        self.differences(base, top).await
    }

    async fn differences(&self, range: &str, top: &Path) -> Result<Diff, ServiceError> {
        let arguments = [
            "diff",
            "--raw",
            "--numstat",
            "-z",
            "-M",
            "--no-abbrev",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-relative",
            "--ignore-submodules=none",
            range,
            "--",
        ];
        let output = self.output(&arguments).await?;
        let raw = parsed(&output).ok_or_else(|| {
            ServiceError::refused(
                "git_failed",
                "the output of `git diff` cannot be read",
                "check whether git is 2.30 or newer",
            )
        })?;
        if raw.len() > MAX_FILES {
            let message = format!("the branch changes {} files, more than {MAX_FILES}", raw.len());
            return Err(ServiceError::refused("too_large", message, "merge it in parts"));
        }
        let wanted: Vec<&SideRequest> = raw.iter().flat_map(|file| [&file.before, &file.after]).collect();
        let texts = objects::texts(self, &wanted).await?;
        let change = |file: Raw| FileChange {
            before: file.before.text(&texts, top),
            after: file.after.text(&texts, top),
            path: file.path,
            from: file.from,
            added: file.added,
            deleted: file.deleted,
        };
        Ok(Diff { files: raw.into_iter().map(change).collect() })
    }
}

/// Parses `--raw --numstat -z`: first one record per file that begins with a colon, then one with its line counts.
fn parsed(output: &[u8]) -> Option<Vec<Raw>> {
    let text = String::from_utf8_lossy(output);
    let mut parts = text.split('\0').peekable();
    let mut files: Vec<Raw> = Vec::new();
    while let Some(meta) = parts.next_if(|part| part.starts_with(':')) {
        let words: Vec<&str> = meta[1..].split(' ').collect();
        let &[mode_before, mode_after, before, after, status] = words.as_slice() else { return None };
        let path = parts.next()?.to_owned();
        let mut file = Raw { path, ..Raw::default() };
        if status.starts_with(['R', 'C']) {
            let to = parts.next()?.to_owned();
            // The original of a copy still exists.
            file.from = Some(std::mem::replace(&mut file.path, to)).filter(|_| status.starts_with('R'));
        }
        let is_copy = status.starts_with('C');
        file.before = if is_copy {
            SideRequest::Nothing
        } else {
            SideRequest::of(mode_before, before, file.from.as_deref().unwrap_or(&file.path))
        };
        file.after = SideRequest::of(mode_after, after, &file.path);
        files.push(file);
    }
    let at: std::collections::BTreeMap<String, usize> =
        files.iter().enumerate().map(|(at, file)| (file.path.clone(), at)).collect();
    while let Some(numbers) = parts.next().filter(|part| !part.is_empty()) {
        let mut words = numbers.splitn(3, '\t');
        let (added, deleted, mut path) = (words.next()?, words.next()?, words.next()?);
        if path.is_empty() {
            parts.next()?;
            path = parts.next()?;
        }
        let file = &mut files[*at.get(path)?];
        // Binary files have `-` instead of counts.
        (file.added, file.deleted) = (added.parse().unwrap_or(0), deleted.parse().unwrap_or(0));
    }
    Some(files)
}
