//! The minimum costs of a run that reaches an end.
//!
//! A step that assumes a spent budget needs all its uses first. Its distance is at least that of the nearest use, with
//! the shortest round for each of them, which bounds the costs from below.

use std::collections::{BTreeMap, BTreeSet};

use super::budgets::passes;
use super::costs::{Counts, taken};
use super::explore::{Exploration, StateKind};
use super::model::Model;
use super::picks::{PassKind, Pick};
use super::steps::Step;
use crate::run::FramePath;
use crate::value::NodeId;

/// A budget that some step assumes to be spent.
#[derive(Default)]
struct BudgetNeed {
    /// The steps that use it.
    uses: Vec<u32>,
    /// The number of uses that are needed.
    times: u64,
    /// The states with a step that uses it or assumes it spent.
    sources: BTreeSet<u32>,
}

/// Returns the minimum of each count, by the costs of each step; zeros if the time is up first.
pub(super) fn least(
    model: &Model,
    found: &Exploration,
    each: &[Counts],
    out_of_time: &mut dyn FnMut() -> bool,
) -> Counts {
    let (needed, needs) = needed(model, found);
    let mut least = Counts::default();
    for (count, least) in least.iter_mut().enumerate() {
        if out_of_time() {
            return Counts::default();
        }
        let cost = |edge: u32| each[edge as usize][count];
        if each.iter().any(|counts| counts[count] > 0) {
            *least = nearest_end(found, &needed, &needs, &cost).unwrap_or(0);
        }
    }
    least
}

/// The place where a budget is counted, and whether it is that of passes.
type BudgetPlace = (FramePath, NodeId, bool);

/// Collects the budgets that are assumed to be spent, and those that each step assumes so.
fn needed(model: &Model, found: &Exploration) -> (BTreeMap<BudgetPlace, BudgetNeed>, BTreeMap<u32, Vec<BudgetPlace>>) {
    let (mut all, mut needs): (BTreeMap<BudgetPlace, BudgetNeed>, BTreeMap<u32, Vec<BudgetPlace>>) = Default::default();
    for (number, edge) in found.edges.iter().enumerate() {
        for counted in edge.step.picks.iter().filter_map(|pick| assumed(model, &edge.step, pick)) {
            all.entry(counted.clone()).or_default().sources.insert(edge.from);
            needs.entry(number as u32).or_default().push(counted);
        }
    }
    for (number, edge) in found.edges.iter().enumerate() {
        for (budget, most) in taken(model, &edge.step) {
            if let Some(needed) = all.get_mut(&(budget.frame, budget.node, budget.is_passes)) {
                // The last pass uses the budget of passes without another one.
                needed.times = u64::from(if budget.is_passes { most.saturating_sub(1) } else { most });
                needed.uses.push(number as u32);
                needed.sources.insert(edge.from);
            }
        }
    }
    (all, needs)
}

/// Returns the budget that a pick assumes to be spent.
fn assumed(model: &Model, step: &Step, pick: &Pick) -> Option<BudgetPlace> {
    match pick {
        Pick::Spent { frame, gate } => Some((frame.clone(), gate.clone(), false)),
        Pick::Pass(PassKind::Most) => passes(model, step).map(|(budget, _)| (budget.frame, budget.node, true)),
        _ => None,
    }
}

/// Returns the minimum cost of a run that reaches an end.
fn nearest_end(
    found: &Exploration,
    needed: &BTreeMap<BudgetPlace, BudgetNeed>,
    needs: &BTreeMap<u32, Vec<BudgetPlace>>,
    cost: &dyn Fn(u32) -> u64,
) -> Option<u64> {
    let start = || BTreeMap::from([(0, vec![0])]);
    let plain = distances(found, start(), &|distance, edge| distance + cost(edge), &|_| false).0;
    let all_used = needed.iter().filter_map(|(counted, needed)| Some((counted, needed.used(found, &plain, cost)?)));
    let all_used: BTreeMap<&BudgetPlace, u64> = all_used.collect();
    let after = |distance: u64, edge: u32| {
        let used = needs.get(&edge).into_iter().flatten().filter_map(|counted| all_used.get(counted).copied());
        used.fold(distance, u64::max).saturating_add(cost(edge))
    };
    distances(found, start(), &after, &|at| found.states[at as usize] == StateKind::Ended).1
}

impl BudgetNeed {
    /// Returns the minimum cost of a run that has made all uses; `None` if there are no uses.
    fn used(&self, found: &Exploration, plain: &[u64], cost: &dyn Fn(u32) -> u64) -> Option<u64> {
        let to_first = self.uses.iter().map(|edge| plain[found.edges[*edge as usize].from as usize]).min()?;
        let mut begins: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for edge in &self.uses {
            begins.entry(cost(*edge)).or_default().push(found.edges[*edge as usize].to);
        }
        let step = |distance: u64, edge: u32| distance + cost(edge);
        let round = distances(found, begins, &step, &|at| self.sources.contains(&at)).1?;
        Some(to_first.saturating_add(self.times.saturating_mul(round)))
    }
}

/// Returns the distances of the states from those that it begins with, up to the nearest one where it stops, and the
/// distance of that one.
fn distances(
    found: &Exploration,
    mut waiting: BTreeMap<u64, Vec<u32>>,
    after: &dyn Fn(u64, u32) -> u64,
    stops: &dyn Fn(u32) -> bool,
) -> (Vec<u64>, Option<u64>) {
    let mut distances = vec![u64::MAX; found.states.len()];
    while let Some(mut nearest) = waiting.first_entry() {
        let distance = *nearest.key();
        let Some(at) = nearest.get_mut().pop() else {
            nearest.remove();
            continue;
        };
        if distances[at as usize] != u64::MAX {
            continue;
        }
        distances[at as usize] = distance;
        if stops(at) {
            return (distances, Some(distance));
        }
        for (edge, step) in found.edges_of(at).filter(|(_, edge)| distances[edge.to as usize] == u64::MAX) {
            waiting.entry(after(distance, edge)).or_default().push(step.to);
        }
    }
    (distances, None)
}
