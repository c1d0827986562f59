//! What comes before what in a checked flow: which steps a run passes over that begins further on.

use std::collections::{BTreeMap, BTreeSet};

use super::{Flow, Kind, Node, Step, Workflow};
use crate::value::NodeId;

impl Flow {
    /// The steps that a run may come to before it first comes to `at`, in the order written.
    pub fn before<'f>(&'f self, at: &NodeId) -> Vec<&'f NodeId> {
        let from_start = self.reached(&self.start, &self.skipped(), |id| id != at);
        self.leading_to(at).into_iter().filter(|id| from_start.contains(id)).collect()
    }

    /// Whether every way from the start to `at` comes through `step`.
    pub fn must_come_through(&self, step: &NodeId, at: &NodeId) -> bool {
        step != at && !self.reached(&self.start, &self.skipped(), |id| id != step).contains(at)
    }

    /// The steps from which a run may come to `at`, in the order written; `at` is one of them where a way leads back to it.
    pub fn leading_to<'f>(&'f self, at: &NodeId) -> Vec<&'f NodeId> {
        let mut entered: BTreeMap<&NodeId, Vec<&NodeId>> = BTreeMap::new();
        let skipped = self.skipped();
        for id in self.steps.keys() {
            self.next(id, &skipped).for_each(|to| entered.entry(to).or_default().push(id));
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
            Some(Kind::Fork { join, .. }) => self.reached(entry, &self.skipped(), |id| *id != join.value),
            _ => BTreeSet::new(),
        }
    }

    /// The activities that an answer may have passed over.
    fn skipped(&self) -> BTreeSet<&NodeId> {
        self.steps.values().flat_map(|step| step.node.skips()).collect()
    }

    /// Everything that is reached from `from`, itself included, over steps that `counts` names.
    fn reached<'f>(
        &'f self,
        from: &'f NodeId,
        skipped: &BTreeSet<&NodeId>,
        counts: impl Fn(&NodeId) -> bool,
    ) -> BTreeSet<&'f NodeId> {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![from];
        while let Some(id) = waiting.pop() {
            if counts(id) && reached.insert(id) {
                waiting.extend(self.next(id, skipped));
            }
        }
        reached
    }

    /// Where a step may lead, past an activity only where it may have been `skipped`; from a fork also to its join.
    fn next<'f>(&'f self, id: &NodeId, skipped: &BTreeSet<&NodeId>) -> impl Iterator<Item = &'f NodeId> {
        let step = self.steps.get(id);
        let join = step.and_then(|step| match &step.node.kind {
            Kind::Fork { join, .. } => Some(&join.value),
            _ => None,
        });
        let gone_through = step.filter(|step| step.node.kind == Kind::Activity && !skipped.contains(id));
        let others = step.filter(|_| gone_through.is_none()).into_iter().flat_map(|step| step.exits.targets());
        gone_through.and_then(|step| step.exits.passed()).into_iter().chain(others).chain(join)
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
        if flow.reached(&flow.start, &BTreeSet::new(), is_free).contains(at) {
            return None;
        }
        flow.before(at).into_iter().find(|id| !is_free(id))
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
