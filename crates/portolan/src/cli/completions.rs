//! `portolan completions`: a script that completes the command line.

use clap::Args;
use clap_complete::Shell;

use super::{Exit, command};

/// Print a completion script for a shell.
///
/// Example: portolan completions bash > ~/.local/share/bash-completion/completions/portolan
#[derive(Args)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(args: &Completions) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "portolan", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(Exit::Done)
}
