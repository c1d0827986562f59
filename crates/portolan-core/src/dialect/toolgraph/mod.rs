//! Graphs of MCP tool calls, in the format of mcpGraph: the shape of its design document (nodes beside the tools), that
//! of today (nodes inside each tool), and the spellings between them.
//!
//! Which one a file is written in is told by what it contains:
//!
//! | | nodes beside the tools | nodes inside each tool |
//! |---|---|---|
//! | the tool's input | `$.input`, and under the entry's id | under the entry's id |
//! | a tool's answer | its text first | its structured content first |
//! | `"$…"` in `args` | an expression | a text where the file has `{expr: …}`, else an expression |

mod lints;
mod lower;
mod nodes;
mod syntax;

use crate::diagnostic::Diagnostic;
use crate::dialect::{File, Strictness};
use crate::source::fields::Faults;
use crate::source::{Source, Tree, TreeKind};

/// Whether a file is a graph of tool calls.
pub(super) fn is_one(tree: &Tree) -> bool {
    let has = |key: &str| tree.get(key).is_some();
    let nodes = matches!(tree.get("nodes").map(|nodes| &nodes.kind), Some(TreeKind::Array(_)));
    has("tools") || !has("edges") && (nodes || has("server") || has("executionLimits"))
}

/// Reads a file and lowers each of its tools to a graph.
pub(super) fn lower(source: &Source, tree: &Tree, strictness: Strictness) -> File {
    let mut faults = Faults::default();
    let graphs = match syntax::read(source, tree, strictness, &mut faults) {
        Some(file) => lower::graphs(file, &mut faults),
        None => Vec::new(),
    };
    let mut faults: Vec<Diagnostic> = match strictness {
        Strictness::Strict => faults.0,
        Strictness::Lenient => faults.0.into_iter().map(Diagnostic::lenient).collect(),
    };
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
    File { graphs, faults }
}
