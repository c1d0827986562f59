//! Pumping: if the analysis assumes a spent budget, a run must first use it up.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::budgets::{Budget, passing, renews};
use super::explore::{Edge, Exploration};
use super::model::{Model, array_name};
use super::picks::{PassKind, Pick};
use super::steps::{Step, budget};
use serde_json::Value;

use crate::graph::{Flow, Loop, LoopKind};
use crate::run::FramePath;

/// The maximum number of steps of a run: a longer one is presented without its rounds.
const MAX_STEPS: usize = 20_000;

/// The maximum nesting depth of rounds.
const MAX_DEPTH: usize = 8;

/// Inserts the required rounds into a path to a state; `None` if a round is not found.
pub(super) fn pumped(model: &Model, found: &Exploration, way: &[u32]) -> Option<Vec<u32>> {
    let mut pump = Pump { model, found, used: BTreeMap::new(), passes: BTreeMap::new(), steps: Vec::new(), depth: 0 };
    way.iter().try_for_each(|edge| pump.reach(*edge))?;
    Some(pump.steps)
}

struct Pump<'f> {
    model: &'f Model,
    found: &'f Exploration,
    /// The used part of each budget.
    used: BTreeMap<Budget, u32>,
    /// The number of passes of each loop.
    passes: BTreeMap<FramePath, u32>,
    steps: Vec<u32>,
    depth: usize,
}

/// The steps of a round, and the step that follows it.
type Round = (Vec<u32>, u32);

/// Checks whether a step assumes a spent budget or a last pass.
fn is_limit(step: &Step) -> bool {
    step.picks.iter().any(|pick| matches!(pick, Pick::Spent { .. } | Pick::Pass(PassKind::Most | PassKind::Last)))
}

impl Pump<'_> {
    fn step(&self, edge: u32) -> &Step {
        &self.found.edges[edge as usize].step
    }

    fn reach(&mut self, mut edge: u32) -> Option<()> {
        while let Some(round) = self.lacks(edge) {
            let (steps, last) = round?;
            if self.depth == MAX_DEPTH || self.steps.len() > MAX_STEPS {
                return None;
            }
            self.depth += 1;
            // A round may contain loops that run to their maximum.
            steps.into_iter().try_for_each(|edge| self.reach(edge))?;
            self.depth -= 1;
            edge = last;
        }
        self.take(edge);
        Some(())
    }

    /// Returns the round that is required before a step, or `Some(None)` if no round is found.
    fn lacks(&self, edge: u32) -> Option<Option<Round>> {
        for pick in &self.step(edge).picks {
            match pick {
                Pick::Spent { frame, gate } => {
                    let (most, renewed) = budget(self.model, &self.step(edge).flow, gate);
                    let budget = Budget { frame: frame.clone(), node: gate.clone(), is_passes: false, renews: renewed };
                    if self.used.get(&budget).copied().unwrap_or(0) < most {
                        let takes = |step: &Step| step.retried.iter().any(|retried| retried.gate == *gate);
                        return Some(self.round(edge, &takes, &|step| renews(step, &budget)));
                    }
                }
                Pick::Pass(pass @ (PassKind::Most | PassKind::Last)) => {
                    let step = self.step(edge);
                    let Some((_, looping)) = passing(self.model, step) else { continue };
                    let flow = self.model.workflow.flow(&step.flow);
                    let passes = self.passes.get(&step.frame).copied().unwrap_or(0);
                    let wanted = if *pass == PassKind::Most { looping.most } else { self.items(flow, looping) };
                    if passes + 1 < wanted {
                        return Some(self.round(edge, &Step::goes_round, &|_| false));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the minimum number of items of a loop, by the cell that the path assumes for its array.
    fn items(&self, flow: &Flow, looping: &Loop) -> u32 {
        let LoopKind::ForEach { over, .. } = &looping.kind else { return 0 };
        let Some(name) = array_name(over) else { return 0 };
        let Some(number) = self.model.names.get_index_of(&name) else { return 0 };
        let picks = self.steps.iter().rev().flat_map(|edge| &self.step(*edge).picks);
        let cell = picks.into_iter().find_map(|pick| match pick {
            Pick::In { name, cells, .. } if *name == number => Some(cells.trailing_zeros()),
            _ => None,
        });
        let value = match cell {
            Some(cell) => self.model.value(number, cell),
            None => flow.variable(&name).and_then(|variable| variable.default.as_ref()),
        };
        value.and_then(Value::as_array).map_or(0, |items| u32::try_from(items.len()).unwrap_or(u32::MAX))
    }

    /// Finds a round that begins with a step like `edge` and ends where such a step is possible again. Values that were
    /// open before the round may be settled after it, so the state may differ.
    fn round(&self, edge: u32, begins: &dyn Fn(&Step) -> bool, avoids: &dyn Fn(&Step) -> bool) -> Option<Round> {
        let Edge { from, to, step } = &self.found.edges[edge as usize];
        let is_alike = |other: &Step| other.act == step.act && other.frame == step.frame && other.node == step.node;
        let ends = |state: u32| {
            let same = |(_, edge): &(u32, &Edge)| edge.to == *to && is_alike(&edge.step) && is_limit(&edge.step);
            self.found.edges_of(state).find(same).map(|(number, _)| number)
        };
        // The round may reach the limits of other budgets, but not its own.
        let is_own = |other: &Step| is_alike(other) && is_limit(other);
        [&is_limit as &dyn Fn(&Step) -> bool, &is_own].into_iter().find_map(|stops| {
            self.round_without(*from, &|step| is_alike(step) && begins(step), &ends, &|step| {
                stops(step) || avoids(step)
            })
        })
    }

    /// Finds the shortest round from a state that begins with a step of `begins`, ends with the one of `ends`, and
    /// takes no step of `avoids`.
    fn round_without(
        &self,
        from: u32,
        begins: &dyn Fn(&Step) -> bool,
        ends: &dyn Fn(u32) -> Option<u32>,
        avoids: &dyn Fn(&Step) -> bool,
    ) -> Option<Round> {
        let mut reached: BTreeMap<u32, u32> = BTreeMap::new();
        let mut waiting = VecDeque::new();
        for (first, edge) in self.found.edges_of(from).filter(|(_, edge)| begins(&edge.step)) {
            if reached.insert(edge.to, first).is_none() {
                waiting.push_back(edge.to);
            }
        }
        let firsts: BTreeSet<u32> = reached.values().copied().collect();
        while let Some(at) = waiting.pop_front() {
            if let Some(last) = ends(at) {
                return Some((self.back(&reached, &firsts, at), last));
            }
            for (number, edge) in self.found.edges_of(at).filter(|(_, edge)| !avoids(&edge.step)) {
                if let Entry::Vacant(entry) = reached.entry(edge.to) {
                    entry.insert(number);
                    waiting.push_back(edge.to);
                }
            }
        }
        None
    }

    /// Returns the steps of a round in order.
    fn back(&self, reached: &BTreeMap<u32, u32>, firsts: &BTreeSet<u32>, mut at: u32) -> Vec<u32> {
        let mut round = Vec::new();
        loop {
            let by = reached[&at];
            round.push(by);
            if firsts.contains(&by) {
                round.reverse();
                return round;
            }
            at = self.found.edges[by as usize].from;
        }
    }

    fn take(&mut self, edge: u32) {
        let step = self.step(edge).clone();
        self.used.retain(|budget, _| !renews(&step, budget));
        for retried in &step.retried {
            let (frame, node, renews) = (retried.frame.clone(), retried.gate.clone(), retried.renews);
            *self.used.entry(Budget { frame, node, is_passes: false, renews }).or_default() += 1;
        }
        if step.picks.iter().any(|pick| matches!(pick, Pick::Pass(_))) {
            let passes = self.passes.entry(step.frame.clone()).or_default();
            *passes = if step.goes_round() { *passes + 1 } else { 0 };
        }
        self.steps.push(edge);
    }
}
