//! What a run takes at most: how many moves, checks, calls and answers.
//!
//! Between two steps that take from a budget or begin another pass, a run goes through states without coming back to one.
//! The longest such way is found by going backwards from the ends. Each step that takes from a budget may then add what lies
//! between where it leads back to and where it stands, as often as the budget allows. A budget counts anew where it is
//! renewed on the way round: it is then bounded by what bounds the circle around it.

use std::collections::{BTreeMap, BTreeSet};

use super::budgets::{Budget, renews};
use super::explore::{Edge, Explored};
use super::model::Model;
use super::picks::{Pass, Pick};
use super::steps::Act;
use super::verdict::{circles, rounds};
use crate::graph::{Kind, Workflow};
use crate::value::NodeId;

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
    let mut search = Search { model, found, way: vec![Way::On; found.edges.len()], taken: BTreeMap::new() };
    for (way, edge) in search.way.iter_mut().zip(&found.edges) {
        if edge.step.helps {
            *way = Way::Round;
        }
    }
    search.cut(out_of_time)?;
    let each: Vec<Counts> = found.edges.iter().map(|edge| cost(workflow, edge).counts()).collect();
    let order: Vec<u32> = circles(found, &|_| true, &|edge| search.is_on(edge)).into_iter().flatten().collect();
    Some(Costs::of(search.most(&each, &order)))
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
    model: &'f Model,
    found: &'f Explored,
    way: Vec<Way>,
    /// The budgets that steps take from, each with how often they do in all.
    taken: BTreeMap<Budget, (u32, u64)>,
}

impl Search<'_> {
    fn is_on(&self, edge: u32) -> bool {
        self.way[edge as usize] == Way::On
    }

    /// Takes out steps until what is left leads nowhere again; nothing where the time is up before.
    fn cut(&mut self, out_of_time: &mut dyn FnMut() -> bool) -> Option<()> {
        let mut stays = vec![1_u64; self.found.states.len()];
        loop {
            let circles = rounds(self.found, &|_| true, &|edge| self.is_on(edge));
            if circles.is_empty() {
                return Some(());
            }
            let mut of = vec![None; self.found.states.len()];
            for (number, circle) in circles.iter().enumerate() {
                circle.iter().for_each(|at| of[*at as usize] = Some(number));
            }
            for circle in &circles {
                if out_of_time() {
                    return None;
                }
                let more = self.cut_in(circle, &of, stays[circle[0] as usize]);
                circle.iter().for_each(|at| stays[*at as usize] = stays[*at as usize].saturating_add(more));
            }
        }
    }

    /// Takes those steps out of a circle whose budgets are not renewed in it, or else those with which it begins anew. Gives
    /// how often they are taken. `of` says on which circle each state lies.
    fn cut_in(&mut self, circle: &[u32], of: &[Option<usize>], stays: u64) -> u64 {
        let inside: Vec<u32> = circle
            .iter()
            .flat_map(|at| self.found.edges_of(*at))
            .filter(|(at, edge)| self.is_on(*at) && of[edge.to as usize] == of[edge.from as usize])
            .map(|(at, _)| at)
            .collect();
        let mut firm: BTreeMap<Budget, u32> = BTreeMap::new();
        inside.iter().for_each(|edge| firm.extend(self.budgets(*edge)));
        for edge in &inside {
            let edge = &self.found.edges[*edge as usize];
            firm.retain(|budget, _| !renews(&edge.step, budget));
        }
        if firm.is_empty() {
            self.go_round_once(circle, of);
            return 0;
        }
        let mut more = 0_u64;
        let mut numbers: BTreeMap<Budget, u32> = BTreeMap::new();
        for (budget, most) in firm {
            let times = stays.saturating_mul(u64::from(most));
            more = more.saturating_add(times);
            let next = self.taken.len() as u32;
            let taken = self.taken.entry(budget.clone()).or_insert((next, 0));
            taken.1 = taken.1.saturating_add(times);
            numbers.insert(budget, taken.0);
        }
        for edge in inside {
            let number = self.budgets(edge).find_map(|(budget, _)| numbers.get(&budget).copied());
            if let Some(number) = number {
                self.way[edge as usize] = Way::Takes(number);
            }
        }
        more
    }

    /// The budgets that a step takes from, each with how much there is of it.
    fn budgets(&self, edge: u32) -> impl Iterator<Item = (Budget, u32)> {
        let step = &self.found.edges[edge as usize].step;
        let retried = step.retried.iter().map(|retried| {
            let (frame, node) = (retried.frame.clone(), retried.gate.clone());
            (Budget { frame, node, is_passes: false, renews: retried.renews }, retried.budget)
        });
        let pass = step.picks.contains(&Pick::Pass(Pass::Another)).then(|| step.frame.split()).flatten();
        let flow = self.model.workflow.flow(&step.flow);
        let most = |node: &NodeId| match &flow.step(node).node.kind {
            Kind::Loop(looping) => looping.most,
            _ => 0,
        };
        let pass = pass.map(|(frame, node)| {
            (
                Budget { frame, node: node.clone(), is_passes: true, renews: false },
                flow.steps.get(node).map_or(0, |_| most(node)),
            )
        });
        retried.chain(pass)
    }

    /// Takes out of a circle the steps with which the outermost round in it begins again: those that take from no budget
    /// where there are some. Rounds within it may be bounded then.
    fn go_round_once(&mut self, circle: &[u32], of: &[Option<usize>]) {
        let back = self.leading_back(circle, of);
        let to = |edge: &u32| self.found.edges[*edge as usize].to;
        let Some(outermost) = back.iter().map(to).min() else { return };
        let head = |state: u32| self.found.edges_of(state).next().map(|(_, edge)| (&edge.step.flow, &edge.step.node));
        let outer: Vec<u32> = back.into_iter().filter(|edge| head(to(edge)) == head(outermost)).collect();
        let is_free = |edge: &u32| !self.found.edges[*edge as usize].step.bounded;
        let free: Vec<u32> = outer.iter().copied().filter(is_free).collect();
        for edge in if free.is_empty() { outer } else { free } {
            self.way[edge as usize] = Way::Round;
        }
    }

    /// The steps of a circle that lead back to where a walk in depth has come from.
    fn leading_back(&self, circle: &[u32], of: &[Option<usize>]) -> Vec<u32> {
        let Some(first) = circle.iter().min().copied() else { return Vec::new() };
        let (mut done, mut open) = (BTreeSet::new(), BTreeSet::from([first]));
        let mut calls = vec![(first, self.inside(first, of))];
        let mut back = Vec::new();
        while let Some((at, ahead)) = calls.last_mut() {
            let at = *at;
            match ahead.pop() {
                Some((edge, to)) if open.contains(&to) => back.push(edge),
                Some((_, to)) if done.contains(&to) => {}
                Some((_, to)) => {
                    open.insert(to);
                    let inside = self.inside(to, of);
                    calls.push((to, inside));
                }
                None => {
                    calls.pop();
                    open.remove(&at);
                    done.insert(at);
                }
            }
        }
        back
    }

    /// The steps on from a state that stay on its circle.
    fn inside(&self, at: u32, of: &[Option<usize>]) -> Vec<(u32, u32)> {
        let stays = |step: &Edge| of[step.to as usize] == of[at as usize];
        let inside = self.found.edges_of(at).filter(|(edge, step)| self.is_on(*edge) && stays(step));
        inside.map(|(edge, step)| (edge, step.to)).collect()
    }

    /// The most that a run costs; `order` has the states that others lead to before these.
    fn most(&self, each: &[Counts], order: &[u32]) -> Counts {
        let mut ahead = vec![Counts::default(); self.found.states.len()];
        for at in order {
            let ways = self.found.edges_of(*at).filter(|(edge, _)| self.is_on(*edge));
            let each = ways.map(|(edge, step)| both(each[edge as usize], ahead[step.to as usize], u64::saturating_add));
            ahead[*at as usize] = each.reduce(|one, other| both(one, other, u64::max)).unwrap_or_default();
        }
        let mut gains = vec![Counts::default(); self.taken.len()];
        for (edge, way) in self.way.iter().enumerate() {
            if let Way::Takes(number) = way {
                let step = &self.found.edges[edge];
                let again = both(each[edge], ahead[step.to as usize], u64::saturating_add);
                let gain = &mut gains[*number as usize];
                *gain = both(*gain, both(again, ahead[step.from as usize], u64::saturating_sub), u64::max);
            }
        }
        let taken =
            self.taken.values().map(|(number, times)| gains[*number as usize].map(|gain| gain.saturating_mul(*times)));
        taken.fold(ahead[0], |one, other| both(one, other, u64::saturating_add))
    }
}
