//! Calls that remove or change files without naming them: `git clean -x` deletes ignored files, `git stash -a` stashes
//! them, and files of the gates are among these. `git maintenance` and `scalar` change a person's git settings.

use super::finding::Finding;
use super::judged_call::{CommandCall, JudgedCall, operands};
use super::named_paths;
use crate::shell::Word;

pub(super) fn look(judged: &JudgedCall<'_>, call: &CommandCall<'_>) -> Option<Finding> {
    let settings =
        |program: &str| Some(Finding::ask(judged, "", format!("`{program}` changes the git settings of a person")));
    let words = call.command.words.get(1..)?;
    if call.command.program()? == "scalar" {
        let verb = words.iter().find_map(Word::known).unwrap_or_default();
        return if matches!(verb, "list" | "version" | "help" | "diagnose" | "") { None } else { settings("scalar") };
    }
    let call = call.git.as_ref()?;
    let arguments = &call.arguments;
    let verb = operands(arguments).next().and_then(Word::known).unwrap_or_default();
    let on = |letters: &[char], long| is_on(arguments, letters, long);
    let ended = arguments.iter().skip_while(|word| word.known() != Some("--")).skip(1);
    let (what, remedy, apart) = match call.name.as_str() {
        "clean" if on(&['x', 'X'], "") && !on(&['n'], "dry-run") && !on(&['i'], "interactive") => {
            ("git clean -x", "name the folder to empty: git clean -fdx target/", is_apart(operands(arguments)))
        }
        "stash" if matches!(verb, "" | "push" | "save") && on(&['a'], "all") => {
            ("git stash -a", "git stash", is_apart(ended))
        }
        "maintenance" if !matches!(verb, "" | "run") => return settings("git maintenance"),
        _ => return None,
    };
    let reason = format!("`{what}` removes ignored files, and the gates depend on some of them");
    (!apart).then(|| Finding::block("", reason).remedy(remedy))
}

/// Checks whether a switch is given: alone, in a bundle, or by its long name, which may be abbreviated.
fn is_on(arguments: &[Word], letters: &[char], long: &str) -> bool {
    let given = |text: &str| match text.strip_prefix("--") {
        Some(name) => !long.is_empty() && name.len() > 1 && long.starts_with(name),
        None => text.strip_prefix('-').is_some_and(|bundle| bundle.contains(letters)),
    };
    arguments.iter().filter_map(Word::known).take_while(|text| *text != "--").any(given)
}

/// Checks that paths are named, and that none of them contains or may contain files of the gates.
fn is_apart<'w>(paths: impl Iterator<Item = &'w Word>) -> bool {
    let mut paths = paths.peekable();
    let apart = |path: &str| {
        let path = path.trim_end_matches('/');
        !matches!(path, "" | ".")
            && !path.contains("..")
            && !path.starts_with([':', '/'])
            && !named_paths::is_named(path)
    };
    paths.peek().is_some() && paths.all(|path| path.known().is_some_and(apart))
}
