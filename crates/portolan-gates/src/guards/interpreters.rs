//! Programs other than shells that run instructions from a text: interpreters, editors, `make --eval`,
//! `tar --to-command`, and every program that is not known to run nothing. Their texts are not parsed. A text that
//! names git with a guarded verb is asked about, whether it is an argument, a variable or the input of the program.

use super::finding::Finding;
use super::judged_call::JudgedCall;
use crate::shell::{self, Command, Word};

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    let printed = judged.calls.iter().any(|call| printed(call.command).is_some_and(|text| calls_git(&text)));
    let mut found = Vec::new();
    for (at, call) in judged.calls.iter().enumerate() {
        let Some(program) = call.command.program() else { continue };
        let given = text(program, call.command).is_some_and(|text| calls_git(&text));
        if given || (printed && reads_program(program, call.command)) {
            let reason = format!("the text that `{program}` runs seems to call git");
            found.push(Finding::ask(judged, "", reason).at(at));
        }
    }
    found
}

/// Returns the text that a program would run, if it runs one.
fn text(program: &str, command: &Command) -> Option<String> {
    let words: Vec<&str> = command.words.iter().skip(1).filter_map(Word::known).collect();
    let any = |starts: &[&str]| words.iter().any(|word| starts.iter().any(|start| word.starts_with(start)));
    let runs = match program {
        "git" => return edited(command),
        _ if shell::is_inert(program) => false,
        "npm" | "pnpm" | "yarn" => words
            .first()
            .is_some_and(|verb| matches!(*verb, "pkg" | "set-script" | "config" | "set" | "exec" | "x" | "dlx")),
        "sed" | "gsed" => words.iter().copied().chain(input(command)).any(executes),
        "less" | "more" | "man" => words.iter().any(|word| word.contains('!')),
        // Options may be abbreviated.
        "tar" | "gtar" | "bsdtar" => {
            any(&["--checkpoint-a", "--to-c", "-I", "--use", "-F", "--info", "--new-volume", "--rsh", "--rmt"])
        }
        "rsync" => any(&["-e", "--rsh", "--rsync-path"]),
        "ssh" | "scp" | "sftp" => words.iter().any(|word| word.contains("Command")),
        _ => true,
    };
    let language = shell::is_interpreter(program);
    let carried = command.carried.iter().filter(|_| language);
    let set = carried.chain(&command.assignments).filter_map(|given| given.value.known());
    runs.then(|| words.iter().copied().chain(input(command)).chain(set).collect::<Vec<_>>().join(" "))
}

fn input(command: &Command) -> Option<&str> {
    command.stdin.as_ref().and_then(Word::known)
}

/// Returns the editors that variables set for git. Git may run what an editor writes.
fn edited(command: &Command) -> Option<String> {
    let all = command.carried.iter().chain(&command.assignments);
    let editors = all.filter(|given| given.name.ends_with("EDITOR") || given.name == "VISUAL");
    let texts: Vec<&str> = editors.filter_map(|given| given.value.known()).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Returns the text that a command prints and another may read.
pub(super) fn printed(command: &Command) -> Option<String> {
    let words = command.words.iter().skip(1).filter_map(Word::known);
    matches!(command.program()?, "echo" | "printf" | "cat" | "base64" | "tac" | "rev" | "tr")
        .then(|| words.chain(input(command)).collect::<Vec<_>>().join(" ").replace("\\t", " ").replace("\\n", " "))
}

/// Checks whether a program takes its instructions from standard input.
fn reads_program(program: &str, command: &Command) -> bool {
    if command.stdin.is_some() || shell::is_inert(program) {
        return false;
    }
    let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.known().unwrap_or_default()).collect();
    let names_input = words.iter().any(|word| matches!(*word, "-" | "-f-" | "/dev/stdin") || word.ends_with("=-"));
    let edits = matches!(program, "sed" | "gsed") && words.iter().any(|word| executes(word));
    let reads = edits || matches!(program, "ed" | "ex" | "gdb" | "sqlite3" | "parallel" | "at" | "batch");
    names_input || reads || (shell::is_interpreter(program) && words.iter().all(|word| is_setting(word)))
}

/// Checks whether a program takes its instructions, or the names of files to write, from standard input.
pub(super) fn is_led_by_input(command: &Command) -> bool {
    let Some(program) = command.program() else { return false };
    let set = matches!(program, "curl" | "wget") && command.words.iter().any(|word| word.known() == Some("-"));
    set || reads_program(program, command)
}

/// Checks for an option of an interpreter that gives no program.
fn is_setting(word: &str) -> bool {
    word.starts_with('-') && !word.contains(['c', 'e', 'E', 'm', 'r', 'p', 'f']) && !word.starts_with("--")
}

/// Checks whether a script of `sed` runs something: by its command `e`, or by the flag of a replacement.
fn executes(script: &str) -> bool {
    let starts = script.match_indices("e").any(|(at, _)| {
        let before = script[..at].trim_end().chars().next_back();
        let after = script[at + 1..].chars().next();
        before.is_none_or(|char| char.is_ascii_digit() || ";{}/$\n,".contains(char))
            && after.is_none_or(|char| char == ' ')
    });
    let flagged = script.match_indices('s').any(|(at, _)| {
        let before = script[..at].trim_end().chars().next_back();
        let begins = before.is_none_or(|char| char.is_ascii_digit() || ";{}$".contains(char));
        let sign = script[at + 1..].chars().next();
        (begins || sign.is_some_and(|sign| !sign.is_alphanumeric())) && is_flagged(&script[at + 1..])
    });
    starts || flagged
}

/// Checks whether a replacement runs its result. `rest` is the text after its `s`. Any character may be the delimiter.
fn is_flagged(rest: &str) -> bool {
    let mut characters = rest.chars();
    let Some(sign) = characters.next().filter(|sign| !matches!(sign, ' ' | '\\' | '\n')) else {
        return false;
    };
    let mut parts = 0;
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            _ if character == sign => parts += 1,
            _ => {}
        }
        if parts == 2 {
            let flags = characters.as_str().chars().take_while(|char| char.is_ascii_alphanumeric());
            // The name of a file follows `w`.
            return flags.take_while(|flag| *flag != 'w').any(|flag| flag == 'e');
        }
    }
    false
}

/// Checks whether a text names git and a guarded verb.
pub(super) fn calls_git(text: &str) -> bool {
    const VERBS: &str = "commit push merge rebase reset cherry-pick revert am update-ref symbolic-ref branch filter-branch config \
        pull update-index read-tree send-pack receive-pack fast-import commit-tree pack-refs worktree replace bundle fetch";
    let mut words =
        text.split(|char: char| !(char.is_alphanumeric() || "-_./".contains(char))).filter(|word| !word.is_empty());
    words.any(|word| word == "git" || word.ends_with("/git")) && words.any(|word| shell::lists(VERBS, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_runs_something_is_told_from_one_that_edits() {
        for script in [
            "1e git push",
            "e git push",
            "$e git push",
            "s/.*/git push/e",
            "/x/e git push",
            "1{e git push\n}",
            "s\u{1}.*\u{1}git push\u{1}e",
            "sX.*X|git push|Xge",
            "s,a\\,b,git push,2e w",
        ] {
            assert!(executes(script), "{script}");
        }
        for script in ["s/git push/git commit/", "s/a/e/g", "s/the git push/x/", "/merge/d", "s|a|b e c|", "1d;s/e/f/"]
        {
            assert!(!executes(script), "{script}");
        }
    }
}
