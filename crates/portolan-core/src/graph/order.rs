//! The order of the steps in a checked flow, and the steps that a run skips if it begins further on.

use std::collections::{BTreeMap, BTreeSet};

use super::{Flow, Kind, Node, Step, Workflow};
use crate::value::NodeId;

impl Flow {
    /// Returns the steps that a run may pass before it first reaches `at`, in the order written.
    pub fn before<'f>(&'f self, at: &NodeId) -> Vec<&'f NodeId> {
        let from_start = self.reached(&self.start, |id| self.next(id), |id| id != at);
        self.leading_to(at).into_iter().filter(|id| from_start.contains(id)).collect()
    }

    /// Checks whether a path leads from the start to `at`.
    pub fn is_reached(&self, at: &NodeId) -> bool {
        self.reached(&self.start, |id| self.next(id), |_| true).contains(at)
    }

    /// Checks whether every path from the start to `at` passes through `step`.
    pub fn must_come_through(&self, step: &NodeId, at: &NodeId) -> bool {
        step != at && !self.reached(&self.start, |id| self.next(id), |id| id != step).contains(at)
    }

    /// Returns the steps from which a run may reach `at`, in the order written; `at` is one of them if a path leads
    /// back to it.
    pub fn leading_to<'f>(&'f self, at: &NodeId) -> Vec<&'f NodeId> {
        let mut entered: BTreeMap<&NodeId, Vec<&NodeId>> = BTreeMap::new();
        for id in self.steps.keys() {
            self.next(id).for_each(|to| entered.entry(to).or_default().push(id));
        }
        let from = |to: &NodeId| entered.get(to).into_iter().flatten().copied();
        let mut leading: BTreeSet<&NodeId> = BTreeSet::new();
        let mut waiting: Vec<&NodeId> = from(at).collect();
        while let Some(id) = waiting.pop() {
            if leading.insert(id) {
                waiting.extend(from(id));
            }
        }
        self.steps.keys().filter(|id| leading.contains(id)).collect()
    }

    /// Returns the fork whose branches contain a step; `None` if there is none. An end that a branch may reach belongs
    /// to no fork.
    pub fn fork_around<'f>(&'f self, id: &NodeId) -> Option<&'f NodeId> {
        let ends = matches!(self.steps.get(id)?.node.kind, Kind::End { .. });
        let is_around = |fork: &NodeId, step: &'f Step| {
            step.exits.branches.iter().any(|entry| self.branch(fork, entry).contains(id))
        };
        self.steps.iter().find_map(|(fork, step)| (!ends && is_around(fork, step)).then_some(fork))
    }

    /// Returns the steps that a branch of a fork may reach before the join.
    pub fn branch<'f>(&'f self, fork: &NodeId, entry: &'f NodeId) -> BTreeSet<&'f NodeId> {
        match self.steps.get(fork).map(|step| &step.node.kind) {
            Some(Kind::Fork { join, .. }) => self.reached(entry, |id| self.next(id), |id| *id != join.value),
            _ => BTreeSet::new(),
        }
    }

    /// Returns everything that is reachable from `from`, itself included, by the edges `next`, through nodes that
    /// `counts` accepts.
    fn reached<'f, I: IntoIterator<Item = &'f NodeId>>(
        &'f self,
        from: &'f NodeId,
        next: impl Fn(&'f NodeId) -> I,
        counts: impl Fn(&NodeId) -> bool,
    ) -> BTreeSet<&'f NodeId> {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![from];
        while let Some(id) = waiting.pop() {
            if counts(id) && reached.insert(id) {
                waiting.extend(next(id));
            }
        }
        reached
    }

    /// Returns the possible successors of a step; for a fork also its join.
    fn next<'f>(&'f self, id: &NodeId) -> impl Iterator<Item = &'f NodeId> {
        let step = self.steps.get(id);
        let join = step.and_then(|step| match &step.node.kind {
            Kind::Fork { join, .. } => Some(&join.value),
            _ => None,
        });
        step.into_iter().flat_map(|step| step.exits.targets()).chain(join)
    }
}

impl Workflow {
    /// Returns the first step that is checked, judges, asks a person or chooses a path, if every path to `at` passes
    /// through such a step: a run that begins at `at` skips it. `None` if an agent's own reports can lead it to `at`.
    pub fn passed_over(&self, at: &NodeId) -> Option<&NodeId> {
        let flow = self.root();
        let is_free = |id: &NodeId| {
            let node = &flow.step(id).node;
            id == at || !(self.holds_back(node) || matches!(node.kind, Kind::Switch | Kind::Loop(_)))
        };
        // Only an answer skips an activity.
        let next = |id| {
            let entered = flow.step(id).exits.passed().filter(|_| flow.step(id).node.kind == Kind::Activity);
            entered.map_or_else(|| flow.next(id).collect(), |entered| vec![entered])
        };
        if flow.reached(&flow.start, next, is_free).contains(at) {
            return None;
        }
        // If no path leads to `at`, a run that begins there skips everything.
        flow.before(at).into_iter().find(|id| !is_free(id)).or(Some(&flow.start))
    }

    /// Checks whether a node is left only with evidence or a decision: it has checks, is a gate, asks a person, or runs
    /// a workflow with such nodes.
    pub fn holds_back(&self, node: &Node) -> bool {
        match &node.kind {
            _ if !node.accept.is_empty() => true,
            Kind::Work { gate, .. } => *gate,
            Kind::Checkpoint { .. } => true,
            kind => kind.runs().is_some_and(|workflow| {
                let flow = self.flows().find(|(id, _)| id.as_str() == workflow.value);
                flow.is_some_and(|(_, flow)| flow.steps.values().any(|step| self.holds_back(&step.node)))
            }),
        }
    }
}
