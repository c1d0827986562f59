//! What comes before what in a checked flow: which steps a run passes over that begins further on.

use std::collections::{BTreeMap, BTreeSet};

use super::{Flow, Kind, Node, Step, Workflow};
use crate::value::NodeId;

impl Flow {
    /// The steps that a run may come to before it first comes to `at`, in the order written.
    pub fn before<'f>(&'f self, at: &NodeId) -> Vec<&'f NodeId> {
        let from_start = self.reached(&self.start, |id| self.next(id), |id| id != at);
        self.leading_to(at).into_iter().filter(|id| from_start.contains(id)).collect()
    }

    /// Whether a way leads from the start to `at`.
    pub fn is_reached(&self, at: &NodeId) -> bool {
        self.reached(&self.start, |id| self.next(id), |_| true).contains(at)
    }

    /// Whether every way from the start to `at` comes through `step`.
    pub fn must_come_through(&self, step: &NodeId, at: &NodeId) -> bool {
        step != at && !self.reached(&self.start, |id| self.next(id), |id| id != step).contains(at)
    }

    /// The steps from which a run may come to `at`, in the order written; `at` is one of them where a way leads back to it.
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

    /// The fork in whose branches a step stands; nothing for one that stands in none. An end that a branch may come to
    /// stands in none.
    pub fn fork_around<'f>(&'f self, id: &NodeId) -> Option<&'f NodeId> {
        let ends = matches!(self.steps.get(id)?.node.kind, Kind::End { .. });
        let is_around = |fork: &NodeId, step: &'f Step| {
            step.exits.branches.iter().any(|entry| self.branch(fork, entry).contains(id))
        };
        self.steps.iter().find_map(|(fork, step)| (!ends && is_around(fork, step)).then_some(fork))
    }

    /// The steps that a branch of a fork may come to before the join.
    pub fn branch<'f>(&'f self, fork: &NodeId, entry: &'f NodeId) -> BTreeSet<&'f NodeId> {
        match self.steps.get(fork).map(|step| &step.node.kind) {
            Some(Kind::Fork { join, .. }) => self.reached(entry, |id| self.next(id), |id| *id != join.value),
            _ => BTreeSet::new(),
        }
    }

    /// Everything that is reached from `from`, itself included, by the ways `next`, over steps that `counts` names.
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

    /// Where a step may lead; from a fork also to its join.
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
    /// The first step that is checked, judges, asks a person or chooses a way, where every way to `at` comes through such a
    /// step: a run that begins at `at` passes over it. Nothing where an agent can come to `at` by its own word.
    pub fn passed_over(&self, at: &NodeId) -> Option<&NodeId> {
        let flow = self.root();
        let is_free = |id: &NodeId| {
            let node = &flow.step(id).node;
            id == at || !(self.holds_back(node) || matches!(node.kind, Kind::Switch | Kind::Loop(_)))
        };
        // An activity is passed over by an answer alone.
        let next = |id| {
            let entered = flow.step(id).exits.passed().filter(|_| flow.step(id).node.kind == Kind::Activity);
            entered.map_or_else(|| flow.next(id).collect(), |entered| vec![entered])
        };
        if flow.reached(&flow.start, next, is_free).contains(at) {
            return None;
        }
        // Where no way leads to `at` at all, it passes over everything.
        flow.before(at).into_iter().find(|id| !is_free(id)).or(Some(&flow.start))
    }

    /// Whether a node is left only when something is shown or somebody says so: by checks, as a gate, as a question to a
    /// person, or because the workflow that it runs has such nodes.
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
