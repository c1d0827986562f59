//! The costs of a run: its moves, checks, calls and answers, at least and at most, and the limits that are declared.
//!
//! Each count is taken by itself. The least is that of the shortest path to an end. The most needs more, because states
//! count nothing.
//!
//! Between two steps that use a budget or begin another pass, a run does not return to a state. The longest such path
//! is found backwards from the ends. Each step that uses a budget may add the path between its target and its source,
//! as often as the budget allows. A budget that is renewed in a cycle counts anew in each round, and the bound of the
//! cycle then limits it.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::budgets::{Budget, passes, renews};
use super::explore::{Edge, Exploration};
use super::least::least;
use super::model::Model;
use super::steps::{Act, Step};
use super::verdict::{Part, circles};
use crate::graph::{Bounds, Flow, Kind, Workflow};
use crate::value::{NodeId, WorkflowId};

/// The maximum number of steps between states; with more the costs are unknown.
const MAX_EDGES: usize = 400_000;

/// The costs of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// The minimum of each count in a run that reaches an end; zeros if none does.
    pub least: RunCounts,
    /// The maximum of each count in a run that repeats no cycle that only decisions bound, and in which no person is
    /// asked to help.
    pub most: RunCounts,
    /// The limits that the definition declares for a whole run: its own, or the sum of those of its states if each of
    /// them has one. Where a limit is reached, a person is asked.
    pub declared: Bounds,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Reports of agents.
    pub moves: u64,
    /// Answers of persons.
    pub answers: u64,
    /// Performed acceptance checks.
    pub checks: u64,
    /// Tool calls by the engine.
    pub calls: u64,
    /// Attempts of states, each with calls of models.
    pub attempts: u64,
}

/// The counts in the order of the fields.
pub(super) type Counts = [u64; 5];

impl RunCounts {
    fn of([moves, answers, checks, calls, attempts]: Counts) -> RunCounts {
        RunCounts { moves, answers, checks, calls, attempts }
    }

    fn counts(self) -> Counts {
        [self.moves, self.answers, self.checks, self.calls, self.attempts]
    }
}

/// Combines each pair of counts by `with`.
fn both(one: Counts, other: Counts, with: fn(u64, u64) -> u64) -> Counts {
    std::array::from_fn(|at| with(one[at], other[at]))
}

/// Returns the maximum costs; `None` if the exploration is incomplete or too large, or the time is up.
pub(super) fn costs(
    workflow: &Workflow,
    model: &Model,
    found: &Exploration,
    out_of_time: &mut dyn FnMut() -> bool,
) -> Option<Costs> {
    if found.bound.is_some() || found.edges.len() > MAX_EDGES {
        return None;
    }
    let mut search = Search::of(model, found);
    search.cut(out_of_time)?;
    let each: Vec<Counts> = found.edges.iter().map(|edge| cost(workflow, edge).counts()).collect();
    let order = circles(found, |_| true, |edge| search.is_on(edge));
    let most = RunCounts::of(search.most(&each, order.states()));
    Some(Costs {
        least: RunCounts::of(least(model, found, &each, out_of_time)),
        most,
        declared: declared(workflow, found, &most),
    })
}

/// Returns the limits that hold for a whole run.
fn declared(workflow: &Workflow, found: &Exploration, most: &RunCounts) -> Bounds {
    let own = workflow.root().interface.as_ref().map(|interface| interface.bounds).unwrap_or_default();
    let is_entered = |id: &WorkflowId, flow: &Flow| found.nodes.contains(&(id.clone(), flow.start.clone()));
    // Flows that tools and items run are not explored: each of their states may be reached.
    let nodes = workflow.flows().flat_map(|(id, flow)| {
        let may_be_reached =
            move |node: &NodeId| !is_entered(id, flow) || found.nodes.contains(&(id.clone(), node.clone()));
        flow.steps.iter().filter(move |(node, _)| may_be_reached(node)).map(|(_, step)| &step.node)
    });
    let (mut states, mut others) = (Vec::new(), false);
    for node in nodes {
        match &node.kind {
            Kind::State(state) => states.push(state.limits),
            Kind::Work { .. } | Kind::Checkpoint { .. } | Kind::Call(_) | Kind::Each(_) => others = true,
            _ => {}
        }
    }
    let whole = |own: Option<u64>, of: fn(&Bounds) -> Option<u64>, more: Option<u64>| {
        let sum =
            more.and_then(|more| states.iter().map(of).try_fold(more, |sum, limit| Some(sum.saturating_add(limit?))));
        own.into_iter().chain(sum.filter(|_| !states.is_empty())).min()
    };
    Bounds {
        model_calls: whole(own.model_calls, |limits| limits.model_calls, Some(0)),
        tool_calls: whole(own.tool_calls, |limits| limits.tool_calls, Some(most.calls)),
        tokens: whole(own.tokens, |limits| limits.tokens, Some(0)),
        microdollars: whole(own.microdollars, |limits| limits.microdollars, Some(0)),
        // Only a run that does nothing else takes no longer than its states.
        ms: whole(own.ms, |limits| limits.ms, (!others).then_some(0)),
        ..own
    }
}

/// Returns the costs of a step.
fn cost(workflow: &Workflow, edge: &Edge) -> RunCounts {
    let mut costs = RunCounts::default();
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

/// The role of a step in the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It continues.
    On,
    /// It uses the budget with this index.
    Takes(u32),
    /// It repeats a cycle by a decision, and is not counted.
    Round,
}

struct Search<'f> {
    found: &'f Exploration,
    way: Vec<Way>,
    /// The budgets, each with its maximum.
    budgets: IndexMap<Budget, u32>,
    /// The budgets that each step uses.
    takes: Vec<Vec<u32>>,
    /// The total number of uses of each budget.
    times: Vec<u64>,
}

impl Search<'_> {
    fn of<'f>(model: &Model, found: &'f Exploration) -> Search<'f> {
        let mut budgets: IndexMap<Budget, u32> = IndexMap::new();
        let mut takes = vec![Vec::new(); found.edges.len()];
        for (number, edge) in found.edges.iter().enumerate() {
            for (budget, most) in taken(model, &edge.step) {
                let (at, _) = budgets.insert_full(budget, most);
                takes[number].push(at as u32);
            }
        }
        let way = found.edges.iter().map(|edge| if edge.step.helps { Way::Round } else { Way::On }).collect();
        let times = vec![0; budgets.len()];
        Search { found, way, budgets, takes, times }
    }

    fn is_on(&self, edge: u32) -> bool {
        self.way[edge as usize] == Way::On
    }

    /// Removes steps until no cycles are left; `None` if the time is up first.
    fn cut(&mut self, out_of_time: &mut dyn FnMut() -> bool) -> Option<()> {
        let circles = Part::of(self.found, |_| true, |edge| self.is_on(edge)).rounds();
        // Each with how often a run may come there.
        let mut waiting: Vec<(Part, u64)> = circles.into_iter().map(|circle| (circle, 1)).collect();
        while let Some((mut circle, stays)) = waiting.pop() {
            if out_of_time() {
                return None;
            }
            let stays = stays.saturating_add(self.cut_in(&circle, stays));
            circle.follow(|edge| self.is_on(edge));
            waiting.extend(circle.rounds().into_iter().map(|circle| (circle, stays)));
        }
        Some(())
    }

    /// Removes the steps of a cycle whose budgets are not renewed in it, or else those that repeat it. Returns the
    /// number of their uses.
    fn cut_in(&mut self, circle: &Part, stays: u64) -> u64 {
        let mut firm: BTreeSet<u32> = circle.edges().flat_map(|edge| &self.takes[edge as usize]).copied().collect();
        for edge in circle.edges() {
            if firm.is_empty() {
                break;
            }
            let step = &self.found.edges[edge as usize].step;
            firm.retain(|at| !self.budgets.get_index(*at as usize).is_some_and(|(budget, _)| renews(step, budget)));
        }
        if firm.is_empty() {
            return self.go_round_once(circle, stays);
        }
        self.take(circle.edges(), &firm, stays)
    }

    /// Removes the steps that use one of these budgets. Returns the number of their uses.
    fn take(&mut self, edges: impl Iterator<Item = u32>, budgets: &BTreeSet<u32>, stays: u64) -> u64 {
        let mut more = 0_u64;
        for at in budgets {
            let times = stays.saturating_mul(u64::from(self.budgets[*at as usize]));
            more = more.saturating_add(times);
            self.times[*at as usize] = self.times[*at as usize].saturating_add(times);
        }
        for edge in edges {
            let taken = self.takes[edge as usize].iter().find(|at| budgets.contains(at));
            if let Some(at) = taken {
                self.way[edge as usize] = Way::Takes(*at);
            }
        }
        more
    }

    /// Removes the steps that repeat the outermost round of a cycle, preferably those that use no budget. The rounds
    /// around and inside it may then be bounded. If all use budgets that something in the cycle renews, each budget
    /// counts once. Returns the number of uses.
    fn go_round_once(&mut self, circle: &Part, stays: u64) -> u64 {
        let back = circle.leading_back();
        let is_free = |edge: &u32| !self.found.edges[*edge as usize].step.is_bounded();
        let free: Vec<u32> = back.iter().copied().filter(is_free).collect();
        let back = if free.is_empty() { back } else { free };
        let to = |edge: &u32| self.found.edges[*edge as usize].to;
        let Some(outermost) = back.iter().map(to).min() else { return 0 };
        let head = |state: u32| self.found.edges_of(state).next().map(|(_, edge)| (&edge.step.flow, &edge.step.node));
        let outer: Vec<u32> = back.into_iter().filter(|edge| head(to(edge)) == head(outermost)).collect();
        outer.iter().for_each(|edge| self.way[*edge as usize] = Way::Round);
        let bounded = outer.iter().filter(|edge| !is_free(edge));
        let used = bounded.flat_map(|edge| &self.takes[*edge as usize]).copied().collect();
        self.take(circle.edges(), &used, stays)
    }

    /// Returns the maximum costs of a run; `order` lists each state after its successors.
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

/// Returns the budgets that a step uses, each with its maximum.
pub(super) fn taken<'s>(model: &'s Model, step: &'s Step) -> impl Iterator<Item = (Budget, u32)> + use<'s> {
    let retried = step.retried.iter().map(|retried| {
        let (frame, node) = (retried.frame.clone(), retried.gate.clone());
        (Budget { frame, node, is_passes: false, renews: retried.renews }, retried.budget)
    });
    let pass = step.goes_round().then(|| passes(model, step)).flatten();
    retried.chain(pass)
}
