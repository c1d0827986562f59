//! A graph with the indexes that rules query instead of searching.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::known::KnownVariables;
use crate::expr::Expr;
use crate::graph::{Edge, Graph, Kind, Node, Trigger};
use crate::source::Spanned;
use crate::value::{NodeId, Outcome, PASS, PASSED};

pub(crate) struct Map<'g> {
    pub(crate) graph: &'g Graph,
    places: IndexMap<&'g str, Place<'g>>,
    known: OnceCell<KnownVariables<'g>>,
}

/// A node and the edges that leave it.
struct Place<'g> {
    node: &'g Node,
    leaving: Vec<&'g Edge>,
    /// Edges to nodes that are not defined or could not be read.
    loose: Vec<&'g Edge>,
    /// The first unguarded edge for each outcome other than `failed`; an edge without an outcome has the empty key.
    first_on: BTreeMap<&'g str, &'g Edge>,
    retry: Option<&'g Edge>,
    escalation: Option<&'g Edge>,
}

impl<'g> Map<'g> {
    pub(crate) fn of(graph: &'g Graph) -> Map<'g> {
        let mut places: IndexMap<&str, Place<'_>> = IndexMap::new();
        for node in &graph.nodes {
            places.entry(node.id.as_str()).or_insert_with(|| Place::of(node));
        }
        for edge in &graph.edges {
            let target = places.get(edge.to.value.as_str()).map(|place| place.node);
            if let Some(place) = places.get_mut(edge.from.value.as_str()) {
                place.add(edge, target);
            }
        }
        Map { graph, places, known: OnceCell::new() }
    }

    /// Returns the known facts about the variables, computed on first use.
    pub(crate) fn known(&self) -> &KnownVariables<'g> {
        self.known.get_or_init(|| KnownVariables::of(self))
    }

    fn place(&self, id: &NodeId) -> Option<&Place<'g>> {
        self.places.get(id.as_str())
    }

    pub(crate) fn node(&self, id: &NodeId) -> Option<&'g Node> {
        self.place(id).map(|place| place.node)
    }

    /// Returns whether the text has a node called `id`, readable or not.
    pub(crate) fn mentions(&self, id: &NodeId) -> bool {
        self.places.contains_key(id.as_str()) || self.graph.unread.contains(id)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &'g Node> + '_ {
        self.places.values().map(|place| place.node)
    }

    pub(crate) fn ids(&self) -> impl ExactSizeIterator<Item = &'g str> + '_ {
        self.places.keys().copied()
    }

    /// Returns the edges that leave `id` and have a target.
    pub(crate) fn leaving(&self, id: &NodeId) -> &[&'g Edge] {
        self.place(id).map_or(&[], |place| &place.leaving)
    }

    /// Returns the edges that leave `id` and have an unknown target. Consequences of that are not worth a second fault.
    pub(crate) fn loose(&self, id: &NodeId) -> &[&'g Edge] {
        self.place(id).map_or(&[], |place| &place.loose)
    }

    /// Returns whether the edges out of `id` are not all known: one has an unknown target, is missing, or could not be
    /// read.
    pub(crate) fn strays(&self, id: &NodeId) -> bool {
        !self.loose(id).is_empty() || self.graph.unread.contains(id)
    }

    /// Returns the start that counts: the first.
    pub(crate) fn start(&self) -> Option<&'g Node> {
        self.nodes().find(|node| node.kind == Kind::Start)
    }

    /// Returns the outcomes of a node other than `failed`, in order, `passed` first.
    pub(crate) fn outcomes(&self, node: &Node) -> Vec<Outcome> {
        match &node.kind {
            Kind::End { .. } | Kind::Fork { .. } => Vec::new(),
            Kind::Work { outputs, .. } if !outputs.is_empty() => {
                passed_first(outputs.iter().map(|output| &output.value))
            }
            Kind::Checkpoint { .. } | Kind::Activity => {
                let passed = Outcome::passed();
                passed_first(self.leaving(&node.id).iter().map(|edge| edge.on.outcome().unwrap_or(&passed)))
            }
            Kind::Loop(_) => vec![Outcome::passed(), PASS.into()],
            Kind::Start
            | Kind::Repeat { .. }
            | Kind::Work { .. }
            | Kind::Join { .. }
            | Kind::Subflow { .. }
            | Kind::Compute(_)
            | Kind::Switch
            | Kind::Call(_)
            | Kind::Each(_) => vec![Outcome::passed()],
            Kind::State(_) => {
                let ways = self.leaving(&node.id).iter().map(|edge| edge.on.outcome().cloned());
                let ways: Vec<Outcome> = ways.map(|on| on.unwrap_or_else(Outcome::passed)).collect();
                passed_first(ways.iter())
            }
        }
    }

    /// Returns the conditions on the edges out of a node, in order.
    pub(crate) fn guards(&self, id: &NodeId) -> Vec<(&'g Spanned<Expr>, &'g Edge)> {
        let guards = self.leaving(id).iter().filter_map(|edge| match &edge.on {
            Trigger::When(guard) => Some((guard, *edge)),
            Trigger::Outcome(_) | Trigger::Done => None,
        });
        guards.collect()
    }

    /// Returns the edge for an outcome other than `failed`: the first that names it, or for `passed` the first without
    /// an outcome.
    pub(crate) fn edge_on(&self, id: &NodeId, outcome: &str) -> Option<&'g Edge> {
        let first_on = &self.place(id)?.first_on;
        let unnamed = || first_on.get("").filter(|_| outcome == PASSED);
        first_on.get(outcome).filter(|_| !outcome.is_empty()).or_else(unnamed).copied()
    }

    /// Returns the `failed` edges of a node: the first to a node that is not terminal, and the first to one that is.
    pub(crate) fn failed_edges(&self, id: &NodeId) -> (Option<&'g Edge>, Option<&'g Edge>) {
        self.place(id).map_or((None, None), |place| (place.retry, place.escalation))
    }

    /// Returns the direct successors of a node: the targets of its edges, and for a fork also its join.
    pub(crate) fn next(&self, node: &'g Node) -> Vec<&'g NodeId> {
        let mut next: Vec<&NodeId> = self.leaving(&node.id).iter().map(|edge| &edge.to.value).collect();
        if let Kind::Fork { join, .. } = &node.kind
            && self.node(&join.value).is_some()
        {
            next.push(&join.value);
        }
        next
    }

    /// Returns everything that can be reached from `from`, itself included.
    pub(crate) fn reach(&self, from: &'g NodeId) -> BTreeSet<&'g NodeId> {
        self.reach_where(from, |_| true)
    }

    /// Returns everything that can be reached from `from` without passing `without`.
    pub(crate) fn reach_without(&self, from: &'g NodeId, without: &NodeId) -> BTreeSet<&'g NodeId> {
        self.reach_where(from, |id| id != without)
    }

    fn reach_where(&self, from: &'g NodeId, counts: impl Fn(&NodeId) -> bool) -> BTreeSet<&'g NodeId> {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![from];
        while let Some(id) = waiting.pop() {
            let Some(node) = self.node(id).filter(|node| counts(&node.id)) else { continue };
            if reached.insert(&node.id) {
                waiting.extend(self.next(node));
            }
        }
        reached
    }
}

impl<'g> Place<'g> {
    fn of(node: &'g Node) -> Place<'g> {
        Place { node, leaving: Vec::new(), loose: Vec::new(), first_on: BTreeMap::new(), retry: None, escalation: None }
    }

    fn add(&mut self, edge: &'g Edge, target: Option<&Node>) {
        let Some(target) = target else {
            self.loose.push(edge);
            return;
        };
        self.leaving.push(edge);
        if matches!(edge.on, Trigger::When(_)) {
            return;
        }
        match edge.on.outcome() {
            Some(on) if on.is_failed() && is_terminal(&target.kind) => self.escalation = self.escalation.or(Some(edge)),
            Some(on) if on.is_failed() => self.retry = self.retry.or(Some(edge)),
            on => {
                self.first_on.entry(on.map_or("", Outcome::as_str)).or_insert(edge);
            }
        }
    }
}

/// Returns whether a run, or the branch of a fork, has nothing more to do by itself at such a node.
pub(crate) fn is_terminal(kind: &Kind) -> bool {
    matches!(kind, Kind::End { .. } | Kind::Checkpoint { .. } | Kind::Join { .. })
}

/// Returns each outcome once and without `failed`: `passed`, then the others in order.
fn passed_first<'o>(outcomes: impl Iterator<Item = &'o Outcome>) -> Vec<Outcome> {
    let mut known = BTreeSet::new();
    let (mut ordered, others): (Vec<Outcome>, Vec<Outcome>) = outcomes
        .filter(|outcome| !outcome.is_failed() && known.insert(outcome.as_str()))
        .cloned()
        .partition(|outcome| outcome.as_str() == PASSED);
    ordered.extend(others);
    ordered
}
