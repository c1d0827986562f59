//! The branches of a fork end at its join.
//!
//! Each fork is checked as a whole, and each step belongs to one fork: checking branch by branch would cost the square
//! of the graph.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::forks::is_pair;
use super::{Code, Rule};
use crate::diagnostic::Diagnostic;
use crate::graph::{Edge, Kind, Node};
use crate::validate::map::Map;
use crate::value::NodeId;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "branch-misses-join",
            what: "A branch can end, reach another join, or enter a branch of another fork without reaching the join \
                   of its own fork, or none of its paths leads to that join. The join would wait for the branch \
                   forever.",
            fix: "Lead every path through the branch to the join. `failed` may lead there too.",
        },
        Code {
            code: "edge-into-branch",
            what: "An edge leads from outside the fork to a step of a branch, or to the join. A run that takes it \
                   reaches the join without the other branches.",
            fix: "Lead the edge to the fork, or to a step after the join. Only a person's answer may lead to the join \
                  from outside, after the join has failed.",
        },
        Code {
            code: "branches-meet",
            what: "Two branches of a fork reach the same step before their join. The step would run once in each of \
                   them. Only a question may be shared.",
            fix: "Give each branch a step of its own, or put the step after the join.",
        },
    ],
    check,
};

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    let mut owners = BTreeMap::new();
    let mut entering: Option<IncomingEdges<'_>> = None;
    for fork in map.nodes() {
        // A fork without its join has its own diagnostic; the target of its branches is unknown.
        if let Kind::Fork { join, .. } = &fork.kind
            && let Some(join) = map.node(&join.value)
            && is_pair(fork, join)
        {
            let region = Region::of(map, fork, join, &mut owners);
            region.check(map, entering.get_or_insert_with(|| self::entering(map)), faults);
        }
    }
}

/// The edges that enter each node.
type IncomingEdges<'g> = BTreeMap<&'g NodeId, Vec<&'g Edge>>;

fn entering<'g>(map: &Map<'g>) -> IncomingEdges<'g> {
    let mut entering = IncomingEdges::new();
    for edge in map.nodes().flat_map(|node| map.leaving(&node.id)) {
        entering.entry(&edge.to.value).or_default().push(edge);
    }
    entering
}

/// The steps that the branches of a fork can reach before its join.
struct Region<'g> {
    fork: &'g Node,
    join: &'g Node,
    entries: Vec<&'g Node>,
    /// Each step with the branch that reaches it first.
    steps: IndexMap<&'g NodeId, (&'g Node, &'g Node)>,
    before: BTreeMap<&'g NodeId, Vec<&'g NodeId>>,
    /// Steps that belong to a branch of an earlier fork, with that fork.
    foreign: BTreeMap<&'g NodeId, &'g NodeId>,
    /// Steps that a second branch reaches, with that branch and the first one.
    shared: IndexMap<&'g NodeId, (&'g Node, &'g Node)>,
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
            shared: IndexMap::new(),
            entries: entries.clone(),
        };
        for entry in entries {
            region.walk(map, entry, owners);
        }
        region
    }

    fn walk(&mut self, map: &Map<'g>, entry: &'g Node, owners: &mut BTreeMap<&'g NodeId, &'g NodeId>) {
        let mut waiting = vec![entry];
        let mut questions = BTreeSet::new();
        while let Some(node) = waiting.pop() {
            if let Some((_, first)) = self.steps.get(&node.id).filter(|(_, first)| first.id != entry.id) {
                match node.kind {
                    Kind::Join { .. } | Kind::End { .. } => {}
                    // A question is asked once per branch that reaches it, so its answers must lead to steps of that
                    // branch.
                    Kind::Checkpoint { .. } if questions.insert(&node.id) => {
                        waiting.extend(map.leaving(&node.id).iter().filter_map(|edge| map.node(&edge.to.value)));
                    }
                    Kind::Checkpoint { .. } => {}
                    _ => {
                        self.shared.entry(&node.id).or_insert((entry, first));
                    }
                }
                continue;
            }
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
            // The branches of an inner fork are checked with that fork; this walk continues at its join.
            let from = inner.map_or(&node.id, |join| &join.id);
            for next in map.leaving(from).iter().filter_map(|edge| map.node(&edge.to.value)) {
                self.before.entry(&next.id).or_default().push(&node.id);
                waiting.push(next);
            }
        }
    }

    /// Returns the join of a fork inside a branch.
    fn inner_join(&self, map: &Map<'g>, node: &'g Node) -> Option<&'g Node> {
        let Kind::Fork { join, .. } = &node.kind else { return None };
        map.node(&join.value).filter(|join| is_pair(node, join) && join.id != self.join.id)
    }

    fn check(&self, map: &Map<'g>, entering: &IncomingEdges<'g>, faults: &mut Vec<Diagnostic>) {
        // A fork without a join of its own has its own diagnostic.
        let is_closed = |node: &'g Node| matches!(node.kind, Kind::Fork { .. }) && self.inner_join(map, node).is_none();
        let missing = self.leading_to(|node| self.misses(node));
        let settled = self.leading_to(|node| {
            let from = self.inner_join(map, node).map_or(&node.id, |join| &join.id);
            node.id == self.join.id || is_closed(node) || map.strays(from)
        });
        for entry in &self.entries {
            if let Some(&at) = missing.get(&entry.id) {
                faults.push(self.missed(entry, at));
            } else if !settled.contains_key(&entry.id) {
                faults.push(self.astray(entry));
            }
        }
        faults.extend(self.shared.iter().map(|(at, (second, first))| self.met(map, at, second, first)));
        // If a branch leads into the rest of the workflow, the boundary of the region is unknown.
        if missing.is_empty() {
            let edges = self.steps.keys().filter_map(|id| entering.get(*id)).flatten();
            faults.extend(edges.filter(|edge| self.leads_in(map, edge)).map(|edge| self.entered(map, edge)));
        }
    }

    /// Returns whether an edge leads from outside the branches to one of their steps, or to the join.
    fn leads_in(&self, map: &Map<'g>, edge: &Edge) -> bool {
        let (from, to) = (&edge.from.value, &edge.to.value);
        let is_inside = |id: &NodeId| self.steps.contains_key(id) && *id != self.join.id;
        let collects = |id: &NodeId| {
            let Some(Kind::Join { fork, .. }) = map.node(id).map(|node| &node.kind) else { return false };
            is_inside(&fork.value)
        };
        if *from == self.fork.id || is_inside(from) || collects(from) {
            return false;
        }
        match *to == self.join.id {
            true => !self.is_led_past(map, from),
            false => is_inside(to) && !(*from == self.join.id && self.only_leads_past(map, to)),
        }
    }

    /// Returns whether a question of the branches may also be asked when the join has failed: none of its answers may
    /// lead back into a branch.
    fn only_leads_past(&self, map: &Map<'g>, asks: &NodeId) -> bool {
        let is_question = map.node(asks).is_some_and(|node| matches!(node.kind, Kind::Checkpoint { .. }));
        let leads_past = |to: &NodeId| *to == self.join.id || !self.steps.contains_key(to);
        is_question && map.leaving(asks).iter().all(|edge| leads_past(&edge.to.value))
    }

    /// Returns whether `from` is a checkpoint that is reached only after the join, so that its answer may lead to the
    /// join.
    fn is_led_past(&self, map: &Map<'g>, from: &NodeId) -> bool {
        let asks = map.node(from).is_some_and(|node| matches!(node.kind, Kind::Checkpoint { .. }));
        asks && map.start().is_some_and(|start| !map.reach_without(&start.id, &self.join.id).contains(from))
    }

    fn misses(&self, node: &Node) -> bool {
        match &node.kind {
            Kind::End { .. } => true,
            Kind::Join { .. } => node.id != self.join.id,
            _ => self.foreign.contains_key(&node.id),
        }
    }

    /// Returns the steps from which a matching step can be reached, each with the step found.
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

    fn missed(&self, entry: &Node, at: &NodeId) -> Diagnostic {
        let (branch, fork, join) = (&entry.id, &self.fork.id, &self.join.id);
        let message = match self.foreign.get(at) {
            Some(owner) if at == branch => format!("`{branch}` is a branch of `{fork}` and of `{owner}`"),
            Some(owner) => format!("the branch `{branch}` of `{fork}` enters a branch of `{owner}` at `{at}`"),
            None => format!("the branch `{branch}` of `{fork}` can reach `{at}` without reaching `{join}`"),
        };
        Diagnostic::error("branch-misses-join", message)
            .at(entry.span)
            .help(format!("lead every path through the branch to `{join}`"))
            .repaired(
                "a branch counts as done at the end or join that it reaches, and as failed unless that is a success",
            )
    }

    fn met(&self, map: &Map<'g>, at: &NodeId, second: &Node, first: &Node) -> Diagnostic {
        let (fork, join) = (&self.fork.id, &self.join.id);
        let message = format!(
            "the branches `{}` and `{}` of `{fork}` meet at `{at}` before they reach `{join}`",
            first.id, second.id
        );
        let span = map.node(at).map_or(second.span, |node| node.span);
        Diagnostic::error("branches-meet", message)
            .at(span)
            .help(format!("give each branch a step of its own, or put `{at}` after `{join}`"))
            .repaired("it runs once in each of the branches")
    }

    fn entered(&self, map: &Map<'g>, edge: &Edge) -> Diagnostic {
        let (from, to, fork, join) = (&edge.from.value, &edge.to.value, &self.fork.id, &self.join.id);
        let message = match to == join {
            true => format!("an edge leads from `{from}` to `{join}`, which collects the branches of `{fork}`"),
            false => format!("an edge leads from `{from}` into a branch of `{fork}`, at `{to}`"),
        };
        let repair = match map.graph.interface {
            Some(_) => "a run that reaches the join over this edge fails",
            None => "a run that reaches the join over this edge waits for a person",
        };
        let fault = Diagnostic::error("edge-into-branch", message).at(edge.to.span);
        fault.help(format!("lead it to `{fork}`, or to a step after `{join}`")).repaired(repair)
    }

    fn astray(&self, entry: &Node) -> Diagnostic {
        Diagnostic::error(
            "branch-misses-join",
            format!("the branch `{}` of `{}` never reaches `{}`", entry.id, self.fork.id, self.join.id),
        )
        .at(entry.span)
        .help(format!("lead every path through the branch to `{}`", self.join.id))
        .repaired("it is left only when a person decides")
    }
}
