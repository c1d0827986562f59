//! What a call of git writes beside the files of the working tree and its own references: files that options name,
//! folders that it makes, and what it puts into the index. The index is a way to every file that is tracked: the next
//! `git checkout .` brings forth what is in it.

use super::super::walk::join;
use super::super::{Assignment, Command, Word};
use super::actions::Action;
use super::{subcommands, values};

/// What a call puts into the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Which paths: files, folders and patterns.
    pub paths: Vec<Word>,
    /// The trees that it comes from; none where the call itself says what becomes of the paths.
    pub trees: Vec<Word>,
}

/// What is meant by a file in a folder of git's own, wherever that is.
const HOOKS: &str = ".git/hooks";

/// The files that a call writes, seen from where its command runs.
pub(in super::super) fn files(command: &Command) -> Vec<Word> {
    let Some(globals) = super::globals(command) else { return Vec::new() };
    let Some((Word::Known(name), arguments)) = &globals.subcommand else { return Vec::new() };
    written(name, arguments).iter().map(|file| seen(&globals.base, file)).collect()
}

/// A file or a pattern, seen from where the command runs.
fn seen(base: &Word, file: &Word) -> Word {
    match (base.known(), file) {
        (Some("."), _) => file.clone(),
        (Some(_), Word::Pattern(pattern)) if pattern.starts_with('/') => file.clone(),
        (Some(base), Word::Pattern(pattern)) => Word::Pattern(format!("{base}/{pattern}")),
        _ => join(base, file),
    }
}

fn written(name: &str, arguments: &[Word]) -> Vec<Word> {
    let mut found = values(arguments, &["--output"]);
    found.extend(match name {
        "archive" | "format-patch" => values(arguments, &["-o", "--output-directory"]),
        "bundle" => {
            operands(arguments, &["--version"]).into_iter().skip(1).take(usize::from(makes(arguments))).collect()
        }
        "interpret-trailers" if has(arguments, "--in-place") => {
            operands(arguments, &["--trailer", "--where", "--if-exists", "--if-missing"])
        }
        "fast-export" | "fast-import" => values(arguments, &["--export-marks", "--export-pack-edges"]),
        "merge-file" if !["-p", "--stdout", "--object-id"].iter().any(|option| has(arguments, option)) => {
            operands(arguments, &["-L", "--marker-size", "--diff-algorithm"]).into_iter().take(1).collect()
        }
        "index-pack" | "mailsplit" | "bugreport" | "diagnose" => values(arguments, &["-o", "--output-directory"]),
        "mailinfo" => operands(arguments, &["--encoding", "--quoted-cr"]),
        "pack-objects" if !has(arguments, "--stdout") => operands(arguments, &[]).iter().map(begun).collect(),
        "apply" => values(arguments, &["--directory"]).iter().map(|folder| begun(&in_folder(folder))).collect(),
        "credential-store" => values(arguments, &["--file"]),
        "daemon" => values(arguments, &["--pid-file"]),
        "read-tree" => values(arguments, &["--index-output"]),
        "checkout-index" => values(arguments, &["--prefix"]).iter().map(begun).collect(),
        "config" if matches!(subcommands::told(name, arguments, None).action, Action::Config(_)) => {
            values(arguments, &["-f", "--file"])
        }
        _ => Vec::new(),
    });
    found
}

fn makes(arguments: &[Word]) -> bool {
    operands(arguments, &[]).first().and_then(Word::known) == Some("create")
}

fn in_folder(folder: &Word) -> Word {
    folder.known().map_or(Word::Dynamic, |folder| Word::Known(format!("{}/", folder.trim_end_matches('/'))))
}

/// Files whose paths begin so.
fn begun(prefix: &Word) -> Word {
    let Some(prefix) = prefix.known() else { return Word::Dynamic };
    let special = |char: char| matches!(char, '*' | '?' | '[' | ']' | '\\');
    let literal = prefix.chars().flat_map(|char| special(char).then_some('\\').into_iter().chain([char]));
    Word::Pattern(format!("{}*", literal.collect::<String>()))
}

/// Options of `clone` that take a value.
const CLONE: &[&str] =
    &["-b", "--branch", "-o", "--origin", "-u", "--upload-pack", "--depth", "-c", "--config", "--reference"];

/// Folders that a call makes, and files that take the place of git's own, seen from where git works.
pub(super) fn places<'a>(name: &str, arguments: &[Word], set: impl Iterator<Item = &'a Assignment>) -> Vec<Word> {
    let mut found: Vec<Word> = set.filter_map(set_file).collect();
    match name {
        "init" => {
            let valued = ["--separate-git-dir", "--template", "-b", "--initial-branch", "--object-format"];
            let folder = operands(arguments, &valued).into_iter().next().unwrap_or_else(|| Word::from("."));
            let apart = values(arguments, &["--separate-git-dir"]);
            // What is there moves away, and a file that names the place takes its place.
            found.extend((!apart.is_empty()).then(|| join(&folder, &Word::from(".git"))));
            found.extend(apart);
            // What is in a template is copied to where hooks are.
            if !values(arguments, &["--template"]).is_empty() {
                found.push(join(&folder, &Word::from(HOOKS)));
            }
            found.push(folder);
        }
        "clone" => {
            found.extend(values(arguments, &["--separate-git-dir"]));
            found.extend(operands(arguments, CLONE).into_iter().skip(1));
        }
        "worktree" => found.extend(operands(arguments, &["-b", "-B", "--reason"]).into_iter().skip(1).take(1)),
        "submodule" => {
            let words = operands(arguments, &["-b", "--branch", "--name", "--reference", "--depth"]);
            if words.first().and_then(Word::known) == Some("add") {
                found.extend(words.get(2).cloned());
            }
        }
        _ => {}
    }
    found
}

/// A file that a variable has git write.
fn set_file(given: &Assignment) -> Option<Word> {
    let value = given.value.known()?;
    let usual = || value == ".git/index" || value.ends_with("/.git/index");
    let is_file = match given.name.as_str() {
        "GIT_INDEX_FILE" => !usual(),
        name => name.starts_with("GIT_TRACE") && value.starts_with('/'),
    };
    is_file.then(|| given.value.clone())
}

/// What a call puts into the index.
pub(super) fn index(name: &str, arguments: &[Word], stdin: Option<&Word>) -> Option<Index> {
    match name {
        "update-index" => Some(Index { paths: updated(arguments, stdin), trees: Vec::new() }),
        "read-tree" => Some(read(arguments)),
        "rm" if has(arguments, "--cached") => Some(Index { paths: operands(arguments, &[]), trees: Vec::new() }),
        "checkout" | "restore" | "reset" => subcommands::taken(name, arguments),
        _ => None,
    }
}

/// The paths that `update-index` is told of.
fn updated(arguments: &[Word], stdin: Option<&Word>) -> Vec<Word> {
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.known() {
            Some("--cacheinfo") => found.push(match rest.next().and_then(Word::known) {
                Some(info) => match info.splitn(3, ',').nth(2) {
                    Some(path) => Word::from(path),
                    // The mode, the object and the path may also stand apart.
                    None => rest.nth(1).cloned().unwrap_or(Word::Dynamic),
                },
                None => Word::Dynamic,
            }),
            Some("--stdin") => found.extend(lines(stdin, |line| Some(line))),
            Some("--index-info") => found.extend(lines(stdin, |line| line.split_once('\t').map(|(_, path)| path))),
            Some("--index-version") => drop(rest.next()),
            Some(option) if option.starts_with('-') => {}
            _ => found.push(word.clone()),
        }
    }
    found
}

fn lines(stdin: Option<&Word>, path: impl Fn(&str) -> Option<&str>) -> Vec<Word> {
    let Some(text) = stdin.and_then(Word::known) else { return vec![Word::Dynamic] };
    text.split(['\n', '\0'])
        .filter(|line| !line.is_empty())
        .map(|line| path(line).map_or(Word::Dynamic, Word::from))
        .collect()
}

/// The trees that `read-tree` reads, and where it puts them.
fn read(arguments: &[Word]) -> Index {
    let prefix = values(arguments, &["--prefix"]).pop();
    let at = prefix.filter(|word| word.known() != Some("")).unwrap_or_else(|| Word::from("."));
    let mut trees = operands(arguments, &["--prefix", "--index-output", "--exclude-per-directory"]);
    if has(arguments, "--empty") {
        trees.push(Word::Dynamic);
    }
    Index { paths: vec![at], trees }
}

fn has(arguments: &[Word], option: &str) -> bool {
    arguments.iter().any(|word| word.known() == Some(option))
}

/// The words that are neither options nor values of these.
fn operands(arguments: &[Word], valued: &[&str]) -> Vec<Word> {
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.known() {
            Some(option) if valued.contains(&option) => drop(rest.next()),
            Some(option) if option.len() > 1 && option.starts_with('-') => {}
            _ => found.push(word.clone()),
        }
    }
    found
}
