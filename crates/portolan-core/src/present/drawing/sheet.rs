//! The contents of a drawing without positions: the nodes of a flow, the boxes around them, and the flows open inside
//! nodes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::lines::{self, Way};
use super::{DrawingInput, DrawnCheck, DrawnNode, FARTHEST, Fold};
use crate::graph::{Graph, Kind, MAX_DEPTH, Node, NodeCheck};
use crate::present::check_words::looks_at;
use crate::present::picture::{LABEL, cut, label, one_line, small_print};
use crate::source::Span;

/// Everything to draw. A box comes before its content.
pub(super) struct Sheet {
    pub(super) boxes: Vec<Sketch>,
    pub(super) ways: Vec<Way>,
    names: Names,
}

impl Sheet {
    /// Returns the identifier, with a number if it is in use.
    pub(super) fn free(&mut self, wanted: &str) -> String {
        self.names.free(wanted)
    }
}

/// The identifiers in use, each with its number of uses: an unfinished definition may have duplicates.
#[derive(Default)]
struct Names(BTreeMap<String, usize>);

impl Names {
    fn free(&mut self, wanted: &str) -> String {
        let mut id = wanted.to_owned();
        while self.0.contains_key(&id) {
            let count = self.0.entry(wanted.to_owned()).or_insert(1);
            *count += 1;
            id = format!("{wanted}#{count}");
        }
        self.0.insert(id.clone(), 1);
        id
    }
}

/// A node, or a box around nodes, without a position.
pub(super) struct Sketch {
    pub(super) node: DrawnNode,
    /// Its box.
    pub(super) parent: Option<usize>,
    /// Whether a run begins at it.
    pub(super) begins: bool,
}

impl Sketch {
    pub(super) fn is_open(&self) -> bool {
        self.node.container == Some(Fold::Open)
    }

    /// Checks whether it represents several nodes of its flow.
    pub(super) fn is_folded_part(&self) -> bool {
        !self.node.hides.is_empty()
    }
}

pub(super) fn sheet(what: &DrawingInput<'_, '_>) -> Sheet {
    let mut drawer = Drawer { what, sheet: Sheet { boxes: Vec::new(), ways: Vec::new(), names: Names::default() } };
    let root = Inner::new(what, what.graph, String::new(), None, 1);
    let mut waiting = VecDeque::from([root]);
    while let Some(inner) = waiting.pop_front() {
        waiting.extend(drawer.flow(&inner));
    }
    drawer.sheet
}

/// A flow to draw, by itself or inside a node.
struct Inner<'g> {
    graph: &'g Graph,
    prefix: String,
    parent: Option<usize>,
    depth: usize,
    /// Its nodes, then those that a repair added.
    nodes: Vec<&'g Node>,
    /// The same by identifier; the first of duplicates.
    known: BTreeMap<&'g str, &'g Node>,
}

impl<'g> Inner<'g> {
    fn new(
        what: &DrawingInput<'_, 'g>,
        graph: &'g Graph,
        prefix: String,
        parent: Option<usize>,
        depth: usize,
    ) -> Inner<'g> {
        let (mut nodes, mut known) = (Vec::new(), BTreeMap::new());
        for node in &graph.nodes {
            nodes.push(node);
            known.entry(node.id.as_str()).or_insert(node);
        }
        let flow = what.workflow.and_then(|workflow| workflow.find(&graph.id.value));
        for node in flow.into_iter().flat_map(|flow| flow.steps.values()).map(|step| &step.node) {
            if !known.contains_key(node.id.as_str()) {
                nodes.push(node);
                known.insert(node.id.as_str(), node);
            }
        }
        Inner { graph, prefix, parent, depth, nodes, known }
    }
}

struct Drawer<'d, 'g> {
    what: &'d DrawingInput<'d, 'g>,
    sheet: Sheet,
}

/// A part of a flow that has a box.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part<'g> {
    Activity(usize),
    Loop(&'g str),
}

/// The boxes of a flow so far, by container and part.
type Parts<'g> = BTreeMap<(Option<usize>, Part<'g>), usize>;

impl<'g> Drawer<'_, 'g> {
    /// Draws one flow, and returns the flows that are open inside it.
    fn flow(&mut self, inner: &Inner<'g>) -> Vec<Inner<'g>> {
        let (mut parts, mut at, mut open) = (Parts::new(), BTreeMap::new(), Vec::new());
        for node in inner.nodes.iter().copied() {
            let holder = self.holder(inner, &mut parts, &path(node, &inner.known));
            let drawn = match holder {
                Some(folded) if self.sheet.boxes[folded].node.container == Some(Fold::Folded) => {
                    let id = format!("{}{}", inner.prefix, node.id);
                    self.sheet.boxes[folded].node.hides.push(id);
                    folded
                }
                parent => self.node(inner, node, parent),
            };
            at.entry(node.id.as_str()).or_insert(drawn);
            open.extend(self.opened(inner, node, drawn));
        }
        self.count_hidden(parts.into_values());
        lines::draw(self.what.workflow, inner.graph, &at, &mut self.sheet);
        open
    }

    /// Returns the box of a node: the innermost on its path, or the first folded one.
    fn holder(&mut self, inner: &Inner<'g>, parts: &mut Parts<'g>, path: &[Part<'g>]) -> Option<usize> {
        let mut holder = inner.parent;
        for part in path {
            let drawn = match parts.get(&(holder, *part)) {
                Some(drawn) => *drawn,
                None => {
                    let drawn = self.part(inner, *part, path, holder);
                    parts.insert((holder, *part), drawn);
                    drawn
                }
            };
            holder = Some(drawn);
            if self.sheet.boxes[drawn].node.container == Some(Fold::Folded) {
                break;
            }
        }
        holder
    }

    fn part(&mut self, inner: &Inner<'g>, part: Part<'g>, path: &[Part<'g>], parent: Option<usize>) -> usize {
        let drawn = match part {
            Part::Activity(at) => around_activity(inner, at, path),
            Part::Loop(id) => around_loop(inner, id),
        };
        let folded = self.what.folded.contains(&drawn.id);
        let container = Some(if folded { Fold::Folded } else { Fold::Open });
        self.add(DrawnNode { container, ..drawn }, parent, false)
    }

    fn node(&mut self, inner: &Inner<'g>, node: &Node, parent: Option<usize>) -> usize {
        let id = format!("{}{}", inner.prefix, node.id);
        let container = self.runs(inner, node).map(|_| match self.what.opened.contains(&id) {
            true => Fold::Open,
            false => Fold::Folded,
        });
        let checked_by: Vec<DrawnCheck> = node.checks().iter().map(drawn_check).collect();
        let drawn = DrawnNode {
            node: Some(node.id.to_string()),
            name: self.entry_name(node, parent).map_or_else(|| label(node), str::to_owned),
            detail: small_print(node),
            container,
            budget: node.max_retries.as_ref().map(|most| most.value),
            result: match &node.kind {
                Kind::End { result, .. } => Some(result.word()),
                _ => None,
            },
            checks: checked_by.len(),
            verification: node.verification(),
            checked_by,
            span: written(node.span),
            ..bare(id, inner.graph, node.kind.word())
        };
        self.add(drawn, parent, node.kind == Kind::Start)
    }

    /// Returns the name of a node at the beginning or the end of the box that has the node's own name already.
    fn entry_name(&self, node: &Node, parent: Option<usize>) -> Option<&'static str> {
        let represented = self.sheet.boxes[parent?].node.node.as_deref()?;
        match &node.kind {
            Kind::Activity if node.id.as_str() == represented => Some("Begin"),
            Kind::Loop(_) if node.id.as_str() == represented => Some("Next pass"),
            Kind::Repeat { of } if of.value.as_str() == represented => Some("End of pass"),
            _ => None,
        }
    }

    /// Returns the flow that a node runs, if it can be drawn inside.
    fn runs(&self, inner: &Inner<'g>, node: &Node) -> Option<&'g Graph> {
        let workflow = node.kind.runs().filter(|_| inner.depth < MAX_DEPTH)?;
        (self.what.find)(&workflow.value)
    }

    fn opened(&self, inner: &Inner<'g>, node: &Node, drawn: usize) -> Option<Inner<'g>> {
        let sketch = &self.sheet.boxes[drawn];
        let is_open = sketch.is_open() && sketch.node.node.as_deref() == Some(node.id.as_str());
        let graph = self.runs(inner, node).filter(|_| is_open)?;
        let prefix = format!("{}/", sketch.node.id);
        Some(Inner::new(self.what, graph, prefix, Some(drawn), inner.depth + 1))
    }

    fn count_hidden(&mut self, parts: impl Iterator<Item = usize>) {
        for part in parts {
            let node = &mut self.sheet.boxes[part].node;
            match node.hides.len() {
                0 => {}
                count => {
                    let count = if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") };
                    let gap = if node.detail.is_empty() { "" } else { " · " };
                    node.detail = format!("{}{gap}{count}", node.detail);
                }
            }
        }
    }

    fn add(&mut self, node: DrawnNode, parent: Option<usize>, begins: bool) -> usize {
        let id = self.sheet.free(&node.id);
        let holder = parent.map(|parent| self.sheet.boxes[parent].node.id.clone());
        let near = |(right, down): (i32, i32)| (right.clamp(-FARTHEST, FARTHEST), down.clamp(-FARTHEST, FARTHEST));
        let moved = self.what.moved.get(&id).copied().map(near);
        self.sheet.boxes.push(Sketch { node: DrawnNode { id, parent: holder, moved, ..node }, parent, begins });
        self.sheet.boxes.len() - 1
    }
}

fn drawn_check(check: &NodeCheck<'_>) -> DrawnCheck {
    DrawnCheck { id: one_line(check.id), what: looks_at(check), attached: check.attached }
}

/// Makes the box of an activity. Its identifier begins with those of its loops, since it may be in several.
fn around_activity(inner: &Inner<'_>, at: usize, path: &[Part<'_>]) -> DrawnNode {
    let (id, name) = match inner.graph.activities.get(at) {
        Some(activity) => (activity.id.clone(), one_line(&activity.name)),
        None => (at.to_string(), String::new()),
    };
    let name = if name.is_empty() { one_line(&id) } else { name };
    let around = path.iter().take_while(|part| **part != Part::Activity(at)).filter_map(|part| match part {
        Part::Loop(id) => Some(format!("{id}.")),
        Part::Activity(_) => None,
    });
    let id = format!("{}{id}", around.last().unwrap_or_default());
    let known = inner.known.get(id.as_str());
    let drawn = bare(format!("{}activity:{id}", inner.prefix), inner.graph, "activity");
    let span = known.and_then(|node| written(node.span));
    DrawnNode { name: cut(&name, LABEL), node: known.map(|_| id), span, ..drawn }
}

fn around_loop(inner: &Inner<'_>, id: &str) -> DrawnNode {
    let drawn = bare(format!("{}loop:{id}", inner.prefix), inner.graph, "loop");
    match inner.known.get(id) {
        Some(node) => DrawnNode {
            node: Some(id.to_owned()),
            name: label(node),
            detail: small_print(node),
            span: written(node.span),
            ..drawn
        },
        None => DrawnNode { name: cut(&one_line(id), LABEL), ..drawn },
    }
}

/// Returns the activities and loops around a node, outermost first. A loop may contain activities, and its own node is
/// in its box.
fn path<'g>(node: &'g Node, known: &BTreeMap<&str, &'g Node>) -> Vec<Part<'g>> {
    let Some(seat) = &node.seat else { return Vec::new() };
    let own = matches!(node.kind, Kind::Loop(_)).then_some(&node.id);
    let mut path = Vec::new();
    let mut loops = BTreeSet::new();
    let stand_in = |path: &mut Vec<Part<'g>>, activity: usize| {
        let within = path.iter().rev().find_map(|part| match part {
            Part::Activity(at) => Some(*at),
            Part::Loop(_) => None,
        });
        if within != Some(activity) {
            path.push(Part::Activity(activity));
        }
    };
    for id in seat.loops.iter().chain(own).take(MAX_DEPTH) {
        let around = known.get(id.as_str()).and_then(|node| node.seat.as_ref()).map(|seat| seat.activity);
        stand_in(&mut path, around.unwrap_or(seat.activity));
        if loops.insert(id.as_str()) {
            path.push(Part::Loop(id.as_str()));
        }
    }
    stand_in(&mut path, seat.activity);
    path
}

fn bare(id: String, graph: &Graph, kind: &'static str) -> DrawnNode {
    DrawnNode {
        id,
        parent: None,
        node: None,
        flow: graph.id.value.clone(),
        kind,
        name: String::new(),
        detail: String::new(),
        x: 0,
        y: 0,
        width: 0,
        height: 0,
        container: None,
        budget: None,
        result: None,
        checks: 0,
        verification: None,
        checked_by: Vec::new(),
        hides: Vec::new(),
        moved: None,
        span: None,
    }
}

/// Returns a span in the source; `None` for inserted parts, which have no place in it.
pub(super) fn written(span: Span) -> Option<Span> {
    (span != Span::default()).then_some(span)
}
