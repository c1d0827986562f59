//! A graph with its indexes: what every rule asks of it, in constant time.

use indexmap::IndexMap;
use std::collections::BTreeSet;

use crate::graph::{Edge, Graph, Kind, Node, Trigger};
use crate::value::{FAILED, NodeId, Outcome, PASSED};

pub(crate) struct Map<'g> {
    pub(crate) graph: &'g Graph,
    nodes: IndexMap<&'g str, (&'g Node, Vec<&'g Edge>)>,
}

impl<'g> Map<'g> {
    pub(crate) fn of(graph: &'g Graph) -> Map<'g> {
        let mut nodes: IndexMap<&str, (&Node, Vec<&Edge>)> = IndexMap::new();
        for node in &graph.nodes {
            nodes.entry(node.id.as_str()).or_insert((node, Vec::new()));
        }
        for edge in &graph.edges {
            if let Some((_, leaving)) = nodes.get_mut(edge.from.value.as_str()) {
                leaving.push(edge);
            }
        }
        Map { graph, nodes }
    }

    pub(crate) fn node(&self, id: &NodeId) -> Option<&'g Node> {
        self.nodes.get(id.as_str()).map(|(node, _)| *node)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &'g Node> + '_ {
        self.nodes.values().map(|(node, _)| *node)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &'g str> + '_ {
        self.nodes.keys().copied()
    }

    /// The edges that leave `id` and lead somewhere.
    pub(crate) fn leaving(&self, id: &NodeId) -> impl Iterator<Item = &'g Edge> + '_ {
        let edges = self.nodes.get(id.as_str()).map_or(&[][..], |(_, edges)| edges.as_slice());
        edges.iter().copied().filter(|edge| self.node(&edge.to.value).is_some())
    }

    /// The start that counts: the first.
    pub(crate) fn start(&self) -> Option<&'g Node> {
        self.nodes().find(|node| node.kind == Kind::Start)
    }

    /// The outcomes of a node other than `failed`, in order.
    pub(crate) fn outcomes(&self, node: &'g Node) -> Vec<Outcome> {
        match &node.kind {
            Kind::End { .. } | Kind::Fork { .. } => Vec::new(),
            Kind::Work { outputs, .. } if !outputs.is_empty() => {
                outputs.iter().map(|output| output.value.clone()).filter(|output| !output.is_failed()).collect()
            }
            Kind::Checkpoint { .. } => {
                let mut answers = Vec::new();
                for edge in self.leaving(&node.id) {
                    let answer = edge.on.outcome().cloned().unwrap_or_else(Outcome::passed);
                    if !answer.is_failed() && !answers.contains(&answer) {
                        answers.push(answer);
                    }
                }
                answers
            }
            Kind::Start | Kind::Work { .. } | Kind::Join { .. } | Kind::Subflow { .. } => vec![Outcome::passed()],
        }
    }

    /// The edge that an outcome other than `failed` takes: the first that names it; for `passed`, also one that names none.
    pub(crate) fn edge_on(&self, id: &NodeId, outcome: &str) -> Option<&'g Edge> {
        let named = self.leaving(id).find(|edge| edge.on.outcome().is_some_and(|on| on.as_str() == outcome));
        named.or_else(|| self.leaving(id).find(|edge| outcome == PASSED && edge.on == Trigger::Done))
    }

    /// The `failed` edges of a node: the first to a node that is not terminal, and the first to one that is.
    pub(crate) fn failed_edges(&self, id: &NodeId) -> (Option<&'g Edge>, Option<&'g Edge>) {
        let failed = || self.leaving(id).filter(|edge| edge.on.outcome().is_some_and(|on| on.as_str() == FAILED));
        let terminal = |edge: &&Edge| self.node(&edge.to.value).is_some_and(|node| is_terminal(&node.kind));
        (failed().find(|edge| !terminal(edge)), failed().find(terminal))
    }

    /// Where one step may lead: along every edge, and from a fork also to its join.
    pub(crate) fn next(&self, node: &'g Node) -> Vec<&'g NodeId> {
        let mut next: Vec<&NodeId> = self.leaving(&node.id).map(|edge| &edge.to.value).collect();
        if let Kind::Fork { join, .. } = &node.kind
            && self.node(&join.value).is_some()
        {
            next.push(&join.value);
        }
        next
    }

    /// Everything that can be reached from `from`, itself included, without going on from nodes that `stop` names.
    pub(crate) fn reach(&self, from: &'g NodeId, stop: impl Fn(&Node) -> bool) -> BTreeSet<&'g NodeId> {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![from];
        while let Some(id) = waiting.pop() {
            let Some(node) = self.node(id) else { continue };
            if reached.insert(&node.id) && !stop(node) {
                waiting.extend(self.next(node));
            }
        }
        reached
    }
}

/// Whether a run that comes here has nothing more to do by itself.
pub(crate) fn is_terminal(kind: &Kind) -> bool {
    matches!(kind, Kind::End { .. } | Kind::Checkpoint { .. })
}
