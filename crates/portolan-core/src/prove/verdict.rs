//! Verdicts on the states: whether a run can always finish, and the cycles.

use std::collections::BTreeSet;
use std::ops::Range;

use indexmap::IndexSet;

use super::explore::{Edge, Explored, Site, StateKind};
use super::steps::Act;
use crate::value::{NodeId, WorkflowId};

/// Computes for each state whether it can reach an end or an unexplored state.
pub(super) fn finishing(found: &Explored) -> Vec<bool> {
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); found.states.len()];
    for edge in &found.edges {
        before[edge.to as usize].push(edge.from);
    }
    let mut finishes = vec![false; found.states.len()];
    let ends = |standing: &StateKind| matches!(standing, StateKind::Ended | StateKind::Frontier);
    let mut waiting: Vec<u32> = (0..found.states.len() as u32).filter(|at| ends(&found.states[*at as usize])).collect();
    while let Some(at) = waiting.pop() {
        if !std::mem::replace(&mut finishes[at as usize], true) {
            waiting.extend(&before[at as usize]);
        }
    }
    finishes
}

/// Strongly connected components of states, successors first.
pub(super) struct Circles {
    states: Vec<u32>,
    /// The end index of each component.
    ends: Vec<usize>,
}

impl Circles {
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.states[begin..*end])
    }

    /// Returns the states of all components.
    pub(super) fn states(&self) -> &[u32] {
        &self.states
    }
}

/// Finds the components of the states for which `counts` holds, by steps for which `follows` holds.
pub(super) fn circles(found: &Explored, counts: &dyn Fn(u32) -> bool, follows: &dyn Fn(u32) -> bool) -> Circles {
    let mut tarjan = Tarjan {
        found,
        counts,
        follows,
        index: vec![0; found.states.len()],
        low: vec![0; found.states.len()],
        on_stack: vec![false; found.states.len()],
        stack: Vec::new(),
        next: 1,
        circles: Circles { states: Vec::new(), ends: Vec::new() },
    };
    for at in (0..found.states.len() as u32).filter(|at| counts(*at)) {
        tarjan.visit(at);
    }
    tarjan.circles
}

struct Tarjan<'f> {
    found: &'f Explored,
    counts: &'f dyn Fn(u32) -> bool,
    follows: &'f dyn Fn(u32) -> bool,
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    next: u32,
    circles: Circles,
}

impl Tarjan<'_> {
    /// Visits without recursion, since a workflow may be long.
    fn visit(&mut self, root: u32) {
        if self.index[root as usize] != 0 {
            return;
        }
        let mut calls = vec![(root, self.enter(root))];
        while let Some((at, ahead)) = calls.last_mut() {
            let at = *at;
            let Some(edge) = ahead.next() else {
                calls.pop();
                self.leave(at);
                if let Some((before, _)) = calls.last() {
                    self.low[*before as usize] = self.low[*before as usize].min(self.low[at as usize]);
                }
                continue;
            };
            let to = self.found.edges[edge as usize].to;
            if !(self.follows)(edge) || !(self.counts)(to) {
                continue;
            }
            if self.index[to as usize] == 0 {
                let entered = self.enter(to);
                calls.push((to, entered));
            } else if self.on_stack[to as usize] {
                self.low[at as usize] = self.low[at as usize].min(self.index[to as usize]);
            }
        }
    }

    /// Enters a new state, and returns its steps.
    fn enter(&mut self, at: u32) -> Range<u32> {
        self.index[at as usize] = self.next;
        self.low[at as usize] = self.next;
        self.next += 1;
        self.stack.push(at);
        self.on_stack[at as usize] = true;
        self.found.range_of(at)
    }

    fn leave(&mut self, at: u32) {
        if self.low[at as usize] != self.index[at as usize] {
            return;
        }
        while let Some(state) = self.stack.pop() {
            self.on_stack[state as usize] = false;
            self.circles.states.push(state);
            if state == at {
                break;
            }
        }
        self.circles.ends.push(self.circles.states.len());
    }
}

/// The index of the component of each state.
pub(super) struct Membership(Vec<Option<u32>>);

impl Membership {
    pub(super) fn of(found: &Explored, circles: &[Vec<u32>]) -> Membership {
        let mut membership = Membership(vec![None; found.states.len()]);
        for (number, circle) in circles.iter().enumerate() {
            circle.iter().for_each(|at| membership.0[*at as usize] = Some(number as u32));
        }
        membership
    }

    pub(super) fn on(&self, state: u32) -> Option<u32> {
        self.0[state as usize]
    }

    /// Checks whether a step stays in a component.
    pub(super) fn stays(&self, edge: &Edge) -> bool {
        self.on(edge.from).is_some() && self.on(edge.from) == self.on(edge.to)
    }
}

/// Checks whether a run can stay in a component: it has a step inside.
pub(super) fn goes_round(found: &Explored, circle: &[u32], follows: &dyn Fn(u32) -> bool) -> bool {
    circle.len() > 1 || found.edges_of(circle[0]).any(|(at, edge)| edge.to == circle[0] && follows(at))
}

/// Checks whether only failures lead out of a component.
pub(super) fn is_closed(found: &Explored, circle: &[u32], membership: &Membership) -> bool {
    let fails = |at: u32| found.states[at as usize] == StateKind::Failed;
    circle.iter().all(|at| found.edges_of(*at).all(|(_, edge)| membership.stays(edge) || fails(edge.to)))
}

/// Returns the nodes of the steps in a component.
pub(super) fn sites(found: &Explored, circle: &[u32], membership: &Membership) -> BTreeSet<Site> {
    let inside = circle.iter().flat_map(|at| found.edges_of(*at)).filter(|(_, edge)| membership.stays(edge));
    let sites: IndexSet<(&WorkflowId, &NodeId)> = inside.map(|(_, edge)| (&edge.step.flow, &edge.step.node)).collect();
    sites.into_iter().map(|(flow, node)| (flow.clone(), node.clone())).collect()
}

/// Returns the components in which a run can go round.
pub(super) fn rounds(found: &Explored, counts: &dyn Fn(u32) -> bool, follows: &dyn Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let circles = circles(found, counts, follows);
    circles.iter().filter(|circle| goes_round(found, circle, follows)).map(<[u32]>::to_vec).collect()
}

/// Checks whether a person answers in a component, so that every budget is refilled.
pub(super) fn has_answers(found: &Explored, circle: &[u32], membership: &Membership) -> bool {
    let mut inside = circle.iter().flat_map(|at| found.edges_of(*at)).filter(|(_, edge)| membership.stays(edge));
    inside.any(|(_, edge)| matches!(edge.step.act, Act::Answer(_)) && !edge.step.helps)
}
