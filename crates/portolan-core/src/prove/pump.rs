//! Budgets and passes: where the analysis says that nothing is left of a budget, a run first has to use it up.

use std::collections::{BTreeMap, VecDeque};

use super::explore::Explored;
use super::model::Model;
use super::steps::{Act, Pass, Pick, Step};
use crate::graph::Kind;
use crate::run::FramePath;
use crate::value::NodeId;

/// How many steps a run may have in all: one that is longer is told without its rounds.
const MAX_STEPS: usize = 20_000;

/// The steps on the way to a state, with as many rounds before each as it takes; nothing where no round is found.
pub(super) fn pumped(model: &Model, found: &Explored, way: &[u32]) -> Option<Vec<u32>> {
    let mut pump = Pump { model, found, used: BTreeMap::new(), passes: BTreeMap::new(), steps: Vec::new() };
    way.iter().try_for_each(|edge| pump.reach(*edge))?;
    Some(pump.steps)
}

struct Pump<'f> {
    model: &'f Model,
    found: &'f Explored,
    /// The retries that each node has used, in each frame.
    used: BTreeMap<(FramePath, NodeId), u32>,
    /// The passes that each loop has made.
    passes: BTreeMap<FramePath, u32>,
    steps: Vec<u32>,
}

impl Pump<'_> {
    fn step(&self, edge: u32) -> &Step {
        &self.found.edges[edge as usize].step
    }

    fn reach(&mut self, edge: u32) -> Option<()> {
        while let Some(round) = self.lacks(edge) {
            round?.into_iter().for_each(|edge| self.take(edge));
            if self.steps.len() > MAX_STEPS {
                return None;
            }
        }
        self.take(edge);
        Some(())
    }

    /// What has to be gone through before a step can come out as it does: a round, or that none was found.
    fn lacks(&self, edge: u32) -> Option<Option<Vec<u32>>> {
        for pick in &self.step(edge).picks {
            match pick {
                Pick::Spent { frame, gate } => {
                    let budget =
                        self.model.workflow.flow(&self.step(edge).flow).steps.get(gate)?.exits.failing.budget();
                    if self.used.get(&(frame.clone(), gate.clone())).copied().unwrap_or(0) < budget {
                        return Some(self.round(edge, &|step| step.retried.contains(gate)));
                    }
                }
                Pick::Pass(Pass::Most) => {
                    let step = self.step(edge);
                    let flow = self.model.workflow.flow(&step.flow);
                    let Kind::Repeat { of } = &flow.step(&step.node).node.kind else { continue };
                    let Kind::Loop(looping) = &flow.step(&of.value).node.kind else { continue };
                    let passes = self.passes.get(&step.frame).copied().unwrap_or(0);
                    if passes + 1 < looping.most {
                        return Some(self.round(edge, &|step| step.picks.contains(&Pick::Pass(Pass::Another))));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// A round from the state before a step back to it, that begins with a step of the same kind.
    fn round(&self, edge: u32, begins: &dyn Fn(&Step) -> bool) -> Option<Vec<u32>> {
        let from = self.found.edges[edge as usize].from;
        let step = self.step(edge);
        let is_alike = |other: &Step| other.act == step.act && other.frame == step.frame;
        let firsts = self.found.edges_of(from).filter(|(_, edge)| is_alike(&edge.step) && begins(&edge.step));
        let mut reached: BTreeMap<u32, u32> = BTreeMap::new();
        let mut waiting = VecDeque::new();
        for (first, edge) in firsts {
            if edge.to == from {
                return Some(vec![first]);
            }
            if reached.insert(edge.to, first).is_none() {
                waiting.push_back(edge.to);
            }
        }
        while let Some(at) = waiting.pop_front() {
            let plain = |step: &Step| {
                let is_limit = |pick: &Pick| matches!(pick, Pick::Spent { .. } | Pick::Pass(Pass::Most));
                !step.picks.iter().any(is_limit) && !matches!(step.act, Act::Answer(_))
            };
            for (number, edge) in self.found.edges_of(at).filter(|(_, edge)| plain(&edge.step)) {
                if edge.to == from {
                    let mut round = vec![number];
                    let mut state = at;
                    loop {
                        let by = reached[&state];
                        round.push(by);
                        state = self.found.edges[by as usize].from;
                        if state == from {
                            round.reverse();
                            return Some(round);
                        }
                    }
                }
                if edge.to != from && !reached.contains_key(&edge.to) {
                    reached.insert(edge.to, number);
                    waiting.push_back(edge.to);
                }
            }
        }
        None
    }

    fn take(&mut self, edge: u32) {
        let step = self.step(edge).clone();
        let gate = (step.frame.clone(), step.node.clone());
        match &step.act {
            Act::Answer(_) => self.used.retain(|(frame, _), _| *frame != step.frame),
            Act::Report(outcome) if !outcome.is_failed() => {
                self.used.remove(&gate);
            }
            Act::Checks(true) | Act::Return(true) => {
                self.used.remove(&gate);
            }
            _ => {}
        }
        for retried in &step.retried {
            *self.used.entry((step.frame.clone(), retried.clone())).or_default() += 1;
        }
        for pick in &step.picks {
            if let Pick::Pass(pass) = pick {
                let passes = self.passes.entry(step.frame.clone()).or_default();
                *passes = if *pass == Pass::Another { *passes + 1 } else { 0 };
            }
        }
        self.steps.push(edge);
    }
}
