//! Where a run pauses by itself: before a node, and perhaps only where something holds of what the node would see.

use portolan_core::engine;
use portolan_core::expr::{Expr, Language, ParseFault};
use portolan_core::graph::Workflow;
use portolan_core::present::drawn_as;
use portolan_core::run::{FramePath, Run};
use portolan_core::value::{NodeId, Timestamp};

/// Where a run pauses by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    node: BreakpointNode,
    when: Option<(String, Expr)>,
}

/// How a breakpoint names its node.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BreakpointNode {
    /// Every node of this name, in whichever workflow it stands.
    Anywhere(NodeId),
    /// The node that a drawing calls so: `each/fetch`.
    Drawn(String),
}

/// A node that is next.
#[derive(Clone, Copy)]
pub(crate) struct Next<'n> {
    pub(crate) path: &'n FramePath,
    pub(crate) node: &'n NodeId,
    pub(crate) run: &'n Run,
    pub(crate) workflow: &'n Workflow,
    pub(crate) at: Timestamp,
}

/// Why a run pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hit {
    /// It is to pause there.
    Held,
    /// Whether it is to could not be found out.
    Unknown(String),
}

impl From<NodeId> for Breakpoint {
    fn from(node: NodeId) -> Breakpoint {
        Breakpoint { node: BreakpointNode::Anywhere(node), when: None }
    }
}

impl From<&str> for Breakpoint {
    fn from(node: &str) -> Breakpoint {
        NodeId::from(node).into()
    }
}

impl Breakpoint {
    /// Before the node that a drawing calls so.
    pub fn drawn(node: impl Into<String>) -> Breakpoint {
        Breakpoint { node: BreakpointNode::Drawn(node.into()), when: None }
    }

    /// Only where this holds of what the node would see.
    ///
    /// # Errors
    /// The text is no condition in this language.
    pub fn when(self, language: Language, text: &str) -> Result<Breakpoint, ParseFault> {
        let when = language.read_condition(text)?;
        Ok(Breakpoint { when: Some((text.to_owned(), when)), ..self })
    }

    /// The node, as it was named.
    pub fn node(&self) -> &str {
        match &self.node {
            BreakpointNode::Anywhere(node) => node.as_str(),
            BreakpointNode::Drawn(name) => name,
        }
    }

    /// Its condition, as it was written.
    pub fn condition(&self) -> Option<&str> {
        self.when.as_ref().map(|(text, _)| text.as_str())
    }

    pub(super) fn hit(&self, next: &Next<'_>) -> Option<Hit> {
        if !self.is_at(next) {
            return None;
        }
        let Some((text, when)) = &self.when else { return Some(Hit::Held) };
        let Next { path, node, run, workflow, at } = *next;
        match engine::look(workflow, run, (path, node), at, |scope| when.holds(scope))? {
            Ok(true) => Some(Hit::Held),
            Ok(false) => None,
            Err(fault) => Some(Hit::Unknown(format!("the condition `{text}` has no value: {}", fault.message))),
        }
    }

    fn is_at(&self, next: &Next<'_>) -> bool {
        match &self.node {
            BreakpointNode::Anywhere(node) => node == next.node,
            BreakpointNode::Drawn(name) => *name == drawn_as(next.run, next.path, next.node),
        }
    }
}
