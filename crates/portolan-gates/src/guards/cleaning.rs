//! Calls that remove or change files without naming them: `git clean -x` deletes ignored files, `git stash -a` stashes
//! them, and files of the gates are among these. `git maintenance` and `scalar` change a person's git settings.

use super::finding::Finding;
use super::judged_call::{CommandCall, JudgedCall, operands};
use super::named_paths;
use crate::shell::Word;

pub(super) fn look(judged: &JudgedCall<'_>, call: &CommandCall<'_>) -> Option<Finding> {
    let program = call.command.program()?;
    if program == "scalar" {
        let verb = call.command.words.iter().skip(1).find_map(Word::known).unwrap_or_default();
        return (!matches!(verb, "list" | "version" | "help" | "diagnose" | "")).then(|| settings(judged, "scalar"));
    }
    let call = call.git.as_ref()?;
    let (name, arguments) = (call.name.as_str(), call.arguments.as_slice());
    let verb = operands(arguments).next().and_then(Word::known).unwrap_or_default();
    match name {
        "clean" => cleaned(arguments),
        "stash" if matches!(verb, "" | "push" | "save") => stashed(arguments),
        "maintenance" if !matches!(verb, "" | "run") => Some(settings(judged, "git maintenance")),
        _ => None,
    }
}

fn settings(judged: &JudgedCall<'_>, program: &str) -> Finding {
    Finding::ask(judged, "", format!("`{program}` changes the git settings of a person"))
}

/// Checks whether a switch is given: alone, in a bundle, or by its long name, which may be abbreviated.
fn is_on(arguments: &[Word], letters: &[char], long: &str) -> bool {
    let given = |text: &str| match text.strip_prefix("--") {
        Some(name) => !long.is_empty() && name.len() > 1 && long.starts_with(name),
        None => text.strip_prefix('-').is_some_and(|bundle| bundle.contains(letters)),
    };
    arguments.iter().filter_map(Word::known).take_while(|text| *text != "--").any(given)
}

fn cleaned(arguments: &[Word]) -> Option<Finding> {
    let shows = is_on(arguments, &['n'], "dry-run") || is_on(arguments, &['i'], "interactive");
    if shows || !is_on(arguments, &['x', 'X'], "") || is_apart(operands(arguments)) {
        return None;
    }
    let block = Finding::block("", "`git clean -x` deletes ignored files, and the gates depend on some of them");
    Some(block.remedy("name the folder to empty: git clean -fdx target/"))
}

fn stashed(arguments: &[Word]) -> Option<Finding> {
    let paths = operands(arguments).skip_while(|word| matches!(word.known(), Some("push" | "save")));
    let apart = arguments.iter().any(|word| word.known() == Some("--")) && is_apart(paths);
    if is_on(arguments, &['a'], "all") {
        let block = Finding::block("", "`git stash -a` removes ignored files, and the gates depend on some of them");
        return (!apart).then(|| block.remedy("git stash"));
    }
    None
}

/// Checks that paths are named, and that none of them contains or may contain files of the gates.
fn is_apart<'w>(paths: impl Iterator<Item = &'w Word>) -> bool {
    let mut paths = paths.peekable();
    paths.peek().is_some()
        && paths.all(|path| {
            let holds = |path: &str| {
                let path = path.trim_end_matches('/');
                matches!(path, "" | "." | "..")
                    || path.contains("..")
                    || path.starts_with([':', '/'])
                    || named_paths::is_named(path)
            };
            path.known().is_some_and(|path| !holds(path))
        })
}
