//! Graphs of MCP tool calls, in the format of mcpGraph: the shape of its design document (nodes beside the tools), the
//! present shape (nodes inside each tool), and the spellings between them.
//!
//! The content of a file determines its shape:
//!
//! | | nodes beside the tools | nodes inside each tool |
//! |---|---|---|
//! | the tool's input | `$.input`, and under the entry's id | under the entry's id |
//! | a tool's answer | its text first | its structured content first |
//! | `"$…"` in `args` | an expression | a text if the file has `{expr: …}`, else an expression |

mod codes;
mod edit;
mod lints;
mod lower;
mod nodes;
mod syntax;

use crate::dialect::{Dialect, File, RunAs, Strictness};
use crate::expr::Language;
use crate::source::fields::FaultList;
use crate::source::{Source, Tree, TreeKind};

pub(super) const DIALECT: Dialect = Dialect {
    name: "toolgraph",
    field: "tools",
    shape: "a graph of tool calls has `tools`, a list of tools with their `nodes`",
    run_as: RunAs::Calls,
    language: Language::Jsonata,
    is_one,
    read,
    codes: codes::CODES,
    editing: Some(edit::EDITING),
    original: None,
};

fn is_one(_: &Source, tree: &Tree) -> bool {
    let has = |key: &str| tree.get(key).is_some();
    let nodes = matches!(tree.get("nodes").map(|nodes| &nodes.kind), Some(TreeKind::Array(_)));
    has("tools") || !has("edges") && (nodes || has("server") || has("executionLimits"))
}

/// Reads each tool as a graph of its own, which faults in its own text break.
fn read(source: &Source, tree: &Tree, strictness: Strictness) -> File {
    let mut faults = FaultList::default();
    let graphs = match syntax::read(source, tree, strictness, &mut faults) {
        Some(file) => lower::graphs(file, &mut faults),
        None => Vec::new(),
    };
    File { graphs, faults: strictness.weigh(faults) }
}
