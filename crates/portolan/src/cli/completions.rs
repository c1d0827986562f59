//! `portolan completions`: prints a completion script for a shell.

use anyhow::Context;
use clap::Args;
use clap_complete::Shell;
use serde_json::json;

use super::{Common, Exit, command};

/// Print a completion script for a shell.
///
/// Example: portolan completions bash > ~/.local/share/bash-completion/completions/portolan
#[derive(Args)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(args: &Completions, common: &Common) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "portolan", &mut script);
    let script = String::from_utf8(script).context("the script is not valid UTF-8")?;
    let output = common.output();
    if output.is_json() {
        output.json(&json!({ "shell": args.shell.to_string(), "script": script }))?;
    } else {
        output.line(script.trim_end())?;
    }
    Ok(Exit::Done)
}
