//! Verdicts on the states: whether a run can always finish, and the cycles.

use std::collections::BTreeSet;
use std::ops::Range;

use indexmap::IndexSet;

use super::explore::{Edge, Exploration, Site, StateKind};
use super::steps::Act;
use crate::value::{NodeId, WorkflowId};

/// Computes for each state whether it can reach an end or an unexplored state.
pub(super) fn finishing(found: &Exploration) -> Vec<bool> {
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

/// Some of the states, and some of the edges between them. A search for cycles within cycles passes over them again and
/// again: here they are a few numbers close together.
pub(super) struct Part {
    states: Vec<u32>,
    /// The index of the first edge of each state, and the number of edges.
    first: Vec<u32>,
    /// The edges by number, each with the index of its target among the states.
    edges: Vec<(u32, u32)>,
}

impl Part {
    /// Takes the states for which `counts` holds, and the edges between them for which `follows` holds.
    pub(super) fn of(found: &Exploration, counts: impl Fn(u32) -> bool, follows: impl Fn(u32) -> bool) -> Part {
        let mut part = Part::new((0..found.states.len() as u32).filter(|at| counts(*at)).collect());
        let mut index = vec![None; found.states.len()];
        part.states.iter().zip(0..).for_each(|(state, at)| index[*state as usize] = Some(at));
        for at in 0..part.states.len() {
            let edges = found.range_of(part.states[at]).filter(|edge| follows(*edge));
            part.add(edges.filter_map(|edge| Some((edge, index[found.edges[edge as usize].to as usize]?))));
        }
        part
    }

    fn new(states: Vec<u32>) -> Part {
        Part { states, first: vec![0], edges: Vec::new() }
    }

    /// Adds the edges of the next state.
    fn add(&mut self, edges: impl Iterator<Item = (u32, u32)>) {
        self.edges.extend(edges);
        self.first.push(self.edges.len() as u32);
    }

    pub(super) fn states(&self) -> &[u32] {
        &self.states
    }

    /// Returns the numbers of the edges.
    pub(super) fn edges(&self) -> impl Iterator<Item = u32> {
        self.edges.iter().map(|(edge, _)| *edge)
    }

    fn range_of(&self, at: u32) -> Range<u32> {
        self.first[at as usize]..self.first[at as usize + 1]
    }

    fn edges_of(&self, at: u32) -> &[(u32, u32)] {
        let Range { start, end } = self.range_of(at);
        &self.edges[start as usize..end as usize]
    }

    /// Keeps only the edges for which `follows` holds.
    pub(super) fn follow(&mut self, follows: impl Fn(u32) -> bool) {
        let mut kept = 0;
        let mut begin = 0;
        for at in 1..self.first.len() {
            let end = self.first[at] as usize;
            for edge in begin..end {
                if follows(self.edges[edge].0) {
                    self.edges[kept] = self.edges[edge];
                    kept += 1;
                }
            }
            (begin, self.first[at]) = (end, kept as u32);
        }
        self.edges.truncate(kept);
    }

    /// Returns the components, each state by its index.
    fn circles(&self) -> Circles {
        let count = self.states.len();
        let mut tarjan = Tarjan {
            part: self,
            index: vec![0; count],
            low: vec![0; count],
            on_stack: vec![false; count],
            stack: Vec::new(),
            next: 1,
            circles: Circles { states: Vec::new(), ends: Vec::new() },
        };
        (0..count as u32).for_each(|at| tarjan.visit(at));
        tarjan.circles
    }

    /// Returns the components in which a run can go round.
    pub(super) fn rounds(&self) -> Vec<Part> {
        let circles = self.circles();
        // The component of each state, and its index there.
        let mut places = vec![(0, 0); self.states.len()];
        for (circle, number) in circles.iter().zip(0_u32..) {
            circle.iter().zip(0_u32..).for_each(|(at, index)| places[*at as usize] = (number, index));
        }
        let mut rounds = Vec::new();
        let is_round =
            |circle: &[u32]| circle.len() > 1 || self.edges_of(circle[0]).iter().any(|(_, to)| *to == circle[0]);
        // Nearly all components are single states.
        for (circle, number) in circles.iter().zip(0_u32..).filter(|(circle, _)| is_round(circle)) {
            let mut part = Part::new(circle.iter().map(|at| self.states[*at as usize]).collect());
            for at in circle {
                let inside = self.edges_of(*at).iter().filter(|(_, to)| places[*to as usize].0 == number);
                part.add(inside.map(|(edge, to)| (*edge, places[*to as usize].1)));
            }
            rounds.push(part);
        }
        rounds
    }

    /// Returns the back edges of a depth-first walk from the earliest state on.
    pub(super) fn leading_back(&self) -> Vec<u32> {
        let Some((_, first)) = self.states.iter().zip(0..).min() else { return Vec::new() };
        let mut walked = vec![WalkProgress::Not; self.states.len()];
        walked[first as usize] = WalkProgress::Open;
        let (mut calls, mut back) = (vec![(first, self.range_of(first))], Vec::new());
        while let Some((at, ahead)) = calls.last_mut() {
            let Some(next) = ahead.next() else {
                walked[*at as usize] = WalkProgress::Done;
                calls.pop();
                continue;
            };
            let (edge, to) = self.edges[next as usize];
            match walked[to as usize] {
                WalkProgress::Open => back.push(edge),
                WalkProgress::Done => {}
                WalkProgress::Not => {
                    walked[to as usize] = WalkProgress::Open;
                    calls.push((to, self.range_of(to)));
                }
            }
        }
        back
    }
}

/// The progress of a depth-first walk at a state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkProgress {
    Not,
    Open,
    Done,
}

/// Finds the components of the states for which `counts` holds, by edges for which `follows` holds.
pub(super) fn circles(found: &Exploration, counts: impl Fn(u32) -> bool, follows: impl Fn(u32) -> bool) -> Circles {
    let part = Part::of(found, counts, follows);
    let mut circles = part.circles();
    circles.states.iter_mut().for_each(|at| *at = part.states[*at as usize]);
    circles
}

struct Tarjan<'p> {
    part: &'p Part,
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
            let Some(next) = ahead.next() else {
                calls.pop();
                self.leave(at);
                if let Some((before, _)) = calls.last() {
                    self.low[*before as usize] = self.low[*before as usize].min(self.low[at as usize]);
                }
                continue;
            };
            let (_, to) = self.part.edges[next as usize];
            if self.index[to as usize] == 0 {
                let entered = self.enter(to);
                calls.push((to, entered));
            } else if self.on_stack[to as usize] {
                self.low[at as usize] = self.low[at as usize].min(self.index[to as usize]);
            }
        }
    }

    /// Enters a new state, and returns its edges.
    fn enter(&mut self, at: u32) -> Range<u32> {
        self.index[at as usize] = self.next;
        self.low[at as usize] = self.next;
        self.next += 1;
        self.stack.push(at);
        self.on_stack[at as usize] = true;
        self.part.range_of(at)
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
    pub(super) fn of(found: &Exploration, circles: &[&[u32]]) -> Membership {
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
pub(super) fn goes_round(found: &Exploration, circle: &[u32]) -> bool {
    circle.len() > 1 || found.edges_of(circle[0]).any(|(_, edge)| edge.to == circle[0])
}

/// Checks whether only failures lead out of a component.
pub(super) fn is_closed(found: &Exploration, circle: &[u32], membership: &Membership) -> bool {
    let fails = |at: u32| found.states[at as usize] == StateKind::Failed;
    circle.iter().all(|at| found.edges_of(*at).all(|(_, edge)| membership.stays(edge) || fails(edge.to)))
}

/// Returns the nodes of the steps in a component.
pub(super) fn sites(found: &Exploration, circle: &[u32], membership: &Membership) -> BTreeSet<Site> {
    let inside = circle.iter().flat_map(|at| found.edges_of(*at)).filter(|(_, edge)| membership.stays(edge));
    let sites: IndexSet<(&WorkflowId, &NodeId)> = inside.map(|(_, edge)| (&edge.step.flow, &edge.step.node)).collect();
    sites.into_iter().map(|(flow, node)| (flow.clone(), node.clone())).collect()
}

/// Checks whether a person answers in a component, so that every budget is refilled.
pub(super) fn has_answers(found: &Exploration, circle: &[u32], membership: &Membership) -> bool {
    let mut inside = circle.iter().flat_map(|at| found.edges_of(*at)).filter(|(_, edge)| membership.stays(edge));
    inside.any(|(_, edge)| matches!(edge.step.act, Act::Answer(_)) && !edge.step.helps)
}
