//! What a fork opens, its join collects.
//!
//! Each fork is looked at as a whole, and each step belongs to one fork: branch by branch the cost would be the
//! square of the graph.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::forks::is_pair;
use super::{Code, Rule};
use crate::diagnostic::Diagnostic;
use crate::graph::{Kind, Node};
use crate::validate::map::Map;
use crate::value::NodeId;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "nested-fork",
            what: "A branch of a workflow that an agent is led through comes to a fork before it has come to its join.",
            fix: "Put the inner fork into a workflow of its own and run it as a subflow.",
        },
        Code {
            code: "branch-misses-join",
            what: "A branch can end, or come to another join, or run into a branch of another fork, without coming to the join of its fork, which would wait for it forever.",
            fix: "Lead every way through the branch to the join; `failed` may lead there too.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    let mut owners = BTreeMap::new();
    for fork in map.nodes() {
        // A fork without its join is reported as that; where its branches should lead is not known.
        if let Kind::Fork { join, .. } = &fork.kind
            && let Some(join) = map.node(&join.value)
            && is_pair(fork, join)
        {
            Region::of(map, fork, join, &mut owners).check(map, faults);
        }
    }
}

/// The steps that the branches of a fork may come to before its join.
struct Region<'g> {
    fork: &'g Node,
    join: &'g Node,
    entries: Vec<&'g Node>,
    /// Each step with the branch that first comes to it.
    steps: IndexMap<&'g NodeId, (&'g Node, &'g Node)>,
    before: BTreeMap<&'g NodeId, Vec<&'g NodeId>>,
    /// Steps that belong to a branch of an earlier fork, with that fork.
    foreign: BTreeMap<&'g NodeId, &'g NodeId>,
}

impl<'g> Region<'g> {
    fn of(map: &Map<'g>, fork: &'g Node, join: &'g Node, owners: &mut BTreeMap<&'g NodeId, &'g NodeId>) -> Region<'g> {
        let mut entries: IndexMap<&NodeId, &Node> = IndexMap::new();
        for node in map.leaving(&fork.id).iter().filter_map(|edge| map.node(&edge.to.value)) {
            if node.id != join.id {
                entries.insert(&node.id, node);
            }
        }
        let entries: Vec<&Node> = entries.into_values().collect();
        let mut region = Region {
            fork,
            join,
            steps: IndexMap::new(),
            before: BTreeMap::new(),
            foreign: BTreeMap::new(),
            entries: entries.clone(),
        };
        for entry in entries {
            region.walk(map, entry, owners);
        }
        region
    }

    fn walk(&mut self, map: &Map<'g>, entry: &'g Node, owners: &mut BTreeMap<&'g NodeId, &'g NodeId>) {
        let mut waiting = vec![entry];
        while let Some(node) = waiting.pop() {
            if self.steps.contains_key(&node.id) {
                continue;
            }
            self.steps.insert(&node.id, (node, entry));
            let inner = self.inner_join(map, node);
            let ends = matches!(node.kind, Kind::Join { .. } | Kind::Fork { .. } | Kind::End { .. });
            if ends && inner.is_none() {
                continue;
            }
            let owner = *owners.entry(&node.id).or_insert(&self.fork.id);
            if *owner != self.fork.id {
                self.foreign.insert(&node.id, owner);
                continue;
            }
            // What the branches of an inner fork come to is for that one to look at: this one goes on at its join.
            let from = inner.map_or(&node.id, |join| &join.id);
            for next in map.leaving(from).iter().filter_map(|edge| map.node(&edge.to.value)) {
                self.before.entry(&next.id).or_default().push(&node.id);
                waiting.push(next);
            }
        }
    }

    /// The join of a fork inside a branch, where there may be one: in a function, whose engine opens branches of branches.
    /// An agent is led through one level of them.
    fn inner_join(&self, map: &Map<'g>, node: &'g Node) -> Option<&'g Node> {
        let Kind::Fork { join, .. } = &node.kind else { return None };
        let join = map.node(&join.value).filter(|join| is_pair(node, join) && join.id != self.join.id);
        join.filter(|_| map.graph.program.is_some())
    }

    fn check(&self, map: &Map<'g>, faults: &mut Vec<Diagnostic>) {
        let is_closed = |node: &'g Node| matches!(node.kind, Kind::Fork { .. }) && self.inner_join(map, node).is_none();
        for (node, entry) in self.steps.values().filter(|(node, _)| is_closed(node)) {
            faults.push(self.nested(node, entry));
        }
        let missing = self.leading_to(|node| self.misses(node));
        let settled = self.leading_to(|node| {
            let from = self.inner_join(map, node).map_or(&node.id, |join| &join.id);
            node.id == self.join.id || is_closed(node) || !map.loose(from).is_empty()
        });
        for entry in &self.entries {
            if let Some(&at) = missing.get(&entry.id) {
                faults.push(self.missed(entry, at));
            } else if !settled.contains_key(&entry.id) {
                faults.push(self.astray(entry));
            }
        }
    }

    fn misses(&self, node: &Node) -> bool {
        match &node.kind {
            Kind::End { .. } => true,
            Kind::Join { .. } => node.id != self.join.id,
            _ => self.foreign.contains_key(&node.id),
        }
    }

    /// The steps from which a step of that kind can be reached, each with the one that was found.
    fn leading_to(&self, is_target: impl Fn(&'g Node) -> bool) -> BTreeMap<&'g NodeId, &'g NodeId> {
        let mut leading = BTreeMap::new();
        let targets = self.steps.values().map(|(node, _)| *node).filter(|node| is_target(node));
        let mut waiting: Vec<_> = targets.map(|node| (&node.id, &node.id)).collect();
        while let Some((id, target)) = waiting.pop() {
            if leading.contains_key(id) {
                continue;
            }
            leading.insert(id, target);
            waiting.extend(self.before.get(id).into_iter().flatten().map(|before| (*before, target)));
        }
        leading
    }

    fn nested(&self, inner: &Node, entry: &Node) -> Diagnostic {
        let message = if inner.id == entry.id {
            format!("the fork `{}` leads straight to another fork, `{}`", self.fork.id, inner.id)
        } else {
            format!("the branch `{}` of `{}` comes to a fork, `{}`", entry.id, self.fork.id, inner.id)
        };
        Diagnostic::error("nested-fork", message)
            .at(inner.span)
            .help("put the inner fork into a workflow of its own and run it as a subflow")
            .repaired("the inner fork opens branches of that branch")
    }

    fn missed(&self, entry: &Node, at: &NodeId) -> Diagnostic {
        let (branch, fork, join) = (&entry.id, &self.fork.id, &self.join.id);
        let message = match self.foreign.get(at) {
            Some(owner) if at == branch => format!("`{branch}` is a branch of `{fork}` and of `{owner}`"),
            Some(owner) => format!("the branch `{branch}` of `{fork}` runs into a branch of `{owner}` at `{at}`"),
            None => format!("the branch `{branch}` of `{fork}` can come to `{at}` without coming to `{join}`"),
        };
        Diagnostic::error("branch-misses-join", message)
            .at(entry.span)
            .help(format!("lead every way through the branch to `{join}`"))
            .repaired(
                "a branch counts as done at the end or join that it comes to, and as failed unless that is a success",
            )
    }

    fn astray(&self, entry: &Node) -> Diagnostic {
        Diagnostic::error(
            "branch-misses-join",
            format!("the branch `{}` of `{}` never comes to `{}`", entry.id, self.fork.id, self.join.id),
        )
        .at(entry.span)
        .help(format!("lead every way through the branch to `{}`", self.join.id))
        .repaired("it is left only when a person decides")
    }
}
