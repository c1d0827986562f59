//! Worktrees and clones that a tool call makes before it works in them: nothing of them is to be seen yet.

use super::act::{self, Act, On, branch_name, subcommand};
use super::context::Worktree;
use crate::shell::Word;
use crate::shell::git::{Action, Invocation};

/// A folder that a call of git makes.
pub(super) struct NewFolder<'a> {
    /// Where it is, after symlinks as far as they exist; nothing where only the run will know.
    path: Option<String>,
    /// What is checked out in it; nothing for a repository of its own.
    pub(super) on: Option<On>,
    /// The worktree that it was made from.
    pub(super) from: Option<&'a Worktree>,
}

/// The folder that a call makes, as the text writes it.
pub(super) fn folder(told: &Invocation, arguments: &[Word]) -> Option<Word> {
    let words = operands(arguments);
    let at = |at: usize| words.get(at).copied().cloned();
    match &told.action {
        Action::Worktree { .. } => match words.first()?.known() {
            Some("add") => Some(at(1).unwrap_or(Word::Dynamic)),
            Some("move") => Some(at(2).unwrap_or(Word::Dynamic)),
            Some(_) => None,
            None => Some(Word::Dynamic),
        },
        Action::NewRepository => match at(1) {
            Some(folder) => Some(folder),
            // `clone https://example.org/it.git` makes `it`.
            None => Some(at(0)?.known().map_or(Word::Dynamic, |address| Word::from(last(address)))),
        },
        _ => None,
    }
}

/// Everything that the calls make.
pub(super) fn all<'a>(act: &Act<'a>) -> Vec<NewFolder<'a>> {
    let mut made = Vec::new();
    for (_, call, told) in act.git() {
        let Some((name, arguments)) = subcommand(call.command).filter(|(name, _)| *name != "init") else { continue };
        let Some(written) = folder(told, arguments) else { continue };
        for from in act::folders(&act.intent.folder, told) {
            let path = from.as_deref().and_then(|from| act::absolute(from, &written));
            let place = from.as_deref().and_then(|from| act.place(from));
            let from = place.and_then(|place| place.worktree.as_deref());
            let path = path.and_then(|path| Some(act.place(&path)?.path.clone()));
            let on = (name == "worktree").then(|| checked_out(arguments, &written));
            made.push(NewFolder { path, on, from });
        }
    }
    made
}

impl NewFolder<'_> {
    /// Whether `path` lies in it, or may.
    pub(super) fn holds(&self, path: &str) -> bool {
        let Some(own) = &self.path else { return true };
        path.strip_prefix(own.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether it is known where it is.
    pub(super) fn is_known(&self) -> bool {
        self.path.is_some()
    }
}

fn checked_out(arguments: &[Word], folder: &Word) -> On {
    let words = operands(arguments);
    if words.first().and_then(|word| word.known()) != Some("add") {
        return On::Unknown;
    }
    let has = |names: &[&str]| arguments.iter().filter_map(Word::known).any(|word| names.contains(&word));
    if has(&["-d", "--detach"]) {
        return On::Detached;
    }
    let branch = match option(arguments, &["-b", "-B"]) {
        Some(name) => Some(name),
        None => words.get(2).map(|word| (*word).clone()),
    };
    match branch.as_ref().map_or_else(|| folder.known().map(last), Word::known) {
        None | Some("-") => On::Unknown,
        Some(name) if has(&["--orphan"]) => On::Unborn(name.to_owned()),
        Some(name) => On::Branch(branch_name(name).to_owned()),
    }
}

/// The value of a short option, attached or apart.
pub(super) fn option(arguments: &[Word], names: &[&str]) -> Option<Word> {
    for (at, word) in arguments.iter().enumerate() {
        let Some(rest) = word.known().and_then(|text| names.iter().find_map(|name| text.strip_prefix(name))) else {
            continue;
        };
        return Some(if rest.is_empty() { arguments.get(at + 1)?.clone() } else { Word::from(rest) });
    }
    None
}

/// The words that are neither options nor values of those that `worktree add` and `clone` have.
fn operands(arguments: &[Word]) -> Vec<&Word> {
    const VALUED: [&str; 19] = [
        "-b",
        "-B",
        "--reason",
        "-o",
        "--origin",
        "--branch",
        "-u",
        "--upload-pack",
        "--depth",
        "-c",
        "--config",
        "--reference",
        "--reference-if-able",
        "--separate-git-dir",
        "--template",
        "--filter",
        "-j",
        "--jobs",
        "--shallow-since",
    ];
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.known() {
            Some(option) if VALUED.contains(&option) => drop(rest.next()),
            Some(option) if option.starts_with('-') && option != "-" => {}
            _ => found.push(word),
        }
    }
    found
}

/// The name of the folder that an address or a path ends in.
fn last(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    let name = path.rsplit(['/', ':']).next().unwrap_or(path);
    name.strip_suffix(".git").unwrap_or(name)
}
