//! What is known of programs by their name: which change the folder, which run others, which are shells.

use super::git::{self, Action};
use super::{Command, Word, words};

/// The name of a program without its path.
pub(super) fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// The same, by one name for those that have many.
pub(super) fn called(program: &str) -> &str {
    let name = base_name(program);
    let loads = ["ld-linux", "ld-musl", "ld64.so"].iter().any(|start| name.starts_with(start));
    if loads { "ld.so" } else { name }
}

/// Whether a shell is given variables that reach past the text which it runs.
pub(super) fn is_reached(command: &Command) -> bool {
    let given = || command.carried.iter().chain(&command.assignments);
    let text = command.words.iter().any(|word| {
        word.known().is_some_and(|text| text.starts_with('-') && !text.starts_with("--") && text.contains('c'))
    });
    given().any(|given| match given.name.as_str() {
        "BASH_ENV" | "ENV" | "LD_PRELOAD" | "DYLD_INSERT_LIBRARIES" => true,
        // What the text itself calls is judged by what is set for it.
        name => !text && (name.starts_with("GIT_CONFIG") || matches!(name, "GIT_EXEC_PATH" | "GIT_DIR")),
    })
}

/// Whether a program starts others that are not to be seen.
pub(crate) fn starts_others(program: &str) -> bool {
    is_shell(base_name(program)) || runs_programs(base_name(program)) || is_script(program)
}

/// Programs that run others, which a file, a network or their own language names.
const RUNNERS: &[&str] = &[
    "make",
    "gmake",
    "just",
    "task",
    "rake",
    "ninja",
    "cmake",
    "meson",
    "ctest",
    "scons",
    "bazel",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "bunx",
    "cargo",
    "go",
    "mvn",
    "gradle",
    "gradlew",
    "ant",
    "sbt",
    "dotnet",
    "pip",
    "uv",
    "uvx",
    "pipx",
    "poetry",
    "tox",
    "nox",
    "pytest",
    "irb",
    "bundle",
    "composer",
    "rscript",
    "julia",
    "swift",
    "java",
    "docker",
    "podman",
    "kubectl",
    "vagrant",
    "ssh",
    "parallel",
    "pre-commit",
    "lefthook",
    "husky",
    "lint-staged",
    "act",
    "tmux",
    "screen",
    "gdb",
    "bwrap",
    "firejail",
    "perf",
    "valgrind",
    "setarch",
    "start-stop-daemon",
    "vim",
    "vi",
    "nvim",
    "ex",
    "emacs",
    "direnv",
    "nix",
    "nix-shell",
    "nix-build",
    "mise",
    "asdf",
    "entr",
    "watchexec",
    "git-lfs",
    "fish",
    "pwsh",
    "tcsh",
    "csh",
    "hg",
    "jj",
    "sl",
    "gh",
    "glab",
    "tig",
    "lazygit",
    "hub",
];

/// Interpreters, whose arguments or input are a program themselves.
const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "pypy3",
    "node",
    "deno",
    "bun",
    "perl",
    "ruby",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "expect",
    "awk",
    "gawk",
    "mawk",
    "osascript",
];

pub(crate) fn is_interpreter(name: &str) -> bool {
    is_one(INTERPRETERS, name)
}

/// Whether a list has this program, of whatever version: `python3.12`.
fn is_one(list: &[&str], name: &str) -> bool {
    let plain = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    list.contains(&name) || (plain != name && list.contains(&plain))
}

/// Shells whose language is read here.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "rbash"];

pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Whether it runs other programs that are not to be seen in its arguments.
pub(super) fn runs_programs(name: &str) -> bool {
    is_interpreter(name) || is_one(RUNNERS, name)
}

/// Whether it is a file of the project rather than a program of the machine: `./build.sh`.
pub(super) fn is_script(program: &str) -> bool {
    let homes = ["/bin/", "/sbin/", "/usr/", "/opt/homebrew/", "/nix/store/", "/snap/bin/"];
    program.contains('/') && !homes.iter().any(|home| program.starts_with(home) && !program.contains("/../"))
}

/// Where the shell goes.
pub(super) enum To {
    /// Into a folder.
    Folder(Word),
    /// Into one whose name matches.
    Matching(String),
    /// Home.
    Home,
    /// Where it was before.
    Previous,
    /// What `pushd` has put aside.
    Popped,
    /// It cannot be told.
    Anywhere,
}

/// The folder that the shell goes on in after this command.
pub(super) fn moves_to(command: &Command) -> Option<To> {
    let name = command.words.first()?.known()?;
    let searched = command.carried.iter().chain(&command.assignments).any(|given| given.name == "CDPATH");
    if searched && matches!(name, "cd" | "pushd" | "chdir") {
        return Some(To::Anywhere);
    }
    let plain = |word: &&Word| !matches!(word.known(), Some("-P" | "-L" | "-e" | "-@" | "--"));
    let mut rest = command.words.iter().skip(1).filter(plain);
    match (name, rest.next()) {
        ("cd" | "chdir", None) => Some(To::Home),
        ("cd" | "chdir", Some(Word::Known(folder))) if folder == "-" => Some(To::Previous),
        ("cd" | "pushd" | "chdir", Some(Word::Known(folder)))
            if !folder.is_empty() && !folder.starts_with(['-', '+']) =>
        {
            Some(To::Folder(Word::Known(folder.clone())))
        }
        ("cd" | "pushd" | "chdir", Some(Word::Pattern(pattern))) => Some(To::Matching(pattern.clone())),
        ("popd", None) => Some(To::Popped),
        ("cd" | "pushd" | "chdir" | "popd", _) => Some(To::Anywhere),
        _ => None,
    }
}

/// Whether another branch may be checked out after this command.
pub(super) fn may_switch(command: &Command) -> bool {
    if words::names_branch(command) {
        return false;
    }
    let switches = |word: &str| matches!(word, "checkout" | "switch" | "co" | "sw");
    match git::invocation(command) {
        Some(told) => !matches!(
            told.action,
            Action::Reads | Action::Commit(_) | Action::Push(_) | Action::Merge(_) | Action::Pull(_) | Action::Reset(_)
        ),
        None => command.words.iter().filter_map(Word::known).any(switches),
    }
}

/// Whether much follows from what a name means: a function of that name would be something else.
pub(super) fn means_much(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "git", "gh", "portolan", "cd", "pushd", "popd", "eval", "exec", "command", "builtin", "source", "env", "sudo",
        "export", "read", "trap", "rm", "mv", "cp", "echo", "cat", "test", "[", "true", "ls", "grep",
    ];
    NAMES.contains(&name) || is_shell(name)
}

/// Whether the command does nothing but to move the shell.
pub(super) fn only_moves(command: &Command) -> bool {
    moves_to(command).is_some()
}

/// Whether `text` may move the shell that reads it.
pub(super) fn may_move(text: &str) -> bool {
    ["cd", "chdir", "pushd", "popd", "eval", "source", ". "].iter().any(|word| text.contains(word))
}

pub(super) fn exports(command: &Command) -> bool {
    matches!(command.words.first().and_then(Word::known), Some("export" | "declare" | "typeset" | "readonly" | "local"))
}
