//! Collects the facts that guards need before a tool call is judged: where its paths are, and what is checked out
//! there.
//!
//! A hook runs before every tool call, so almost everything is read from files. In a repository of 10,000 files this
//! takes 0.1 ms for an edit; starting one `git` takes 2 ms. `git` is started only for what files do not show: whether a
//! path is ignored, the meaning of an alias, and what is checked out in a repository whose references are in tables. A
//! fact that cannot be determined is left out, and the guards then ask a person.

pub mod ask;
mod config;
mod ignores;
mod own;
pub(crate) mod paths;
mod repository;
#[cfg(all(test, unix))]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portolan_gates::bypass;
use portolan_gates::guards::{self, FactRequest, GuardContext, Place, Worktree};
use portolan_gates::shell::git::{self, Action};
use portolan_gates::shell::{self, Reading, ShellContext};
use portolan_gates::{Guidelines, Intent, Tool};

use crate::disk;
use paths::Links;

/// The largest file with a commit message that is read, in bytes.
const MAX_MESSAGE: u64 = 64 * 1024;
/// The maximum number of paths of one call that are inspected. The guards ask about others.
const MAX_PATHS: usize = 512;
/// The maximum number of repositories whose aliases are read.
const MAX_ALIASES: usize = 4;

/// A tool call with the facts about it.
#[derive(Clone, Debug)]
pub struct InspectedCall {
    /// The commands that it runs, with git aliases expanded.
    pub reading: Reading,
    /// The requested facts. The type check is not determined here.
    pub wanted: FactRequest,
    /// The facts. The caller adds the flow, the recorded bypasses, the verdict of the type check, the questions and the
    /// time.
    pub scene: GuardContext,
}

/// Returns the worktree that contains a folder.
pub fn worktree(folder: &Path) -> Option<Arc<Worktree>> {
    Search::default().place(folder.to_str()?)?.worktree
}

/// Returns the folder of git's hooks according to the configuration of a worktree, its repository or its user, if one
/// sets it.
pub(super) fn hooks_path(worktree: &Worktree) -> Option<String> {
    let home = std::env::home_dir();
    let inner = |name: &str| home.as_ref().map(|home| home.join(name));
    let named = std::env::var_os("GIT_CONFIG_GLOBAL").map(PathBuf::from);
    let own = std::env::var_os("XDG_CONFIG_HOME").map(|folder| Path::new(&folder).join("git/config"));
    let users = match named {
        Some(named) => [Some(named), None],
        None => [inner(".gitconfig"), own.or_else(|| inner(".config/git/config"))],
    };
    let ours = [
        Some(Path::new(&worktree.git_dir).join("config.worktree")),
        Some(Path::new(&worktree.common_dir).join("config")),
    ];
    let setting = |path: PathBuf| {
        let text = disk::text(&path, MAX_MESSAGE * 16)?;
        config::Config::parse(&text).last("core.hookspath").map(str::to_owned)
    };
    let path = ours.into_iter().chain(users).flatten().find_map(setting)?;
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Some(home.join(rest).to_string_lossy().into_owned()),
        _ => Some(path),
    }
}

impl InspectedCall {
    /// Determines which of the written files git ignores, if this is not known yet.
    pub fn mark_ignored(&mut self) {
        mark_ignored(&mut self.scene, &self.wanted);
    }
}

/// Returns the files of the gates that can be anywhere, for the project that contains a folder: programs, the event
/// log, and the settings of the person and of the machine for all projects.
pub fn own_paths(folder: &Path) -> Vec<PathBuf> {
    own::around(folder, &mut Links::default()).into_iter().map(PathBuf::from).collect()
}

/// Returns the folders of the git hooks that were installed for the project that contains a folder.
pub fn hook_folders(folder: &Path) -> Vec<PathBuf> {
    own::hooks(folder).iter().filter_map(|hook| hook.parent().map(Path::to_owned)).collect()
}

/// Returns the git folder of the worktree that contains a folder, and the one that all worktrees of its repository
/// share.
pub fn repository_folders(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let worktree = repository::worktree(&repository::around(folder)?)?;
    Some((worktree.git_dir.into(), worktree.common_dir.into()))
}

/// Collects the facts that [`guards::judge`] needs about the files and repositories that `intent` affects.
pub fn find(intent: &Intent, guidelines: &Guidelines) -> InspectedCall {
    let mut search = Search::default();
    let mut reading = guards::read(intent, &around(intent, &mut search));
    let mut wanted = guards::wanted(intent, &reading);
    if wanted.aliases {
        reading = shell::expand(&reading, &search.aliases(&wanted));
        wanted = guards::wanted(intent, &reading);
    }
    // A tool whose effect is unknown names no path that could be one of them.
    let own = match intent.tool.deed() {
        Tool::Mcp { .. } | Tool::Other => BTreeSet::new(),
        Tool::Edit { .. } | Tool::Shell { .. } | Tool::Reads => {
            own::around(Path::new(&intent.folder), &mut search.links)
        }
    };
    let mut scene = GuardContext { environment: environment(), own, ..GuardContext::default() };
    for path in wanted.paths.iter().chain(&wanted.folders).chain(&wanted.named).take(MAX_PATHS) {
        if let Some(place) = search.place(path) {
            scene.places.insert(path.clone(), place);
        }
    }
    if ignored_counts(&reading, &scene, guidelines) {
        mark_ignored(&mut scene, &wanted);
    }
    // A folder that is filled from elsewhere may be the home folder.
    if wanted.paths.iter().any(|path| path.ends_with("/.")) {
        let home = std::env::home_dir().and_then(|home| search.links.resolve(home.to_str()?, true));
        scene.home = home.and_then(|home| home.to_str().map(str::to_owned));
    }
    for path in &wanted.messages {
        if let Some(text) = disk::text(Path::new(path), MAX_MESSAGE) {
            scene.messages.insert(path.clone(), text);
        }
    }
    InspectedCall { reading, wanted, scene }
}

/// Returns the environment in which the shell of the call starts.
fn around(intent: &Intent, search: &mut Search) -> ShellContext {
    let Tool::Shell { .. } = intent.tool.deed() else { return ShellContext::default() };
    let worktree = search.place(&intent.folder).and_then(|place| place.worktree);
    let home = std::env::var("HOME").ok().filter(|home| home.starts_with('/'));
    let root = worktree.filter(|worktree| !worktree.bare).map(|worktree| worktree.root.clone());
    ShellContext { folder: Some(intent.folder.clone()), home, root }
}

/// Returns the environment variables of this process that request a bypass.
fn environment() -> Vec<(String, String)> {
    bypass::variables().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
}

/// Checks whether it matters that a file is ignored: only if an integration branch is checked out, or may be when the
/// call writes.
fn ignored_counts(reading: &Reading, scene: &GuardContext, guidelines: &Guidelines) -> bool {
    let switches =
        |invocation: git::Invocation| matches!(invocation.action, Action::Switch(_) | Action::References { .. });
    let worktrees = scene.places.values().filter_map(|place| place.worktree.as_deref());
    let mut integrating =
        worktrees.map(|worktree| worktree.branch().is_some_and(|branch| guards::integrates(guidelines, branch)));
    integrating.any(|integrates| integrates) || reading.commands.iter().filter_map(git::invocation).any(switches)
}

/// Asks git once for each worktree which of the written paths are ignored, if any may be.
fn mark_ignored(scene: &mut GuardContext, wanted: &FactRequest) {
    let mut paths_by_root: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in &wanted.paths {
        let Some(place) = scene.places.get(path) else { continue };
        let Some(worktree) = place.worktree.as_ref().filter(|worktree| !worktree.bare && !place.of_git) else {
            continue;
        };
        if !place.inside.is_empty() && ignores::may_be(worktree, &place.inside) {
            paths_by_root.entry(worktree.root.clone()).or_default().push(place.inside.clone());
        }
    }
    for (root, paths) in paths_by_root {
        let ignored = ask::ignored(Path::new(&root), &paths);
        for place in scene.places.values_mut() {
            let here = place.worktree.as_ref().is_some_and(|worktree| worktree.root == root);
            place.ignored |= here && ignored.contains(&place.inside);
        }
    }
}

/// The repositories found so far, by their git folders.
#[derive(Default)]
struct Search {
    links: Links,
    known: BTreeMap<String, Option<Arc<Worktree>>>,
}

impl Search {
    /// Returns the place of a path. A symlink has the place of its target, or its own if the target is in no
    /// repository.
    fn place(&mut self, path: &str) -> Option<Place> {
        let resolved = self.links.resolve(path, true)?;
        let place = self.placed(&resolved)?;
        // A hard link is the same file under another name.
        if let Some(twin) = paths::twin(&resolved, place.worktree.as_deref()) {
            return self.placed(&twin);
        }
        if place.worktree.is_some() {
            return Some(place);
        }
        let link = self.links.resolve(path, false)?;
        if link == resolved { Some(place) } else { self.placed(&link) }
    }

    fn placed(&mut self, resolved: &Path) -> Option<Place> {
        let path = resolved.to_str()?.to_owned();
        let Some(found) = repository::around(resolved) else { return Some(Place { path, ..Place::default() }) };
        let key = found.git_dir.to_str()?.to_owned();
        let worktree = self.known.entry(key).or_insert_with(|| repository::worktree(&found).map(Arc::new)).clone()?;
        let inside = resolved.strip_prefix(&worktree.root).ok().and_then(Path::to_str).unwrap_or_default().to_owned();
        // `.git` in a worktree belongs to git, whether it is a folder or a file.
        let of_git = found.of_git || inside == ".git";
        Some(Place { path, worktree: Some(worktree), inside, ignored: false, of_git })
    }

    fn aliases(&mut self, wanted: &FactRequest) -> BTreeMap<String, String> {
        let mut roots: Vec<String> = Vec::new();
        for folder in &wanted.folders {
            let place = self.place(folder);
            let root =
                place.and_then(|place| place.worktree).map_or_else(|| folder.clone(), |found| found.root.clone());
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots.iter().take(MAX_ALIASES).flat_map(|root| ask::aliases(Path::new(root))).collect()
    }
}
