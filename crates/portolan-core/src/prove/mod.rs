//! Proves properties of every run of a workflow before there is one.
//!
//! The abstract states of a workflow are explored with the engine's own decisions, so that the analysis cannot disagree
//! with the engine about a definition. Each verdict is proved, refuted by a run, or undecided, with the bound that was
//! reached. The module knows no format, file or clock: the caller decides when the time is up.

mod budgets;
mod costs;
mod counterexample;
mod explore;
mod least;
mod live;
mod model;
mod picks;
mod pump;
mod report;
mod search;
mod state;
mod steps;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::BTreeSet;

use crate::graph::{Kind, Workflow};
use crate::value::{NodeId, Outcome, WorkflowId};
use budgets::UnspendableBudgets;
pub use costs::{Costs, RunCounts};
use counterexample::Story;
pub use counterexample::{Counterexample, Line};
use explore::{Exploration, Site, StateKind, explore};
use model::Model;
pub use report::{CODES, ProofFinding};
use verdict::{Membership, Part};

/// The limits of the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalysisLimits {
    /// The maximum number of states.
    pub states: usize,
    /// The approximate maximum memory, in bytes.
    pub bytes: usize,
}

impl Default for AnalysisLimits {
    fn default() -> AnalysisLimits {
        AnalysisLimits { states: 1_000_000, bytes: 224 << 20 }
    }
}

/// The reason that a verdict is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// There are more states than the limit.
    States(usize),
    /// The analysis would exceed its memory limit.
    Bytes(usize),
    /// One choice depends on more combinations than the limit.
    Ways,
    /// The time was up.
    Time,
    /// The definition is too large for the analysis.
    Size(usize),
    /// A run of it cannot be opened.
    NeverOpened,
}

/// The verdict on one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion<T> {
    /// It holds in every run.
    Proved,
    /// It does not hold: where, and how a run gets there.
    Refuted(Vec<T>),
    /// A bound was reached before the verdict.
    Undecided(Bound),
}

impl<T> Conclusion<T> {
    /// Returns the refutations.
    pub fn refutations(&self) -> &[T] {
        match self {
            Conclusion::Refuted(found) => found,
            Conclusion::Proved | Conclusion::Undecided(_) => &[],
        }
    }

    fn of(found: Vec<T>, bound: Option<Bound>) -> Conclusion<T> {
        match (found.is_empty(), bound) {
            (false, _) => Conclusion::Refuted(found),
            (true, Some(bound)) => Conclusion::Undecided(bound),
            (true, None) => Conclusion::Proved,
        }
    }
}

/// A node of a definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeRef {
    /// The flow.
    pub flow: WorkflowId,
    /// The node.
    pub node: NodeId,
}

/// A run that becomes unable to finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The run.
    pub run: Counterexample,
    /// The node of the step after which it cannot finish.
    pub at: NodeRef,
    /// The nodes that it can still reach again and again; a single one if nothing can happen any more.
    pub round: Vec<NodeRef>,
    /// Whether it goes round there; otherwise it is stuck.
    pub goes_round: bool,
}

/// A choice without an open way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedChoice {
    /// A run to the choice.
    pub run: Counterexample,
    /// The node of the choice.
    pub at: NodeRef,
}

/// A part of a workflow that can never happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dead {
    /// The node is never reached.
    Node(NodeRef),
    /// The node is never left by the outcome.
    Outcome(NodeRef, Outcome),
    /// The condition that leads there never decides.
    Way(NodeRef, NodeId),
}

/// A cycle that a run may repeat any number of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Its nodes.
    pub nodes: Vec<NodeRef>,
    /// Whether a person decides in it.
    pub by_person: bool,
}

/// The result of the analysis of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// From every reachable state, a run can still reach an end.
    pub finishes: Conclusion<Trap>,
    /// Every part can happen.
    pub alive: Conclusion<Dead>,
    /// Every choice has an open way.
    pub has_ways: Conclusion<BlockedChoice>,
    /// Every run ends unless someone repeats a cycle on purpose.
    pub ends: Conclusion<Trap>,
    /// The cycles that only the decisions in them bound.
    pub cycles: Vec<Cycle>,
    /// The costs of a run; `None` if unknown.
    pub costs: Option<Costs>,
    /// The number of explored states.
    pub states: usize,
}

/// The maximum number of reported traps: each has a run of its own.
const MAX_TRAPS: usize = 16;

/// The maximum product of nodes and variables: each pair is compared before the exploration.
const MAX_SIZE: usize = 4_000_000;

/// Proves or refutes properties of every run of a workflow.
///
/// `out_of_time` is called now and then, and returns whether to stop.
///
/// ```
/// use portolan_core::prove::{AnalysisLimits, Conclusion, prove};
/// use portolan_core::Workflow;
///
/// let text = r#"{
///   "nodes": { "start": {"type": "start"}, "work": {"type": "task"}, "done": {"type": "end", "result": "success"} },
///   "edges": [ {"from": "start", "to": "work"}, {"from": "work", "to": "done"} ]
/// }"#;
/// let proof = prove(&Workflow::read("hello.json", text)?, &AnalysisLimits::default(), &mut || false);
/// assert_eq!(proof.finishes, Conclusion::Proved);
/// assert_eq!(proof.alive, Conclusion::Proved);
/// # Ok::<(), portolan_core::DefinitionError>(())
/// ```
pub fn prove(workflow: &Workflow, limits: &AnalysisLimits, out_of_time: &mut dyn FnMut() -> bool) -> Proof {
    let size: usize = workflow.flows().map(|(_, flow)| flow.steps.len().saturating_mul(flow.variables.len() + 1)).sum();
    if size > MAX_SIZE {
        return undecided(Bound::Size(MAX_SIZE));
    }
    let model = Model::of(workflow);
    let mut unspent = UnspendableBudgets::new();
    loop {
        let Some(mut found) = explore(&model, limits, &unspent, out_of_time) else {
            return undecided(Bound::NeverOpened);
        };
        let more = if found.bound.is_none() {
            budgets::unspent(&model, &found, out_of_time)
        } else {
            Some(UnspendableBudgets::new())
        };
        // Removing such a step may remove everything that spends another budget.
        match more {
            Some(more) if more.is_empty() => {}
            Some(more) => {
                unspent.extend(more);
                continue;
            }
            None => found.bound = Some(Bound::Time),
        }
        return concluded(&Story { workflow, model: &model, found: &found }, out_of_time);
    }
}

fn undecided(bound: Bound) -> Proof {
    Proof {
        finishes: Conclusion::Undecided(bound),
        alive: Conclusion::Undecided(bound),
        has_ways: Conclusion::Undecided(bound),
        ends: Conclusion::Undecided(bound),
        cycles: Vec::new(),
        costs: None,
        states: 0,
    }
}

fn concluded(story: &Story<'_>, out_of_time: &mut dyn FnMut() -> bool) -> Proof {
    let found = story.found;
    let traps = traps(story, out_of_time);
    let round: Vec<Trap> = traps.iter().filter(|trap| trap.goes_round).cloned().collect();
    let astray = found
        .astray
        .iter()
        .take(MAX_TRAPS)
        .map(|(site, edge)| BlockedChoice { run: story.counterexample(*edge, out_of_time), at: place(site) })
        .collect();
    let dead = if found.bound.is_some() { Vec::new() } else { dead(story.workflow, found) };
    Proof {
        finishes: Conclusion::of(traps, found.bound),
        alive: Conclusion::of(dead, found.bound),
        has_ways: Conclusion::of(astray, found.bound),
        ends: Conclusion::of(round, found.bound),
        cycles: cycles(found),
        costs: costs::costs(story.workflow, story.model, found, out_of_time),
        states: found.states.len(),
    }
}

fn place((flow, node): &Site) -> NodeRef {
    NodeRef { flow: flow.clone(), node: node.clone() }
}

/// Finds the cycles that trap runs, each with the step that reaches it first.
fn traps(story: &Story<'_>, out_of_time: &mut dyn FnMut() -> bool) -> Vec<Trap> {
    let found = story.found;
    let finishes = verdict::finishing(found);
    let is_lost = |at: u32| !finishes[at as usize] && found.states[at as usize] == StateKind::Open;
    let mut traps: Vec<Trap> = Vec::new();
    let circles = verdict::circles(found, is_lost, |_| true);
    let circles: Vec<&[u32]> = circles.iter().collect();
    let membership = Membership::of(found, &circles);
    for circle in &circles {
        let first = circle.iter().min().and_then(|first| found.reached_by[*first as usize]);
        let Some(edge) = first.filter(|_| verdict::is_closed(found, circle, &membership)) else { continue };
        let step = &found.edges[edge as usize].step;
        let at = place(&(step.flow.clone(), step.node.clone()));
        let round: Vec<NodeRef> = verdict::sites(found, circle, &membership).iter().map(place).collect();
        if traps.len() == MAX_TRAPS {
            break;
        }
        if !traps.iter().any(|trap| trap.round == round) {
            let goes_round = verdict::goes_round(found, circle);
            traps.push(Trap { run: story.counterexample(edge, out_of_time), at, round, goes_round });
        }
    }
    traps
}

/// Finds the parts that never happen.
fn dead(workflow: &Workflow, found: &Exploration) -> Vec<Dead> {
    let mut dead = Vec::new();
    for (flow_id, flow) in workflow.flows() {
        // Workflows that a tool, a model or an item of a list runs are analysed separately.
        if !found.nodes.contains(&(flow_id.clone(), flow.start.clone())) {
            continue;
        }
        for (id, step) in &flow.steps {
            let site = (flow_id.clone(), id.clone());
            if !found.nodes.contains(&site) {
                dead.push(Dead::Node(place(&site)));
                continue;
            }
            match &step.node.kind {
                Kind::Switch => {
                    let ways: BTreeSet<&NodeId> = step.exits.guards.iter().map(|(_, to)| to).collect();
                    let never = ways.into_iter().filter(|to| !found.ways.contains(&(site.clone(), (*to).clone())));
                    dead.extend(never.map(|to| Dead::Way(place(&site), to.clone())));
                }
                Kind::Checkpoint { .. } | Kind::Work { .. } => {
                    let outcomes = step.exits.on.iter().map(|(outcome, _)| outcome);
                    let never =
                        outcomes.filter(|outcome| !found.outcomes.contains(&(site.clone(), (*outcome).clone())));
                    dead.extend(never.map(|outcome| Dead::Outcome(place(&site), outcome.clone())));
                }
                _ => {}
            }
        }
    }
    dead
}

/// Finds the cycles that no budget and no limit bounds. Help by a person after a spent budget does not count as one:
/// that person decides whether to continue.
fn cycles(found: &Exploration) -> Vec<Cycle> {
    let goes_on = |edge: u32| !found.edges[edge as usize].step.helps;
    let outer = Part::of(found, |_| true, goes_on).rounds();
    let outer: Vec<&[u32]> = outer.iter().map(Part::states).collect();
    let of = Membership::of(found, &outer);
    // Whether a person's answer refills every budget in it.
    let has_answers: Vec<bool> = outer.iter().map(|circle| verdict::has_answers(found, circle, &of)).collect();
    let is_filled = |state: u32| of.on(state).is_some_and(|circle| has_answers[circle as usize]);
    let counts = |edge: u32| {
        let edge = &found.edges[edge as usize];
        of.stays(edge) && !edge.step.helps && (is_filled(edge.from) || !edge.step.is_bounded())
    };
    let mut cycles: Vec<Cycle> = Vec::new();
    let inner = Part::of(found, |at| of.on(at).is_some(), counts).rounds();
    let inner: Vec<&[u32]> = inner.iter().map(Part::states).collect();
    let membership = Membership::of(found, &inner);
    for circle in &inner {
        let nodes: Vec<NodeRef> = verdict::sites(found, circle, &membership).iter().map(place).collect();
        if !cycles.iter().any(|cycle| cycle.nodes == nodes) {
            cycles.push(Cycle { nodes, by_person: is_filled(circle[0]) });
        }
    }
    cycles
}
