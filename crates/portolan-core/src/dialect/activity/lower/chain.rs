//! A chain of nodes: each new node is entered from all open edges before it.

use crate::graph::{Edge, Kind, Node, StepPath, Trigger};
use crate::source::{Span, Spanned};
use crate::value::NodeId;

/// The nodes and edges while they are built.
#[derive(Default)]
pub(super) struct Chain {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// The edges to the next node.
    pub(super) tails: Vec<Tail>,
}

/// An edge that has no target yet.
#[derive(Clone)]
pub(super) struct Tail {
    pub(super) from: NodeId,
    pub(super) span: Span,
    pub(super) on: Trigger,
}

impl Chain {
    /// Adds a node as the target of all open edges, with one open edge of its own. It can be changed until the next is
    /// added.
    pub(super) fn add(&mut self, id: &NodeId, span: Span, kind: Kind, seat: Option<StepPath>) -> &mut Node {
        self.lead_to(id);
        self.tails = vec![Tail { from: id.clone(), span, on: Trigger::Done }];
        self.nodes.push(Node {
            name: seat.as_ref().map_or_else(|| id.to_string(), |seat| seat.id.clone()),
            seat: seat.map(Box::new),
            ..Node::new(id.clone(), span, kind)
        });
        let last = self.nodes.len() - 1;
        &mut self.nodes[last]
    }

    /// Leads all open edges to an existing node.
    pub(super) fn lead_to(&mut self, to: &NodeId) {
        for tail in std::mem::take(&mut self.tails) {
            self.edge(&tail.from, tail.span, to, tail.on);
        }
    }

    pub(super) fn edge(&mut self, from: &NodeId, span: Span, to: &NodeId, on: Trigger) -> &mut Edge {
        let spanned = |id: &NodeId| Spanned { value: id.clone(), span };
        self.edges.push(Edge { from: spanned(from), to: spanned(to), on, label: None, span });
        let last = self.edges.len() - 1;
        &mut self.edges[last]
    }

    /// Adds an open edge.
    pub(super) fn leave_open(&mut self, from: &NodeId, span: Span, on: Trigger) {
        self.tails.push(Tail { from: from.clone(), span, on });
    }
}
