//! `portolan`: the command line, and the MCP server behind `portolan serve`.

mod cli;
#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "the command that calls all of it is wired on top"))]
mod hook;
mod install;
mod mcp;
#[cfg(test)]
mod reference;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
