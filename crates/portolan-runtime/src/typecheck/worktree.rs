//! The committed files: a worktree of HEAD below `.portolan`, which exists while a type checker runs.
//!
//! Checkers need files that git ignores (installed packages, build output); these are linked into the worktree. So are
//! submodules that are at the commit that HEAD names. Only one type check at a time has such a worktree. The next one
//! removes what a killed process left behind.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use portolan_gates::Guidelines;
use portolan_gates::facts::FactError;
use portolan_gates::names::is_oid;

use super::content::Git;
use crate::disk::try_alone;
use crate::program::own;
use crate::program::unknown;
use crate::project_folder;

/// The maximum number of paths that are linked into a worktree.
const MOST_LINKS: usize = 10_000;

/// Returns the tree of the branch's committed work. Returns `None` if there is no commit, or if an integration branch
/// has it.
pub(super) async fn tree(
    project: &Path,
    guidelines: &Guidelines,
    environment: &[(OsString, OsString)],
) -> Result<Option<String>, FactError> {
    let git = Git { project, environment: own(environment) };
    let Some(output) = git.perhaps(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]).await? else {
        return Ok(None);
    };
    let tree = output.trim_end();
    let here = ["for-each-ref", "--points-at", "HEAD", "--format=%(refname)", "refs/heads", "refs/remotes"];
    let refs = git.output(&here).await?;
    if refs.lines().any(|name| integrates(name, guidelines)) {
        return Ok(None);
    }
    match is_oid(tree) {
        true => Ok(Some(tree.to_owned())),
        false => Err(unknown("git-failed", "`git rev-parse` did not return a tree; try again")),
    }
}

fn integrates(name: &str, guidelines: &Guidelines) -> bool {
    let name = match name.strip_prefix("refs/heads/") {
        Some(name) => name,
        None => name.splitn(4, '/').nth(3).unwrap_or(name),
    };
    guidelines.integrates(name)
}

/// A worktree of HEAD.
#[derive(Debug)]
pub(super) struct HeadWorktree {
    /// The project's folder in the worktree.
    pub(super) project: PathBuf,
    folder: PathBuf,
    original: PathBuf,
    environment: Vec<(OsString, OsString)>,
    /// Held while the worktree exists.
    _turn: File,
}

impl HeadWorktree {
    /// Creates the worktree.
    pub(super) async fn lay_out(
        project: &Path,
        environment: &[(OsString, OsString)],
    ) -> Result<HeadWorktree, FactError> {
        let git = Git { project, environment: own(environment) };
        let home = project.join(".portolan").join("typecheck");
        let turn = turn(&home)?;
        sweep(&git, &home).await?;
        let top = PathBuf::from(git.output(&["rev-parse", "--show-toplevel"]).await?.trim_end());
        let top = top.canonicalize().map_err(|error| no_worktree(&error.to_string()))?;
        let within = project.canonicalize().ok().and_then(|project| Some(project.strip_prefix(&top).ok()?.to_owned()));
        let within = within.ok_or_else(|| no_worktree("the project is outside its worktree"))?;
        moved_submodule(&git).await?;
        let folder = home.join("head");
        let place = folder.to_str().ok_or_else(|| no_worktree("its path is not valid UTF-8"))?;
        git.output(&["worktree", "add", "--quiet", "--detach", "--force", place, "HEAD"])
            .await
            .map_err(|unknown| no_worktree(&unknown.why))?;
        let committed = HeadWorktree {
            project: folder.join(within),
            folder,
            original: project.to_owned(),
            environment: git.environment.clone(),
            _turn: turn,
        };
        match committed.complete(&git, &top).await {
            Ok(()) => Ok(committed),
            Err(unknown) => {
                committed.remove().await;
                Err(unknown)
            }
        }
    }

    /// Links the ignored files and submodules that a checker needs.
    async fn complete(&self, git: &Git<'_>, top: &Path) -> Result<(), FactError> {
        if !self.project.is_dir() {
            return Err(unknown("not-committed", "the project's folder is not in any commit yet; commit it"));
        }
        let place = top.display().to_string();
        let list = ["-C", &place, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let ignored = git.output(&list).await?;
        let submodules = git.output(&["-C", &place, "ls-files", "-z", "--stage"]).await?;
        let submodules = submodules.split('\0').filter_map(|entry| entry.strip_prefix("160000 ")?.split('\t').nth(1));
        let paths: Vec<&str> = ignored.split('\0').filter(|path| !path.is_empty()).chain(submodules).collect();
        if paths.len() > MOST_LINKS {
            return Err(unknown(
                "too-much-ignored",
                format!("git ignores more than {MOST_LINKS} paths; ignore whole folders instead"),
            ));
        }
        for path in paths.into_iter().map(|path| path.trim_end_matches('/')) {
            link(&top.join(path), &self.folder.join(path)).map_err(|error| no_worktree(&error.to_string()))?;
        }
        Ok(())
    }

    /// Removes the worktree. The next check removes what cannot be removed now.
    pub(super) async fn remove(self) {
        let git = Git { project: &self.original, environment: self.environment.clone() };
        take_away(&git, &self.folder).await;
    }
}

/// Takes the lock without waiting: another check of the commit will soon have stored its verdict.
fn turn(home: &Path) -> Result<File, FactError> {
    let made = home.parent().map_or(Ok(()), project_folder::make).and_then(|()| fs::create_dir_all(home));
    made.map_err(|error| no_worktree(&error.to_string()))?;
    let lock = try_alone(&home.join("lock")).map_err(|error| no_worktree(&error.to_string()))?;
    lock.ok_or_else(|| unknown("typecheck-under-way", "another process is checking the committed files; try again"))
}

/// Removes what ended processes left behind. The caller holds the lock.
async fn sweep(git: &Git<'_>, home: &Path) -> Result<(), FactError> {
    let entries = fs::read_dir(home).map_err(|error| no_worktree(&error.to_string()))?;
    for entry in entries.filter_map(Result::ok).filter(|entry| entry.file_name() != "lock") {
        take_away(git, &entry.path()).await;
    }
    // Git still has the entry of a worktree whose folder is missing, and would refuse to add it again.
    take_away(git, &home.join("head")).await;
    Ok(())
}

async fn take_away(git: &Git<'_>, folder: &Path) {
    if let Some(place) = folder.to_str() {
        // A folder that git does not know as a worktree is removed below.
        let _known = git.output(&["worktree", "remove", "--force", "--force", place]).await;
    }
    let _gone = fs::remove_dir_all(folder);
}

/// Refuses a project with a submodule at another commit than HEAD names, because the linked files would be wrong.
async fn moved_submodule(git: &Git<'_>) -> Result<(), FactError> {
    let list = ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=none"];
    let output = git.output(&list).await?;
    let moved = output.split('\0').find(|entry| entry.split(' ').nth(2).is_some_and(|word| word.starts_with('S')));
    let Some(entry) = moved else { return Ok(()) };
    let path = entry.splitn(9, ' ').last().unwrap_or_default();
    Err(unknown(
        "submodule-moved",
        format!("the submodule `{path}` differs from HEAD; commit it, or run `git submodule update`"),
    ))
}

/// Links a path of the original into the worktree, if its parent folder exists there and its name is free.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    let own = to.components().filter(|part| part.as_os_str() == ".portolan").count() > 1;
    if own || from.symlink_metadata().is_err() || !to.parent().is_some_and(Path::is_dir) {
        return Ok(());
    }
    // A submodule that is not checked out is an empty folder.
    let _empty = fs::remove_dir(to);
    match to.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => symlink(from, to),
    }
}

#[cfg(unix)]
fn symlink(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn symlink(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn no_worktree(why: &str) -> FactError {
    let why =
        format!("the committed files cannot be checked out for the check ({why}); commit everything, and try again");
    unknown("no-worktree", why)
}
