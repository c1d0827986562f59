//! Resolves paths as the system does: symlinks are followed one by one, so that `..` has its real meaning, and a file
//! that does not exist yet is at the place where it would be created.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use portolan_gates::guards::Worktree;
#[cfg(unix)]
use portolan_gates::{PROTECTED, is_protected};

/// The maximum number of symlinks in a path, as in the system.
const MAX_LINKS: usize = 40;

/// The symlinks found during one inspection. Most of its paths are in the same few folders.
#[derive(Default)]
pub(super) struct Links {
    /// The target of each inspected path, or `None` if it is not a symlink.
    known: BTreeMap<PathBuf, Option<PathBuf>>,
}

impl Links {
    /// Returns the target of an absolute path. `last` tells whether its last part is followed as well. Returns `None`
    /// if it is not a path, or its symlinks form a circle.
    pub(super) fn resolve(&mut self, path: &str, last: bool) -> Option<PathBuf> {
        self.followed(path, last, &mut Vec::new())
    }

    /// Returns every symlink in an absolute path, and its target: a change of one of them changes which file is found.
    pub(super) fn way(&mut self, path: &str) -> Option<Vec<PathBuf>> {
        let mut links = Vec::new();
        let end = self.followed(path, true, &mut links)?;
        links.push(end);
        Some(links)
    }

    fn followed(&mut self, path: &str, last: bool, passed: &mut Vec<PathBuf>) -> Option<PathBuf> {
        if path.contains('\0') || !Path::new(path).is_absolute() {
            return None;
        }
        let mut waiting: VecDeque<OsString> = parts(Path::new(path));
        let mut found = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = waiting.pop_front() {
            if part == ".." {
                found.pop();
                continue;
            }
            let next = found.join(&part);
            let follows = last || !waiting.is_empty();
            match self.target(&next) {
                Some(target) if follows => {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    passed.push(next);
                    if target.is_absolute() {
                        found = PathBuf::from("/");
                    }
                    for part in parts(&target).into_iter().rev() {
                        waiting.push_front(part);
                    }
                }
                // Not a link, or it does not exist.
                Some(_) | None => found = next,
            }
        }
        Some(found)
    }

    /// Returns the content of a symlink, or `None` if it is not one.
    fn target(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let target = fs::read_link(path).ok();
        self.known.insert(path.to_owned(), target.clone());
        target
    }
}

/// Returns the file of the gates of which `path` is a hard link, if any. It is searched for in the folders that contain
/// the gates of the project and of the person.
#[cfg(unix)]
pub(crate) fn twin(path: &Path, worktree: Option<&Worktree>) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;

    let meta = fs::symlink_metadata(path).ok()?;
    if !meta.is_file() || meta.nlink() < 2 {
        return None;
    }
    let same = |other: &Path| {
        let other = fs::symlink_metadata(other);
        other.is_ok_and(|other| other.is_file() && other.ino() == meta.ino() && other.dev() == meta.dev())
    };
    let mut roots: Vec<PathBuf> = std::env::var_os("HOME").map(PathBuf::from).into_iter().collect();
    roots.extend(worktree.map(|worktree| PathBuf::from(&worktree.root)));
    let named = roots.iter().flat_map(|root| protected_files(root));
    let git = worktree.into_iter().flat_map(|worktree| [&worktree.common_dir, &worktree.git_dir]);
    let git = git.flat_map(|folder| ["", "hooks", "info"].map(|inner| Path::new(folder).join(inner)));
    named.chain(git.flat_map(|folder| entries(&folder))).find(|other| other != path && same(other))
}

#[cfg(not(unix))]
pub(crate) fn twin(_path: &Path, _worktree: Option<&Worktree>) -> Option<PathBuf> {
    None
}

/// Returns the files in a folder that belong to the gates.
#[cfg(unix)]
fn protected_files(root: &Path) -> Vec<PathBuf> {
    let files = PROTECTED.iter().flat_map(|pattern| match pattern.rsplit_once('/') {
        // The repository's own folder is searched separately.
        Some((".git", _)) => Vec::new(),
        Some((folder, last)) if last.contains('*') => entries(&root.join(folder)),
        _ => vec![root.join(pattern)],
    });
    files.filter(|file| file.strip_prefix(root).ok().and_then(Path::to_str).is_some_and(is_protected)).collect()
}

/// Returns the entries of a folder, up to a limit.
#[cfg(unix)]
fn entries(folder: &Path) -> Vec<PathBuf> {
    const MAX: usize = 128;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.take(MAX).map(|entry| entry.path()).collect()
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component<'_>| match component {
        Component::ParentDir => Some(OsString::from("..")),
        Component::Normal(name) => Some(name.to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}
