//! The changes in a repository since a moment. A snapshot records the commit that was checked out, and a digest of each
//! file that was not committed. It writes nothing into the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use portolan_gates::facts::{Commit, FactError};
use portolan_gates::names::is_oid;
use serde::{Deserialize, Serialize};

use super::Repository;
use super::git::Git;
use crate::digest::Digest;
use crate::disk::{self, LOCK_FILE};
use crate::program::unknown;

/// The maximum number of uncommitted files in a snapshot.
const MOST_LOOSE: usize = 1_000;
/// The maximum size of a file that is read.
const MOST_FILE_BYTES: u64 = 4 << 20;
/// The maximum number of files that are listed.
const MOST_FILES: usize = 500;
/// The maximum number of files with a line diff.
const MOST_DIFFS: usize = 100;
/// The maximum size of all line diffs together.
const MOST_BYTES: usize = 200 * 1024;
/// Stand for the content of a missing file, and of one too large to be read.
const GONE: &str = "gone";
const LARGE: &str = "large";

/// The state of a repository's files at a moment: the commit checked out, and a digest of each uncommitted file. It
/// contains none of their content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSnapshot {
    /// The commit that is checked out, or the empty tree if there is no commit yet.
    pub commit: String,
    /// Whether there is no commit yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unborn: bool,
    loose: BTreeMap<String, String>,
}

/// The changes since a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileChanges {
    /// The changed files, by their paths in the repository.
    pub files: Vec<ChangedFile>,
    /// Whether changes were left out.
    pub cut: bool,
}

/// A file that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// The path.
    pub path: String,
    /// One of `added`, `changed` and `removed`.
    pub how: &'static str,
    /// The line diff, or `None` if it is left out.
    pub diff: Option<String>,
    /// Why the line diff is left out or cut.
    pub note: Option<&'static str>,
}

const BINARY: &str = "it is not text";
const MIXED: &str = "it had uncommitted changes when the step began, and its content at that time was not kept";
const LONG: &str = "it is too long to show in full";

impl Repository {
    /// Takes a snapshot of the files, including `besides`, given by their paths in the project, whether git tracks them
    /// or not.
    ///
    /// # Errors
    /// There is no repository, too many files are not committed, or git fails.
    pub async fn standing(&self, besides: &BTreeSet<String>) -> Result<FileSnapshot, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let (commit, unborn) = match git.head_oid().await? {
            Some(commit) => (commit, false),
            None => (git.empty_tree().await?, true),
        };
        let loose = git.loose().await?;
        if loose.len() > MOST_LOOSE {
            return Err(unknown("too-much", format!("more than {MOST_LOOSE} files are not committed")));
        }
        let within = git.within();
        let besides = besides.iter().map(|path| format!("{within}{path}"));
        let paths: BTreeSet<String> = loose.into_keys().chain(besides).collect();
        let loose = paths.into_iter().map(|path| (content(&git.top.join(&path)), path));
        Ok(FileSnapshot { commit, unborn, loose: loose.map(|(content, path)| (path, content)).collect() })
    }

    /// Returns the changes since a snapshot.
    ///
    /// # Errors
    /// The commit of the snapshot is missing, or git fails.
    pub async fn changes_since(&self, then: &FileSnapshot) -> Result<FileChanges, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let mut telling =
            ChangesBuilder { git: &git, then, changes: FileChanges::default(), left: MOST_BYTES, diffs: 0 };
        for (path, differs) in then.found(&git).await? {
            telling.tell(path, &differs).await?;
        }
        Ok(telling.changes)
    }

    /// Like [`changes_since`](Repository::changes_since), with paths relative to the project.
    ///
    /// # Errors
    /// As for [`Repository::changes_since`].
    pub(crate) async fn changes_from_project(&self, then: &FileSnapshot) -> Result<FileChanges, FactError> {
        let within = Git::open(self.project(), self.environment()).await?.within();
        let mut changes = self.changes_since(then).await?;
        for file in &mut changes.files {
            file.path = from_project(&file.path, &within);
        }
        Ok(changes)
    }

    /// Returns the paths of the files that have changed since a snapshot, relative to the project.
    ///
    /// # Errors
    /// As for [`Repository::changes_since`].
    pub async fn paths_since(&self, then: &FileSnapshot) -> Result<Vec<String>, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let within = git.within();
        Ok(then.found(&git).await?.into_keys().map(|path| from_project(&path, &within)).collect())
    }

    /// Checks whether a file of the project has changed since a snapshot.
    ///
    /// # Errors
    /// As for [`Repository::changes_since`].
    pub async fn has_changed(&self, path: &str, then: &FileSnapshot) -> Result<bool, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let path = format!("{}{path}", git.within());
        match then.loose.get(&path) {
            Some(before) => Ok(*before == LARGE || *before != content(&git.top.join(&path))),
            None => Ok(then.found(&git).await?.contains_key(&path)),
        }
    }

    /// Returns the top of the worktree, and the files that have changed since a snapshot, by their paths from there,
    /// each with whether it is untracked.
    ///
    /// # Errors
    /// As for [`Repository::changes_since`].
    pub(crate) async fn touched_since(
        &self,
        then: &FileSnapshot,
    ) -> Result<(PathBuf, BTreeMap<String, bool>), FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let found = then.found(&git).await?;
        Ok((git.top.clone(), found.into_iter().map(|(path, differs)| (path, differs.is_new)).collect()))
    }

    /// Returns the first conflict marker of each file that has one since a snapshot: its path in the repository, and
    /// the line.
    ///
    /// # Errors
    /// As for [`Repository::changes_since`].
    pub async fn marks_since(&self, then: &FileSnapshot) -> Result<Vec<(String, u64)>, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let found = then.found(&git).await?;
        let known = git.marks(&then.commit).await?;
        let mut marks = Vec::new();
        for (path, differs) in &found {
            let at = known.get(path);
            if at.is_none() && !differs.is_new {
                continue;
            }
            let Ok(Some(bytes)) = disk::bytes(&git.top.join(path), MOST_FILE_BYTES) else { continue };
            // A line of `=` alone may underline a heading.
            let is_mark = |line: &[u8]| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> ");
            let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
            let mut lines = lines.filter(|(number, _)| at.is_none_or(|at| at.contains(number)));
            marks.extend(lines.find(|(_, line)| is_mark(line)).map(|(number, _)| (path.clone(), number)));
        }
        Ok(marks)
    }

    /// Returns the commits that were added to the head since a snapshot, the latest first. Leaves out merges, and
    /// commits that a remote has on other branches than this one. Returns none if all of them together change nothing.
    ///
    /// # Errors
    /// As for [`Repository::changes_since`].
    pub async fn commits_since(&self, then: &FileSnapshot) -> Result<Vec<Commit>, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        // Commits without any change do not count as work.
        if git.head_oid().await?.is_none() || !git.differs_from_head(&then.commit).await? {
            return Ok(Vec::new());
        }
        let branch = git.head_branch().await?;
        let base: Vec<&str> = Some(then.commit.as_str()).filter(|_| !then.unborn).into_iter().collect();
        Ok(git.own_range("HEAD", &base, branch.as_deref()).await?.commits)
    }
}

/// Whether a remote has the head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OnRemote {
    /// There is no remote.
    NoRemote,
    /// No branch is checked out, or it has no commit.
    NoBranch,
    /// The remote, the branch, and whether the remote's branch contains the commit.
    Has(String, String, bool),
}

impl Repository {
    /// Queries the remote that the present branch is pushed to, and checks whether it has the head.
    ///
    /// # Errors
    /// There is no repository, or the remote does not answer.
    pub(crate) async fn on_remote(&self) -> Result<OnRemote, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let (Some(branch), Some(head)) = (git.head_branch().await?, git.head_oid().await?) else {
            return Ok(OnRemote::NoBranch);
        };
        let Some(remote) = git.push_remote(&branch).await? else { return Ok(OnRemote::NoRemote) };
        let has = match git.remote_head(&remote, &branch).await? {
            Some(theirs) if theirs == head => true,
            // The remote's commit may be unknown here; then it cannot be compared.
            Some(theirs) => git.is_ancestor(&head, &theirs).await.unwrap_or(false),
            None => false,
        };
        Ok(OnRemote::Has(remote, branch, has))
    }
}

impl FileSnapshot {
    /// Returns the files that differ from the snapshot.
    async fn found(&self, git: &Git) -> Result<BTreeMap<String, Differs>, FactError> {
        if !is_oid(&self.commit) {
            return Err(unknown("no-commit", "what was checked out at that time is not recorded as a commit"));
        }
        let mut found = git.differing(&self.commit).await?;
        for (path, is_new) in git.loose().await? {
            if is_new {
                found.insert(path, Differs { how: "added", is_binary: false, is_new });
            }
        }
        // A file that was uncommitted then may equal the commit by now.
        let known: BTreeSet<&String> = found.keys().collect();
        let lost: Vec<String> = self.loose.keys().filter(|path| !known.contains(path)).cloned().collect();
        for path in lost {
            let how = if git.top.join(&path).symlink_metadata().is_ok() { "changed" } else { "removed" };
            found.insert(path, Differs { how, is_binary: false, is_new: false });
        }
        // Portolan's own lock files are not the user's changes.
        let is_lock = |path: &str| Path::new(path).file_name().is_some_and(|name| name == LOCK_FILE);
        let is_same = |path: &String| {
            self.loose.get(path).is_some_and(|before| before != LARGE && *before == content(&git.top.join(path)))
        };
        found.retain(|path, _| !is_lock(path) && !is_same(path));
        Ok(found)
    }
}

/// Converts a path in the repository to one relative to the project.
fn from_project(path: &str, within: &str) -> String {
    match path.strip_prefix(within) {
        Some(path) => path.to_owned(),
        None => format!("{}{path}", "../".repeat(within.matches('/').count())),
    }
}

/// How a file differs from the commit.
pub(super) struct Differs {
    pub(super) how: &'static str,
    pub(super) is_binary: bool,
    /// Whether it is untracked.
    pub(super) is_new: bool,
}

struct ChangesBuilder<'t> {
    git: &'t Git,
    then: &'t FileSnapshot,
    changes: FileChanges,
    /// How many bytes of diffs still fit.
    left: usize,
    diffs: usize,
}

impl ChangesBuilder<'_> {
    async fn tell(&mut self, path: String, differs: &Differs) -> Result<(), FactError> {
        let file = self.git.top.join(&path);
        let before = self.then.loose.get(&path);
        if self.changes.files.len() >= MOST_FILES {
            self.changes.cut = true;
            return Ok(());
        }
        let (diff, note) = match before {
            Some(_) => (None, Some(MIXED)),
            None if differs.is_binary => (None, Some(BINARY)),
            None if self.left == 0 || self.diffs >= MOST_DIFFS => (None, Some(LONG)),
            None => self.lines(&path, &file, differs).await?,
        };
        self.changes.cut |= note == Some(LONG);
        self.changes.files.push(ChangedFile { path, how: differs.how, diff, note });
        Ok(())
    }

    async fn lines(
        &mut self,
        path: &str,
        file: &Path,
        differs: &Differs,
    ) -> Result<(Option<String>, Option<&'static str>), FactError> {
        self.diffs += 1;
        let text = match differs.is_new {
            false => self.git.diff(&self.then.commit, path).await?,
            true => match disk::bytes(file, MOST_FILE_BYTES) {
                Ok(Some(bytes)) if !bytes.contains(&0) => match String::from_utf8(bytes) {
                    Ok(text) => text.lines().map(|line| format!("+{line}\n")).collect(),
                    Err(_) => return Ok((None, Some(BINARY))),
                },
                Ok(Some(_)) => return Ok((None, Some(BINARY))),
                _ => return Ok((None, Some(LONG))),
            },
        };
        let fits = text.len() <= self.left;
        let end = text.floor_char_boundary(self.left.min(text.len()));
        self.left -= end;
        Ok((Some(text[..end].to_owned()), (!fits).then_some(LONG)))
    }
}

/// Returns the digest of a file's content.
fn content(file: &Path) -> String {
    match disk::bytes(file, MOST_FILE_BYTES) {
        Ok(Some(bytes)) => Digest::of(bytes).to_string(),
        Err(error) if error.kind() == ErrorKind::NotFound => GONE.to_owned(),
        _ => LARGE.to_owned(),
    }
}
