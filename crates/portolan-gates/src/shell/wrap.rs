//! Programs that start other programs: `env`, `sudo`, `xargs`, `find -exec`, `sh -c` and their like are taken off until
//! what they start is left. An option that is not known here makes a doubt: what follows it may be its value.

use std::sync::Arc;

use super::handed::{handed, option_text};
use super::walk::join;
use super::wrappers::{Options, WRAPPERS, Wrapper, options};
use super::writes::valued;
use super::{Assignment, Command, Why, Word, git, programs};

/// A text that is read on its own.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) folders: Vec<Word>,
    pub(super) carried: Arc<Vec<Assignment>>,
    pub(super) assignments: Vec<Assignment>,
    /// Whether this shell reads it itself, and not another program.
    pub(super) own: bool,
}

/// What a command comes to.
#[derive(Default)]
pub(super) struct WrapperResult {
    pub(super) commands: Vec<Command>,
    pub(super) texts: Vec<Text>,
    pub(super) doubts: Vec<(Why, String)>,
    /// Whether the shell itself may be elsewhere after it.
    pub(super) moves: bool,
}

/// How often something may be taken off one command.
const MAX_LAYERS: usize = 64;

/// Takes off what only starts something else.
pub(super) fn unwrap(command: Command) -> WrapperResult {
    let mut told = WrapperResult::default();
    let mut waiting = vec![(command, 0)];
    while let Some((command, layers)) = waiting.pop() {
        if layers > MAX_LAYERS {
            told.doubts.push((Why::TooDeep, text_of(&command.words)));
            continue;
        }
        let more = step(command, &mut told);
        waiting.extend(more.into_iter().map(|command| (command, layers + 1)));
    }
    told
}

/// One layer: what is left to be looked at, or nothing when the command itself was told.
fn step(command: Command, told: &mut WrapperResult) -> Vec<Command> {
    let Some(first) = command.words.first() else {
        if !command.writes.is_empty() {
            told.commands.push(command);
        }
        return Vec::new();
    };
    let Some(program) = first.known().map(str::to_owned) else {
        told.doubts.push((Why::DynamicCommand, text_of(&command.words)));
        told.commands.push(command);
        return Vec::new();
    };
    let name = programs::called(&program).to_owned();
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name.as_str())) {
        return started(wrapper, &name, command, told);
    }
    if programs::is_shell(&name) {
        shell(&command, told);
        keep_writes(command, told);
        return Vec::new();
    }
    if evaluates(&name, &command.words) {
        told.doubts.push((Why::Hidden, text_of(&command.words)));
    }
    match name.as_str() {
        "eval" => {
            told.moves = true;
            let words = command.words[1..].to_vec();
            run_words(&words, &command, told);
            keep_writes(command, told);
            return Vec::new();
        }
        "." | "source" => {
            told.moves = true;
            told.doubts.push((Why::Script, text_of(&command.words)));
        }
        "alias" | "enable" | "hash" if command.words.len() > 1 => {
            told.doubts.push((Why::Redefined, text_of(&command.words)))
        }
        "compgen" | "complete" | "bind" => told.doubts.push((Why::Hidden, text_of(&command.words))),
        "mapfile" | "readarray" => {
            for text in valued(&command.words, &["-C"]) {
                run_words(&[text], &command, told);
            }
        }
        "shopt" | "setopt"
            if command.words.iter().any(|word| {
                matches!(
                    word.known(),
                    Some(
                        "dotglob"
                            | "globdots"
                            | "extglob"
                            | "extendedglob"
                            | "kshglob"
                            | "cdable_vars"
                            | "cdablevars"
                            | "autocd"
                    )
                )
            }) =>
        {
            told.doubts.push((Why::Redefined, text_of(&command.words)));
        }
        "trap" => {
            let flag = |word: &&Word| !matches!(word.known(), Some("-" | "-l" | "-p" | "--"));
            let text = command.words[1..].iter().find(flag).cloned();
            run_words(text.as_slice(), &command, told);
        }
        "su" | "script" | "runuser" | "newgrp" => option_text(&command, told),
        "sg" => {
            let text = command.words[1..].iter().skip(1).find(|word| word.known() != Some("-c")).cloned();
            run_words(text.as_slice(), &command, told);
        }
        "ssh" | "at" | "batch" | "crontab" | "npx" | "npm" => handed(&name, &command, told),
        "find" | "gfind" | "fd" | "fdfind" => {
            let started = found(&command);
            told.commands.push(command);
            return started;
        }
        _ if name.eq_ignore_ascii_case("git") || name.starts_with("git-") => {
            // They run at the top of a repository, which need not be this one.
            let elsewhere = git::without_programs(Command { folders: vec![Word::Dynamic], ..command.clone() });
            for text in git::texts(&command) {
                run_words(&[text], &elsewhere, told);
            }
            if git::runs_other_side(&command) {
                told.doubts.push((Why::Hidden, text_of(&command.words)));
            }
        }
        _ if programs::is_script(&program) => told.doubts.push((Why::Script, text_of(&command.words))),
        _ if programs::runs_programs(&name) => told.doubts.push((Why::RunsPrograms, text_of(&command.words))),
        _ => {}
    }
    handed_shell(&name, &command, told);
    told.commands.push(command);
    Vec::new()
}

/// What `wrapper` starts.
fn started(wrapper: &Wrapper, name: &str, mut command: Command, told: &mut WrapperResult) -> Vec<Command> {
    if name == "command" && matches!(command.words.get(1).and_then(Word::known), Some("-v" | "-V")) {
        return Vec::new();
    }
    let Options { mut at, given } = match options(wrapper, &command.words, 1) {
        Ok(options) => options,
        Err(why) => {
            told.doubts.push((why, text_of(&command.words)));
            keep_writes(command, told);
            return Vec::new();
        }
    };
    for (option, value) in &given {
        match (name, option.as_str()) {
            ("env" | "genv", "-C" | "--chdir") | ("sudo", "-D" | "--chdir") => {
                command.folders = command.folders.iter().map(|from| join(from, value)).collect();
            }
            // It has escapes and variables of its own.
            ("env" | "genv", "-S" | "--split-string")
                if value.known().is_some_and(|text| text.contains(['\\', '$'])) =>
            {
                told.doubts.push((Why::DynamicText, text_of(&command.words)));
                return Vec::new();
            }
            ("env" | "genv", "-S" | "--split-string") => {
                let rest = command.words.split_off(at);
                run_words(&[std::slice::from_ref(value), rest.as_slice()].concat(), &command, told);
                return Vec::new();
            }
            ("time" | "gtime" | "strace" | "ltrace", "-o" | "--output") => match value.known() {
                Some(text) if text.starts_with(['|', '!']) => run_words(&[Word::from(&text[1..])], &command, told),
                _ => command.writes.push(value.clone()),
            },
            _ => {}
        }
    }
    at += wrapper.operands;
    if matches!(name, "env" | "genv" | "sudo" | "cross-env") {
        at = assigned(&mut command, at, told);
    }
    let whole = text_of(&command.words);
    let mut rest = if at <= command.words.len() { command.words.split_off(at) } else { Vec::new() };
    if name == "flock" && rest.first().and_then(Word::known) == Some("-c") {
        run_words(&rest[1..], &command, told);
        return Vec::new();
    }
    if name == "watch" {
        run_words(&rest, &command, told);
        return Vec::new();
    }
    if rest.is_empty() {
        if matches!(name, "sudo" | "doas") && !given.is_empty() {
            told.doubts.push((Why::Script, whole));
        }
        command.words.clear();
        keep_writes(command, told);
        return Vec::new();
    }
    if matches!(name, "xargs" | "gxargs") {
        fed(&mut rest, &given);
    }
    command.words = rest;
    vec![command]
}

/// Whether an argument is a variable whose subscript runs a command: `printf -v 'a[$(b)]'`.
fn evaluates(name: &str, words: &[Word]) -> bool {
    let names_variables = match name {
        "printf" | "test" | "[" => words.iter().any(|word| word.known() == Some("-v")),
        "read" | "mapfile" | "readarray" | "unset" | "let" | "declare" | "typeset" | "local" | "export"
        | "readonly" | "wait" | "getopts" => true,
        _ => false,
    };
    names_variables && words.iter().filter_map(Word::known).any(|text| text.contains("$(") || text.contains('`'))
}

/// What `xargs` adds: words from its input, at the end or where they are asked for.
fn fed(words: &mut Vec<Word>, given: &[(String, Word)]) {
    let place =
        given.iter().find(|(option, _)| matches!(option.as_str(), "-I" | "-J" | "--replace")).map(|(_, value)| value);
    let Some(place) = place else {
        words.push(Word::Spread);
        return;
    };
    for word in words {
        match (word.known(), place.known()) {
            (Some(text), Some(place)) if !text.contains(place) => {}
            _ => *word = Word::Dynamic,
        }
    }
}

/// Assignments before the program, as `env` takes them.
fn assigned(command: &mut Command, mut at: usize, told: &mut WrapperResult) -> usize {
    while let Some(word) = command.words.get(at) {
        match word.known().map(|text| text.split_once('=')) {
            Some(Some((name, value))) => {
                let value = Word::from(value);
                command.assignments.push(Assignment { name: name.to_owned(), value });
            }
            Some(None) => break,
            // It may be an assignment, or the program.
            None => told.doubts.push((Why::DynamicCommand, text_of(&command.words))),
        }
        at += 1;
    }
    at
}

/// `sh -c text`, `sh file`, `sh < text`.
fn shell(command: &Command, told: &mut WrapperResult) {
    if programs::is_reached(command) {
        told.commands.push(Command { writes: Vec::new(), ..command.clone() });
    }
    let (mut at, mut text_follows, mut from_stdin) = (1, false, false);
    while let Some(word) = command.words.get(at) {
        let Some(option) = word.known() else {
            told.doubts.push((Why::DynamicText, text_of(&command.words)));
            return;
        };
        at += 1;
        match option {
            "--" | "-" => break,
            "--rcfile" | "--init-file" => {
                told.doubts.push((Why::Script, text_of(&command.words)));
                at += 1;
            }
            "--norc" | "--noprofile" | "--login" | "--posix" | "--restricted" | "--verbose" | "--noediting" => {}
            "--version" | "--help" => return,
            _ if option.starts_with("--") => {
                told.doubts.push((Why::UnknownOption, text_of(&command.words)));
                return;
            }
            _ if option.starts_with(['-', '+']) => {
                text_follows |= option.starts_with('-') && option.contains('c');
                from_stdin |= option.contains('s');
                at += option.matches(['o', 'O']).count();
            }
            _ => {
                at -= 1;
                break;
            }
        }
    }
    let operand = command.words.get(at).cloned();
    match (text_follows, operand) {
        (true, operand) => run_words(operand.as_slice(), command, told),
        (false, Some(_)) if !from_stdin => told.doubts.push((Why::Script, text_of(&command.words))),
        _ => match &command.stdin {
            Some(text) => run_words(std::slice::from_ref(text), command, told),
            None => told.doubts.push((Why::Script, text_of(&command.words))),
        },
    }
}

/// A shell with its text among the arguments of a program that is not known to only print them: it may start it.
fn handed_shell(name: &str, command: &Command, told: &mut WrapperResult) {
    // What runs on other machines, or in a container, is in other folders.
    const NOT_HERE: [&str; 14] = [
        "echo", "printf", "grep", "rg", "which", "type", "git", "ssh", "docker", "podman", "kubectl", "vagrant",
        "find", "su",
    ];
    if NOT_HERE.contains(&name) {
        return;
    }
    let is_text = |word: Option<&Word>| {
        let option = word.and_then(Word::known).unwrap_or_default();
        option.starts_with('-') && !option.starts_with("--") && option.contains('c')
    };
    let starts = |at: &usize| {
        let program = command.words[*at].known().map(programs::base_name);
        program.is_some_and(programs::is_shell) && is_text(command.words.get(at + 1))
    };
    if let Some(at) = (1..command.words.len()).find(starts) {
        let words = command.words[at..].to_vec();
        shell(&Command { words, writes: Vec::new(), ..command.clone() }, told);
    }
}

/// Words that are run as one text.
pub(super) fn run_words(words: &[Word], command: &Command, told: &mut WrapperResult) {
    let known: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    let Some(known) = known else {
        told.doubts.push((Why::DynamicText, text_of(&command.words)));
        return;
    };
    told.texts.push(Text {
        text: known.join(" "),
        folders: command.folders.clone(),
        carried: command.carried.clone(),
        assignments: command.assignments.clone(),
        own: command.words.first().and_then(Word::known) == Some("eval"),
    });
}

/// What `find -exec` starts.
fn found(command: &Command) -> Vec<Command> {
    let mut started = Vec::new();
    let base = Command { words: Vec::new(), writes: Vec::new(), ..command.clone() };
    let mut words = command.words.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(option) = word.known() else { continue };
        if !matches!(option, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch") {
            continue;
        }
        let given = words.by_ref().take_while(|word| !matches!(word.known(), Some(";" | "+")));
        let given = given.map(|word| match word.known() {
            Some(text) if !text.contains("{}") => word.clone(),
            Some(_) => Word::Dynamic,
            None => word.clone(),
        });
        let mut inner = Command { words: given.collect(), ..base.clone() };
        if option.ends_with("dir") {
            inner.folders = vec![Word::Dynamic];
        }
        started.push(inner);
    }
    started
}

/// What is written by a program that is not told itself.
fn keep_writes(mut command: Command, told: &mut WrapperResult) {
    if !command.writes.is_empty() {
        command.words.clear();
        told.commands.push(command);
    }
}

pub(super) fn text_of(words: &[Word]) -> String {
    words.iter().map(|word| word.known().unwrap_or("?")).collect::<Vec<_>>().join(" ")
}
