//! The content of a project's files, as the ID of a git tree.
//!
//! Git computes it on a copy of the index, and writes objects into a temporary folder. Neither the index nor the
//! repository changes, and a read-only repository can be used as well.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileTimes};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use portolan_gates::facts::FactError;
use portolan_gates::names::is_oid;
use tempfile::TempDir;

use crate::program::own;
use crate::program::{Output, Question, ask, unknown};

/// The timeout. Hashing what has changed takes longer than other queries; a repository that needs longer gets no
/// verdict.
const TIMEOUT: Duration = Duration::from_secs(30);
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// Which content is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The files in the worktree: tracked, or neither tracked nor ignored.
    Worktree,
    /// The staged files. If git names the index that it commits (`GIT_INDEX_FILE`, in its hooks), that index.
    Index,
}

/// Returns the ID of the tree of the repository's content around `project`.
pub(super) async fn tree(
    project: &Path,
    content: Content,
    environment: &[(OsString, OsString)],
) -> Result<String, FactError> {
    let mut git = Git { project, environment: own(environment) };
    let paths =
        ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-path", "index", "--git-path", "objects"];
    let output = git.output(&paths).await?;
    let [top, index, objects] = output.lines().collect::<Vec<_>>()[..] else {
        return Err(unknown("git-failed", "`git` does not report where its index is; update `git`"));
    };
    let index = match content {
        Content::Worktree => PathBuf::from(index),
        Content::Index => given_index(environment, top).unwrap_or_else(|| PathBuf::from(index)),
    };
    let folder = tempfile::tempdir().map_err(|error| no_room(&error))?;
    let copy = folder.path().join("index");
    copy_index(&index, &copy).map_err(|error| no_room(&error))?;
    fs::create_dir(folder.path().join("objects")).map_err(|error| no_room(&error))?;
    git.environment.push(("GIT_INDEX_FILE".into(), copy.into()));
    git.environment.push(("GIT_OBJECT_DIRECTORY".into(), folder.path().join("objects").into()));
    git.environment.push(("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), listed(objects).into()));
    if content == Content::Worktree {
        git.look_at(&git.passed_over().await?).await?;
        git.output(&["add", "--all", "--", ":/"]).await?;
    }
    let tree = git.output(&["write-tree"]).await?;
    let tree = tree.trim_end();
    match is_oid(tree) {
        true => Ok(tree.to_owned()),
        false => Err(unknown("git-failed", "`git write-tree` did not return a tree; try again")),
    }
}

/// A temporary copy of the index, deleted on drop.
#[derive(Debug)]
pub(crate) struct IndexCopy(TempDir);

impl IndexCopy {
    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("index")
    }
}

/// Returns a copy of the index with which git checks every file. Returns `None` if its own index already does so.
pub(crate) async fn whole_index(
    project: &Path,
    environment: &[(OsString, OsString)],
) -> Result<Option<IndexCopy>, FactError> {
    let mut git = Git { project, environment: own(environment) };
    let paths = git.passed_over().await?;
    if paths.is_empty() {
        return Ok(None);
    }
    let index = git.output(&["rev-parse", "--path-format=absolute", "--git-path", "index"]).await?;
    let copy = IndexCopy(tempfile::tempdir().map_err(|error| no_room(&error))?);
    copy_index(Path::new(index.trim_end_matches('\n')), &copy.path()).map_err(|error| no_room(&error))?;
    git.environment.push(("GIT_INDEX_FILE".into(), copy.path().into()));
    git.look_at(&paths).await?;
    Ok(Some(copy))
}

fn given_index(environment: &[(OsString, OsString)], top: &str) -> Option<PathBuf> {
    let value = environment.iter().rev().find(|(name, _)| name == OsStr::new("GIT_INDEX_FILE")).map(|(_, value)| value);
    value.filter(|value| !value.is_empty()).map(|value| Path::new(top).join(value))
}

/// Copies an index with its modification time, from which git finds files that may have changed in the moment of
/// writing. A missing index has no copy either.
fn copy_index(index: &Path, copy: &Path) -> io::Result<()> {
    let mut from = match File::open(index) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let written = from.metadata()?.modified()?;
    let mut to = File::create(copy)?;
    io::copy(&mut from, &mut to)?;
    to.set_times(FileTimes::new().set_modified(written))
}

/// Quotes a folder for git's lists of folders.
fn listed(folder: &str) -> String {
    match folder.contains([':', '"']) {
        true => format!("\"{}\"", folder.replace('\\', "\\\\").replace('"', "\\\"")),
        false => folder.to_owned(),
    }
}

fn no_room(error: &io::Error) -> FactError {
    unknown("no-copy", format!("the index cannot be copied ({error}); make room for temporary files"))
}

/// Runs git without the programs that the configuration names.
pub(super) struct Git<'g> {
    pub(super) project: &'g Path,
    pub(super) environment: Vec<(OsString, OsString)>,
}

impl Git<'_> {
    /// Returns the files that git was told to skip (`--skip-worktree`, `--assume-unchanged`), each followed by a NUL.
    /// Missing files, as in a sparse checkout, count as unchanged and are left out.
    async fn passed_over(&self) -> Result<String, FactError> {
        let output = self.output(&["ls-files", "-z", "-v", "--", ":/"]).await?;
        let entries = output.split('\0').filter_map(|entry| entry.split_once(' '));
        let passed_over = entries.filter(|(tag, _)| *tag == "S" || tag.starts_with(|c: char| c.is_ascii_lowercase()));
        let lie_there =
            passed_over.map(|(_, path)| path).filter(|path| self.project.join(path).symlink_metadata().is_ok());
        Ok(lie_there.flat_map(|path| [path, "\0"]).collect())
    }

    /// Clears the flags that make git skip these files.
    async fn look_at(&self, paths: &str) -> Result<(), FactError> {
        if paths.is_empty() {
            return Ok(());
        }
        for flag in ["--no-skip-worktree", "--no-assume-unchanged"] {
            let output = self.ask_with(&["update-index", flag, "-z", "--stdin"], paths.as_bytes()).await?;
            if output.code != Some(0) {
                return Err(refused("update-index", &output));
            }
        }
        Ok(())
    }

    /// Returns the output of a command that must succeed.
    pub(super) async fn output(&self, arguments: &[&str]) -> Result<String, FactError> {
        let output = self.ask(arguments).await?;
        match output.code {
            Some(0) => Ok(output.stdout),
            _ => Err(refused(arguments[0], &output)),
        }
    }

    /// Returns the output, or `None` if git answers no (status 1).
    pub(super) async fn perhaps(&self, arguments: &[&str]) -> Result<Option<String>, FactError> {
        let output = self.ask(arguments).await?;
        match output.code {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            _ => Err(refused(arguments[0], &output)),
        }
    }

    async fn ask(&self, arguments: &[&str]) -> Result<Output, FactError> {
        self.ask_with(arguments, &[]).await
    }

    async fn ask_with(&self, arguments: &[&str], input: &[u8]) -> Result<Output, FactError> {
        // Otherwise git would start hooks and file system monitors that the configuration names.
        let mut all = vec!["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
        all.extend(["-c", "core.safecrlf=false", "-c", "advice.addEmbeddedRepo=false", "-c", "core.splitIndex=false"]);
        all.extend_from_slice(arguments);
        ask(Question {
            program: "git",
            arguments: &all,
            folder: self.project,
            environment: &self.environment,
            input,
            timeout: TIMEOUT,
            most_bytes: MOST_BYTES,
        })
        .await
    }
}

fn refused(verb: &str, output: &Output) -> FactError {
    match output.stderr.contains("not a git repository") {
        true => unknown("no-repository", "the project is not in a git repository; run `git init`"),
        false => unknown("git-failed", format!("`git {verb}` failed: {}", output.complaint())),
    }
}
