//! Concurrent states: `parallel` is a fork, `join` is a join.

use super::lower::{Drawing, node_id};
use super::nodes::{Node, NodeKind, Reader};
use super::ways::{Transition, Ways};
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::nodes::{Fork, Joins, Words, fork, strategy, unpaired};
use crate::graph::{Kind, Strategy, Trigger};
use crate::source::Spanned;
use crate::value::{NodeId, Outcome};

const WORDS: Words = Words {
    branches: "parallel",
    at_once: "max_concurrency",
    if_none: "name the first state of each branch: `parallel: [facts, pictures]`",
    if_too_many: "let some of them run one after the other",
};

impl Reader<'_, '_> {
    /// Reads `parallel: [STATE, …]`, with `join`.
    pub(super) fn parallel(&mut self) -> Option<NodeKind> {
        self.on_failure_leads();
        fork(&WORDS, self.fields, (self.tree, &self.named), self.faults).map(NodeKind::Fork)
    }

    /// Reads `join: all` or `join: any`.
    pub(super) fn join(&mut self) -> Option<NodeKind> {
        self.on_failure_leads();
        strategy(self.fields, "join", self.faults).map(NodeKind::Join)
    }
}

/// Returns the fork of each join.
pub(super) fn joins(nodes: &[Node]) -> Joins {
    Joins::of(nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Fork(fork) => Some((&node.id, fork)),
        _ => None,
    }))
}

impl Drawing<'_> {
    pub(super) fn fork(&mut self, id: &Spanned<String>, fork: Fork) -> Kind {
        let from = node_id(id);
        for branch in &fork.branches {
            self.to(&from, branch, Trigger::Done);
        }
        let join = Spanned { value: NodeId::from(fork.join.value.as_str()), span: fork.join.span };
        Kind::Fork { join, max_concurrency: fork.max_concurrency }
    }

    /// Returns the join for the graph; `None` if no fork names it.
    pub(super) fn joined(&mut self, id: &Spanned<String>, strategy: Strategy) -> Option<Kind> {
        let joined = self.joins.join(id, strategy);
        // A state that could not be read may be its fork.
        if joined.is_none() && self.unread.is_empty() {
            self.faults.push(unpaired(id, "state with `parallel`", "state"));
        }
        joined
    }

    /// Reports a transition of a fork, which always continues at its join.
    pub(super) fn at_its_join(&mut self, read: &Node, transition: Option<Transition>) -> Ways {
        let leads = transition.filter(|transition| !matches!(transition.kind, Ways::Lost));
        let inert = leads.map(|transition| transition.of).or_else(|| read.is_final.then_some(read.id.span));
        if let Some(span) = inert {
            let message = format!(
                "the transition or `is_final` of `{}` has no effect: it continues at its join",
                clip(&read.id.value)
            );
            let fault = Diagnostic::warning("inert-transition", message).at(span);
            self.faults.push(fault.help("write the transition for the join, and end the run there or later"));
        }
        Ways::End(read.id.span)
    }

    /// Adds the edge for a failure. That of a fork leaves its join, which collects the branches.
    pub(super) fn failing(&mut self, read: &Node) {
        let Some(to) = &read.go_to else { return };
        let from = match &read.kind {
            NodeKind::Fork(fork) => NodeId::from(fork.join.value.as_str()),
            _ => node_id(&read.id),
        };
        self.to(&from, to, Trigger::Outcome(Spanned { value: Outcome::failed(), span: to.span }));
    }
}
