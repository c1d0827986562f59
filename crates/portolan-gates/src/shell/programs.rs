//! Facts about programs by name: which only print, which write only known files, which run others. Each list answers
//! one question. A program in none of them may do anything.

use super::{Command, Word};

/// Programs that only print, whatever their arguments.
const PRINTING: &str = "[ : b2sum basename cat cksum cmp column comm cut date df diff dirname du echo egrep false fgrep file fold \
    grep head hexdump jq join ls md5sum nl od paste printf ps pwd readlink realpath rev sha1sum sha256sum sha512sum sleep stat \
    strings tac tail test tr true type uname wc which whoami cd";

/// Programs that neither run nor write what their arguments name, except for the writes that [`super::writes`] knows.
const WRITING: &str = "ack ag alias apply_patch b3sum base64 bat chattr chgrp chmod chown colordiff command cp declare delta exit \
 export fmt install kill ln local locate mkdir mount mv open popd portolan pushd read readonly return rm rmdir \
 scp set shasum shellcheck shopt shred sponge tee tokei cloc touch tree truncate typeset unlink unset xdg-open yamllint \
 actionlint zgrep zipinfo rg";

/// Programs whose arguments may make them run something, but which write only what [`super::writes`] knows.
const LED: &str = ". dd ed emacs eval ex fd fdfind find gfind git gsed less man more nano nvim patch rsync sed sort source trap unzip vi \
 vim";

/// Programs that run nothing that their arguments name, but may write it.
const INERT: &str = "apt apt-get brew code curl dnf gh glab hub notify-send pgrep pkill say tea wget yq";

/// Interpreters, whose arguments or input are a program.
const INTERPRETERS: &str =
    "awk bun deno expect gawk lua luajit mawk node osascript perl php pypy3 python python2 python3 ruby tclsh";

/// Shells whose language is parsed here.
const SHELLS: &str = "ash bash dash ksh ksh93 mksh rbash sh zsh";

/// Programs that start the command after their options.
pub(super) const WRAPPERS: &str = "! - -- builtin busybox caffeinate command cross-env doas env exec flock genv gtime gtimeout \
    ionice nice nocorrect noglob nohup setsid stdbuf sudo time timeout watch xargs gxargs";

/// Checks whether a list contains this word.
pub(crate) fn lists(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|other| other == name)
}

/// Returns the name of a program without its path.
pub(super) fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
}

pub(crate) fn only_prints(name: &str) -> bool {
    lists(PRINTING, name)
}

/// Checks whether everything that the arguments of a program make it write is known.
pub(crate) fn writes_are_known(name: &str) -> bool {
    [PRINTING, WRITING, LED].iter().any(|list| lists(list, name))
}

/// Checks whether a program runs nothing that its arguments or its input name.
pub(crate) fn is_inert(name: &str) -> bool {
    [PRINTING, WRITING, INERT].iter().any(|list| lists(list, name))
}

/// Checks for an interpreter in any version: `python3.12`.
pub(crate) fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    lists(INTERPRETERS, name) || lists(INTERPRETERS, plain)
}

pub(super) fn is_shell(name: &str) -> bool {
    lists(SHELLS, name)
}

/// Checks whether it is a known program, so that a word is more likely this program than the value of an option.
pub(super) fn is_known(word: &str) -> bool {
    let name = base_name(word);
    let list = [PRINTING, WRITING, LED, INERT, SHELLS, WRAPPERS].iter().any(|list| lists(list, name));
    list || name.starts_with("git-") || is_interpreter(name)
}

/// Returns the folder that this command moves the shell to, if it does. The inner `None` means the home folder.
pub(super) fn moves_to(command: &Command) -> Option<Option<Word>> {
    let name = command.words.first()?.known()?;
    if !matches!(name, "cd" | "chdir" | "pushd" | "popd") {
        return None;
    }
    let searched = command.carried.iter().chain(&command.assignments).any(|given| given.name == "CDPATH");
    let plain = |word: &&Word| !matches!(word.known(), Some("-P" | "-L" | "-e" | "-@" | "--"));
    Some(match (name, command.words.iter().skip(1).find(plain)) {
        ("popd", _) => Some(Word::Dynamic),
        ("pushd", None) => Some(Word::Dynamic),
        (_, None) => None,
        (_, Some(Word::Known(folder))) if !searched && !folder.is_empty() && !folder.starts_with(['-', '+']) => {
            Some(Word::from(folder.as_str()))
        }
        (_, Some(Word::Pattern(pattern))) if !searched => Some(Word::Pattern(pattern.clone())),
        (_, Some(_)) => Some(Word::Dynamic),
    })
}

/// Checks whether `text` may change the folder of the shell that reads it.
pub(super) fn may_move(text: &str) -> bool {
    ["cd", "chdir", "pushd", "popd", "eval", "source", ". "].iter().any(|word| text.contains(word))
}

/// Checks whether the analysis depends on a name, so that a function of that name would mislead it.
pub(super) fn means_much(name: &str) -> bool {
    let names = "git gh portolan cd pushd popd eval exec command builtin source env sudo export read trap rm mv cp echo cat test [ \
        true ls grep";
    lists(names, name) || is_shell(name)
}

pub(super) fn declares(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset" | "readonly" | "local")
}
