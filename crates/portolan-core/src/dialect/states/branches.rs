//! States side by side: `parallel` opens branches, `join` collects them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::lower::{Drawing, node_id};
use super::nodes::{Node, NodeKind, Reader};
use super::ways::{Transition, Ways};
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::toolgraph::{MAX_BRANCHES, MAX_COUNT};
use crate::graph::{Kind, Strategy, Trigger};
use crate::source::Spanned;
use crate::value::{NodeId, Outcome};

/// What opens branches.
pub(super) struct Fork {
    /// The first state of each branch.
    pub(super) branches: Vec<Spanned<String>>,
    pub(super) join: Spanned<String>,
    pub(super) max_concurrency: Option<NonZeroU32>,
}

impl Reader<'_, '_> {
    /// `parallel: [STATE, …]`, with `join`.
    pub(super) fn parallel(&mut self) -> Option<NodeKind> {
        self.on_failure_leads();
        let before = self.faults.0.len();
        let branches = self.fields.strings("parallel", self.faults);
        let join = self.fields.required_string("join", self.faults);
        let most = self.fields.count("max_concurrency", 1..=MAX_COUNT, self.faults);
        if branches.len() > MAX_BRANCHES {
            let message =
                format!("{} opens {} branches, more than the {MAX_BRANCHES} that are read", self.named, branches.len());
            let fault = Diagnostic::error("too-large", message).at(self.tree.head());
            self.faults.push(fault.help("let some of them come one after the other"));
            return None;
        }
        if branches.is_empty() && self.faults.0.len() == before {
            let message = format!("{} opens no branch", self.named);
            let fault = Diagnostic::error("missing-field", message).at(self.tree.head());
            self.faults.push(fault.help("name the first state of each branch: `parallel: [facts, pictures]`"));
            return None;
        }
        let max_concurrency = most.and_then(|most| NonZeroU32::new(most.value));
        Some(NodeKind::Fork(Fork { branches, join: join?, max_concurrency }))
    }

    /// `join: all`, or `any`.
    pub(super) fn join(&mut self) -> Option<NodeKind> {
        self.on_failure_leads();
        let strategies = [("all", Strategy::AllPass), ("any", Strategy::AnyPass)];
        self.fields.choice("join", &strategies, self.faults).map(NodeKind::Join)
    }
}

/// Which state's branches each join collects.
pub(super) fn joins(nodes: &[Node]) -> BTreeMap<String, NodeId> {
    let pair = |node: &Node| match &node.kind {
        NodeKind::Fork(fork) => Some((fork.join.value.clone(), node_id(&node.id))),
        _ => None,
    };
    nodes.iter().filter_map(pair).collect()
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

    /// The join as the graph has it; nothing where no state names it.
    pub(super) fn joined(&mut self, id: &Spanned<String>, strategy: Strategy) -> Option<Kind> {
        if let Some(fork) = self.joins.get(&id.value) {
            return Some(Kind::Join { fork: Spanned { value: fork.clone(), span: id.span }, strategy });
        }
        // A state that could not be read may be the one that opens its branches.
        if self.unread.is_empty() {
            let message = format!("no state with `parallel` leads to the join `{}`", clip(&id.value));
            let fault = Diagnostic::error("unpaired-join", message).at(id.span);
            self.faults.push(fault.help("name it as `join` of the state whose branches it collects"));
        }
        None
    }

    /// A state that opens branches goes on at its join, whatever else is said.
    pub(super) fn at_its_join(&mut self, read: &Node, transition: Option<Transition>) -> Ways {
        let leads = transition.filter(|transition| !matches!(transition.kind, Ways::Lost));
        let said = leads.map(|transition| transition.of).or_else(|| read.is_final.then_some(read.id.span));
        if let Some(span) = said {
            let message = format!("where `{}` leads is never asked: it goes on at its join", clip(&read.id.value));
            let fault = Diagnostic::warning("inert-transition", message).at(span);
            self.faults.push(fault.help("write the transition for the join, and end the run there or later"));
        }
        Ways::End(read.id.span)
    }

    /// What leaves the state that opens branches when one fails, leaves its join: that is where they are collected.
    pub(super) fn failing(&mut self, read: &Node) {
        let Some(to) = &read.go_to else { return };
        let from = match &read.kind {
            NodeKind::Fork(fork) => NodeId::from(fork.join.value.as_str()),
            _ => node_id(&read.id),
        };
        self.to(&from, to, Trigger::Outcome(Spanned { value: Outcome::failed(), span: to.span }));
    }
}
