//! Programs beside shells that are told in a text what to run: interpreters, editors, `make --eval`, `tar --to-command`.
//! Their texts are not taken apart. One that names git together with a verb that counts is asked.

use super::act::Act;
use super::finding::Finding;
use crate::shell::{self, Command, Word};

pub(super) fn look(act: &Act<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, call) in act.calls.iter().enumerate() {
        let Some(program) = call.command.program() else { continue };
        if text(program, call.command).is_some_and(|text| calls_git(&text)) {
            let reason = format!("the text that `{program}` runs seems to call git by itself");
            found.push(Finding::ask(act, "", reason).at(at));
        }
    }
    found
}

/// Programs that start what their arguments name, in ways that are not taken apart.
const STARTERS: [&str; 20] = [
    "parallel",
    "tmux",
    "screen",
    "watchexec",
    "entr",
    "xargs",
    "bwrap",
    "firejail",
    "perf",
    "valgrind",
    "gdb",
    "setarch",
    "start-stop-daemon",
    "nix",
    "nix-shell",
    "direnv",
    "mise",
    "npx",
    "bunx",
    "expect",
];

/// The text that a program would run, where it runs one.
fn text(program: &str, command: &Command) -> Option<String> {
    let words: Vec<&str> = command.words.iter().skip(1).filter_map(Word::known).collect();
    let any = |starts: &[&str]| words.iter().any(|word| starts.iter().any(|start| word.starts_with(start)));
    let runs = match program {
        _ if shell::is_interpreter(program) || STARTERS.contains(&program) => true,
        "make" | "gmake" => any(&["--eval", "-E"]) || command.stdin.is_some(),
        "npm" | "pnpm" | "yarn" => words
            .first()
            .is_some_and(|verb| matches!(*verb, "pkg" | "set-script" | "config" | "set" | "exec" | "x" | "dlx")),
        "sed" | "gsed" => words.iter().any(|word| executes(word)),
        "vim" | "vi" | "nvim" | "ex" | "view" | "less" | "more" | "man" => words.iter().any(|word| word.contains('!')),
        "emacs" => any(&["--eval", "--execute", "-eval"]),
        "tar" | "gtar" | "bsdtar" => any(&[
            "--checkpoint-action",
            "--to-command",
            "-I",
            "--use-compress",
            "-F",
            "--info-script",
            "--rsh-command",
        ]),
        "rsync" => any(&["-e", "--rsh", "--rsync-path"]),
        "ssh" | "scp" | "sftp" => words.iter().any(|word| word.contains("Command")),
        "split" => any(&["--filter"]),
        "zip" => any(&["-TT", "--unzip-command"]),
        _ => false,
    };
    let stdin = command.stdin.as_ref().filter(|_| matches!(program, "make" | "gmake")).and_then(Word::known);
    runs.then(|| words.iter().copied().chain(stdin).collect::<Vec<_>>().join(" "))
}

/// Whether a script of `sed` runs something: its command `e`, or the flag of a replacement.
fn executes(script: &str) -> bool {
    let starts = script.match_indices("e").any(|(at, _)| {
        let before = script[..at].trim_end().chars().next_back();
        let after = script[at + 1..].chars().next();
        before.is_none_or(|char| char.is_ascii_digit() || ";{}/$\n,".contains(char))
            && after.is_none_or(|char| char == ' ')
    });
    let flagged = script.split(';').any(|part| {
        let part = part.trim_end_matches(['}', ' ']);
        let flags = part.rsplit(['/', '|', '#', ',']).next().unwrap_or_default();
        part.contains('s')
            && flags.len() < part.len()
            && flags.contains('e')
            && flags.chars().all(|c| "gpiImMe0123456789".contains(c))
    });
    starts || flagged
}

/// Whether a text names git and a verb that counts.
pub(super) fn calls_git(text: &str) -> bool {
    const VERBS: [&str; 17] = [
        "commit",
        "push",
        "merge",
        "rebase",
        "reset",
        "cherry-pick",
        "revert",
        "am",
        "update-ref",
        "symbolic-ref",
        "branch",
        "filter-branch",
        "config",
        "pull",
        "update-index",
        "read-tree",
        "send-pack",
    ];
    let mut words =
        text.split(|char: char| !(char.is_alphanumeric() || "-_./".contains(char))).filter(|word| !word.is_empty());
    words.any(|word| word == "git" || word.ends_with("/git")) && words.any(|word| VERBS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_runs_something_is_told_from_one_that_edits() {
        for script in
            ["1e git push", "e git push", "$e git push", "s/.*/git push/e", "/x/e git push", "1{e git push\n}"]
        {
            assert!(executes(script), "{script}");
        }
        for script in ["s/git push/git commit/", "s/a/e/g", "s/the git push/x/", "/merge/d", "s|a|b e c|", "1d;s/e/f/"]
        {
            assert!(!executes(script), "{script}");
        }
    }
}
