//! `portolan`: the command line, and the MCP server of `portolan serve`.

mod cli;
mod hook;
mod http;
mod install;
mod mcp;
#[cfg(test)]
mod reference;
mod web;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
