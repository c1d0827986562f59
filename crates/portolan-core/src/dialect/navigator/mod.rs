//! Navigator graphs: one JSON object with `nodes` and `edges`, walked by `passed` and `failed`.
//!
//! The format is that of `@leclabs/agent-flow-navigator-mcp` 3.0.0, with one extension: `accept` on tasks and gates.
//! `docs/navigator.md` describes it field by field.

mod lower;
mod syntax;

pub use lower::lower;
