//! What guards must know of the world before a tool call is judged: where its paths lie, and what is checked out there.
//!
//! A hook runs before every tool call, so that almost everything is read as files: in a repository of 10,000 files that
//! takes a tenth of a millisecond for an edit, and starting one `git` takes two. `git` is asked only for what files cannot tell: whether a path is ignored, what an alias stands for, and
//! what is checked out where references are kept in tables. What cannot be found out is left out, and the guards ask.

pub(super) mod ask;
mod config;
mod ignores;
mod own;
pub(crate) mod paths;
mod repository;
#[cfg(all(test, unix))]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portolan_gates::bypass;
use portolan_gates::guards::{self, FactRequest, GuardContext, Place, Worktree};
use portolan_gates::shell::git::{self, Action};
use portolan_gates::shell::{self, Reading, ShellContext};
use portolan_gates::{Guidelines, Intent, Tool};

use crate::disk;
use paths::Links;

/// A commit message longer than this is not looked at here.
const MAX_MESSAGE: u64 = 64 * 1024;
/// How many paths of one call are looked at; the guards ask about others.
const MAX_PATHS: usize = 512;
/// In how many repositories aliases are asked for.
const MAX_ALIASES: usize = 4;

/// A tool call that was looked at.
#[derive(Clone, Debug)]
pub struct InspectedCall {
    /// What it runs, with the aliases of git expanded.
    pub reading: Reading,
    /// What was to be found out; the type check is not looked at here.
    pub wanted: FactRequest,
    /// The world around it. The flow, the bypasses on record, the verdict of the type check, the questions and the time
    /// are for the caller to fill in.
    pub scene: GuardContext,
}

/// The worktree that a folder lies in.
pub(crate) fn worktree(folder: &Path) -> Option<Arc<Worktree>> {
    Search::default().place(folder.to_str()?)?.worktree
}

/// Where the configuration of a worktree, its repository or its user has git look for hooks, when one says so.
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
    let told = |path: PathBuf| {
        let text = disk::text(&path, MAX_MESSAGE * 16)?;
        config::Config::parse(&text).last("core.hookspath").map(str::to_owned)
    };
    let path = ours.into_iter().chain(users).flatten().find_map(told)?;
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Some(home.join(rest).to_string_lossy().into_owned()),
        _ => Some(path),
    }
}

impl InspectedCall {
    /// Finds out which of the written files git ignores, where nobody has asked before.
    pub(crate) fn mark_ignored(&mut self) {
        mark_ignored(&mut self.scene, &self.wanted);
    }
}

/// The files of the gates that lie anywhere, for the project around a folder: programs, the event log, what a person and the
/// machine have set for all projects.
pub(crate) fn own_paths(folder: &Path) -> Vec<PathBuf> {
    own::around(folder, &mut Links::default()).into_iter().map(PathBuf::from).collect()
}

/// The folders of the hooks of git that were installed for the project around a folder.
pub(crate) fn hook_folders(folder: &Path) -> Vec<PathBuf> {
    own::hooks(folder).iter().filter_map(|hook| hook.parent().map(Path::to_owned)).collect()
}

/// Where the state of the worktree around a folder is, and that of all worktrees of its repository.
pub(crate) fn repository_folders(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let worktree = repository::worktree(&repository::around(folder)?)?;
    Some((worktree.git_dir.into(), worktree.common_dir.into()))
}

/// Finds out what [`guards::judge`] needs to know of the files and repositories that `intent` touches.
pub fn find(intent: &Intent, guidelines: &Guidelines) -> InspectedCall {
    let mut search = Search::default();
    let mut reading = guards::read(intent, &around(intent, &mut search));
    let mut wanted = guards::wanted(intent, &reading);
    if wanted.aliases {
        reading = shell::expand(&reading, &search.aliases(&wanted));
        wanted = guards::wanted(intent, &reading);
    }
    let own = own::around(Path::new(&intent.folder), &mut search.links);
    let mut scene = GuardContext { environment: environment(), own, ..GuardContext::default() };
    for path in wanted.paths.iter().chain(&wanted.folders).chain(&wanted.named).take(MAX_PATHS) {
        if let Some(place) = search.place(path) {
            scene.places.insert(path.clone(), place);
        }
    }
    if ignored_counts(&reading, &scene, guidelines) {
        mark_ignored(&mut scene, &wanted);
    }
    if reading.commands.iter().any(|command| !command.fills.is_empty()) {
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

/// What the shell of the call finds where it begins.
fn around(intent: &Intent, search: &mut Search) -> ShellContext {
    let Tool::Shell { .. } = intent.tool.deed() else { return ShellContext::default() };
    let worktree = search.place(&intent.folder).and_then(|place| place.worktree);
    let home = std::env::var("HOME").ok().filter(|home| home.starts_with('/'));
    let root = worktree.filter(|worktree| !worktree.bare).map(|worktree| worktree.root.clone());
    ShellContext { folder: Some(intent.folder.clone()), home, root }
}

/// The variables of this process that ask for a bypass.
fn environment() -> Vec<(String, String)> {
    bypass::variables().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
}

/// Whether it matters that a file is ignored: only while an integration branch is checked out, or may be by then.
fn ignored_counts(reading: &Reading, scene: &GuardContext, guidelines: &Guidelines) -> bool {
    let switches = |told: git::Invocation| matches!(told.action, Action::Switch(_) | Action::References { .. });
    let worktrees = scene.places.values().filter_map(|place| place.worktree.as_deref());
    let mut integrating =
        worktrees.map(|worktree| worktree.branch().is_some_and(|branch| guards::integrates(guidelines, branch)));
    integrating.any(|integrates| integrates) || reading.commands.iter().filter_map(git::invocation).any(switches)
}

/// Asks git once for each worktree which of the written paths are ignored, where any may be.
fn mark_ignored(scene: &mut GuardContext, wanted: &FactRequest) {
    let mut asked: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in &wanted.paths {
        let Some(place) = scene.places.get(path) else { continue };
        let Some(worktree) = place.worktree.as_ref().filter(|worktree| !worktree.bare && !place.of_git) else {
            continue;
        };
        if !place.inside.is_empty() && ignores::may_be(worktree, &place.inside) {
            asked.entry(worktree.root.clone()).or_default().push(place.inside.clone());
        }
    }
    for (root, paths) in asked {
        let ignored = ask::ignored(Path::new(&root), &paths);
        for place in scene.places.values_mut() {
            let here = place.worktree.as_ref().is_some_and(|worktree| worktree.root == root);
            place.ignored |= here && ignored.contains(&place.inside);
        }
    }
}

/// Repositories that were found, by their folders.
#[derive(Default)]
struct Search {
    links: Links,
    known: BTreeMap<String, Option<Arc<Worktree>>>,
}

impl Search {
    /// Where a path lies. A symlink counts for where it leads; one that leads out of all repositories for where it is.
    fn place(&mut self, path: &str) -> Option<Place> {
        let resolved = self.links.resolve(path, true)?;
        let place = self.placed(&resolved)?;
        // Another name of the same file is the same file.
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
        // What `.git` is in a worktree is git's own, whether it is a folder or a file.
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
