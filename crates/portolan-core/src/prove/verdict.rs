//! What the states come to: whether the run can always finish, and what goes round.

use std::collections::BTreeSet;

use super::explore::{Explored, Site, Standing};
use super::steps::Act;

/// Whether an end can be reached from each state, or what was not looked at.
pub(super) fn finishing(found: &Explored) -> Vec<bool> {
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); found.states.len()];
    for edge in &found.edges {
        before[edge.to as usize].push(edge.from);
    }
    let mut finishes = vec![false; found.states.len()];
    let ends = |standing: &Standing| matches!(standing, Standing::Ended | Standing::Frontier);
    let mut waiting: Vec<u32> = (0..found.states.len() as u32).filter(|at| ends(&found.states[*at as usize])).collect();
    while let Some(at) = waiting.pop() {
        if !std::mem::replace(&mut finishes[at as usize], true) {
            waiting.extend(&before[at as usize]);
        }
    }
    finishes
}

/// States that can be reached from each other, of those that count, by steps that count; what a circle leads to stands
/// before it.
pub(super) fn circles(found: &Explored, counts: &dyn Fn(u32) -> bool, follows: &dyn Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let mut tarjan = Tarjan {
        found,
        counts,
        follows,
        index: vec![0; found.states.len()],
        low: vec![0; found.states.len()],
        on_stack: vec![false; found.states.len()],
        stack: Vec::new(),
        next: 1,
        circles: Vec::new(),
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
    circles: Vec<Vec<u32>>,
}

impl Tarjan<'_> {
    /// Without the call stack: a workflow may be long.
    fn visit(&mut self, root: u32) {
        if self.index[root as usize] != 0 {
            return;
        }
        let mut calls: Vec<(u32, Vec<u32>)> = vec![self.enter(root)];
        while let Some((at, ahead)) = calls.last_mut() {
            let at = *at;
            match ahead.pop() {
                Some(to) if self.index[to as usize] == 0 => {
                    let entered = self.enter(to);
                    calls.push(entered);
                }
                Some(to) => {
                    if self.on_stack[to as usize] {
                        self.low[at as usize] = self.low[at as usize].min(self.index[to as usize]);
                    }
                }
                None => {
                    calls.pop();
                    self.leave(at);
                    if let Some((before, _)) = calls.last() {
                        self.low[*before as usize] = self.low[*before as usize].min(self.low[at as usize]);
                    }
                }
            }
        }
    }

    fn enter(&mut self, at: u32) -> (u32, Vec<u32>) {
        self.index[at as usize] = self.next;
        self.low[at as usize] = self.next;
        self.next += 1;
        self.stack.push(at);
        self.on_stack[at as usize] = true;
        let ahead = self.found.edges_of(at).filter(|(at, edge)| (self.follows)(*at) && (self.counts)(edge.to));
        (at, ahead.map(|(_, edge)| edge.to).collect())
    }

    fn leave(&mut self, at: u32) {
        if self.low[at as usize] != self.index[at as usize] {
            return;
        }
        let mut circle = Vec::new();
        while let Some(state) = self.stack.pop() {
            self.on_stack[state as usize] = false;
            circle.push(state);
            if state == at {
                break;
            }
        }
        self.circles.push(circle);
    }
}

/// Whether a run can stay in a circle: it has a step that does not lead out of it.
pub(super) fn goes_round(found: &Explored, circle: &[u32], follows: &dyn Fn(u32) -> bool) -> bool {
    circle.len() > 1 || found.edges_of(circle[0]).any(|(at, edge)| edge.to == circle[0] && follows(at))
}

/// Whether nothing leads out of a circle but failure.
pub(super) fn is_closed(found: &Explored, circle: &BTreeSet<u32>) -> bool {
    let fails = |at: u32| found.states[at as usize] == Standing::Failed;
    circle.iter().all(|at| found.edges_of(*at).all(|(_, edge)| circle.contains(&edge.to) || fails(edge.to)))
}

/// The nodes at which something happens in a circle.
pub(super) fn sites(found: &Explored, circle: &BTreeSet<u32>) -> BTreeSet<Site> {
    let inside = circle.iter().flat_map(|at| found.edges_of(*at)).filter(|(_, edge)| circle.contains(&edge.to));
    inside.map(|(_, edge)| (edge.step.flow.clone(), edge.step.node.clone())).collect()
}

/// Circles that a run can go round in.
pub(super) fn rounds(found: &Explored, counts: &dyn Fn(u32) -> bool, follows: &dyn Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let mut rounds = circles(found, counts, follows);
    rounds.retain(|circle| goes_round(found, circle, follows));
    rounds
}

/// Whether a person answers in a circle, so that every budget is full again. `of` says on which circle each state lies.
pub(super) fn has_answers(found: &Explored, circle: &[u32], of: &[Option<usize>]) -> bool {
    let is_inside = |edge: &super::explore::Edge| of[edge.to as usize] == of[edge.from as usize];
    let inside = circle.iter().flat_map(|at| found.edges_of(*at)).filter(|(_, edge)| is_inside(edge));
    inside.into_iter().any(|(_, edge)| matches!(edge.step.act, Act::Answer(_)) && !edge.step.helps)
}
