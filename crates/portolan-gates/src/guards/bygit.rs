//! What a call of git writes beside branches: files of the working tree, folders that it makes, and the index, which is a
//! way to every file that is tracked: the next `git checkout .` brings forth what is in it.

use super::act::{self, Act};
use super::finding::Finding;
use super::named;
use crate::holds_protected;
use crate::shell::Word;
use crate::shell::git::{Action, Invocation};

/// The paths that a call changes or makes, seen from every folder that it may work in.
pub(super) fn touched(from: &str, told: &Invocation) -> Vec<Option<String>> {
    let mut words: Vec<&Word> = told.places.iter().collect();
    if let Action::Files { paths, .. } = &told.action {
        words.extend(paths);
    }
    words.extend(told.takes.iter().flat_map(|(_, paths)| paths));
    // Another place for the files of the working tree, and all that is written there.
    let other = told.work_tree.as_ref().filter(|_| told.action != Action::Reads);
    let mut found = Vec::new();
    for folder in &told.folders {
        let folder = act::absolute(from, folder);
        let seen = |base: Option<&str>, word: &Word| act::absolute(base?, word);
        found.extend(words.iter().map(|word| seen(folder.as_deref(), word)));
        let Some(other) = other else { continue };
        let tree = seen(folder.as_deref(), other);
        found.extend(words.iter().map(|word| seen(tree.as_deref(), word)));
        found.push(tree);
    }
    found
}

/// What comes into the index, or into files, from another tree than the present one, where files that hold the gates may be
/// among it.
pub(super) fn look(act: &Act<'_>, told: &Invocation) -> Option<Finding> {
    if let Some(other) = &told.index_file {
        // What is only prepared in another index touches no file.
        let what = other.known().unwrap_or("a file that only the run will name");
        let reason = format!("files are written as the index in `{what}` has them");
        return matches!(told.action, Action::Files { .. }).then(|| Finding::ask(act, "", reason));
    }
    let unknown = told.action == Action::Free && told.places.iter().any(|path| path.known().is_none()) && told.updates;
    let (tree, paths) = match &told.takes {
        Some((tree, paths)) if !is_present(act, tree) => (tree.known().unwrap_or("a tree"), &paths[..]),
        _ if unknown => ("its input", &[][..]),
        _ => return None,
    };
    let folders: Vec<Option<String>> =
        told.folders.iter().map(|folder| act::absolute(&act.intent.folder, folder)).collect();
    let covers = |path: &Word| folders.iter().any(|folder| covers(act, folder.as_deref(), tree, path));
    let reason = format!("what this takes from `{tree}` may be files that hold the gates");
    (unknown || paths.iter().any(covers)).then(|| Finding::ask(act, "", reason))
}

/// Whether a tree is the present one, or what an integration branch has: the rules of the project are brought up to date by
/// that.
fn is_present(act: &Act<'_>, tree: &Word) -> bool {
    let Some(name) = tree.known() else { return false };
    let name = name.strip_prefix("refs/remotes/").unwrap_or(name);
    let branch = name.strip_prefix("origin/").unwrap_or(act::branch_name(name));
    matches!(name, "HEAD" | "@") || name.starts_with('-') || act.integrates(branch)
}

/// Whether a path may have files in it that hold the gates: the root of a worktree, a folder, or what cannot be told. Older
/// states of the present branch have passed the gates themselves.
fn covers(act: &Act<'_>, folder: Option<&str>, tree: &str, path: &Word) -> bool {
    let plain = |text: &&str| !text.starts_with(':') && !text.contains(['*', '?', '[']);
    let Some(text) = path.known().filter(plain) else { return true };
    let place = folder.and_then(|folder| act.place(&act::absolute(folder, &Word::from(text))?));
    let Some(inside) = place.map(|place| place.inside.as_str()) else { return true };
    let is_folder = !inside.rsplit('/').next().unwrap_or_default().contains('.');
    inside.is_empty() || holds_protected(inside) || named::is_named(inside) || (is_folder && !tree.starts_with("HEAD"))
}
