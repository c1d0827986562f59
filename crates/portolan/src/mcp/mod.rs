//! The MCP face: sets of tools over stdio. It translates calls and answers; every decision is the service's.
//!
//! ```text
//! stdio ─transport→ messages ─connection, face→ requests ─tasks | graph | author→ the service
//! ```
//! `transport`, `connection`, `face` and `arguments` know the protocol and no tool; each toolset knows its tools and little else.

mod arguments;
mod author;
mod connection;
mod face;
mod graph;
mod tasks;
mod transport;

pub(crate) use author::serve as serve_author;
#[cfg(test)]
pub(crate) use author::tools as author_tools;
pub(crate) use graph::{News, Notes, awaited, serve as serve_graphs};
pub(crate) use tasks::serve as serve_tasks;
#[cfg(test)]
pub(crate) use tasks::tools;
