//! What is true of every run of a workflow, found out before there is one.
//!
//! The abstract states of a workflow are explored with the engine's own decisions, so that nothing here is a second
//! opinion about what a definition means. Each verdict is proved, refuted by a run, or undecided because a bound was
//! reached, which is said. Knows no format, no file and no clock: whoever asks says when the time is up.

mod budgets;
mod costs;
mod counterexample;
mod explore;
mod model;
mod picks;
mod pump;
mod report;
mod state;
mod steps;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::BTreeSet;

use crate::graph::{Kind, Workflow};
use crate::value::{NodeId, Outcome, WorkflowId};
use budgets::Unspent;
pub use costs::Costs;
use counterexample::Story;
pub use counterexample::{Counterexample, Line};
use explore::{Explored, Site, StateKind, explore};
use model::Model;
pub use report::{CODES, ProofFinding};
use verdict::Membership;

/// How far the analysis goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalysisLimits {
    /// How many states it looks at.
    pub states: usize,
    /// About how much memory it takes, in bytes.
    pub bytes: usize,
}

impl Default for AnalysisLimits {
    fn default() -> AnalysisLimits {
        AnalysisLimits { states: 1_000_000, bytes: 224 << 20 }
    }
}

/// Why something is not decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// There are more states than are looked at.
    States(usize),
    /// It would take more memory than it may.
    Bytes(usize),
    /// One choice depends on more than is looked at together.
    Ways,
    /// The time was up.
    Time,
    /// The definition is too large for the analysis to begin.
    Size(usize),
    /// A run of it cannot be opened.
    NeverOpened,
}

/// What is known of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion<T> {
    /// It is so in every run.
    Proved,
    /// It is not so: where, and how a run comes there.
    Refuted(Vec<T>),
    /// A bound was reached before that was known.
    Undecided(Bound),
}

impl<T> Conclusion<T> {
    /// What refutes it.
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

/// A place in a definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeRef {
    /// The flow.
    pub flow: WorkflowId,
    /// The node.
    pub node: NodeId,
}

/// A run that comes to where it cannot finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// How it comes there.
    pub run: Counterexample,
    /// The step with which it is lost.
    pub at: NodeRef,
    /// The nodes that it can still come to, over and over; a single one where nothing can happen any more.
    pub round: Vec<NodeRef>,
    /// Whether it goes round there; else it stands still.
    pub goes_round: bool,
}

/// A choice for which no way is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedChoice {
    /// How a run comes there.
    pub run: Counterexample,
    /// Where the way is chosen.
    pub at: NodeRef,
}

/// What can never happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dead {
    /// The node is never come to.
    Node(NodeRef),
    /// The node is never left by that outcome.
    Outcome(NodeRef, Outcome),
    /// The condition that leads there never decides.
    Way(NodeRef, NodeId),
}

/// A circle that a run may go through any number of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Its nodes.
    pub nodes: Vec<NodeRef>,
    /// Whether a person decides in it.
    pub by_person: bool,
}

/// What is known of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// From wherever a run may come to, it can still come to an end.
    pub finishes: Conclusion<Trap>,
    /// Everything in it can happen.
    pub alive: Conclusion<Dead>,
    /// Wherever a way is chosen, one is open.
    pub has_ways: Conclusion<BlockedChoice>,
    /// As long as nobody goes round on purpose, every run ends.
    pub ends: Conclusion<Trap>,
    /// The circles that nothing bounds but those who decide in them.
    pub cycles: Vec<Cycle>,
    /// What a run takes at most that goes through none of these circles again; nothing where that is not known.
    pub costs: Option<Costs>,
    /// How many states were looked at.
    pub states: usize,
}

/// How many places are told at which a run is lost: each with a run of its own.
const MAX_TRAPS: usize = 16;

/// How many nodes and variables together may be looked at: each is compared with each before the exploration begins.
const MAX_SIZE: usize = 4_000_000;

/// Finds out what is true of every run of a workflow.
///
/// `out_of_time` is asked now and then, and says when to stop.
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
    let mut unspent = Unspent::new();
    loop {
        let Some(mut found) = explore(&model, limits, &unspent, out_of_time) else {
            return undecided(Bound::NeverOpened);
        };
        let more =
            if found.bound.is_none() { budgets::unspent(&model, &found, out_of_time) } else { Some(Unspent::new()) };
        // What is taken back may have led to all that others are spent by.
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
    let traps = traps(story);
    let round: Vec<Trap> = traps.iter().filter(|trap| trap.goes_round).cloned().collect();
    let astray = found
        .astray
        .iter()
        .take(MAX_TRAPS)
        .map(|(site, edge)| BlockedChoice { run: story.told(*edge), at: place(site) })
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

/// The circles that runs are caught in, each with the step that leads there first.
fn traps(story: &Story<'_>) -> Vec<Trap> {
    let found = story.found;
    let finishes = verdict::finishing(found);
    let is_lost = |at: u32| !finishes[at as usize] && found.states[at as usize] == StateKind::Open;
    let mut traps: Vec<Trap> = Vec::new();
    let circles = verdict::circles(found, &is_lost, &|_| true);
    let circles: Vec<Vec<u32>> = circles.iter().map(<[u32]>::to_vec).collect();
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
            let goes_round = verdict::goes_round(found, circle, &|_| true);
            traps.push(Trap { run: story.told(edge), at, round, goes_round });
        }
    }
    traps
}

/// What was never seen to happen.
fn dead(workflow: &Workflow, found: &Explored) -> Vec<Dead> {
    let mut dead = Vec::new();
    for (flow_id, flow) in workflow.flows() {
        // What a tool, a model or an item of a list runs is looked at by itself.
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

/// The circles that no budget and no limit bounds. That a person helps where nothing is left of a budget is none: it is for
/// that person to go on.
fn cycles(found: &Explored) -> Vec<Cycle> {
    let goes_on = |edge: u32| !found.edges[edge as usize].step.helps;
    let outer: Vec<Vec<u32>> = verdict::rounds(found, &|_| true, &goes_on);
    let of = Membership::of(found, &outer);
    // Whether a person's answer fills every budget in it.
    let has_answers: Vec<bool> = outer.iter().map(|circle| verdict::has_answers(found, circle, &of)).collect();
    let is_filled = |state: u32| of.on(state).is_some_and(|circle| has_answers[circle as usize]);
    let counts = |edge: u32| {
        let edge = &found.edges[edge as usize];
        of.stays(edge) && !edge.step.helps && (is_filled(edge.from) || !edge.step.is_bounded())
    };
    let mut cycles: Vec<Cycle> = Vec::new();
    let inner = verdict::rounds(found, &|at| of.on(at).is_some(), &counts);
    let membership = Membership::of(found, &inner);
    for circle in &inner {
        let nodes: Vec<NodeRef> = verdict::sites(found, circle, &membership).iter().map(place).collect();
        if !cycles.iter().any(|cycle| cycle.nodes == nodes) {
            cycles.push(Cycle { nodes, by_person: is_filled(circle[0]) });
        }
    }
    cycles
}
