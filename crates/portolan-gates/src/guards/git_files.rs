//! The paths that a call of git writes besides branches: files of the working tree, folders that it creates, and the
//! index. The index leads to every tracked file, because the next `git checkout .` restores its contents.

use super::finding::Finding;
use super::judged_call::{self, JudgedCall};
use super::named_paths;
use crate::holds_protected;
use crate::shell::Word;
use crate::shell::git::{Action, Invocation};

/// Returns the paths that a call changes or creates, resolved in every folder that it may work in.
pub(super) fn touched(from: &str, invocation: &Invocation) -> Vec<Option<String>> {
    let mut words: Vec<&Word> = invocation.places.iter().collect();
    if let Action::Files { paths, .. } = &invocation.action {
        words.extend(paths);
    }
    words.extend(invocation.takes.iter().flat_map(|(_, paths)| paths));
    // Another location of the working tree, and everything that is written there.
    let other = invocation.work_tree.as_ref().filter(|_| invocation.action != Action::Reads);
    let mut found = Vec::new();
    for folder in &invocation.folders {
        let folder = judged_call::absolute(from, folder);
        let resolved = |base: Option<&str>, word: &Word| judged_call::absolute(base?, word);
        found.extend(words.iter().map(|word| resolved(folder.as_deref(), word)));
        let Some(other) = other else { continue };
        let tree = resolved(folder.as_deref(), other);
        found.extend(words.iter().map(|word| resolved(tree.as_deref(), word)));
        found.push(tree);
    }
    found
}

/// Reports files or index entries taken from a tree other than the present one, if files of the gates may be among
/// them.
pub(super) fn look(judged: &JudgedCall<'_>, invocation: &Invocation) -> Option<Finding> {
    if let Some(other) = &invocation.index_file {
        // Changes to another index alone touch no file.
        let what = other.known().unwrap_or("a file whose name is known only at run time");
        let reason = format!("files would be written from the index in `{what}`");
        return matches!(invocation.action, Action::Files { .. }).then(|| Finding::ask(judged, "", reason));
    }
    let unknown = invocation.action == Action::Free
        && invocation.places.iter().any(|path| path.known().is_none())
        && invocation.name == "update-index";
    let (tree, paths) = match &invocation.takes {
        Some((tree, paths)) if !is_present(judged, tree) => (tree.known().unwrap_or("a tree"), &paths[..]),
        _ if unknown => ("its input", &[][..]),
        _ => return None,
    };
    let folders: Vec<Option<String>> =
        invocation.folders.iter().map(|folder| judged_call::absolute(&judged.intent.folder, folder)).collect();
    let covers = |path: &Word| folders.iter().any(|folder| covers(judged, folder.as_deref(), tree, path));
    let reason = format!("what this takes from `{tree}` may include files that the gates depend on");
    (unknown || paths.iter().any(covers)).then(|| Finding::ask(judged, "", reason))
}

/// Checks whether a tree is the present one, or that of an integration branch, which brings the project's rules up to
/// date.
fn is_present(judged: &JudgedCall<'_>, tree: &Word) -> bool {
    let Some(name) = tree.known() else { return false };
    let name = name.strip_prefix("refs/remotes/").unwrap_or(name);
    let branch = name.strip_prefix("origin/").unwrap_or(judged_call::branch_name(name));
    matches!(name, "HEAD" | "@") || name.starts_with('-') || judged.integrates(branch)
}

/// Checks whether a path may contain files of the gates: the root of a worktree, a folder, or an unknown path. Older
/// states of the present branch have passed the gates themselves.
fn covers(judged: &JudgedCall<'_>, folder: Option<&str>, tree: &str, path: &Word) -> bool {
    let plain = |text: &&str| !text.starts_with(':') && !text.contains(['*', '?', '[']);
    let Some(text) = path.known().filter(plain) else { return true };
    let place = folder.and_then(|folder| judged.place(&judged_call::absolute(folder, &Word::from(text))?));
    let Some(inside) = place.map(|place| place.inside.as_str()) else { return true };
    let is_folder = !inside.rsplit('/').next().unwrap_or_default().contains('.');
    inside.is_empty()
        || holds_protected(inside)
        || named_paths::is_named(inside)
        || (is_folder && !tree.starts_with("HEAD"))
}
