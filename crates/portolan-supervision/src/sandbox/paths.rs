//! The paths that a sandbox restricts: the protected files that exist. A file that does not exist yet can be created,
//! and is noticed after the call.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use portolan_gates::{OPEN, PROTECTED};
use portolan_runtime::inspection;
use portolan_runtime::project_folder;
use portolan_runtime::trust::data_dir;
use serde::Serialize;

/// A path with restricted access in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SandboxPath {
    /// The absolute path, with symlinks resolved.
    pub path: PathBuf,
    /// The access that is allowed.
    pub access: Access,
}

/// The access to a path and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// It can be read.
    ReadOnly,
    /// It can be written, in a folder that cannot.
    Open,
    /// It can be written, but not moved away or deleted as a whole.
    Fixed,
}

/// Folders in which a host would also read settings files that do not exist yet. Their subfolders belong to the
/// project.
const SETTINGS: [&str; 3] = [".claude", ".codex", ".cursor"];

/// Creates folders that can only be mounted if they exist: those that agents write in, which could not be created in a
/// read-only folder, and the user's data folder, in which the process that creates it could forge what is trusted.
pub(super) fn create_folders(project: &Path) {
    let open = open_folders(project).filter(|_| project.join(".portolan").is_dir());
    for folder in open.chain(data_dir().ok()) {
        let _there = project_folder::make(&folder);
    }
}

/// Returns the folders in `.portolan` that agents write in.
fn open_folders(project: &Path) -> impl Iterator<Item = PathBuf> {
    OPEN.iter().filter_map(|pattern| Some(project.join(pattern.strip_suffix("/**")?)))
}

/// Returns the restricted paths in the sandbox of a project. A folder precedes its contents.
#[must_use]
pub fn sandbox_paths(project: &Path) -> Vec<SandboxPath> {
    let mut paths = SandboxPaths::default();
    paths.add_project(project);
    if let Some(home) = std::env::home_dir() {
        paths.add_matching(&home, &[".git/**", ".portolan/**"]);
    }
    let (own, hooks) = (inspection::own_paths(project), inspection::hook_folders(project));
    own.iter().chain(&hooks).for_each(|path| paths.add(path, Access::ReadOnly));
    paths.fix_parents(project);
    paths.sorted()
}

#[derive(Default)]
struct SandboxPaths(BTreeMap<PathBuf, Access>);

impl SandboxPaths {
    /// Adds a path if it exists. If it was added before, read-only takes precedence. Symlinks are resolved, because a
    /// mount cannot replace one. A symlink never opens access: a repository may contain one that leads to its hooks.
    fn add(&mut self, path: &Path, access: Access) {
        let opens_by_link = access == Access::Open && path.is_symlink();
        let Some(path) = path.canonicalize().ok().filter(|_| !opens_by_link) else { return };
        let known = self.0.entry(path).or_insert(access);
        if access == Access::ReadOnly {
            *known = access;
        }
    }

    /// Fixes the parent folders of restricted paths in the project, so that none is moved away with its contents.
    fn fix_parents(&mut self, project: &Path) {
        let Ok(project) = project.canonicalize() else { return };
        let restricted: Vec<PathBuf> = self.0.keys().filter(|path| path.starts_with(&project)).cloned().collect();
        for path in restricted {
            for folder in path.ancestors().skip(1).take_while(|folder| **folder != *project) {
                self.0.entry(folder.to_owned()).or_insert(Access::Fixed);
            }
        }
    }

    /// Returns all paths, except those whose parent folder already makes them read-only.
    fn sorted(self) -> Vec<SandboxPath> {
        let outer = |path: &Path| path.ancestors().skip(1).find_map(|folder| self.0.get(folder));
        let is_covered = |path: &Path, access| access != Access::Open && outer(path) == Some(&Access::ReadOnly);
        let all = self.0.iter().filter(|(path, access)| !is_covered(path, **access));
        let mut all: Vec<SandboxPath> =
            all.map(|(path, access)| SandboxPath { path: path.clone(), access: *access }).collect();
        all.sort_by_key(|entry| entry.path.components().count());
        all
    }

    fn add_project(&mut self, project: &Path) {
        self.add(&project.join(".portolan"), Access::ReadOnly);
        open_folders(project).for_each(|folder| self.add(&folder, Access::Open));
        for folder in SETTINGS.map(|name| project.join(name)) {
            self.add(&folder, Access::ReadOnly);
            for inner in entries(&folder).filter(|path| path.is_dir()) {
                self.add(&inner, Access::Open);
            }
        }
        self.add_matching(project, &[".git/**", ".portolan/**"]);
        self.add_repository(project);
    }

    /// Adds the hooks and the configuration of a repository. Git itself writes the rest.
    fn add_repository(&mut self, project: &Path) {
        let entry = project.join(".git");
        self.add(&entry, if entry.is_file() { Access::ReadOnly } else { Access::Fixed });
        let Some((git_dir, common_dir)) = inspection::repository_folders(project) else { return };
        self.add(&git_dir.join("config.worktree"), Access::ReadOnly);
        for name in ["config", "hooks"] {
            self.add(&common_dir.join(name), Access::ReadOnly);
        }
    }

    /// Adds the matches of the patterns of protected files in a folder, except the given patterns.
    fn add_matching(&mut self, root: &Path, but: &[&str]) {
        for pattern in PROTECTED.iter().filter(|pattern| !but.contains(pattern)) {
            if let Some(folder) = pattern.strip_suffix("/**") {
                self.add(&root.join(folder), Access::ReadOnly);
            } else if let Some(start) = pattern.strip_suffix('*') {
                let start = root.join(start);
                let (Some(folder), Some(name)) = (start.parent(), start.file_name()) else { continue };
                let begins = |path: &PathBuf| {
                    let found = path.file_name().unwrap_or_default();
                    found.to_string_lossy().starts_with(&*name.to_string_lossy())
                };
                entries(folder).filter(begins).for_each(|path| self.add(&path, Access::ReadOnly));
            } else {
                self.add(&root.join(pattern), Access::ReadOnly);
            }
        }
    }
}

/// Returns the paths in a folder, or none if it cannot be read.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn existing_settings_are_read_only_and_project_content_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        for name in [".portolan/issues", ".claude/commands", ".git/objects", ".git/refs", ".git/hooks", ".github/hooks"]
        {
            fs::create_dir_all(root.join(name)).expect("a folder is made");
        }
        for name in [".git/HEAD", ".git/config", ".claude/settings.json", ".mcp.json", ".vscode-not", "src.rs"] {
            fs::write(root.join(name), "").expect("a file is written");
        }
        // Symlinks from a repository open no access.
        std::os::unix::fs::symlink("../.git/hooks", root.join(".claude/link")).expect("a link");
        std::os::unix::fs::symlink("../.git/hooks", root.join(".portolan/specs")).expect("a link");
        let all = sandbox_paths(&root);
        let inside =
            all.iter().filter_map(|entry| Some((entry.path.strip_prefix(&root).ok()?.to_str()?, entry.access)));
        let mut inside: Vec<(&str, Access)> = inside.collect();
        inside.sort_unstable_by_key(|(path, _)| *path);
        assert_eq!(
            inside,
            [
                (".claude", Access::ReadOnly),
                (".claude/commands", Access::Open),
                (".git", Access::Fixed),
                (".git/config", Access::ReadOnly),
                (".git/hooks", Access::ReadOnly),
                (".github", Access::Fixed),
                (".github/hooks", Access::ReadOnly),
                (".mcp.json", Access::ReadOnly),
                (".portolan", Access::ReadOnly),
                (".portolan/issues", Access::Open),
            ]
        );
        let place = |path: &str| all.iter().position(|entry| entry.path == root.join(path));
        assert!(place(".claude") < place(".claude/commands"), "what is mounted first is covered by what follows");
    }
}
