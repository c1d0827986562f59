//! `portolan`: the command line, and the MCP server behind `portolan serve`.

mod cli;
mod mcp;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
