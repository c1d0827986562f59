//! The expected content of a frame. Encoder and decoder both use it, and expected content takes no bytes.

use portolan_core::graph::{Flow, Kind, LoopKind, Workflow};
use portolan_core::run::Place;
use portolan_core::value::{NodeId, WorkflowId};
use serde_json::{Map, Value};

/// The origin of a frame, which determines the initial values of its variables.
#[derive(Clone, Copy)]
pub(super) enum Origin<'r> {
    /// The opening of the run, with this input.
    Opened(Option<&'r Value>),
    /// A node, with its input in the frame's data.
    Entered,
    /// A pass of a loop without items.
    Passed,
    /// The pass for this item, in the variable of this name.
    Item(&'r str, &'r Value),
}

impl Origin<'_> {
    /// Returns the initial variables of such a frame.
    pub(super) fn variables(self, workflow: &Workflow, flow: &WorkflowId, input: &Value) -> Map<String, Value> {
        match self {
            Origin::Opened(given) => seeded(workflow, flow, given),
            Origin::Entered => seeded(workflow, flow, Some(input)),
            Origin::Passed => Map::new(),
            Origin::Item(name, item) => Map::from_iter([(name.to_owned(), item.clone())]),
        }
    }
}

/// Returns the given values, or else the defaults.
fn seeded(workflow: &Workflow, flow: &WorkflowId, given: Option<&Value>) -> Map<String, Value> {
    let variables = find(workflow, flow).into_iter().flat_map(|flow| &flow.variables);
    let first = variables.filter_map(|variable| {
        let name = &variable.name.value;
        let given = given.and_then(|given| given.get(name)).filter(|value| variable.kind.takes(value));
        Some((name.clone(), given.or(variable.default.as_ref())?.clone()))
    });
    first.collect()
}

/// Returns the names of a flow's variables, in the order of their declaration.
pub(super) fn declared<'w>(workflow: &'w Workflow, flow: &WorkflowId) -> Vec<&'w str> {
    let variables = find(workflow, flow).into_iter().flat_map(|flow| &flow.variables);
    variables.map(|variable| variable.name.value.as_str()).collect()
}

/// Returns the origin of a loop's pass.
pub(super) fn pass<'r>(
    workflow: &'r Workflow,
    flow: &WorkflowId,
    node: &NodeId,
    items: Option<&'r [Value]>,
    pass: u32,
) -> Origin<'r> {
    let item = items.and_then(|items| items.get(pass as usize));
    match (kind(workflow, flow, node), item) {
        (Some(Kind::Loop(looping)), Some(item)) => match &looping.kind {
            LoopKind::ForEach { variable, .. } => Origin::Item(variable, item),
            LoopKind::While(_) | LoopKind::DoWhile(_) => Origin::Passed,
        },
        _ => Origin::Passed,
    }
}

/// Returns the workflow that a node runs, or the frame's own if it runs none.
pub(super) fn run_by(workflow: &Workflow, flow: &WorkflowId, node: &NodeId) -> WorkflowId {
    let runs = kind(workflow, flow, node).and_then(Kind::runs);
    runs.map_or_else(|| flow.clone(), |runs| runs.value.as_str().into())
}

fn kind<'w>(workflow: &'w Workflow, flow: &WorkflowId, node: &NodeId) -> Option<&'w Kind> {
    find(workflow, flow)?.steps.get(node).map(|step| &step.node.kind)
}

/// Finds a flow: a decoded run may name flows that do not exist.
fn find<'w>(workflow: &'w Workflow, id: &WorkflowId) -> Option<&'w Flow> {
    workflow.flows().find(|(known, _)| *known == id).map(|(_, flow)| flow)
}

/// Returns the number of a place. It never changes.
pub(super) fn tag(place: &Place) -> u8 {
    match place {
        Place::Ready { .. } => READY,
        Place::Checking { .. } => CHECKING,
        Place::Passing { passed: 0, .. } => PASSING,
        Place::Passing { .. } => PASSING_ON,
        Place::Calling { .. } => CALLING,
        Place::Each { .. } => EACH,
        Place::Conversing { .. } => CONVERSING,
        Place::Looping { .. } => LOOPING,
        Place::Waiting { .. } => WAITING,
        Place::Forked { .. } => FORKED,
        Place::Gathering { .. } => GATHERING,
        Place::Within { .. } => WITHIN,
        Place::Arrived { .. } => ARRIVED,
        Place::Ended { .. } => ENDED,
    }
}

pub(super) const READY: u8 = 0;
pub(super) const CHECKING: u8 = 1;
pub(super) const PASSING: u8 = 2;
pub(super) const CALLING: u8 = 3;
pub(super) const EACH: u8 = 4;
pub(super) const LOOPING: u8 = 5;
pub(super) const WAITING: u8 = 6;
pub(super) const FORKED: u8 = 7;
pub(super) const GATHERING: u8 = 8;
pub(super) const WITHIN: u8 = 9;
pub(super) const ARRIVED: u8 = 10;
pub(super) const ENDED: u8 = 11;
pub(super) const CONVERSING: u8 = 12;
/// [`PASSING`], with the number of nodes that were passed before.
pub(super) const PASSING_ON: u8 = 13;
/// The place of a frame shares its number with four flags and one more.
pub(super) const PLACE_BITS: u32 = 4;
