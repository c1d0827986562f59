//! From graphs that were checked to the workflow that the engine runs.
//!
//! Strictly checked graphs need none of the repairs here; leniently checked ones do, and each repair is what the
//! rule's warning announced.

use indexmap::IndexMap;

use super::Library;
use super::map::Map;
use crate::graph::{Brief, DEFAULT_RETRIES, EndResult, Exits, Failing, Flow, Graph, Kind, Node, Step, Workflow};
use crate::source::Span;
use crate::value::{NodeId, Outcome, PASSED, WorkflowId};

pub(super) fn workflow(root: &Graph, library: Library<'_>) -> Workflow {
    let mut flows = IndexMap::new();
    let mut waiting = vec![root];
    while let Some(graph) = waiting.pop() {
        let id = WorkflowId::from(graph.id.value.as_str());
        if flows.contains_key(&id) {
            continue;
        }
        flows.insert(id, flow(graph, library));
        for node in &graph.nodes {
            if let Kind::Subflow { workflow } = &node.kind {
                waiting.extend(library(&workflow.value));
            }
        }
    }
    Workflow::new(WorkflowId::from(root.id.value.as_str()), flows)
}

fn flow(graph: &Graph, library: Library<'_>) -> Flow {
    let map = Map::of(graph);
    let mut steps: IndexMap<NodeId, Step> = map
        .nodes()
        .map(|node| {
            let exits = exits(&map, node);
            (node.id.clone(), Step { node: usable(node, library), exits })
        })
        .collect();
    let start = map.start().map(|node| node.id.clone());
    let start = start.unwrap_or_else(|| invented_start(&mut steps));
    lead_dead_ends_on(&mut steps);
    let edges = graph.edges.iter().filter(|edge| map.node(&edge.to.value).is_some()).cloned().collect();
    Flow { name: graph.name.clone(), description: graph.description.clone(), start, steps, edges }
}

/// The node itself, but for a subflow that does not exist: that is walked as a task.
fn usable(node: &Node, library: Library<'_>) -> Node {
    let mut node = node.clone();
    if matches!(&node.kind, Kind::Subflow { workflow } if library(&workflow.value).is_none()) {
        node.kind = Kind::Work { gate: false, outputs: Vec::new() };
    }
    node
}

fn exits(map: &Map<'_>, node: &Node) -> Exits {
    if let Kind::Fork { .. } = node.kind {
        let mut branches: Vec<NodeId> = Vec::new();
        for edge in map.leaving(&node.id) {
            if !branches.contains(&edge.to.value) {
                branches.push(edge.to.value.clone());
            }
        }
        return Exits { on: Vec::new(), failing: never(node), branches };
    }
    let Some(own) = map.node(&node.id) else { unreachable!("a node of the map is in the map") };
    let mut outcomes = map.outcomes(own);
    for edge in map.leaving(&node.id) {
        let Some(named) = edge.on.outcome() else { continue };
        if !named.is_failed() && !outcomes.contains(named) && !matches!(node.kind, Kind::End { .. }) {
            outcomes.push(named.clone());
        }
    }
    let on = outcomes
        .into_iter()
        .filter_map(|outcome| map.edge_on(&node.id, outcome.as_str()).map(|edge| (outcome, edge.to.value.clone())))
        .collect();
    Exits { on, failing: failing(map, node), branches: Vec::new() }
}

/// What the `failed` edges and `maxRetries` of a node come to. `docs/navigator.md` has the table.
fn failing(map: &Map<'_>, node: &Node) -> Failing {
    let written = node.max_retries.as_ref().map(|count| count.value);
    // A join does no work that could be attempted again: its fork does.
    let own = match &node.kind {
        Kind::Join { fork, .. } => &fork.value,
        _ => &node.id,
    };
    let again = |budget, exhausted| Failing::Retries { to: own.clone(), budget, exhausted };
    match map.failed_edges(&node.id) {
        (Some(retry), Some(escalation)) => Failing::Retries {
            to: retry.to.value.clone(),
            budget: written.unwrap_or(0),
            exhausted: Some(escalation.to.value.clone()),
        },
        (Some(retry), None) => match written {
            None | Some(0) => Failing::Leads(retry.to.value.clone()),
            Some(budget) => Failing::Retries { to: retry.to.value.clone(), budget, exhausted: None },
        },
        (None, Some(escalation)) => match written {
            None | Some(0) => Failing::Leads(escalation.to.value.clone()),
            Some(budget) => {
                Failing::Retries { to: node.id.clone(), budget, exhausted: Some(escalation.to.value.clone()) }
            }
        },
        (None, None) if matches!(node.kind, Kind::Join { .. }) => again(written.unwrap_or(0), None),
        (None, None) => again(written.unwrap_or(DEFAULT_RETRIES), None),
    }
}

/// For nodes that have no outcome of their own.
fn never(node: &Node) -> Failing {
    Failing::Retries { to: node.id.clone(), budget: 0, exhausted: None }
}

/// A graph without a start begins at the first node that nothing leads to, or at its first node.
fn invented_start(steps: &mut IndexMap<NodeId, Step>) -> NodeId {
    let entered: std::collections::BTreeSet<NodeId> = steps
        .values()
        .flat_map(|step| step.exits.on.iter().map(|(_, to)| to).chain(&step.exits.branches))
        .cloned()
        .collect();
    let first = steps.keys().find(|id| !entered.contains(*id)).or_else(|| steps.keys().next()).cloned();
    let id = free_id(steps, "start");
    let on = first.map(|first| (Outcome::from(PASSED), first)).into_iter().collect();
    steps.insert_before(0, id.clone(), invented(&id, "Start", Kind::Start, on));
    id
}

/// What leads nowhere leads to an end that says so.
fn lead_dead_ends_on(steps: &mut IndexMap<NodeId, Step>) {
    let dead: Vec<NodeId> = steps
        .values()
        .filter(|step| {
            let goes_on = !matches!(step.node.kind, Kind::End { .. } | Kind::Fork { .. });
            goes_on && step.exits.on.is_empty()
        })
        .map(|step| step.node.id.clone())
        .collect();
    if dead.is_empty() {
        return;
    }
    let end = free_id(steps, "no_way_on");
    for id in dead {
        steps[&id].exits.on.push((Outcome::from(PASSED), end.clone()));
    }
    let kind = Kind::End { result: EndResult::Blocked, escalation: None };
    steps.insert(end.clone(), invented(&end, "The workflow has no way on from here", kind, Vec::new()));
}

fn invented(id: &NodeId, name: &str, kind: Kind, on: Vec<(Outcome, NodeId)>) -> Step {
    let node = Node {
        id: id.clone(),
        span: Span::default(),
        name: name.to_owned(),
        brief: Brief::default(),
        kind,
        accept: Vec::new(),
        max_retries: None,
    };
    Step { exits: Exits { on, failing: never(&node), branches: Vec::new() }, node }
}

fn free_id(steps: &IndexMap<NodeId, Step>, wanted: &str) -> NodeId {
    let mut id = NodeId::from(wanted);
    while steps.contains_key(&id) {
        id = NodeId::from(format!("{id}_"));
    }
    id
}
