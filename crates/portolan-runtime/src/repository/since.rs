//! What has changed in a repository since a moment: what was checked out then is in its history, and of what was not
//! committed then it is kept what it was known by. So nothing is written into the repository.

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

/// The most files that are not committed, for it to be noted how all stand.
const MOST_LOOSE: usize = 1_000;
/// The largest file that is looked into.
const MOST_FILE_BYTES: u64 = 4 << 20;
/// The most files that are told.
const MOST_FILES: usize = 500;
/// The most files whose changes are told line by line.
const MOST_DIFFS: usize = 100;
/// How much is told of all of them, line by line.
const MOST_BYTES: usize = 200 * 1024;
/// What stands for the content of a file that is not there, and of one that is not looked into.
const GONE: &str = "gone";
const LARGE: &str = "large";

/// How the files of a repository stand at a moment: what is checked out, and what each file that is not committed is
/// known by. Nothing of what is in them is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSnapshot {
    /// The commit that is checked out; where there is none yet, the tree that has nothing in it.
    pub commit: String,
    /// Whether nothing is committed yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unborn: bool,
    loose: BTreeMap<String, String>,
}

/// What has changed since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileChanges {
    /// The files, by their paths in the repository.
    pub files: Vec<ChangedFile>,
    /// Whether there is more than is told.
    pub cut: bool,
}

/// A file that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Its path.
    pub path: String,
    /// Whether it was `added`, `changed` or `removed`.
    pub how: &'static str,
    /// The changes, line by line; nothing where they are not told.
    pub diff: Option<String>,
    /// Why they are not told.
    pub note: Option<&'static str>,
}

const BINARY: &str = "it is no text";
const MIXED: &str = "it had changes that were not committed when the step began, and how it stood then is not kept";
const LONG: &str = "it is more than is shown";

impl Repository {
    /// How the files stand now, and with them these besides, by their paths in the project, whatever git knows of them.
    ///
    /// # Errors
    /// There is no repository, or too much that is not committed; or git cannot say.
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

    /// What has changed since the files stood so.
    ///
    /// # Errors
    /// What was checked out then is not there any more; or git cannot say.
    pub async fn changes_since(&self, then: &FileSnapshot) -> Result<FileChanges, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let mut telling = Telling { git: &git, then, told: FileChanges::default(), left: MOST_BYTES, diffs: 0 };
        for (path, differs) in then.found(&git).await? {
            telling.tell(path, &differs).await?;
        }
        Ok(telling.told)
    }

    /// The same, by paths relative to the project.
    ///
    /// # Errors
    /// As of [`Repository::changes_since`].
    pub(crate) async fn changes_from_project(&self, then: &FileSnapshot) -> Result<FileChanges, FactError> {
        let within = Git::open(self.project(), self.environment()).await?.within();
        let mut changes = self.changes_since(then).await?;
        for file in &mut changes.files {
            file.path = from_project(&file.path, &within);
        }
        Ok(changes)
    }

    /// The paths of the files that have changed since the files stood so, relative to the project.
    ///
    /// # Errors
    /// As of [`Repository::changes_since`].
    pub async fn paths_since(&self, then: &FileSnapshot) -> Result<Vec<String>, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let within = git.within();
        Ok(then.found(&git).await?.into_keys().map(|path| from_project(&path, &within)).collect())
    }

    /// Whether a file of the project has changed since the files stood so.
    ///
    /// # Errors
    /// As of [`Repository::changes_since`].
    pub async fn has_changed(&self, path: &str, then: &FileSnapshot) -> Result<bool, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let path = format!("{}{path}", git.within());
        match then.loose.get(&path) {
            Some(before) => Ok(*before == LARGE || *before != content(&git.top.join(&path))),
            None => Ok(then.found(&git).await?.contains_key(&path)),
        }
    }

    /// Where the worktree begins, and the files that have changed since the files stood so, by their paths from there, each
    /// with whether git does not know it.
    ///
    /// # Errors
    /// As of [`Repository::changes_since`].
    pub(crate) async fn touched_since(
        &self,
        then: &FileSnapshot,
    ) -> Result<(PathBuf, BTreeMap<String, bool>), FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        let found = then.found(&git).await?;
        Ok((git.top.clone(), found.into_iter().map(|(path, differs)| (path, differs.is_new)).collect()))
    }

    /// Where marks of conflicts have been left since the files stood so: paths in the repository, and lines.
    ///
    /// # Errors
    /// As of [`Repository::changes_since`].
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
            // A row of `=` by itself may underline a heading.
            let is_mark = |line: &[u8]| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> ");
            let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
            let mut lines = lines.filter(|(number, _)| at.is_none_or(|at| at.contains(number)));
            marks.extend(lines.find(|(_, line)| is_mark(line)).map(|(number, _)| (path.clone(), number)));
        }
        Ok(marks)
    }

    /// The commits that have come to what is checked out since the files stood so, the latest first: without merges, and
    /// without those that a remote has on other branches than this one. None where all of them together change nothing.
    ///
    /// # Errors
    /// As of [`Repository::changes_since`].
    pub async fn commits_since(&self, then: &FileSnapshot) -> Result<Vec<Commit>, FactError> {
        let git = Git::open(self.project(), self.environment()).await?;
        // A commit that changes nothing is no work.
        if git.head_oid().await?.is_none() || !git.differs_from_head(&then.commit).await? {
            return Ok(Vec::new());
        }
        let branch = git.head_branch().await?;
        let base: Vec<&str> = Some(then.commit.as_str()).filter(|_| !then.unborn).into_iter().collect();
        Ok(git.own_range("HEAD", &base, branch.as_deref()).await?.commits)
    }
}

/// What a remote has of what is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OnRemote {
    /// There is no remote.
    NoRemote,
    /// No branch is checked out, or it has no commit.
    NoBranch,
    /// The remote, the branch, and whether it has the commit there.
    Has(String, String, bool),
}

impl Repository {
    /// Whether the remote that the present branch is pushed to has the commit that is checked out: it is asked anew.
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
            // What the remote has besides may not be known here, and then is told apart by nobody.
            Some(theirs) => git.is_ancestor(&head, &theirs).await.unwrap_or(false),
            None => false,
        };
        Ok(OnRemote::Has(remote, branch, has))
    }
}

impl FileSnapshot {
    /// The files that stand otherwise now.
    async fn found(&self, git: &Git) -> Result<BTreeMap<String, Differs>, FactError> {
        if !is_oid(&self.commit) {
            return Err(unknown("no-commit", "what was checked out then is named by no commit"));
        }
        let mut found = git.differing(&self.commit).await?;
        for (path, is_new) in git.loose().await? {
            if is_new {
                found.insert(path, Differs { how: "added", is_binary: false, is_new });
            }
        }
        // What was not committed then may be as it was committed by now.
        let known: BTreeSet<&String> = found.keys().collect();
        let lost: Vec<String> = self.loose.keys().filter(|path| !known.contains(path)).cloned().collect();
        for path in lost {
            let how = if git.top.join(&path).symlink_metadata().is_ok() { "changed" } else { "removed" };
            found.insert(path, Differs { how, is_binary: false, is_new: false });
        }
        // What Portolan locks folders with is nobody's change.
        let is_lock = |path: &str| Path::new(path).file_name().is_some_and(|name| name == LOCK_FILE);
        let is_same = |path: &String| {
            self.loose.get(path).is_some_and(|before| before != LARGE && *before == content(&git.top.join(path)))
        };
        found.retain(|path, _| !is_lock(path) && !is_same(path));
        Ok(found)
    }
}

/// A path in the repository as the project has it.
fn from_project(path: &str, within: &str) -> String {
    match path.strip_prefix(within) {
        Some(path) => path.to_owned(),
        None => format!("{}{path}", "../".repeat(within.matches('/').count())),
    }
}

/// How a file differs from what was committed.
pub(super) struct Differs {
    pub(super) how: &'static str,
    pub(super) is_binary: bool,
    /// Whether git does not know it.
    pub(super) is_new: bool,
}

struct Telling<'t> {
    git: &'t Git,
    then: &'t FileSnapshot,
    told: FileChanges,
    /// How many bytes may still be told.
    left: usize,
    diffs: usize,
}

impl Telling<'_> {
    async fn tell(&mut self, path: String, differs: &Differs) -> Result<(), FactError> {
        let file = self.git.top.join(&path);
        let before = self.then.loose.get(&path);
        if self.told.files.len() >= MOST_FILES {
            self.told.cut = true;
            return Ok(());
        }
        let (diff, note) = match before {
            Some(_) => (None, Some(MIXED)),
            None if differs.is_binary => (None, Some(BINARY)),
            None if self.left == 0 || self.diffs >= MOST_DIFFS => (None, Some(LONG)),
            None => self.lines(&path, &file, differs).await?,
        };
        self.told.cut |= note == Some(LONG);
        self.told.files.push(ChangedFile { path, how: differs.how, diff, note });
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

/// What the content of a file is known by.
fn content(file: &Path) -> String {
    match disk::bytes(file, MOST_FILE_BYTES) {
        Ok(Some(bytes)) => Digest::of(bytes).to_string(),
        Err(error) if error.kind() == ErrorKind::NotFound => GONE.to_owned(),
        _ => LARGE.to_owned(),
    }
}
