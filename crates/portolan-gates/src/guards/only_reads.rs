//! Commands that are known to change nothing, so that nothing has to be inspected after them.

use crate::shell::git::{self, Action};
use crate::shell::{self, Command, Reading, Word};

/// Subcommands of git that only print if their action is to read.
const GIT: &str = "blame branch cat-file describe diff diff-tree for-each-ref log ls-files ls-tree merge-base name-rev rev-list \
    rev-parse shortlog show show-ref status version";

/// Checks whether everything that a text would run is known to change no file. An unknown command may change any.
pub fn only_reads(reading: &Reading) -> bool {
    reading.doubts.is_empty() && reading.commands.iter().all(reads)
}

fn reads(command: &Command) -> bool {
    let Some((Word::Known(program), arguments)) = command.words.split_first() else { return false };
    let mut set = command.assignments.iter().chain(command.carried.iter());
    if !command.writes.is_empty() || !set.all(|set| is_own(&set.name)) {
        return false;
    }
    let known: Option<Vec<&str>> = arguments.iter().map(Word::known).collect();
    match (program.as_str(), known) {
        ("git", Some(known)) => git_reads(command, &known),
        ("portolan", Some(known)) => {
            matches!(known[..], ["doctor" | "--help"] | ["flow", "status" | "events", ..] | ["runs", "list", ..])
        }
        ("find", Some(known)) => !known.iter().any(|word| is_action(word)),
        ("rg", Some(known)) => {
            !known.iter().any(|word| word.starts_with("--pre") || word.starts_with("--hostname-bin"))
        }
        ("sed", Some(known)) => matches!(known.as_slice(), ["-n", script, ..] if is_print(script)),
        (program, _) => shell::only_prints(program),
    }
}

/// Checks for a variable of the text's own, or one of the locale. Another one may affect the programs that run.
fn is_own(name: &str) -> bool {
    name == "LANG" || name.starts_with("LC_") || !name.contains(|c: char| c.is_ascii_uppercase())
}

/// Checks for an expression of `find` that does more than search.
fn is_action(word: &str) -> bool {
    ["-exec", "-ok", "-delete", "-fprint", "-fls"].iter().any(|action| word.starts_with(action))
}

/// Checks for a script of `sed` that prints lines by number: `10,20p`.
fn is_print(script: &str) -> bool {
    script.ends_with('p') && script.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '$' | 'p' | ';'))
}

fn git_reads(command: &Command, arguments: &[&str]) -> bool {
    // A program that shows differences is set only by `--ext-diff` and `--textconv`, or by settings, which no agent may
    // write.
    let runs = |word: &&str| word.starts_with("--ext") || word.starts_with("--textconv");
    let Some(invocation) = git::invocation(command) else { return false };
    let here = invocation.git_dir.is_none() && invocation.work_tree.is_none() && invocation.index_file.is_none();
    let plain = here && invocation.config.is_empty() && invocation.unclear.is_empty() && !arguments.iter().any(runs);
    plain && matches!(invocation.action, Action::Reads) && shell::lists(GIT, &invocation.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_to_only_read() {
        for text in [
            "",
            "# nothing",
            "ls -la && grep -rn x d1 | head",
            "cat a.rs; wc -l a.rs > /dev/null 2>&1",
            "cd src && git status --short && git log --oneline -5 -- src | cat",
            "git diff main...HEAD -- src; git branch -vv; git rev-parse HEAD; git -C .. show HEAD:a",
            "find . -name '*.rs' -newer a | xargs wc -l",
            "sed -n '10,20p' a.rs; sed -n 3p b.rs",
            "rg -n --hidden todo src",
            "for f in a b; do cat \"$f\"; done",
            "n=3; head -n $n a; echo \"$(cat b)\"",
            "LC_ALL=C ls",
            "if [ -f a ]; then cat a; else echo no; fi",
        ] {
            assert!(only_reads(&shell::read(text)), "{text}");
        }
    }

    #[test]
    fn what_may_change_something() {
        for text in [
            "ls > out",
            "cargo build",
            "./ls",
            "PATH=/tmp:$PATH ls",
            "export GIT_DIR=x; git status",
            "rm a",
            "cat a | tee b",
            "echo \"$(touch b)\"",
            "cat <(touch b)",
            "find . -delete",
            "find . -exec rm {} +",
            "find . -fprint0 out",
            "sed -i s/a/b/ a.rs",
            "sed -n 's/a/b/w out' a.rs",
            "rg --pre ./x y",
            "git add -A",
            "git branch new",
            "git checkout -- .",
            "git -c core.pager=./x log",
            "git log --ext-diff -p",
            "git diff --output=a.rs",
            "git update-index --refresh",
            "git unknown",
            "ls() { rm a; }; ls",
            "alias ls=rm; ls a",
            "$X",
            "git $X",
            "python -c 'print(1)'",
            "sort -o a a",
        ] {
            assert!(!only_reads(&shell::read(text)), "{text}");
        }
    }
}
