//! Reads a repository from its files: its location, what is checked out, and unfinished operations.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use portolan_gates::guards::{Operation, Worktree, WorktreeHead};
use portolan_gates::names;

use super::ask;
use super::config::Config;
use crate::disk;

/// The largest file of git that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// The file with all packed references of a repository.
const MAX_REFERENCES: u64 = 64 * 1024 * 1024;

/// The location of a repository.
pub(super) struct RepositoryPlace {
    /// The folder of the worktree. `None` if the path is inside the repository itself.
    root: Option<PathBuf>,
    /// The folder with the worktree's state.
    pub(super) git_dir: PathBuf,
    /// Whether the path is in the repository's own folder.
    pub(super) of_git: bool,
}

/// Returns the repository that contains a path, which need not exist.
pub(super) fn around(path: &Path) -> Option<RepositoryPlace> {
    for folder in path.ancestors() {
        if let Some(git_dir) = entry(&folder.join(".git")) {
            return Some(RepositoryPlace { root: Some(folder.to_owned()), git_dir, of_git: false });
        }
        if is_git_dir(folder) {
            return Some(RepositoryPlace { root: None, git_dir: folder.to_owned(), of_git: true });
        }
    }
    None
}

/// Returns the git folder of a `.git`: itself, or the folder that it names.
fn entry(path: &Path) -> Option<PathBuf> {
    let meta = fs::metadata(path).ok()?;
    if meta.is_dir() {
        let path = fs::canonicalize(path).ok()?;
        return is_git_dir(&path).then_some(path);
    }
    let text = disk::text(path, MAX_FILE)?;
    let named = text.strip_prefix("gitdir:")?.trim();
    fs::canonicalize(path.parent()?.join(named)).ok()
}

fn is_git_dir(folder: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// Reads the files of a repository. Returns `None` if the name of one of its folders is not text.
pub(super) fn worktree(found: &RepositoryPlace) -> Option<Worktree> {
    let git_dir = &found.git_dir;
    let common = disk::text(&git_dir.join("commondir"), MAX_FILE);
    let common_dir = match &common {
        Some(named) => fs::canonicalize(git_dir.join(named.trim())).ok()?,
        None => git_dir.clone(),
    };
    let config = Config::parse(&disk::text(&common_dir.join("config"), MAX_FILE).unwrap_or_default());
    let root = found.root.clone().or_else(|| own_root(git_dir, &config));
    let bare = root.is_none();
    let root = root.unwrap_or_else(|| git_dir.clone());
    let operation = operation(git_dir);
    let tables = config.last("extensions.refstorage").is_some_and(|value| value.eq_ignore_ascii_case("reftable"));
    let head = if tables { ask::head(&root) } else { head(git_dir, &common_dir) };
    let upstreams = config.each("branch", "merge").filter_map(|(branch, merged)| {
        let remote = config.last(&format!("branch.{branch}.remote"))?;
        let name = merged.strip_prefix("refs/heads/").unwrap_or(merged);
        Some((branch.to_owned(), (remote.to_owned(), name.to_owned())))
    });
    let address = config.last("remote.origin.url").or_else(|| config.each("remote", "url").next().map(|(_, url)| url));
    let mut remotes: Vec<String> = config.each("remote", "url").map(|(name, _)| name.to_owned()).collect();
    remotes.dedup();
    let addresses = config.each("remote", "url").chain(config.each("remote", "pushurl"));
    let repositories: Option<BTreeSet<String>> = addresses.map(|(_, address)| names::repository(address)).collect();
    Some(Worktree {
        root: root.to_str()?.to_owned(),
        git_dir: git_dir.to_str()?.to_owned(),
        common_dir: common_dir.to_str()?.to_owned(),
        head,
        operation,
        linked: common.is_some(),
        bare,
        remotes,
        upstreams: upstreams.collect(),
        repository: address.and_then(names::repository),
        repositories: repositories.filter(|all| !all.is_empty()),
    })
}

/// Returns the worktree of a repository's own folder: the folder that contains it, or the one that it names if it
/// belongs to a linked worktree or a submodule.
fn own_root(git_dir: &Path, config: &Config) -> Option<PathBuf> {
    if let Some(named) = disk::text(&git_dir.join("gitdir"), MAX_FILE) {
        return Path::new(named.trim()).parent().and_then(|root| fs::canonicalize(root).ok());
    }
    if let Some(named) = config.last("core.worktree") {
        return fs::canonicalize(git_dir.join(named)).ok();
    }
    let bare = config.last("core.bare").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let beside = git_dir.file_name().is_some_and(|name| name == ".git") && !bare;
    if beside { git_dir.parent().map(Path::to_owned) } else { None }
}

fn head(git_dir: &Path, common_dir: &Path) -> WorktreeHead {
    let path = git_dir.join("HEAD");
    // In old repositories it is a symlink.
    let text = match fs::read_link(&path) {
        Ok(target) => format!("ref: {}", target.display()),
        Err(_) => disk::text(&path, MAX_FILE).unwrap_or_default(),
    };
    let text = text.trim();
    match text.strip_prefix("ref:").map(str::trim) {
        Some(reference) => match reference.strip_prefix("refs/heads/") {
            Some(branch) if exists(common_dir, reference) => WorktreeHead::Branch(branch.to_owned()),
            Some(branch) => WorktreeHead::Unborn(branch.to_owned()),
            None => WorktreeHead::Unknown,
        },
        None if is_oid(text) => WorktreeHead::Detached(text.to_owned()),
        None => WorktreeHead::Unknown,
    }
}

fn is_oid(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Checks whether a reference has a commit: in a file of its own, or in the packed ones. One that cannot be read counts
/// as having one, so that a commit on it is not mistaken for the first commit of a branch.
fn exists(common_dir: &Path, reference: &str) -> bool {
    if fs::symlink_metadata(common_dir.join(reference)).is_ok_and(|meta| !meta.is_dir()) {
        return true;
    }
    let packed = common_dir.join("packed-refs");
    if fs::symlink_metadata(&packed).is_err() {
        return false;
    }
    match disk::text(&packed, MAX_REFERENCES) {
        Some(text) => text.lines().any(|line| line.split_once(' ').is_some_and(|(_, name)| name == reference)),
        None => true,
    }
}

fn operation(git_dir: &Path) -> Option<Operation> {
    let has = |name: &str| fs::symlink_metadata(git_dir.join(name)).is_ok();
    let named = |name: &str| {
        let text = disk::text(&git_dir.join(name), MAX_FILE)?;
        text.trim().strip_prefix("refs/heads/").map(str::to_owned)
    };
    if has("rebase-merge") {
        return Some(Operation::Rebase(named("rebase-merge/head-name")));
    }
    if has("rebase-apply") {
        let applies = has("rebase-apply/applying");
        return Some(if applies { Operation::Am } else { Operation::Rebase(named("rebase-apply/head-name")) });
    }
    if has("MERGE_HEAD") {
        return Some(Operation::Merge);
    }
    if has("CHERRY_PICK_HEAD") {
        return Some(Operation::CherryPick);
    }
    if has("REVERT_HEAD") {
        return Some(Operation::Revert);
    }
    let began = || disk::text(&git_dir.join("BISECT_START"), MAX_FILE).map(|text| text.trim().to_owned());
    has("BISECT_LOG").then(|| Operation::Bisect(began()))
}
