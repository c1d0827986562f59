//! Git's own hooks: small shell files that run what was there before and then the program. They lie where git looks for
//! them, which all worktrees of a repository share.

use std::path::{Path, PathBuf};
use std::process::Command;

use portolan_runtime::pins;

use crate::hook::quoted;

/// The hooks that are installed, and whether git's own input is read twice.
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
    /// The same, and it reads its standard input.
    GateWithInput,
    /// What it is about has happened: its exit code must not make a checkout look as if it had failed.
    Receipt,
}

/// The line by which our hooks are known.
pub(super) const MARK: &str = "# Made by `portolan install git`";

const HEAD: &str = include_str!("templates/git-hook.sh");

pub(super) fn script(name: &str, kind: Kind, program: &str) -> String {
    // What has happened is not made to look as if it had failed.
    let gone = if kind == Kind::Receipt { "portolan=:" } else { "exit 1" };
    let head = HEAD.replace("@NAME@", name).replace("@GONE@", gone).replace("@PROGRAM@", &quoted(program));
    let run = format!("\"$portolan\" guard git {name} \"$@\"");
    let body = match kind {
        Kind::Gate => format!("if [ -x \"$chained\" ]; then\n    \"$chained\" \"$@\" || exit $?\nfi\nexec {run}\n"),
        // Without an earlier hook nothing stands between git and the program: what is found on a search path could swallow
        // what git says. A shell drops line ends at the end of what it keeps, so a full stop is kept behind them.
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

/// The folder where git looks for hooks, as its configuration says.
pub(crate) fn folder(project: &Path) -> anyhow::Result<PathBuf> {
    // Where the pinned one is gone, this is how another one comes to be pinned.
    let git = pins::program(project, "git").unwrap_or_else(|_gone| PathBuf::from("git"));
    let output = Command::new(git).args(["rev-parse", "--git-path", "hooks"]).current_dir(project).output();
    let output = output.map_err(|error| anyhow::anyhow!("`git` cannot be run ({error}): install it"))?;
    anyhow::ensure!(output.status.success(), "`{}` is no git repository: run `git init` first", project.display());
    let path = String::from_utf8(output.stdout)?;
    let path = project.join(path.trim_end_matches(['\r', '\n']));
    Ok(path.canonicalize().unwrap_or(path))
}

/// Where the hook is kept that was there before.
pub(super) fn chained(hook: &Path) -> PathBuf {
    let mut name = hook.as_os_str().to_owned();
    name.push(".portolan-chained");
    PathBuf::from(name)
}
