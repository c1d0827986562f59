//! Folders that are copied, moved or unpacked over what holds the gates: what is in them would take its place.

use super::act::{self, Act};
use super::context::Place;
use super::finding::Finding;
use super::named;
use super::protect::block;
use crate::shell::{self, Command, CopiedTree};
use crate::{OPEN, is_protected, protected};

/// The paths that must be looked at: the folders that are copied, and those that they come into.
pub(super) fn paths(from: &str, command: &Command) -> (Vec<String>, Vec<String>) {
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for copied in shell::copied(command) {
        for folder in &command.folders {
            let seen = |word| act::absolute(&act::absolute(from, folder)?, word);
            sources.extend(seen(&copied.from));
            targets.extend(seen(&copied.to));
        }
    }
    (sources, targets)
}

/// What a command would put over what holds the gates.
pub(super) fn look(act: &Act<'_>, command: &Command) -> Option<Finding> {
    let all = shell::copied(command);
    let folders = || command.folders.iter().map(|folder| act::absolute(&act.intent.folder, folder));
    let found: Vec<Landing> =
        all.iter().flat_map(|copied| folders().map(|folder| landing(act, copied, folder.as_deref()))).collect();
    if let Some(path) = found.iter().find_map(|landing| match landing {
        Landing::On(path) => Some(path),
        Landing::Nowhere | Landing::Unknown => None,
    }) {
        return Some(block(path));
    }
    let program = command.program().unwrap_or_default();
    let reason =
        || format!("what `{program}` puts into the root of the worktree may take the place of what holds the gates");
    found.contains(&Landing::Unknown).then(|| Finding::ask(act, "", reason()))
}

#[derive(PartialEq, Eq)]
enum Landing {
    /// On a file that holds the gates.
    On(String),
    /// On none.
    Nowhere,
    /// It cannot be told.
    Unknown,
}

fn landing(act: &Act<'_>, copied: &CopiedTree, folder: Option<&str>) -> Landing {
    let seen = |word| act::absolute(folder?, word);
    let Some(place) = seen(&copied.to).and_then(|path| act.place(&path)) else { return Landing::Nowhere };
    let base = match &place.worktree {
        Some(_) => &place.inside,
        // What a person has for all projects.
        None if act.scene.home.as_deref() == Some(place.path.as_str()) => &String::new(),
        None => return Landing::Nowhere,
    };
    let at = |inner: &str| {
        let parts = [base.as_str(), copied.name.as_deref().unwrap_or_default(), inner];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    };
    if copied.name.is_some() && counts(&at(""), place) {
        return Landing::On(at(""));
    }
    let held = seen(&copied.from).and_then(|path| act.scene.folders.get(&path));
    let known = held.is_some_and(|held| held.whole);
    if copied.name.is_some() && !known && named::is_named(&at("")) {
        return Landing::On(at(""));
    }
    let first = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
    let taken = |path: &str| {
        let matches = copied.pattern.as_ref().is_none_or(|pattern| protected::part_matches(pattern, &first(path)));
        matches && !path.split('/').any(|part| copied.without.iter().any(|name| name == part))
    };
    let hit = held.and_then(|held| held.protected.iter().find(|path| taken(path) && counts(&at(path), place)));
    if let Some(path) = hit {
        return Landing::On(at(path));
    }
    // Names that begin with a dot are matched by patterns that do.
    let hidden = copied.pattern.as_ref().is_none_or(|pattern| pattern.starts_with('.'));
    let root = base.is_empty() && copied.name.is_none() && hidden;
    if root && !known { Landing::Unknown } else { Landing::Nowhere }
}

/// Whether a path holds the gates of this worktree. A repository within another brings its own folder along.
fn counts(path: &str, place: &Place) -> bool {
    let inner = path.split('/').skip(1).any(|part| part.eq_ignore_ascii_case(".git"));
    let open = OPEN.iter().any(|open| path == open.trim_end_matches("/**"));
    is_protected(path) && !open && (!inner || place.of_git)
}
