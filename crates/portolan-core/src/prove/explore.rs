//! Explores all reachable abstract states of a workflow, and the steps between them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexSet;
use serde_json::{Map, Value};

use super::budgets::{UnspendableBudgets, is_unspent};
use super::model::{MISSING, Model};
use super::picks::Pick;
use super::state::{key, mark, marked, normalise};
use super::steps::{Act, RetryUse, Step, StepResult, steps};
use super::{AnalysisLimits, Bound};
use crate::engine::open;
use crate::graph::{EndResult, Kind, Variable, VariableOwner};
use crate::run::{Change, Frame, FramePath, Opening, Place, Run, WaitingFor};
use crate::source::Span;
use crate::value::{NodeId, Outcome, WorkflowId};

/// The approximate memory of a waiting run.
const RUN_BYTES: usize = 1_536;
/// The number of states between two checks of the time.
const STRIDE: usize = 64;

/// The kind of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateKind {
    /// Something can happen.
    Open,
    /// The run has reached an end of the definition.
    Ended,
    /// The run failed without reaching an end of the definition.
    Failed,
    /// The state was reached but not explored.
    Frontier,
}

/// A set that is as quick as [`ById`](crate::value::ById).
type Set<T> = IndexSet<T, foldhash::fast::RandomState>;

/// A node of a flow.
pub(super) type Site = (WorkflowId, NodeId);

/// The result of the exploration.
pub(super) struct Exploration {
    pub(super) states: Vec<StateKind>,
    pub(super) edges: Vec<Edge>,
    /// The edge that reached each state first.
    pub(super) reached_by: Vec<Option<u32>>,
    /// The index of the first edge of each state.
    first_edge: Vec<u32>,
    pub(super) nodes: Set<Site>,
    /// The outcomes by which nodes were left.
    pub(super) outcomes: Set<(Site, Outcome)>,
    /// The ways that switches have taken.
    pub(super) ways: Set<(Site, NodeId)>,
    /// The edges on which a run got lost: no condition held, or an evaluation failed.
    pub(super) astray: BTreeMap<Site, u32>,
    pub(super) bound: Option<Bound>,
    pub(super) opening: Opening,
    /// The initial state.
    pub(super) first: Run,
    /// The states by key, in order.
    known: Set<Box<[u8]>>,
    bytes: usize,
}

/// A step from one state to another.
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    /// In a box, because the searches for cycles pass over all edges again and again and rarely look at a step.
    pub(super) step: Box<Step>,
}

impl Edge {
    /// Returns its memory size, with twice that of the edge: a growing list reserves room for as many again.
    fn bytes(&self) -> usize {
        let names = self.step.frame.0.len() + self.step.begins.as_ref().map_or(0, |frame| frame.0.len());
        let picks =
            self.step.picks.capacity() * size_of::<Pick>() + self.step.retried.capacity() * size_of::<RetryUse>();
        2 * size_of::<Edge>() + size_of::<Step>() + names * size_of::<NodeId>() + picks
    }
}

/// The states found so far, and those that wait.
struct Search<'m> {
    model: &'m Model,
    unspent: &'m UnspendableBudgets,
    waiting: VecDeque<(u32, Run)>,
    found: Exploration,
    /// The memory for keys.
    key: Vec<u8>,
}

/// Explores from the opening on, within the limits.
///
/// Steps that assume an unspendable budget to be spent are left out.
pub(super) fn explore(
    model: &Model,
    limits: &AnalysisLimits,
    unspent: &UnspendableBudgets,
    out_of_time: &mut dyn FnMut() -> bool,
) -> Option<Exploration> {
    let opening = opening(model);
    let changes = open(&model.workflow, &opening).ok()?;
    let mut run = Run::fold(&changes)?;
    opened(model, &mut run);
    normalise(model, &mut run);
    let mut search = Search::of(model, unspent, opening, run.clone());
    search.reach(run, None);
    while let Some((from, run)) = search.waiting.pop_front() {
        let bound = search.over(limits, from as usize, out_of_time);
        let ahead = if bound.is_some() { None } else { steps(model, &run) };
        let Some(ahead) = ahead else {
            search.found.bound = bound.or(Some(Bound::Ways));
            search.waiting.push_front((from, run));
            break;
        };
        search.found.first_edge.push(search.found.edges.len() as u32);
        for taken in ahead {
            search.take(from, &run, taken);
        }
    }
    Some(search.finished())
}

impl<'m> Search<'m> {
    fn of(model: &'m Model, unspent: &'m UnspendableBudgets, opening: Opening, first: Run) -> Search<'m> {
        let found = Exploration {
            states: Vec::new(),
            edges: Vec::new(),
            reached_by: Vec::new(),
            first_edge: Vec::new(),
            nodes: Set::default(),
            outcomes: Set::default(),
            ways: Set::default(),
            astray: BTreeMap::new(),
            bound: None,
            opening,
            first,
            known: Set::default(),
            bytes: 0,
        };
        Search { model, unspent, waiting: VecDeque::new(), found, key: Vec::new() }
    }

    fn over(&self, limits: &AnalysisLimits, looked_at: usize, out_of_time: &mut dyn FnMut() -> bool) -> Option<Bound> {
        if self.found.states.len() > limits.states {
            return Some(Bound::States(limits.states));
        }
        if self.found.bytes + self.waiting.len() * RUN_BYTES > limits.bytes {
            return Some(Bound::Bytes(limits.bytes));
        }
        (looked_at.is_multiple_of(STRIDE) && out_of_time()).then_some(Bound::Time)
    }

    /// Returns the number of a state, and queues it if it is new.
    fn reach(&mut self, run: Run, by: Option<u32>) -> u32 {
        let key = key(self.model, &run, &mut self.key);
        if let Some(at) = self.found.known.get_index_of(key) {
            return at as u32;
        }
        self.found.bytes += key.len() + 96;
        let (at, _) = self.found.known.insert_full(key.into());
        self.at(&run.root);
        self.found.states.push(standing(self.model, &run));
        self.found.reached_by.push(by);
        self.waiting.push_back((at as u32, run));
        at as u32
    }

    fn take(&mut self, from: u32, before: &Run, taken: StepResult) {
        let StepResult { step, run, changes } = taken;
        if is_unspent(self.unspent, self.found.key(from), &step) {
            return;
        }
        self.note(&step, before, &run, &changes);
        let edge = self.found.edges.len() as u32;
        if is_astray(self.model, &run, &step) {
            self.found.astray.entry((step.flow.clone(), step.node.clone())).or_insert(edge);
        }
        let to = self.reach(run, Some(edge));
        let edge = Edge { from, to, step };
        self.found.bytes += edge.bytes();
        self.found.edges.push(edge);
    }

    /// Records the facts of a step.
    fn note(&mut self, step: &Step, before: &Run, after: &Run, changes: &[Change]) {
        let site = (step.flow.clone(), step.node.clone());
        let outcome = match &step.act {
            Act::Report(outcome) | Act::Answer(outcome) => Some(outcome.clone()),
            Act::Return(true) => Some(Outcome::passed()),
            Act::Return(false) | Act::Checks(false) => Some(Outcome::failed()),
            Act::Begin | Act::TimeOut | Act::Checks(true) | Act::Advance => None,
        };
        self.found.outcomes.extend(outcome.map(|outcome| (site.clone(), outcome)));
        for change in changes {
            match change {
                Change::Led { to, .. } => {
                    self.found.ways.insert((site.clone(), to.clone()));
                }
                Change::Executed { node, output: Some(output), .. } if *node == step.node => {
                    self.found.ways.extend(output.as_str().map(|to| (site.clone(), NodeId::from(to))));
                }
                // The place of a frame after the step is recorded with the state.
                Change::Moved { frame, place, .. } if !stands_at(after, frame, place.node()) => {
                    let flow = after.frame(frame).or_else(|| before.frame(frame)).map(|frame| frame.flow.clone());
                    self.found.nodes.extend(flow.map(|flow| (flow, place.node().clone())));
                }
                _ => {}
            }
        }
    }

    /// Records the places of a frame and of those inside it.
    fn at(&mut self, frame: &Frame) {
        let site = (frame.flow.clone(), frame.place.node().clone());
        self.found.nodes.insert(site);
        frame.inner().for_each(|(_, inner)| self.at(inner));
    }

    fn finished(mut self) -> Exploration {
        for (at, _) in &self.waiting {
            let standing = &mut self.found.states[*at as usize];
            if *standing == StateKind::Open {
                *standing = StateKind::Frontier;
            }
        }
        self.found.first_edge.resize(self.found.states.len() + 1, self.found.edges.len() as u32);
        self.found
    }
}

impl Exploration {
    /// Returns the unique key of a state.
    pub(super) fn key(&self, state: u32) -> &[u8] {
        self.known.get_index(state as usize).map_or(&[], |key| key)
    }

    /// Returns the edges of a state.
    pub(super) fn edges_of(&self, state: u32) -> impl Iterator<Item = (u32, &Edge)> {
        self.range_of(state).map(|at| (at, &self.edges[at as usize]))
    }

    /// Returns the indexes of its edges.
    pub(super) fn range_of(&self, state: u32) -> Range<u32> {
        self.first_edge[state as usize]..self.first_edge[state as usize + 1]
    }
}

fn stands_at(run: &Run, frame: &FramePath, node: &NodeId) -> bool {
    run.frame(frame).is_some_and(|frame| frame.place.node() == node)
}

fn standing(model: &Model, run: &Run) -> StateKind {
    if !run.is_over() {
        return StateKind::Open;
    }
    let step = model.workflow.root().step(run.root.place.node());
    match step.node.kind {
        Kind::End { .. } => StateKind::Ended,
        _ => StateKind::Failed,
    }
}

/// Checks whether a run got lost at a step: a person is asked for what the definition lacks, or it reaches the end that
/// parsing inserts for a missing way.
fn is_astray(model: &Model, after: &Run, step: &Step) -> bool {
    let is_lost = |frame: &Frame| match &frame.place {
        Place::Waiting { on: WaitingFor::Progress, .. } => true,
        Place::Passing { node, .. } => {
            let node = &model.workflow.flow(&frame.flow).step(node).node;
            let ends_blocked = matches!(node.kind, Kind::End { result: EndResult::Blocked, .. });
            ends_blocked && node.span == Span::default() && node.id.as_str().starts_with("no_way_on")
        }
        _ => false,
    };
    let here = (0..=step.frame.0.len()).rev().map(|length| FramePath(step.frame.0[..length].to_vec()));
    step.act == Act::Advance && here.into_iter().any(|path| after.frame(&path).is_some_and(is_lost))
}

/// Returns the opening of a run with only the required values.
fn opening(model: &Model) -> Opening {
    let flow = model.workflow.root();
    let mut opening = Opening::of(model.workflow.id().clone());
    let required = flow.variables.iter().filter(|variable| variable.required && variable.default.is_none());
    let input: Map<String, Value> =
        required.map(|variable| (variable.name.value.clone(), sample(model, variable))).collect();
    if flow.interface.is_none() && !input.is_empty() {
        opening.input = Some(Arc::new(Value::Object(input)));
    }
    opening
}

/// Returns a value that a variable can have.
pub(super) fn sample(model: &Model, variable: &Variable) -> Value {
    let followed = model.names.get(&variable.name.value);
    let known = followed.into_iter().flat_map(|cells| cells.values()).find(|value| variable.kind.takes(value));
    let values =
        [Value::from(""), Value::from(0), Value::from(false), Value::Array(Vec::new()), Value::Object(Map::new())];
    known.cloned().or_else(|| values.into_iter().find(|value| variable.kind.takes(value))).unwrap_or_default()
}

/// Marks the variables that an opening may set as having any value.
fn opened(model: &Model, run: &mut Run) {
    let flow = model.workflow.root();
    if flow.interface.is_some() {
        return;
    }
    for (at, name) in model.names.keys().enumerate() {
        let Some(variable) = flow.variable(name).filter(|variable| is_given(variable)) else { continue };
        let data = run.root.data_mut();
        let begins_with = data.variables.get(name);
        let any = model.any_of(Some(variable.kind), at);
        let known = begins_with.map_or(MISSING, |value| marked(value).unwrap_or_else(|| model.mask_of(at, value)));
        data.variables.insert(name.clone(), mark(known | any));
    }
}

/// Checks whether an opening may set a variable.
pub(super) fn is_given(variable: &Variable) -> bool {
    variable.required || variable.keeper != VariableOwner::Person
}
