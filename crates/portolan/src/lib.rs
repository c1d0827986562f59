//! The program `portolan`: the command line, the MCP server of `portolan serve`, the hooks of coding agents, the studio.
//!
//! It is a library so that Cargo begins to compile it while the crates below still have machine code made for them; a
//! program waits for the end of that. Embedders take the crates below: see `docs/embedding.md`.

mod cli;
mod hook;
mod http;
mod install;
mod invisible;
mod mcp;
#[cfg(test)]
mod reference;
mod web;
mod words;

pub use cli::run;
