//! Git hooks: small shell scripts that run the earlier hook and then the program. They are in git's hooks folder, which
//! all worktrees of a repository share.

use std::path::{Path, PathBuf};
use std::process::Command;

use portolan_runtime::pins;

use crate::hook::quoted;

/// The installed hooks and their kinds.
pub(super) const HOOKS: [(&str, Kind); 6] = [
    ("pre-commit", Kind::Gate),
    ("commit-msg", Kind::Gate),
    ("pre-push", Kind::GateWithInput),
    ("reference-transaction", Kind::GateWithInput),
    ("post-commit", Kind::Receipt),
    ("post-checkout", Kind::Receipt),
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its exit code counts.
    Gate,
    /// A gate that reads its standard input.
    GateWithInput,
    /// It reports something that has happened. Its exit code must not make a checkout look failed.
    Receipt,
}

/// The line that identifies our hooks.
pub(super) const MARK: &str = "# Made by `portolan install git`";

const HEAD: &str = include_str!("templates/git-hook.sh");

pub(super) fn script(name: &str, kind: Kind, program: &str) -> String {
    // A receipt must not make git's command look failed.
    let gone = if kind == Kind::Receipt { "portolan=:" } else { "exit 1" };
    let head = HEAD.replace("@NAME@", name).replace("@GONE@", gone).replace("@PROGRAM@", &quoted(program));
    let run = format!("\"$portolan\" guard git {name} \"$@\"");
    let body = match kind {
        Kind::Gate => format!("if [ -x \"$chained\" ]; then\n    \"$chained\" \"$@\" || exit $?\nfi\nexec {run}\n"),
        // Without an earlier hook git's input goes straight to the program: a `cat` found on a search path could
        // swallow it. A shell drops trailing line ends of a captured text, hence the full stop after it.
        Kind::GateWithInput => format!(
            "if [ ! -x \"$chained\" ]; then\n    exec {run}\nfi\ninput=$(command -p cat && printf .) || exit 1\n\
             printf %s \"${{input%.}}\" | \"$chained\" \"$@\" || exit $?\nprintf %s \"${{input%.}}\" | {run}\n"
        ),
        Kind::Receipt => {
            format!("{run} || :\nif [ -x \"$chained\" ]; then\n    exec \"$chained\" \"$@\"\nfi\n")
        }
    };
    head + &body
}

/// Returns the folder of git's hooks, as its configuration says.
pub(crate) fn folder(project: &Path) -> anyhow::Result<PathBuf> {
    // If the pinned git is gone, an installation must still work to pin another one.
    let git = pins::program(project, "git").unwrap_or_else(|_gone| PathBuf::from("git"));
    let output = Command::new(git).args(["rev-parse", "--git-path", "hooks"]).current_dir(project).output();
    let output = output.map_err(|error| anyhow::anyhow!("`git` cannot be run ({error}): install it"))?;
    anyhow::ensure!(output.status.success(), "`{}` is not a git repository: run `git init` first", project.display());
    let path = String::from_utf8(output.stdout)?;
    let path = project.join(path.trim_end_matches(['\r', '\n']));
    Ok(path.canonicalize().unwrap_or(path))
}

/// Returns the path at which the earlier hook is kept.
pub(super) fn chained(hook: &Path) -> PathBuf {
    let mut name = hook.as_os_str().to_owned();
    name.push(".portolan-chained");
    PathBuf::from(name)
}
