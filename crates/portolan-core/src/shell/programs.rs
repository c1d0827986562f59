//! What is known of programs by their name: which change the folder, which run others, which are shells.

use super::{Command, Word};

/// The name of a program without its path.
pub(super) fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
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
    "bun",
    "bunx",
    "deno",
    "node",
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
    "python",
    "python2",
    "python3",
    "pypy3",
    "ruby",
    "irb",
    "bundle",
    "php",
    "composer",
    "perl",
    "lua",
    "luajit",
    "tclsh",
    "expect",
    "awk",
    "gawk",
    "mawk",
    "osascript",
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
    "at",
    "batch",
    "crontab",
    "systemd-run",
    "gdb",
    "strace",
    "ltrace",
    "chroot",
    "unshare",
    "nsenter",
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

/// Shells whose language is read here.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "rbash"];

pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Whether it runs other programs that are not to be seen in its arguments.
pub(super) fn runs_programs(name: &str) -> bool {
    let plain = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    RUNNERS.contains(&name) || (plain != name && RUNNERS.contains(&plain))
}

/// Whether it is a file of the project rather than a program of the machine: `./build.sh`.
pub(super) fn is_script(program: &str) -> bool {
    let homes = ["/bin/", "/sbin/", "/usr/", "/opt/homebrew/", "/nix/store/", "/snap/bin/"];
    program.contains('/') && !homes.iter().any(|home| program.starts_with(home) && !program.contains("/../"))
}

/// The folder that the shell goes on in after this command.
pub(super) fn moves_to(command: &Command) -> Option<Word> {
    let name = command.words.first()?.known()?;
    let rest: Vec<&Word> = command.words.iter().skip(1).collect();
    match (name, rest.as_slice()) {
        ("cd" | "pushd" | "chdir", rest) => {
            let folder = rest.iter().find(|word| !matches!(word.known(), Some("-P" | "-L" | "-e" | "-@" | "--")));
            Some(match folder {
                Some(Word::Known(folder)) if !folder.is_empty() && !folder.starts_with(['-', '+']) => {
                    Word::Known(folder.clone())
                }
                // Home, the folder before, or what only the run knows.
                _ => Word::Dynamic,
            })
        }
        ("popd", _) => Some(Word::Dynamic),
        _ => None,
    }
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
