//! What a run takes at most: how many moves, checks, calls and answers.
//!
//! Between two steps that take from a budget or begin another pass, a run goes through states without coming back to one.
//! The longest such way is found by going backwards from the ends. Each step that takes from a budget may then add what lies
//! between where it leads back to and where it stands, as often as the budget allows. A budget counts anew where it is
//! renewed on the way round: it is then bounded by what bounds the circle around it.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::budgets::{Budget, passes, renews};
use super::explore::{Edge, Explored};
use super::model::Model;
use super::steps::{Act, Step};
use super::verdict::{Membership, circles, rounds};
use crate::graph::{Kind, Workflow};

/// How many steps between states are looked at; of more, what they cost is not told.
const MAX_EDGES: usize = 400_000;

/// How often something happens at most in a run in which no circle is gone through again that only somebody's decision
/// bounds, and nobody is asked to help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// What an agent reports.
    pub moves: u64,
    /// What a person answers.
    pub answers: u64,
    /// Acceptance checks that are performed.
    pub checks: u64,
    /// Calls of tools by the engine.
    pub calls: u64,
    /// Attempts of states, in each of which models are called.
    pub attempts: u64,
}

/// How often each of them happens, in the order in which they are declared.
type Counts = [u64; 5];

impl Costs {
    fn of([moves, answers, checks, calls, attempts]: Counts) -> Costs {
        Costs { moves, answers, checks, calls, attempts }
    }

    fn counts(self) -> Counts {
        [self.moves, self.answers, self.checks, self.calls, self.attempts]
    }
}

/// Both of each count, in a way that `with` says.
fn both(one: Counts, other: Counts, with: fn(u64, u64) -> u64) -> Counts {
    std::array::from_fn(|at| with(one[at], other[at]))
}

/// What a run costs at most; nothing where it was not looked at whole, is too large, or the time is up.
pub(super) fn costs(
    workflow: &Workflow,
    model: &Model,
    found: &Explored,
    out_of_time: &mut dyn FnMut() -> bool,
) -> Option<Costs> {
    if found.bound.is_some() || found.edges.len() > MAX_EDGES {
        return None;
    }
    let mut search = Search::of(model, found);
    search.cut(out_of_time)?;
    let each: Vec<Counts> = found.edges.iter().map(|edge| cost(workflow, edge).counts()).collect();
    let order = circles(found, &|_| true, &|edge| search.is_on(edge));
    Some(Costs::of(search.most(&each, order.states())))
}

/// What happens on a step.
fn cost(workflow: &Workflow, edge: &Edge) -> Costs {
    let mut costs = Costs::default();
    let step = workflow.find(edge.step.flow.as_str()).and_then(|flow| flow.steps.get(&edge.step.node));
    let kind = step.map(|step| &step.node.kind);
    match (&edge.step.act, kind) {
        (Act::Report(_) | Act::Return(_), Some(Kind::State(_))) => costs.attempts = 1,
        (Act::Report(_), _) => costs.moves = 1,
        (Act::Answer(_), _) => costs.answers = 1,
        (Act::Checks(_), _) => costs.checks = step.map_or(0, |step| step.node.accept.len() as u64),
        (Act::Return(_), Some(Kind::Call(_))) => costs.calls = 1,
        _ => {}
    }
    costs
}

/// What becomes of a step between states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It leads on.
    On,
    /// It takes from the budget of a number.
    Takes(u32),
    /// It goes round as somebody decides, and is not counted.
    Round,
}

struct Search<'f> {
    found: &'f Explored,
    way: Vec<Way>,
    /// The budgets, each with how much there is of it.
    budgets: IndexMap<Budget, u32>,
    /// Those that a step takes from.
    takes: BTreeMap<u32, Vec<u32>>,
    /// How often each is taken from in all.
    times: Vec<u64>,
    /// How far a walk in depth is with each state.
    walked: Vec<Walked>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Walked {
    Not,
    Open,
    Done,
}

impl Search<'_> {
    fn of<'f>(model: &Model, found: &'f Explored) -> Search<'f> {
        let (mut budgets, mut takes): (IndexMap<Budget, u32>, BTreeMap<u32, Vec<u32>>) = Default::default();
        for (number, edge) in found.edges.iter().enumerate() {
            for (budget, most) in taken(model, &edge.step) {
                let (at, _) = budgets.insert_full(budget, most);
                takes.entry(number as u32).or_default().push(at as u32);
            }
        }
        let way = found.edges.iter().map(|edge| if edge.step.helps { Way::Round } else { Way::On }).collect();
        let (times, walked) = (vec![0; budgets.len()], vec![Walked::Not; found.states.len()]);
        Search { found, way, budgets, takes, times, walked }
    }

    fn is_on(&self, edge: u32) -> bool {
        self.way[edge as usize] == Way::On
    }

    /// Takes out steps until what is left leads nowhere again; nothing where the time is up before.
    fn cut(&mut self, out_of_time: &mut dyn FnMut() -> bool) -> Option<()> {
        let mut stays = vec![1_u64; self.found.states.len()];
        let mut circles = rounds(self.found, &|_| true, &|edge| self.is_on(edge));
        while !circles.is_empty() {
            let membership = Membership::of(self.found, &circles);
            for circle in &circles {
                if out_of_time() {
                    return None;
                }
                let more = self.cut_in(circle, &membership, stays[circle[0] as usize]);
                circle.iter().for_each(|at| stays[*at as usize] = stays[*at as usize].saturating_add(more));
            }
            circles = rounds(self.found, &|at| membership.on(at).is_some(), &|edge| self.is_on(edge));
        }
        Some(())
    }

    /// Takes those steps out of a circle whose budgets are not renewed in it, or else those with which it begins anew. Gives
    /// how often they are taken.
    fn cut_in(&mut self, circle: &[u32], membership: &Membership, stays: u64) -> u64 {
        let edges = circle.iter().flat_map(|at| self.found.edges_of(*at));
        let inside: Vec<u32> =
            edges.filter(|(at, edge)| self.is_on(*at) && membership.stays(edge)).map(|(at, _)| at).collect();
        let mut firm: BTreeSet<u32> =
            inside.iter().filter_map(|edge| self.takes.get(edge)).flatten().copied().collect();
        for edge in &inside {
            if firm.is_empty() {
                break;
            }
            let step = &self.found.edges[*edge as usize].step;
            firm.retain(|at| !self.budgets.get_index(*at as usize).is_some_and(|(budget, _)| renews(step, budget)));
        }
        if firm.is_empty() {
            self.go_round_once(circle, membership);
            return 0;
        }
        let mut more = 0_u64;
        for at in &firm {
            let times = stays.saturating_mul(u64::from(self.budgets[*at as usize]));
            more = more.saturating_add(times);
            self.times[*at as usize] = self.times[*at as usize].saturating_add(times);
        }
        for edge in inside {
            let firmly = self.takes.get(&edge).and_then(|takes| takes.iter().find(|at| firm.contains(at)));
            if let Some(at) = firmly {
                self.way[edge as usize] = Way::Takes(*at);
            }
        }
        more
    }

    /// Takes out of a circle the steps with which the outermost round in it begins again, of those that take from no budget
    /// where there are some. Rounds around and within it may be bounded then.
    fn go_round_once(&mut self, circle: &[u32], membership: &Membership) {
        let back = self.leading_back(circle, membership);
        let is_free = |edge: &u32| !self.found.edges[*edge as usize].step.is_bounded();
        let free: Vec<u32> = back.iter().copied().filter(is_free).collect();
        let back = if free.is_empty() { back } else { free };
        let to = |edge: &u32| self.found.edges[*edge as usize].to;
        let Some(outermost) = back.iter().map(to).min() else { return };
        let head = |state: u32| self.found.edges_of(state).next().map(|(_, edge)| (&edge.step.flow, &edge.step.node));
        let outer: Vec<u32> = back.into_iter().filter(|edge| head(to(edge)) == head(outermost)).collect();
        for edge in outer {
            self.way[edge as usize] = Way::Round;
        }
    }

    /// The steps of a circle that lead back to where a walk in depth has come from.
    fn leading_back(&mut self, circle: &[u32], membership: &Membership) -> Vec<u32> {
        let Some(first) = circle.iter().min().copied() else { return Vec::new() };
        self.walked[first as usize] = Walked::Open;
        let mut calls = vec![(first, self.found.range_of(first))];
        let mut back = Vec::new();
        while let Some((at, ahead)) = calls.last_mut() {
            let Some(edge) = ahead.next() else {
                self.walked[*at as usize] = Walked::Done;
                calls.pop();
                continue;
            };
            let step = &self.found.edges[edge as usize];
            if !self.is_on(edge) || !membership.stays(step) {
                continue;
            }
            match self.walked[step.to as usize] {
                Walked::Open => back.push(edge),
                Walked::Done => {}
                Walked::Not => {
                    self.walked[step.to as usize] = Walked::Open;
                    calls.push((step.to, self.found.range_of(step.to)));
                }
            }
        }
        circle.iter().for_each(|at| self.walked[*at as usize] = Walked::Not);
        back
    }

    /// The most that a run costs; `order` has the states that others lead to before these.
    fn most(&self, each: &[Counts], order: &[u32]) -> Counts {
        let mut ahead = vec![Counts::default(); self.found.states.len()];
        for at in order {
            let ways = self.found.edges_of(*at).filter(|(edge, _)| self.is_on(*edge));
            let each = ways.map(|(edge, step)| both(each[edge as usize], ahead[step.to as usize], u64::saturating_add));
            ahead[*at as usize] = each.reduce(|one, other| both(one, other, u64::max)).unwrap_or_default();
        }
        let mut gains = vec![Counts::default(); self.times.len()];
        for (edge, way) in self.way.iter().enumerate() {
            if let Way::Takes(number) = way {
                let step = &self.found.edges[edge];
                let again = both(each[edge], ahead[step.to as usize], u64::saturating_add);
                let gain = &mut gains[*number as usize];
                *gain = both(*gain, both(again, ahead[step.from as usize], u64::saturating_sub), u64::max);
            }
        }
        let taken = gains.iter().zip(&self.times).map(|(gain, times)| gain.map(|gain| gain.saturating_mul(*times)));
        taken.fold(ahead[0], |one, other| both(one, other, u64::saturating_add))
    }
}

/// The budgets that a step takes from, each with how much there is of it.
fn taken<'s>(model: &'s Model, step: &'s Step) -> impl Iterator<Item = (Budget, u32)> + use<'s> {
    let retried = step.retried.iter().map(|retried| {
        let (frame, node) = (retried.frame.clone(), retried.gate.clone());
        (Budget { frame, node, is_passes: false, renews: retried.renews }, retried.budget)
    });
    let pass = step.goes_round().then(|| passes(model, step)).flatten();
    retried.chain(pass)
}
