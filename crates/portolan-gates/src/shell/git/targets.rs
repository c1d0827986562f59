//! The paths that a call of git writes besides the files of the working tree and its own references: files that options
//! name, folders that it creates, and index entries.

use super::super::walk::join;
use super::super::writes::{literal, operands, valued};
use super::super::{Assignment, Command, Word};

/// Returns the files that a call writes, relative to the folder of its command.
pub(in super::super) fn files(command: &Command) -> Vec<Word> {
    let Some(globals) = super::globals(command) else { return Vec::new() };
    let Some((Word::Known(name), arguments)) = &globals.subcommand else { return Vec::new() };
    let mut found = valued(arguments, "--output");
    match name.as_str() {
        "archive" | "format-patch" => found.extend(valued(arguments, "-o --output-directory")),
        "apply" => found.extend(valued(arguments, "--directory").iter().map(begun)),
        "checkout-index" => found.extend(valued(arguments, "--prefix").iter().map(begun)),
        _ => {}
    }
    found.iter().map(|file| join(&globals.base, file)).collect()
}

/// Returns a pattern of the files whose paths have this prefix.
fn begun(prefix: &Word) -> Word {
    prefix.known().map_or(Word::Dynamic, |prefix| Word::Pattern(format!("{}*", literal(prefix))))
}

/// Returns folders that a call creates, files that replace git's own, and paths of the index that it sets, relative to
/// the folder where git works.
pub(super) fn places<'a>(name: &str, arguments: &[Word], set: impl Iterator<Item = &'a Assignment>) -> Vec<Word> {
    let mut found: Vec<Word> = set.filter_map(set_file).collect();
    let clones = "-b --branch -o --origin -u --upload-pack --depth -c --config --reference";
    match name {
        "init" => {
            let options = "--separate-git-dir --template -b --initial-branch --object-format";
            let folder = operands(arguments, options).into_iter().next().unwrap_or_else(|| Word::from("."));
            let apart = valued(arguments, "--separate-git-dir");
            // The existing `.git` moves away, and a file that names the new place replaces it.
            found.extend((!apart.is_empty()).then(|| join(&folder, &Word::from(".git"))));
            found.extend(apart);
            // The contents of a template are copied to the folder of the hooks.
            if !valued(arguments, "--template").is_empty() {
                found.push(join(&folder, &Word::from(".git/hooks")));
            }
            found.push(folder);
        }
        "clone" => {
            found.extend(valued(arguments, "--separate-git-dir"));
            found.extend(operands(arguments, clones).into_iter().skip(1));
        }
        "worktree" => found.extend(operands(arguments, "-b -B --reason").into_iter().skip(1).take(1)),
        "submodule" => {
            let words = operands(arguments, "-b --branch --name --reference --depth");
            found.extend(words.get(2).filter(|_| words[0].known() == Some("add")).cloned());
        }
        "rm" if arguments.iter().any(|word| word.known() == Some("--cached")) => found.extend(operands(arguments, "")),
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
    let usual = || value == ".git/index" || value.ends_with("/.git/index");
    let is_file = match given.name.as_str() {
        "GIT_INDEX_FILE" => !usual(),
        name => name.starts_with("GIT_TRACE") && value.starts_with('/'),
    };
    is_file.then(|| given.value.clone())
}

/// Returns the tree that files or index entries are taken from, and their paths.
pub(super) fn taken(name: &str, arguments: &[Word]) -> Option<(Word, Vec<Word>)> {
    match name {
        "read-tree" => {
            let prefix = valued(arguments, "--prefix").pop().filter(|word| word.known() != Some(""));
            let trees = operands(arguments, "--prefix --index-output --exclude-per-directory");
            let empty = arguments.iter().any(|word| word.known() == Some("--empty")).then_some(Word::Dynamic);
            Some((trees.into_iter().chain(empty).next_back()?, vec![prefix.unwrap_or_else(|| Word::from("."))]))
        }
        "checkout" | "restore" | "reset" => super::subcommands::taken(name, arguments),
        _ => None,
    }
}
