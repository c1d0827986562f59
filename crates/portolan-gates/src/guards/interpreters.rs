//! Programs other than shells that run instructions from a text: interpreters, editors, `make --eval`,
//! `tar --to-command`, and every program that is not known to run nothing. Their texts are not parsed. A text that
//! names git with a guarded verb is asked about, whether it is an argument, a variable or the input of the program.

use super::finding::Finding;
use super::judged_call::JudgedCall;
use crate::shell::git::names_program;
use crate::shell::{self, Command, Word};

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    let printed = judged.calls.iter().any(|call| printed(call.command).is_some_and(|text| calls_git(&text)));
    let mut found = Vec::new();
    for (at, call) in judged.calls.iter().enumerate() {
        let Some(program) = call.command.program() else { continue };
        let given = text(program, call.command).is_some_and(|text| calls_git(&text));
        if given || (printed && is_led_by_input(call.command)) {
            let reason = format!("the text that `{program}` runs seems to call git");
            found.push(Finding::ask(judged, "", reason).at(at));
        }
    }
    found
}

/// Returns the text that a program would run, if it runs one.
fn text(program: &str, command: &Command) -> Option<String> {
    let words: Vec<&str> = command.words.iter().skip(1).filter_map(Word::known).collect();
    let any = |parts: &[&str]| words.iter().any(|word| parts.iter().any(|part| word.contains(part)));
    let runs = match program {
        "git" => false,
        _ if shell::is_inert(program) => false,
        "npm" | "pnpm" | "yarn" => words.first().is_some_and(|verb| *verb != "run" && *verb != "test"),
        "sed" | "gsed" => words.iter().copied().chain(input(command)).any(executes),
        "less" | "more" | "man" => any(&["!"]),
        // Commands for other machines are theirs.
        "ssh" => any(&["Command", "localhost", "127.", "::1"]),
        "scp" | "sftp" => any(&["Command"]),
        _ => true,
    };
    // Git may run what an editor writes.
    let language = shell::is_interpreter(program);
    let set = command.set().filter(|given| match program {
        "git" => names_program(&given.name),
        _ => runs && (language || command.assignments.contains(given)),
    });
    let set = set.filter_map(|given| given.value.known());
    Some(
        words
            .iter()
            .copied()
            .filter(|_| runs)
            .chain(input(command).filter(|_| runs))
            .chain(set)
            .collect::<Vec<_>>()
            .join(" "),
    )
}

fn input(command: &Command) -> Option<&str> {
    command.stdin.as_ref().and_then(Word::known)
}

/// Returns the text that a command prints and another may read.
pub(super) fn printed(command: &Command) -> Option<String> {
    let words = command.words.iter().skip(1).filter_map(Word::known);
    matches!(command.program()?, "echo" | "printf" | "cat" | "base64" | "tac" | "rev" | "tr")
        .then(|| words.chain(input(command)).collect::<Vec<_>>().join(" ").replace("\\t", " ").replace("\\n", " "))
}

/// Checks whether a program takes its instructions, or the names of files to write, from standard input.
pub(super) fn is_led_by_input(command: &Command) -> bool {
    let Some(program) = command.program() else { return false };
    let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.known().unwrap_or_default()).collect();
    let names_input = words.iter().any(|word| matches!(*word, "-" | "-f-" | "/dev/stdin") || word.ends_with("=-"));
    if matches!(program, "curl" | "wget") && names_input {
        return true;
    }
    if command.stdin.is_some() || shell::is_inert(program) {
        return false;
    }
    // An option of an interpreter that gives no program.
    let is_setting = |word: &&str| word.starts_with('-') && !word.contains(['c', 'e', 'E', 'm', 'r', 'p', 'f']);
    let executes = matches!(program, "sed" | "gsed") && words.iter().any(|word| executes(word));
    let reads = matches!(program, "ed" | "ex" | "gdb" | "sqlite3" | "parallel" | "at" | "batch");
    names_input || executes || reads || (shell::is_interpreter(program) && words.iter().all(is_setting))
}

/// Checks whether a script of `sed` may run something: by its command `e`, or by that flag of a replacement.
fn executes(script: &str) -> bool {
    script.split(|char: char| !char.is_alphanumeric()).any(|part| part.len() <= 3 && part.contains('e'))
}

/// Checks whether a text names git and a guarded verb.
fn calls_git(text: &str) -> bool {
    const VERBS: &str = "commit push merge rebase reset cherry-pick revert am update-ref symbolic-ref branch filter-branch config \
        pull update-index read-tree send-pack receive-pack fast-import commit-tree pack-refs worktree replace bundle fetch";
    let mut words =
        text.split(|char: char| !(char.is_alphanumeric() || "-_./".contains(char))).filter(|word| !word.is_empty());
    words.any(|word| word == "git" || word.ends_with("/git")) && words.any(|word| shell::lists(VERBS, word))
}
