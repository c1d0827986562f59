//! Budgets: the retries of work and the passes of loops.
//!
//! States count nothing. The exploration first assumes that a budget may be spent wherever it is used. The assumption
//! is then withdrawn in states that no path reaches with all of the budget used.

use std::collections::{BTreeMap, BTreeSet};

use super::explore::{Edge, Exploration};
use super::model::Model;
use super::picks::{PassKind, Pick};
use super::steps::{Act, Step};
use crate::graph::{Kind, Loop};
use crate::run::FramePath;
use crate::value::NodeId;

/// A counted resource: the attempts of a node, or the passes of a loop, in a frame.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Budget {
    pub(super) frame: FramePath,
    pub(super) node: NodeId,
    pub(super) is_passes: bool,
    /// Whether success at the node renews it.
    pub(super) renews: bool,
}

/// Checks whether a step refills a budget.
pub(super) fn renews(step: &Step, budget: &Budget) -> bool {
    let is_inside = |outer: &FramePath| budget.frame.0.len() > outer.0.len() && budget.frame.0.starts_with(&outer.0);
    // A person's answer may have helped.
    if matches!(step.act, Act::Answer(_)) && budget.frame.0.starts_with(&step.frame.0)
        || step.begins.as_ref().is_some_and(is_inside)
    {
        return true;
    }
    match budget.is_passes {
        true => step.frame == budget.frame && step.node == budget.node && step.begins.is_some(),
        false => step.refilled.iter().any(|(frame, gate)| *frame == budget.frame && *gate == budget.node),
    }
}

/// Returns the loop whose pass a step ends, with its node.
pub(super) fn passing<'m>(model: &'m Model, step: &Step) -> Option<(&'m NodeId, &'m Loop)> {
    let flow = model.workflow.flow(&step.flow);
    let Kind::Repeat { of } = &flow.step(&step.node).node.kind else { return None };
    let Kind::Loop(looping) = &flow.step(&of.value).node.kind else { return None };
    Some((&of.value, looping))
}

/// Returns the passes of that loop as a budget, and their maximum number.
pub(super) fn passes(model: &Model, step: &Step) -> Option<(Budget, u32)> {
    let (of, looping) = passing(model, step)?;
    let (frame, _) = step.frame.split()?;
    Some((Budget { frame, node: of.clone(), is_passes: true, renews: false }, looping.most))
}

/// Budgets that cannot be spent: in the state with this key, that of a node in a frame. The passes of a loop are
/// counted at the node that ends each pass, in the frame of the pass.
pub(super) type UnspendableBudgets = BTreeSet<(Box<[u8]>, FramePath, NodeId)>;

/// Checks whether a step assumes a spent budget that cannot be spent in the state with this key.
pub(super) fn is_unspent(unspent: &UnspendableBudgets, key: &[u8], step: &Step) -> bool {
    let is = |pick: &Pick| match pick {
        Pick::Spent { frame, gate } => unspent.contains(&(key.into(), frame.clone(), gate.clone())),
        Pick::Pass(PassKind::Most) => unspent.contains(&(key.into(), step.frame.clone(), step.node.clone())),
        _ => false,
    };
    !unspent.is_empty() && step.picks.iter().any(is)
}

/// The maximum number of states for counting passes: it repeats the exploration, which takes too long for large
/// workflows. With more states, the analysis may assume a last pass that no run reaches.
const MOST_STATES: usize = 16_384;

/// Finds the states that wrongly assume spent budgets; `None` if the time is up first.
pub(super) fn unspent(
    model: &Model,
    found: &Exploration,
    out_of_time: &mut dyn FnMut() -> bool,
) -> Option<UnspendableBudgets> {
    let mut unspent = UnspendableBudgets::new();
    for ((frame, node), taken) in taken(model, found) {
        if taken.spent.is_empty() {
            continue;
        }
        if out_of_time() {
            return None;
        }
        let reached = taken.budget.as_ref().map(|budget| spending(found, budget, &taken.by, taken.most));
        // A budget that no step uses is never spent.
        let is_reached = |from: u32| reached.as_ref().is_some_and(|reached| reached[from as usize]);
        let never = taken.spent.iter().filter(|from| !is_reached(**from));
        unspent.extend(never.map(|from| (found.key(*from).into(), frame.clone(), node.clone())));
    }
    Some(unspent)
}

/// Collects the uses of budgets, by the place where they are counted.
fn taken<'f>(model: &Model, found: &'f Exploration) -> BTreeMap<(&'f FramePath, &'f NodeId), BudgetUse> {
    let mut all: BTreeMap<(&FramePath, &NodeId), BudgetUse> = BTreeMap::new();
    let counts_passes = found.states.len() <= MOST_STATES;
    for (number, edge) in found.edges.iter().enumerate() {
        let step = &edge.step;
        for retried in &step.retried {
            let taken = all.entry((&retried.frame, &retried.gate)).or_default();
            taken.by.push(number as u32);
            taken.most = retried.budget;
            taken.budget.get_or_insert_with(|| Budget {
                frame: retried.frame.clone(),
                node: retried.gate.clone(),
                is_passes: false,
                renews: retried.renews,
            });
        }
        for pick in &step.picks {
            match pick {
                Pick::Spent { frame, gate } => all.entry((frame, gate)).or_default().spent.push(edge.from),
                Pick::Pass(PassKind::Most) if counts_passes => {
                    // A loop of one pass begins with its last pass.
                    let Some((budget, most)) = passes(model, step).filter(|(_, most)| *most > 1) else { continue };
                    let taken = all.entry((&step.frame, &step.node)).or_default();
                    taken.spent.push(edge.from);
                    taken.most = most - 1;
                    taken.budget.get_or_insert(budget);
                }
                Pick::Pass(PassKind::Another) if counts_passes && step.goes_round() => {
                    all.entry((&step.frame, &step.node)).or_default().by.push(number as u32);
                }
                _ => {}
            }
        }
    }
    all
}

/// The steps that use a budget, and the states that assume it spent.
#[derive(Default)]
struct BudgetUse {
    by: Vec<u32>,
    spent: Vec<u32>,
    /// The maximum number of uses.
    most: u32,
    /// `None` while no step uses it.
    budget: Option<Budget>,
}

/// Finds the states that a path reaches with all of the budget used and not renewed since.
fn spending(found: &Exploration, budget: &Budget, taking: &[u32], most: u32) -> Vec<bool> {
    let takes: BTreeSet<u32> = taking.iter().copied().collect();
    let mut last = takes.clone();
    let mut reached = since(found, budget, &takes, &last);
    for _ in 1..most {
        let next: BTreeSet<u32> =
            last.iter().copied().filter(|edge| reached[found.edges[*edge as usize].from as usize]).collect();
        // If the set of uses no longer changes, further uses are unlimited.
        if next == last {
            break;
        }
        reached = since(found, budget, &takes, &next);
        last = next;
    }
    reached
}

/// Finds the states that are reached after these steps by steps that neither use nor renew the budget.
fn since(found: &Exploration, budget: &Budget, takes: &BTreeSet<u32>, from: &BTreeSet<u32>) -> Vec<bool> {
    let mut reached = vec![false; found.states.len()];
    let mut waiting: Vec<u32> = from.iter().map(|edge| found.edges[*edge as usize].to).collect();
    while let Some(at) = waiting.pop() {
        if std::mem::replace(&mut reached[at as usize], true) {
            continue;
        }
        let leads = |(number, edge): &(u32, &Edge)| !takes.contains(number) && !renews(&edge.step, budget);
        waiting.extend(found.edges_of(at).filter(leads).map(|(_, edge)| edge.to));
    }
    reached
}
