//! What a frame most likely is. Both sides ask here, and what is as expected takes no room.

use portolan_core::graph::{Flow, Kind, LoopKind, Workflow};
use portolan_core::run::Place;
use portolan_core::value::{NodeId, WorkflowId};
use serde_json::{Map, Value};

/// How a frame came to be, which says what its variables held at first.
#[derive(Clone, Copy)]
pub(super) enum Origin<'r> {
    /// With the run, which was opened with this.
    Opened(Option<&'r Value>),
    /// By a node, with what its data names as its input.
    Entered,
    /// As a pass of a loop that goes by no items.
    Passed,
    /// As the pass for this item, which stands under this name.
    Item(&'r str, &'r Value),
}

impl Origin<'_> {
    /// What the variables of such a frame held at first.
    pub(super) fn variables(self, workflow: &Workflow, flow: &WorkflowId, input: &Value) -> Map<String, Value> {
        match self {
            Origin::Opened(given) => seeded(workflow, flow, given),
            Origin::Entered => seeded(workflow, flow, Some(input)),
            Origin::Passed => Map::new(),
            Origin::Item(name, item) => Map::from_iter([(name.to_owned(), item.clone())]),
        }
    }
}

/// What is given, else the default.
fn seeded(workflow: &Workflow, flow: &WorkflowId, given: Option<&Value>) -> Map<String, Value> {
    let variables = find(workflow, flow).into_iter().flat_map(|flow| &flow.variables);
    let first = variables.filter_map(|variable| {
        let name = &variable.name.value;
        let given = given.and_then(|given| given.get(name)).filter(|value| variable.kind.takes(value));
        Some((name.clone(), given.or(variable.default.as_ref())?.clone()))
    });
    first.collect()
}

/// The names of the variables of a flow, in the order in which they are declared.
pub(super) fn declared<'w>(workflow: &'w Workflow, flow: &WorkflowId) -> Vec<&'w str> {
    let variables = find(workflow, flow).into_iter().flat_map(|flow| &flow.variables);
    variables.map(|variable| variable.name.value.as_str()).collect()
}

/// How a pass of a loop came to be.
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

/// The workflow that a node of a frame runs; the frame's own where it runs none.
pub(super) fn run_by(workflow: &Workflow, flow: &WorkflowId, node: &NodeId) -> WorkflowId {
    let runs = kind(workflow, flow, node).and_then(Kind::runs);
    runs.map_or_else(|| flow.clone(), |runs| runs.value.as_str().into())
}

fn kind<'w>(workflow: &'w Workflow, flow: &WorkflowId, node: &NodeId) -> Option<&'w Kind> {
    find(workflow, flow)?.steps.get(node).map(|step| &step.node.kind)
}

/// A run that was read may name flows that do not exist.
fn find<'w>(workflow: &'w Workflow, id: &WorkflowId) -> Option<&'w Flow> {
    workflow.flows().find(|(known, _)| *known == id).map(|(_, flow)| flow)
}

/// The number of a place: for ever.
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
