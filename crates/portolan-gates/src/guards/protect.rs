//! `protect-guards`: what holds the gates is not edited by those whom they hold: the settings of the hosts, the state of
//! the flows, and the repository's own folder.

use super::act::{self, Act, Call};
use super::context::Place;
use super::finding::Finding;
use super::{bygit, named, shadow, starters, taken};
use crate::shell::{self, Command, Word};
use crate::{holds_protected, is_protected, may_be_protected};

pub(super) fn look(act: &Act<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = act
        .edited()
        .iter()
        .filter_map(|path| path_of(act, path))
        .filter_map(|path| finding(act, &path, Takes::Nothing))
        .collect();
    found.extend(printed(act));
    for at in 0..act.calls.len() {
        found.extend(written(act, at).into_iter().chain(guessed(act, at)).map(|finding| finding.at(at)));
        found.extend(shadow::look(act, at));
        found.extend(filled(act, act.calls[at].command).map(|finding| finding.at(at)));
        found.extend(taken::look(act, &act.calls[at]).map(|finding| finding.at(at)));
        let told = act.calls[at].git.as_ref();
        found.extend(told.and_then(|told| bygit::look(act, told)).map(|finding| finding.at(at)));
    }
    found
}

/// A path that holds the gates in what one command prints and another is led by.
fn printed(act: &Act<'_>) -> Option<Finding> {
    act.calls.iter().find(|call| starters::is_led_by_input(call.command))?;
    let path = act.calls.iter().find_map(|call| named::named(&starters::printed(call.command)?))?;
    Some(Finding::ask(act, "", format!("a program is led by a text that names `{path}`, which holds the gates")))
}

/// Programs that take a folder with all that is in it.
const TAKES: [&str; 7] = ["rm", "mv", "rmdir", "shred", "find", "chattr", "mount"];

/// What a program does with folders.
fn takes(call: &Call<'_>) -> Takes {
    let program = call.command.program().unwrap_or_default();
    let by_git = act::subcommand(call.command).map_or("", |(name, _)| name);
    match program {
        "rm" | "mv" | "rmdir" | "shred" => Takes::Everything,
        // What is added to the rights of a hook leaves it a hook.
        "chmod" if only_adds(call.command) => Takes::Nothing,
        "chmod" | "chown" | "chgrp" => Takes::Everything,
        // Its files would be written by their other name, and what is not in the source is taken away.
        "cp" if shell::links(call.command.words.get(1..).unwrap_or_default()) => Takes::Everything,
        "rsync" if call.command.words.iter().any(|word| word.known().is_some_and(|text| text.starts_with("--del"))) => {
            Takes::Everything
        }
        _ if by_git == "rm" && act::subcommand(call.command).is_some_and(|(_, words)| act::has(words, "--cached")) => {
            Takes::Named
        }
        _ if matches!(by_git, "rm" | "mv") => Takes::Everything,
        _ if TAKES.contains(&program) => Takes::Folders,
        "ln" | "install" => Takes::Named,
        _ if call.git.is_some() => Takes::Named,
        _ => Takes::Nothing,
    }
}

/// What a command is known to write.
fn written(act: &Act<'_>, at: usize) -> Vec<Finding> {
    let call = &act.calls[at];
    let takes = takes(call);
    let from = &act.intent.folder;
    let mut paths = act::written(from, call.command);
    paths.extend(call.git.iter().flat_map(|told| bygit::touched(from, told)));
    // What comes into a folder leaves it what it is.
    let into = matches!(call.command.program(), Some("mv" | "cp")).then(|| call.command.words.last()).flatten();
    let into = act::written(from, &Command { writes: into.into_iter().cloned().collect(), ..call.command.clone() });
    let taken = |path: &String| if into.contains(&Some(path.clone())) { takes.min(Takes::Named) } else { takes };
    let mut found: Vec<Finding> = paths.iter().flatten().filter_map(|path| finding(act, path, taken(path))).collect();
    let mut patterns = named::patterns(from, call.command);
    // Git knows patterns of its own, also where they are quoted.
    if call.git.is_some() {
        let of_git = paths.iter().flatten().filter(|path| path.contains(['*', '?', '[']));
        patterns
            .extend(of_git.map(|path| named::split(path)).map(|(folder, rest)| (folder.to_owned(), rest.to_owned())));
    }
    found.extend(
        patterns
            .iter()
            .filter(|(folder, rest)| matched(act, folder, rest, takes))
            .map(|(folder, rest)| block(&format!("{folder}/{rest}"))),
    );
    found
}

/// What comes into a folder that has the gates in it: the root of a worktree, or what a person has for all projects.
fn filled(act: &Act<'_>, command: &Command) -> Option<Finding> {
    let mut asked = None;
    for (folder, name) in act::filled(&act.intent.folder, command) {
        let Some(place) = act.place(&folder) else { continue };
        let inside = match &place.worktree {
            Some(_) => place.inside.as_str(),
            None if act.scene.home.as_deref() == Some(place.path.as_str()) => "",
            None => continue,
        };
        let whole = |name: &str| if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") };
        match name.map(whole) {
            Some(path) if is_protected(&path) || named::is_named(&path) => return Some(block(&path)),
            Some(_) => {}
            None if inside.is_empty() || place.of_git || holds_protected(inside) => asked = Some(folder),
            None => {}
        }
    }
    let program = command.program().unwrap_or_default();
    asked.map(|folder| {
        let reason = format!("what `{program}` brings into `{folder}` may take the place of what holds the gates");
        Finding::ask(act, "", reason)
    })
}

/// `chmod +x`, `chmod 755`, `chmod go-w`: a hook stays one.
fn only_adds(command: &Command) -> bool {
    let takes = |mode: &str| mode.starts_with('-') && mode[1..].chars().all(|char| "rwxXst".contains(char));
    let words: Vec<&str> = command.words.iter().skip(1).filter_map(Word::known).collect();
    let mode = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let octal = mode.trim_start_matches('0');
    let adds = |clause: &str| match clause.find(['+', '-', '=']) {
        Some(at) => {
            clause[at..].starts_with('+') && !clause[at + 1..].contains(['-', '='])
                || (at > 0 && !clause[..at].contains(['u', 'a']))
        }
        None => false,
    };
    let adds = mode.split(',').all(adds) || (octal.len() == 3 && octal.starts_with('7'));
    adds && !words.iter().any(|word| takes(word) || word.starts_with("--ref"))
}

/// Whether a pattern may match what holds the gates.
fn matched(act: &Act<'_>, folder: &str, rest: &str, takes: Takes) -> bool {
    let place = act.place(folder);
    let inside = place.map_or(folder, |place| if place.worktree.is_some() { &place.inside } else { &place.path });
    let whole = format!("{inside}/{rest}");
    // A parent of the project, where a pattern names it.
    let parents = place.is_some_and(|place| {
        let beneath = act.intent.folder.strip_prefix(place.path.trim_end_matches('/'));
        beneath.is_some_and(|beneath| beneath.starts_with('/')) && !rest.contains('/') && rest.starts_with('*')
    });
    place.is_some_and(|place| place.of_git)
        || may_be_protected(&whole, takes != Takes::Nothing)
        || (takes == Takes::Everything && parents)
}

/// What a command may write, for all that is known of it.
fn guessed(act: &Act<'_>, at: usize) -> Option<Finding> {
    let command = act.calls[at].command;
    let from = &act.intent.folder;
    let arguments = named::arguments(command);
    let holds = |path: &String| {
        named::is_named(path)
            || act.place(path).is_some_and(|place| {
                let outside = place.worktree.is_none() && is_protected(&place.path);
                place.of_git || outside || named::is_named(&place.inside) || act.is_own(&place.path)
            })
    };
    if let Some(path) = arguments.iter().flat_map(|path| named::seen(from, command, path)).find(holds) {
        let program = command.program().unwrap_or_default();
        return Some(Finding::ask(
            act,
            "",
            format!("`{program}` is given `{path}`, which holds the gates, and may write it"),
        ));
    }
    if let Some(path) = named::in_program(command) {
        return Some(Finding::ask(act, "", format!("the text that is run names `{path}`, which holds the gates")));
    }
    let gates = |folder: &Word| match folder {
        Word::Pattern(pattern) => may_be_protected(&format!("{pattern}/*"), false).then(|| pattern.clone()),
        Word::Known(_) | Word::Dynamic | Word::Spread => None,
    };
    if !command.writes.is_empty()
        && let Some(pattern) = command.folders.iter().find_map(gates)
    {
        let reason = format!("a file is written in `{pattern}`, which may be a folder that holds the gates");
        return Some(Finding::ask(act, "", reason));
    }
    if let Some(path) = command.writes.iter().filter_map(Word::known).find(|path| is_of_process(path)) {
        return Some(Finding::ask(act, "", format!("`{path}` stands for another file, which only the run will know")));
    }
    let nowhere = command.folders.iter().any(|folder| folder.known().is_none());
    let written = || command.writes.iter().filter_map(Word::known).map(str::to_owned).chain(named::arguments(command));
    if nowhere && let Some(path) = written().find(|path| !path.starts_with('/') && named::may_hold(path)) {
        let reason = format!("`{path}` may hold the gates: its folder is only known when it runs");
        return Some(Finding::ask(act, "", reason));
    }
    let targets = command.writes.iter().chain(command.fills.iter().map(|fill| &fill.to));
    let unknown = targets.into_iter().any(|write| matches!(write, Word::Dynamic | Word::Spread));
    let unknown = unknown || (nowhere && !command.writes.is_empty());
    let path = unknown.then(|| act.named().or_else(|| act.part_named())).flatten()?;
    Some(Finding::ask(act, "", format!("a file is written that only the run will name, and `{path}` holds the gates")))
}

/// Whether a path leads to what a process has open, or to where it is.
fn is_of_process(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let input = matches!(parts[..], ["dev", "stdin"]) || parts.starts_with(&["dev", "fd"]);
    path.starts_with('/') && (input || parts.first() == Some(&"proc"))
}

fn path_of(act: &Act<'_>, path: &str) -> Option<String> {
    act::absolute(&act.intent.folder, &path.into())
}

/// What a command does with folders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Takes {
    /// It writes files.
    Nothing,
    /// It may change those that are there for the gates.
    Named,
    /// It changes a folder with what is in it.
    Folders,
    /// The same, also where it is the whole project.
    Everything,
}

/// What is found of one path.
fn finding(act: &Act<'_>, path: &str, takes: Takes) -> Option<Finding> {
    let place = act.place(path);
    let seen = place.map_or_else(|| vec![path.to_owned()], |place| seen(path, place));
    let everything = takes == Takes::Everything;
    let holds = |path: &String| {
        is_protected(path)
            || (takes != Takes::Nothing && holds_protected(path) && (everything || named::is_named(path)))
            || (everything && path.is_empty())
    };
    let around = everything && place.is_some_and(|place| is_around(&place.path, &act.intent.folder));
    let own = place.is_some_and(|place| {
        place.of_git || act.is_own(&place.path) || (takes >= Takes::Folders && act.holds_own(&place.path))
    });
    (around || own || seen.iter().any(holds)).then(|| block(path))
}

pub(super) fn block(path: &str) -> Finding {
    Finding::block("", format!("`{path}` holds the gates, or the repository itself; only a person changes it"))
        .remedy("ask the person whom you work for to change it")
}

/// How a path is named from its worktree: by where it leads, and by how it is written. What is written may itself be a
/// symlink, which is then replaced.
fn seen(path: &str, place: &Place) -> Vec<String> {
    let Some(worktree) = &place.worktree else { return vec![place.path.clone(), path.to_owned()] };
    let written = path.strip_prefix(worktree.root.as_str()).filter(|rest| rest.starts_with('/'));
    let mut seen = vec![place.inside.clone()];
    seen.extend(written.map(|rest| rest.trim_start_matches('/').to_owned()));
    seen
}

/// Whether `folder` is within `path`.
fn is_around(path: &str, folder: &str) -> bool {
    let rest = folder.strip_prefix(path.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.starts_with('/'))
}
