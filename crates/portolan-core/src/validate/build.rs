//! Builds the workflow that the engine runs from checked graphs.
//!
//! Strictly checked graphs need none of the repairs here. Leniently checked ones do, and each repair is the one that
//! the rule's warning announced.

use std::collections::BTreeSet;

use indexmap::IndexSet;

use super::Library;
use super::map::Map;
use crate::expr::Expr;
use crate::graph::{
    DEFAULT_RETRIES, Edge, EndResult, Exits, FailureHandling, Flow, Graph, Kind, Node, Step, Trigger, Workflow,
};
use crate::source::Span;
use crate::value::{ById, NodeId, Outcome, PASSED, WorkflowId};

pub(super) fn workflow(root: &Graph, library: Library<'_>) -> Workflow {
    let mut flows = ById::default();
    let mut waiting = vec![root];
    while let Some(graph) = waiting.pop() {
        let id = WorkflowId::from(graph.id.value.as_str());
        if flows.contains_key(&id) {
            continue;
        }
        flows.insert(id, flow(graph, library));
        for node in &graph.nodes {
            waiting.extend(node.kind.workflows().filter_map(|(workflow, _)| library(workflow)));
        }
    }
    Workflow::new(WorkflowId::from(root.id.value.as_str()), flows)
}

fn flow(graph: &Graph, library: Library<'_>) -> Flow {
    let map = Map::of(graph);
    let mut steps: ById<NodeId, Step> = map
        .nodes()
        .map(|node| {
            let exits = exits(&map, node);
            (node.id.clone(), Step { node: usable(node, library), exits })
        })
        .collect();
    let start = map.start().map(|node| node.id.clone());
    let start = start.unwrap_or_else(|| invented_start(&map, &mut steps));
    lead_dead_ends_on(&map, &mut steps);
    let leads = |edge: &&Edge| map.node(&edge.from.value).is_some() && map.node(&edge.to.value).is_some();
    let edges = graph.edges.iter().filter(leads).cloned().collect();
    Flow {
        name: graph.name.clone(),
        description: graph.description.clone(),
        start,
        records: graph.interface.is_some() || map.nodes().any(|node| node.kind.comes_to_a_value()),
        looks_back: steps.values().any(|step| expressions(step).any(Expr::looks_back) || sees_history(step)),
        heavy: steps.values().any(|step| expressions(step).any(Expr::is_heavy)),
        steps,
        edges,
        interface: graph.interface.clone(),
        settings: graph.settings.clone(),
        variables: graph.variables.clone(),
        version: graph.version.clone(),
        activities: graph.activities.clone(),
        call_rules: graph.call_rules.clone(),
    }
}

fn sees_history(step: &Step) -> bool {
    matches!(&step.node.kind, Kind::State(state) if state.sees_history())
}

/// Returns the node itself, but a subflow whose workflow does not exist becomes a task.
fn usable(node: &Node, library: Library<'_>) -> Node {
    let mut node = node.clone();
    if matches!(&node.kind, Kind::Subflow { workflow, .. } if library(&workflow.value).is_none()) {
        node.kind = Kind::Work { gate: false, outputs: Vec::new() };
    }
    node
}

fn exits(map: &Map<'_>, node: &Node) -> Exits {
    let failing = failing(map, node);
    if let Kind::Fork { .. } = node.kind {
        let branches: IndexSet<NodeId> = map.leaving(&node.id).iter().map(|edge| edge.to.value.clone()).collect();
        return Exits { on: Vec::new(), failing, guards: Vec::new(), branches: branches.into_iter().collect() };
    }
    let on = outcomes(map, node)
        .into_iter()
        .filter_map(|outcome| map.edge_on(&node.id, outcome.as_str()).map(|edge| (outcome, edge.to.value.clone())))
        .collect();
    Exits { on, failing, guards: guards(map, node), branches: Vec::new() }
}

/// Returns the outcomes of a node, and those of its edges that it does not declare.
fn outcomes(map: &Map<'_>, node: &Node) -> IndexSet<Outcome> {
    let mut outcomes: IndexSet<Outcome> = map.outcomes(node).into_iter().collect();
    if matches!(node.kind, Kind::Start | Kind::End { .. }) {
        return outcomes;
    }
    for edge in map.leaving(&node.id).iter().filter(|edge| !matches!(edge.on, Trigger::When(_))) {
        let on = edge.on.outcome().cloned().unwrap_or_else(Outcome::passed);
        if on.as_str() == PASSED {
            outcomes.shift_insert(0, on);
        } else if !on.is_failed() {
            outcomes.insert(on);
        }
    }
    outcomes
}

fn guards(map: &Map<'_>, node: &Node) -> Vec<(Expr, NodeId)> {
    let guarded = map.leaving(&node.id).iter().filter_map(|edge| match &edge.on {
        Trigger::When(guard) => Some((guard.value.clone(), edge.to.value.clone())),
        Trigger::Outcome(_) | Trigger::Done => None,
    });
    guarded.collect()
}

fn expressions(step: &Step) -> impl Iterator<Item = &Expr> {
    let guards = step.exits.guards.iter().map(|(guard, _)| guard);
    guards.chain(step.node.kind.expressions())
}

/// Returns the effect of a node's `failed` edges and `maxRetries`. `docs/workflows.md` has the table.
fn failing(map: &Map<'_>, node: &Node) -> FailureHandling {
    if let Some(phase) = &node.phase {
        let back = |to: &NodeId| FailureHandling::Retries { to: to.clone(), budget: phase.cap, exhausted: None };
        return phase.back.as_ref().map_or(FailureHandling::Stays, back);
    }
    // The caller of the flow receives failures that nothing in it handles; work and questions have an agent or a
    // person.
    if map.graph.interface.is_some() && !matches!(node.kind, Kind::Work { .. } | Kind::Checkpoint { .. }) {
        let (retry, escalation) = map.failed_edges(&node.id);
        return retry
            .or(escalation)
            .map_or(FailureHandling::Ends, |edge| FailureHandling::Caught(edge.to.value.clone()));
    }
    let written = node.max_retries.as_ref().map(|count| count.value);
    // Going through the loop again does not help against a pass too many: a person decides at once.
    if matches!(node.kind, Kind::Loop(_) | Kind::Fork { .. }) {
        return again(node, 0);
    }
    let is_join = matches!(node.kind, Kind::Join { .. });
    match map.failed_edges(&node.id) {
        // A join does no work that could be attempted again: it takes its edge, or a person decides at once.
        (None, Some(escalation)) if is_join => FailureHandling::Leads(escalation.to.value.clone()),
        (None, None) if is_join => fork_again(node),
        (Some(retry), Some(escalation)) => FailureHandling::Retries {
            to: retry.to.value.clone(),
            budget: written.unwrap_or(0),
            exhausted: Some(escalation.to.value.clone()),
        },
        (Some(retry), None) => match written {
            None | Some(0) => FailureHandling::Leads(retry.to.value.clone()),
            Some(budget) => FailureHandling::Retries { to: retry.to.value.clone(), budget, exhausted: None },
        },
        (None, Some(escalation)) => match written {
            None | Some(0) => FailureHandling::Leads(escalation.to.value.clone()),
            Some(budget) => {
                FailureHandling::Retries { to: node.id.clone(), budget, exhausted: Some(escalation.to.value.clone()) }
            }
        },
        // Nodes that the engine executes would give the same result again, and a call has retries of its own.
        (None, None) if node.kind.comes_to_a_value() => again(node, written.unwrap_or(0)),
        (None, None) => again(node, written.unwrap_or(DEFAULT_RETRIES)),
    }
}

/// Lets a person decide at once; a retry opens the fork again, because the join itself does no work.
fn fork_again(node: &Node) -> FailureHandling {
    let to = match &node.kind {
        Kind::Join { fork, .. } => fork.value.clone(),
        _ => node.id.clone(),
    };
    FailureHandling::Retries { to, budget: 0, exhausted: None }
}

fn again(node: &Node, budget: u32) -> FailureHandling {
    FailureHandling::Retries { to: node.id.clone(), budget, exhausted: None }
}

/// Adds a start that leads to the first node without incoming edges, or to the first node if there is none.
fn invented_start(map: &Map<'_>, steps: &mut ById<NodeId, Step>) -> NodeId {
    let entered: BTreeSet<&NodeId> = map.nodes().flat_map(|node| map.next(node)).collect();
    let first = map.nodes().find(|node| !entered.contains(&node.id)).or_else(|| map.nodes().next());
    let id = free_id(steps, "start");
    let on = first.map(|first| (Outcome::passed(), first.id.clone())).into_iter().collect();
    steps.insert_before(0, id.clone(), invented(&id, "Start", Kind::Start, on));
    id
}

/// Adds edges from outcomes without one to a `blocked` end that reports the missing edge.
fn lead_dead_ends_on(map: &Map<'_>, steps: &mut ById<NodeId, Step>) {
    let end = free_id(steps, "no_way_on");
    let mut used = false;
    for step in steps.values_mut() {
        // If no condition of a switch holds, a person decides.
        let may_choose = step.node.kind == Kind::Switch && !step.exits.guards.is_empty();
        if may_choose || matches!(step.node.kind, Kind::End { .. } | Kind::Fork { .. }) {
            continue;
        }
        let node = map.node(&step.node.id);
        let mut missing = node.map(|node| map.outcomes(node)).unwrap_or_default();
        missing.retain(|outcome| map.edge_on(&step.node.id, outcome.as_str()).is_none());
        if missing.is_empty() && step.exits.on.is_empty() {
            missing.push(Outcome::passed());
        }
        for outcome in missing {
            let at = if outcome.as_str() == PASSED { 0 } else { step.exits.on.len() };
            step.exits.on.insert(at, (outcome, end.clone()));
            used = true;
        }
    }
    if used {
        let kind = Kind::End { result: EndResult::Blocked, escalation: None };
        steps.insert(end.clone(), invented(&end, "The workflow has no next step from here", kind, Vec::new()));
    }
}

fn invented(id: &NodeId, name: &str, kind: Kind, on: Vec<(Outcome, NodeId)>) -> Step {
    let node = Node { name: name.to_owned(), ..Node::new(id.clone(), Span::default(), kind) };
    Step { exits: Exits { on, failing: again(&node, 0), guards: Vec::new(), branches: Vec::new() }, node }
}

fn free_id(steps: &ById<NodeId, Step>, wanted: &str) -> NodeId {
    let mut id = NodeId::from(wanted);
    while steps.contains_key(&id) {
        id = NodeId::from(format!("{id}_"));
    }
    id
}
