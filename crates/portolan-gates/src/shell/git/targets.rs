//! The paths that a call of git writes besides the files of the working tree and its own references: files that options
//! name, folders that it creates, and index entries.

use super::super::walk::join;
use super::super::writes::{literal, operands, valued};
use super::super::{Assignment, Word};

/// Returns the files that options make a subcommand write.
pub(super) fn files(name: &str, arguments: &[Word]) -> Vec<Word> {
    // All files whose paths have this prefix.
    let begun =
        |prefix: &Word| prefix.known().map_or(Word::Dynamic, |prefix| Word::Pattern(format!("{}*", literal(prefix))));
    let mut found = valued(arguments, "--output");
    match name {
        "archive" | "format-patch" => found.extend(valued(arguments, "-o --output-directory")),
        "apply" | "checkout-index" => found.extend(valued(arguments, "--directory --prefix").iter().map(begun)),
        _ => {}
    }
    found
}

/// Returns folders that a call creates, files that replace git's own, and paths of the index that it sets, relative to
/// the folder where git works.
pub(super) fn places<'a>(name: &str, arguments: &[Word], set: impl Iterator<Item = &'a Assignment>) -> Vec<Word> {
    let mut found: Vec<Word> = set.filter_map(set_file).collect();
    let options = "-b -B --branch -o --origin -u --upload-pack --depth -c --config --reference --separate-git-dir --template \
        --initial-branch --object-format --reason --name";
    let mut named = operands(arguments, options).into_iter();
    let apart = valued(arguments, "--separate-git-dir");
    match name {
        "init" => {
            let folder = named.next().unwrap_or_else(|| Word::from("."));
            // The existing `.git` moves away, or gets the hooks of the template.
            let changes = !apart.is_empty() || !valued(arguments, "--template").is_empty();
            found.extend(changes.then(|| join(&folder, &Word::from(".git"))));
            found.extend(apart);
            found.push(folder);
        }
        "clone" => {
            found.extend(apart);
            found.extend(named.skip(1));
        }
        "worktree" => found.extend(named.nth(1)),
        "submodule" => found.extend(named.nth(2)),
        "rm" if arguments.iter().any(|word| word.known() == Some("--cached")) => found.extend(named),
        "update-index" => found.extend(arguments.iter().filter_map(|word| match word.known() {
            // The paths are known only at run time.
            None | Some("--stdin" | "--index-info" | "-z") => Some(Word::Dynamic),
            Some(option) if option.starts_with('-') => None,
            // A path, or the mode, the object and the path of `--cacheinfo`.
            Some(path) => path.rsplit(',').next().map(Word::from),
        })),
        _ => {}
    }
    found
}

/// Returns the file that a variable makes git write.
fn set_file(given: &Assignment) -> Option<Word> {
    let value = given.value.known()?;
    let is_file = match given.name.as_str() {
        "GIT_INDEX_FILE" => value != ".git/index" && !value.ends_with("/.git/index"),
        name => name.starts_with("GIT_TRACE") && value.starts_with('/'),
    };
    is_file.then(|| given.value.clone())
}

/// Returns the tree that `read-tree` takes, and the folder that it puts it in.
pub(super) fn read_tree(arguments: &[Word]) -> Option<(Word, Vec<Word>)> {
    let prefix = valued(arguments, "--prefix").pop().filter(|word| word.known() != Some(""));
    let trees = operands(arguments, "--prefix --index-output --exclude-per-directory");
    let empty = arguments.iter().any(|word| word.known() == Some("--empty")).then_some(Word::Dynamic);
    Some((trees.into_iter().chain(empty).next_back()?, vec![prefix.unwrap_or_else(|| Word::from("."))]))
}
