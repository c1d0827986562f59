//! The nesting of loops, branches, items and workflows fits into a run.

use std::collections::BTreeMap;

use super::Code;
use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, Kind, MAX_DEPTH, Node};
use crate::validate::Library;
use crate::validate::map::Map;
use crate::value::NodeId;

pub(super) const CODES: &[Code] = &[Code {
    code: "nested-too-deep",
    what: "Loops, branches, items and the workflows that a workflow runs are nested more than 16 levels deep. A run \
           supports at most 16 levels.",
    fix: "Reduce the nesting: end the outer loop before the workflow is run, or write out the steps of that workflow \
          instead of running it.",
}];

pub(in crate::validate) fn check<'g>(graph: &'g Graph, library: Library<'g>, faults: &mut Vec<Diagnostic>) {
    let mut levels = Levels { library, known: BTreeMap::new() };
    levels.known.insert(graph.id.value.as_str(), 0);
    let Some((deepest, node)) = levels.deepest(graph).filter(|(levels, _)| *levels > MAX_DEPTH) else { return };
    let message = format!(
        "at `{}`, loops, branches, items and workflows are nested {deepest} levels deep, but a run supports at most {MAX_DEPTH}",
        node.id
    );
    let help = "reduce the nesting in this workflow or in those that it runs";
    let fault = Diagnostic::error("nested-too-deep", message).at(node.span).help(help);
    faults.push(fault.repaired("a run that gets there waits for a person"));
}

/// Computes how deep frames are nested, flow by flow.
struct Levels<'g> {
    library: Library<'g>,
    /// The maximum nesting of each workflow; 0 while it is computed, because a cycle is a fault of its own.
    known: BTreeMap<&'g str, usize>,
}

impl<'g> Levels<'g> {
    /// Returns the maximum nesting of a graph, and the first node that needs it.
    fn deepest(&mut self, graph: &'g Graph) -> Option<(usize, &'g Node)> {
        let branches = branches(graph);
        let mut deepest: Option<(usize, &Node)> = None;
        for node in &graph.nodes {
            let loops = node.seat.as_ref().map_or(0, |seat| seat.loops.len());
            let levels = loops + branches.get(&node.id).copied().unwrap_or(0) + self.inside(node);
            if deepest.is_none_or(|(most, _)| levels > most) {
                deepest = Some((levels, node));
            }
        }
        deepest
    }

    /// Returns the nesting inside a node that runs other workflows.
    fn inside(&mut self, node: &'g Node) -> usize {
        node.kind.workflows().map(|(workflow, _)| self.levels(workflow)).max().unwrap_or(0)
    }

    fn levels(&mut self, workflow: &str) -> usize {
        let Some(graph) = (self.library)(workflow) else { return 0 };
        let id = graph.id.value.as_str();
        if let Some(levels) = self.known.get(id) {
            return 1 + levels;
        }
        self.known.insert(id, 0);
        let levels = self.deepest(graph).map_or(0, |(levels, _)| levels);
        self.known.insert(id, levels);
        1 + levels
    }
}

/// Returns how many branches each reachable node is nested in; empty if the graph has no fork.
fn branches(graph: &Graph) -> BTreeMap<NodeId, usize> {
    let mut depths: BTreeMap<NodeId, usize> = BTreeMap::new();
    if !graph.nodes.iter().any(|node| matches!(node.kind, Kind::Fork { .. })) {
        return depths;
    }
    let map = Map::of(graph);
    let mut waiting: Vec<(&NodeId, usize)> = map.start().map(|start| (&start.id, 0)).into_iter().collect();
    while let Some((id, depth)) = waiting.pop() {
        let Some(node) = map.node(id).filter(|node| !depths.contains_key(&node.id)) else { continue };
        depths.insert(node.id.clone(), depth);
        let inner = depth + usize::from(matches!(node.kind, Kind::Fork { .. }));
        for next in map.next(node) {
            let collects = map.node(next).is_some_and(|next| matches!(next.kind, Kind::Join { .. }));
            let leaves = collects && inner > 0;
            waiting.push((next, if leaves { inner - 1 } else { inner }));
        }
    }
    depths
}
