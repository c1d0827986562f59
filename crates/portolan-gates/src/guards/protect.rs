//! `protect-guards`: an agent does not edit the files that the gates depend on: the settings of the hosts, the state of
//! the flows, and the repository's own folder.

use super::context::Place;
use super::finding::Finding;
use super::judged_call::{self, CommandCall, JudgedCall};
use super::{cleaning, environment, git_files, interpreters, named_paths};
use crate::shell::{self, Command, Word};
use crate::{holds_protected, is_protected, may_be_protected};

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = judged
        .edited()
        .iter()
        .filter_map(|path| path_of(judged, path))
        .filter_map(|path| finding(judged, &path, Takes::Nothing))
        .collect();
    found.extend(printed(judged));
    for at in 0..judged.calls.len() {
        found.extend(written(judged, at).into_iter().chain(guessed(judged, at)).map(|finding| finding.at(at)));
        found.extend(environment::look(judged, at));
        found.extend(cleaning::look(judged, &judged.calls[at]).map(|finding| finding.at(at)));
        let invocation = judged.calls[at].git.as_ref();
        found.extend(
            invocation.and_then(|invocation| git_files::look(judged, invocation)).map(|finding| finding.at(at)),
        );
    }
    found
}

/// Reports a protected path in text that one command prints and another takes its instructions from.
fn printed(judged: &JudgedCall<'_>) -> Option<Finding> {
    judged.calls.iter().find(|call| interpreters::is_led_by_input(call.command))?;
    let path = judged.calls.iter().find_map(|call| named_paths::named(&interpreters::printed(call.command)?))?;
    Some(Finding::ask(
        judged,
        "",
        format!("a program takes its instructions from a text that names `{path}`, which the gates depend on"),
    ))
}

/// Returns how a program treats folders.
fn takes(call: &CommandCall<'_>) -> Takes {
    let has = |option: &str| call.command.words.iter().filter_map(Word::known).any(|word| word.starts_with(option));
    if let Some(git) = &call.git {
        return if matches!(&*git.name, "rm" | "mv") && !has("--cached") { Takes::Everything } else { Takes::Named };
    }
    match call.command.program().unwrap_or_default() {
        // A hook with more permissions is still a hook.
        "chmod" if only_adds(call.command) => Takes::Nothing,
        "rm" | "mv" | "rmdir" | "shred" | "chmod" | "chown" | "chgrp" => Takes::Everything,
        // A link lets its files be written by another name, and `--delete` removes what is not in the source.
        "cp" if shell::links(call.command.words.get(1..).unwrap_or_default()) => Takes::Everything,
        "rsync" if has("--del") => Takes::Everything,
        "find" | "chattr" | "mount" => Takes::Folders,
        "ln" | "install" | "cp" | "rsync" => Takes::Named,
        _ => Takes::Nothing,
    }
}

/// Judges the files that a command is known to write.
fn written(judged: &JudgedCall<'_>, at: usize) -> Vec<Finding> {
    let call = &judged.calls[at];
    let takes = takes(call);
    let from = &judged.intent.folder;
    let mut paths = judged_call::written(from, call.command);
    paths.extend(call.git.iter().flat_map(|invocation| git_files::touched(from, invocation)));
    // A folder stays the same if something is put into it.
    let program = call.command.program().unwrap_or_default();
    let puts = matches!(program, "mv" | "cp") || (program == "rsync" && takes == Takes::Named);
    let into = call.command.words.last().filter(|_| puts);
    let least = if takes == Takes::Named { Takes::Nothing } else { Takes::Named };
    let into =
        judged_call::written(from, &Command { writes: into.into_iter().cloned().collect(), ..call.command.clone() });
    let taken = |path: &String| if into.contains(&Some(path.clone())) { takes.min(least) } else { takes };
    let fills = puts || (takes <= Takes::Named && call.git.is_none());
    let judge = |path: &String| match path.ends_with("/.") && fills {
        true => filled(judged, path),
        false => finding(judged, path, taken(path)),
    };
    let mut found: Vec<Finding> = paths.iter().flatten().filter_map(judge).collect();
    let mut patterns = named_paths::patterns(from, call.command);
    // Git has patterns of its own, which also work if they are quoted.
    if call.git.is_some() {
        let of_git = paths.iter().flatten().filter(|path| path.contains(['*', '?', '[']));
        patterns.extend(
            of_git.map(|path| named_paths::split(path)).map(|(folder, rest)| (folder.to_owned(), rest.to_owned())),
        );
    }
    found.extend(
        patterns
            .iter()
            .filter(|(folder, rest)| matched(judged, folder, rest, takes))
            .map(|(folder, rest)| block(&format!("{folder}/{rest}"))),
    );
    found
}

/// Judges a folder that is filled from elsewhere: one that contains protected files, in a worktree or in the home folder
/// of the person.
fn filled(judged: &JudgedCall<'_>, folder: &str) -> Option<Finding> {
    let place = judged.place(folder)?;
    let is_home = judged.scene.home.as_deref() == Some(place.path.as_str());
    let holds = match &place.worktree {
        Some(_) => place.inside.is_empty() || place.of_git || named_paths::is_named(&place.inside),
        None => is_home,
    };
    let reason = format!("what is put into `{folder}` may replace files that the gates depend on");
    holds.then(|| Finding::ask(judged, "", reason))
}

/// Checks for `chmod +x`, `chmod 755` or `chmod go-w`, after which a hook still works.
fn only_adds(command: &Command) -> bool {
    let mut modes = command.words.iter().skip(1).filter_map(Word::known).filter(|word| *word != "-R");
    let mode = modes.next().unwrap_or_default();
    let adds = mode.contains('+') && !mode.contains(['-', '=', ',']);
    let of_others = mode.contains(['-', '=']) && !mode.contains(['u', 'a', '+', ',']) && mode.starts_with(['g', 'o']);
    adds || of_others || (mode.len() >= 3 && mode.trim_start_matches('0').starts_with('7'))
}

/// Checks whether a pattern may match a protected file.
fn matched(judged: &JudgedCall<'_>, folder: &str, rest: &str, takes: Takes) -> bool {
    let place = judged.place(folder);
    let inside = place.map_or(folder, |place| if place.worktree.is_some() { &place.inside } else { &place.path });
    let whole = format!("{inside}/{rest}");
    // A pattern may match a parent of the project.
    let parents = place.is_some_and(|place| {
        let beneath = judged.intent.folder.strip_prefix(place.path.trim_end_matches('/'));
        beneath.is_some_and(|beneath| beneath.starts_with('/')) && !rest.contains('/') && rest.starts_with('*')
    });
    place.is_some_and(|place| place.of_git)
        || may_be_protected(&whole, takes != Takes::Nothing)
        || (takes == Takes::Everything && parents)
}

/// Judges what a command may write besides what it is known to write.
fn guessed(judged: &JudgedCall<'_>, at: usize) -> Option<Finding> {
    let command = judged.calls[at].command;
    let from = &judged.intent.folder;
    let arguments = named_paths::arguments(command);
    let known = || command.writes.iter().filter_map(Word::known);
    let ask = |reason: String| Some(Finding::ask(judged, "", reason));
    let holds = |path: &String| {
        named_paths::is_named(path)
            || judged.place(path).is_some_and(|place| {
                let outside = place.worktree.is_none() && is_protected(&place.path);
                place.of_git || outside || named_paths::is_named(&place.inside) || judged.is_own(&place.path)
            })
    };
    if let Some(path) =
        arguments.iter().flat_map(|path| named_paths::resolve_in_folders(from, command, path)).find(holds)
    {
        return ask(format!("it is given `{path}`, which the gates depend on, and may write it"));
    }
    if let Some(path) = named_paths::in_program(command) {
        return ask(format!("the text that is run names `{path}`, which the gates depend on"));
    }
    if let Some(path) = known().find(|path| is_of_process(path)) {
        return ask(format!("`{path}` refers to another file, which is known only at run time"));
    }
    let may_hold = |folder: &Word| match folder {
        Word::Pattern(pattern) => may_be_protected(&format!("{pattern}/*"), false),
        Word::Known(_) | Word::Dynamic | Word::Spread => false,
    };
    if !command.writes.is_empty() && command.folders.iter().any(may_hold) {
        return ask("a file is written in a folder that the gates may depend on".to_owned());
    }
    let nowhere = command.folders.iter().any(|folder| folder.known().is_none());
    let mut written = known().map(str::to_owned).chain(arguments).filter(|path| !path.starts_with('/'));
    if nowhere && let Some(path) = written.find(|path| named_paths::may_hold(path)) {
        return ask(format!("`{path}` may be a file that the gates depend on: its folder is known only at run time"));
    }
    let unknown = command.writes.iter().any(|write| matches!(write, Word::Dynamic | Word::Spread))
        || (nowhere && !command.writes.is_empty());
    let path = unknown.then(|| judged.named()).flatten()?;
    ask(format!("the name of a file that it writes is known only at run time, and the gates depend on `{path}`"))
}

/// Checks whether a path leads to an open file of a process, or to its folder.
fn is_of_process(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let input = matches!(parts[..], ["dev", "stdin"]) || parts.starts_with(&["dev", "fd"]);
    path.starts_with('/') && (input || parts.first() == Some(&"proc"))
}

fn path_of(judged: &JudgedCall<'_>, path: &str) -> Option<String> {
    judged_call::absolute(&judged.intent.folder, &path.into())
}

/// How a command treats folders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Takes {
    /// It writes files.
    Nothing,
    /// It may change folders for protected files.
    Named,
    /// It changes a folder with its contents.
    Folders,
    /// It does so even if the folder is the whole project.
    Everything,
}

/// Judges one path.
fn finding(judged: &JudgedCall<'_>, path: &str, takes: Takes) -> Option<Finding> {
    let place = judged.place(path);
    let paths = place.map_or_else(|| vec![path.to_owned()], |place| paths_in_worktree(path, place));
    let everything = takes == Takes::Everything;
    let holds = |path: &String| {
        is_protected(path)
            || (takes != Takes::Nothing && holds_protected(path) && (everything || named_paths::is_named(path)))
            || (everything && path.is_empty())
    };
    let around = everything && place.is_some_and(|place| is_around(&place.path, &judged.intent.folder));
    let own = place.is_some_and(|place| {
        place.of_git || judged.is_own(&place.path) || (takes >= Takes::Folders && judged.holds_own(&place.path))
    });
    (around || own || paths.iter().any(holds)).then(|| block(path))
}

pub(super) fn block(path: &str) -> Finding {
    Finding::block(
        "",
        format!("`{path}` is protected because the gates or the repository depend on it; only a person is allowed to change it"),
    )
    .remedy("ask the person whom you work for to change it")
}

/// Returns a path relative to its worktree, with symlinks resolved and as written. The written path may itself be a
/// symlink, which would be replaced.
fn paths_in_worktree(path: &str, place: &Place) -> Vec<String> {
    let Some(worktree) = &place.worktree else { return vec![place.path.clone(), path.to_owned()] };
    let written = path.strip_prefix(worktree.root.as_str()).filter(|rest| rest.starts_with('/'));
    let mut paths = vec![place.inside.clone()];
    paths.extend(written.map(|rest| rest.trim_start_matches('/').to_owned()));
    paths
}

/// Checks whether `folder` is within `path`.
fn is_around(path: &str, folder: &str) -> bool {
    let rest = folder.strip_prefix(path.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.starts_with('/'))
}
