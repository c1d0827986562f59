//! Navigator graphs: one JSON object with `nodes` and `edges`, walked by `passed` and `failed`.
//!
//! The format is that of `@leclabs/agent-flow-navigator-mcp` 3.0.0, with one extension: `accept` on tasks and gates.
//! `docs/navigator.md` describes it field by field.

mod edit;
mod lower;
mod syntax;

use crate::dialect::{Dialect, RunAs};
use crate::expr::Language;

pub(super) const DIALECT: Dialect = Dialect {
    name: "navigator",
    field: "nodes",
    shape: "a workflow for agents has `nodes`, an object from node id to node, and `edges`",
    run_as: RunAs::Steps,
    language: Language::When,
    is_one: |_, tree| tree.get("nodes").or(tree.get("edges")).is_some(),
    read: lower::lower,
    codes: &[],
    editing: Some(edit::EDITING),
    original: None,
};
