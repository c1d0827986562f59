//! Phases, and the tools that may be used at a node.

use serde::Serialize;

use crate::value::NodeId;

/// What makes work a phase: it is held until what it claims has been shown. Work whose checks do not hold stays where it
/// is, however often it is claimed; it goes back only where somebody says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// Where the work is taken up again when it is reported as failed; nothing where it cannot be.
    pub back: Option<NodeId>,
    /// How many times a run may go back.
    pub cap: u32,
    /// The node at which going back is counted: phases that share one share the cap.
    pub counted_at: NodeId,
}

/// The tools that an agent may use while it works at a node, by pattern.
///
/// A pattern is matched against the name that the host has for the tool (`Bash`, `mcp__github__create_issue`), against
/// what it does (`edit`, `shell`, `read`), and for tools of MCP servers against `mcp:<server>/<tool>`. `*` stands for any
/// text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolRules {
    /// Only these may be used; nothing means all.
    pub allow: Option<Vec<String>>,
    /// These may not, whatever else is allowed.
    pub deny: Vec<String>,
}
