//! `portolan sandbox`: runs a program that cannot write the files of the gates.

use std::ffi::OsString;

use clap::Args;
use portolan_runtime::service::ServiceError;
use portolan_supervision::sandbox;
use serde_json::json;

use super::output::one_line;
use super::{Common, Exit};

/// Run a program that cannot write the files of the gates.
///
/// Claude Code's shell runs in this sandbox after `portolan install claude-code --sandbox`.
///
/// Example: portolan sandbox --print
#[derive(Args)]
#[command(after_help = "The exit code is the program's. The sandbox needs `bwrap` (bubblewrap) on Linux, and nothing \
        else on macOS. docs/sandbox.md says what is protected, and what is not.")]
pub(super) struct Sandbox {
    /// Show the protected files, and run nothing.
    #[arg(long, conflicts_with = "words")]
    print: bool,
    /// The program and its arguments.
    #[arg(
        value_name = "PROGRAM",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "print"
    )]
    words: Vec<OsString>,
}

pub(super) fn run(args: &Sandbox, common: &Common) -> anyhow::Result<Exit> {
    let project = common.project()?;
    if args.print {
        let (output, paths) = (common.output(), sandbox::sandbox_paths(&project));
        if output.is_json() {
            output.json(&json!({ "paths": paths }))?;
            return Ok(Exit::Done);
        }
        for sandbox::SandboxPath { path, access } in &paths {
            let access = json!(access);
            let access = access.as_str().unwrap_or_default();
            output.line(format!("{access:<9}  {}", one_line(&path.display().to_string())))?;
        }
        return Ok(Exit::Done);
    }
    let code = sandbox::run(&project, &args.words).map_err(|error| {
        let help = "nothing is run without a sandbox: `portolan doctor` reports its state";
        ServiceError::failed("no_sandbox", error.to_string(), help)
    })?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the code is the program's, which may be none of ours; nothing is open"
    )]
    std::process::exit(code);
}
