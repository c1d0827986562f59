//! What a call of git writes beside branches: files of the working tree, folders that it makes, and the index, which is a
//! way to every file that is tracked.

use super::act::{self, Act, is_in};
use super::finding::Finding;
use crate::shell::Word;
use crate::shell::git::{Action, Index, Invocation};

/// The paths that a call changes or makes, seen from every folder that it may work in.
pub(super) fn touched(from: &str, told: &Invocation) -> Vec<Option<String>> {
    let mut words: Vec<&Word> = told.places.iter().collect();
    if let Action::Files { paths, .. } = &told.action {
        words.extend(paths);
    }
    if let Some(Index { paths, .. }) = &told.index {
        words.extend(paths);
    }
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

/// The trees that a call brings into the index, each with a folder that it may work in.
pub(super) fn trees(from: &str, told: &Invocation) -> Vec<(String, String)> {
    let Some(index) = &told.index else { return Vec::new() };
    let names = || index.trees.iter().filter_map(Word::known).filter(|name| is_other(name));
    let folders = told.folders.iter().filter_map(|folder| act::absolute(from, folder));
    folders.flat_map(|folder| names().map(move |name| (folder.clone(), name.to_owned()))).collect()
}

/// Whether a name may stand for another tree than the present one.
fn is_other(name: &str) -> bool {
    !matches!(name, "HEAD" | "@") && !name.starts_with('-')
}

/// Whether all that comes into the index is what an integration branch has: the rules of the project are brought up to
/// date by it.
fn is_up_to_date(act: &Act<'_>, told: &Invocation) -> bool {
    let place = act::folders(&act.intent.folder, told).into_iter().flatten().find_map(|folder| act.place(&folder));
    let remotes = place.and_then(|place| place.worktree.as_deref()).map_or(&[][..], |worktree| &worktree.remotes);
    let integrates = |name: &str| {
        let name = name.strip_prefix("refs/remotes/").or_else(|| name.strip_prefix("remotes/")).unwrap_or(name);
        match name.split_once('/') {
            Some((remote, branch)) if remotes.iter().any(|known| known == remote) => {
                act.integrates(branch) && (remote == "origin" || remotes.len() == 1)
            }
            _ => act.integrates(act::branch_name(name)),
        }
    };
    let Some(index) = &told.index else { return false };
    !index.trees.is_empty() && index.trees.iter().all(|tree| tree.known().is_some_and(integrates))
}

/// What comes into the index in the place of files that hold the gates.
pub(super) fn look(act: &Act<'_>, told: &Invocation) -> Option<Finding> {
    if let Some(other) = &told.index_file
        && matches!(told.action, Action::Files { .. })
    {
        let what = other.known().unwrap_or("a file that only the run will name");
        return Some(Finding::ask(act, "", format!("files are written as the index in `{what}` has them")));
    }
    let index = told.index.as_ref()?;
    // What is only prepared in another index touches no file.
    if told.index_file.is_some() || is_up_to_date(act, told) {
        return None;
    }
    let unknown = "what this puts into the index is only known when it runs, and may be files that hold the gates";
    if index.trees.is_empty() {
        let named = index.paths.iter().all(|path| path.known().is_some());
        return (!named).then(|| Finding::ask(act, "", unknown));
    }
    let from = &act.intent.folder;
    for folder in told.folders.iter().map(|folder| act::absolute(from, folder)) {
        for tree in &index.trees {
            if tree.known().is_some_and(|name| !is_other(name)) {
                continue;
            }
            let key = folder.clone().zip(tree.known().map(str::to_owned));
            match key.and_then(|key| act.scene.trees.get(&key)) {
                Some(changed) => {
                    let covered = changed.iter().find(|file| covers(act, folder.as_deref(), index, file));
                    if let Some(file) = covered {
                        return Some(super::protect::block(file));
                    }
                }
                None if covers_all(act, folder.as_deref(), index) => return Some(Finding::ask(act, "", unknown)),
                None => {}
            }
        }
    }
    None
}

/// Where a path of the index lies in its worktree; nothing where that cannot be told, or where it may match many.
fn inside(act: &Act<'_>, folder: Option<&str>, path: &Word) -> Option<String> {
    let text = path.known().filter(|text| !text.starts_with(':') && !text.contains(['*', '?', '[']))?;
    let place = act.place(&act::absolute(folder?, &Word::from(text))?)?;
    Some(place.inside.clone())
}

fn covers(act: &Act<'_>, folder: Option<&str>, index: &Index, file: &str) -> bool {
    index.paths.iter().any(|path| inside(act, folder, path).is_none_or(|path| path.is_empty() || is_in(file, &path)))
}

fn covers_all(act: &Act<'_>, folder: Option<&str>, index: &Index) -> bool {
    index.paths.iter().any(|path| inside(act, folder, path).is_none_or(|path| path.is_empty()))
}
