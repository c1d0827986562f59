//! The drawn edges: those between existing nodes, with one for all edges between the same folded boxes.

use std::collections::{BTreeMap, BTreeSet};

use super::DrawnEdge;
use super::sheet::{Sheet, written};
use crate::graph::{Edge, Graph, Kind, Node, Trigger, Workflow};
use crate::present::picture::{LABEL, cut, text_of};

/// An edge without a course.
pub(super) struct Way {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) edge: DrawnEdge,
}

/// Draws the edges of a flow; `at` maps its nodes to their boxes.
pub(super) fn draw(workflow: Option<&Workflow>, graph: &Graph, at: &BTreeMap<&str, usize>, sheet: &mut Sheet) {
    let mut ways = Ways { sheet, merged: BTreeMap::new() };
    let mut drawn = BTreeSet::new();
    let asks = |node: &&Node| matches!(node.kind, Kind::Checkpoint { .. });
    let questions: BTreeMap<&str, &Node> =
        graph.nodes.iter().filter(asks).map(|node| (node.id.as_str(), node)).collect();
    for (number, edge) in graph.edges.iter().enumerate() {
        let (from, to) = (edge.from.value.as_str(), edge.to.value.as_str());
        if let (Some(&start), Some(&end)) = (at.get(from), at.get(to)) {
            drawn.insert((from, to));
            ways.add(start, end, from == to, as_written(number, edge, questions.get(from).copied()));
        }
    }
    let flow = workflow.and_then(|workflow| workflow.find(&graph.id.value));
    for step in flow.into_iter().flat_map(|flow| flow.steps.values()) {
        for (_, to) in &step.exits.on {
            let ends = (step.node.id.as_str(), to.as_str());
            if let (Some(&start), Some(&end), false) = (at.get(ends.0), at.get(ends.1), drawn.contains(&ends)) {
                ways.add(start, end, ends.0 == ends.1, implied());
            }
        }
    }
}

fn as_written(number: usize, edge: &Edge, question: Option<&Node>) -> DrawnEdge {
    let kind = match &edge.on {
        Trigger::Outcome(on) if on.value.is_failed() => "failed",
        Trigger::Outcome(_) => "outcome",
        Trigger::Done => "done",
        Trigger::When(_) => "guard",
    };
    DrawnEdge {
        text: text_of(edge, question).map(|text| cut(&text, LABEL)),
        on: edge.on.outcome().map(|on| on.as_str().to_owned()),
        kind,
        implied: false,
        number: Some(number),
        span: written(edge.span),
        ..implied()
    }
}

fn implied() -> DrawnEdge {
    DrawnEdge {
        id: String::new(),
        from: String::new(),
        to: String::new(),
        text: None,
        on: None,
        kind: "done",
        implied: true,
        back: false,
        points: Vec::new(),
        label_at: None,
        number: None,
        span: None,
    }
}

struct Ways<'s> {
    sheet: &'s mut Sheet,
    /// The edges from and to folded boxes, by their ends.
    merged: BTreeMap<(usize, usize), usize>,
}

impl Ways<'_> {
    fn add(&mut self, from: usize, to: usize, is_loop: bool, edge: DrawnEdge) {
        let stands_for_many = |at: usize| self.sheet.boxes[at].is_folded_part();
        let merges = stands_for_many(from) || stands_for_many(to);
        if from == to && (merges || !is_loop) {
            return;
        }
        if let Some(other) = self.merged.get(&(from, to)) {
            return merge(&mut self.sheet.ways[*other].edge, &edge);
        }
        if merges {
            self.merged.insert((from, to), self.sheet.ways.len());
        }
        let [start, end] = [from, to].map(|at| self.sheet.boxes[at].node.id.clone());
        let id = self.sheet.free(&format!("{start}->{end}"));
        let edge = DrawnEdge { id, from: start, to: end, ..edge };
        self.sheet.ways.push(Way { from, to, edge });
    }
}

/// Keeps the properties that all merged edges share.
fn merge(edge: &mut DrawnEdge, other: &DrawnEdge) {
    if edge.text != other.text {
        edge.text = None;
    }
    if edge.on != other.on {
        edge.on = None;
    }
    if edge.kind != other.kind {
        edge.kind = "outcome";
    }
    edge.implied &= other.implied;
}
