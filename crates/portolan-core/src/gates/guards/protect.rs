//! `protect-guards`: what holds the gates is not edited by those whom they hold: the settings of the hosts, the state of
//! the flows, and the repository's own folder.

use super::act::{self, Act};
use super::finding::Finding;
use super::integration;
use super::scene::Place;
use crate::gates::{holds_protected, is_protected};

pub(super) fn look(act: &Act<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = act
        .edited()
        .iter()
        .filter_map(|path| path_of(act, path))
        .filter_map(|path| finding(act, &path, false))
        .collect();
    for (at, call) in act.calls.iter().enumerate() {
        let by_git = act::subcommand(call.command).is_some_and(|(name, _)| matches!(name, "rm" | "mv"));
        let takes = by_git || matches!(call.command.program(), Some("rm" | "mv" | "rmdir" | "shred" | "ln"));
        let mut paths = act::written(&act.intent.folder, call.command);
        paths.extend(call.git.iter().flat_map(|told| integration::touched(&act.intent.folder, told)));
        found.extend(paths.iter().flatten().filter_map(|path| Some(finding(act, path, takes)?.at(at))));
    }
    found
}

fn path_of(act: &Act<'_>, path: &str) -> Option<String> {
    act::absolute(&act.intent.folder, &path.into())
}

/// What is found of one path. `takes` is a command that takes a folder with all that is in it.
fn finding(act: &Act<'_>, path: &str, takes: bool) -> Option<Finding> {
    let place = act.place(path);
    let seen = place.map_or_else(|| vec![path.to_owned()], |place| seen(path, place));
    let holds = |path: &String| is_protected(path) || (takes && (holds_protected(path) || path.is_empty()));
    let around = takes && place.is_some_and(|place| is_around(&place.path, &act.intent.folder));
    if !around && !place.is_some_and(|place| place.of_git) && !seen.iter().any(holds) {
        return None;
    }
    let block =
        Finding::block("", format!("`{path}` holds the gates, or the repository itself; only a person changes it"));
    Some(block.remedy("ask the person whom you work for to change it"))
}

/// How a path is named from its worktree: by where it leads, and by how it is written. What is written may itself be a
/// symlink, which is then replaced.
fn seen(path: &str, place: &Place) -> Vec<String> {
    let Some(worktree) = &place.worktree else { return vec![place.path.clone(), path.to_owned()] };
    let written = path.strip_prefix(worktree.root.as_str()).filter(|rest| rest.starts_with('/'));
    let mut seen = vec![place.inside.clone()];
    seen.extend(written.map(|rest| rest.trim_start_matches('/').to_owned()));
    seen
}

/// Whether `folder` is within `path`.
fn is_around(path: &str, folder: &str) -> bool {
    let rest = folder.strip_prefix(path.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.starts_with('/'))
}
